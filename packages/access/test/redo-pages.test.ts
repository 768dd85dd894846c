// Pages brought back for redo: restored, judged by LSN, made, missed; and where the time goes.
import {
  PAGE_FORCE_IMAGE,
  PAGE_STANDARD,
  REDO_DONE,
  REDO_MISSING,
  REDO_NEEDED,
  REDO_RESTORED,
  RedoPages,
  RedoStats,
} from '@blockwright/access';
import { BufferPool } from '@blockwright/bufmgr';
import { BlockGeometry } from '@blockwright/geometry';
import { pageIsZero, pageSetLsn } from '@blockwright/page';
import { StorageManager } from '@blockwright/smgr';
import { RM_HEAP, WalRecord } from '@blockwright/wal';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { ADD, bytesOf, disk, LOCATOR, masked, readerOf, replay, World } from './world.ts';

const g = BlockGeometry.of('8kB');
const ITEM = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9);

/** A record with one block reference. */
function record(
  fields: Partial<Record<'fork' | 'block' | 'relfilenode' | 'database' | 'willInit', number>>,
  end = 5000,
): WalRecord {
  const r = new WalRecord();
  Object.assign(r, { lsn: end - 100, endLsn: end, endHigh: 0, endLow: end | 0, blockCount: 1 });
  r.tablespace[0] = LOCATOR.tablespace;
  r.database[0] = fields.database ?? LOCATOR.database;
  r.relfilenode[0] = fields.relfilenode ?? LOCATOR.relfilenode;
  r.fork[0] = fields.fork ?? 0;
  r.block[0] = fields.block ?? 0;
  r.willInit[0] = fields.willInit ?? 0;
  return r;
}

/** Files of three blocks with an item each, and pages for a redo of them. */
function made(stats?: RedoStats) {
  const world = new World({ geometry: g });
  const { vfs } = world;
  world.relation.main.create();
  world.extend(3);
  for (let b = 0; b < 3; b++) world.add(b, ITEM);
  world.mark(0, 100, 7);
  world.checkpoint();
  const warnings: string[] = [];
  const storage = new StorageManager({ vfs, directory: '/data', geometry: g, segmentBlocks: 8 });
  const pool = new BufferPool({ geometry: g, buffers: 16, onWarning: (text) => warnings.push(text) });
  const pages = new RedoPages({ pool, storage, ...(stats === undefined ? {} : { stats }) });
  return { world, vfs, storage, pool, pages, warnings };
}

afterEach(() => vi.restoreAllMocks());

describe('a page is judged by its LSN', () => {
  test.each([
    [0, 4999, REDO_NEEDED],
    [0, 5000, REDO_DONE],
    [0, 5001, REDO_DONE],
    [0xffff_ffff, 0xffff_fffe, REDO_DONE],
    [0, 0xffff_fffe, REDO_DONE],
    [1, 0, REDO_DONE],
    [0, 0, REDO_NEEDED],
  ])('%i %i against 5000', (high, low, wanted) => {
    const { pages, pool, storage } = made();
    const main = storage.open(LOCATOR).fork(0);
    const id = pool.pin(main, 1);
    pageSetLsn(pool.memory(id), pool.base(id), high, low);
    pool.unpin(id);
    expect(pages.fetch(record({ block: 1 }), 0)).toBe(wanted);
    expect([pages.buffer, pool.pinCount(id)]).toEqual([id, 1]);
    pages.release(pages.buffer);
    expect(pool.pinned()).toEqual([]);
  });

  test.each([
    [0x8000_0000, 16, 0x7fff_ffff, 0xffff_fff0, REDO_NEEDED],
    [0x8000_0000, 16, 0x8000_0000, 16, REDO_DONE],
    [0, 0x8000_0010, 0, 0x7fff_fff0, REDO_NEEDED],
    [0, 0x8000_0010, 0, 0x8000_0010, REDO_DONE],
  ])('of a record that ends at %i %i, a page at %i %i', (endHigh, endLow, high, low, wanted) => {
    const { pages, pool, storage } = made();
    const id = pool.pin(storage.open(LOCATOR).fork(0), 1);
    pageSetLsn(pool.memory(id), pool.base(id), high, low);
    const r = record({ block: 1 });
    Object.assign(r, { endHigh: endHigh | 0, endLow: endLow | 0 });
    expect(pages.fetch(r, 0)).toBe(wanted);
    pages.changed(pages.buffer, r);
    expect(pages.fetch(r, 0)).toBe(REDO_DONE);
  });

  test('once it was changed it has the LSN, is dirty, and is done', () => {
    const { pages, pool } = made();
    const r = record({ block: 1 }, 2 ** 21);
    expect(pages.fetch(r, 0)).toBe(REDO_NEEDED);
    pages.changed(pages.buffer, r);
    expect(pool.isDirty(pages.buffer)).toBe(true);
    pages.release(pages.buffer);
    expect([pages.fetch(r, 0), pool.flushAll()]).toEqual([REDO_DONE, 1]);
  });
});

