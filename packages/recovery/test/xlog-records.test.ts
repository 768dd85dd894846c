// Records about the WAL itself, the counters that they keep, and what redo makes of them.
import { XLOG_FPI, XLOG_FPI_FOR_HINT } from '@blockwright/access';
import { type Oid, runSync } from '@blockwright/base';
import {
  allRecordDescribers,
  checkpointOf,
  type RecordCounts,
  XLOG_CHECKPOINT_ONLINE,
  XLOG_NEXTOID,
  XLOG_NOOP,
} from '@blockwright/recovery';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { RM_XLOG, WalReader, type WalRecord } from '@blockwright/wal';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NextXid } from '../src/next-xid.ts';
import { Engine, FIRST_CELL, initialize, locatorOf } from './engine.ts';

const DIRECTORY = '/data';

function opened(): { vfs: MemoryVfs; engine: Engine } {
  const vfs = new MemoryVfs();
  initialize(vfs, DIRECTORY, 1024);
  return { vfs, engine: new Engine(vfs, DIRECTORY) };
}

/** What `look` gives for each record of the WAL about the WAL. */
function xlogRecords<T>(vfs: MemoryVfs, look: (record: WalRecord) => T): T[] {
  const reader = new WalReader({ vfs, directory: `${DIRECTORY}/wal`, segmentSize: 1 << 20 });
  reader.seek(1 << 20);
  const found: T[] = [];
  while (reader.next()) if (reader.record.rmgr === RM_XLOG) found.push(look(reader.record));
  return found;
}

describe('in words', () => {
  test('every subject is known by its name', () => {
    const describers = allRecordDescribers();
    expect(describers.all().map(({ name }) => name)).toEqual([
      'XLOG',
      'Transaction',
      'Storage',
      'CLOG',
      'Heap2',
      'Heap',
      'Btree',
    ]);
    const xlog = describers.get(RM_XLOG);
    expect(
      [XLOG_CHECKPOINT_ONLINE, XLOG_NOOP, XLOG_NEXTOID, XLOG_FPI, XLOG_FPI_FOR_HINT].map((info) =>
        xlog?.identify(info),
      ),
    ).toEqual(['CHECKPOINT_ONLINE', 'NOOP', 'NEXTOID', 'FPI', 'FPI_FOR_HINT']);
    expect(xlog?.identify(0x70)).toBe('UNKNOWN (70)');
  });

  test('a checkpoint says all that it holds', () => {
    const { vfs, engine } = opened();
    const tx = engine.transactions.begin();
    const table = engine.create(tx);
    engine.checkpoint();
    tx.commit();
    engine.close();
    const xlog = allRecordDescribers().get(RM_XLOG);
    const words = xlogRecords(vfs, (record) => `${xlog?.identify(record.info)} ${xlog?.describe(record)}`);
    expect(words).toEqual([
      'CHECKPOINT_SHUTDOWN redo 0/100030; incarnation 1; xid 0:3; oid 16384; oldest xid 3; shutdown',
      'NEXTOID 24576',
      expect.stringMatching(
        new RegExp(
          `^CHECKPOINT_ONLINE redo 0/[0-9A-F]+; incarnation 1; xid 0:4; oid 24576; oldest xid 3; pending files 3:1663/5/${table}; online$`,
        ),
      ),
      expect.stringMatching(/^CHECKPOINT_SHUTDOWN .*; oid 16385; oldest xid 3; shutdown$/),
    ]);
  });

  test('one of another length is none', () => {
    const { vfs, engine } = opened();
    const { wal } = engine;
    for (const length of [0, 39, 41, 56]) {
      wal.reserve(200);
      wal.record.begin(RM_XLOG, XLOG_CHECKPOINT_ONLINE);
      wal.record.bytes(new Uint8Array(100), 0, length);
      wal.insert(0);
    }
    wal.flush(wal.insertedUpTo);
    const read = xlogRecords(vfs, (record) => [
      checkpointOf(record),
      allRecordDescribers().get(RM_XLOG)?.describe(record),
    ]);
    expect(read.slice(1)).toEqual([0, 39, 41, 56].map((length) => [undefined, `a checkpoint of ${length} bytes`]));
    engine.abandon();
    expect(() => new Engine(vfs, DIRECTORY)).toThrow(
      expect.objectContaining({
        code: 'XX001',
        message: expect.stringMatching(/^the checkpoint record at .* has 0 bytes/),
      }),
    );
  });
});

