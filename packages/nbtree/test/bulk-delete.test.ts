// Bulk delete: against a set; while others insert; with pages that cannot go, links that lead nowhere, a map that lies and
// a disk that is full.
import { runSync, StorageError } from '@blockwright/base';
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { itemPosition, LP_DEAD, linePointer, lpFlags, pageIsZero, pageMaxOffset } from '@blockwright/page';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { btreeBulkDelete, btreeVacuumCleanup } from '../src/bulk-delete.ts';
import { readMeta } from '../src/meta.ts';
import { btIsDeleted, btIsLeaf, btNext, btPrev, btSafeXid, setBtNext, setBtPrev } from '../src/page.ts';
import { BtreeScan } from '../src/scan.ts';
import type { BulkDeleteStats } from '../src/vacuum-state.ts';
import { checkTree, expectSamePages, IndexBench, keyOf, pageCopy, tidOf } from './vacuum-bench.ts';

const step = fc.oneof(
  fc.record({
    what: fc.constant('insert' as const),
    from: fc.nat(300),
    count: fc.integer({ min: 1, max: 120 }),
    by: fc.integer({ min: 0, max: 3 }),
  }),
  fc.record({
    what: fc.constant('delete' as const),
    from: fc.nat(300),
    to: fc.nat(700),
    each: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ what: fc.constant('pass' as const) }),
);

/** As many keys as make some leaves, each with a filler that makes a page hold about seven. */
function grown(size: BlockSize, keys: number): IndexBench {
  const bench = new IndexBench(size, { filler: (size >>> 3) - 24, fillerFirst: true, buffers: 64 });
  for (let i = 0; i < keys; i++) bench.insert(i);
  return bench;
}

describe.each(BLOCK_SIZES)('bulk delete at %i-byte blocks', (size) => {
  it('leaves what a set has left, in a whole tree, and replays to the same pages', () => {
    const options = fc.record({
      filler: fc.constantFrom(0, size >>> 5, size >>> 3),
      fillerFirst: fc.boolean(),
      deduplicate: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 14 }), options, (steps, option) => {
        const bench = new IndexBench(size, option);
        for (const one of steps) {
          if (one.what === 'pass') bench.passXid();
          else if (one.what === 'insert') for (let i = 0; i < one.count; i++) bench.insert(one.from + i * one.by);
          else bench.delete((key, tid) => key >= one.from && key < one.to && tid % one.each === 0);
          bench.check();
        }
        expectSamePages(bench, bench.replayed());
        bench.close();
      }),
      { numRuns: 10 },
    );
  });

  it('counts what it did, and deletes all pages but the last of each level', () => {
    const bench = grown(size, 150);
    const before = bench.check();
    expect(before).toMatchObject({ levels: expect.toSatisfy((levels) => levels >= 3), deleted: 0 });
    expect(bench.delete((key) => key % 2 === 0)).toMatchObject({
      tuplesRemoved: 75,
      numIndexTuples: 75,
      pagesNewlyDeleted: 0,
      estimatedCount: false,
    });
    const stats = bench.delete(() => true);
    const after = bench.check();
    expect(after).toMatchObject({ levels: before.levels, pages: before.levels, deleted: before.pages - before.levels });
    expect(stats).toMatchObject({
      tuplesRemoved: 75,
      numIndexTuples: 0,
      numPages: before.pages + 1,
      pagesNewlyDeleted: after.deleted,
      pagesDeleted: after.deleted,
      pagesFree: 0, // the vacuum itself could still reach them
      warnings: [],
    });
    expect(readMeta(pageCopy(bench.pool, bench.index, 0), 0)).toMatchObject({ fastlevel: 0 });
    bench.close();
  });

  it('removes dead items only when they are among what is asked for', () => {
    const bench = grown(size, 40);
    bench.markDead((key) => key < 20);
    const marked = deadItems(bench);
    expect(marked).toBe(20);
    bench.delete((key) => key === 5 || key === 30);
    bench.check();
    expect(deadItems(bench)).toBe(19);
    bench.close();
  });
});

