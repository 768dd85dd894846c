// All transactions of one process: which are open, which xids are in progress, what the next xid is, and what nobody can
// see any more. PostgreSQL: varsup.c, procarray.c.
import { FIRST_NORMAL_XID, type Lsn, type RelationLocator, StorageError, uint32, type Xid } from '@blockwright/base';
import { type CommitLog, XID_COMMITTED } from './commit-log.ts';
import type { MultiXacts } from './multixacts.ts';
import { RowLocks } from './row-locks.ts';
import { RunningXids } from './running-xids.ts';
import { SEES_ALL, Snapshot, type SnapshotData } from './snapshot.ts';
import { Transaction, type TransactionOptions } from './transaction.ts';
import type { TransactionWal } from './transaction-wal.ts';
import {
  nextXidAfter,
  wraparoundLimit,
  XIDS_KEPT_BACK,
  XIDS_WARNED_BEFORE,
  xidBefore,
  xidFollows,
  xidFollowsOrEquals,
  xidPrecedes,
  xidsBefore,
} from './xids.ts';

export interface TransactionsOptions {
  readonly wal?: TransactionWal | undefined;
  readonly commitLog: CommitLog;
  /** The next xid to hand out, its epoch, and the oldest one that a row may still have. */
  readonly nextXid: Xid;
  readonly nextXidEpoch: number;
  readonly oldestXid: Xid;
  /** To read rows whose xmax is a multixact. */
  readonly multixacts?: MultiXacts | undefined;
  /** Of transactions that do not say: whether a commit waits for its WAL to be on the disk. True by default. */
  readonly synchronousCommit?: boolean | undefined;
  /** Removes files of relations: those dropped by a commit, those made by an abort. Called when nothing can go back. */
  readonly removeFiles?: ((files: readonly RelationLocator[], committed: boolean) => void) | undefined;
  /** Told of xids that have ended: of a transaction, or of a savepoint rolled back. */
  readonly ended?: ((xids: readonly Xid[], committed: boolean) => void) | undefined;
  /**
   * Told of xids whose commit record is in the WAL, though perhaps not on the disk yet: redo from here on will not see it,
   * so that a checkpoint must not call their files unfinished.
   */
  readonly recorded?: ((xids: readonly Xid[]) => void) | undefined;
  /** Told of what goes wrong where it stops nothing. */
  readonly onWarning?: ((message: string, error?: unknown) => void) | undefined;
  /** Milliseconds since 1970, for commit records. */
  readonly clock?: (() => number) | undefined;
}

/** Of what a directory without a server needs. */
export interface OfflineOptions {
  readonly commitLog: CommitLog;
  readonly multixacts?: MultiXacts | undefined;
}

export class Transactions {
  readonly commitLog: CommitLog;
  readonly multixacts: MultiXacts | undefined;
  /** Locks of rows that no tuple header holds. */
  readonly locks: RowLocks = new RowLocks();
  /** Whether this reads files without a server: see {@link Transactions.offline}. */
  readonly isOffline: boolean;
  /** @internal */
  readonly wal: TransactionWal | undefined;
  /** @internal */
  readonly options: Omit<TransactionsOptions, 'nextXid' | 'nextXidEpoch' | 'oldestXid'>;
  private next: Xid;
  private epoch: number;
  private oldest: Xid = 0;
  private warnFrom: Xid = 0;
  private stopAt: Xid = 0;
  private readonly openOnes: Set<Transaction> = new Set();
  /** Every xid in progress, savepoints' too, and whose it is. */
  private readonly running: Map<Xid, Transaction> = new Map();
  /** The same xids, in order: the oldest is a transaction's own, never a savepoint's. */
  private readonly runningInOrder: RunningXids = new RunningXids();
  /** Snapshots that are held, in the order in which they were taken, which is that of their xmin. */
  private oldestSnapshot: Snapshot | undefined = undefined;
  private newestSnapshot: Snapshot | undefined = undefined;
  /** The greatest xid that has ended. PostgreSQL: `latestCompletedXid`. */
  private latestEnded: Xid;
  /** What a snapshot taken now would see; undefined when something has ended since. */
  private current: SnapshotData | undefined = undefined;
  /** The last xid asked for whose fate is settled, and whether it committed. PostgreSQL: `cachedFetchXid`. */
  private askedXid: Xid = 0;
  private askedCommitted: boolean = false;

  /**
   * @throws RangeError for numbers that are no xids; StorageError as {@link CommitLog.trim}.
   */
  constructor(options: TransactionsOptions, offline: boolean = false) {
    const { nextXid, nextXidEpoch, oldestXid, ...rest } = options;
    this.options = rest;
    this.commitLog = options.commitLog;
    this.multixacts = options.multixacts;
    this.wal = options.wal;
    this.isOffline = offline;
    this.next = normalXid(nextXid, 'nextXid');
    this.epoch = uint32(nextXidEpoch, 'nextXidEpoch');
    this.latestEnded = xidBefore(nextXid);
    this.setOldest(normalXid(oldestXid, 'oldestXid'));
    if (!offline) this.commitLog.trim(nextXid);
  }

