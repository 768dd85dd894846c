// Histories of commits that do not wait for the disk, and of commits that wait in a group: who sees them when, and that no
// page in a file tells of a commit whose record a crash could still take away.
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { LP_NORMAL, linePointer, lpFlags, lpOffset, pageIsZero, pageMaxOffset, pageMemory } from '@blockwright/page';
import { type Transaction, Transactions } from '@blockwright/transam';
import {
  HEAP_XMAX_COMMITTED,
  HEAP_XMIN_COMMITTED,
  HEAP_XMIN_FROZEN,
  tupleInfomask,
  tupleXmax,
  tupleXmin,
} from '@blockwright/tuple';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TM_OK } from '../src/index.ts';
import { WritingBench } from './writing-bench.ts';

type Step = readonly [number, number];

/** A row that somebody wrote, with where it stands. */
interface Placed {
  readonly id: number;
  readonly n: number;
  readonly block: number;
  readonly offset: number;
}

/** What a transaction has written: rows by id, undefined for deleted ones. */
type Changes = Map<number, Placed | undefined>;

interface Writing {
  readonly transaction: Transaction;
  readonly changes: Changes;
}

interface Waiting extends Writing {
  readonly done: Promise<void>;
}

class History {
  readonly bench: WritingBench;
  /** Hint bits that were found in files, so that a test can tell whether it tested anything. */
  hintsFound = 0;
  /** Snapshots that a waiting group was hidden from. */
  hidden = 0;
  private readonly rows: Map<number, Placed> = new Map();
  /** Ends of commit records, by xid. */
  private readonly commits: Map<number, number> = new Map();
  private readonly open: Writing[] = [];
  private waiting: Waiting[] = [];
  private nextId = 1;

  constructor(size: BlockSize, hintImages: boolean, nextXid: number) {
    this.bench = new WritingBench(size, { buffers: 16, fillfactor: 70, hintImages, nextXid });
    this.bench.transactions.begin(); // one that never writes holds nothing back
  }

  /** A promise only where the history waits: until then a group's sync cannot be done, however many steps go by. */
  step([what, how]: Step): Promise<void> | undefined {
    const { bench } = this;
    if (what < 10) this.write(what, how);
    else if (what < 15) this.look();
    else if (what < 17) bench.pool.flushAll();
    else if (what === 17) bench.transactions.commitLog.flush();
    else if (what === 18 && how % 4 === 0) bench.wal.flush(bench.wal.insertedUpTo);
    this.checkFiles();
    return what === 19 ? this.arrive() : undefined;
  }

  /** A few statements of a new transaction, or the end of one in one of the ways there are. */
  private write(what: number, how: number): void {
    const { bench, open } = this;
    if (open.length < 3 && (open.length === 0 || how % 5 < 3)) {
      const transaction = bench.transactions.begin({ synchronousCommit: how % 2 === 0 });
      const changes: Changes = new Map();
      open.push({ transaction, changes });
      for (let i = 0; i <= how % 3; i++) this.statement(transaction, changes, how + i);
      return;
    }
    const [{ transaction, changes }] = open.splice(how % open.length, 1) as [Writing];
    if (what === 9) return transaction.abort();
    if (what >= 5 && transaction.synchronousCommit) {
      this.waiting.push({ transaction, changes, done: transaction.commitAsync() });
    } else {
      transaction.commit();
      this.apply(changes);
    }
    this.commits.set(transaction.topXid, bench.wal.insertedUpTo);
  }

  private statement(transaction: Transaction, changes: Changes, how: number): void {
    const { writer } = this.bench;
    const snapshot = transaction.snapshot();
    const row = [...this.rows.values()][how % Math.max(1, this.rows.size)];
    const isTaken =
      row === undefined || [...this.open, ...this.waiting].some((one) => one.changes.has(row.id)) || how % 3 === 0;
    if (isTaken) {
      const id = this.nextId++;
      writer.insert(transaction, [id, 0, 'x'.repeat(how % 90)]);
      changes.set(id, { id, n: 0, block: writer.block, offset: writer.offset });
    } else if (how % 7 === 0) {
      expect(writer.delete(transaction, row.block, row.offset, snapshot)).toBe(TM_OK);
      changes.set(row.id, undefined);
    } else {
      const n = row.n + 1;
      expect(writer.update(transaction, row.block, row.offset, [row.id, n, 'y'.repeat(how % 90)], snapshot, true)).toBe(
        TM_OK,
      );
      changes.set(row.id, { id: row.id, n, block: writer.block, offset: writer.offset });
    }
    snapshot.release();
    transaction.nextCommand();
  }

