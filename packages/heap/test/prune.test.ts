// What pruning and freezing leave of chains of every kind, what their records say, and that replay comes to the same.
import { RedoStats } from '@blockwright/access';
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import {
  LP_DEAD,
  LP_NORMAL,
  LP_REDIRECT,
  linePointer,
  lpFlags,
  lpOffset,
  pageFlags,
  pageMaxOffset,
  pagePruneXid,
  setLinePointer,
} from '@blockwright/page';
import type { Transaction } from '@blockwright/transam';
import { isXminFrozen, tupleInfomask, tupleXmax } from '@blockwright/tuple';
import { describe, expect, it } from 'vitest';
import { heapHotSearch, heapMarkAllVisible, heapPagePruneOpt, heapPrunePage, TM_OK } from '../src/index.ts';
import { copyOf, expectSamePages, Replayed, WritingBench } from './writing-bench.ts';

/** Line pointers in words: `1>4` a redirect, `2!` dead, `3` a tuple, `4-` unused. */
function items(bench: WritingBench, block = 0): string {
  return bench.pool.withPage(bench.relation.main, block, (m, base) => {
    const words: string[] = [];
    for (let o = 1; o <= pageMaxOffset(m, base); o++) {
      const lp = linePointer(m, base, o);
      const flags = lpFlags(lp);
      if (flags === LP_REDIRECT) words.push(`${o}>${lpOffset(lp)}`);
      else words.push(flags === LP_NORMAL ? `${o}` : flags === LP_DEAD ? `${o}!` : `${o}-`);
    }
    return words.join(' ');
  });
}

function prune(bench: WritingBench, freeze = false): void {
  const { pool, relation, transactions } = bench;
  const id = pool.pin(relation.main, 0);
  heapPrunePage(relation, id, transactions, { freeze });
  pool.unpin(id);
}

function lastRecord(bench: WritingBench): string {
  return bench.records().at(-1) as string;
}

/** Updates the row at `offset` in a transaction of its own. @returns where its new version is */
function update(bench: WritingBench, offset: number, n: number, end: 'commit' | 'abort' = 'commit'): number {
  const tx = bench.transactions.begin();
  const snapshot = tx.snapshot();
  expect(bench.writer.update(tx, 0, offset, [1, n, ''], snapshot, true)).toBe(TM_OK);
  snapshot.release();
  tx[end]();
  return bench.writer.offset;
}

function rows(bench: WritingBench, count: number): void {
  bench.run((tx: Transaction) => {
    for (let id = 1; id <= count; id++) bench.writer.insert(tx, [id, 0, '']);
  });
}

function finish(bench: WritingBench): void {
  expectSamePages(bench, bench.crashed());
  bench.close();
}

