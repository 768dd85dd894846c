// Redo of records that their pages cannot have been followed by, and of records that no heap has written: an error that
// names the record, and where it is about a page relation and block; never a RangeError or a TypeError.
import { isStorageError, lsnText } from '@blockwright/base';
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import {
  LP_DEAD,
  LP_NORMAL,
  makeLinePointer,
  type PageMemory,
  pageMaxOffset,
  pageSetLower,
  pageSetUpper,
  setLinePointer,
} from '@blockwright/page';
import type { WalRecord } from '@blockwright/wal';
import { describe, expect, it } from 'vitest';
import { heapMarkAllVisible, heapPrunePage, heapRecords, heapResourceManagers, MultiInserter } from '../src/index.ts';
import { COLUMNS, copyOf, Replayed, WritingBench } from './writing-bench.ts';

/** A text that does not get shorter by compressing it. */
function noise(length: number): string {
  let state = 1;
  return Array.from({ length }, () => {
    state = Math.imul(state, 1103515245) + 12345;
    return String.fromCharCode(40 + ((state >>> 16) & 63));
  }).join('');
}

/** A heap whose WAL has a record of every kind, and of pages that changed before: next to no images. */
function written(size: BlockSize): WritingBench {
  const bench = new WritingBench(size);
  const { writer, relation, map, transactions, pool } = bench;
  const prune = (freeze: boolean): void => {
    const id = pool.pin(relation.main, 0);
    heapPrunePage(relation, id, transactions, { freeze });
    pool.unpin(id);
  };
  bench.run((tx) => {
    for (let id = 1; id <= 4; id++) writer.insert(tx, [id, 0, 'x'.repeat(40)]);
    const inserter = new MultiInserter(relation, COLUMNS, map, tx);
    for (let id = 5; id <= 7; id++) inserter.appendRow([id, 0, 'y'.repeat(id)]);
    inserter.finish();
  });
  let at = 1;
  for (let n = 1; n <= 3; n++) {
    bench.run((tx, snapshot) => writer.update(tx, 0, at, [1, n, 'x'.repeat(40)], snapshot, true));
    at = writer.offset;
  }
  bench.run((tx, snapshot) => writer.delete(tx, 0, 2, snapshot));
  bench.run((tx, snapshot) => writer.lock(tx, 0, 3, 'share', snapshot));
  prune(false);
  bench.run((tx, snapshot) => writer.update(tx, 0, 4, [4, 1, noise((size >> 1) - 40)], snapshot, true));
  bench.run((tx, snapshot) => writer.update(tx, 0, 3, [3, 2, noise((size >> 1) - 40)], snapshot, true));
  prune(true);
  // A row that is too large to stay on its page.
  bench.run((tx, snapshot) => writer.update(tx, 0, 6, [6, 1, noise((size >> 1) - 40)], snapshot, true));
  heapMarkAllVisible(relation, map, 1, transactions, true);
  bench.run((tx, snapshot) => writer.delete(tx, 1, 1, snapshot));
  return bench;
}

/** Redo, one record at a time, whose pages can be put back to what they were. */
class StepwiseRedo {
  readonly replayed: Replayed;
  /** Errors that were thrown, by their text. */
  readonly refused: string[] = [];
  private readonly managers;

  constructor(bench: WritingBench) {
    this.replayed = new Replayed(copyOf(bench.vfs), bench.geometry, bench.wal.insertedUpTo, {});
    this.managers = heapResourceManagers(this.replayed.pages);
  }

  apply(record: WalRecord): void {
    this.managers.find(({ id }) => id === record.rmgr)?.redo(record);
  }