describe('an image', () => {
  /** A WAL that ends with images of pages 1 (standard) and of a map page. */
  function withImages() {
    const world = new World({ geometry: g });
    world.relation.main.create();
    world.extend(3);
    for (let b = 0; b < 3; b++) world.add(b, ITEM);
    const from = world.checkpoint();
    world.add(1, ITEM);
    world.mark(0, 5000, 0xab);
    const wanted = [world.page(1), world.page(0, world.relation.vm)];
    world.wal.flush(world.wal.insertedUpTo);
    return { world, from, wanted };
  }

  test('replaces a page that cannot be read, and is not read first', () => {
    const { world, from, wanted } = withImages();
    const { vfs } = world;
    vfs.open('/data/base/5/16384', 'r+').write(new Uint8Array(5000).fill(0x5a), 0, 5000, 8192 + 2000);
    vfs.plant({ operation: 'read', path: 'base/5', errno: 'EIO', times: Number.POSITIVE_INFINITY });
    const { relation, pages } = replay(vfs, from, g);
    expect(pages.stats).toMatchObject({ pages: 2, restored: 2, done: 0, missing: 0 });
    expect(masked(bytesOf(pages.pool, relation.main, 1))).toEqual(masked(wanted[0]));
    expect(masked(bytesOf(pages.pool, relation.vm, 0))).toEqual(masked(wanted[1]));
  });

  test('makes files that are gone, as long as is needed', () => {
    const { world, from, wanted } = withImages();
    world.storage.syncPending();
    for (const name of ['16384', '16384_vm']) world.vfs.unlink(`/data/base/5/${name}`);
    const { relation, pages } = replay(world.vfs, from, g);
    expect([relation.blockCount(), relation.vm.blockCount()]).toEqual([2, 1]);
    expect(masked(bytesOf(pages.pool, relation.main, 1))).toEqual(masked(wanted[0]));
    expect(bytesOf(pages.pool, relation.main, 0).every((byte) => byte === 0)).toBe(true);
  });

  test('of a new page leaves it new, without an LSN', () => {
    const world = new World({ geometry: g });
    const { pool, log, relation } = world;
    relation.main.create();
    const id = pool.pin(relation.main, pool.extend(relation.main, 1));
    log.begin(relation, RM_HEAP, ADD, 1, 0);
    log.page(0, relation.main, id, PAGE_STANDARD | PAGE_FORCE_IMAGE);
    log.finish(3);
    world.wal.flush(world.wal.insertedUpTo);
    const { pages, relation: after } = replay(world.vfs, world.start, g);
    pages.pool.withPage(after.main, 0, (m, base) => expect(pageIsZero(m, base, g)).toBe(true));
  });

  test('comes before everything else that a reference asks for', () => {
    const { world } = withImages();
    const reader = readerOf(world.vfs);
    reader.seek(world.start);
    while (reader.next() && reader.record.hasImage[0] === 0);
    const r = reader.record;
    r.willInit[0] = 1;
    const { pages } = made();
    expect(pages.init(r, 0)).toBe(REDO_RESTORED);
    pages.release(pages.buffer);
  });
});

describe('a page that is not there', () => {
  test('is missed: beyond the end, in a fork or a relation that is gone, or all zero', () => {
    const { pages, pool, storage, vfs } = made();
    storage.open(LOCATOR).fork(0).zeroExtend(3, 1);
    const wanted = [{ block: 4 }, { block: 0xffff_fffe }, { fork: 3 }, { relfilenode: 99 }, { block: 3 }];
    expect(wanted.map((fields) => pages.fetch(record(fields), 0))).toEqual(wanted.map(() => REDO_MISSING));
    expect([pages.buffer, pool.pinned(), vfs.exists('/data/base/5/99')]).toEqual([-1, [], false]);
    expect([pages.missing.size, pages.stats.missing]).toEqual([5, 5]);
    const error = { code: 'XX001', message: expect.stringContaining('5 pages that are not there') };
    expect(() => pages.missing.check()).toThrow(expect.objectContaining(error));
    const detail = expect.stringMatching(
      /block 4 of base\/5\/16384 does not exist \(0\/1324\); .*4294967294.*16384_init.*block 3 of base\/5\/16384 is all zero.*base\/5\/99/,
    );
    expect(() => pages.missing.check()).toThrow(expect.objectContaining({ detail }));
  });

  test('is forgotten when its relation is dropped or cut; the first record is named, each page once', () => {
    const { pages } = made();
    for (const lsn of [5000, 6000]) pages.fetch(record({ block: 9 }, lsn), 0);
    pages.fetch(record({ block: 7 }), 0);
    pages.fetch(record({ relfilenode: 99 }), 0);
    pages.fetch(record({ relfilenode: 99, database: 6 }), 0);
    expect(pages.missing.all().map(({ block, lsn }) => [block, lsn])).toEqual([
      [9, 4900],
      [7, 4900],
      [0, 4900],
      [0, 4900],
    ]);
    pages.missing.forgetFrom(LOCATOR, 0, 8);
    pages.missing.forgetFrom({ ...LOCATOR, relfilenode: 5 }, 0, 0);
    expect(pages.missing.all().map(({ block }) => block)).toEqual([7, 0, 0]);
    pages.removeRelation({ ...LOCATOR, relfilenode: 99 });
    expect(() => pages.missing.check()).toThrow(/2 pages/);
    pages.removeRelation(LOCATOR);
    expect(() => pages.missing.check()).toThrow(/a page that is not there/);
    pages.missing.forgetRelation({ ...LOCATOR, relfilenode: 99, database: 6 });
    pages.missing.check();
  });

  test('of many, ten are named', () => {
    const { pages } = made();
    for (let b = 10; b < 35; b++) pages.fetch(record({ block: b }), 0);
    const detail = expect.stringMatching(/block 19 of .*, and 15 more\.$/);
    expect(() => pages.missing.check()).toThrow(expect.objectContaining({ detail }));
  });

  test('is made when it is one of a map, and when redo makes it anew', () => {
    const { pages, pool, vfs } = made();
    for (const [fields, call] of [
      [{ fork: 1, block: 2 }, 'fetch'],
      [{ fork: 2, block: 9 }, 'fetch'],
      [{ block: 20, willInit: 1 }, 'init'],
      [{ relfilenode: 99, block: 1, willInit: 1 }, 'init'],
    ] as const) {
      expect(pages[call](record(fields), 0)).toBe(REDO_NEEDED);
      expect(pageIsZero(pages.memory, pages.base, g)).toBe(true);
      pages.release(pages.buffer);
    }
    expect(vfs.readdir('/data/base/5').sort()).toEqual([
      '16384',
      '16384.1',
      '16384.2',
      '16384_fsm',
      '16384_vm',
      '16384_vm.1',
      '99',
    ]);
    expect([pages.missing.size, pool.pinned()]).toEqual([0, []]);
  });
});