  /**
   * Reads PostgreSQL's files, or ours, without a server: nothing is in progress; what the commit log has as in progress
   * was lost in a crash; snapshots see all that committed. Transactions cannot begin.
   */
  static offline(options: OfflineOptions): Transactions {
    return new Transactions(
      { ...options, nextXid: FIRST_NORMAL_XID, nextXidEpoch: 0, oldestXid: FIRST_NORMAL_XID },
      true,
    );
  }

  /** The next xid to be handed out. */
  get nextXid(): Xid {
    return this.next;
  }

  /** How often xids had wrapped around before {@link nextXid}. */
  get nextXidEpoch(): number {
    return this.epoch;
  }

  /** The oldest xid that a row may still have: older ones are frozen. */
  get oldestXid(): Xid {
    return this.oldest;
  }

  /** Transactions that have not ended. */
  get open(): ReadonlySet<Transaction> {
    return this.openOnes;
  }

  /** @throws StorageError 25006 without a server. */
  begin(options: TransactionOptions = {}): Transaction {
    if (this.isOffline) {
      throw new StorageError('25006', 'no transaction can begin here: these files are read without a server');
    }
    const transaction = new Transaction(this, options);
    this.openOnes.add(transaction);
    return transaction;
  }

  /** Whether `xid` has not ended: it is running here, or was not even handed out. PostgreSQL: `TransactionIdIsInProgress`. */
  isInProgress(xid: Xid): boolean {
    if (this.isOffline || xid < FIRST_NORMAL_XID) return false;
    return (this.running.size !== 0 && this.running.has(xid)) || ((xid - this.next) | 0) >= 0;
  }

  /**
   * Whether `xid` has ended well: it is not in progress, and the commit log says committed. PostgreSQL:
   * `TransactionIdDidCommit`.
   * @throws StorageError as {@link CommitLog.status}.
   */
  didCommit(xid: Xid): boolean {
    if (xid === this.askedXid) return this.askedCommitted;
    if (this.isInProgress(xid)) return false;
    this.askedCommitted = this.commitLog.status(xid) === XID_COMMITTED;
    this.askedXid = xid;
    return this.askedCommitted;
  }

  /**
   * Whether a hint bit may say that `xid` committed: its commit record is on the disk. Otherwise a crash could keep the
   * bit and lose the commit. PostgreSQL: `SetHintBits`.
   */
  hintAllowed(xid: Xid): boolean {
    const { commitLog, wal } = this;
    if (wal === undefined || commitLog.isFlushed) return true;
    return commitLog.lsnOf(xid) <= wal.flushedUpTo;
  }

  /**
   * Whether what a page of this LSN says of those that committed outlives a crash: every commit is on the disk, or all that
   * was done to the page, pruning too. What it tells may be noted elsewhere then, without a record.
   */
  outlivesCrash(pageLsn: Lsn): boolean {
    const { commitLog, wal } = this;
    return wal === undefined || commitLog.isFlushed || pageLsn <= wal.flushedUpTo;
  }

  /** The transaction that `xid` belongs to, itself or as a savepoint, while it is in progress. */
  ownerOf(xid: Xid): Transaction | undefined {
    return this.running.get(xid);
  }

  /** The transaction's own xid of a savepoint's; `xid` itself when it is not in progress. PostgreSQL: `SubTransGetTopmostTransaction`. */
  topXidOf(xid: Xid): Xid {
    return this.running.get(xid)?.topXid ?? xid;
  }

  /** A snapshot for a reader without a transaction. {@link Snapshot.release} it. */
  snapshot(): Snapshot {
    const snapshot = new Snapshot(this, undefined, this.snapshotData(), 0);
    this.hold(snapshot);
    return snapshot;
  }

  /**
   * What ended before it is decided for every snapshot, those that are held and those to come: a row version whose
   * deletion committed before it can be removed. PostgreSQL: `GetOldestNonRemovableTransactionId`.
   */
  horizon(): Xid {
    let horizon = this.isOffline ? this.next : nextXidAfter(this.latestEnded);
    const running = this.runningInOrder;
    if (running.length > 0 && xidPrecedes(running.oldest >>> 0, horizon)) horizon = running.oldest >>> 0;
    const snapshot = this.oldestSnapshot;
    if (snapshot !== undefined && xidPrecedes(snapshot.xmin, horizon)) horizon = snapshot.xmin;
    return horizon;
  }

