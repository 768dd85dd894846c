// A history of one index that has a record of every kind that is written, and so few that it can be replayed up to each.
import { runSync } from '@blockwright/base';
import type { BlockSize } from '@blockwright/geometry';
import { btreeBulkDelete, btreeVacuumCleanup } from '../src/bulk-delete.ts';
import { IndexBench } from './vacuum-bench.ts';

export const KEYS = 160;

export function history(size: BlockSize): IndexBench {
  const filler = (size >>> 3) - 24;
  const bench = new IndexBench(size, { filler, fillerFirst: true, keepsHistory: true, buffers: 64 });
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

/** The kinds of its records. REUSE_PAGE is for standbys, and not written. */
export const KINDS: readonly string[] = [
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
];