describe('the next transaction id', () => {
  test('is past every id that was seen, across the end of the numbers, as a count of 64 bits would say', () => {
    const start = fc.bigInt({ min: 1n << 32n, max: (5n << 32n) - 1n }).filter((n) => Number(n & 0xffff_ffffn) >= 3);
    const steps = fc.array(fc.integer({ min: -0x7000_0000, max: 0x1000_0000 }), { maxLength: 30 });
    fc.assert(
      fc.property(start, steps, fc.boolean(), (from, jumps, before) => {
        const next = new NextXid(Number(from & 0xffff_ffffn), Number(from >> 32n));
        let model = from;
        for (const jump of jumps) {
          const seen = model + BigInt(jump);
          const xid = Number(BigInt.asUintN(32, seen));
          if (before) {
            next.passBefore(xid);
            if (seen > model) model = seen;
          } else {
            next.pass(xid);
            if (xid >= 3 && seen >= model) {
              model = seen + 1n;
              if ((model & 0xffff_ffffn) < 3n) model = (model & ~0xffff_ffffn) + 3n;
            }
          }
          expect([next.epoch, next.xid]).toEqual([Number(model >> 32n), Number(model & 0xffff_ffffn)]);
        }
      }),
    );
  });

  test('permanent ids and none say nothing', () => {
    const next = new NextXid(5, 0);
    for (const xid of [0, 1, 2]) next.pass(xid);
    expect([next.epoch, next.xid]).toEqual([0, 5]);
    const last = new NextXid(0xffff_ffff, 7);
    last.pass(0xffff_ffff);
    expect([last.epoch, last.xid]).toEqual([8, 3]);
  });
});

describe('object ids', () => {
  test('are given once each, through crashes and shutdowns', () => {
    const { vfs } = opened();
    const given = new Set<Oid>();
    let { engine } = { engine: new Engine(vfs, DIRECTORY) };
    for (let i = 0; i < 12; i++) {
      for (let k = 0; k < 1000; k++) {
        const oid = engine.oids.next;
        expect(engine.oids.take()).toBe(oid);
        expect(given.has(oid)).toBe(false);
        expect(engine.oids.loggedUpTo).toBeGreaterThan(oid);
        given.add(oid);
      }
      if (i % 4 === 1) engine.checkpoint();
      engine.wal.flush(engine.wal.insertedUpTo);
      if (i % 3 === 0) engine.close();
      else engine.abandon();
      engine = new Engine(vfs, DIRECTORY);
    }
    expect(Math.min(...given)).toBe(0x4000);
  });

  test('are skipped by a crash, not by a shutdown', () => {
    const { vfs, engine } = opened();
    const last = engine.oids.take();
    engine.close();
    const second = new Engine(vfs, DIRECTORY);
    expect(second.oids.take()).toBe(last + 1);
    second.wal.flush(second.wal.insertedUpTo);
    second.abandon();
    expect(new Engine(vfs, DIRECTORY).oids.take()).toBe(last + 1 + 8192);
  });

  test('none is given without its record', () => {
    const { vfs, engine } = opened();
    vfs.freeBytes = 0;
    let failures = 0;
    const before = engine.oids.next;
    // A full disk shows when the WAL needs a segment; until then there is room.
    while (engine.wal.insertedUpTo < 2 << 20 && failures === 0) {
      try {
        engine.wal.reserve(50_000);
        engine.wal.record.begin(RM_XLOG, XLOG_NOOP);
        engine.wal.record.bytes(new Uint8Array(40_000), 0, 40_000);
        engine.wal.insert(0);
      } catch {
        failures++;
      }
    }
    expect(failures).toBe(1);
    expect(engine.oids.next).toBe(before);
  });
});

