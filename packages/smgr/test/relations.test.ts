// Handles, names, removal, files as they lie, and the largest block numbers.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { parseRelationFileName, StorageManager, segmentPath } from '@blockwright/smgr';
import { createFile, NodeVfs } from '@blockwright/vfs';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { describe, expect, test } from 'vitest';
import { blocks, DIRECTORY, disk, filled, LOCATOR, managerOf, PATH, readAll, refused, SIZE, same } from './support.ts';

describe('handles', () => {
  test('one per locator while it is open, with forks that are always the same', () => {
    const vfs = disk();
    const manager = managerOf(vfs);
    const relation = manager.open(LOCATOR);
    expect(manager.open({ ...LOCATOR })).toBe(relation);
    expect(manager.open({ ...LOCATOR, database: 6 })).not.toBe(relation);
    expect(relation.fork(0)).toBe(relation.fork(0));
    expect(relation.name).toBe('base/5/16384');
    expect(relation.fork(2).name).toBe('base/5/16384_vm');
    relation.close();
    relation.close();
    const next = manager.open(LOCATOR);
    expect(next).not.toBe(relation);
    const ids = [relation, next].flatMap((r) => [0, 1, 2, 3].map((fork) => r.fork(fork as 0).id));
    expect(new Set(ids).size).toBe(8);
    refused(() => relation.fork(0).exists(), '55000', 'the relation is closed');
  });

  test('closing an old handle leaves the new one alone', () => {
    const manager = managerOf(disk());
    const old = manager.open(LOCATOR);
    old.close();
    const next = manager.open(LOCATOR);
    old.close();
    expect(manager.open(LOCATOR)).toBe(next);
  });

  test('shared relations lie in global', () => {
    expect(managerOf(disk()).open({ tablespace: 1664, database: 0, relfilenode: 1262 }).path).toBe('/data/global/1262');
  });

  test('create refuses what exists', () => {
    const fork = filled(disk(), 3);
    refused(() => fork.create(), '58P02', 'relation base/5/16384, fork main, segment 0', `"${PATH}"`);
    expect(fork.blockCount()).toBe(3);
  });

  test('options are checked', () => {
    const vfs = disk();
    for (const segmentBlocks of [0, 3, -4, 1.5, 2 ** 21, Number.NaN]) {
      expect(() => managerOf(vfs, { segmentBlocks })).toThrow(RangeError);
    }
    expect(managerOf(vfs, { segmentBlocks: undefined }).segmentBlocks).toBe(2 ** 20);
    expect(() => managerOf(vfs, { readonly: true } as object)).toThrow(/did you mean "readOnly"/);
  });
});

describe('removal', () => {
  test('E4: all segments of all forks go, the main fork last', () => {
    const vfs = disk();
    const fork = filled(vfs, 14);
    for (const other of [1, 2, 3] as const) {
      fork.relation.fork(other).create();
      fork.relation.fork(other).extend(0, 5, blocks(0, 5), 0);
    }
    createFile(vfs, `${DIRECTORY}/163840`, new Uint8Array(1));
    createFile(vfs, `${DIRECTORY}/16384x`, new Uint8Array(1));
    fork.relation.unlink();
    expect(vfs.readdir(DIRECTORY)).toEqual(['163840', '16384x']);
    const order = vfs.calls('unlink').map(({ path }) => path);
    expect(order.slice(-4)).toEqual([`${PATH}.3`, `${PATH}.2`, `${PATH}.1`, PATH]);
    expect(fork.exists()).toBe(false);
  });

  test('empty segments, and those after a gap, go too', () => {
    const vfs = disk();
    const fork = filled(vfs, 14);
    fork.truncate(1);
    vfs.unlink(`${PATH}.1`);
    fork.unlink();
    expect(vfs.readdir(DIRECTORY)).toEqual([]);
  });

  test('the number can be used again at once', () => {
    const vfs = disk();
    const fork = filled(vfs, 6);
    fork.relation.unlink();
    fork.create();
    expect(fork.blockCount()).toBe(0);
    fork.extend(0, 1, blocks(7, 1), 0);
    same(readAll(fork, 0, 1), blocks(7, 1));
    expect(vfs.readdir(DIRECTORY)).toEqual(['16384']);
  });

  test('a file that cannot be removed is named', () => {
    const vfs = disk();
    const fork = filled(vfs, 6);
    vfs.plant({ operation: 'unlink', errno: 'EPERM' });
    refused(() => fork.unlink(), '42501', 'fork main, segment 1', `"${PATH}.1"`);
    expect(fork.blockCount()).toBe(6);
    fork.unlink();
    expect(fork.exists()).toBe(false);
  });
});

