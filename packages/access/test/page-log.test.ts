// One call changes a page: what goes into the record, what the pages become, and what happens when it cannot be done.
import {
  PAGE_FORCE_IMAGE,
  PAGE_KEEP_DATA,
  PAGE_NO_IMAGE,
  PAGE_STANDARD,
  PAGE_WILL_INIT,
  PageLog,
  XLOG_FPI_FOR_HINT,
} from '@blockwright/access';
import { fromWords, lsnText } from '@blockwright/base';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { pageLsnHigh, pageLsnLow, pageSetLower, pageSetLsn, pageSetUpper } from '@blockwright/page';
import { RM_HEAP, RM_XLOG, type WalRecord } from '@blockwright/wal';
import { describe, expect, test } from 'vitest';
import { ADD, readerOf, World, type WorldOptions } from './world.ts';

const g = BlockGeometry.of('8kB');
const ITEM = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9);

/** A world with blocks of one item each, all written, the redo point after them. */
function made(options: Partial<WorldOptions> = {}, blocks = 3): World {
  const world = new World({ geometry: g, ...options });
  world.relation.main.create();
  if (world.relation.unlogged) world.relation.init.create();
  world.extend(blocks);
  for (let b = 0; b < blocks; b++) world.add(b, ITEM);
  world.checkpoint();
  return world;
}

const lsnOf = (world: World, block: number): number =>
  world.pool.withPage(world.relation.main, block, (m, base) => fromWords(pageLsnHigh(m, base), pageLsnLow(m, base)));

/** What {@link World.wal} got since `from`, each record as `look` sees it. */
function recordsSince<T>(world: World, from: number, look: (record: WalRecord) => T): T[] {
  world.wal.flush(world.wal.insertedUpTo);
  const reader = readerOf(world.vfs);
  reader.seek(from);
  const found: T[] = [];
  while (reader.next()) found.push(look(reader.record));
  reader.close();
  return found;
}

/** Changes block 0 with these flags, after `before` did something to its page. */
function change(world: World, flags: number, before?: (m: { u8: Uint8Array }, base: number) => void): number {
  const { pool, log, relation } = world;
  const id = pool.pin(relation.main, 0);
  log.begin(relation, RM_HEAP, ADD, 1, 3);
  before?.(pool.memory(id), pool.base(id));
  log.page(0, relation.main, id, flags);
  log.bytes(ITEM, 0, 3);
  const lsn = log.finish(7);
  expect(pool.isDirty(id)).toBe(true);
  pool.unpin(id);
  return lsn;
}

interface Seen {
  readonly image: number;
  readonly hole: readonly [number, number];
  readonly data: number;
}

const seen = (r: WalRecord): Seen => ({
  image: r.hasImage[0],
  hole: [r.holeOffset[0], r.holeLength[0]],
  data: r.blockDataLength[0],
});

