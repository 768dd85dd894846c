// Real tuples with bytes changed: a result that depends on nothing beyond the tuple, or an error that says which tuple.

import { isStorageError } from '@blockwright/base';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import * as t from '../src/index.ts';
import { fixtureTable, LINEITEM, TYPES } from './fixtures.ts';

const TOASTED: t.TupleDescriptor = t.TupleDescriptor.of([
  { name: 'id', type: t.int4().nullable() as t.ColumnType },
  { name: 'ext', type: t.text().nullable() as t.ColumnType },
  { name: 'comp', type: t.text().nullable() as t.ColumnType },
]);

interface Real {
  readonly descriptor: t.TupleDescriptor;
  readonly bytes: Uint8Array;
}
const reals: Real[] = (
  [
    ['types', TYPES],
    ['lineitem', LINEITEM],
    ['toasted', TOASTED],
  ] as const
).flatMap(([name, descriptor]) => {
  const { memory, tuples } = fixtureTable('1k', name);
  return tuples
    .filter((_, i) => name !== 'lineitem' || i % 100 === 0)
    .map(({ pos, length }) => ({ descriptor, bytes: memory.u8.slice(pos, pos + length) }));
});

interface Mutation {
  readonly at: number;
  readonly byte: number;
}
const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.oneof(fc.integer({ min: 18, max: 60 }), fc.nat(4000)),
  byte: fc.oneof(fc.constantFrom(0, 1, 2, 3, 0x12, 0x7f, 0x80, 0xfe, 0xff), fc.nat(255)),
});
const inputs = fc.record({
  real: fc.constantFrom(...reals),
  mutations: fc.array(mutation, { minLength: 1, maxLength: 8 }),
  cut: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(200)),
});

const POSITION = 4096;

/** The tuple in the middle of memory that is all `filler`, behind a good tuple, in front of the end or not. */
function surrounded(bytes: Uint8Array, filler: number, room: number): t.TupleMemory {
  const memory = new Uint8Array(POSITION + ((bytes.length + 7) & ~7) + room).fill(filler);
  memory.set(bytes, POSITION);
  return t.tupleMemory(memory);
}

const codes = new Map<string, number>();

function outcome(run: () => unknown): string {
  try {
    return JSON.stringify(run(), (_, v) =>
      typeof v === 'bigint' ? `${v}n` : Object.is(v, -0) ? '-0' : Number.isNaN(v) ? 'NaN' : v,
    );
  } catch (error) {
    if (!isStorageError(error)) throw error;
    codes.set(error.code, (codes.get(error.code) ?? 0) + 1);
    expect(['XX001', '22021', '0A000']).toContain(error.code);
    return `${error.code} ${error.message}`;
  }
}

function batchOutcome(decoder: t.BatchDecoder, m: t.TupleMemory, length: number): string {
  return outcome(() => {
    const vectors = decoder.createVectors(1);
    decoder.decode(m, [POSITION], [length], 1, vectors, 0);
    return vectors.map((v) => ({
      nulls: v.nulls?.[0] === 1,
      value:
        'starts' in v
          ? [...v.data.subarray(v.starts[0], v.starts[1])].join()
          : 'lo' in v
            ? [v.lo[0], v.hi[0]]
            : v.values[0],
    }));
  });
}

test('nothing beyond the tuple is in a result, and generated code does what the interpreter does', () => {
  let reached = 0;
  const runs = Number(process.env['BLOCKWRIGHT_FUZZ_RUNS'] ?? 2000);
  const decoders = new Map(
    [TYPES, LINEITEM, TOASTED].map((d) => {
      const some = d.liveColumns().filter((i) => i % 3 !== 1);
      return [
        d,
        {
          row: t.RowDecoder.for(d),
          pairs: [undefined, some].flatMap((columns) =>
            [true, false].map((charCodes) =>
              [true, false].map((generateCode) => t.BatchDecoder.for(d, columns, { charCodes, generateCode })),
            ),
          ),
        },
      ] as const;
    }),
  );
  fc.assert(
    fc.property(inputs, ({ real, mutations, cut }) => {
      const bytes = real.bytes.slice(0, Math.max(0, real.bytes.length - cut));
      for (const { at, byte } of mutations) if (at < bytes.length) bytes[at] = byte;
      const { row, pairs } = decoders.get(real.descriptor) as NonNullable<ReturnType<typeof decoders.get>>;
      const memories = [surrounded(bytes, 0x00, 8192), surrounded(bytes, 0xff, 8192), surrounded(bytes, 0x0b, 0)];
      const rows = memories.map((m) => outcome(() => row.array(m, POSITION, bytes.length)));
      expect(rows[1]).toEqual(rows[0]);
      expect(rows[2]).toEqual(rows[0]);
      if (!String(rows[0]).includes('tuple header')) reached++;
      for (const [generated, interpreted] of pairs) {
        expect(generated.isGenerated).toBe(true);
        const wanted = batchOutcome(interpreted, memories[0], bytes.length);
        for (const m of memories) expect(batchOutcome(generated, m, bytes.length)).toEqual(wanted);
      }
    }),
    { numRuns: runs },
  );
  console.log(`fuzz: ${reached} of ${runs} inputs passed the header; refusals ${JSON.stringify([...codes])}`);
  expect(reached).toBeGreaterThan(runs / 2);
  expect(codes.get('XX001')).toBeGreaterThan(runs / 10);
});

