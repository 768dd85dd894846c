// The pool over the real storage manager: relation files in a file system in memory, in segments of four blocks.
import { ForkNumber } from '@blockwright/base';
import { type BufferedFork, BufferPool } from '@blockwright/bufmgr';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { type Fork, StorageManager } from '@blockwright/smgr';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { expect, expectTypeOf, test } from 'vitest';
import { look, put } from './pages.ts';

const locator = { tablespace: 1663, database: 5, relfilenode: 16384 };

function open(geometry: BlockGeometry, vfs: MemoryVfs): StorageManager {
  return new StorageManager({ vfs, directory: '/data', geometry, segmentBlocks: 4 });
}

function emptyDisk(): MemoryVfs {
  const vfs = new MemoryVfs();
  for (const directory of ['/data', '/data/base', '/data/base/5']) vfs.mkdir(directory);
  return vfs;
}

test('a fork of the storage manager is what the pool asks for', () => {
  expectTypeOf<Fork>().toExtend<BufferedFork>();
});

test.each(BLOCK_SIZES)('pages of %i bytes go to files over segment edges and come back', (size) => {
  const geometry = BlockGeometry.of(size);
  const vfs = emptyDisk();
  const storage = open(geometry, vfs);
  const fork = storage.open(locator).fork(ForkNumber.main);
  fork.create();
  const pool = new BufferPool({ geometry, buffers: 16 });
  for (let b = 0; b < 30; b++) {
    expect(pool.extend(fork, 1)).toBe(b);
    put(pool, fork, b, 1000 + b);
  }
  pool.close();
  storage.syncPending();
  storage.close();

  const again = open(geometry, vfs);
  const found = again.open(locator).fork(ForkNumber.main);
  expect(found.blockCount()).toBe(30);
  const reader = new BufferPool({ geometry, buffers: 64 });
  reader.readAhead(found, 0, 16);
  for (let b = 0; b < 30; b++) expect(look(reader, found, b)).toBe(1000 + b);
  expect(reader.stats).toMatchObject({ readAheads: Math.max(1, (16 * size) / 2 ** 18), hits: 16, misses: 14 });
});

test('a relation dropped and its file number reused: nothing old is written into the new file (I7)', () => {
  const geometry = BlockGeometry.of('8kB');
  const vfs = emptyDisk();
  const storage = open(geometry, vfs);
  const pool = new BufferPool({ geometry, buffers: 16 });
  const old = storage.open(locator);
  const oldFork = old.fork(ForkNumber.main);
  oldFork.create();
  pool.extend(oldFork, 4);
  for (let b = 0; b < 4; b++) put(pool, oldFork, b, 66);
  pool.dropFork(oldFork);
  old.unlink();
  old.close();

  const fork = storage.open(locator).fork(ForkNumber.main);
  expect(fork).not.toBe(oldFork);
  fork.create();
  pool.extend(fork, 4);
  put(pool, fork, 1, 77);
  pool.close();
  const bytes = vfs.readFile('/data/base/5/16384');
  const stampAt = (b: number): number => new DataView(bytes.buffer).getUint32((b + 1) * geometry.size - 4, true);
  expect([0, 1, 2, 3].map(stampAt)).toEqual([0, 77, 0, 0]);
});

test('a truncated file is an error that names the block', () => {
  const geometry = BlockGeometry.of('8kB');
  const vfs = emptyDisk();
  const fork = open(geometry, vfs).open(locator).fork(ForkNumber.main);
  fork.create();
  const pool = new BufferPool({ geometry, buffers: 16 });
  expect(() => pool.pin(fork, 3)).toThrow(/base\/5\/16384/);
  expect(pool.pinned()).toEqual([]);
});
