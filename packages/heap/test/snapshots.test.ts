// Random interleaved histories: what every snapshot that is held sees, however much was written, rolled back and pruned
// since, is what it saw when it was taken. By scan, count, fetch and HOT chain, beside a plain model.
import { isStorageError } from '@blockwright/base';
import { BLOCK_SIZES } from '@blockwright/geometry';
import { LP_NORMAL, LP_REDIRECT, linePointer, lpFlags, lpOffset, pageMaxOffset } from '@blockwright/page';
import type { Snapshot, Transaction } from '@blockwright/transam';
import { isHeapOnly, RowDecoder, tupleInfomask2 } from '@blockwright/tuple';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { HeapScan, heapCount, heapFetch, heapHotSearch, TM_OK } from '../src/index.ts';
import { COLUMNS, WritingBench } from './writing-bench.ts';

type Rows = ReadonlyMap<number, number>;

/** An open transaction and what it has written: one map a savepoint, `undefined` for a row that it deleted. */
interface Writer {
  readonly transaction: Transaction;
  readonly levels: Map<number, number | undefined>[];
}

interface Held {
  readonly snapshot: Snapshot;
  readonly rows: Rows;
  readonly of: Writer | undefined;
}

/** The engine, and the model beside it. */
class History {
  readonly bench: WritingBench;
  readonly writers: Writer[] = [];
  readonly held: Held[] = [];
  conflicts = 0;
  private committed = new Map<number, number>();
  private nextId = 1;
  private nextValue = 1;

  constructor(size: (typeof BLOCK_SIZES)[number], nextXid: number) {
    this.bench = new WritingBench(size, { fillfactor: 60, nextXid });
  }

  begin(): void {
    if (this.writers.length < 4) {
      this.writers.push({ transaction: this.bench.transactions.begin(), levels: [new Map()] });
    }
  }

  private view(of: Writer | undefined): Map<number, number> {
    const rows = new Map(this.committed);
    for (const level of of?.levels ?? []) {
      for (const [id, n] of level) {
        if (n === undefined) rows.delete(id);
        else rows.set(id, n);
      }
    }
    return rows;
  }

  /** Takes a snapshot, a writer's or a reader's, and holds it. */
  hold(pick: number): void {
    const of = pick % 3 === 0 ? undefined : this.writers[pick % this.writers.length];
    const snapshot = of === undefined ? this.bench.transactions.snapshot() : of.transaction.snapshot();
    this.held.push({ snapshot, rows: this.view(of), of });
    if (this.held.length > 5) this.held.shift()?.snapshot.release();
  }

  insert(writer: Writer, count: number): void {
    for (let i = 0; i < count; i++) {
      const [id, n] = [this.nextId++, this.nextValue++];
      this.bench.writer.insert(writer.transaction, [id, n, 'x'.repeat(id % 40)]);
      (writer.levels.at(-1) as Map<number, number>).set(id, n);
    }
    writer.transaction.nextCommand();
  }

  /** Changes or deletes a row that the writer sees: refused just when another open transaction has written it. */
  change(writer: Writer, pick: number): void {
    const ids = [...this.view(writer).keys()];
    if (ids.length === 0) return;
    const id = ids[pick % ids.length];
    const { transaction } = writer;
    const snapshot = transaction.snapshot();
    const { block, offset } = this.find(snapshot, id);
    const isTaken = this.writers.some((other) => other !== writer && other.levels.some((level) => level.has(id)));
    const n = pick % 4 === 0 ? undefined : this.nextValue++;
    try {
      const code =
        n === undefined
          ? this.bench.writer.delete(transaction, block, offset, snapshot)
          : this.bench.writer.update(
              transaction,
              block,
              offset,
              [id, n, 'y'.repeat(pick % 60)],
              snapshot,
              pick % 3 > 0,
            );
      expect([code, isTaken]).toEqual([TM_OK, false]);
      writer.levels.at(-1)?.set(id, n);
    } catch (error) {
      if (!isStorageError(error)) throw error;
      expect([error.code, isTaken], error.message).toEqual(['55P03', true]);
      this.conflicts++;
    } finally {
      snapshot.release();
    }
    transaction.nextCommand();
  }

  private find(snapshot: Snapshot, id: number): { block: number; offset: number } {
    const scan = new HeapScan(this.bench.relation, COLUMNS, { columns: [0], snapshot });
    for (let batch = scan.next(); batch !== undefined; batch = scan.next()) {
      const { values } = batch.vectors[0] as unknown as { values: Int32Array };
      const i = values.subarray(0, batch.length).indexOf(id);
      if (i >= 0) return { block: batch.blocks[i], offset: batch.offsets[i] };
    }
    throw new Error(`row ${id} is not there`);
  }

  savepoint(writer: Writer): void {
    writer.transaction.savepoint();
    writer.levels.push(new Map());
  }