test('the error says which tuple of the batch and which attribute', () => {
  const { memory, tuples } = fixtureTable('8k', 'lineitem');
  const some = tuples.slice(0, 40);
  const bytes = memory.u8.slice(0);
  const m = t.tupleMemory(bytes);
  for (const generateCode of [true, false]) {
    const decoder = t.BatchDecoder.for(LINEITEM, undefined, { generateCode });
    for (const bad of [0, 17, 39]) {
      bytes.set(memory.u8);
      bytes[some[bad].pos + 44] = 0x01; // l_quantity as a pointer, with no tag that exists
      const error = catchTupleError(() =>
        decoder.decode(
          m,
          some.map((x) => x.pos),
          some.map((x) => x.length),
          40,
          decoder.createVectors(40),
          0,
        ),
      );
      expect([error.code, error.tupleIndex]).toEqual(['XX001', bad]);
      expect(error.attributeNumber).toBe(5);
      expect(error.message).toBe('attribute 5 ("l_quantity"): a pointer with tag 0');
    }
  }
});

test('padding before a 4-byte header is zero, and nothing else is taken for a header', () => {
  const descriptor = t.TupleDescriptor.of([
    { name: 'a', type: t.varchar() },
    { name: 'b', type: t.text() },
    { name: 'c', type: t.text() },
  ]);
  const bytes = new Uint8Array(4096);
  const long = 'x'.repeat(200);
  const length = t.TupleEncoder.for(descriptor).encode(['a', long, long], bytes, 0);
  const m = t.tupleMemory(bytes);
  const row = t.RowDecoder.for(descriptor);
  expect(row.array(m, 0, length)).toEqual(['a', long, long]);
  expect([...bytes.subarray(24, 28)]).toEqual([5, 0x61, 0, 0]); // two bytes of padding
  for (const [at, byte, message] of [
    [26, 2, /^attribute 2 \("b"\): a byte of 2 where padding is due/],
    [28, 0x31, /^attribute 2 \("b"\): a varlena header/],
    [31, 0x80, /^attribute 2 \("b"\): it claims 536871116 bytes/],
  ] as const) {
    const before = bytes[at];
    bytes[at] = byte;
    expect(catchTupleError(() => row.array(m, 0, length))).toMatchObject({
      code: 'XX001',
      message: expect.stringMatching(message),
    });
    for (const columns of [[1], [2]]) {
      const decoder = t.BatchDecoder.for(descriptor, columns);
      const error = catchTupleError(() => decoder.decode(m, [0], [length], 1, decoder.createVectors(1), 0));
      expect(error.message).toMatch(message);
    }
    bytes[at] = before;
  }
});

test.each([
  ['t_hoff +8', 22, (b: number) => b + 8, /t_hoff/],
  ['t_hoff -8', 22, (b: number) => b - 8, /t_hoff/],
  ['t_hoff +3', 22, (b: number) => b + 3, /t_hoff/],
  ['t_hoff +128', 22, (b: number) => b + 128, /t_hoff/],
  ['2047 attributes', 18, () => 0xff, /attributes where the table has 16/],
])('a header with %s is refused', (_, at, change, message) => {
  const { memory, tuples } = fixtureTable('8k', 'lineitem');
  const { pos, length } = tuples[0];
  memory.u8[pos + at] = change(memory.u8[pos + at]);
  for (const generateCode of [true, false]) {
    const decoder = t.BatchDecoder.for(LINEITEM, [0], { generateCode });
    const error = catchTupleError(() => decoder.decode(memory, [pos], [length], 1, decoder.createVectors(1), 0));
    expect(error.code).toBe('XX001');
    expect(error.attributeNumber).toBe(0);
    expect(error.message).toMatch(message);
  }
});

function catchTupleError(run: () => void): t.TupleError {
  try {
    run();
  } catch (error) {
    if (error instanceof t.TupleError) return error;
    throw error;
  }
  throw new Error('no error came');
}
