// One transaction: its xids, commands, savepoints and snapshots, and how it ends. PostgreSQL: xact.c, snapmgr.c.
import { INVALID_XID, isStorageError, type Lsn, type RelationLocator, StorageError, type Xid } from '@blockwright/base';
import { HEAP_COMBOCID, type TupleMemory, tupleCommandId, tupleInfomask } from '@blockwright/tuple';
import type { WalMark } from '@blockwright/wal';
import { ComboCids } from './combo-cids.ts';
import { XID_ABORTED, XID_COMMITTED } from './commit-log.ts';
import { type EndAction, fileAction, filesOf } from './end-actions.ts';
import { insertEnd, type TransactionEnd, XACT_ABORT, XACT_COMMIT } from './records.ts';
import { Snapshot, type SnapshotData } from './snapshot.ts';
import type { TransactionWal } from './transaction-wal.ts';
import type { Transactions } from './transactions.ts';

/** `read committed`: each statement has a snapshot of its own. `repeatable read`: all have the first one's. */
export type Isolation = 'read committed' | 'repeatable read';

export interface TransactionOptions {
  /** `read committed` if not given. */
  readonly isolation?: Isolation | undefined;
  /** Whether {@link Transaction.commit} waits until its WAL is on the disk; as the {@link Transactions} say if not given. */
  readonly synchronousCommit?: boolean | undefined;
  /** {@link Transaction.writeXid} is refused with 25006. */
  readonly readOnly?: boolean | undefined;
}

export type TransactionState = 'open' | 'failed' | 'committing' | 'committed' | 'aborted';

/** A savepoint, or the whole at level 0. The lists of the transaction from these places on are its own. */
interface Level {
  xid: Xid;
  childrenFrom: number;
  readonly actionsFrom: number;
}

/** PostgreSQL: `InvalidCommandId` − 1. */
const MAX_COMMAND_ID = 0xffff_fffe;

export class Transaction {
  readonly transactions: Transactions;
  readonly isolation: Isolation;
  readonly isReadOnly: boolean;
  readonly synchronousCommit: boolean;
  /** The command that writes now; a snapshot taken now does not see what it wrote. */
  commandId: number = 0;
  /** The transaction's own xid; 0 before its first write. */
  topXid: Xid = INVALID_XID;
  /** The xid of the current savepoint; 0 before its first write. */
  xid: Xid = INVALID_XID;
  state: TransactionState = 'open';
  /** @internal Snapshots not released. */
  heldSnapshots: number = 0;
  private levels: Level[] = [{ xid: INVALID_XID, childrenFrom: 0, actionsFrom: 0 }];
  /** Xids of savepoints not rolled back, in the order in which they were handed out. */
  private children: Xid[] = [];
  private actions: EndAction[] = [];
  private combos: ComboCids | undefined = undefined;
  /** Of repeatable read, once the first statement has begun. */
  private firstSnapshot: SnapshotData | undefined = undefined;
  /** What {@link fail} was told; undefined unless it has failed. */
  failure: unknown = undefined;

  /** @internal Made by {@link Transactions.begin}. */
  constructor(transactions: Transactions, options: TransactionOptions) {
    this.transactions = transactions;
    this.isolation = options.isolation ?? 'read committed';
    this.isReadOnly = options.readOnly ?? false;
    this.synchronousCommit = options.synchronousCommit ?? transactions.options.synchronousCommit ?? true;
  }

  /** How many savepoints are open. */
  get level(): number {
    return this.levels.length - 1;
  }

  /**
   * The xid to write with: handed out at the first write of each savepoint, those around it first, so that a parent's xid
   * is always older than its children's. PostgreSQL: `GetCurrentTransactionId`.
   * @throws StorageError 54000 when xids run out; 25006 when read only; 25P02 or 25P01 when the transaction has failed or
   *   ended; 53100 and the like when the commit log cannot grow.
   */
  writeXid(): Xid {
    if (this.state !== 'open') this.refuse();
    if (this.xid !== INVALID_XID) return this.xid;
    if (this.isReadOnly) throw new StorageError('25006', 'cannot write in a read-only transaction');
    const { levels, children } = this;
    for (let i = 0; i < levels.length; i++) {
      const level = levels[i] as Level;
      if (level.xid !== INVALID_XID) continue;
      level.xid = this.transactions.assign(this);
      if (i === 0) this.topXid = level.xid;
      level.childrenFrom = children.length;
      if (i > 0) children.push(level.xid);
    }
    this.xid = (levels[levels.length - 1] as Level).xid;
    return this.xid;
  }

