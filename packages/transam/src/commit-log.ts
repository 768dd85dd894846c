// The commit log: two bits a transaction, what became of it. PostgreSQL: clog.c.
import { FIRST_NORMAL_XID, INVALID_XID, type Lsn, StorageError, type Xid } from '@blockwright/base';
import type { Vfs } from '@blockwright/vfs';
import { type CommitLogPage, CommitLogPages, LSN_GROUP_SHIFT, SEGMENT_PAGES_SHIFT } from './commit-log-pages.ts';
import { insertTruncate, insertZeroPage, reserveZeroPage } from './records.ts';
import type { TransactionWal } from './transaction-wal.ts';
import { xidFollows, xidFollowsOrEquals, xidPrecedes } from './xids.ts';

/** Running; or, when nothing knows it as running, lost in a crash, which is the same as aborted. PostgreSQL: `TRANSACTION_STATUS_IN_PROGRESS`. */
export const XID_IN_PROGRESS = 0;
/** PostgreSQL: `TRANSACTION_STATUS_COMMITTED`. */
export const XID_COMMITTED = 1;
/** PostgreSQL: `TRANSACTION_STATUS_ABORTED`. */
export const XID_ABORTED = 2;
/** A savepoint that ended well in a transaction that had not ended. Read, never written. PostgreSQL: `TRANSACTION_STATUS_SUB_COMMITTED`. */
export const XID_SUB_COMMITTED = 3;

export interface CommitLogOptions {
  readonly vfs: Vfs;
  /** Of the segment files: `xact` of our directories, `pg_xact` of PostgreSQL's. It exists. */
  readonly directory: string;
  /** The block size: a power of two from 1024 to 32768. */
  readonly pageBytes: number;
  /** Nothing is written, not even by {@link CommitLog.flush}. */
  readonly readOnly?: boolean;
  readonly wal?: TransactionWal;
}

export class CommitLog {
  readonly directory: string;
  readonly readOnly: boolean;
  private readonly pages: CommitLogPages;
  private readonly wal: TransactionWal | undefined;
  /** From an xid to its page, and to its byte. */
  private readonly pageShift: number;
  private readonly byteMask: number;
  private readonly indexMask: number;
  private last: CommitLogPage | undefined = undefined;
  /** The newest xid that there is room for; 0 when unknown. */
  private newest: Xid = 0;
  /** The greatest LSN that a commit was noted with. */
  private latestLsn: Lsn = 0;

  /** @throws RangeError when `pageBytes` is no block size. */
  constructor(options: CommitLogOptions) {
    const { pageBytes } = options;
    const shift = 31 - Math.clz32(pageBytes);
    if (pageBytes !== 1 << shift || shift < 10 || shift > 15) {
      throw new RangeError(`a page of ${String(pageBytes)} bytes: a power of two from 1 kB to 32 kB is meant`);
    }
    this.directory = options.directory;
    this.readOnly = options.readOnly ?? false;
    this.wal = options.wal;
    this.pageShift = shift + 2;
    this.byteMask = pageBytes - 1;
    this.indexMask = (1 << this.pageShift) - 1;
    this.pages = new CommitLogPages({ ...options, readOnly: this.readOnly, wal: options.wal });
  }

  /**
   * During redo a page that is missing is zero: its record comes later, or a truncation after the records that are being
   * replayed has removed it. Off otherwise.
   */
  set recovering(value: boolean) {
    this.pages.recovering = value;
  }

  /**
   * What the log says of `xid`: one of the four states. Permanent xids are committed, none (0) is aborted.
   * PostgreSQL: `TransactionIdGetStatus`, `TransactionLogFetch`.
   * @throws StorageError 58P01 naming the segment file when it is missing; XX001 when it is too short.
   */
  status(xid: Xid): number {
    if (xid < FIRST_NORMAL_XID) return xid === INVALID_XID ? XID_ABORTED : XID_COMMITTED;
    const page = this.pageOf(xid);
    return (page.bytes[(xid >>> 2) & this.byteMask] >>> ((xid & 3) << 1)) & 3;
  }

  /** Notes what became of one transaction. As {@link setTree} without children. */
  set(xid: Xid, status: number, lsn: Lsn): void {
    this.setTree(xid, NO_XIDS, status, lsn);
  }

  /**
   * Notes what became of a transaction and its savepoints, all or nothing: every page is there before a bit changes.
   * @param lsn end of the commit record when it is not flushed yet: its page is not written before, and {@link lsnOf}
   *   tells it; 0 when it is flushed, or there is nothing to wait for. PostgreSQL: `TransactionIdSetTreeStatus`.
   * @throws StorageError as {@link status}, and 25006 when opened read only.
   */
  setTree(xid: Xid, children: readonly Xid[], status: number, lsn: Lsn): void {
    this.load(xid, children);
    this.put(xid, status, lsn);
    for (const child of children) this.put(child, status, lsn);
    if (lsn > this.latestLsn) this.latestLsn = lsn;
  }

  /**
   * Brings the pages into memory that {@link setTree} will need, so that it cannot fail after the commit record is
   * on the disk.
   * @throws StorageError as {@link setTree}.
   */
  load(xid: Xid, children: readonly Xid[]): void {
    this.refuseReadOnly();
    this.pageOf(xid);
    for (const child of children) this.pageOf(child);
  }

