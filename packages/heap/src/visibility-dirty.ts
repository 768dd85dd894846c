// Whether a tuple is there now, whatever snapshots see: for unique keys, which what is not yet committed may take, too.
import { BOOTSTRAP_XID, FROZEN_XID, INVALID_XID, type Xid } from '@blockwright/base';
import type { PageMemory } from '@blockwright/page';
import { type Transaction, type Transactions, xidPrecedes } from '@blockwright/transam';
import {
  HEAP_MOVED,
  HEAP_XMAX_COMMITTED,
  HEAP_XMAX_INVALID,
  HEAP_XMAX_IS_MULTI,
  HEAP_XMIN_FROZEN,
  HEAP_XMIN_INVALID,
  isXmaxLockOnly,
  tupleInfomask,
  tupleXmax,
  tupleXmin,
} from '@blockwright/tuple';
import type { HintSink } from './hints.ts';
import { movedTupleIsThere } from './visibility-moved.ts';
import { tupleUpdateXid } from './visibility-multi.ts';
import { noteXminFate } from './visibility-vacuum.ts';

/** Judges tuples for one transaction, or for nobody. PostgreSQL: `HeapTupleSatisfiesDirty`, heapam_visibility.c. */
export class DirtyFate {
  /** Who asks: what it did itself counts as done, in whatever command. */
  tx: Transaction | undefined = undefined;
  /** Of a tuple that is there: the other transaction in progress that inserted or deletes it, else 0. */
  decidedBy: Xid = INVALID_XID;
  private readonly transactions: Transactions;

  constructor(transactions: Transactions) {
    this.transactions = transactions;
  }

  /** Whether the tuple at `pos` is there: inserted, also by a transaction in progress, and not deleted, or not yet. */
  isThere(m: PageMemory, pos: number, hints: HintSink): boolean {
    const { transactions } = this;
    const infomask = tupleInfomask(m, pos);
    const xminBits = infomask & HEAP_XMIN_FROZEN;
    const xmin = tupleXmin(m, pos);
    this.decidedBy = INVALID_XID;
    if (xminBits === HEAP_XMIN_INVALID) return false;
    if (xminBits === 0 && xmin !== FROZEN_XID && xmin !== BOOTSTRAP_XID) {
      if ((infomask & HEAP_MOVED) !== 0) {
        if (!movedTupleIsThere(m, pos, infomask, transactions, hints)) return false;
      } else if (this.isOwn(xmin)) return !this.isDeletedByItself(m, pos, infomask);
      else if (transactions.isInProgress(xmin)) {
        this.decidedBy = xmin;
        return true;
      } else if (!noteXminFate(m, pos, xmin, transactions, hints)) return false;
    }
    return !this.isDeleted(m, pos, infomask, hints);
  }

  private isOwn(xid: Xid): boolean {
    return this.tx?.isCurrent(xid) === true;
  }

  /** Of an own tuple: a savepoint that deleted it and was rolled back deleted nothing. */
  private isDeletedByItself(m: PageMemory, pos: number, infomask: number): boolean {
    if ((infomask & HEAP_XMAX_INVALID) !== 0 || isXmaxLockOnly(infomask)) return false;
    return this.isOwn(tupleUpdateXid(m, pos, infomask, this.transactions));
  }

  private isDeleted(m: PageMemory, pos: number, infomask: number, hints: HintSink): boolean {
    const { transactions } = this;
    if ((infomask & HEAP_XMAX_INVALID) !== 0 || isXmaxLockOnly(infomask)) return false;
    const isMulti = (infomask & HEAP_XMAX_IS_MULTI) !== 0;
    if (!isMulti && (infomask & HEAP_XMAX_COMMITTED) !== 0) return true;
    const deleter = tupleUpdateXid(m, pos, infomask, transactions);
    if (deleter === INVALID_XID) return false;
    if (this.isOwn(deleter)) return true;
    if (transactions.isInProgress(deleter)) {
      this.decidedBy = deleter;
      return false;
    }
    if (!transactions.didCommit(deleter)) {
      if (!isMulti) hints.set(m, pos, HEAP_XMAX_INVALID);
      return false;
    }
    if (!isMulti) hints.setCommitted(m, pos, HEAP_XMAX_COMMITTED, transactions, deleter);
    return true;
  }
}

/**
 * Whether hint bits alone say that nobody sees the tuple at `pos` any more: for entries that may be killed, which is worth
 * no look at the commit log. PostgreSQL: `HeapTupleIsSurelyDead`, heapam_visibility.c.
 */
export function isSurelyDead(m: PageMemory, pos: number, transactions: Transactions): boolean {
  const infomask = tupleInfomask(m, pos);
  const xminBits = infomask & HEAP_XMIN_FROZEN;
  if (xminBits === HEAP_XMIN_INVALID) return true;
  if (xminBits === 0) return false;
  if ((infomask & (HEAP_XMAX_INVALID | HEAP_XMAX_IS_MULTI)) !== 0 || isXmaxLockOnly(infomask)) return false;
  if ((infomask & HEAP_XMAX_COMMITTED) === 0) return false;
  return xidPrecedes(tupleXmax(m, pos), transactions.horizon());
}
