// A sync whose error the system tells once, and to one descriptor only, as Linux does: played by a fsyncSync of our own.
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NodeVfs, type VfsFile, writeFully } from '@blockwright/vfs';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';

const syncs: number[] = [];
let failing: number | undefined;
vi.mock('node:fs', async (original) => {
  const actual = await original<typeof fs>();
  const fsyncSync = (fd: number): void => {
    syncs.push(fd);
    if (failing !== syncs.length) return actual.fsyncSync(fd);
    throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO', syscall: 'fsync' });
  };
  return { ...actual, default: { ...actual, fsyncSync }, fsyncSync };
});

let root: string;
beforeAll(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'blockwright-sync-'));
});
afterAll(() => fs.rmSync(root, { recursive: true }));
beforeEach(() => {
  syncs.length = 0;
  failing = undefined;
});

function written(vfs: NodeVfs, name: string): VfsFile {
  const file = vfs.open(join(root, name), 'create');
  writeFully(file, Uint8Array.of(1), 0, 1, 0);
  return file;
}

test('a descriptor with unsynced writes is synced before it is given up, a clean one is not', () => {
  const vfs = new NodeVfs({ maxOpenFiles: 1 });
  written(vfs, 'a');
  expect(syncs).toHaveLength(0);
  vfs.open(join(root, 'b'), 'create');
  expect(syncs).toHaveLength(1);
  vfs.open(join(root, 'c'), 'create');
  expect(syncs).toHaveLength(1);
});

test('the error of that sync goes to the file, and is kept', () => {
  const vfs = new NodeVfs({ maxOpenFiles: 1 });
  const file = written(vfs, 'a');
  failing = 1;
  const other = written(vfs, 'b'); // does not see the error
  other.sync();
  expect(syncs).toHaveLength(2);
  for (const sync of [() => file.sync(), () => file.datasync(), () => file.sync()]) {
    expect(sync).toThrow(
      expect.objectContaining({ code: '58030', message: `could not fsync file "${join(root, 'a')}": i/o error (EIO)` }),
    );
  }
  expect(syncs).toHaveLength(2); // and none is tried again
  expect(file.size()).toBe(1); // the file can still be read
});