describe.each(BLOCK_SIZES)('pruning at %i-byte blocks', (size: BlockSize) => {
  it('redirects a root to the version that is left, and frees those between', () => {
    const bench = new WritingBench(size);
    rows(bench, 2);
    let offset = 1;
    for (let n = 1; n <= 3; n++) offset = update(bench, offset, n);
    expect(items(bench)).toBe('1 2 3 4 5');
    prune(bench);
    expect(items(bench)).toBe('1>5 2 3- 4- 5');
    expect(lastRecord(bench)).toBe(
      'Heap2 PRUNE_ON_ACCESS snapshotConflictHorizon: 1003, isCatalogRel: F, nplans: 0, nredirected: 1, ndead: 0, nunused: 2, redirected: [1->5], unused: [3, 4]',
    );
    bench.pool.withPage(bench.relation.main, 0, (m, base) => expect(pagePruneXid(m, base)).toBe(0));
    offset = update(bench, 5, 4);
    expect(offset).toBe(3);
    prune(bench);
    expect(items(bench)).toBe('1>3 2 3');
    finish(bench);
  });

  it('leaves a dead line pointer of a row that is gone, and nothing of an insertion that was rolled back', () => {
    const bench = new WritingBench(size);
    rows(bench, 2);
    const next = update(bench, 1, 1);
    bench.run((tx, snapshot) => bench.writer.delete(tx, 0, next, snapshot));
    prune(bench);
    expect(items(bench)).toBe('1! 2');
    expect(lastRecord(bench)).toContain('ndead: 1, nunused: 1, dead: [1], unused: [3]');
    const tx = bench.transactions.begin();
    bench.writer.insert(tx, [7, 0, '']);
    tx.abort();
    prune(bench);
    expect(items(bench)).toBe('1! 2 3!');
    finish(bench);
  });

  it('frees the version of an update that was rolled back, and does not follow it when another takes its place', () => {
    const bench = new WritingBench(size);
    rows(bench, 2);
    expect(update(bench, 1, 9, 'abort')).toBe(3);
    prune(bench);
    expect(items(bench)).toBe('1 2');
    expect(update(bench, 2, 9)).toBe(3);
    const snapshot = bench.transactions.snapshot();
    expect(heapHotSearch(bench.relation, 0, 1, snapshot)).toBe(1);
    expect(heapHotSearch(bench.relation, 0, 2, snapshot)).toBe(3);
    snapshot.release();
    prune(bench);
    expect(items(bench)).toBe('1 2>3 3');
    expect(bench.committedRows()).toEqual([
      [1, 0],
      [1, 9],
    ]);
    finish(bench);
  });

  it('removes nothing that a snapshot can see, and notes when it is worth coming back', () => {
    const bench = new WritingBench(size);
    rows(bench, 1);
    const reader = bench.transactions.begin({ isolation: 'repeatable read' });
    const snapshot = reader.snapshot();
    update(bench, 1, 1);
    update(bench, 2, 2);
    prune(bench);
    expect(items(bench)).toBe('1 2 3');
    bench.pool.withPage(bench.relation.main, 0, (m, base) => expect(pagePruneXid(m, base)).toBe(1001));
    expect(bench.rows(snapshot)).toEqual([[1, 0]]);
    snapshot.release();
    reader.commit();
    prune(bench);
    expect(items(bench)).toBe('1>3 2- 3');
    finish(bench);
  });

  it('does so on access only when the page is fuller than its fillfactor asks, or marked full', () => {
    const bench = new WritingBench(size, { fillfactor: 50 });
    rows(bench, 1);
    update(bench, 1, 1);
    const visit = (): void => {
      const id = bench.pool.pin(bench.relation.main, 0);
      heapPagePruneOpt(bench.relation, id, bench.transactions);
      bench.pool.unpin(id);
    };
    visit();
    expect(items(bench)).toBe('1 2');
    bench.run((tx) => {
      do bench.writer.insert(tx, [2, 0, 'x'.repeat(size >> 4)]);
      while (bench.writer.block === 0);
    });
    // What the inserts left is what the fillfactor keeps free: one more version makes the page fuller than that.
    const tx = bench.transactions.begin();
    const snapshot = tx.snapshot();
    bench.writer.update(tx, 0, 3, [2, 1, 'x'.repeat(size >> 4)], snapshot, true);
    snapshot.release();
    const held = bench.pool.pin(bench.relation.main, 0);
    visit();
    expect(items(bench).startsWith('1 2 ')).toBe(true);
    bench.pool.unpin(held);
    visit();
    expect(items(bench).startsWith('1>2 2 ')).toBe(true);
    tx.commit();
    finish(bench);
  });

  it('is tried by an update that finds no room before it leaves the page', () => {
    const bench = new WritingBench(size);
    const half = 'x'.repeat(Math.min((bench.geometry.maxHeapTupleSize >> 2) - 40, 1900));
    bench.run((tx) => {
      do bench.writer.insert(tx, [1, 0, half]);
      while (bench.writer.block === 0);
    });
    bench.run((tx, snapshot) => bench.writer.delete(tx, 0, 2, snapshot));
    bench.run((tx, snapshot) => {
      expect(bench.writer.update(tx, 0, 1, [1, 1, half], snapshot, true)).toBe(TM_OK);
    });
    expect([bench.writer.block, bench.writer.wasHot]).toEqual([0, true]);
    expect(items(bench)).toMatch(/^1 2! 3/);
    finish(bench);
  });

  it.each(['sort', 'workspace', 'adaptive'] as const)('is replayed to the same bytes by "%s", and counted', (how) => {
    const bench = new WritingBench(size, { compaction: how });
    rows(bench, 4);
    for (let n = 0; n < 40; n++) {
      const root = 1 + (n % 4);
      const snapshot = bench.transactions.snapshot();
      const offset = heapHotSearch(bench.relation, 0, root, snapshot);
      snapshot.release();
      update(bench, offset, n);
      if (n % 5 === 0) prune(bench);
    }
    const stats = new RedoStats();
    stats.timing = true;
    const replayed = bench.crashed({ compaction: how, stats });
    expectSamePages(bench, replayed);
    expect(stats.compactions).toBeGreaterThanOrEqual(8);
    expect(stats.compactionMs).toBeGreaterThan(0);
    // Again, over pages that have it all: nothing changes.
    replayed.redo(copyOf(bench.vfs), bench.redoFrom);
    expectSamePages(bench, replayed);
    bench.close();
  });

  it('ends with an error, and changes nothing, on a damaged page', () => {
    const bench = new WritingBench(size);
    rows(bench, 2);
    update(bench, 1, 1);
    const id = bench.pool.pin(bench.relation.main, 0);
    const m = bench.pool.memory(id);
    const base = bench.pool.base(id);
    const good = linePointer(m, base, 2);
    setLinePointer(m, base, 2, good | 7);
    const before = m.u8.slice(base, base + size);
    expect(() => heapPrunePage(bench.relation, id, bench.transactions)).toThrow(
      expect.objectContaining({ code: 'XX001', message: expect.stringContaining('block 0, offset 2') }),
    );
    // Hint bits apart, which are true on their own.
    m.u8.subarray(base, base + size).forEach((byte, i) => {
      if (i > base + pageMaxOffset(m, base) * 4 + 24) return;
      expect(byte).toBe(before[i]);
    });
    setLinePointer(m, base, 2, good);
    bench.pool.unpin(id);
    prune(bench);
    expect(items(bench)).toBe('1>3 2 3');
    finish(bench);
  });
});

