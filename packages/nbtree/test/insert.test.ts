// Trees grown by inserts, against a sorted list, at every block size; the tree is read whole after each run.
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { int4, int8, text } from '@blockwright/tuple';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ASCENDING, type BenchOptions, InsertBench, readTree, tidNumber, type Value } from './insert-bench.ts';

const SEED = Number(process.env['FC_SEED'] ?? Date.now() & 0x7fff_ffff);
console.log(`inserts: FC_SEED=${SEED}`);

const DESCENDING = { descending: true, nullsFirst: true };
const SHAPES: Readonly<Record<string, BenchOptions>> = {
  int4: { columns: { a: int4() }, keys: [ASCENDING] },
  'int4 without deduplication': { columns: { a: int4() }, keys: [ASCENDING], deduplicate: false },
  'int4 descending, nulls first': { columns: { a: int4().nullable() }, keys: [DESCENDING] },
  text: { columns: { a: text().nullable() }, keys: [{ descending: false, nullsFirst: true }] },
  'int4 and text': { columns: { a: int4().nullable(), b: text().nullable() }, keys: [ASCENDING, DESCENDING] },
  'int8 including text': { columns: { a: int8(), b: text().nullable() }, keys: [ASCENDING] },
};

/** A value of a column, of few or many different ones; text up to what a third of a page holds. */
function valueOf(type: string, n: number, variety: number, longest: number): Value {
  const v = n % variety;
  if (v % 11 === 10 && type.endsWith('?')) return null;
  if (type.startsWith('int4')) return v - 3;
  if (type.startsWith('int8')) return BigInt(v) * 4_000_000_007n;
  return `${'k'.repeat(v % 7 === 6 ? Math.trunc((longest * (v % 97)) / 97) : v % 5)}${v}`;
}

function grow(size: BlockSize, options: BenchOptions, seed: number, variety: number, rows: number): InsertBench {
  const bench = new InsertBench(size, options);
  const names = Object.entries(options.columns);
  const longest = (bench.index.maxItemSize >>> (names.length - 1)) - 40;
  let state = seed | 1;
  for (let i = 0; i < rows; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const values = names.map(([, type], c) =>
      valueOf(type.name + (type.isNullable ? '?' : ''), state >>> (8 + c * 3), variety, longest),
    );
    // Every third row lies anywhere, in free places of early blocks: posting lists are split.
    const block = i % 3 === 0 ? 100_000 - i : 100_000 + (i >>> 5);
    bench.insert(values, block, i % 3 === 0 ? 7 : 1 + (i & 31));
  }
  return bench;
}