  /**
   * The next command begins, and will see what this one wrote.
   * @throws StorageError 54000 after 2^32 − 2 commands.
   */
  nextCommand(): void {
    if (this.commandId >= MAX_COMMAND_ID) {
      throw new StorageError('54000', 'a transaction cannot have more than 2^32-2 commands');
    }
    this.commandId++;
  }

  /** Whether `xid` is this transaction's, or that of a savepoint of it not rolled back. PostgreSQL: `TransactionIdIsCurrentTransactionId`. */
  isCurrent(xid: Xid): boolean {
    if (xid === INVALID_XID || this.topXid === INVALID_XID) return false;
    if (xid === this.topXid) return true;
    return this.children.length > 0 && this.transactions.ownerOf(xid) === this;
  }

  /**
   * A snapshot for the statement that begins; {@link Snapshot.release} it when the statement ends.
   * @throws StorageError 25P02 or 25P01 when the transaction has failed or ended.
   */
  snapshot(): Snapshot {
    if (this.state !== 'open') this.refuse();
    const { transactions } = this;
    if (this.firstSnapshot !== undefined) return new Snapshot(transactions, this, this.firstSnapshot, this.commandId);
    const data = transactions.snapshotData();
    const snapshot = new Snapshot(transactions, this, data, this.commandId);
    if (this.isolation === 'repeatable read') {
      // The first one is held until the end, and so holds for all that share its data.
      this.firstSnapshot = data;
      transactions.hold(new Snapshot(transactions, this, data, this.commandId));
    } else {
      transactions.hold(snapshot);
    }
    return snapshot;
  }

  /**
   * A snapshot of now in any isolation, for checks that no older view may decide; release it as {@link snapshot}'s.
   * PostgreSQL: `GetLatestSnapshot`.
   * @throws StorageError 25P02 or 25P01 when the transaction has failed or ended.
   */
  latestSnapshot(): Snapshot {
    if (this.state !== 'open') this.refuse();
    const { transactions } = this;
    const snapshot = new Snapshot(transactions, this, transactions.snapshotData(), this.commandId);
    transactions.hold(snapshot);
    return snapshot;
  }

  /** What to store in a tuple that this transaction inserted by command `cmin` and deletes by `cmax`. PostgreSQL: `GetComboCommandId`. */
  comboCid(cmin: number, cmax: number): number {
    this.combos ??= new ComboCids();
    return this.combos.of(cmin, cmax);
  }

  /** The command that inserted the tuple at byte `pos`, whose xmin is this transaction. PostgreSQL: `HeapTupleHeaderGetCmin`. */
  cmin(m: TupleMemory, pos: number): number {
    const raw = tupleCommandId(m, pos);
    return (tupleInfomask(m, pos) & HEAP_COMBOCID) === 0 ? raw : this.knownCombos(raw).cmin(raw);
  }

  /** The command that deleted or locked it, whose xmax is this transaction. PostgreSQL: `HeapTupleHeaderGetCmax`. */
  cmax(m: TupleMemory, pos: number): number {
    const raw = tupleCommandId(m, pos);
    return (tupleInfomask(m, pos) & HEAP_COMBOCID) === 0 ? raw : this.knownCombos(raw).cmax(raw);
  }

  /**
   * Sets a savepoint.
   * @returns its level: 1 for the first.
   * @throws StorageError 25P02 or 25P01 when the transaction has failed or ended.
   */
  savepoint(): number {
    if (this.state !== 'open') this.refuse();
    this.pushLevel();
    return this.level;
  }

  /**
   * Gives up the savepoint at `level` and those within it: what was done since belongs to the level around it.
   * @throws StorageError 3B001 when there is no such savepoint; 25P02 or 25P01.
   */
  releaseSavepoint(level: number): void {
    if (this.state !== 'open') this.refuse();
    this.needLevel(level);
    this.levels.length = level;
    this.xid = (this.levels[level - 1] as Level).xid;
  }

  /**
   * Takes back what was done since the savepoint at `level` was set; the savepoint stays, as if it were set anew. A failed
   * transaction goes on.
   * @throws StorageError 3B001 when there is no such savepoint; 25P01 when the transaction has ended.
   */
  rollbackTo(level: number): void {
    if (this.state !== 'open' && this.state !== 'failed') this.refuse();
    this.needLevel(level);
    const { childrenFrom, actionsFrom } = this.levels[level] as Level;
    const xids = this.children.splice(childrenFrom);
    const actions = this.actions.splice(actionsFrom);
    this.levels.length = level;
    this.pushLevel();
    this.state = 'open';
    this.failure = undefined;
    this.undo(xids, actions, false);
    this.transactions.locks.sweep(this);
  }