  /**
   * The WAL position that must be flushed before a hint bit may say that `xid` committed; 0 for none. It may be that of
   * a neighbour among 32 xids. PostgreSQL: `TransactionIdGetCommitLSN`.
   */
  lsnOf(xid: Xid): Lsn {
    if (xid < FIRST_NORMAL_XID || this.latestLsn === 0) return 0;
    const lsns = this.pages.cached(xid >>> this.pageShift)?.lsns;
    return lsns === undefined ? 0 : lsns[(xid & this.indexMask) >>> LSN_GROUP_SHIFT];
  }

  /** Whether every commit that was noted so far is flushed: then no {@link lsnOf} needs to be asked. */
  get isFlushed(): boolean {
    return this.latestLsn === 0 || this.wal === undefined || this.latestLsn <= this.wal.flushedUpTo;
  }

  /**
   * Makes room for `xid` before it is handed out: when it is the first of its page, the page is made on the disk and its
   * record inserted. PostgreSQL: `ExtendCLOG`.
   * @throws StorageError 53100 and the like: everything is as it was.
   */
  extendTo(xid: Xid): void {
    if ((xid & this.indexMask) !== 0 && xid !== FIRST_NORMAL_XID) {
      this.newest = xid;
      return;
    }
    this.refuseReadOnly();
    const page = xid >>> this.pageShift;
    this.last = undefined;
    if (this.wal !== undefined) reserveZeroPage(this.wal);
    this.pages.extend(page);
    if (this.wal !== undefined) insertZeroPage(this.wal, page);
    this.zeroPage(page);
    this.newest = xid;
  }

  /** @internal Makes a page all zero: redo of its record. */
  zeroPage(page: number): void {
    this.last = undefined;
    this.pages.zero(page);
  }

  /**
   * When a server starts: what stands at `nextXid` and after it on its page is made zero, for it may be of xids whose
   * every trace in the WAL was lost, and that are handed out again. PostgreSQL: `TrimCLOG`.
   * @throws StorageError as {@link status}.
   */
  trim(nextXid: Xid): void {
    this.newest = nextXid;
    if (this.readOnly || nextXid === FIRST_NORMAL_XID || (nextXid & this.indexMask) === 0) return;
    const page = this.pageOf(nextXid);
    const at = (nextXid >>> 2) & this.byteMask;
    const kept = page.bytes[at] & ((1 << ((nextXid & 3) << 1)) - 1);
    let rest = at + 1;
    while (rest < page.bytes.length && page.bytes[rest] === 0) rest++;
    if (kept === page.bytes[at] && rest === page.bytes.length) return;
    page.bytes[at] = kept;
    page.bytes.fill(0, at + 1);
    page.dirty = true;
  }

  /**
   * Writes changed pages, WAL before them, and syncs: part of a checkpoint.
   * @throws StorageError 53100 and the like when a write fails: may be tried again; 58030 when a sync fails: the WAL is
   *   told to stop.
   */
  flush(): void {
    this.pages.flush();
  }

  /**
   * Removes the segments whose transactions are all older than `oldest`. A horizon in the future removes nothing.
   * PostgreSQL: `TruncateCLOG`.
   * @returns the number of files removed.
   */
  truncate(oldest: Xid): number {
    this.refuseReadOnly();
    if (oldest < FIRST_NORMAL_XID || this.newest === 0 || xidFollows(oldest, this.newest)) return 0;
    this.flush();
    if (this.wal !== undefined) this.wal.flush(insertTruncate(this.wal, oldest >>> this.pageShift, oldest));
    return this.removeBefore(oldest);
  }

  /** @internal Removes segments: redo of a truncation too. */
  removeBefore(oldest: Xid): number {
    this.last = undefined;
    const cutoff = ((oldest >>> this.pageShift) << this.pageShift) >>> 0;
    const first = cutoff < FIRST_NORMAL_XID ? FIRST_NORMAL_XID : cutoff;
    const shift = this.pageShift + SEGMENT_PAGES_SHIFT;
    const highest = 0xffff_ffff >>> shift;
    const removed = this.pages.remove((segment) => {
      if (segment > highest) return false;
      const from = (segment << shift) >>> 0;
      const to = (from + ((1 << shift) - 1)) >>> 0;
      return xidPrecedes(from < FIRST_NORMAL_XID ? FIRST_NORMAL_XID : from, first) && !xidFollowsOrEquals(to, first);
    });
    if (removed > 0) this.pages.flush();
    return removed;
  }

  /** Closes the files. Writes nothing: what was not flushed is replayed from the WAL. */
  close(): void {
    this.last = undefined;
    this.pages.close();
  }

  private put(xid: Xid, status: number, lsn: Lsn): void {
    const page = this.pageOf(xid);
    const at = (xid >>> 2) & this.byteMask;
    const bit = (xid & 3) << 1;
    page.bytes[at] = (page.bytes[at] & ~(3 << bit)) | (status << bit);
    page.dirty = true;
    if (lsn === 0) return;
    page.lsns ??= new Float64Array((this.indexMask + 1) >>> LSN_GROUP_SHIFT);
    const group = (xid & this.indexMask) >>> LSN_GROUP_SHIFT;
    if (lsn > page.lsns[group]) page.lsns[group] = lsn;
    if (lsn > page.lsn) page.lsn = lsn;
  }

  private pageOf(xid: Xid): CommitLogPage {
    const number = xid >>> this.pageShift;
    const last = this.last;
    if (last !== undefined && last.number === number) return last;
    const page = this.pages.page(number);
    this.last = page;
    return page;
  }

  private refuseReadOnly(): void {
    if (this.readOnly) throw new StorageError('25006', `commit log "${this.directory}" was opened read only`);
  }
}

const NO_XIDS: readonly Xid[] = [];