function deadItems(bench: IndexBench): number {
  let dead = 0;
  for (let block = 1; block < bench.index.main.blockCount(); block++) {
    const m = pageCopy(bench.pool, bench.index, block);
    if (pageIsZero(m, 0, bench.geometry) || !btIsLeaf(m, 0, bench.geometry.size)) continue;
    for (let o = 1; o <= pageMaxOffset(m, 0); o++) if (lpFlags(linePointer(m, 0, o)) === LP_DEAD) dead++;
  }
  return dead;
}

describe('between two steps of a bulk delete', () => {
  it('inserts may split pages to blocks that it has passed, and nothing that is to go stays', () => {
    let back = 0;
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const random = numbers(seed);
        const bench = new IndexBench(1024, { filler: 40, buffers: 64, deduplicate: false });
        // Pages at the beginning of the file can be used again: that is where splits go.
        for (let i = 0; i < 200; i++) bench.insert(i);
        bench.delete((key) => key < 60);
        bench.passXid();
        for (let i = 0; i < 40; i++) bench.insert(1000 + i);
        runSync(btreeBulkDelete(bench.index, () => false));
        const dead = new Set([...bench.model].filter(([, key]) => key % 3 !== 0).map(([tid]) => tid));
        const steps = btreeBulkDelete(bench.index, (block, offset) => dead.has(tidOf(block, offset)));
        let progress = steps.next();
        while (progress.done !== true) {
          for (let i = random(4); i > 0; i--) bench.insert(60 + random(140));
          const end = bench.index.main.blockCount();
          progress = steps.next();
          if (bench.index.main.blockCount() === end) back++;
        }
        for (const tid of dead) bench.model.delete(tid);
        bench.check();
        expect((progress.value as BulkDeleteStats).warnings).toEqual([]);
        expectSamePages(bench, bench.replayed());
        bench.close();
      }),
      { numRuns: 12 },
    );
    expect(back).toBeGreaterThan(0);
  });

  it('another bulk delete of the index is refused, and one that was given up is over', () => {
    const bench = grown(1024, 60);
    const first = btreeBulkDelete(bench.index, () => false);
    first.next();
    expect(() => runSync(btreeBulkDelete(bench.index, () => false))).toThrow(/"t_k_idx" is being vacuumed already/);
    first.return(undefined as never);
    bench.delete((key) => key < 30);
    bench.check();
    bench.close();
  });
});

/** Whole numbers from 0 to before `end`. */
function numbers(seed: number): (end: number) => number {
  let state = seed >>> 0;
  return (end) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * end);
  };
}