  /** Asks for something to be done at the end: see {@link EndAction}. */
  onEnd(action: EndAction): void {
    if (this.state !== 'open') this.refuse();
    this.actions.push(action);
  }

  /** The relation's files go if this commits. PostgreSQL: `RelationDropStorage`. @throws StorageError as {@link writeXid}. */
  removeAtCommit(file: RelationLocator): void {
    this.addFile(file, true);
  }

  /** The relation's files go if this, or the current savepoint, does not commit. PostgreSQL: `RelationCreateStorage`. @throws StorageError as {@link writeXid}. */
  removeAtAbort(file: RelationLocator): void {
    this.addFile(file, false);
  }

  /** A statement failed half-way: nothing more can be done but {@link abort} or {@link rollbackTo}. */
  fail(cause: unknown): void {
    if (this.state !== 'open') return;
    this.state = 'failed';
    this.failure = cause;
  }

  /**
   * Commits. It returns when the commit record is on the disk, or, without `synchronousCommit`, in the files of the WAL.
   * @throws StorageError 25P02 when the transaction has failed: it is aborted. 53100 when the disk has no room for the
   *   record: it is aborted, and all goes on. 58030 when a write or a sync of the WAL failed in another way: nothing goes
   *   on, and whether it committed is known after recovery only.
   */
  commit(): void {
    this.beginCommit();
    this.record(this.waitsForDisk);
    this.finishCommit();
  }

  /**
   * Commits together with others: one sync off the thread serves all that wait. Until then it is in progress for everybody
   * else. Without `synchronousCommit` nothing waits.
   * @throws StorageError as {@link commit}, as a rejection.
   */
  async commitAsync(): Promise<void> {
    this.beginCommit();
    // Files that go are gone before anything else happens: redo from a checkpoint in between would not see the record.
    const removes = filesOf(this.actions, true).length > 0;
    const lsn = this.record(removes);
    if (lsn !== 0 && !removes && this.synchronousCommit) await this.transactions.wal?.flushAsync(lsn);
    this.finishCommit();
  }

  /**
   * Rolls back. It needs no disk: a record that cannot be written is left out, for what did not commit is aborted. Of a
   * transaction that is aborted already, nothing happens.
   * @throws StorageError 25P01 when it has committed, 55000 while it is being committed.
   */
  abort(): void {
    if (this.state === 'aborted') return;
    if (this.state === 'committed') this.refuse();
    if (this.state === 'committing') {
      if (this.transactions.wal?.failed !== undefined) return; // its fate is in the WAL: recovery decides
      throw new StorageError('55000', 'the transaction is being committed and cannot be rolled back');
    }
    const { actions, children, topXid } = this;
    this.state = 'aborted';
    this.actions = [];
    this.levels.length = 1;
    this.undo(topXid === INVALID_XID ? [] : [topXid, ...children], actions, true);
  }

  private addFile(file: RelationLocator, atCommit: boolean): void {
    this.writeXid();
    this.actions.push(fileAction(file, atCommit));
  }

  private pushLevel(): void {
    this.levels.push({
      xid: INVALID_XID,
      childrenFrom: this.children.length,
      actionsFrom: this.actions.length,
    });
    this.xid = INVALID_XID;
  }

  /** Merges the savepoints, does the work that can still fail, and brings the pages of the commit log into memory. */
  private beginCommit(): void {
    if (this.state === 'failed') {
      const { failure } = this;
      this.abort();
      throw new StorageError('25P02', 'the transaction had failed: it is rolled back, not committed', {
        cause: failure,
      });
    }
    if (this.state !== 'open') this.refuse();
    this.levels.length = 1;
    this.xid = this.topXid;
    try {
      // An action may ask for others.
      for (let i = 0; i < this.actions.length; i++) (this.actions[i] as EndAction).beforeCommit?.();
      if (this.topXid !== INVALID_XID) this.transactions.commitLog.load(this.topXid, this.children);
    } catch (error) {
      this.abort();
      throw error;
    }
    this.state = 'committing';
  }

  /** Files that go with the commit are gone at once, so the record must be on the disk before. */
  private get waitsForDisk(): boolean {
    return this.synchronousCommit || filesOf(this.actions, true).length > 0;
  }

  /** The commit record, then the commit log. @returns the record's end; 0 when there is none. */
  private record(flush: boolean): Lsn {
    if (this.topXid === INVALID_XID) return 0;
    const lsn = this.logCommit(flush);
    // A commit that is not flushed yet is noted with its LSN: a checkpoint can come before the flush is done.
    this.transactions.commitLog.setTree(this.topXid, this.children, XID_COMMITTED, flush ? 0 : lsn);
    this.transactions.options.recorded?.([this.topXid, ...this.children]);
    return lsn;
  }