describe('the image', () => {
  test('goes with the first change after the redo point, and with no other', () => {
    const world = made();
    const from = world.wal.insertedUpTo;
    change(world, PAGE_STANDARD);
    change(world, PAGE_STANDARD);
    world.add(1, ITEM);
    world.log.redoPoint = world.wal.insertedUpTo;
    change(world, PAGE_STANDARD);
    expect(recordsSince(world, from, (r) => r.hasImage[0])).toEqual([1, 0, 1, 1]);
  });

  test('a page whose LSN is the redo point itself was changed before it', () => {
    const world = made();
    const from = change(world, PAGE_STANDARD);
    world.log.redoPoint = lsnOf(world, 0);
    change(world, PAGE_STANDARD);
    world.log.redoPoint = lsnOf(world, 0) - 8;
    change(world, PAGE_STANDARD);
    expect(recordsSince(world, from, (r) => r.hasImage[0])).toEqual([1, 0]);
  });

  test.each([
    ['standard', PAGE_STANDARD, 1, 0],
    ['not standard', 0, 1, 0],
    ['rebuilt by redo', PAGE_STANDARD | PAGE_WILL_INIT, 0, 3],
    ['never', PAGE_STANDARD | PAGE_NO_IMAGE, 0, 3],
    ['with its data', PAGE_STANDARD | PAGE_KEEP_DATA, 1, 3],
  ])('of a page %s', (_, flags, image, data) => {
    const world = made();
    const from = world.wal.insertedUpTo;
    change(world, flags);
    expect(recordsSince(world, from, seen)).toMatchObject([{ image, data }]);
  });

  test('in any case when it is asked for, also of a page that redo rebuilds', () => {
    const world = made();
    change(world, PAGE_STANDARD);
    const from = world.wal.insertedUpTo;
    change(world, PAGE_STANDARD | PAGE_FORCE_IMAGE);
    change(world, PAGE_STANDARD | PAGE_FORCE_IMAGE | PAGE_WILL_INIT);
    expect(recordsSince(world, from, (r) => r.hasImage[0])).toEqual([1, 1]);
  });

  test('not with fullPageImages off', () => {
    const world = made({ fullPageImages: false });
    const from = world.wal.insertedUpTo;
    change(world, PAGE_STANDARD);
    expect(recordsSince(world, from, (r) => r.hasImage[0])).toEqual([0]);
  });

  test.each([
    [0xffff_ffff, 0xffff_fffe],
    [1, 0],
  ])('of a page with an LSN beyond the end, %i %i: else redo would take it for newer; it is warned of', (high, low) => {
    const warnings: string[] = [];
    const world = made({ onWarning: (message) => warnings.push(message) });
    const from = world.wal.insertedUpTo;
    change(world, PAGE_STANDARD, (m, base) => pageSetLsn(m as never, base, high, low));
    expect(recordsSince(world, from, (r) => r.hasImage[0])).toEqual([1]);
    expect(lsnOf(world, 0)).toBe(world.wal.insertedUpTo);
    const lsn = high === 1 ? '1/0' : 'FFFFFFFF/FFFFFFFE';
    const end = lsnText(from);
    expect(warnings).toEqual([
      `block 0 of base/5/16384 had LSN ${lsn}, which the WAL had not reached: it ended at ${end}`,
    ]);
  });

  test.each(BLOCK_SIZES)('leaves the hole of a standard page of %i bytes out, when its bounds are sane', (size) => {
    const geometry = BlockGeometry.of(size);
    const world = made({ geometry });
    const at = world.wal.insertedUpTo;
    const bounds: [number, number, number, number][] = [
      [28, size - 16, 28, size - 44],
      [24, size, 24, size - 24],
      [23, size, 0, 0],
      [28, 28, 0, 0],
      [size, 28, 0, 0],
      [0, 0, 0, 0],
      [24, size + 8 > 0xffff ? 0 : size + 8, 0, 0],
    ];
    for (const [lower, upper] of bounds) {
      change(world, PAGE_STANDARD | PAGE_FORCE_IMAGE, (m, base) => {
        pageSetLower(m as never, base, lower);
        pageSetUpper(m as never, base, upper);
      });
    }
    expect(recordsSince(world, at, (r) => [...seen(r).hole, r.imageLength[0]])).toEqual(
      bounds.map(([, , offset, length]) => [offset, length, size - length]),
    );
  });

  test('J15: a map page keeps every byte', () => {
    const world = made();
    const from = world.wal.insertedUpTo;
    world.mark(0, 5000, 0xab);
    const images = recordsSince(world, from, (r) => r.bytes.slice(r.imageAt[0], r.imageAt[0] + r.imageLength[0]));
    expect([images[0].length, images[0][5000]]).toEqual([8192, 0xab]);
  });

  test('of a new page is all of it, and the page keeps its LSN of zero', () => {
    const world = made();
    const { pool, log, relation } = world;
    const id = pool.pin(relation.main, pool.extend(relation.main, 1));
    const from = world.wal.insertedUpTo;
    log.begin(relation, RM_XLOG, 0xb0, 1, 0);
    log.page(0, relation.main, id, PAGE_STANDARD | PAGE_FORCE_IMAGE);
    expect(log.finish(0)).toBe(world.wal.insertedUpTo);
    pool.unpin(id);
    expect(recordsSince(world, from, seen)).toEqual([{ image: 1, hole: [0, 0], data: 0 }]);
    expect(world.page(3).every((byte) => byte === 0)).toBe(true);
  });
});

