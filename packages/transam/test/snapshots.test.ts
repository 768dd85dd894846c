// Visibility: random interleaved histories of transactions with savepoints, against a model that knows nothing of xids
// in order: a snapshot is the set of xids that had committed when it was taken.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Snapshot, type Transaction, type Transactions } from '../src/index.ts';
import { codeOf, engine } from './engine.ts';

/** A transaction beside what is known of it. Levels hold the xids of a savepoint and of what was released into it. */
interface Modelled {
  readonly tx: Transaction;
  readonly levels: Set<number>[];
  readonly rolledBack: Set<number>;
  /** Of repeatable read: what had committed at its first snapshot. */
  first: ReadonlySet<number> | undefined;
}

interface Taken {
  readonly snapshot: Snapshot;
  readonly committed: ReadonlySet<number>;
  readonly of: Modelled | undefined;
}

class History {
  readonly transactions: Transactions;
  readonly open: Modelled[] = [];
  readonly snapshots: Taken[] = [];
  readonly committed: Set<number> = new Set();
  readonly ended: Set<number> = new Set();
  readonly xids: Set<number> = new Set();

  constructor(transactions: Transactions) {
    this.transactions = transactions;
  }

  /** One step: what it does is chosen by `what`, to whom by `whom`. */
  step(what: number, whom: number): void {
    const one = this.open[whom % Math.max(1, this.open.length)];
    if (what < 3 || one === undefined) return this.begin(what === 0 ? 'repeatable read' : 'read committed');
    if (what < 7) this.write(one);
    else if (what < 9) {
      one.tx.savepoint();
      one.levels.push(new Set());
    } else if (what === 9) this.release(one, whom);
    else if (what === 10) this.rollbackTo(one, whom);
    else if (what < 13) this.snapshot(one);
    else if (what === 13) this.reader();
    else if (what < 16) this.letGo(whom);
    else if (what < 18) this.end(one, true);
    else this.end(one, false);
  }

  begin(isolation: 'repeatable read' | 'read committed'): void {
    if (this.open.length > 6) return;
    const tx = this.transactions.begin({ isolation });
    this.open.push({ tx, levels: [new Set()], rolledBack: new Set(), first: undefined });
  }

  write(one: Modelled): void {
    const before = this.transactions.nextXid;
    const xid = one.tx.writeXid();
    (one.levels.at(-1) as Set<number>).add(xid);
    // Parents got theirs with it.
    for (let i = 0; i < one.levels.length; i++) {
      const parent = before + i;
      if (parent >= this.transactions.nextXid || xid < before) break;
      this.xids.add(parent);
    }
    this.adopt(one, before);
    this.xids.add(xid);
  }

  /** Xids handed out since `before` go to the lowest levels without one, in order. */
  adopt(one: Modelled, before: number): void {
    let next = before;
    const until = this.transactions.nextXid;
    const own = one.levels.at(-1) as Set<number>;
    const wanting = one.levels.slice(0, -1).filter((level) => level.size === 0);
    for (const level of wanting.slice(0, Math.max(0, until - before - 1))) level.add(next++);
    if (next < until) own.add(next);
  }

  release(one: Modelled, whom: number): void {
    if (one.levels.length === 1) return void codeOf(() => one.tx.releaseSavepoint(1), '3B001');
    const level = 1 + (whom % (one.levels.length - 1));
    one.tx.releaseSavepoint(level);
    const merged = one.levels.splice(level);
    for (const from of merged) for (const xid of from) (one.levels[level - 1] as Set<number>).add(xid);
  }

  rollbackTo(one: Modelled, whom: number): void {
    if (one.levels.length === 1) return void codeOf(() => one.tx.rollbackTo(1), '3B001');
    const level = 1 + (whom % (one.levels.length - 1));
    if (whom % 3 === 0) one.tx.fail(new Error('a statement failed'));
    one.tx.rollbackTo(level);
    for (const gone of one.levels.splice(level)) {
      for (const xid of gone) {
        one.rolledBack.add(xid);
        this.ended.add(xid);
      }
    }
    one.levels.push(new Set());
    expect(one.tx.level).toBe(level);
  }

  snapshot(one: Modelled): void {
    const snapshot = one.tx.snapshot();
    const now = new Set(this.committed);
    if (one.tx.isolation === 'repeatable read') one.first ??= now;
    this.snapshots.push({ snapshot, committed: one.first ?? now, of: one });
  }

