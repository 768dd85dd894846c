// Files that come, go and shrink in step with the WAL: whatever a crash or a failing disk does, redo ends with either all
// of it done or nothing.
import {
  createRelationFiles,
  type MapTruncation,
  PendingCreates,
  storageRecords,
  truncateRelation,
  XLOG_SMGR_CREATE,
} from '@blockwright/access';
import { type BlockNumber, ForkNumber } from '@blockwright/base';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { pageMaxOffset } from '@blockwright/page';
import { RM_SMGR, type WalRecord } from '@blockwright/wal';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesOf, LOCATOR, readerOf, replay, World } from './world.ts';

const g = BlockGeometry.of('8kB');
const ITEM = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9);
const DIRECTORY = '/data/base/5';
const inUse = expect.objectContaining({ code: '55006' });

/** A map of one byte a heap block, four blocks a page: at bytes 24 to 27. */
const toyMap: MapTruncation = {
  fork: ForkNumber.vm,
  blocksFor: (_, heapBlocks) => (heapBlocks + 3) >>> 2,
  hasTail: (_, heapBlocks) => (heapBlocks & 3) !== 0,
  clearTail: (m, base, _, heapBlocks) => void m.u8.fill(0, base + 24 + (heapBlocks & 3), base + 28),
};

/** A relation of so many blocks, each with an item and a byte in the map. */
function filled(blocks: number, geometry: BlockGeometry = g, options: { unlogged?: boolean } = {}): World {
  const world = new World({ geometry, segmentBlocks: 4, ...options });
  createRelationFiles(world.relation, 9);
  world.extend(blocks);
  for (let b = 0; b < blocks; b++) {
    world.add(b, ITEM);
    world.mark(b >>> 2, 24 + (b & 3), b + 1);
  }
  return world;
}

/** Items of each block, and its byte in the map. */
function contents(of: { relation: World['relation'] }, mapBlock = true): number[][] {
  const { relation } = of;
  const found: number[][] = [];
  for (let b = 0; b < relation.blockCount(); b++) {
    const items = relation.pool.withPage(relation.main, b, (m, base) => pageMaxOffset(m, base));
    const inMap = mapBlock && b >>> 2 < relation.vm.blockCount();
    found.push([items, inMap ? bytesOf(relation.pool, relation.vm, b >>> 2)[24 + (b & 3)] : 0]);
  }
  return found;
}

function recordsOf<T>(world: World, look: (r: WalRecord) => T): T[] {
  world.wal.flush(world.wal.insertedUpTo);
  const reader = readerOf(world.vfs);
  reader.seek(world.start);
  const found: T[] = [];
  while (reader.next()) if (reader.record.rmgr === RM_SMGR) found.push(look(reader.record));
  reader.close();
  return found;
}

const described = (r: WalRecord): string =>
  `${storageRecords.identify(r.info)} ${storageRecords.describe(r)}, xid ${r.xid}`;

describe('the files of a new relation', () => {
  test('are the main fork, and of an unlogged relation the init fork; both are logged', () => {
    const world = new World({ geometry: g });
    createRelationFiles(world.relation, 7);
    const unlogged = world.open(16385, true);
    createRelationFiles(unlogged, 8);
    expect(world.vfs.readdir(DIRECTORY).sort()).toEqual(['16384', '16385', '16385_init']);
    expect(recordsOf(world, described)).toEqual([
      'CREATE base/5/16384, xid 7',
      'CREATE base/5/16385, xid 8',
      'CREATE base/5/16385_init, xid 8',
    ]);
  });

  test('without a WAL are made, no more', () => {
    const world = new World({ geometry: g, noWal: true });
    createRelationFiles(world.relation, 7);
    expect([world.relation.main.exists(), recordsOf(world, described)]).toEqual([true, []]);
  });

  test('that exist are refused, and nothing is logged: redo would remove them with the transaction', () => {
    const world = new World({ geometry: g });
    const other = world.open(16385, true);
    other.init.create();
    expect(() => createRelationFiles(other, 7)).toThrow(expect.objectContaining({ code: '58P02' }));
    expect([other.main.exists(), recordsOf(world, described)]).toEqual([false, []]);
  });

  test('are never there without their record, and redo knows whose they are', () => {
    const world = new World({ geometry: g });
    const first = world.vfs.operations;
    createRelationFiles(world.relation, 7);
    for (let at = first; at <= world.vfs.operations; at++) {
      const crashed = world.vfs.crashedAt(at, 'all');
      const there = crashed.exists(`${DIRECTORY}/16384`);
      const { created, relation } = replay(crashed, world.start, g);
      const known = created.entries();
      if (there) expect(known).toEqual([{ xid: 7, locator: LOCATOR }]);
      expect(relation.main.exists()).toBe(known.length > 0);
    }
  });

  test('a full disk leaves none', () => {
    const world = new World({ geometry: g });
    world.vfs.plant({ operation: 'open', path: '16384', errno: 'ENOSPC' });
    expect(() => createRelationFiles(world.relation, 7)).toThrow(expect.objectContaining({ code: '53100' }));
    expect(world.vfs.readdir(DIRECTORY)).toEqual([]);
    createRelationFiles(world.relation, 7);
  });
});

