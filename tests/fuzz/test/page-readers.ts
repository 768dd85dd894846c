// Readers of one page in memory: what `page`, `pageinspect` and the tuple decoders make of it. Each is run twice, with
// other bytes around the page, and must give the same.
import { isStorageError } from '@blockwright/base';
import {
  findPageFaults,
  LP_NORMAL,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  Page,
  pageBoundsAreSane,
  pageMaxOffset,
  pageVerify,
} from '@blockwright/page';
import { heapPageItems, inspectPage, linePointerRecords, pageKind } from '@blockwright/pageinspect';
import {
  BatchDecoder,
  RowDecoder,
  type TupleDescriptor,
  TupleError,
  type Vector,
  vectorValue,
} from '@blockwright/tuple';
import type { Reader } from './harness.ts';
import { type FuzzInput, surround } from './input.ts';

/** The reader's result, which must not depend on what lies around the page. */
export function insideThePage<Result>(
  name: string,
  look: (input: FuzzInput) => Result,
  options: { readonly every?: number; readonly isInnermost?: (result: Result) => boolean } = {},
): Reader {
  const outcome = (input: FuzzInput): { shown: string; isInnermost: boolean; error: unknown } => {
    try {
      const result = look(input);
      return { shown: shownOf(result), isInnermost: options.isInnermost?.(result) === true, error: undefined };
    } catch (error) {
      return { shown: String(error), isInnermost: false, error };
    }
  };
  return {
    name,
    every: options.every,
    read: (input) => {
      surround(input, 0xff);
      const first = outcome(input);
      surround(input, 0x01);
      const second = outcome(input);
      if (first.shown !== second.shown)
        throw new Error(`what it gives depends on bytes outside the page: ${first.shown} / ${second.shown}`);
      if (first.error !== undefined) throw first.error;
      return first.isInnermost;
    },
  };
}

function shownOf(result: unknown): string {
  return JSON.stringify(result, (_, value: unknown) => {
    if (typeof value === 'bigint') return `${value}n`;
    return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
  });
}

/** Tuples that are decoded one by one: those that were changed, and some more. */
const MOST_TUPLES = 8;

interface PageTuple {
  readonly position: number;
  readonly length: number;
  readonly isChanged: boolean;
}

/** Tuples of the page that lie inside it, the changed ones first. */
function tuplesOf({ memory: m, base, geometry, changes, index }: FuzzInput): PageTuple[] {
  if (!pageBoundsAreSane(m, base, geometry)) return [];
  const last = pageMaxOffset(m, base);
  const tuples: PageTuple[] = [];
  const add = (offset: number, isChanged: boolean): void => {
    const lp = linePointer(m, base, offset);
    const [at, length] = [lpOffset(lp), lpLength(lp)];
    if (lpFlags(lp) !== LP_NORMAL || (at & 7) !== 0 || at < 24 || length < 24 || at + length > geometry.size) return;
    tuples.push({ position: base + at, length, isChanged });
  };
  for (const offset of changes.offsets) if (offset <= last) add(offset, true);
  for (let i = 0; i < last && tuples.length < MOST_TUPLES; i++) add(1 + ((index + i) % last), false);
  return tuples;
}

/** What an out-of-line value may be: bytes of the length that its pointer says, or not. */
const fetchToast = ({ externalSize }: { externalSize: number }): Uint8Array =>
  new Uint8Array(Math.min(externalSize, 4096));

const decoders = new WeakMap<
  TupleDescriptor,
  { row: RowDecoder; generated: BatchDecoder; interpreted: BatchDecoder; vectors: Vector[]; others: Vector[] }
>();

function decodersOf(descriptor: TupleDescriptor) {
  let made = decoders.get(descriptor);
  if (made === undefined) {
    const generated = BatchDecoder.for(descriptor, undefined, { fetchToast });
    const interpreted = BatchDecoder.for(descriptor, undefined, { fetchToast, generateCode: false });
    const row = RowDecoder.for(descriptor, undefined, { fetchToast });
    made = { row, generated, interpreted, vectors: generated.createVectors(1), others: interpreted.createVectors(1) };
    decoders.set(descriptor, made);
  }
  return made;
}

