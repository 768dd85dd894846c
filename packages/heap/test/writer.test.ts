// What HeapWriter writes: headers bit by bit, records in words, maps, locks, and the pages that redo makes of them.
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { itemPosition, pageFlags, pageIsAllVisible, pagePruneXid } from '@blockwright/page';
import type { RowLockMode } from '@blockwright/transam';
import {
  HEAP_COMBOCID,
  HEAP_HASVARWIDTH,
  HEAP_HOT_UPDATED,
  HEAP_KEYS_UPDATED,
  HEAP_ONLY_TUPLE,
  HEAP_UPDATED,
  HEAP_XMAX_EXCL_LOCK,
  HEAP_XMAX_INVALID,
  HEAP_XMAX_KEYSHR_LOCK,
  HEAP_XMAX_LOCK_ONLY,
  HEAP_XMAX_SHR_LOCK,
  HEAP_XMIN_COMMITTED,
  tupleCommandId,
  tupleCtidBlock,
  tupleCtidOffset,
  tupleInfomask,
  tupleInfomask2,
  tupleXmax,
  tupleXmin,
} from '@blockwright/tuple';
import { describe, expect, it } from 'vitest';
import {
  heapMarkAllVisible,
  MultiInserter,
  TM_DELETED,
  TM_INVISIBLE,
  TM_OK,
  TM_SELF_MODIFIED,
  TM_UPDATED,
} from '../src/index.ts';
import { noise } from './bench.ts';
import { COLUMNS, expectSamePages, WritingBench } from './writing-bench.ts';

/** A tuple's header; the committed bit of xmin is nobody's promise, and left out. */
function header(bench: WritingBench, block: BlockNumber, offset: OffsetNumber): Record<string, number | string> {
  return bench.pool.withPage(bench.relation.main, block, (m, base) => {
    const pos = itemPosition(m, base, offset);
    return {
      xmin: tupleXmin(m, pos),
      xmax: tupleXmax(m, pos),
      cid: tupleCommandId(m, pos),
      ctid: `(${tupleCtidBlock(m, pos)},${tupleCtidOffset(m, pos)})`,
      infomask: tupleInfomask(m, pos) & ~HEAP_XMIN_COMMITTED,
      infomask2: tupleInfomask2(m, pos),
    };
  });
}

/** A bench with rows 1, 2, 3 at offsets 1, 2, 3 of block 0, committed by transaction 1000. */
function benchWithRows(size: BlockSize): WritingBench {
  const bench = new WritingBench(size);
  bench.run((tx) => {
    for (let id = 1; id <= 3; id++) bench.writer.insert(tx, [id, 0, 'abcdefgh']);
  });
  return bench;
}

const INSERTED = { cid: 0, infomask: HEAP_XMAX_INVALID | HEAP_HASVARWIDTH, infomask2: 3 };

