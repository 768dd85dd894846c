// What redo asks of forks that a crash left in whatever state, and what stays of a dropped relation until a checkpoint.
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { StorageManager } from '@blockwright/smgr';
import { MemoryVfs } from '@blockwright/vfs/memory';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { blocks, DIRECTORY, disk, filled, LOCATOR, managerOf, PATH, readAll, refused, SIZE, same } from './support.ts';

describe('for redo', () => {
  test('a fork that is not there has no block, and is made when one is needed', () => {
    const vfs = disk();
    const fork = managerOf(vfs).open(LOCATOR).fork(2);
    expect([fork.hasBlockInRedo(0), vfs.readdir(DIRECTORY)]).toEqual([false, []]);
    fork.ensureBlocks(6);
    expect([fork.hasBlockInRedo(5), fork.hasBlockInRedo(6), fork.blockCount()]).toEqual([true, false, 6]);
    expect(vfs.readdir(DIRECTORY)).toEqual(['16384_vm', '16384_vm.1']);
    same(readAll(fork, 0, 6), new Uint8Array(6 * SIZE));
  });

  test('blocks that are there stay, and a fork that is long enough is not touched', () => {
    const vfs = disk();
    const fork = filled(vfs, 5);
    fork.ensureBlocks(7);
    same(readAll(fork, 0, 5), blocks(0, 5));
    same(readAll(fork, 5, 2), new Uint8Array(2 * SIZE));
    vfs.journal.length = 0;
    for (const wanted of [0, 1, 5, 7]) fork.ensureBlocks(wanted);
    expect(vfs.journal).toEqual([]);
  });

  test('bytes after the last whole block are written over', () => {
    const vfs = disk();
    const fork = filled(vfs, 2);
    vfs.open(PATH, 'r+').write(new Uint8Array(300).fill(9), 0, 300, 2 * SIZE);
    fork.ensureBlocks(3);
    same(readAll(fork, 2, 1), new Uint8Array(SIZE));
    expect(fork.tailBytes()).toBe(0);
  });

  test.each(BLOCK_SIZES)('the last block of a whole segment of %i-byte blocks', (size) => {
    const geometry = BlockGeometry.of(size);
    const vfs = new MemoryVfs();
    for (const directory of ['/data', '/data/base', DIRECTORY]) vfs.mkdir(directory);
    const storage = new StorageManager({ vfs, directory: '/data', geometry });
    const fork = storage.open(LOCATOR).fork(0);
    const segment = 1 << geometry.segmentShift;
    fork.create();
    for (const [name, blocks] of [
      ['', segment],
      ['.1', 3],
    ] as const) {
      vfs.open(`${PATH}${name}`, 'create').truncate(blocks * size);
    }
    expect([fork.hasBlockInRedo(segment + 2), fork.hasBlockInRedo(segment + 3)]).toEqual([true, false]);
    fork.ensureBlocks(segment + 5);
    expect(fork.blockCount()).toBe(segment + 5);
  });
});