describe('a change', () => {
  test('gives every page the LSN, marks it dirty, and says where it is; ids and data are the record’s', () => {
    const world = made();
    const from = world.wal.insertedUpTo;
    const lsn = world.addAndMark(2, ITEM, 1, 77, 5);
    expect([lsn, lsnOf(world, 2), world.wal.insertedUpTo]).toEqual([lsn, lsn, lsn]);
    const [record] = recordsSince(world, from, (r) => ({
      xid: r.xid,
      rmgr: r.rmgr,
      ids: [...r.blockId.subarray(0, r.blockCount)],
      forks: [...r.fork.subarray(0, r.blockCount)],
      blocks: [...r.block.subarray(0, r.blockCount)],
      relfilenode: r.relfilenode[1],
      data: r.bytes.slice(r.blockDataAt[0], r.blockDataAt[0] + r.blockDataLength[0]),
      main: [r.u16(r.dataAt), r.u16(r.dataAt + 2), r.dataLength],
    }));
    expect(record).toEqual({
      xid: 4,
      rmgr: RM_HEAP,
      ids: [0, 3],
      forks: [0, 2],
      blocks: [2, 1],
      relfilenode: 16384,
      data: ITEM,
      main: [77, 5, 4],
    });
  });

  test('of an unlogged relation makes its pages dirty, no more: no record, no LSN', () => {
    const world = made({ unlogged: true });
    const before = world.wal.insertedUpTo;
    expect([change(world, PAGE_STANDARD), lsnOf(world, 0), world.wal.insertedUpTo]).toEqual([0, 0, before]);
    expect(world.pool.flushAll()).toBe(1);
  });

  test('without a WAL does the same', () => {
    const world = made({ noWal: true });
    expect([world.relation.isLogged, change(world, PAGE_STANDARD), lsnOf(world, 0)]).toEqual([false, 0, 0]);
    expect(world.pool.flushAll()).toBe(1);
  });

  test('that finds no room in the WAL has changed nothing, and can be made again', () => {
    const world = made();
    world.vfs.freeBytes = 0;
    const { wal, pool, log, relation } = world;
    const id = pool.pin(relation.main, 0);
    let refused: unknown;
    let begun = 0;
    try {
      for (;;) {
        log.begin(relation, RM_HEAP, ADD, 1, 0);
        log.page(0, relation.main, id, PAGE_STANDARD | PAGE_FORCE_IMAGE);
        log.finish(3);
        begun++;
      }
    } catch (error) {
      refused = error;
    }
    expect(refused).toMatchObject({ code: '53100' });
    expect(begun).toBeGreaterThan(20);
    const end = wal.insertedUpTo;
    const lsn = lsnOf(world, 0);
    expect(lsn).toBe(end);
    expect(() => log.begin(relation, RM_HEAP, ADD, 1, 0)).toThrow(expect.objectContaining({ code: '53100' }));
    expect([wal.insertedUpTo, lsnOf(world, 0)]).toEqual([end, lsn]);
    pool.unpin(id);
    world.vfs.freeBytes = Number.POSITIVE_INFINITY;
    expect(change(world, PAGE_STANDARD)).toBeGreaterThan(end);
  });

  test('after begin nothing can fail: the most pages, images and data that were announced have room', () => {
    const world = made({ geometry: BlockGeometry.of('32kB') }, 33);
    world.vfs.plant({ operation: 'write', path: 'wal', errno: 'ENOSPC', times: Number.POSITIVE_INFINITY });
    const { pool, log, relation, wal } = world;
    const ids = Array.from({ length: 10 }, (_, b) => pool.pin(relation.main, b));
    const data = new Uint8Array(60_000);
    let changes = 0;
    try {
      for (; changes < 100; changes++) {
        log.begin(relation, RM_HEAP, ADD, ids.length, 2 * data.length);
        const before = wal.insertedUpTo;
        log.bytes(data, 0, data.length);
        for (const [i, id] of ids.entries())
          log.page(i, relation.main, id, PAGE_FORCE_IMAGE | (i === 0 ? PAGE_KEEP_DATA : 0));
        expect(log.finish(3)).toBeGreaterThan(before);
      }
    } catch (error) {
      expect(error).toMatchObject({ code: '53100' });
    }
    expect(changes).toBeGreaterThan(0);
    expect(changes).toBeLessThan(100);
  });

  test('that puts more than it announced, and more than there is room for, stops the engine', () => {
    const world = made();
    const { pool, log, relation } = world;
    world.vfs.freeBytes = 0;
    const id = pool.pin(relation.main, 0);
    expect(() => {
      for (let i = 0; i < 100; i++) {
        log.begin(relation, RM_HEAP, ADD, 1, 0);
        log.page(0, relation.main, id, PAGE_STANDARD);
        log.bytes(new Uint8Array(60_000), 0, 60_000);
        log.finish(3);
      }
    }).toThrow(expect.objectContaining({ code: '53100', message: expect.stringContaining('the engine has stopped') }));
    expect(world.wal.failed).toBeDefined();
    pool.unpin(id);
  });

  test('begun twice is an error of the caller', () => {
    const world = made();
    world.log.begin(world.relation, RM_HEAP, ADD, 1, 0);
    expect(() => world.log.begin(world.relation, RM_HEAP, ADD, 1, 0)).toThrow(TypeError);
  });

  test('half-way failed stops the engine: nothing is logged, nothing is written any more', () => {
    const world = made();
    const { log, relation, pool } = world;
    world.add(1, ITEM);
    const cause = new Error('out of everything');
    log.begin(relation, RM_HEAP, ADD, 1, 0);
    expect(() => log.panic(cause)).toThrow(
      expect.objectContaining({ code: 'XX000', message: 'the engine has stopped: out of everything', cause }),
    );
    expect([log.failed, world.wal.failed]).toEqual([cause, cause]);
    expect(() => log.begin(relation, RM_HEAP, ADD, 1, 0)).toThrow(/the engine has stopped/);
    expect(() => pool.flushAll()).toThrow(expect.objectContaining({ code: '58030' }));
  });
});