  reader(): void {
    this.snapshots.push({ snapshot: this.transactions.snapshot(), committed: new Set(this.committed), of: undefined });
  }

  letGo(whom: number): void {
    const index = whom % Math.max(1, this.snapshots.length);
    this.snapshots[index]?.snapshot.release();
    this.snapshots.splice(index, 1);
  }

  end(one: Modelled, commits: boolean): void {
    this.open.splice(this.open.indexOf(one), 1);
    if (commits) one.tx.commit();
    else one.tx.abort();
    for (const level of one.levels) {
      for (const xid of level) {
        this.ended.add(xid);
        if (commits) this.committed.add(xid);
      }
    }
    for (let i = this.snapshots.length - 1; i >= 0; i--) {
      if ((this.snapshots[i] as Taken).of === one) this.snapshots.splice(i, 1);
    }
  }

  /** What the own transaction sees of itself, and every snapshot of everybody else. */
  check(): void {
    const { transactions } = this;
    for (const xid of this.xids) {
      const running = !this.ended.has(xid);
      same(transactions.isInProgress(xid), running, xid, 'in progress');
      const committed = transactions.didCommit(xid);
      same(committed, this.committed.has(xid), xid, 'committed');
      for (const one of this.open) {
        const own = one.levels.some((level) => level.has(xid));
        same(one.tx.isCurrent(xid), own, xid, 'current');
        if (own) same(transactions.ownerOf(xid), one.tx, xid, 'owned');
      }
      for (const { snapshot, committed: then, of } of this.snapshots) {
        if (of?.tx.isCurrent(xid) ?? false) continue;
        // PostgreSQL's rule: xids that were in progress are invisible, others are visible if they committed.
        const seen = !snapshot.inProgress(xid) && committed;
        same(seen, then.has(xid), xid, `seen by ${snapshot.xmin}:${snapshot.xmax}`);
      }
    }
    this.checkHorizon();
  }

  /** The horizon is the greatest xid such that all before it have ended for everybody. */
  checkHorizon(): void {
    const horizon = this.transactions.horizon();
    let expected = this.transactions.nextXid;
    for (const xid of this.xids) {
      if (this.ended.has(xid)) {
        // Ended, but some snapshot that is held, or may be taken, still counts it as in progress.
        const undecided =
          this.snapshots.some(({ snapshot }) => snapshot.inProgress(xid)) ||
          this.open.some(({ tx, first }) => first !== undefined && tx.snapshot().inProgress(xid));
        if (undecided) expected = Math.min(expected, xid);
      } else {
        expected = Math.min(expected, xid);
      }
    }
    // It may hold back more (xmin of a snapshot is that of its oldest xid in progress), never less.
    expect(horizon).toBeLessThanOrEqual(expected);
    if (this.snapshots.length === 0 && this.open.every(({ first }) => first === undefined)) {
      expect(horizon).toBe(expected);
    }
  }
}

/** As expect, but quick: it is asked millions of times. */
function same(found: unknown, expected: unknown, xid: number, what: string): void {
  if (found !== expected) throw new Error(`${xid} ${what}: ${String(found)}, ${String(expected)} is right`);
}

const steps = fc.array(fc.tuple(fc.nat(19), fc.nat(1000)), { minLength: 1, maxLength: 120, size: 'max' });

describe('random histories', () => {
  test('each snapshot sees exactly what had committed when it was taken', () => {
    let checked = 0;
    fc.assert(
      fc.property(steps, (list) => {
        const history = new History(engine().transactions);
        for (const [what, whom] of list) {
          history.step(what, whom);
          history.check();
        }
        checked += history.snapshots.length;
        for (const one of [...history.open]) history.end(one, true);
        for (const { snapshot } of history.snapshots) snapshot.release();
        history.snapshots.length = 0;
        history.check();
        expect(history.transactions.open.size).toBe(0);
        expect(history.transactions.horizon()).toBe(history.transactions.nextXid);
      }),
      { numRuns: 300 },
    );
    expect(checked).toBeGreaterThan(100);
  });

  test('canary: a snapshot that forgets one xid in progress is found', () => {
    const forgets = Snapshot.prototype.inProgress;
    Snapshot.prototype.inProgress = function (this: Snapshot, xid: number): boolean {
      return xid % 7 === 0 ? false : forgets.call(this, xid);
    };
    try {
      const run = fc.check(
        fc.property(steps, (list) => {
          const history = new History(engine().transactions);
          for (const [what, whom] of list) {
            history.step(what, whom);
            history.check();
          }
        }),
        { numRuns: 300, seed: 1, endOnFailure: true },
      );
      expect(run.failed).toBe(true);
    } finally {
      Snapshot.prototype.inProgress = forgets;
    }
  });
});