  /** Applies a record that may be refused, but not otherwise than with a StorageError that says of what. */
  attempt(record: WalRecord, what: string): void {
    const { pool, pages } = this.replayed;
    try {
      this.apply(record);
    } catch (error) {
      const told = `${what}: ${String((error as Error).stack)}`;
      expect(isStorageError(error), told).toBe(true);
      expect(error, told).toMatchObject({ code: 'XX001' });
      expect((error as Error).message, told).toContain(`the WAL record at ${lsnText(record.lsn)} cannot be replayed`);
      this.refused.push((error as Error).message);
    }
    if (pool.pinned().length > 0) pages.release(pages.buffer);
    expect(pool.pinned(), what).toEqual([]);
  }

  /** The pages, one after the other. */
  save(): Uint8Array[] {
    const pages: Uint8Array[] = [];
    this.eachPage((m, base) => pages.push(m.u8.slice(base, base + this.replayed.pool.geometry.size)));
    return pages;
  }

  restore(pages: readonly Uint8Array[]): void {
    let i = 0;
    this.eachPage((m, base) => {
      const page = pages[i++];
      if (page === undefined) m.u8.fill(0, base, base + this.replayed.pool.geometry.size);
      else m.u8.set(page, base);
    });
  }

  eachPage(look: (m: PageMemory, base: number, isHeap: boolean) => void): void {
    const { pool, relation } = this.replayed;
    for (const fork of [relation.main, relation.vm]) {
      const blocks = fork.exists() ? fork.blockCount() : 0;
      for (let block = 0; block < blocks; block++) {
        pool.withPage(fork, block, (m, base) => look(m, base, fork === relation.main));
      }
    }
  }
}

/** Each heap record of the WAL, after those before it. */
function eachRecord(bench: WritingBench, look: (redo: StepwiseRedo, record: WalRecord, name: string) => void): void {
  bench.wal.flush(bench.wal.insertedUpTo);
  const redo = new StepwiseRedo(bench);
  const reader = bench.reader(bench.vfs);
  const { record } = reader;
  while (reader.next()) {
    const kind = heapRecords.find(({ id }) => id === record.rmgr);
    if (kind === undefined) continue;
    const before = redo.save();
    look(redo, record, `${kind.name} ${kind.identify(record.info)} ${kind.describe(record)}`);
    redo.restore(before);
    redo.apply(record);
  }
  reader.close();
}

/** Changes a field for the time of `then`. */
function changed(array: { [index: number]: number }, index: number, value: number, then: () => void): void {
  const was = array[index] as number;
  array[index] = value;
  then();
  array[index] = was;
}

/** How a page can be other than the record's. */
const PAGE_DAMAGES: readonly (readonly [name: string, damage: (m: PageMemory, base: number, size: number) => void])[] =
  [
    ['no line pointers', (m, base, size) => (pageSetLower(m, base, 24), pageSetUpper(m, base, size))],
    ['no room', (m, base) => pageSetUpper(m, base, 24 + (pageMaxOffset(m, base) << 2))],
    ['bounds that cross', (m, base) => pageSetUpper(m, base, 8)],
    ['bounds past the end', (m, base) => (pageSetLower(m, base, 65532), pageSetUpper(m, base, 65528))],
    ['dead line pointers', (m, base) => everyLine(m, base, LP_DEAD << 15)],
    ['unused line pointers', (m, base) => everyLine(m, base, 0)],
    ['items past the end', (m, base, size) => everyLine(m, base, makeLinePointer(size - 8, LP_NORMAL, 60))],
    ['items without a header', (m, base, size) => everyLine(m, base, makeLinePointer(size - 8, LP_NORMAL, 8))],
    ['items that overlap', (m, base, size) => everyLine(m, base, makeLinePointer(size - 64, LP_NORMAL, 64))],
  ];

function everyLine(m: PageMemory, base: number, lp: number): void {
  for (let o = 1; o <= pageMaxOffset(m, base); o++) setLinePointer(m, base, o, lp);
}

