// Redo of records that their pages cannot have been followed by, and of records that no B-tree has written: an error that
// names the record, and where it is about a page relation and block; never a RangeError or a TypeError. And what records
// say in words.
import { isStorageError, lsnText } from '@blockwright/base';
import { BLOCK_SIZES } from '@blockwright/geometry';
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
import type { ResourceManager, WalRecord } from '@blockwright/wal';
import { describe, expect, it } from 'vitest';
import { btreeRecords } from '../src/records.ts';
import { btreeResourceManager } from '../src/redo.ts';
import { history, KINDS } from './history.ts';
import { type IndexBench, Replayed } from './vacuum-bench.ts';

/** Redo, one record at a time, whose pages can be put back to what they were. */
class StepwiseRedo {
  readonly replayed: Replayed;
  /** Errors that were thrown, by their text. */
  readonly refused: string[] = [];
  readonly manager: ResourceManager;

  constructor(bench: IndexBench) {
    this.replayed = new Replayed(bench, bench.history[0].end - 1);
    this.manager = btreeResourceManager(this.replayed.pages);
  }

  /** Applies a record that may be refused, but not otherwise than with a StorageError that says of what. */
  attempt(record: WalRecord, what: string): void {
    const { pool, pages } = this.replayed;
    try {
      this.manager.redo(record);
    } catch (error) {
      const told = `${what}: ${String((error as Error).stack)}`;
      if (!isStorageError(error) || error.code !== 'XX001') expect(told).toBe('a StorageError XX001');
      const { message } = error as Error;
      if (!message.includes(`the WAL record at ${lsnText(record.lsn)} cannot be replayed`)) expect(told).toBe('named');
      this.refused.push(message);
    }
    if (pool.pinned().length > 0) pages.release(pages.buffer);
    if (pool.pinned().length > 0) expect(pool.pinned(), what).toEqual([]);
  }

  save(): Uint8Array[] {
    const pages: Uint8Array[] = [];
    this.eachPage((m, base, size) => pages.push(m.u8.slice(base, base + size)));
    return pages;
  }

  restore(pages: readonly Uint8Array[]): void {
    let i = 0;
    this.eachPage((m, base, size) => {
      const page = pages[i++];
      if (page === undefined) m.u8.fill(0, base, base + size);
      else m.u8.set(page, base);
    });
  }

  eachPage(look: (m: PageMemory, base: number, size: number) => void): void {
    const { pool, index } = this.replayed;
    const { size } = index.geometry;
    for (let block = 0; block < index.main.blockCount(); block++) {
      pool.withPage(index.main, block, (m, base) => look(m, base, size));
    }
  }
}

/** The first `most` records of each kind, after those before them. */
function someRecords(
  bench: IndexBench,
  most: number,
  look: (redo: StepwiseRedo, record: WalRecord, name: string) => void,
): void {
  const redo = new StepwiseRedo(bench);
  const seen = new Map<number, number>();
  bench.everyRecord((record) => {
    const count = seen.get(record.info) ?? 0;
    seen.set(record.info, count + 1);
    if (count < most) {
      const before = redo.save();
      look(redo, record, `${btreeRecords.identify(record.info)} ${btreeRecords.describe(record)}`);
      redo.restore(before);
    }
    redo.manager.redo(record);
  });
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
    ['no line pointers', (m, base, size) => (pageSetLower(m, base, 24), pageSetUpper(m, base, size - 16))],
    ['no room', (m, base) => pageSetUpper(m, base, 24 + (pageMaxOffset(m, base) << 2))],
    ['bounds that cross', (m, base) => pageSetUpper(m, base, 8)],
    ['bounds past the end', (m, base) => (pageSetLower(m, base, 65532), pageSetUpper(m, base, 65528))],
    ['no special space', (m, base, size) => (m.u16[(base + 16) >>> 1] = size)],
    ['dead line pointers', (m, base) => everyLine(m, base, LP_DEAD << 15)],
    ['unused line pointers', (m, base) => everyLine(m, base, 0)],
    ['items past the end', (m, base, size) => everyLine(m, base, makeLinePointer(size - 8, LP_NORMAL, 60))],
    ['items without a header', (m, base, size) => everyLine(m, base, makeLinePointer(size - 24, LP_NORMAL, 4))],
    ['items that overlap', (m, base, size) => everyLine(m, base, makeLinePointer(size - 64, LP_NORMAL, 48))],
    ['bytes of 255', (m, base, size) => m.u8.fill(255, base + 512, base + size - 16)],
  ];

function everyLine(m: PageMemory, base: number, lp: number): void {
  for (let o = 1; o <= pageMaxOffset(m, base); o++) setLinePointer(m, base, o, lp);
}

