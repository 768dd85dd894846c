// Redo: pages after it are those of before, whatever the record; and a tree that a crash left between two records of a
// split or a deletion is one that works.
import { runSync } from '@blockwright/base';
import { BLOCK_SIZES } from '@blockwright/geometry';
import { describe, expect, it } from 'vitest';
import { btreeBulkDelete } from '../src/bulk-delete.ts';
import { btreeRecords } from '../src/records.ts';
import { history, KEYS, KINDS } from './history.ts';
import { checkTree, expectSamePages, type IndexBench, type Replayed, tidOf } from './vacuum-bench.ts';

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
    expect([...kinds].sort()).toEqual(KINDS);
    // Pages above a leaf go with it: of two levels, so that a half-dead leaf leads to one that is neither its parent.
    const levels = bench.everyRecord(({ info, dataAt, view }) =>
      btreeRecords.identify(info) === 'UNLINK_PAGE' ? view.getUint32(dataAt + 8, true) : 0,
    );
    expect(Math.max(...levels)).toBeGreaterThan(0);
    checkTree(bench.index);
    const replayed = bench.replayed();
    expectSamePages(bench, replayed);
    bench.close();
  });
});

describe.each([
  [1024, 1],
  [8192, 5],
] as const)('a crash at %i-byte blocks', (size, each) => {
  it('after any record leaves a tree that takes inserts and deletes, after which it is whole', () => {
    const bench = history(size);
    const seen = { incomplete: 0, halfDead: 0 };
    const all = bench.everyRecord(({ lsn, info }) => ({ lsn, kind: btreeRecords.identify(info) }));
    for (const [n, { lsn, kind }] of all.entries()) {
      if (n % (/SPLIT|HALFDEAD|UNLINK|ROOT/.test(kind) ? each : 16) !== 0) continue;
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
    expect(seen.incomplete).toBeGreaterThan(5);
    expect(seen.halfDead).toBeGreaterThan(5);
    bench.close();
  });
});