describe('hint bits', () => {
  test('of a clean page: its image first, once after the redo point', () => {
    const world = made();
    const from = world.wal.insertedUpTo;
    expect([world.hint(0, 1), lsnOf(world, 0)]).toEqual([true, world.wal.insertedUpTo]);
    expect(world.hint(0, 2)).toBe(true); // dirty already
    world.pool.flushAll();
    expect(world.hint(0, 3)).toBe(true); // its image is there
    expect(world.pool.flushAll()).toBe(1);
    const records = recordsSince(world, from, (r) => [
      r.rmgr,
      r.info,
      r.hasImage[0],
      r.bytes[r.imageAt[0] + 20],
      r.xid,
    ]);
    expect(records).toEqual([[RM_XLOG, XLOG_FPI_FOR_HINT, 1, 1, 0]]);
  });

  test('of a page that is dirty, or was changed since the redo point: no image', () => {
    const world = made();
    change(world, PAGE_STANDARD);
    const end = world.wal.insertedUpTo;
    expect(world.hint(0, 1)).toBe(true);
    world.pool.flushAll();
    expect([world.hint(0, 2), world.wal.insertedUpTo]).toEqual([true, end]);
    expect(world.pool.flushAll()).toBe(1);
  });

  test.each([
    ['without checksums', { hintImages: false }],
    ['of an unlogged relation', { unlogged: true }],
    ['without a WAL', { noWal: true }],
    ['with fullPageImages off', { fullPageImages: false }],
  ])('%s only make the page dirty', (_, options) => {
    const world = made(options);
    const end = world.wal.insertedUpTo;
    expect([world.hint(0, 1), world.wal.insertedUpTo, world.pool.flushAll()]).toEqual([true, end, 1]);
  });

  test('are not kept during recovery', () => {
    const world = made();
    world.log.recovering = true;
    expect([world.hint(0, 1), world.pool.flushAll()]).toEqual([false, 0]);
  });

  test('are not kept when the disk is full, and nothing throws', () => {
    const world = made({ geometry: BlockGeometry.of('32kB') }, 100);
    for (let b = 0; b < 100; b++) world.add(b, new Uint8Array(30_000)); // images of pages that are full
    world.checkpoint();
    world.vfs.freeBytes = 0;
    const kept = Array.from({ length: 100 }, (_, b) => world.hint(b, 1));
    const refused = kept.indexOf(false);
    expect(refused).toBeGreaterThan(0);
    expect(kept.slice(refused).every((one) => !one)).toBe(true);
    const id = world.pool.pin(world.relation.main, 99);
    expect(world.pool.isDirty(id)).toBe(false);
    world.pool.unpin(id);
    // The disk is not asked again for each page, but from time to time, and at once when something else found room.
    world.vfs.freeBytes = Number.POSITIVE_INFINITY;
    let tries = 1;
    while (!world.hint(99, 1)) tries++;
    expect(tries).toBeGreaterThan(500);
    world.vfs.freeBytes = 0;
    world.log.redoPoint = world.wal.insertedUpTo;
    world.pool.flushAll();
    let b = 0;
    while (world.hint(b, 1)) b++;
    world.vfs.freeBytes = Number.POSITIVE_INFINITY;
    expect(world.hint(b, 1)).toBe(false);
    world.add(99, ITEM);
    change(world, PAGE_STANDARD);
    expect(world.hint(b, 1)).toBe(true);
  });

  test('of a page from the future are not kept: reading repairs nothing', () => {
    const world = made();
    const { pool, relation } = world;
    const id = pool.pin(relation.main, 0);
    pageSetLsn(pool.memory(id), pool.base(id), 1, 0);
    expect([world.hint(0, 1), pool.isDirty(id), lsnOf(world, 0)]).toEqual([false, false, 2 ** 32]);
    pool.unpin(id);
  });

  test('within a change are an error of the caller', () => {
    const world = made();
    world.log.begin(world.relation, RM_HEAP, ADD, 1, 0);
    expect(() => world.hint(1, 1)).toThrow(TypeError);
  });
});

test('options are checked', () => {
  expect(() => new PageLog({ geometry: g, hintImages: true, fullPageImage: true } as never)).toThrow(/fullPageImages/);
});