describe('a relation that is cut', () => {
  test.each(BLOCK_SIZES)('to any number of blocks of %i bytes: then, and after redo of all of it', (size) => {
    const geometry = BlockGeometry.of(size);
    for (const blocks of [0, 1, 3, 4, 5, 8, 9]) {
      const world = filled(10, geometry);
      const before = contents(world);
      truncateRelation(world.relation, blocks, [toyMap]);
      expect(contents(world)).toEqual(before.slice(0, blocks));
      expect(world.relation.vm.blockCount()).toBe((blocks + 3) >> 2);
      world.extend(10 - blocks);
      const grown = contents(world);
      expect(grown).toEqual([...before.slice(0, blocks), ...before.slice(blocks).map(() => [0, 0])]);
      const records = recordsOf(world, described);
      expect(records.at(-1)).toBe(`TRUNCATE base/5/16384 to ${blocks} blocks, xid 0`);
      for (const crash of ['all', 'synced'] as const) {
        const redone = replay(world.vfs.crash(crash), world.start, geometry, { maps: [toyMap], segmentBlocks: 4 });
        expect(contents(redone)).toEqual(grown);
        redone.pages.missing.check();
      }
    }
  });

  test('E1, E2: a crash at any moment leaves all blocks or the cut, the map with it, and redo succeeds from any point', () => {
    const world = filled(10);
    const redoPoints = [world.start, world.checkpoint()];
    const before = contents(world);
    const first = world.vfs.operations;
    truncateRelation(world.relation, 5, [toyMap]);
    const done = world.vfs.operations;
    const after = contents(world);
    fc.assert(
      fc.property(fc.integer({ min: first, max: done }), fc.nat(), fc.constantFrom(...redoPoints), (at, seed, from) => {
        const crashed = world.vfs.crashedAt(at, seed);
        const redone = replay(crashed, from, g, { maps: [toyMap], segmentBlocks: 4 });
        const found = contents(redone);
        expect(found.length === 5 || found.length === 10).toBe(true);
        expect(found).toEqual(found.length === 5 ? after : before);
        if (at === done) expect(found).toEqual(after);
        redone.pages.missing.check();
      }),
      { numRuns: 150 },
    );
  });

  test('E2: a checkpoint right after leaves nothing to replay, and no row comes back', () => {
    const world = filled(10);
    truncateRelation(world.relation, 5, [toyMap]);
    const from = world.checkpoint();
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const redone = replay(world.vfs.crash(seed), from, g, { maps: [toyMap], segmentBlocks: 4 });
        expect([redone.records, redone.relation.blockCount()]).toEqual([0, 5]);
      }),
      { numRuns: 20 },
    );
  });

  test.each(['16384_vm.', '16384.2', '16384.1', '16384'])(
    'E1: a failing ftruncate of %s stops the engine, and redo puts it right',
    (path) => {
      const world = filled(20);
      world.checkpoint();
      const wanted = contents(world).slice(0, 2);
      const fault = world.vfs.plant({
        operation: 'truncate',
        path: new RegExp(`/${path.replace('.', '\\.')}\\d*$`),
        errno: 'EIO',
      });
      const { relation, log } = world;
      expect(() => truncateRelation(relation, 2, [toyMap])).toThrow(/the engine has stopped/);
      expect(fault.hits).toBe(1);
      expect(log.failed).toMatchObject({ code: '58030' });
      expect(() => world.add(0, ITEM)).toThrow(/the engine has stopped/);
      expect(() => world.pool.flushAll()).toThrow(expect.objectContaining({ code: '58030' }));
      const redone = replay(world.vfs.crash('all'), world.start, g, { maps: [toyMap], segmentBlocks: 4 });
      expect(contents(redone)).toEqual(wanted);
    },
  );

  test('the record is durable before a byte is cut, and a failing sync of it cuts nothing', () => {
    const world = filled(10);
    world.checkpoint();
    world.vfs.plant({ operation: 'sync', path: 'wal', errno: 'EIO' });
    world.vfs.plant({ operation: 'datasync', path: 'wal', errno: 'EIO' });
    world.vfs.recording = true;
    expect(() => truncateRelation(world.relation, 5, [toyMap])).toThrow(/the engine has stopped/);
    expect(world.vfs.calls('truncate')).toEqual([]);
    expect(world.relation.blockCount()).toBe(10);
  });

  test('pinned pages that go, of the heap or of a map, stop it before anything has changed', () => {
    const world = filled(10);
    const { pool, relation, wal } = world;
    const end = wal.insertedUpTo;
    for (const [fork, block] of [
      [relation.main, 9],
      [relation.vm, 2],
    ] as const) {
      const id = pool.pin(fork, block);
      expect(() => truncateRelation(relation, 5, [toyMap])).toThrow(inUse);
      pool.unpin(id);
    }
    expect([relation.blockCount(), relation.vm.blockCount(), wal.insertedUpTo, pool.pinned()]).toEqual([
      10,
      3,
      end,
      [],
    ]);
    const kept = pool.pin(relation.main, 4);
    truncateRelation(relation, 5, [toyMap]);
    pool.unpin(kept);
  });

  test('no room for the record: nothing has changed', () => {
    const world = filled(10);
    const before = contents(world);
    world.vfs.freeBytes = 0;
    let full = false;
    while (!full) {
      try {
        world.mark(0, 100, 1);
        world.log.redoPoint = world.wal.insertedUpTo;
      } catch {
        full = true;
      }
    }
    expect(() => truncateRelation(world.relation, 5, [toyMap])).toThrow(expect.objectContaining({ code: '53100' }));
    expect(contents(world)).toEqual(before);
    expect(world.pool.pinned()).toEqual([]);
  });

  test('maps that nobody speaks of lose all blocks, shorter ones stay, cursors are told', () => {
    const world = filled(10);
    let moved = 0;
    world.relation.fsm.create();
    world.pool.extend(world.relation.fsm, 3);
    truncateRelation(world.relation, 9, [{ ...toyMap, moved: () => void moved++ }]);
    expect([world.relation.fsm.blockCount(), world.relation.vm.blockCount(), moved]).toEqual([0, 3, 1]);
    truncateRelation(world.relation, 8, []);
    expect(world.relation.vm.blockCount()).toBe(0);
    truncateRelation(world.relation, 3, [toyMap]);
    const redone = replay(world.vfs.crash('synced'), world.start, g, { maps: [toyMap], segmentBlocks: 4 });
    expect(redone.relation.blockCount()).toBe(3);
  });

  test.each([11, -1, 1.5])('%d blocks of ten are refused; ten are nothing to do', (blocks) => {
    const world = filled(10);
    const end = world.wal.insertedUpTo;
    expect(() => truncateRelation(world.relation, blocks as BlockNumber)).toThrow(RangeError);
    truncateRelation(world.relation, 10);
    expect(world.wal.insertedUpTo).toBe(end);
  });

  test('an unlogged one is cut without a record', () => {
    const world = filled(10, g, { unlogged: true });
    const end = world.wal.insertedUpTo;
    truncateRelation(world.relation, 5, [toyMap]);
    expect([world.wal.insertedUpTo, world.relation.blockCount(), contents(world).length]).toEqual([end, 5, 5]);
  });

  test('in redo, pages missed beyond are explained by it', () => {
    const world = filled(10);
    const from = world.checkpoint();
    for (let b = 0; b < 10; b++) world.add(b, ITEM);
    world.log.redoPoint = world.wal.insertedUpTo;
    truncateRelation(world.relation, 5, [toyMap]);
    world.storage.syncPending();
    const { pages, relation } = replay(world.vfs, from, g, { maps: [toyMap], segmentBlocks: 4, images: false });
    expect([pages.stats.missing, pages.missing.size, relation.blockCount()]).toEqual([5, 0, 5]);
  });
});