interface DecodedTuple {
  readonly isChanged: boolean;
  readonly outcome: unknown;
}

function rowsOf(input: FuzzInput): DecodedTuple[] {
  const { row } = decodersOf(input.relation.descriptor);
  return tuplesOf(input).map(({ position, length, isChanged }) => ({
    isChanged,
    outcome: orRefusal(() => row.array(input.memory, position, length)),
  }));
}

/** Whether a changed tuple came as far as its attributes: it gave values, or one of them was refused. */
function isDecodedChange({ isChanged, outcome }: DecodedTuple): boolean {
  return isChanged && (typeof outcome !== 'string' || /attribute \d/.test(outcome));
}

function orRefusal(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof TupleError || isStorageError(error) || error instanceof RangeError)
      return `refused: ${error.message}`;
    throw error;
  }
}

/** Tuples that are decoded as batches of one, too. */
const MOST_BATCHES = 4;

/** Generated code and the interpreter agree on every tuple, on values and on refusals. */
function batchesOf(input: FuzzInput): unknown[] {
  const { descriptor } = input.relation;
  const { generated, interpreted, vectors, others } = decodersOf(descriptor);
  const decode = (decoder: BatchDecoder, into: Vector[], position: number, length: number): unknown => {
    try {
      decoder.decode(input.memory, Int32Array.of(position), Int32Array.of(length), 1, into, 0);
    } catch (error) {
      if (error instanceof TupleError) return 'refused';
      throw error;
    }
    return decoder.columns.map((column, k) => vectorValue(descriptor.columns[column].type, into[k], 0));
  };
  return tuplesOf(input)
    .slice(0, MOST_BATCHES)
    .map(({ position, length }) => {
      const a = orRefusal(() => decode(generated, vectors, position, length));
      const b = orRefusal(() => decode(interpreted, others, position, length));
      if (shownOf(a) !== shownOf(b))
        throw new Error(`generated code gives ${shownOf(a)}, the interpreter ${shownOf(b)}`);
      return a;
    });
}

/** Readers of one page. */
export const PAGE_READERS: readonly Reader[] = [
  insideThePage('page: verify', ({ memory, base, geometry }) => [
    pageVerify(memory, base, geometry, 0, true),
    pageKind(memory, base, geometry),
  ]),
  insideThePage('page: findings', ({ memory, base, geometry }) => {
    const findings: unknown[] = [];
    findPageFaults(memory, base, geometry, { block: 0, checksum: true, blockCount: 1, leastItemBytes: 24 }, (one) =>
      findings.push(one),
    );
    return findings;
  }),
  {
    name: 'page: Page',
    read: ({ memory, base, geometry }) => {
      const page = Page.copyOf(memory.u8.subarray(base, base + geometry.size));
      page.verify({ block: 0 });
      const { itemCount } = page;
      for (let offset = 1; offset <= itemCount; offset += 7) page.item(offset);
      page.compact();
      return false;
    },
  },
  insideThePage(
    'pageinspect: items',
    ({ memory, base, geometry }) => [
      orRefusal(() => linePointerRecords(memory, base, geometry)),
      orRefusal(() => heapPageItems(memory, base, geometry)),
    ],
    { every: 16 },
  ),
  {
    name: 'pageinspect: inspectPage',
    every: 32,
    read: ({ memory, base, geometry, index }) => {
      const fork = (['main', 'vm', 'fsm'] as const)[(index >> 5) % 3];
      inspectPage(memory.u8.subarray(base, base + geometry.size), 0, { geometry, fork, checksums: true });
      return false;
    },
  },
  insideThePage('tuple: rows', rowsOf, { isInnermost: (rows) => rows.some(isDecodedChange) }),
  insideThePage('tuple: batches', batchesOf),
];
