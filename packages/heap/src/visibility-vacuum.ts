// Whether a tuple can still be seen by anybody: for pruning, vacuum, freezing.
import { BOOTSTRAP_XID, FROZEN_XID, INVALID_XID, type Xid } from '@blockwright/base';
import type { PageMemory } from '@blockwright/page';
import { type Transactions, xidPrecedes } from '@blockwright/transam';
import {
  HEAP_MOVED,
  HEAP_XMAX_COMMITTED,
  HEAP_XMAX_INVALID,
  HEAP_XMAX_IS_MULTI,
  HEAP_XMIN_COMMITTED,
  HEAP_XMIN_FROZEN,
  HEAP_XMIN_INVALID,
  isXmaxLockOnly,
  tupleInfomask,
  tupleXmax,
  tupleXmin,
} from '@blockwright/tuple';
import type { HintSink } from './hints.ts';
import { movedTupleIsThere } from './visibility-moved.ts';
import { multixactIsRunning, tupleUpdateXid } from './visibility-multi.ts';

/** No snapshot sees the tuple, nor will one: it may be removed. */
export const HEAPTUPLE_DEAD = 0;
/** Inserted by a committed transaction and not deleted. */
export const HEAPTUPLE_LIVE = 1;
/** Deleted by a committed transaction, and an open snapshot may still see it. */
export const HEAPTUPLE_RECENTLY_DEAD = 2;
/** Its inserter is in progress. */
export const HEAPTUPLE_INSERT_IN_PROGRESS = 3;
/** Its deleter is in progress. */
export const HEAPTUPLE_DELETE_IN_PROGRESS = 4;

/**
 * What the tuple at `pos` is to everybody: one of the HEAPTUPLE_ codes. `horizon` is {@link Transactions.horizon}: what
 * a transaction before it deleted, nobody sees. PostgreSQL: `HeapTupleSatisfiesVacuum`, heapam_visibility.c, which calls
 * a tuple that another transaction in progress has inserted and deleted again "insert in progress".
 * @throws StorageError 58P01 when the commit log's segment is gone, XX001 for a multixact without members.
 */
export function satisfiesVacuum(
  m: PageMemory,
  pos: number,
  transactions: Transactions,
  horizon: Xid,
  hints: HintSink,
): number {
  const infomask = tupleInfomask(m, pos);
  const xminBits = infomask & HEAP_XMIN_FROZEN;
  const xmin = tupleXmin(m, pos);
  if (xminBits === HEAP_XMIN_INVALID) return HEAPTUPLE_DEAD;
  if (xminBits === 0 && xmin !== FROZEN_XID && xmin !== BOOTSTRAP_XID) {
    if ((infomask & HEAP_MOVED) !== 0) {
      if (!movedTupleIsThere(m, pos, infomask, transactions, hints)) return HEAPTUPLE_DEAD;
    } else if (transactions.isInProgress(xmin)) {
      return inProgress(m, pos, infomask, transactions);
    } else if (!noteXminFate(m, pos, xmin, transactions, hints)) return HEAPTUPLE_DEAD;
  }
  if ((infomask & HEAP_XMAX_INVALID) !== 0) return HEAPTUPLE_LIVE;
  if (isXmaxLockOnly(infomask)) {
    noteLockersGone(m, pos, infomask, transactions, hints);
    return HEAPTUPLE_LIVE;
  }
  const isMulti = (infomask & HEAP_XMAX_IS_MULTI) !== 0;
  const deleter = tupleUpdateXid(m, pos, infomask, transactions);
  if (deleter === INVALID_XID) return HEAPTUPLE_LIVE;
  if (isMulti || (infomask & HEAP_XMAX_COMMITTED) === 0) {
    if (transactions.isInProgress(deleter)) return HEAPTUPLE_DELETE_IN_PROGRESS;
    if (!transactions.didCommit(deleter)) {
      if (!isMulti || !multixactIsRunning(m, pos, infomask, transactions)) hints.set(m, pos, HEAP_XMAX_INVALID);
      return HEAPTUPLE_LIVE;
    }
    if (!isMulti) hints.setCommitted(m, pos, HEAP_XMAX_COMMITTED, transactions, deleter);
  }
  return xidPrecedes(deleter, horizon) ? HEAPTUPLE_DEAD : HEAPTUPLE_RECENTLY_DEAD;
}

/** Sets the hint bit for what became of `xmin`, which has ended. @returns whether it committed */
export function noteXminFate(
  m: PageMemory,
  pos: number,
  xmin: Xid,
  transactions: Transactions,
  hints: HintSink,
): boolean {
  const committed = transactions.didCommit(xmin);
  if (committed) hints.setCommitted(m, pos, HEAP_XMIN_COMMITTED, transactions, xmin);
  else hints.set(m, pos, HEAP_XMIN_INVALID);
  return committed;
}

/** A tuple whose inserter is in progress: deleted again by a transaction in progress, or only inserted. */
function inProgress(m: PageMemory, pos: number, infomask: number, transactions: Transactions): number {
  if ((infomask & HEAP_XMAX_INVALID) !== 0) return HEAPTUPLE_INSERT_IN_PROGRESS;
  const deleter = tupleUpdateXid(m, pos, infomask, transactions);
  const isDeleted = deleter !== INVALID_XID && transactions.isInProgress(deleter);
  return isDeleted ? HEAPTUPLE_DELETE_IN_PROGRESS : HEAPTUPLE_INSERT_IN_PROGRESS;
}

/** A live tuple's lockers, once they are all gone, are noted so: it does not matter how they ended. */
function noteLockersGone(
  m: PageMemory,
  pos: number,
  infomask: number,
  transactions: Transactions,
  hints: HintSink,
): void {
  if ((infomask & HEAP_XMAX_COMMITTED) !== 0) return;
  const xmax = tupleXmax(m, pos);
  const isHeld =
    (infomask & HEAP_XMAX_IS_MULTI) !== 0
      ? multixactIsRunning(m, pos, infomask, transactions)
      : transactions.isInProgress(xmax);
  if (!isHeld) hints.set(m, pos, HEAP_XMAX_INVALID);
}