  /** Writes the commit record. @returns its end, 0 without a WAL. */
  private logCommit(flush: boolean): Lsn {
    const { wal } = this.transactions;
    if (wal === undefined) return 0;
    let inserted: WalMark | undefined;
    try {
      const mark = wal.mark();
      const lsn = insertEnd(wal, XACT_COMMIT, this.topXid, this.endOf(this.children, filesOf(this.actions, true)));
      inserted = mark;
      if (flush) wal.flush(lsn);
      else wal.write(lsn);
      return lsn;
    } catch (error) {
      if (inserted !== undefined && !this.takeBack(wal, inserted, error)) throw fateUnknown(error);
      this.state = 'open';
      this.abort();
      throw error;
    }
  }

  /** Takes the commit record out of the WAL. @returns false when it may be on the disk: then recovery decides, and nobody before it. */
  private takeBack(wal: TransactionWal, mark: WalMark, cause: unknown): boolean {
    if (wal.failed !== undefined) return false;
    if (wal.rewind(mark)) return true;
    wal.fail(cause);
    return false;
  }

  private finishCommit(): void {
    const { transactions, actions, children, topXid } = this;
    this.state = 'committed';
    this.actions = [];
    if (topXid !== INVALID_XID) transactions.end([topXid, ...children], true);
    transactions.leave(this);
    for (const action of actions) this.attempt('after a commit', () => action.commit?.());
    this.removeFiles(filesOf(actions, true), true);
  }

  /** Ends xids as aborted and calls back; never throws. */
  private undo(xids: readonly Xid[], actions: readonly EndAction[], whole: boolean): void {
    const { transactions } = this;
    const files = filesOf(actions, false);
    if (xids.length > 0) {
      const [first, ...rest] = xids as [Xid, ...Xid[]];
      this.logAbort(first, rest, files);
      try {
        transactions.commitLog.setTree(first, rest, XID_ABORTED, 0);
      } catch {
        // In progress in the commit log and not running means aborted, too.
      }
      transactions.end(xids, false);
    }
    if (whole) transactions.leave(this);
    for (let i = actions.length - 1; i >= 0; i--) {
      this.attempt('after a rollback', () => (actions[i] as EndAction).abort?.());
    }
    this.removeFiles(files, false);
  }

  private logAbort(xid: Xid, children: readonly Xid[], files: readonly RelationLocator[]): void {
    const { wal } = this.transactions;
    if (wal === undefined || wal.failed !== undefined) return;
    try {
      insertEnd(wal, XACT_ABORT, xid, this.endOf(children, files));
    } catch {
      // The disk is full. Recovery takes a transaction without a commit record for aborted, and removes the files it made.
    }
  }

  private endOf(children: readonly Xid[], files: readonly RelationLocator[]): TransactionEnd {
    return { timeMs: (this.transactions.options.clock ?? Date.now)(), children, files };
  }

  private removeFiles(files: readonly RelationLocator[], committed: boolean): void {
    if (files.length === 0) return;
    this.attempt('while files were removed', () => this.transactions.options.removeFiles?.(files, committed));
  }

  /** Calls what may not stop the end of a transaction. */
  private attempt(when: string, what: () => void): void {
    try {
      what();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.transactions.options.onWarning?.(`${when}: ${message}`, error);
    }
  }

  private knownCombos(combo: number): ComboCids {
    if (this.combos === undefined) throw new RangeError(`combo command id ${combo} was not made by this transaction`);
    return this.combos;
  }

  private needLevel(level: number): void {
    if (Number.isInteger(level) && level >= 1 && level < this.levels.length) return;
    const there = this.level === 0 ? 'there is none' : `there are 1 to ${this.level}`;
    throw new StorageError('3B001', `there is no savepoint ${String(level)}: ${there}`);
  }

  private refuse(): never {
    if (this.state === 'failed') {
      throw new StorageError('25P02', 'the transaction has failed: nothing more can be done in it', {
        hint: 'Roll it back, or roll back to a savepoint.',
        cause: this.failure,
      });
    }
    if (this.state === 'committing') throw new StorageError('55000', 'the transaction is being committed');
    throw new StorageError('25P01', `the transaction has ended: it was ${this.state}`);
  }
}

/** What to throw when a commit record may be on the disk, or not. */
function fateUnknown(cause: unknown): unknown {
  if (isStorageError(cause) && cause.code === '58030') return cause;
  const message = 'whether the transaction committed is known after recovery only: the WAL failed under its record';
  return new StorageError('58030', message, {
    detail: cause instanceof Error ? cause.message : String(cause),
    hint: 'Close the data directory and open it again.',
    cause,
  });
}