describe.each(BLOCK_SIZES)('at %i-byte blocks', (size) => {
  it.each(Object.keys(SHAPES))('random keys of %s', (name) => {
    const options = SHAPES[name];
    const rows = size <= 2048 ? 700 : size <= 8192 ? 1100 : size >>> 4 < 1100 ? 1400 : 2300;
    fc.assert(
      fc.property(fc.nat(0x7fff_ffff), fc.constantFrom(1, 2, 30, 1_000_000), (seed, variety) => {
        const bench = grow(size, options, seed, variety, rows);
        const tree = readTree(bench);
        expect(tree.tids).toEqual(bench.sorted().map(tidNumber));
        expect(tree.incomplete).toBe(0);
        if (variety <= 2 && bench.index.format.allEqualImage && options.deduplicate !== false) {
          expect(tree.postingLists).toBeGreaterThan(0);
        } else if (options.deduplicate === false) expect(tree.postingLists).toBe(0);
      }),
      { seed: SEED, numRuns: 4 },
    );
  });

  it('rising keys fill pages to the fillfactor, and a descent is not made for each', () => {
    for (const fillfactor of [50, 90, 100]) {
      const bench = new InsertBench(size, { columns: { a: int8() }, keys: [ASCENDING], fillfactor });
      const rows = size <= 4096 ? 2000 : 7000;
      for (let i = 0; i < rows; i++) bench.insert([BigInt(i)], i >>> 7, 1 + (i & 127));
      const tree = readTree(bench);
      expect(tree.tids).toEqual(bench.sorted().map(tidNumber));
      // One tuple's room more or less.
      expect(Math.abs(tree.fill * 100 - fillfactor)).toBeLessThan(6);
      expect(bench.index.rightmostLeaf).toBeGreaterThan(0);
    }
  });

  it('groups of rising keys in the middle leave full pages behind', () => {
    const bench = new InsertBench(size, { columns: { a: int4(), b: int4() }, keys: [ASCENDING, ASCENDING] });
    const rows = size <= 4096 ? 3000 : 9000;
    for (let i = 0; i < rows; i++) bench.insert([i % 3, i], i >>> 7, 1 + (i & 127));
    const tree = readTree(bench);
    expect(tree.tids).toEqual(bench.sorted().map(tidNumber));
    expect(tree.fill).toBeGreaterThan(0.65);
  });

  it('an entry of the greatest length goes in, a longer one is refused with the limit', () => {
    const bench = new InsertBench(size, { columns: { a: text() }, keys: [ASCENDING] });
    const most = bench.index.maxItemSize;
    expect(most).toBe({ 1024: 312, 2048: 656, 4096: 1336, 8192: 2704, 16384: 5432, 32768: 8176 }[size]);
    for (let i = 0; i < 40; i++) bench.insert([`${String(i).padStart(4, '0')}`.padEnd(most - 12, 'x')], 1, i + 1);
    expect(() => bench.insert(['y'.repeat(most - 11 + 8)], 2, 1)).toThrow(String(most));
    try {
      bench.insert(['y'.repeat(most)], 2, 1);
    } catch (error) {
      expect(error).toMatchObject({ code: '54000' });
    }
    expect(readTree(bench).tids).toEqual(bench.sorted().map(tidNumber));
  });
});

it('trees of 1 kB blocks grow to four levels', () => {
  const bench = new InsertBench(1024, { columns: { a: text() }, keys: [ASCENDING] });
  for (let i = 0; i < 2500; i++) bench.insert([`${'p'.repeat(90)}${Math.imul(i, 7919) % 2500}`], i, 1);
  const tree = readTree(bench);
  expect(tree.levels).toBeGreaterThanOrEqual(4);
  expect(tree.tids).toEqual(bench.sorted().map(tidNumber));
});

it('a row twice is damage that is said', () => {
  const bench = new InsertBench(1024, { columns: { a: int4() }, keys: [ASCENDING] });
  bench.insert([1], 5, 1);
  expect(() => bench.insert([1], 5, 1)).toThrow('has an entry for row (5,1) already');
});

it('the reader of trees finds an item that was moved', () => {
  const bench = grow(1024, SHAPES['int4'], 3, 1000, 300);
  bench.pool.withPage(bench.index.main, 1, (m, base) => {
    const first = (base + 24 + 8) >>> 2;
    const lp = m.u32[first];
    m.u32[first] = m.u32[first + 1];
    m.u32[first + 1] = lp;
  });
  expect(() => readTree(bench)).toThrow('rise');
});

it('a page with an item that is no tuple is not split, and not changed', () => {
  const bench = new InsertBench(1024, { columns: { a: int4() }, keys: [ASCENDING] });
  for (let i = 0; i < 30; i++) bench.insert([i], i, 1);
  bench.pool.withPage(bench.index.main, 1, (m, base) => {
    const pos = base + ((m.u32[(base + 24 + 8) >>> 2] as number) & 0x7fff);
    m.u16[(pos + 6) >>> 1] = 0x1ff8; // its size
  });
  const before = bench.page(1);
  const insertMany = (): void => {
    for (let i = 30; i < 60; i++) bench.insert([i], i, 1);
  };
  expect(insertMany).toThrow('item 3, 16 bytes long, says that it has 8184');
  expect(bench.pool.pinned()).toEqual([]);
  const after = bench.page(1);
  expect(after.u8.subarray(900)).toEqual(before.u8.subarray(900));
  expect(bench.index.main.blockCount()).toBe(2);
});