describe.each(BLOCK_SIZES)('redo at %i-byte blocks', (size) => {
  it('refuses records of other pages, by relation, block and LSN', () => {
    const bench = written(size);
    const kinds = new Set<string>();
    const refused: string[] = [];
    eachRecord(bench, (redo, record, name) => {
      kinds.add(name.split(' ').slice(0, 2).join(' '));
      const before = redo.save();
      for (const [damage, apply] of PAGE_DAMAGES) {
        redo.eachPage((m, base, isHeap) => isHeap && apply(m, base, size));
        redo.attempt(record, `${name}, on a page with ${damage}`);
        redo.restore(before);
      }
      // And twice: the LSN is put back, the change is not.
      redo.attempt(record, name);
      redo.eachPage((m, base) => m.u8.fill(0, base, base + 8));
      redo.attempt(record, `${name}, for the second time`);
      refused.push(...redo.refused.splice(0));
    });
    expect([...kinds].sort()).toEqual([
      'Heap DELETE',
      'Heap HOT_UPDATE',
      'Heap INSERT',
      'Heap INSERT+INIT',
      'Heap LOCK',
      'Heap UPDATE+INIT',
      'Heap2 MULTI_INSERT',
      'Heap2 PRUNE_ON_ACCESS',
      'Heap2 PRUNE_VACUUM_SCAN',
      'Heap2 VISIBLE',
    ]);
    for (const why of ['is in use', 'no tuple stands', 'there is no room', 'header are damaged', 'lies too far']) {
      expect(refused.join('\n')).toContain(why);
    }
    for (const message of refused) expect(message).toMatch(/: block \d+ of relation 1663\/5\/16384: /);
    bench.close();
  });

  it('leaves out any record but one, and refuses what then does not fit', () => {
    const bench = written(size);
    const count = bench.records().length;
    const refused: string[] = [];
    for (let left = 0; left < count; left++) {
      const redo = new StepwiseRedo(bench);
      const reader = bench.reader(bench.vfs);
      let number = 0;
      while (reader.next()) {
        const isHeap = heapRecords.some(({ id }) => id === reader.record.rmgr);
        if (isHeap && number++ !== left) redo.attempt(reader.record, `record ${number}, without record ${left + 1}`);
      }
      reader.close();
      refused.push(...redo.refused);
    }
    expect(refused.length).toBeGreaterThan(count / 2);
    bench.close();
  });

  it('refuses records that no heap has written', () => {
    const bench = written(size);
    let refused = 0;
    eachRecord(bench, (redo, record, name) => {
      const before = redo.save();
      const attempt = (what: string): void => {
        redo.attempt(record, `${name}, ${what}`);
        redo.restore(before);
      };
      const info = record.info;
      for (let bits = 0; bits < 256; bits += 16) {
        record.info = bits;
        attempt(`info 0x${bits.toString(16)}`);
      }
      record.info = info;
      const { blockCount, dataLength } = record;
      for (record.blockCount = 0; record.blockCount < blockCount; record.blockCount++) attempt('fewer blocks');
      for (record.dataLength = 0; record.dataLength < dataLength; record.dataLength++) attempt('less data');
      for (let i = 0; i < blockCount; i++) {
        for (let fork = 0; fork < 4; fork++) changed(record.fork, i, fork, () => attempt(`fork ${fork}`));
        changed(record.block, i, record.block[i] + 1, () => attempt('another block'));
        const bytes = Math.min(record.blockDataLength[i], 100);
        for (let n = 0; n < bytes; n++) changed(record.blockDataLength, i, n, () => attempt(`${n} bytes for a block`));
      }
      const places = [[record.dataAt, dataLength]];
      for (let i = 0; i < blockCount; i++)
        places.push([record.blockDataAt[i], Math.min(record.blockDataLength[i], 60)]);
      for (const [from, length] of places) {
        for (let at = from; at < from + length; at++) {
          for (const value of [0, 1, 127, 255])
            changed(record.bytes, at, value, () => attempt(`byte ${at - from} ${value}`));
        }
      }
      refused += redo.refused.splice(0).length;
    });
    expect(refused).toBeGreaterThan(100);
    bench.close();
  });
});