  /** The group's sync is done. */
  private async arrive(): Promise<void> {
    const { waiting } = this;
    this.waiting = [];
    await Promise.all(waiting.map(({ done }) => done));
    for (const { transaction, changes } of waiting) {
      expect(transaction.state).toBe('committed');
      this.apply(changes);
    }
  }

  private apply(changes: Changes): void {
    for (const [id, row] of changes) {
      if (row === undefined) this.rows.delete(id);
      else this.rows.set(id, row);
    }
  }

  /** A reader sees what has committed, and nothing of a group that waits. Looking sets hint bits, and prunes. */
  private look(): void {
    this.hidden += this.waiting.length;
    const rows = [...this.rows.values()].map(({ id, n }) => [id, n]).sort(([a = 0], [b = 0]) => a - b);
    expect(this.bench.committedRows()).toEqual(rows);
  }

  /** The pages as they are in the files now: what they say of a commit must be on the disk, too. */
  private checkFiles(): void {
    const { geometry, vfs, wal } = this.bench;
    const bytes = vfs.readFile('/data/base/5/16384');
    for (let at = 0; at < bytes.length; at += geometry.size) {
      const m = pageMemory(bytes.slice(at, at + geometry.size).buffer);
      if (pageIsZero(m, 0, geometry)) continue;
      for (let offset = 1; offset <= pageMaxOffset(m, 0); offset++) {
        const lp = linePointer(m, 0, offset);
        if (lpFlags(lp) !== LP_NORMAL) continue;
        const infomask = tupleInfomask(m, lpOffset(lp));
        if ((infomask & HEAP_XMIN_FROZEN) === HEAP_XMIN_COMMITTED)
          this.believe(tupleXmin(m, lpOffset(lp)), wal.flushedUpTo);
        if ((infomask & HEAP_XMAX_COMMITTED) !== 0) this.believe(tupleXmax(m, lpOffset(lp)), wal.flushedUpTo);
      }
    }
  }

  private believe(xid: number, flushedUpTo: number): void {
    this.hintsFound++;
    const commit = this.commits.get(xid);
    if (commit === undefined) throw new Error(`a hint bit in a file says that ${xid} committed: it has not`);
    if (commit > flushedUpTo)
      throw new Error(`a hint bit in a file tells of the commit of ${xid}, whose record is not on the disk`);
  }

  async finish(): Promise<void> {
    for (const { transaction } of this.open) transaction.abort();
    await this.arrive();
    this.look();
    this.bench.close();
  }
}

const STEPS = fc.array(fc.tuple(fc.nat(19), fc.nat(1000)), { minLength: 1, maxLength: 100, size: 'max' });
const NEXT_XIDS = fc.constantFrom(1000, 2 ** 31 - 5, 2 ** 32 - 20);

async function run(size: BlockSize, steps: readonly Step[], hintImages: boolean, nextXid: number): Promise<History> {
  const history = new History(size, hintImages, nextXid);
  for (const step of steps) {
    const waits = history.step(step);
    if (waits !== undefined) await waits;
  }
  await history.finish();
  return history;
}

describe.each(BLOCK_SIZES.filter((size) => [1024, 8192, 32768].includes(size)))('at %i-byte blocks', (size) => {
  it('a commit is seen when it is done, and told of in a file when it is on the disk', async () => {
    let hints = 0;
    let hidden = 0;
    await fc.assert(
      fc.asyncProperty(STEPS, fc.boolean(), NEXT_XIDS, async (steps, hintImages, nextXid) => {
        const history = await run(size, steps, hintImages, nextXid);
        hints += history.hintsFound;
        hidden += history.hidden;
      }),
      { numRuns: 25 },
    );
    expect(hints).toBeGreaterThan(100);
    expect(hidden).toBeGreaterThan(20);
  });
});

it('canary: hint bits that do not wait for their commit are found', async () => {
  const careful = Transactions.prototype.hintAllowed;
  Transactions.prototype.hintAllowed = () => true;
  try {
    const property = fc.asyncProperty(STEPS, async (steps) => void (await run(1024, steps, false, 1000)));
    const result = await fc.check(property, { numRuns: 50, seed: 4, endOnFailure: true });
    expect(String(result.errorInstance)).toContain('whose record is not on the disk');
  } finally {
    Transactions.prototype.hintAllowed = careful;
  }
});