describe('gaps that a crash left between segments', () => {
  test('are zeros, whichever segments were cut or lost; what stands is kept', () => {
    const cut = fc.option(fc.nat({ max: 4 * SIZE }), { nil: 4 * SIZE });
    fc.assert(
      fc.property(fc.array(cut, { minLength: 3, maxLength: 3 }), fc.constantFrom(0, 2), (cuts, forkNumber) => {
        const vfs = disk();
        const before = managerOf(vfs);
        const made = before.open(LOCATOR).fork(forkNumber as 0);
        made.create();
        made.extend(0, 14, blocks(0, 14), 0);
        before.close();
        const name = made.segmentPath(0);
        for (const [i, bytes] of cuts.entries()) {
          const path = i === 0 ? name : `${name}.${i}`;
          // Gone altogether, or shorter: a file's creation and its data are lost each by itself.
          if (bytes === 0) vfs.unlink(path);
          else vfs.open(path, 'r+').truncate(bytes);
        }
        const after = managerOf(vfs);
        after.fillGaps();
        const fork = after.open(LOCATOR).fork(forkNumber as 0);
        expect(fork.blockCount()).toBe(14);
        const wanted = blocks(0, 14);
        for (const [i, bytes] of cuts.entries()) {
          const whole = bytes - (bytes % SIZE);
          wanted.fill(0, i * 4 * SIZE + whole, (i + 1) * 4 * SIZE);
        }
        same(readAll(fork, 0, 14), wanted);
      }),
      { numRuns: 60 },
    );
  });

  test('a fork without one is left alone, empty segments after the end too; other files are none of ours', () => {
    const vfs = disk();
    filled(vfs, 14).truncate(6);
    for (const path of [`${DIRECTORY}/t3_1.2`, '/data/base/pgsql_tmp', '/data/base/pgsql_tmp/1.1']) {
      if (path.endsWith('tmp')) vfs.mkdir(path);
      else vfs.open(path, 'create').truncate(SIZE);
    }
    const manager = managerOf(vfs);
    vfs.journal.length = 0;
    manager.fillGaps();
    expect(vfs.calls('write')).toEqual([]);
    expect(manager.open(LOCATOR).fork(0).blockCount()).toBe(6);
  });

  test('of a last block that was written in part nothing is left', () => {
    const vfs = disk();
    filled(vfs, 3).sync();
    vfs.open(PATH, 'r+').truncate(3 * SIZE - 100);
    managerOf(vfs).fillGaps();
    expect(vfs.stat(PATH)?.size).toBe(2 * SIZE);
    expect(vfs.calls('sync', PATH).length).toBeGreaterThan(0);
    vfs.journal.length = 0;
    managerOf(vfs).fillGaps();
    expect(vfs.calls('open', PATH)).toEqual([]);
  });

  test('shared relations too, and a directory without any is fine', () => {
    const vfs = disk();
    managerOf(vfs).fillGaps();
    vfs.mkdir('/data/global');
    vfs.open('/data/global/1262.1', 'create').truncate(SIZE);
    const manager = managerOf(vfs);
    const gap = { segment: 0, block: 0, blocks: 4 };
    expect(manager.gaps()).toMatchObject([gap]);
    refused(() => managerOf(vfs, { readOnly: true }).fillGaps(), '25006', 'read only');
    expect(manager.fillGaps()).toMatchObject([gap]);
    expect([manager.gaps(), manager.fillGaps()]).toEqual([[], []]);
    const fork = manager.open({ tablespace: 1664, database: 0, relfilenode: 1262 }).fork(0);
    expect(fork.blockCount()).toBe(5);
    expect([fork.firstWrittenAfter(0), fork.firstWrittenAfter(1)]).toEqual([-1, -1]);
    fork.write(4, 1, new Uint8Array(SIZE).fill(1, SIZE - 1), 0);
    expect([fork.firstWrittenAfter(0), fork.firstWrittenAfter(1)]).toEqual([4, -1]);
  });
});

describe('a dropped relation until the next checkpoint', () => {
  test('E4: keeps an empty main file of all its segments and forks, and its number stays taken', () => {
    const vfs = disk();
    const fork = filled(vfs, 14);
    for (const other of [1, 2, 3] as const) {
      fork.relation.fork(other).create();
      fork.relation.fork(other).extend(0, 5, blocks(0, 5), 0);
    }
    fork.relation.empty();
    expect([vfs.readdir(DIRECTORY), fork.blockCount()]).toEqual([['16384'], 0]);
    refused(() => fork.create(), '58P02', PATH);
    fork.relation.unlink();
    expect(vfs.readdir(DIRECTORY)).toEqual([]);
  });

  test('the emptied file and the removals are synced with the rest; nothing is there: nothing happens', () => {
    const vfs = disk();
    const manager = managerOf(vfs);
    const fork = filled(vfs, 14, manager);
    fork.relation.empty();
    vfs.journal.length = 0;
    manager.syncPending();
    expect(vfs.journal.map(({ operation, path }) => `${operation} ${path}`)).toEqual([
      `sync ${PATH}`,
      `syncDirectory ${DIRECTORY}`,
    ]);
    manager.open({ ...LOCATOR, relfilenode: 7 }).empty();
    expect(vfs.readdir(DIRECTORY)).toEqual(['16384']);
  });

  test('a failing ftruncate names the file', () => {
    const vfs = disk();
    const fork = filled(vfs, 3);
    vfs.plant({ operation: 'truncate', errno: 'EIO' });
    refused(() => fork.relation.empty(), '58030', 'fork main, segment 0', PATH);
  });
});