describe.each([1024, 8192] as const)('deleted pages at %i-byte blocks', (size) => {
  it('keep their links while a snapshot is held that is as old as they are, and are used again afterwards', () => {
    const bench = grown(size, 120);
    const { index, pool, transactions } = bench;
    const snapshot = transactions.snapshot();
    bench.delete((key) => key < 100);
    const links = deletedPages(bench);
    expect(links.size).toBeGreaterThan(4);
    const grows = (): number => {
      const before = index.main.blockCount();
      for (let i = 0; i < 60; i++) bench.insert(1000 + bench.model.size);
      return index.main.blockCount() - before;
    };
    for (let i = 0; i < 3; i++) {
      bench.passXid();
      expect(runSync(btreeBulkDelete(index, () => false))).toMatchObject({ pagesFree: 0, pagesDeleted: links.size });
      expect(grows()).toBeGreaterThan(0);
      expect(deletedPages(bench)).toEqual(links);
    }
    snapshot.release();
    bench.passXid();
    expect(runSync(btreeBulkDelete(index, () => false))).toMatchObject({ pagesFree: links.size });
    expect(grows()).toBe(0);
    expect(deletedPages(bench).size).toBeLessThan(links.size);
    bench.check();
    expectSamePages(bench, bench.replayed());
    expect(pool.pinned()).toEqual([]);
    bench.close();
  });

  it.each([false, true])(
    'are reached by scans that were there before, and are not used again under them (backward: %s)',
    (backward) => {
      let recycled = 0;
      fc.assert(
        fc.property(fc.integer(), (seed) => {
          const random = numbers(seed);
          const bench = grown(size, 120);
          const { index, transactions } = bench;
          const snapshot = transactions.snapshot();
          const scan = new BtreeScan(index, { backward });
          const all = new Map(bench.model);
          const seen = new Map<number, number>();
          for (let count = scan.nextPage(); count > 0; count = scan.nextPage()) {
            for (let i = 0; i < count; i++) {
              const tid = tidOf(scan.blocks[i], scan.offsets[i]);
              expect(seen.has(tid)).toBe(false);
              seen.set(tid, 0);
            }
            const from = random(120);
            bench.delete((key) => key >= from && key < from + 50);
            bench.passXid();
            runSync(btreeBulkDelete(index, () => false));
            for (let i = 0; i < 30; i++) bench.insert(random(120));
          }
          scan.close();
          for (const [tid, key] of bench.model) if (all.get(tid) === key) expect(seen.has(tid)).toBe(true);
          snapshot.release();
          bench.passXid();
          recycled += runSync(btreeBulkDelete(index, () => false)).pagesFree;
          bench.check();
          bench.close();
        }),
        { numRuns: 8 },
      );
      expect(recycled).toBeGreaterThan(5);
    },
  );

  it('are looked for by a cleanup without a bulk delete, when many were left', () => {
    const bench = grown(size, 120);
    const { index } = bench;
    expect(runSync(btreeVacuumCleanup(index))).toBe(undefined);
    const stats = bench.delete((key) => key < 100);
    runSync(btreeVacuumCleanup(index, stats));
    const left = stats.pagesDeleted;
    expect(readMeta(pageCopy(bench.pool, index, 0), 0).lastCleanupNumDelpages).toBe(left);
    bench.passXid();
    expect(runSync(btreeVacuumCleanup(index))).toMatchObject({
      pagesFree: left,
      tuplesRemoved: 0,
      estimatedCount: true,
    });
    expect(readMeta(pageCopy(bench.pool, index, 0), 0).lastCleanupNumDelpages).toBe(0);
    expect(runSync(btreeVacuumCleanup(index))).toBe(undefined);
    bench.check();
    bench.close();
  });
});

/** Block, links and safexid of each. */
function deletedPages(bench: IndexBench): Map<number, readonly number[]> {
  const { index, geometry } = bench;
  const found = new Map<number, readonly number[]>();
  for (let block = 1; block < index.main.blockCount(); block++) {
    const m = pageCopy(bench.pool, index, block);
    if (pageIsZero(m, 0, geometry) || !btIsDeleted(m, 0, geometry.size)) continue;
    found.set(block, [btPrev(m, 0, geometry.size), btNext(m, 0, geometry.size), btSafeXid(m, 0, geometry)]);
  }
  return found;
}

