// A file system in memory with one database directory, and a manager with segments of four small blocks.
import { BlockGeometry } from '@blockwright/geometry';
import { type Fork, StorageManager, type StorageManagerOptions } from '@blockwright/smgr';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { expect } from 'vitest';

export const SIZE = 1024;
export const LOCATOR = { tablespace: 1663, database: 5, relfilenode: 16384 };
export const DIRECTORY = '/data/base/5';
export const PATH = `${DIRECTORY}/16384`;

export function disk(): MemoryVfs {
  const vfs = new MemoryVfs();
  for (const directory of ['/data', '/data/base', DIRECTORY]) vfs.mkdir(directory);
  return vfs;
}

export function managerOf(vfs: MemoryVfs, options: Partial<StorageManagerOptions> = {}): StorageManager {
  return new StorageManager({
    vfs,
    directory: '/data',
    geometry: BlockGeometry.of(SIZE),
    segmentBlocks: 4,
    ...options,
  });
}

/** `count` blocks, each filled with its number plus `first` plus 1. */
export function blocks(first: number, count: number): Uint8Array {
  const bytes = new Uint8Array(count * SIZE);
  for (let i = 0; i < count; i++) bytes.fill((first + i + 1) & 0xff, i * SIZE, (i + 1) * SIZE);
  return bytes;
}

/** A main fork of `count` blocks, synced, the journal empty. */
export function filled(vfs: MemoryVfs, count: number, manager: StorageManager = managerOf(vfs)): Fork {
  const fork = manager.open(LOCATOR).fork(0);
  fork.create();
  fork.extend(0, count, blocks(0, count), 0);
  manager.syncPending();
  vfs.journal.length = 0;
  return fork;
}

export function readAll(fork: Fork, first: number, count: number): Uint8Array {
  const dest = new Uint8Array(count * SIZE);
  fork.read(first, count, dest, 0);
  return dest;
}

/** Expects a StorageError: its code, and each of `words` in its message. */
export function refused(run: () => unknown, code: string, ...words: string[]): void {
  let thrown: unknown;
  try {
    run();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({ name: 'StorageError', code });
  for (const word of words) expect((thrown as Error).message).toContain(word);
}

/** Expects equal bytes (toEqual compares them one by one, slowly). */
export function same(actual: Uint8Array, expected: Uint8Array): void {
  if (Buffer.compare(actual, expected) !== 0) expect(actual).toEqual(expected);
}
