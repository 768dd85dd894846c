// Telling our data directories from PostgreSQL's and from everything else.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  checkDataDirectory,
  DATA_VERSION,
  directoryKind,
  hasControlFile,
  initialControlFile,
  readPgControlFile,
  readPgVersion,
  writeControlFile,
  writeVersionFile,
} from '@blockwright/control';
import { createFile, NodeVfs } from '@blockwright/vfs';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { expect, test } from 'vitest';

const text = (words: string) => new TextEncoder().encode(words);
const error = (code: string, message: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(message) });

function disk(): MemoryVfs {
  const vfs = new MemoryVfs();
  vfs.mkdir('/data');
  return vfs;
}

test('each kind of directory is told from the others', () => {
  const vfs = disk();
  expect(directoryKind(vfs, '/no')).toBe('missing');
  expect(directoryKind(vfs, '/data')).toBe('empty');
  createFile(vfs, '/data/notes.txt', text('x'));
  expect(directoryKind(vfs, '/data')).toBe('other');
  expect(directoryKind(vfs, '/data/notes.txt')).toBe('file');
  createFile(vfs, '/data/PG_VERSION', text('15\n'));
  expect(directoryKind(vfs, '/data')).toBe('postgresql');
  writeVersionFile(vfs, '/data');
  expect(directoryKind(vfs, '/data')).toBe('blockwright');
});

test('a directory that is not ours is refused for what it is', () => {
  const vfs = disk();
  expect(() => checkDataDirectory(vfs, '/no')).toThrow(error('58P01', '"/no" does not exist'));
  const refused = (path: string, detail: string): void =>
    expect(() => checkDataDirectory(vfs, path)).toThrow(
      expect.objectContaining({
        code: '55000',
        message: `"${path}" is not a Blockwright data directory`,
        detail,
        hint: expect.any(String),
      }),
    );
  refused('/data', 'It is empty.');
  createFile(vfs, '/data/x', text('x'));
  refused('/data', 'It has no BLOCKWRIGHT_VERSION.');
  refused('/data/x', 'It is a file.');
  createFile(vfs, '/data/PG_VERSION', text('15\n'));
  refused('/data', "It is PostgreSQL's.");
});

test('another version of ours is refused with both numbers, a garbled one as damage', () => {
  const vfs = disk();
  writeVersionFile(vfs, '/data');
  checkDataDirectory(vfs, '/data');
  vfs.unlink('/data/BLOCKWRIGHT_VERSION');
  createFile(vfs, '/data/BLOCKWRIGHT_VERSION', text('7\n'));
  expect(() => checkDataDirectory(vfs, '/data')).toThrow(
    error('0A000', `has version 7, this release opens ${DATA_VERSION}`),
  );
  for (const garbled of ['', 'one', '1.5', '-1', '9'.repeat(200)]) {
    vfs.unlink('/data/BLOCKWRIGHT_VERSION');
    createFile(vfs, '/data/BLOCKWRIGHT_VERSION', text(garbled));
    expect(() => checkDataDirectory(vfs, '/data')).toThrow(error('XX001', 'holds no version number'));
  }
});

test('a half-made directory has no control file', () => {
  const vfs = disk();
  vfs.mkdir('/data/global');
  expect(hasControlFile(vfs, '/data')).toBe(false);
  writeControlFile(vfs, '/data', initialControlFile());
  expect(hasControlFile(vfs, '/data')).toBe(true);
});

test('PG_VERSION is read, and versions that cannot be read are refused', () => {
  const vfs = disk();
  expect(() => readPgVersion(vfs, '/data')).toThrow(error('58P01', '/data/PG_VERSION'));
  const says = (words: string) => {
    if (vfs.exists('/data/PG_VERSION')) vfs.unlink('/data/PG_VERSION');
    createFile(vfs, '/data/PG_VERSION', text(words));
    return () => readPgVersion(vfs, '/data');
  };
  for (const major of [13, 14, 15, 16, 17, 18]) expect(says(`${major}\n`)()).toBe(major);
  expect(says('12\n')).toThrow(error('0A000', 'says PostgreSQL 12, 13 to 18 can be read'));
  expect(says('19\n')).toThrow(error('0A000', 'says PostgreSQL 19'));
  expect(says('9.6\n')).toThrow(error('0A000', 'says PostgreSQL 9.6'));
  expect(says('')).toThrow(error('XX001', 'holds no version number'));
  expect(says('fifteen')).toThrow(error('XX001', 'holds no version number'));
  vfs.unlink('/data/PG_VERSION');
  vfs.mkdir('/data/PG_VERSION');
  expect(() => readPgVersion(vfs, '/data')).toThrow(error('XX001', 'is a directory'));
});

test('a directory of a real server, on the real disk', () => {
  const pgdata = fileURLToPath(new URL('../../../fixtures/pg/32k/pgdata', import.meta.url));
  const copy = mkdtempSync(join(tmpdir(), 'blockwright-control-'));
  try {
    cpSync(pgdata, copy, { recursive: true });
    const vfs = new NodeVfs();
    expect(directoryKind(vfs, copy)).toBe('postgresql');
    expect(readPgVersion(vfs, copy)).toBe(15);
    expect(readPgControlFile(vfs, copy)).toMatchObject({ blockSize: 32768, segmentBlocks: 32768, state: 'shut down' });
  } finally {
    rmSync(copy, { recursive: true });
  }
});