test('a damaged page of a map reads as zeros, one of a heap is an error', () => {
  const { pages, vfs, warnings } = made();
  for (const name of ['16384', '16384_vm']) {
    vfs.open(`/data/base/5/${name}`, 'r+').write(Uint8Array.of(1, 2, 3), 0, 3, 4000);
  }
  expect(() => pages.fetch(record({ block: 0 }), 0)).toThrow(expect.objectContaining({ code: 'XX001' }));
  expect([pages.fetch(record({ fork: 2 }), 0), pageIsZero(pages.memory, pages.base, g)]).toEqual([REDO_NEEDED, true]);
  expect(warnings).toHaveLength(1);
});

test('a page made anew is zero whatever it was, and not read', () => {
  const { pages, vfs } = made();
  vfs.plant({ operation: 'read', path: 'base/5', errno: 'EIO', times: Number.POSITIVE_INFINITY });
  const r = record({ block: 1, willInit: 1 });
  expect([pages.init(r, 0), pageIsZero(pages.memory, pages.base, g)]).toEqual([REDO_NEEDED, true]);
});

test('relations are told apart by all of their locator, and one that was removed is opened again', () => {
  const { pages, storage } = made();
  const here = pages.relation(record({}), 0);
  const other = pages.relation(record({ database: 6 }), 0);
  expect([here, other.name, pages.relation(record({}), 0)]).toEqual([storage.open(LOCATOR), 'base/6/16384', here]);
  pages.removeRelation(LOCATOR);
  expect([here.closed, pages.relation(record({}), 0) === here]).toEqual([true, false]);
});

describe('the time of look-ups and of opening files', () => {
  test('is not taken unless it is asked for: the clock is not read', () => {
    const { pages } = made();
    const clock = vi.spyOn(performance, 'now');
    pages.fetch(record({ block: 1 }), 0);
    pages.fetch(record({ relfilenode: 99, fork: 2 }), 0);
    pages.init(record({ block: 5, willInit: 1 }), 0);
    expect(clock).not.toHaveBeenCalled();
    expect([pages.stats.lookupMs, pages.stats.openMs]).toEqual([0, 0]);
  });

  test('is taken when it is', () => {
    const stats = new RedoStats();
    stats.timing = true;
    const { pages } = made(stats);
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => ++now);
    pages.fetch(record({ block: 1 }), 0);
    expect([stats.lookupMs, stats.openMs]).toEqual([1, 2]); // the relation, and its block
    pages.fetch(record({ fork: 2 }), 0);
    pages.init(record({ block: 5, willInit: 1 }), 0);
    expect([stats.lookupMs, stats.openMs, stats.pages]).toEqual([3, 4, 3]);
  });
});

test('the files of an empty disk are made by redo alone', () => {
  const world = new World({ geometry: g });
  world.relation.main.create();
  world.extend(4);
  for (let b = 0; b < 4; b++) world.add(b, ITEM);
  world.wal.flush(world.wal.insertedUpTo);
  const crashed = world.vfs.crash('synced');
  expect(crashed.readdir('/data/base/5')).toEqual([]);
  const { relation, pages, records } = replay(crashed, world.start, g);
  expect([records, relation.blockCount(), pages.missing.size]).toEqual([8, 4, 0]);
  for (let b = 0; b < 4; b++) expect(masked(bytesOf(pages.pool, relation.main, b))).toEqual(masked(world.page(b)));
  expect(disk().readdir('/data/base/5')).toEqual([]);
});