describe.each(BLOCK_SIZES)('freezing at %i-byte blocks', (size: BlockSize) => {
  it('leaves the one visible row of a chain of updates the one, locked in between', () => {
    const bench = new WritingBench(size);
    rows(bench, 1);
    let offset = 1;
    for (let n = 1; n <= 5; n++) {
      bench.run((tx, snapshot) => bench.writer.lock(tx, 0, offset, n % 2 === 0 ? 'key share' : 'update', snapshot));
      offset = update(bench, offset, n);
    }
    expect(heapMarkAllVisible(bench.relation, bench.map, 0, bench.transactions, true)).toBe(3);
    expect(bench.committedRows()).toEqual([[1, 5]]);
    expect(items(bench)).toMatch(/^1>6 (\d- )*6$/);
    bench.pool.withPage(bench.relation.main, 0, (m, base) => {
      const pos = base + lpOffset(linePointer(m, base, 6));
      expect(isXminFrozen(tupleInfomask(m, pos))).toBe(true);
      expect(tupleXmax(m, pos)).toBe(0);
      expect(pageFlags(m, base) & 4).toBe(4);
    });
    finish(bench);
  });

  it('groups equal plans in its record, and drops an update that was rolled back', () => {
    const bench = new WritingBench(size);
    rows(bench, 3);
    update(bench, 2, 9, 'abort');
    bench.run((tx, snapshot) => bench.writer.lock(tx, 0, 3, 'share', snapshot));
    expect(heapMarkAllVisible(bench.relation, bench.map, 0, bench.transactions, true)).toBe(3);
    const [freeze, visible] = bench.records().slice(-2);
    expect(freeze).toBe(
      'Heap2 PRUNE_VACUUM_SCAN snapshotConflictHorizon: 1000, isCatalogRel: F, nplans: 1, nredirected: 0, ndead: 0, nunused: 1, plans: [{ xmax: 0, infomask: 2818, infomask2: 3, ntuples: 3, offsets: [1, 2, 3] }], unused: [4]',
    );
    expect(visible).toBe('Heap2 VISIBLE snapshotConflictHorizon: 0, flags: 0x03');
    expect(heapMarkAllVisible(bench.relation, bench.map, 0, bench.transactions, true)).toBe(3);
    expect(bench.records().at(-1)).toBe(visible);
    finish(bench);
  });

  it('calls a page all-visible and not all-frozen while a live transaction locks a row', () => {
    const bench = new WritingBench(size);
    rows(bench, 2);
    const tx = bench.transactions.begin();
    const snapshot = tx.snapshot();
    expect(bench.writer.lock(tx, 0, 1, 'update', snapshot)).toBe(TM_OK);
    snapshot.release();
    const mark = (freeze: boolean): number =>
      heapMarkAllVisible(bench.relation, bench.map, 0, bench.transactions, freeze);
    expect(mark(true)).toBe(1);
    tx.commit();
    expect(mark(false)).toBe(1);
    expect(mark(true)).toBe(3);
    // A lock on a frozen page takes the frozen bit, and leaves the other.
    bench.run((other, view) => bench.writer.lock(other, 0, 2, 'share', view));
    expect(bench.map.status(0)).toBe(1);
    expect(lastRecord(bench)).toMatch(/^Heap LOCK .* flags: 0x01$/);
    finish(bench);
  });

  it('marks nothing that somebody does not see yet, or sees still', () => {
    const bench = new WritingBench(size);
    rows(bench, 1);
    const reader = bench.transactions.begin({ isolation: 'repeatable read' });
    const snapshot = reader.snapshot();
    bench.run((tx) => bench.writer.insert(tx, [2, 0, '']));
    expect(heapMarkAllVisible(bench.relation, bench.map, 0, bench.transactions, true)).toBe(0);
    snapshot.release();
    reader.commit();
    expect(heapMarkAllVisible(bench.relation, bench.map, 0, bench.transactions, true)).toBe(3);
    bench.run((tx, view) => bench.writer.delete(tx, 0, 1, view));
    expect(bench.map.status(0)).toBe(0);
    expect(heapMarkAllVisible(bench.relation, bench.map, 0, bench.transactions, true)).toBe(0);
    expect(items(bench)).toBe('1! 2');
    finish(bench);
  });

  it('is replayed from a checkpoint after it, or before, or in between: the LSNs are those of before', () => {
    for (let when = 0; when < 4; when++) {
      const bench = new WritingBench(size);
      const at = (moment: number): void => {
        if (moment === when) bench.checkpoint();
      };
      at(0);
      rows(bench, 3);
      at(1);
      heapMarkAllVisible(bench.relation, bench.map, 0, bench.transactions, false);
      at(2);
      bench.run((tx) => bench.writer.insert(tx, [4, 0, '']));
      at(3);
      finish(bench);
      const replayed = new Replayed(copyOf(bench.vfs), bench.geometry, bench.redoFrom, {});
      expect(replayed.pool.withPage(replayed.relation.main, 0, pageMaxOffset)).toBe(4);
    }
  });
});