describe('what is not as it should be', () => {
  it('a zero page counts as free, and is used', () => {
    const bench = grown(1024, 60);
    const { index, pool } = bench;
    pool.extend(index.main, 3);
    expect(runSync(btreeBulkDelete(index, () => false))).toMatchObject({ pagesDeleted: 3, pagesFree: 3 });
    const end = index.main.blockCount();
    for (let i = 0; i < 8; i++) bench.insert(100 + i);
    expect(index.main.blockCount()).toBe(end);
    expect(bench.check().unused).toBeLessThan(3);
    bench.close();
  });

  it('whatever the free space map says, no page in use is used for another', () => {
    fc.assert(
      fc.property(fc.constantFrom('random', 'all 255'), fc.integer(), (what, seed) => {
        const random = numbers(seed);
        const bench = grown(1024, 60);
        const { index, pool, vfs, geometry } = bench;
        bench.delete((key) => key < 30);
        pool.extend(index.main, 1);
        runSync(btreeBulkDelete(index, () => false)); // so that there is a map
        pool.flushAll();
        pool.dropFork(index.relation.fsm);
        const file = vfs.open('/data/base/5/16385_fsm', 'r+');
        for (let at = 24; at < file.size(); at++) {
          if (at % geometry.size < 24) continue;
          file.write(new Uint8Array([what === 'random' ? random(256) : 255]), 0, 1, at);
        }
        file.close();
        for (let i = 0; i < 60; i++) bench.insert(100 + i);
        bench.check();
        bench.close();
      }),
      { numRuns: 10 },
    );
  });

  it.each([
    ['a left link to itself', 'left', -1],
    ['a left link out of the file', 'left', 100_000],
    ['a left link elsewhere', 'left', 1],
    ['a right link of the left sibling elsewhere', 'next', 1],
  ] as const)('%s keeps a page, with a warning', (_name, which, wrong) => {
    const bench = grown(1024, 100);
    const { index, pool, geometry } = bench;
    const { size } = geometry;
    // The third leaf from the left.
    let block = 1;
    const path = [block];
    for (let i = 0; i < 2; i++) {
      block = btNext(pageCopy(pool, index, block), 0, size);
      path.push(block);
    }
    const to = wrong < 0 ? path[2] : wrong;
    const changed = which === 'left' ? path[2] : path[1];
    pool.withPage(index.main, changed, (m, base) => {
      if (which === 'left') setBtPrev(m, base, size, to);
      else setBtNext(m, base, size, to);
    });
    const dead = keysOfLeaf(bench, path[2]);
    const stats = bench.delete((key) => dead.has(key));
    expect(stats.pagesNewlyDeleted).toBe(0);
    expect(stats.warnings.join()).toContain(`block ${path[2]}`);
    expect(pool.pinned()).toEqual([]);
  });

  it("a page that is no B-tree's is refused by block", () => {
    const bench = grown(1024, 60);
    const { index, pool } = bench;
    pool.withPage(index.main, 2, (m, base) => {
      m.u16[(base + 16) >>> 1] = 1024; // pd_special
    });
    expect(() => runSync(btreeBulkDelete(index, () => false))).toThrow(/index "t_k_idx", block 2: /);
    expect(pool.pinned()).toEqual([]);
    // And the vacuum is over.
    expect(() => runSync(btreeBulkDelete(index, () => false))).toThrow(/block 2: /);
  });
});

function keysOfLeaf(bench: IndexBench, block: number): Set<number> {
  const keys = new Set<number>();
  const m = pageCopy(bench.pool, bench.index, block);
  for (let o = 2; o <= pageMaxOffset(m, 0); o++) keys.add(keyOf(bench.index, m, itemPosition(m, 0, o)));
  return keys;
}

describe('a disk that is full', () => {
  it('at any record leaves a tree that is sound, and the next vacuum goes on', () => {
    let full = 0;
    for (let at = 1; at < 24; at++) {
      const bench = grown(1024, 90);
      const { log, pool, index } = bench;
      const dead = new Set([...bench.model].filter(([, key]) => key < 80).map(([tid]) => tid));
      const isDead = (block: number, offset: number): boolean => dead.has(tidOf(block, offset));
      const { begin } = log;
      let left = at;
      log.begin = function (...args) {
        if (--left === 0) throw new StorageError('53100', 'no room');
        return begin.apply(this, args);
      };
      try {
        runSync(btreeBulkDelete(index, isDead));
      } catch (error) {
        expect(error).toMatchObject({ code: '53100' });
        full++;
      }
      log.begin = begin;
      expect(pool.pinned()).toEqual([]);
      const { found } = checkTree(index);
      for (const [tid, key] of bench.model) if (!dead.has(tid)) expect(found.get(tid)).toBe(key);
      runSync(btreeBulkDelete(index, isDead));
      for (const tid of dead) bench.model.delete(tid);
      expect(bench.check()).toMatchObject({ halfDead: 0 });
      expectSamePages(bench, bench.replayed());
      bench.close();
    }
    expect(full).toBeGreaterThan(10);
  });
});