  endSavepoint(writer: Writer, keep: boolean): void {
    const { transaction, levels } = writer;
    const last = levels.length - 1;
    if (last === 0) return;
    if (keep) {
      transaction.releaseSavepoint(last);
      for (const [id, n] of levels[last]) levels[last - 1].set(id, n);
    } else {
      // What its snapshots saw of the savepoint is gone with it.
      for (const held of this.held.filter(({ of }) => of === writer)) this.drop(held);
      transaction.rollbackTo(last);
      transaction.releaseSavepoint(last);
    }
    levels.pop();
  }

  end(writer: Writer, commit: boolean): void {
    for (const held of this.held.filter(({ of }) => of === writer)) this.drop(held);
    if (commit) {
      this.committed = this.view(writer);
      writer.transaction.commit();
    } else writer.transaction.abort();
    this.writers.splice(this.writers.indexOf(writer), 1);
  }

  private drop(held: Held): void {
    held.snapshot.release();
    this.held.splice(this.held.indexOf(held), 1);
  }

  /** Every snapshot sees its rows, by each way to them. */
  check(): void {
    const { bench } = this;
    const now = bench.transactions.snapshot();
    for (const { snapshot, rows } of [...this.held, { snapshot: now, rows: this.view(undefined) }]) {
      const wanted = [...rows].sort(([a], [b]) => a - b);
      expect(bench.rows(snapshot)).toEqual(wanted);
      for (const map of [bench.map, undefined]) {
        expect(heapCount(bench.relation, { snapshot, map }).rows).toBe(wanted.length);
      }
      expect(this.byChains(snapshot)).toEqual(wanted);
    }
    now.release();
    expect(bench.pool.pinned()).toEqual([]);
  }

  /** The rows that are found from the roots of all HOT chains: as from an index. */
  private byChains(snapshot: Snapshot): [number, number][] {
    const { relation, pool } = this.bench;
    const decoder = RowDecoder.for(COLUMNS);
    const rows: [number, number][] = [];
    for (let block = 0; block < relation.blockCount(); block++) {
      for (const root of rootsOf(this.bench, block)) {
        const offset = heapHotSearch(relation, block, root, snapshot);
        const row = heapFetch(relation, decoder, block, root, { snapshot, followChain: true });
        expect(row).toEqual(offset === 0 ? undefined : heapFetch(relation, decoder, block, offset, { snapshot }));
        if (row !== undefined) rows.push([row.id as number, row.n as number]);
      }
    }
    expect(pool.pinned()).toEqual([]);
    return rows.sort(([a], [b]) => a - b);
  }

  close(): void {
    for (const writer of [...this.writers]) this.end(writer, false);
    for (const { snapshot } of this.held) snapshot.release();
    this.bench.close();
  }
}

/** Line pointers that an index entry can lead to: redirects, and tuples that are not heap-only. */
function rootsOf({ relation, pool }: WritingBench, block: number): number[] {
  return pool.withPage(relation.main, block, (m, base) => {
    const roots: number[] = [];
    for (let offset = 1; offset <= pageMaxOffset(m, base); offset++) {
      const lp = linePointer(m, base, offset);
      const isRoot = lpFlags(lp) === LP_NORMAL && !isHeapOnly(tupleInfomask2(m, base + lpOffset(lp)));
      if (isRoot || lpFlags(lp) === LP_REDIRECT) roots.push(offset);
      if (lpFlags(lp) === LP_REDIRECT) redirects++;
    }
    return roots;
  });
}

const step = fc.tuple(fc.nat(19), fc.nat(1000));

function play(history: History, steps: readonly (readonly [number, number])[]): void {
  history.begin();
  history.insert(history.writers[0], 8);
  history.end(history.writers[0], true);
  for (let i = 0; i < 3; i++) history.begin();
  for (const [i, [what, pick]] of steps.entries()) {
    const writer = history.writers[pick % Math.max(1, history.writers.length)];
    if (writer === undefined || what === 0) history.begin();
    else if (what < 4) history.insert(writer, 1 + (pick % 6));
    else if (what < 12) history.change(writer, pick);
    else if (what < 15) history.hold(pick);
    else if (what === 15) history.savepoint(writer);
    else if (what < 18) history.endSavepoint(writer, what === 16);
    else history.end(writer, what === 18 || pick % 3 === 0);
    if (i % 8 === 0) history.check();
  }
  history.check();
}

let conflicts = 0;
let redirects = 0;

describe.each(BLOCK_SIZES)('snapshots at %i-byte blocks', (size) => {
  it('see what they saw when they were taken', () => {
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 20, maxLength: 120 }),
        fc.constantFrom(1000, 0x7fff_fff0, 0xffff_fff0),
        (steps, nextXid) => {
          const history = new History(size, nextXid);
          play(history, steps);
          conflicts += history.conflicts;
          history.close();
        },
      ),
      { numRuns: size === 8192 ? 30 : 12 },
    );
  });
});

afterAll(() => {
  expect(conflicts).toBeGreaterThan(0); // or nobody was in anybody's way
  expect(redirects).toBeGreaterThan(0); // or nothing was pruned
});