describe('files that are removed', () => {
  const files = (world: World): string[] => world.vfs.readdir(DIRECTORY).sort();

  test('E4: all segments and forks at once, but for the main fork, empty until the checkpoint after is done', () => {
    const world = filled(10);
    world.relation.fsm.create();
    world.pool.extend(world.relation.fsm, 9);
    world.checkpoint();
    expect(files(world)).toEqual([
      '16384',
      '16384.1',
      '16384.2',
      '16384_fsm',
      '16384_fsm.1',
      '16384_fsm.2',
      '16384_vm',
    ]);
    world.removed.remove(LOCATOR);
    expect([files(world), world.vfs.stat(`${DIRECTORY}/16384`)?.size]).toEqual([['16384'], 0]);
    expect(() => createRelationFiles(world.open(16384), 9)).toThrow(expect.objectContaining({ code: '58P02' }));
    world.checkpoint();
    expect([files(world), world.removed.count]).toEqual([[], 0]);
    createRelationFiles(world.open(16384), 9);
  });

  test('during a checkpoint wait for the next one', () => {
    const world = filled(3);
    world.removed.beforeCheckpoint();
    world.removed.remove(LOCATOR);
    world.removed.afterCheckpoint();
    expect([files(world), world.removed.count]).toEqual([['16384'], 1]);
    world.checkpoint();
    expect([files(world), world.removed.count]).toEqual([[], 0]);
  });

  test('I7: dirty pages of the old relation never reach the new one of its number', () => {
    const world = filled(6);
    const { pool, relation, removed } = world;
    removed.remove(LOCATOR);
    expect(() => relation.blockCount()).toThrow(expect.objectContaining({ code: '55000' }));
    world.checkpoint();
    const fresh = world.open(16384);
    createRelationFiles(fresh, 10);
    world.extend(6, fresh);
    for (let b = 0; b < 6; b++) expect(pool.withPage(fresh.main, b, (m, base) => pageMaxOffset(m, base))).toBe(0);
    pool.flushAll();
    pool.dropFork(fresh.main);
    for (let b = 0; b < 6; b++) expect(pool.withPage(fresh.main, b, (m, base) => pageMaxOffset(m, base))).toBe(0);
  });

  test.each([
    ['truncate', '16384'],
    ['unlink', '16384_vm'],
    ['unlink', '16384.1'],
  ] as const)('a failing %s of %s is warned of, and tried again after the checkpoint', (operation, path) => {
    const world = filled(6);
    const warnings: string[] = [];
    const removed = new (world.removed.constructor as typeof import('@blockwright/access').RemovedFiles)({
      pool: world.pool,
      storage: world.storage,
      onWarning: (message) => warnings.push(message),
    });
    world.checkpoint();
    world.vfs.plant({ operation, path, errno: 'EPERM' });
    removed.remove(LOCATOR);
    expect(warnings).toEqual([expect.stringContaining('could not remove base/5/16384')]);
    removed.beforeCheckpoint();
    removed.afterCheckpoint();
    expect([files(world), removed.count, warnings.length]).toEqual([[], 0, 1]);
  });

  test('a pinned page delays it, and its pages stay until they can be dropped', () => {
    const world = filled(3);
    const id = world.pool.pin(world.relation.main, 1);
    world.removed.remove(LOCATOR);
    expect(files(world)).toContain('16384');
    expect(world.vfs.stat(`${DIRECTORY}/16384`)?.size).toBe(3 * 8192);
    world.pool.unpin(id);
    world.checkpoint();
    expect(files(world)).toEqual([]);
  });
});

test('creations are kept by transaction until it ends, each relation once', () => {
  const created = new PendingCreates();
  const other = { ...LOCATOR, relfilenode: 5 };
  for (const [xid, locator] of [
    [7, LOCATOR],
    [7, { ...LOCATOR }],
    [7, other],
    [9, { ...LOCATOR, database: 6 }],
  ] as const) {
    created.add(xid, locator);
  }
  expect(created.entries()).toEqual([
    { xid: 7, locator: LOCATOR },
    { xid: 7, locator: other },
    { xid: 9, locator: { ...LOCATOR, database: 6 } },
  ]);
  created.forget([7, 8]);
  expect(created.entries().map(({ xid }) => xid)).toEqual([9]);
});

test('records of no kind are named so, and not replayed', () => {
  expect([storageRecords.identify(0x30), storageRecords.identify(XLOG_SMGR_CREATE | 1)]).toEqual([
    'UNKNOWN (30)',
    'CREATE',
  ]);
});