describe('file names', () => {
  test('what is a relation’s file and what is not', () => {
    expect(parseRelationFileName('base/5/16384')).toEqual({ relation: 'base/5/16384', fork: 0, segment: 0 });
    expect(parseRelationFileName('16384.1')).toEqual({ relation: '16384', fork: 0, segment: 1 });
    expect(parseRelationFileName('/x.1/99990_fsm')).toEqual({ relation: '/x.1/99990', fork: 1, segment: 0 });
    expect(parseRelationFileName('C:\\d\\7_vm.12')).toEqual({ relation: 'C:\\d\\7', fork: 2, segment: 12 });
    expect(parseRelationFileName('4294967295_init')).toEqual({ relation: '4294967295', fork: 3, segment: 0 });
    for (const name of [
      '.123',
      '_fsm',
      '_vm',
      '_init',
      '_fsm.123',
      'pgsql_tmp',
      'pg_internal.init',
      'pg_filenode.map',
      'PG_VERSION',
      '.DS_Store',
      '',
      'base/5/',
      '16384.',
      '16384.0',
      '16384.01',
      '016384',
      '0',
      '16384_vm_vm',
      '16384_main',
      '16384.1_vm',
      't3_16384',
      '4294967296',
      '16384.4294967296',
      '16384~',
    ]) {
      expect(parseRelationFileName(name)).toBeUndefined();
    }
  });

  test('parsing is the inverse of writing', () => {
    for (const fork of [0, 1, 2, 3] as const) {
      for (const segment of [0, 1, 9, 10, 4095]) {
        expect(parseRelationFileName(segmentPath('base/5/16384', fork, segment))).toEqual({
          relation: 'base/5/16384',
          fork,
          segment,
        });
      }
    }
  });
});

describe('files as they lie', () => {
  const fixture = (path: string) => fileURLToPath(new URL(`../../../fixtures/pg/${path}`, import.meta.url));

  test.each([1, 2, 4, 8, 16, 32])('a relation of a PostgreSQL with blocks of %i kB', (kilobytes) => {
    const relations = readFileSync(fixture(`${kilobytes}k/expect/relations.txt`), 'utf8');
    const path = fixture(
      `${kilobytes}k/pgdata/${/base\/\S+/.exec(relations.split('\n').find((line) => /lineitem\b/.test(line)) as string)?.[0]}`,
    );
    const geometry = BlockGeometry.of(kilobytes << 10);
    const manager = new StorageManager({ vfs: new NodeVfs(), directory: '/nowhere', geometry });
    const relation = manager.openPath(path);
    expect(manager.openPath(path)).toBe(relation);
    expect(relation.locator).toBeUndefined();
    const bytes = readFileSync(path);
    const count = bytes.length >>> geometry.shift;
    expect(relation.fork(0).blockCount()).toBe(count);
    expect(count).toBeGreaterThan(10);
    const dest = new Uint8Array(count << geometry.shift);
    relation.fork(0).read(0, count, dest, 0);
    expect(Buffer.compare(dest, bytes)).toBe(0);
    expect(relation.fork(2).blockCount()).toBe(1);
    expect(relation.fork(3).exists()).toBe(false);
    manager.close();
  });

  test('any name will do; segments and forks lie beside it; it is never written', () => {
    const vfs = new MemoryVfs();
    createFile(vfs, '/table.bin', blocks(0, 4));
    createFile(vfs, '/table.bin.1', blocks(4, 2));
    createFile(vfs, '/table.bin_vm', blocks(0, 1));
    const relation = managerOf(vfs).openPath('/table.bin');
    expect(relation.name).toBe('/table.bin');
    same(readAll(relation.fork(0), 0, 6), blocks(0, 6));
    expect(relation.fork(0).blockCount()).toBe(6);
    expect(relation.fork(2).blockCount()).toBe(1);
    refused(() => relation.fork(0).write(0, 1, blocks(0, 1), 0), '25006', 'relation /table.bin');
    refused(() => managerOf(vfs).openPath('/no').fork(0).blockCount(), '58P01', 'relation /no', 'does not exist');
    refused(() => managerOf(vfs).openPath('/no/no').fork(0).blockCount(), '58P01', '"/no/no"');
    expect(managerOf(vfs).openPath('/no/no').fork(0).segments()).toEqual([]);
  });
});

