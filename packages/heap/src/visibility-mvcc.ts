// Whether a snapshot sees a tuple. Everything that a header alone cannot answer is here; the loops over pages decide the
// plain cases themselves.
import { BOOTSTRAP_XID, FROZEN_XID, INVALID_XID, type Xid } from '@blockwright/base';
import type { PageMemory } from '@blockwright/page';
import type { Snapshot, Transaction } from '@blockwright/transam';
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
import { tupleUpdateXid } from './visibility-multi.ts';

/**
 * Whether `snapshot` sees the tuple at `pos`: its inserter had committed when the snapshot was taken, or is the
 * snapshot's own transaction in an earlier command; and its deleter had not, or is an own later command. What the commit
 * log says on the way is set as hint bits, as far as `hints` takes them. PostgreSQL: `HeapTupleSatisfiesMVCC`,
 * heapam_visibility.c.
 * @throws StorageError 58P01 when the commit log's segment is gone, XX001 for a multixact without members.
 */
export function satisfiesMvcc(m: PageMemory, pos: number, snapshot: Snapshot, hints: HintSink): boolean {
  const infomask = tupleInfomask(m, pos);
  const xminBits = infomask & HEAP_XMIN_FROZEN;
  const xmin = tupleXmin(m, pos);
  if (xminBits === HEAP_XMIN_INVALID) return false;
  if (xminBits === HEAP_XMIN_COMMITTED) {
    if (snapshot.inProgress(xmin)) return false;
  } else if (xminBits === 0 && xmin !== FROZEN_XID && xmin !== BOOTSTRAP_XID) {
    if ((infomask & HEAP_MOVED) !== 0) {
      if (!movedTupleIsThere(m, pos, infomask, snapshot.transactions, hints)) return false;
    } else if (snapshot.transaction?.isCurrent(xmin) === true) {
      return ownIsVisible(m, pos, infomask, snapshot, snapshot.transaction, hints);
    } else if (!hasCommitted(m, pos, xmin, snapshot, hints)) return false;
  }
  return !isDeleted(m, pos, infomask, snapshot, hints);
}

/** Whether the inserter, no own one, had committed for the snapshot. */
function hasCommitted(m: PageMemory, pos: number, xmin: Xid, snapshot: Snapshot, hints: HintSink): boolean {
  if (snapshot.inProgress(xmin)) return false;
  const { transactions } = snapshot;
  const committed = transactions.didCommit(xmin);
  if (committed) hints.setCommitted(m, pos, HEAP_XMIN_COMMITTED, transactions, xmin);
  else hints.set(m, pos, HEAP_XMIN_INVALID);
  return committed;
}

/** Whether the snapshot's transaction sees a tuple that itself inserted. */
function ownIsVisible(
  m: PageMemory,
  pos: number,
  infomask: number,
  snapshot: Snapshot,
  transaction: Transaction,
  hints: HintSink,
): boolean {
  if (transaction.cmin(m, pos) >= snapshot.commandId) return false;
  if ((infomask & HEAP_XMAX_INVALID) !== 0) return true;
  const deleter = tupleUpdateXid(m, pos, infomask, snapshot.transactions);
  if (deleter === INVALID_XID) return true;
  if (!transaction.isCurrent(deleter)) {
    // Only the own transaction could delete it: a savepoint of it did, and was rolled back.
    if ((infomask & HEAP_XMAX_IS_MULTI) === 0) hints.set(m, pos, HEAP_XMAX_INVALID);
    return true;
  }
  return transaction.cmax(m, pos) >= snapshot.commandId;
}

/** Whether the snapshot takes a tuple, whose insertion it sees, for deleted. */
function isDeleted(m: PageMemory, pos: number, infomask: number, snapshot: Snapshot, hints: HintSink): boolean {
  if ((infomask & HEAP_XMAX_INVALID) !== 0 || isXmaxLockOnly(infomask)) return false;
  const { transactions, transaction } = snapshot;
  const isMulti = (infomask & HEAP_XMAX_IS_MULTI) !== 0;
  const deleter = isMulti ? tupleUpdateXid(m, pos, infomask, transactions) : tupleXmax(m, pos);
  if (deleter === INVALID_XID) return false;
  const isKnown = !isMulti && (infomask & HEAP_XMAX_COMMITTED) !== 0;
  if (!isKnown && transaction?.isCurrent(deleter) === true) return transaction.cmax(m, pos) < snapshot.commandId;
  if (snapshot.inProgress(deleter)) return false;
  if (isKnown) return true;
  const committed = transactions.didCommit(deleter);
  if (!isMulti) {
    if (committed) hints.setCommitted(m, pos, HEAP_XMAX_COMMITTED, transactions, deleter);
    else hints.set(m, pos, HEAP_XMAX_INVALID);
  }
  return committed;
}