describe.each(BLOCK_SIZES)('at %i-byte blocks', (size) => {
  it('inserts, updates, deletes and locks, and replays it', () => {
    const bench = new WritingBench(size);
    const { writer } = bench;
    bench.run((tx) => {
      for (let id = 1; id <= 5; id++) writer.insert(tx, [id, 0, `row ${id}`]);
    });
    bench.run((tx, snapshot) => {
      expect(writer.update(tx, 0, 2, [2, 1, 'row 2'], snapshot, true)).toBe(TM_OK);
      expect(writer.wasHot).toBe(true);
      expect([writer.block, writer.offset]).toEqual([0, 6]);
      expect(writer.delete(tx, 0, 3, snapshot)).toBe(TM_OK);
      expect(writer.lock(tx, 0, 4, 'share', snapshot)).toBe(TM_OK);
    });
    expect(bench.records()).toEqual([
      'Heap INSERT+INIT off: 1, flags: 0x00',
      ...[2, 3, 4, 5].map((o) => `Heap INSERT off: ${o}, flags: 0x00`),
      'Heap HOT_UPDATE old_xmax: 1001, old_off: 2, old_infobits: [], flags: 0x60, new_xmax: 0, new_off: 6',
      'Heap DELETE xmax: 1001, off: 3, infobits: [KEYS_UPDATED], flags: 0x00',
      'Heap LOCK xmax: 1001, off: 4, infobits: [LOCK_ONLY, EXCL_LOCK, KEYSHR_LOCK], flags: 0x00',
    ]);
    bench.pool.withPage(bench.relation.main, 0, (m, base) => {
      expect(pagePruneXid(m, base)).toBe(1001);
      expect(pageFlags(m, base)).toBe(0);
    });
    expect(bench.committedRows()).toEqual([
      [1, 0],
      [2, 1],
      [4, 0],
      [5, 0],
    ]);
    expectSamePages(bench, bench.crashed());
    bench.close();
  });

  it('writes the headers that PostgreSQL writes', () => {
    const bench = benchWithRows(size);
    const { writer } = bench;
    expect(header(bench, 0, 1)).toEqual({ ...INSERTED, xmin: 1000, xmax: 0, ctid: '(0,1)' });
    bench.run((tx, snapshot) => {
      writer.update(tx, 0, 1, [1, 1, 'abcdefgh'], snapshot, true);
      tx.nextCommand();
      writer.update(tx, 0, 2, [2, 1, 'abcdefgh'], snapshot, false);
      writer.delete(tx, 0, 3, snapshot);
    });
    const varwidth = HEAP_HASVARWIDTH;
    const old = { xmin: 1000, xmax: 1001, infomask: varwidth };
    expect(header(bench, 0, 1)).toEqual({ ...old, cid: 0, ctid: '(0,4)', infomask2: 3 | HEAP_HOT_UPDATED });
    expect(header(bench, 0, 2)).toEqual({ ...old, cid: 1, ctid: '(0,5)', infomask2: 3 | HEAP_KEYS_UPDATED });
    expect(header(bench, 0, 3)).toEqual({ ...old, cid: 1, ctid: '(0,3)', infomask2: 3 | HEAP_KEYS_UPDATED });
    const next = { xmin: 1001, xmax: 0, infomask: varwidth | HEAP_UPDATED | HEAP_XMAX_INVALID };
    expect(header(bench, 0, 4)).toEqual({ ...next, cid: 0, ctid: '(0,4)', infomask2: 3 | HEAP_ONLY_TUPLE });
    expect(header(bench, 0, 5)).toEqual({ ...next, cid: 1, ctid: '(0,5)', infomask2: 3 });
    expectSamePages(bench, bench.crashed());
    bench.close();
  });

  it('notes a combo command id for a row that its own transaction deletes', () => {
    const bench = new WritingBench(size);
    const { writer } = bench;
    const tx = bench.transactions.begin();
    writer.insert(tx, [1, 0, 'a']);
    tx.nextCommand();
    const snapshot = tx.snapshot();
    expect(writer.update(tx, 0, 1, [1, 1, 'a'], snapshot, true)).toBe(TM_OK);
    expect(header(bench, 0, 1).infomask).toBe(HEAP_HASVARWIDTH | HEAP_COMBOCID);
    expect(writer.update(tx, 0, 1, [1, 2, 'a'], snapshot, true)).toBe(TM_SELF_MODIFIED);
    expect(writer.delete(tx, 0, 2, snapshot)).toBe(TM_INVISIBLE);
    snapshot.release();
    tx.commit();
    expectSamePages(bench, bench.crashed());
    bench.close();
  });

  it.each<[RowLockMode, number, number]>([
    ['key share', HEAP_XMAX_KEYSHR_LOCK, 0],
    ['share', HEAP_XMAX_SHR_LOCK, 0],
    ['no key update', HEAP_XMAX_EXCL_LOCK, 0],
    ['update', HEAP_XMAX_EXCL_LOCK, HEAP_KEYS_UPDATED],
  ])('locks for %s in the header, and an update carries the lock on', (mode, bits, bits2) => {
    const bench = benchWithRows(size);
    const { writer } = bench;
    bench.run((tx, snapshot) => {
      expect(writer.lock(tx, 0, 1, mode, snapshot)).toBe(TM_OK);
      const locked = { xmin: 1000, xmax: 1001, cid: 0, ctid: '(0,1)' };
      const infomask = HEAP_HASVARWIDTH | HEAP_XMAX_LOCK_ONLY | bits;
      expect(header(bench, 0, 1)).toEqual({ ...locked, infomask, infomask2: 3 | bits2 });
      expect(writer.update(tx, 0, 1, [1, 1, 'abcdefgh'], snapshot, true)).toBe(TM_OK);
    });
    expect(header(bench, 0, 1).infomask2).toBe(3 | bits2 | HEAP_HOT_UPDATED);
    const carried = HEAP_HASVARWIDTH | HEAP_UPDATED | HEAP_XMAX_KEYSHR_LOCK | HEAP_XMAX_LOCK_ONLY;
    expect(header(bench, 0, 4)).toMatchObject({ xmin: 1001, xmax: 1001, infomask: carried });
    expect(bench.committedRows()).toContainEqual([1, 1]);
    expectSamePages(bench, bench.crashed());
    bench.close();
  });

  it('keeps a second sharer in memory, and the lock of a level that a savepoint of it updated', () => {
    const bench = benchWithRows(size);
    const { writer, transactions } = bench;
    const [one, two, three] = [transactions.begin(), transactions.begin(), transactions.begin()];
    const [ofOne, ofTwo, ofThree] = [one.snapshot(), two.snapshot(), three.snapshot()];
    expect(writer.lock(one, 0, 1, 'share', ofOne)).toBe(TM_OK);
    expect(writer.lock(two, 0, 1, 'share', ofTwo)).toBe(TM_OK);
    expect(header(bench, 0, 1).xmax).toBe(one.topXid);
    const refused = (what: () => unknown, xid: number): void =>
      expect(what).toThrow(expect.objectContaining({ code: '55P03', message: expect.stringContaining(String(xid)) }));
    refused(() => writer.update(three, 0, 1, [1, 9, ''], ofThree, true), one.topXid);
    one.commit();
    refused(() => writer.delete(three, 0, 1, ofThree), two.topXid);
    two.commit();
    expect(writer.lock(three, 0, 1, 'no key update', ofThree)).toBe(TM_OK);
    const level = three.savepoint();
    expect(writer.update(three, 0, 1, [1, 1, ''], ofThree, true)).toBe(TM_OK);
    three.rollbackTo(level);
    const four = transactions.begin();
    const ofFour = four.snapshot();
    refused(() => writer.lock(four, 0, 1, 'share', ofFour), three.topXid);
    expect(writer.lock(four, 0, 1, 'key share', ofFour)).toBe(TM_OK);
    three.commit();
    expect(writer.update(four, 0, 1, [1, 5, ''], ofFour, true)).toBe(TM_OK);
    for (const snapshot of [ofOne, ofTwo, ofThree, ofFour]) snapshot.release();
    four.commit();
    expect(transactions.locks.isEmpty).toBe(true);
    expect(bench.committedRows()[0]).toEqual([1, 5]);
    expectSamePages(bench, bench.crashed());
    bench.close();
  });

  it('refuses a key-share lock of a row whose newer version its open transaction has deleted or locked', () => {
    const bench = benchWithRows(size);
    const { writer, transactions } = bench;
    for (const [after, isRefused] of [
      ['delete', true],
      ['lock', true],
      ['rolled back', false],
    ] as const) {
      const one = transactions.begin();
      const other = transactions.begin();
      const [before, ofOther] = [one.snapshot(), other.snapshot()];
      writer.update(one, 0, 2, [2, 1, ''], before, true);
      one.nextCommand();
      const snapshot = one.snapshot();
      const { block, offset } = writer;
      const level = one.savepoint();
      if (after === 'lock') writer.lock(one, block, offset, 'update', snapshot);
      else writer.delete(one, block, offset, snapshot);
      if (after === 'rolled back') one.rollbackTo(level);
      const lock = () => writer.lock(other, 0, 2, 'key share', ofOther);
      if (isRefused) {
        expect(lock).toThrow(expect.objectContaining({ code: '55P03', message: expect.stringContaining('offset') }));
        expect(transactions.locks.isEmpty).toBe(true);
      } else {
        expect(lock()).toBe(TM_OK);
      }
      for (const each of [before, snapshot, ofOther]) each.release();
      one.abort();
      other.abort();
    }
    bench.close();
  });

  it('says where a row is that was updated meanwhile, and refuses it in repeatable read', () => {
    const bench = benchWithRows(size);
    const { writer, transactions } = bench;
    const committed = transactions.begin();
    const repeatable = transactions.begin({ isolation: 'repeatable read' });
    const [first, second] = [committed.snapshot(), repeatable.snapshot()];
    bench.run((tx, snapshot) => {
      writer.update(tx, 0, 1, [1, 1, ''], snapshot, true);
      writer.delete(tx, 0, 2, snapshot);
    });
    expect(writer.update(committed, 0, 1, [1, 9, ''], first, true)).toBe(TM_UPDATED);
    expect(writer.newer).toEqual({ block: 0, offset: 4 });
    expect(writer.delete(committed, 0, 2, first)).toBe(TM_DELETED);
    const failed = (what: string) => expect.objectContaining({ code: '40001', message: expect.stringContaining(what) });
    expect(() => writer.lock(repeatable, 0, 1, 'key share', second)).toThrow(failed('block 0, offset 1'));
    expect(() => writer.delete(repeatable, 0, 2, second)).toThrow(failed('concurrent delete'));
    expect(writer.delete(committed, 0, 77, first)).toBe(TM_DELETED);
    for (const snapshot of [first, second]) snapshot.release();
    for (const tx of [committed, repeatable]) tx.abort();
    expect(bench.committedRows()).toEqual([
      [1, 1],
      [3, 0],
    ]);
    bench.close();
  });

  it('moves a row that its page has no room for, and marks the page full', () => {
    const bench = new WritingBench(size);
    const { writer, geometry } = bench;
    const half = 'x'.repeat(Math.min((geometry.maxHeapTupleSize >> 1) - 60, 2000));
    bench.run((tx) => {
      do writer.insert(tx, [1, 0, half]);
      while (writer.block === 0);
    });
    bench.run((tx, snapshot) => {
      expect(writer.update(tx, 0, 1, [1, 1, `${half}y`], snapshot, true)).toBe(TM_OK);
      expect(writer.wasHot).toBe(false);
      expect(writer.block).toBe(1);
    });
    expect(bench.pool.withPage(bench.relation.main, 0, pageFlags)).toBe(2);
    expect(bench.records().at(-1)).toMatch(/^Heap UPDATE old_xmax: 1001, old_off: 1, old_infobits: \[\], flags: 0x00/);
    expectSamePages(bench, bench.crashed());
    bench.close();
  });

  it('loads many rows with a record a page', () => {
    const bench = new WritingBench(size, { fillfactor: 70 });
    bench.run((tx) => bench.writer.insert(tx, [0, 0, 'first']));
    expect(heapMarkAllVisible(bench.relation, bench.map, 0, bench.transactions, true)).toBe(3);
    const tx = bench.transactions.begin();
    const inserter = new MultiInserter(bench.relation, COLUMNS, bench.map, tx);
    const rows = 4000;
    for (let id = 1; id <= rows; id++) inserter.appendRow([id, id & 7, 'x'.repeat(id % 31)]);
    inserter.finish();
    expect(inserter.rows).toBe(rows);
    expect(bench.committedRows()).toEqual([[0, 0]]);
    tx.commit();
    expect(bench.committedRows()).toEqual([[0, 0], ...Array.from({ length: rows }, (_, i) => [i + 1, (i + 1) & 7])]);
    expect(bench.map.status(0)).toBe(0);
    const records = bench.records().filter((line) => line.includes('MULTI_INSERT'));
    expect(records.length).toBeLessThan(bench.relation.blockCount() * 2 + 10);
    expect(records[0]).toMatch(/^Heap2 MULTI_INSERT ntuples: \d+, flags: 0x01, offsets: \[2, 3, /);
    expect(records[1]).toMatch(/^Heap2 MULTI_INSERT\+INIT ntuples: \d+, flags: 0x00$/);
    expectSamePages(bench, bench.crashed());
    bench.close();
  });

  it('refuses a row that fits no page, before anything changes', () => {
    const bench = new WritingBench(size);
    const tx = bench.transactions.begin();
    expect(() => bench.writer.insert(tx, [1, 0, noise(size)])).toThrow(expect.objectContaining({ code: '54000' }));
    expect(tx.topXid).toBe(0);
    expect(bench.relation.blockCount()).toBe(0);
    tx.abort();
    bench.close();
  });

  it.each<[string, (bench: WritingBench) => void]>([
    ['offset 3 lies too far', (bench) => bench.run((tx) => bench.writer.insert(tx, [3, 0, '']))],
    ['no tuple stands at offset 2', (bench) => bench.run((tx, view) => bench.writer.delete(tx, 0, 2, view))],
    ['no tuple stands at offset 2', (bench) => bench.run((tx, view) => bench.writer.lock(tx, 0, 2, 'share', view))],
    [
      'no tuple stands at offset 2',
      (bench) => bench.run((tx, view) => bench.writer.update(tx, 0, 2, [2, 1, ''], view, true)),
    ],
  ])('ends a replay that meets another page than it should: %s', (why, change) => {
    const bench = new WritingBench(size);
    bench.run((tx) => bench.writer.insert(tx, [1, 0, '']));
    bench.pool.flushAll();
    bench.run((tx) => bench.writer.insert(tx, [2, 0, '']));
    bench.redoFrom = bench.wal.insertedUpTo;
    change(bench);
    expect(() => bench.crashed()).toThrow(
      expect.objectContaining({
        code: 'XX001',
        message: expect.stringContaining(`block 0 of relation 1663/5/16384: ${why}`),
      }),
    );
    bench.close();
  });

  it('logs nothing of an unlogged table, and writes it all the same', () => {
    const bench = new WritingBench(size, { unlogged: true });
    const before = bench.wal.insertedUpTo;
    const tx = bench.transactions.begin();
    const snapshot = tx.snapshot();
    bench.writer.insert(tx, [1, 0, '']);
    expect(bench.wal.insertedUpTo).toBe(before);
    snapshot.release();
    tx.commit();
    expect(bench.committedRows()).toEqual([[1, 0]]);
    expect(bench.records()).toEqual([]);
    bench.close();
  });
});

describe('an update whose two versions lie on pages with their own bits in the map', () => {
  /** A row on page `first`, one on the next; both pages all-frozen; then the first row moves to the second page. */
  function moved(size: BlockSize, first: BlockNumber): WritingBench {
    const bench = new WritingBench(size, { buffers: 64 });
    const { writer, relation, map, pool, transactions, geometry } = bench;
    pool.extend(relation.main, first + 1);
    const large = geometry.maxHeapTupleSize - 48;
    bench.run((tx) => {
      writer.insert(tx, [1, 0, noise(large)]);
      writer.insert(tx, [2, 0, noise(large >> 3)]);
    });
    expect([writer.block, writer.offset]).toEqual([first + 1, 1]);
    for (const block of [first, first + 1])
      expect(heapMarkAllVisible(relation, map, block, transactions, true)).toBe(3);
    bench.checkpoint();
    bench.run((tx, snapshot) => {
      expect(writer.update(tx, first, 1, [1, 1, noise(large >> 1)], snapshot, true)).toBe(TM_OK);
    });
    expect([writer.block, writer.offset]).toEqual([first + 1, 2]);
    for (const block of [first, first + 1]) {
      expect(map.status(block)).toBe(0);
      expect(pool.withPage(relation.main, block, pageIsAllVisible)).toBe(false);
    }
    return bench;
  }

  /** The map pages in the one heap record since the checkpoint. */
  function mapPages(bench: WritingBench): number {
    bench.wal.flush(bench.wal.insertedUpTo);
    const reader = bench.reader(bench.vfs);
    const counts: number[] = [];
    while (reader.next()) {
      const { record } = reader;
      if (record.rmgr !== 10) continue;
      counts.push(Array.from(record.fork.subarray(0, record.blockCount)).filter((fork) => fork === 2).length);
    }
    reader.close();
    expect(counts).toHaveLength(1);
    return counts[0];
  }

  it.each<BlockSize>([1024, 8192])('of two map pages: both bits in one record, at %i bytes', (size) => {
    const boundary = new WritingBench(size).geometry.heapBlocksPerVmPage;
    const bench = moved(size, boundary - 1);
    expect(mapPages(bench)).toBe(2);
    expectSamePages(bench, bench.crashed(), boundary - 1);
    bench.close();
  });

  it.each(BLOCK_SIZES)('of the same map page: the page once, both bits, at %i bytes', (size) => {
    const bench = moved(size, 5);
    expect(mapPages(bench)).toBe(1);
    expectSamePages(bench, bench.crashed());
    bench.close();
  });

  it('clears the page alone where the map has nothing', () => {
    const bench = benchWithRows(1024);
    heapMarkAllVisible(bench.relation, bench.map, 0, bench.transactions, false);
    bench.map.truncate(0);
    bench.checkpoint();
    bench.run((tx, snapshot) => bench.writer.delete(tx, 0, 1, snapshot));
    expect(bench.records()).toEqual(['Heap DELETE xmax: 1001, off: 1, infobits: [KEYS_UPDATED], flags: 0x01']);
    expect(bench.pool.withPage(bench.relation.main, 0, pageIsAllVisible)).toBe(false);
    expect(bench.map.blockCount()).toBe(0);
    bench.close();
  });
});
