// A disk that is full at every change of pages of a run, once each: the insert that meets it fails, the tree is sound with a
// split that is not complete at worst, and the next inserts complete it.
import { BLOCK_SIZES } from '@blockwright/geometry';
import { int4, text } from '@blockwright/tuple';
import { describe, expect, it } from 'vitest';
import { ASCENDING, InsertBench, readTree, tidNumber } from './insert-bench.ts';

function benchOf(size: (typeof BLOCK_SIZES)[number]): InsertBench {
  return new InsertBench(size, { columns: { a: text(), b: int4() }, keys: [ASCENDING, ASCENDING] });
}

/** Long keys that differ at their ends: pages above the leaves hold few, and are split, too. */
function insertAt(bench: InsertBench, i: number): void {
  const width = (bench.index.maxItemSize >>> 1) - 40;
  bench.insert([`${'q'.repeat(width)}${Math.imul(i, 37) % 64}`, i], 100 + i, 1);
}

describe.each(BLOCK_SIZES)('at %i-byte blocks', (size) => {
  it('every change of every split may fail', () => {
    const rows = 60;
    const calm = benchOf(size);
    for (let i = 0; i < rows; i++) insertAt(calm, i);
    const total = calm.log.changes;
    expect(readTree(calm).levels).toBeGreaterThanOrEqual(3);
    let halves = 0;
    // Small pages split most: every change of theirs, and some of the others.
    for (let nth = 2; nth < total; nth += size === 1024 ? 1 : 3) {
      const bench = benchOf(size);
      bench.log.failsIn = nth - 1;
      let failed = -1;
      for (let i = 0; i < rows; i++) {
        const before = bench.entries.length;
        try {
          insertAt(bench, i);
        } catch (error) {
          expect(error).toMatchObject({ code: '53100' });
          failed = i;
          expect(bench.entries.length).toBe(before);
          const tree = readTree(bench);
          halves += tree.incomplete;
          // The tuple is in the index when its page was split, and only then.
          if (tree.tids.length > before) {
            expect(tree.incomplete).toBeGreaterThan(0);
            bench.entries.push({
              values: [`${'q'.repeat((bench.index.maxItemSize >>> 1) - 40)}${Math.imul(i, 37) % 64}`, i],
              block: 100 + i,
              offset: 1,
            });
          }
          expect(tree.tids).toEqual(bench.sorted().map(tidNumber));
        }
      }
      expect(failed).toBeGreaterThanOrEqual(0);
      // Inserts everywhere meet every page that is in the way.
      for (let i = rows; i < 2 * rows; i++) insertAt(bench, i);
      const tree = readTree(bench);
      expect(tree.tids).toEqual(bench.sorted().map(tidNumber));
      expect(tree.incomplete).toBe(0);
      bench.pool.close();
    }
    expect(halves).toBeGreaterThan(0);
  });
});