  /**
   * No row has an xid older than `oldest` any more, but frozen ones: xids can be handed out further, and the commit log
   * forgets what came before. A horizon in the future, or one that goes back, changes nothing. PostgreSQL:
   * `SetTransactionIdLimit`, `vac_truncate_clog`.
   * @returns the number of files of the commit log removed.
   */
  advanceOldestXid(oldest: Xid): number {
    if (oldest < FIRST_NORMAL_XID || xidPrecedes(oldest, this.oldest) || xidFollows(oldest, this.horizon())) return 0;
    const removed = this.commitLog.truncate(oldest);
    this.setOldest(oldest);
    return removed;
  }

  /**
   * @internal Hands out the next xid. PostgreSQL: `GetNewTransactionId`.
   * @throws StorageError 54000 when it is too near to the oldest; 53100 and the like when the commit log cannot grow: then
   *   everything is as it was.
   */
  assign(transaction: Transaction): Xid {
    const xid = this.next;
    if (xidFollowsOrEquals(xid, this.warnFrom)) this.warnOfWraparound(xid);
    this.commitLog.extendTo(xid);
    this.next = nextXidAfter(xid);
    if (this.next === FIRST_NORMAL_XID) this.epoch++;
    this.running.set(xid, transaction);
    this.runningInOrder.add(xid);
    return xid;
  }

  /** @internal These xids of one transaction have ended. */
  end(xids: readonly Xid[], committed: boolean): void {
    for (const xid of xids) {
      this.running.delete(xid);
      if (xidFollows(xid, this.latestEnded)) this.latestEnded = xid;
    }
    if (xids.length === 1) this.runningInOrder.remove(xids[0]);
    else this.runningInOrder.removeMany((xid) => this.running.has(xid));
    this.current = undefined;
    this.options.ended?.(xids, committed);
  }

  /** @internal The transaction is over. */
  leave(transaction: Transaction): void {
    this.openOnes.delete(transaction);
    if (transaction.heldSnapshots > 0) {
      let snapshot = this.oldestSnapshot;
      while (snapshot !== undefined) {
        const { newer } = snapshot;
        if (snapshot.transaction === transaction) this.forget(snapshot);
        snapshot = newer;
      }
    }
    this.locks.release(transaction);
  }

  /** @internal What a snapshot taken now sees. PostgreSQL: `GetSnapshotData`. */
  snapshotData(): SnapshotData {
    if (this.isOffline) return SEES_ALL;
    if (this.current !== undefined) return this.current;
    const xmax = nextXidAfter(this.latestEnded);
    const { runningInOrder } = this;
    const running = runningInOrder.before(xmax);
    const xminWord = running.length === 0 ? xmax | 0 : runningInOrder.oldest;
    this.current = { xminWord, last: (((xmax | 0) - xminWord) | 0) - 1, running };
    return this.current;
  }

  /** @internal The snapshot holds back the horizon until it is released. */
  hold(snapshot: Snapshot): void {
    snapshot.registered = true;
    snapshot.older = this.newestSnapshot;
    if (this.newestSnapshot === undefined) this.oldestSnapshot = snapshot;
    else this.newestSnapshot.newer = snapshot;
    this.newestSnapshot = snapshot;
    if (snapshot.transaction !== undefined) snapshot.transaction.heldSnapshots++;
  }

  /** @internal */
  forget(snapshot: Snapshot): void {
    if (!snapshot.registered) return;
    snapshot.registered = false;
    const { older, newer } = snapshot;
    if (older === undefined) this.oldestSnapshot = newer;
    else older.newer = newer;
    if (newer === undefined) this.newestSnapshot = older;
    else newer.older = older;
    snapshot.older = undefined;
    snapshot.newer = undefined;
    if (snapshot.transaction !== undefined) snapshot.transaction.heldSnapshots--;
  }

  private setOldest(oldest: Xid): void {
    this.oldest = oldest;
    const wrap = wraparoundLimit(oldest);
    this.stopAt = xidsBefore(wrap, XIDS_KEPT_BACK);
    this.warnFrom = xidsBefore(wrap, XIDS_WARNED_BEFORE);
  }

  private warnOfWraparound(xid: Xid): void {
    const left = (wraparoundLimit(this.oldest) - xid) | 0;
    const hint = 'Vacuum with --freeze, so that old rows no longer need their transaction ids.';
    if (xidFollowsOrEquals(xid, this.stopAt)) {
      throw new StorageError(
        '54000',
        `no more transaction ids are handed out: the next, ${xid}, is only ${left} before the oldest in use, ${this.oldest}, would lie in the future`,
        { hint },
      );
    }
    if ((xid & 0xffff) === 0 || xid === this.warnFrom) {
      this.options.onWarning?.(
        `transaction ids run out: ${left} are left before rows of ${this.oldest} would lie in the future. ${hint}`,
      );
    }
  }
}

function normalXid(value: Xid, what: string): Xid {
  if (uint32(value, what) < FIRST_NORMAL_XID) {
    throw new RangeError(`${what} ${value} is no xid that a transaction can have: the first is 3`);
  }
  return value;
}