describe('replayed', () => {
  test('an image of a page whose hints were set, which no other record has', () => {
    const { vfs, engine } = opened();
    const tx = engine.transactions.begin();
    const table = engine.create(tx);
    for (let block = 0; block < 3; block++) engine.set(tx, table, [{ block, at: 0, value: 1 }]);
    tx.commit();
    engine.checkpoint();
    const relation = engine.relation(table);
    const id = engine.pool.pin(relation.main, 1);
    engine.pool.memory(id).u8[engine.pool.base(id) + FIRST_CELL + 900] = 77;
    expect(engine.pages.hint(relation, relation.main, id)).toBe(true);
    engine.pool.unpin(id);
    engine.wal.flush(engine.wal.insertedUpTo);
    engine.abandon();
    const again = new Engine(vfs, DIRECTORY);
    const kinds = again.report?.byResourceManager[0].kinds as readonly RecordCounts[];
    expect(kinds.map(({ name, images }) => [name, images])).toContainEqual(['FPI_FOR_HINT', 1]);
    const cells = again.read(table)[1];
    expect([cells[0], cells[900]]).toEqual([1, 77]);
  });

  test('an unlogged table is empty after a crash, and whole after a shutdown', () => {
    const { vfs, engine } = opened();
    const tx = engine.transactions.begin();
    const table = engine.create(tx, true);
    for (let block = 0; block < 3; block++) engine.set(tx, table, [{ block, at: 0, value: 5 }], true);
    tx.commit();
    engine.close();
    const second = new Engine(vfs, DIRECTORY);
    expect(second.read(table, true).map((cells) => cells[0])).toEqual([5, 5, 5]);
    second.checkpoint();
    second.abandon();
    const third = new Engine(vfs, DIRECTORY);
    expect(third.report?.unloggedReset).toBe(1);
    expect(third.read(table, true)).toEqual([]);
    expect(vfs.readdir(`${DIRECTORY}/base/5`)).toEqual([`${table}`, `${table}_init`]);
    const later = third.transactions.begin();
    third.set(later, table, [{ block: 0, at: 0, value: 6 }], true);
    later.commit();
    third.close();
    expect(new Engine(vfs, DIRECTORY).read(table, true).map((cells) => cells[0])).toEqual([6]);
  });

  test('an init fork with pages is copied', () => {
    const { vfs, engine } = opened();
    const tx = engine.transactions.begin();
    const table = engine.create(tx, true);
    const init = engine.relation(table, true).init;
    const page = new Uint8Array(1024).fill(0);
    page.set([1, 2, 3], 500);
    init.extend(0, 1, page, 0);
    engine.storage.syncPending();
    tx.commit();
    engine.abandon();
    new Engine(vfs, DIRECTORY).abandon();
    expect([...vfs.readFile(`${DIRECTORY}/base/5/${table}`)]).toEqual([...page]);
  });

  test('a checkpoint that did not get into the control file counts none the less', () => {
    const { vfs, engine } = opened();
    const tx = engine.transactions.begin();
    const table = engine.create(tx);
    tx.commit();
    const fault = vfs.plant({ operation: 'write', path: 'global/control', errno: 'ENOSPC' });
    expect(() => runSync(engine.checkpointer.steps('immediate'))).toThrow(expect.objectContaining({ code: '53100' }));
    expect(fault.hits).toBe(1);
    engine.abandon();
    const again = new Engine(vfs, DIRECTORY);
    expect(again.report?.byResourceManager[0].kinds.map(({ name, records }) => [name, records])).toEqual([
      ['CHECKPOINT_SHUTDOWN', 1],
      ['CHECKPOINT_ONLINE', 1],
      ['NEXTOID', 1],
    ]);
    expect(again.relation(table).storage.locator).toEqual(locatorOf(table));
    expect(again.relation(table).main.exists()).toBe(true);
  });
});