describe('L10: the largest block numbers', () => {
  /** A fork whose segments are all there and full of holes, up to `count` blocks. */
  function sparse(count: number, size: number): { vfs: MemoryVfs; manager: StorageManager } {
    const vfs = disk();
    vfs.recording = false;
    const geometry = BlockGeometry.of(size);
    const manager = new StorageManager({ vfs, directory: '/data', geometry });
    const perSegment = manager.segmentBlocks;
    for (let segment = 0, left = count; left > 0; segment++, left -= perSegment) {
      const path = segmentPath(PATH, 0, segment);
      vfs.open(path, 'create').truncate(Math.min(left, perSegment) * size);
    }
    return { vfs, manager };
  }

  test.each(BLOCK_SIZES)('blocks of %i bytes are read from where they lie', (size) => {
    const vfs = disk();
    const geometry = BlockGeometry.of(size);
    const fork = new StorageManager({ vfs, directory: '/data', geometry }).open(LOCATOR).fork(0);
    const perSegment = 2 ** 30 / size;
    for (const block of [2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2]) {
      const file = vfs.open(segmentPath(PATH, 0, Math.floor(block / perSegment)), 'create');
      file.write(new Uint8Array(size).fill(block & 0x7f), 0, size, (block % perSegment) * size);
      const dest = new Uint8Array(size);
      fork.read(block, 1, dest, 0);
      expect(dest.every((byte) => byte === (block & 0x7f))).toBe(true);
    }
    const both = new Uint8Array(2 * size);
    fork.read(2 ** 31 - 1, 2, both, 0); // over a segment's edge
    expect([both[0], both[size]]).toEqual([0x7f, 0]);
    const edge = Math.floor((2 ** 31 + 2 * perSegment) / perSegment) * perSegment;
    vfs.open(segmentPath(PATH, 0, edge / perSegment - 1), 'create').truncate(2 ** 30);
    refused(() => fork.read(edge - 1, 2, both, 0), '58P01', `segment ${edge / perSegment}, block ${edge}: `);
  });

  test('blocks of 1024 bytes, written, extended and truncated', () => {
    const size = 1024;
    const { vfs, manager } = sparse(2 ** 32 - 2, size);
    const fork = manager.open(LOCATOR).fork(0);
    expect(fork.blockCount()).toBe(2 ** 32 - 2);
    const page = (value: number) => new Uint8Array(size).fill(value);
    fork.extend(2 ** 32 - 2, 1, page(3), 0); // the last block there can be
    expect(fork.blockCount()).toBe(2 ** 32 - 1);
    const numbers = [0, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2];
    numbers.forEach((block, i) => {
      fork.write(block, 1, page(i + 10), 0);
    });
    const reader = new StorageManager({ vfs, directory: '/data', geometry: BlockGeometry.of(size) })
      .open(LOCATOR)
      .fork(0);
    numbers.forEach((block, i) => {
      const dest = page(0);
      reader.read(block, 1, dest, 0);
      expect(dest.every((byte) => byte === i + 10)).toBe(true);
      const around = new Uint8Array(3 * size);
      if (block > 0 && block < 2 ** 32 - 2) {
        reader.read(block - 1, 3, around, 0);
        expect(around[size]).toBe(i + 10);
      }
    });
    // Where they lie: 2^31 - 1 is the last block of a segment, 2^31 the first of the next.
    const shift = manager.segmentShift;
    const segment = vfs.open(segmentPath(PATH, 0, 2 ** (31 - shift)), 'r');
    const first = new Uint8Array(1);
    segment.read(first, 0, 1, 0);
    expect(first[0]).toBe(12);
    // Beyond: a RangeError for a number that no block has, a limit for an extension.
    expect(() => fork.read(2 ** 32 - 1, 1, page(0), 0)).toThrow(RangeError);
    expect(() => fork.read(2 ** 32 - 2, 2, page(0), 0)).toThrow(RangeError);
    expect(() => fork.write(2 ** 32 - 1, 1, page(0), 0)).toThrow(RangeError);
    refused(() => fork.extend(2 ** 32 - 1, 1, page(0), 0), '54000', 'cannot extend beyond 4294967295 blocks');
    refused(() => fork.zeroExtend(2 ** 32 - 2, 2), '54000');
    expect(fork.blockCount()).toBe(2 ** 32 - 1);
    fork.truncate(2 ** 31 + 1);
    expect(fork.blockCount()).toBe(2 ** 31 + 1);
    fork.truncate(2 ** 31);
    expect(fork.blockCount()).toBe(2 ** 31);
    fork.extend(2 ** 31, 1, page(5), 0);
    expect(fork.blockCount()).toBe(2 ** 31 + 1);
  });

  test('a last segment with the block too many is counted without it', () => {
    const { vfs, manager } = sparse(2 ** 32 - 1, 1024);
    vfs.open(segmentPath(PATH, 0, 2 ** 12 - 1), 'r+').truncate(2 ** 30);
    const fork = manager.open(LOCATOR).fork(0);
    expect(fork.blockCount()).toBe(2 ** 32 - 1);
    refused(() => fork.extend(2 ** 32 - 1, 1, new Uint8Array(1024), 0), '54000');
  });
});

test('a block that is known to be there is not asked for again', () => {
  const vfs = disk();
  const fork = filled(vfs, 14);
  fork.blockCount();
  vfs.journal.length = 0;
  for (let block = 0; block < 14; block++) expect(fork.hasBlock(block)).toBe(true);
  expect(vfs.journal).toEqual([]);
  expect(fork.hasBlock(14)).toBe(false);
  vfs.open(`${PATH}.3`, 'r+').truncate(3 * SIZE); // lengthened by another
  expect(fork.hasBlock(14)).toBe(true);
});

test('reads and writes of many segments are one call a segment', () => {
  const vfs = disk();
  const fork = filled(vfs, 14);
  readAll(fork, 3, 10);
  expect(vfs.calls('read').map(({ path, position, length }) => [path, position, length])).toEqual([
    [PATH, 3 * SIZE, SIZE],
    [`${PATH}.1`, 0, 4 * SIZE],
    [`${PATH}.2`, 0, 4 * SIZE],
    [`${PATH}.3`, 0, SIZE],
  ]);
  vfs.journal.length = 0;
  fork.write(3, 10, blocks(3, 10), 0);
  expect(vfs.calls('write')).toHaveLength(4);
});
