// What a statement sees: of all transactions, those that had ended when the snapshot was taken. PostgreSQL:
// SnapshotData, GetSnapshotData (procarray.c), XidInMVCCSnapshot (snapmgr.c).
//
//   ended ..... | xmin .. in progress or ended .. | xmax .. not handed out yet, or still running
//               what `running` lists is in progress
//
// The xids in progress are int32 words, oldest first; compared by their distance from xmin, which is the same on both sides
// of a wraparound.
import type { Xid } from '@blockwright/base';
import type { Transaction } from './transaction.ts';
import type { Transactions } from './transactions.ts';

/** The part that snapshots share as long as no transaction ends. */
export interface SnapshotData {
  /** xmin as an int32. */
  readonly xminWord: number;
  /** xmax − 1 as a distance from xmin: -1 when they are equal; 2^31 − 1 when everything has ended. */
  readonly last: number;
  /** The xids in progress before xmax, transactions' and savepoints', as int32, oldest first. */
  readonly running: Int32Array;
}

/** Of a reader of files without a server: nothing is in progress, all that committed is seen. */
export const SEES_ALL: SnapshotData = { xminWord: 3, last: 0x7fff_ffff, running: new Int32Array(0) };

/**
 * A fixed view of which transactions have ended. Usable until {@link release}; while it is held, no row version that it
 * sees is removed.
 */
export class Snapshot {
  /** Rows that the own transaction wrote by an earlier command are seen, those of this and later ones are not. */
  commandId: number;
  /** Whose statement this is; undefined for a reader without a transaction. */
  readonly transaction: Transaction | undefined;
  readonly transactions: Transactions;
  /**
   * Every xid up to this distance from {@link xmin}, modulo 2^32 as an int32, had ended: for loops that want to know the
   * plain cases by one comparison. -1 while anything is in progress.
   */
  readonly settled: number;
  private readonly xminWord: number;
  private readonly last: number;
  private readonly running: Int32Array;
  /** @internal Neighbours in the list of snapshots that hold back the horizon, oldest first. */
  older: Snapshot | undefined = undefined;
  /** @internal */
  newer: Snapshot | undefined = undefined;
  /** @internal Whether it is in that list. */
  registered: boolean = false;

  /** @internal Taken by {@link Transaction.snapshot} or {@link Transactions.snapshot}. */
  constructor(transactions: Transactions, transaction: Transaction | undefined, data: SnapshotData, commandId: number) {
    this.commandId = commandId;
    this.transaction = transaction;
    this.transactions = transactions;
    this.settled = data.running.length === 0 ? data.last : -1;
    this.xminWord = data.xminWord;
    this.last = data.last;
    this.running = data.running;
  }

  /** Every xid before it had ended. */
  get xmin(): Xid {
    return this.xminWord >>> 0;
  }

  /** Every xid from it on counts as in progress. */
  get xmax(): Xid {
    return (this.xminWord + this.last + 1) >>> 0;
  }

  /**
   * Whether `xid` had not ended when the snapshot was taken, or was not even handed out: what it wrote is not seen. The
   * own transaction's xids are not told apart, {@link Transaction.isCurrent} comes first. PostgreSQL: `XidInMVCCSnapshot`.
   */
  inProgress(xid: Xid): boolean {
    const distance = ((xid | 0) - this.xminWord) | 0;
    if (distance < 0) return false;
    if (distance > this.last) return xid > 2; // a permanent xid is never in progress, on whichever side it seems to be
    const { running, xminWord } = this;
    let low = 0;
    let high = running.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (((running[middle] - xminWord) | 0) < distance) low = middle + 1;
      else high = middle;
    }
    return low < running.length && running[low] === (xid | 0);
  }

  /** Ends the use of the snapshot: it holds nothing back any more. Releasing twice is fine. */
  release(): void {
    this.transactions.forget(this);
  }
}
