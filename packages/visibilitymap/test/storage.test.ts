// The map of a relation on a file system in memory, through the real storage manager.
import { Relation } from '@blockwright/access';
import { BufferPool } from '@blockwright/bufmgr';
import { BlockGeometry } from '@blockwright/geometry';
import { type Fork, StorageManager } from '@blockwright/smgr';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { type VisibilityFork, VisibilityMap } from '@blockwright/visibilitymap';
import { expect, expectTypeOf, test } from 'vitest';

const g = BlockGeometry.of('1kB');
const WINDOW = g.heapBlocksPerVmPage;

function disk(): MemoryVfs {
  const vfs = new MemoryVfs();
  for (const directory of ['/data', '/data/base', '/data/base/5']) vfs.mkdir(directory);
  return vfs;
}

function open(vfs: MemoryVfs, warnings: string[] = []): { relation: Relation; map: VisibilityMap; pool: BufferPool } {
  const storage = new StorageManager({ vfs, directory: '/data', geometry: g, segmentBlocks: 2 });
  const pool = new BufferPool({ geometry: g, buffers: 16, onWarning: (message) => warnings.push(message) });
  const relation = new Relation({
    pool,
    storage: storage.open({ tablespace: 1663, database: 5, relfilenode: 16384 }),
  });
  return { relation, pool, map: new VisibilityMap({ pool, fork: relation.vm }) };
}

test('a fork of the storage manager is what the map asks for', () => {
  expectTypeOf<Fork>().toExtend<VisibilityFork>();
});

test('a map made, closed, found again, cut, over segment edges', () => {
  const vfs = disk();
  const first = open(vfs);
  expect(first.map.clear(5, 3)).toBe(false);
  for (const b of [0, WINDOW, 2 * WINDOW + 1, 4 * WINDOW - 1]) first.map.set(b, b === 0 ? 1 : 3);
  first.pool.close();
  expect(vfs.readdir('/data/base/5').sort()).toEqual(['16384_vm', '16384_vm.1']);

  const { map } = open(vfs);
  const cursor = map.cursor();
  expect([0, 1, WINDOW, 2 * WINDOW + 1, 4 * WINDOW - 1, 4 * WINDOW].map((b) => cursor.status(b))).toEqual([
    1, 0, 3, 3, 3, 0,
  ]);
  cursor.close();
  expect(map.count()).toEqual({ allVisible: 4, allFrozen: 3 });
  map.truncate(2 * WINDOW + 1);
  expect(map.count()).toEqual({ allVisible: 2, allFrozen: 1 });
  expect(map.blockCount()).toBe(3);
});

test('a map whose first segment is gone, and one that ends within a page', () => {
  const vfs = disk();
  const made = open(vfs);
  for (let b = 0; b < 4 * WINDOW; b += WINDOW) made.map.set(b, 3);
  made.pool.close();
  const warnings: string[] = [];
  vfs.open('/data/base/5/16384_vm.1', 'r+').truncate(g.size + 100);
  const short = open(vfs, warnings);
  expect([0, WINDOW, 2 * WINDOW, 3 * WINDOW].map((b) => short.map.status(b))).toEqual([3, 3, 3, 0]);
  vfs.unlink('/data/base/5/16384_vm');
  const headless = open(vfs, warnings);
  expect([0, WINDOW, 2 * WINDOW, 3 * WINDOW].map((b) => headless.map.status(b))).toEqual([0, 0, 0, 0]);
  expect(warnings.length).toBeLessThanOrEqual(1);
});
