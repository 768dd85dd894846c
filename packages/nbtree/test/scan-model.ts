// Scans against a plain sorted array: the rows of a range, what a scan gives of it, and how long it may take over it.
import { indexTupleSize, type TupleMemory, tupleMemory } from '@blockwright/tuple';
import { BtreeScan, type ScanOptions } from '../src/scan.ts';
import type { SearchBound } from '../src/scan-boundary.ts';
import { isPosting, postingOffset } from '../src/tuples.ts';
import { ASCENDING, type BuildWorld, type WorldOptions, type WorldRow } from './build-world.ts';

export type Value = string | number | bigint | null;

/** Order of two values of one column: as PostgreSQL's, and by the bytes of text. */
function order(a: Value, b: Value): number {
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return (a as number) < (b as number) ? -1 : (a as number) > (b as number) ? 1 : 0;
}

/** Order of the first `natts` values in an index. */
function orderOf(
  { keys = [], columns }: WorldOptions,
  a: readonly unknown[],
  b: readonly unknown[],
  natts = Object.keys(columns).length,
): number {
  for (let i = 0; i < natts; i++) {
    const { descending, nullsFirst } = keys[i] ?? ASCENDING;
    const [x, y] = [a[i] as Value, b[i] as Value];
    if (x === null || y === null) {
      if (x === y) continue;
      return (x === null) === nullsFirst ? -1 : 1;
    }
    const byValue = order(x, y);
    if (byValue !== 0) return descending ? -byValue : byValue;
  }
  return 0;
}

export function sortRows(options: WorldOptions, rows: readonly WorldRow[]): WorldRow[] {
  return [...rows].sort((a, b) => orderOf(options, a.values, b.values) || a.block - b.block || a.offset - b.offset);
}

/** A range by values: prefixes of the index's columns. */
export interface ValueRange {
  readonly from?: readonly Value[] | undefined;
  readonly fromInclusive?: boolean;
  readonly to?: readonly Value[] | undefined;
  readonly toInclusive?: boolean;
  readonly in?: readonly (readonly Value[])[] | undefined;
  readonly backward?: boolean;
}

/** The rows of a range, out of sorted ones. */
export function rowsOf(options: WorldOptions, sorted: readonly WorldRow[], range: ValueRange): WorldRow[] {
  const { from, to, fromInclusive = true, toInclusive = true } = range;
  const found = sorted.filter(({ values }) => {
    if (range.in !== undefined) return range.in.some((point) => orderOf(options, values, point, point.length) === 0);
    if (from !== undefined) {
      const byFrom = orderOf(options, values, from, from.length);
      if (byFrom < 0 || (byFrom === 0 && !fromInclusive)) return false;
    }
    if (to === undefined) return true;
    const byTo = orderOf(options, values, to, to.length);
    return byTo < 0 || (byTo === 0 && toInclusive);
  });
  return range.backward === true ? found.reverse() : found;
}

export function boundOf(world: BuildWorld, values: readonly Value[], inclusive = true): SearchBound {
  const length = world.former.fromValues(values);
  return { memory: tupleMemory(world.former.memory.u8.slice(0, length)), pos: 0, natts: values.length, inclusive };
}

export function scanOf(world: BuildWorld, options: WorldOptions, range: ValueRange, tuples = true): BtreeScan {
  const { from, to, fromInclusive, toInclusive, backward } = range;
  const points = range.in
    ?.toSorted((a, b) => orderOf(options, a, b, a.length))
    .filter((point, i, all) => i === 0 || orderOf(options, all[i - 1], point, point.length) !== 0);
  const scanOptions: ScanOptions = {
    from: from && boundOf(world, from, fromInclusive),
    to: to && boundOf(world, to, toInclusive),
    in: points?.map((point) => boundOf(world, point)),
    backward,
    tuples,
  };
  return new BtreeScan(world.index, scanOptions);
}

/** The page of a scan, each entry as its TID and the bytes of its tuple with that TID. */
function entriesOf(scan: BtreeScan, count: number): string[] {
  const entries: string[] = [];
  const { memory, positions, blocks, offsets } = scan;
  for (let i = 0; i < count; i++) entries.push(plainTuple(memory, positions[i], blocks[i], offsets[i]));
  return entries;
}

/** The tuple, out of a posting list or not, as an index has it for the row alone. */
function plainTuple(m: TupleMemory, pos: number, block: number, offset: number): string {
  const posting = isPosting(m, pos);
  const length = posting ? postingOffset(m, pos) : indexTupleSize(m, pos);
  const bytes = Buffer.from(m.u8.slice(pos, pos + length));
  bytes.writeUInt16LE(block >>> 16, 0);
  bytes.writeUInt16LE(block & 0xffff, 2);
  bytes.writeUInt16LE(offset, 4);
  if (posting) bytes.writeUInt16LE((bytes.readUInt16LE(6) & ~0x3fff) | length, 6);
  return bytes.toString('hex');
}

export function tidsOf(scan: BtreeScan, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `(${scan.blocks[i]},${scan.offsets[i]})`);
}

/** All TIDs of a scan, with what `between` does after each page. */
export function drainTids(scan: BtreeScan, between?: () => void): string[] {
  const tids: string[] = [];
  for (let count = scan.nextPage(); count > 0; count = scan.nextPage()) {
    tids.push(...tidsOf(scan, count));
    between?.();
  }
  return tids;
}

/** All entries of a scan. */
export function drain(scan: BtreeScan): string[] {
  const entries: string[] = [];
  for (let count = scan.nextPage(); count > 0; count = scan.nextPage()) entries.push(...entriesOf(scan, count));
  return entries;
}

export function tidText({ block, offset }: WorldRow): string {
  return `(${block},${offset})`;
}