describe('inProgress', () => {
  test('agrees with a set, around every wraparound', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.integer({ min: 3, max: 0xffff_ffff }),
          fc.integer({ min: 0xffff_fff0, max: 0xffff_ffff }),
          fc.constant(3),
        ),
        fc.array(fc.nat(2), { minLength: 1, maxLength: 40 }),
        (nextXid, fates) => {
          const { transactions } = engine({ nextXid, nextXidEpoch: 3, oldestXid: nextXid, pagesAt: [nextXid] });
          const all: { xid: number; running: boolean }[] = [];
          for (const fate of fates) {
            const tx = transactions.begin();
            const xid = tx.writeXid();
            if (fate === 1) tx.commit();
            if (fate === 2) tx.abort();
            all.push({ xid, running: fate === 0 });
          }
          const snapshot = transactions.snapshot();
          for (const { xid, running } of all) expect(snapshot.inProgress(xid)).toBe(running);
          expect(snapshot.inProgress(transactions.nextXid)).toBe(true);
          for (const permanent of [0, 1, 2]) expect(snapshot.inProgress(permanent)).toBe(false);
          const before = (nextXid - 1) >>> 0;
          if (before > 2) expect(snapshot.inProgress(before)).toBe(false);
          const firstRunning = all.find(({ running }) => running);
          expect(transactions.horizon()).toBe(firstRunning?.xid ?? transactions.nextXid);
        },
      ),
    );
  });

  test('of no server: nothing is in progress', () => {
    const { commitLog } = engine();
    const offline = (engine().transactions.constructor as typeof Transactions).offline({ commitLog });
    const snapshot = offline.snapshot();
    for (const xid of [0, 1, 2, 3, 4, 0x7fff_ffff, 0x8000_0000, 0x8000_0002, 0x8000_0003, 0xffff_ffff]) {
      expect(snapshot.inProgress(xid)).toBe(false);
      expect(offline.isInProgress(xid)).toBe(false);
    }
    snapshot.release();
    codeOf(() => offline.begin(), '25006');
  });
});

describe('snapshots', () => {
  test('are shared until something ends, and held ones hold back the horizon', () => {
    const { transactions } = engine();
    const writer = transactions.begin();
    writer.writeXid(); // 3
    const other = transactions.begin();
    other.writeXid(); // 4
    const early = transactions.snapshot();
    other.commit();
    const late = transactions.snapshot();
    expect([early.inProgress(3), early.inProgress(4), late.inProgress(3), late.inProgress(4)]).toEqual([
      true,
      true,
      true,
      false,
    ]);
    writer.commit();
    expect(transactions.horizon()).toBe(3);
    early.release();
    early.release();
    expect(transactions.horizon()).toBe(3); // `late` has 3 in progress, too
    late.release();
    expect(transactions.horizon()).toBe(5);
  });

  test('left behind by a transaction are released at its end', () => {
    const { transactions } = engine();
    const tx = transactions.begin();
    tx.snapshot();
    tx.snapshot();
    const stays = transactions.snapshot();
    tx.commit();
    expect(transactions.horizon()).toBe(3);
    const next = transactions.begin();
    next.writeXid();
    next.commit();
    expect(transactions.horizon()).toBe(3);
    stays.release();
    expect(transactions.horizon()).toBe(4);
  });

  test('of repeatable read are the first one, with the command of now', () => {
    const { transactions } = engine();
    const tx = transactions.begin({ isolation: 'repeatable read' });
    const other = transactions.begin();
    const xid = other.writeXid();
    tx.savepoint();
    tx.snapshot().release();
    tx.rollbackTo(1);
    other.commit();
    tx.nextCommand();
    const again = tx.snapshot();
    expect(again.inProgress(xid)).toBe(true);
    expect(again.commandId).toBe(1);
    again.release();
    expect(transactions.horizon()).toBe(xid); // held until the end
    tx.commit();
    expect(transactions.horizon()).toBe(xid + 1);
  });
});
