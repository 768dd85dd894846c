// Room made before a split: dead items with their neighbours, old versions of rows whose keys did not change.
import { TABLE_ABSENT } from '@blockwright/access';
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { itemPosition, markItemDead, pageMaxOffset } from '@blockwright/page';
import { int4, text } from '@blockwright/tuple';
import { describe, expect, it } from 'vitest';
import { isPosting } from '../src/tuples.ts';
import { ASCENDING, type BenchOptions, InsertBench, readTree, tidNumber } from './insert-bench.ts';

function benchOf(size: BlockSize, isDead: (block: number, offset: number) => boolean, more = {}): InsertBench {
  const options: BenchOptions = { columns: { a: int4(), b: text() }, keys: [ASCENDING, ASCENDING], isDead, ...more };
  return new InsertBench(size, options);
}

/** Inserts until the root is full, not yet split. @returns how many */
function fill(
  bench: InsertBench,
  values: (i: number) => [number, string],
  tid: (i: number) => [number, number],
): number {
  const g = bench.index.geometry;
  for (let i = 0; ; i++) {
    if (i > 0) {
      const m = bench.page(1);
      const bytes = bench.former.fromValues(values(i)) + 4;
      if ((m.u16[7] as number) - (m.u16[6] as number) < bytes) return i;
    }
    if (i > g.size) throw new Error('the page is never full');
    bench.insert(values(i), ...tid(i));
  }
}

describe.each(BLOCK_SIZES)('at %i-byte blocks', (size) => {
  it('dead items go, and dead rows on their blocks, instead of a split', () => {
    const rowIsDead = (_: number, offset: number): boolean => offset % 2 === 0;
    const bench = benchOf(size, rowIsDead, { deduplicate: false });
    const filled = fill(
      bench,
      (i) => [i, 'x'],
      (i) => [i >>> 2, 1 + (i & 3)],
    );
    // The item of row (1,2): the block's other dead row is (1,4). The new row's block is looked at, too.
    bench.pool.withPage(bench.index.main, 1, (m, base) => markItemDead(m, base, 6));
    bench.insert([5000, 'x'], 2, 9);
    const gone = [tidNumber({ block: 1, offset: 2 }), tidNumber({ block: 1, offset: 4 })];
    gone.push(tidNumber({ block: 2, offset: 2 }), tidNumber({ block: 2, offset: 4 }));
    const tree = readTree(bench);
    expect(tree.pages).toBe(1);
    expect(tree.tids).toEqual(
      bench
        .sorted()
        .map(tidNumber)
        .filter((tid) => !gone.includes(tid)),
    );
    expect(tree.tids.length).toBe(filled + 1 - 4);
    expect(new Set(bench.asked)).toEqual(new Set([1, 2]));
  });

  it('posting lists lose the TIDs that are dead, and become plain tuples again', () => {
    const dead = new Set<number>();
    const bench = benchOf(size, (block, offset) => dead.has(tidNumber({ block, offset })));
    // Pairs of equal keys, merged when the page is full; then full again of others.
    const pairs = fill(
      bench,
      (i) => [i >>> 1, 'x'],
      (i) => [i, 1],
    );
    bench.insert([pairs >>> 1, 'x'], pairs, 1);
    expect(isPosting(bench.page(1), itemPosition(bench.page(1), 0, 1))).toBe(true);
    const others = fill(
      bench,
      (n) => [100_000 + n, 'y'],
      (n) => [50_000 + n, 1],
    );
    expect(others).toBeGreaterThan(1);
    // The last item is dead; the new tuple's row is on block 0, where one row of a pair is dead.
    bench.pool.withPage(bench.index.main, 1, (m, base) => markItemDead(m, base, pageMaxOffset(m, base)));
    dead.add(tidNumber({ block: 0, offset: 1 }));
    const killed = tidNumber(bench.entries[bench.entries.length - 1]);
    bench.insert([50_000, 'z'], 0, 2);
    const tree = readTree(bench);
    const gone = [killed, tidNumber({ block: 0, offset: 1 })];
    expect(tree.tids).toEqual(
      bench
        .sorted()
        .map(tidNumber)
        .filter((tid) => !gone.includes(tid)),
    );
    const first = bench.page(1);
    expect(isPosting(first, itemPosition(first, 0, 1))).toBe(false);
  });

  it('versions of a row whose key stays: old ones go, few blocks are asked, and the page is not split', () => {
    // The newest version of each of few rows is live.
    const live = new Map<number, number>();
    const keys = new Map<number, number>();
    const isDead = (block: number, offset: number): boolean => {
      const tid = tidNumber({ block, offset });
      return live.get(keys.get(tid) as number) !== tid;
    };
    const bench = benchOf(size, isDead, { isUnique: true, fate: () => TABLE_ABSENT });
    const rows = 8;
    let most = 0;
    for (let i = 0; i < 5 * (size >>> 4); i++) {
      const key = i % rows;
      const tid = { block: i >>> 5, offset: 1 + (i & 31) };
      keys.set(tidNumber(tid), key);
      live.set(key, tidNumber(tid));
      const asked = bench.asked.length;
      bench.insert([key, 'v'], tid.block, tid.offset, i >= rows);
      most = Math.max(most, bench.asked.length - asked);
    }
    const tree = readTree(bench);
    expect(tree.pages).toBe(1);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(6);
    for (const tid of live.values()) expect(tree.tids).toContain(tid);
  });
});
