// Redo: pages after it are those of before, whatever the record; and a tree that a crash left between two records of a
// split or a deletion is one that works.
import { runSync } from '@blockwright/base';
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { describe, expect, it } from 'vitest';
import { btreeBulkDelete, btreeVacuumCleanup } from '../src/bulk-delete.ts';
import { btreeRecords } from '../src/records.ts';
import { checkTree, expectSamePages, IndexBench, type Replayed, tidOf } from './vacuum-bench.ts';

const KEYS = 160;

/** A history with a record of every kind, and with so few that it can be replayed up to each of them. */
function history(size: BlockSize): IndexBench {
  const filler = (size >>> 4) - 24;
  const bench = new IndexBench(size, { filler, keepsHistory: true, buffers: 64 });
  const nothing = (): boolean => false;
  for (let i = 0; i < KEYS; i++) bench.insert(Math.imul(i, 77) % KEYS);
  for (let i = 0; i < 60; i++) bench.insert(5 + (i % 3));
  bench.delete((key, tid) => key > 2 && key < 10 && tid % 2 === 0);
  bench.passXid();
  bench.markDead((key) => key >= 40 && key < 60);
  for (let i = 0; i < 30; i++) bench.insert(40 + (i % 20));
  // All but the greatest keys go: the tree keeps its height, and a page low in it becomes the fast root.
  bench.delete((key) => key < KEYS - 3);
  runSync(btreeVacuumCleanup(bench.index, runSync(btreeBulkDelete(bench.index, nothing))));
  bench.passXid();
  runSync(btreeBulkDelete(bench.index, nothing));
  for (let i = 0; i < 90; i++) bench.insert(KEYS + i);
  bench.delete((_, tid) => tid % 2 === 0);
  return bench;
}

/** What is in the tree lies between what was in it before the step that the crash cut short, and after it. */
function expectBetween(bench: IndexBench, replayed: Replayed, lsn: number): Map<number, number> {
  const { found } = checkTree(replayed.index);
  const after = bench.history.findIndex(({ end }) => end > lsn);
  const models = [bench.history[after - 1], bench.history[after]].map((one) => one?.model ?? bench.model);
  for (const [tid, key] of found) {
    if (models.every((model) => model.get(tid) !== key) && !bench.dead.has(tid)) expect(`TID ${tid}`).toBe('not there');
  }
  for (const [tid, key] of models[0]) {
    if (models[1].get(tid) === key && !bench.dead.has(tid)) expect(found.get(tid), `TID ${tid}`).toBe(key);
  }
  return found;
}

describe.each(BLOCK_SIZES)('redo at %i-byte blocks', (size) => {
  it('of records of every kind makes the pages that were there', () => {
    const bench = history(size);
    const kinds = new Set(bench.everyRecord(({ info }) => btreeRecords.identify(info)));
    expect([...kinds].sort()).toEqual([
      'DEDUP',
      'DELETE',
      'INSERT_LEAF',
      'INSERT_META',
      'INSERT_POST',
      'INSERT_UPPER',
      'MARK_PAGE_HALFDEAD',
      'META_CLEANUP',
      'NEWROOT',
      'SPLIT_L',
      'SPLIT_R',
      'UNLINK_PAGE',
      'UNLINK_PAGE_META',
      'VACUUM',
    ]);
    checkTree(bench.index);
    const replayed = bench.replayed();
    expectSamePages(bench, replayed);
    bench.close();
  });
});

describe.each([1024, 8192] as const)('a crash at %i-byte blocks', (size) => {
  it('after any record leaves a tree that takes inserts and deletes, after which it is whole', () => {
    const bench = history(size);
    const seen = { incomplete: 0, halfDead: 0 };
    const all = bench.everyRecord(({ lsn, info }) => ({ lsn, kind: btreeRecords.identify(info) }));
    for (const [n, { lsn, kind }] of all.entries()) {
      if (!/SPLIT|HALFDEAD|UNLINK|ROOT/.test(kind) && n % 16 !== 0) continue;
      const replayed = bench.replayed(lsn);
      const found = expectBetween(bench, replayed, lsn);
      const { index } = replayed;
      const shape = checkTree(index, found);
      seen.incomplete += Math.min(shape.incomplete, 1);
      seen.halfDead += Math.min(shape.halfDead, 1);
      for (let i = 0; i < 60; i++) {
        replayed.insert(Math.imul(i, 37) % (KEYS + 90), 5000, i + 1);
        found.set(tidOf(5000, i + 1), Math.imul(i, 37) % (KEYS + 90));
      }
      checkTree(index, found);
      const goes = new Set([...found.keys()].filter((tid) => tid % 3 === 0 || (found.get(tid) as number) % 50 > 10));
      runSync(btreeBulkDelete(index, (block, offset) => goes.has(tidOf(block, offset))));
      for (const tid of goes) found.delete(tid);
      const after = checkTree(index, found);
      expect(after).toMatchObject({ halfDead: 0 });
      // And all go: what is left is one leaf on each level.
      runSync(btreeBulkDelete(index, () => true));
      const empty = checkTree(index, new Map());
      if (after.incomplete === 0) expect(empty.pages).toBe(empty.levels);
    }
    expect(seen.incomplete).toBeGreaterThan(10);
    expect(seen.halfDead).toBeGreaterThan(10);
    bench.close();
  });
});