describe.each(BLOCK_SIZES)('redo at %i-byte blocks', (size) => {
  it('refuses records of other pages, by relation, block and LSN', () => {
    const bench = history(size);
    const kinds = new Set<string>();
    const refused: string[] = [];
    someRecords(bench, size === 1024 ? 3 : 1, (redo, record, name) => {
      kinds.add(name.split(' ')[0]);
      const before = redo.save();
      for (const [damage, apply] of PAGE_DAMAGES) {
        redo.eachPage((m, base) => {
          m.u8.fill(0, base, base + 8); // as old as can be
          if (m.u8.subarray(base, base + size).some((byte) => byte !== 0)) apply(m, base, size);
        });
        redo.attempt(record, `${name}, on a page with ${damage}`);
        redo.restore(before);
      }
      // And twice: the LSN is put back, the change is not.
      redo.attempt(record, name);
      redo.eachPage((m, base) => m.u8.fill(0, base, base + 8));
      redo.attempt(record, `${name}, for the second time`);
      refused.push(...redo.refused.splice(0));
    });
    expect([...kinds].sort()).toEqual(KINDS);
    for (const why of ['header are damaged', 'special space', 'no room', 'no tuple stands', 'is to go']) {
      expect(refused.join('\n')).toContain(why);
    }
    for (const message of refused)
      if (!/block \d+ of relation 1663\/5\/16385: /.test(message)) expect(message).toBe('');
    bench.close();
  });
});

describe.each([1024] as const)('records that no B-tree has written, at %i-byte blocks', (size) => {
  it('are refused, and nothing else happens', () => {
    const bench = history(size);
    let refused = 0;
    someRecords(bench, 1, (redo, record, name) => {
      const before = redo.save();
      const attempt = (what: string): void => {
        redo.attempt(record, `${name}, ${what}`);
        btreeRecords.describe(record);
        redo.restore(before);
      };
      const { info, blockCount, dataLength } = record;
      for (let bits = 0; bits < 256; bits += 16) {
        record.info = bits;
        attempt(`info 0x${bits.toString(16)}`);
      }
      record.info = info;
      for (record.blockCount = 0; record.blockCount < blockCount; record.blockCount++) attempt('fewer blocks');
      for (record.dataLength = 0; record.dataLength < dataLength; record.dataLength++) attempt('less data');
      const places = [[record.dataAt, dataLength]];
      for (let i = 0; i < blockCount; i++) {
        for (const fork of [1, 2, 3]) changed(record.fork, i, fork, () => attempt(`fork ${fork}`));
        changed(record.block, i, record.block[i] + 1, () => attempt('another block'));
        const bytes = Math.min(record.blockDataLength[i], 40);
        for (let n = 0; n < bytes; n++) changed(record.blockDataLength, i, n, () => attempt(`${n} bytes for a block`));
        places.push([record.blockDataAt[i], Math.min(record.blockDataLength[i], 32)]);
      }
      for (const [from, length] of places) {
        for (let at = from; at < from + length; at++) {
          for (const value of [0, 1, 127, 255])
            changed(record.bytes, at, value, () => attempt(`byte ${at - from} ${value}`));
        }
      }
      refused += redo.refused.splice(0).length;
    });
    expect(refused).toBeGreaterThan(500);
    bench.close();
  });
});

it('says what records do as pg_waldump does', () => {
  const bench = history(1024);
  const lines = new Map<string, string>();
  bench.everyRecord((record) => {
    lines.set(btreeRecords.identify(record.info), btreeRecords.describe(record));
  });
  const patterns: Readonly<Record<string, RegExp>> = {
    DEDUP: /^nintervals: \d+$/,
    DELETE:
      /^snapshotConflictHorizon: 0, ndeleted: \d+, nupdated: \d+, isCatalogRel: F, deleted: \[(\d+(, \d+)*)?\], updated: \[.*\]$/,
    INSERT_LEAF: /^off: \d+$/,
    INSERT_META: /^off: \d+$/,
    INSERT_POST: /^off: \d+$/,
    INSERT_UPPER: /^off: \d+$/,
    MARK_PAGE_HALFDEAD: /^topparent: \d+, leaf: \d+, left: \d+, right: \d+$/,
    META_CLEANUP: /^last_cleanup_num_delpages: \d+$/,
    NEWROOT: /^level: \d+$/,
    SPLIT_L: /^level: 0, firstrightoff: \d+, newitemoff: \d+, postingoff: \d+$/,
    SPLIT_R: /^level: 0, firstrightoff: \d+, newitemoff: \d+, postingoff: \d+$/,
    UNLINK_PAGE:
      /^left: \d+, right: \d+, level: \d+, safexid: 0:100\d, leafleft: \d+, leafright: \d+, leaftopparent: \d+$/,
    UNLINK_PAGE_META:
      /^left: 0, right: \d+, level: \d+, safexid: 0:100\d, leafleft: \d+, leafright: \d+, leaftopparent: \d+$/,
    VACUUM: /^ndeleted: \d+, nupdated: \d+, deleted: \[(\d+(, \d+)*)?\], updated: \[.*\]$/,
  };
  for (const [kind, pattern] of Object.entries(patterns)) expect(lines.get(kind), kind).toMatch(pattern);
  const updates = bench.everyRecord((record) => btreeRecords.describe(record)).join('\n');
  expect(updates).toMatch(/updated: \[\{ off: \d+, nptids: \d+, ptids: \[\d+(, \d+)*\] \}/);
  expect(btreeRecords.identify(0xf0)).toBe('UNKNOWN (f0)');
  expect(btreeRecords.identify(0xd0)).toBe('REUSE_PAGE');
  bench.close();
});
