// What became of transactions, by the commit log: what hint bits, links between versions and promises of visibility are
// held against. Only for files in which nothing is in progress: of a directory that was shut down.
import { FIRST_NORMAL_XID, isStorageError, type Xid } from '@blockwright/base';
import { INVISIBLE, judgeByHints, NO_HINTS, satisfiesMvcc, tupleUpdateXid, UNKNOWN, VISIBLE } from '@blockwright/heap';
import type { PageMemory } from '@blockwright/page';
import { type Snapshot, type Transactions, XID_COMMITTED, XID_IN_PROGRESS } from '@blockwright/transam';
import { HEAP_XMAX_INVALID, HEAP_XMIN_FROZEN, tupleInfomask, tupleXmax, tupleXmin } from '@blockwright/tuple';
import { type CommittedXids, MOST_COMMITTED_XIDS } from './committed-xids.ts';
import { type XidRange, xidFault } from './xids.ts';

/** Nothing that is read says what became of the transaction. */
export const FATE_UNKNOWN: number = -1;

export interface FatesOptions {
  /** Of files without a server: see `Transactions.offline`. */
  readonly transactions: Transactions;
  readonly xids: XidRange;
  /** Told once of each reason why the commit log cannot say something. */
  readonly onUnreadable: (error: Error) => void;
}

/** The fates of one directory's transactions. */
export class Fates {
  private readonly transactions: Transactions;
  private readonly snapshot: Snapshot;
  private readonly xids: XidRange;
  private readonly onUnreadable: (error: Error) => void;
  private readonly said = new Set<string>();
  private known: CommittedXids | undefined = undefined;

  constructor(options: FatesOptions) {
    this.transactions = options.transactions;
    this.snapshot = options.transactions.snapshot();
    this.xids = options.xids;
    this.onUnreadable = options.onUnreadable;
  }

  /** The XID_ status of `xid`; FATE_UNKNOWN where the log cannot say it, as of an id that cannot be in use. */
  of(xid: Xid): number {
    if (xidFault(xid, this.xids) !== undefined) return FATE_UNKNOWN;
    try {
      return this.transactions.commitLog.status(xid);
    } catch (error) {
      this.note(error);
      return FATE_UNKNOWN;
    }
  }

  /** Who updated or deleted the tuple, 0 for nobody; FATE_UNKNOWN where the members of its multixact cannot be read. */
  updaterOf(m: PageMemory, position: number): number {
    try {
      return tupleUpdateXid(m, position, tupleInfomask(m, position), this.transactions);
    } catch (error) {
      if (!isStorageError(error)) throw error;
      return FATE_UNKNOWN; // said of the tuple itself
    }
  }

  /** Why the members of a multixact cannot be read, undefined when they can. */
  multixactFault(multi: number): string | undefined {
    try {
      this.transactions.multixacts?.members(multi);
      return undefined;
    } catch (error) {
      if (!isStorageError(error)) throw error;
      return error.message;
    }
  }

  /** Whether everybody sees the tuple, whose hint bits do not say it: VISIBLE, INVISIBLE, UNKNOWN where the log cannot. */
  verdict(m: PageMemory, position: number): number {
    if (!this.canBeJudged(m, position)) return UNKNOWN;
    try {
      return satisfiesMvcc(m, position, this.snapshot, NO_HINTS) ? VISIBLE : INVISIBLE;
    } catch (error) {
      this.note(error);
      return UNKNOWN;
    }
  }

  /** Whether the tuple's ids are such as the log can know: what is wrong with others is said of the tuple itself. */
  private canBeJudged(m: PageMemory, position: number): boolean {
    const infomask = tupleInfomask(m, position);
    if ((infomask & HEAP_XMIN_FROZEN) === 0 && xidFault(tupleXmin(m, position), this.xids) !== undefined) return false;
    if ((infomask & HEAP_XMAX_INVALID) !== 0) return true;
    const updater = this.updaterOf(m, position);
    return updater !== FATE_UNKNOWN && xidFault(updater, this.xids) === undefined;
  }

  /** For the kernel: the newest xids, up to {@link MOST_COMMITTED_XIDS}. */
  committedXids(): CommittedXids {
    this.known ??= this.readCommitted();
    return this.known;
  }

  private readCommitted(): CommittedXids {
    const { next, nextEpoch, oldest } = this.xids;
    const first = oldest < FIRST_NORMAL_XID || (nextEpoch === 0 && oldest > next) ? FIRST_NORMAL_XID : oldest;
    const all = (next - first) >>> 0;
    const count = all < MOST_COMMITTED_XIDS ? all : MOST_COMMITTED_XIDS;
    const from = (next - count) >>> 0;
    const bits = new Uint8Array((count + 7) >>> 3);
    try {
      for (let i = 0; i < count; i++) {
        const xid = (from + i) >>> 0;
        if (xid >= FIRST_NORMAL_XID && this.transactions.commitLog.status(xid) === XID_COMMITTED)
          bits[i >>> 3] |= 1 << (i & 7);
      }
    } catch (error) {
      if (!isStorageError(error)) throw error; // what the log cannot say is not proven, and said of who asks for it
      bits.fill(0);
    }
    return { from, count, bits };
  }

  private note(error: unknown): void {
    if (!isStorageError(error)) throw error;
    if (this.said.has(error.message)) return;
    this.said.add(error.message);
    this.onUnreadable(error);
  }
}

/** Whether everybody sees a tuple, by its hint bits, else by the commit log: VISIBLE, INVISIBLE or UNKNOWN. */
export function verdictOf(m: PageMemory, position: number, fates: Fates | undefined): number {
  const byHints = judgeByHints(tupleInfomask(m, position), tupleXmin(m, position), tupleXmax(m, position));
  return byHints === UNKNOWN && fates !== undefined ? fates.verdict(m, position) : byHints;
}

/** A status in words that follow "the commit log says that it". */
export function fateText(fate: number): string {
  if (fate === XID_COMMITTED) return 'committed';
  return fate === XID_IN_PROGRESS ? 'never ended' : 'aborted';
}
