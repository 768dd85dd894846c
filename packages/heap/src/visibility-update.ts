// Whether a transaction may change a tuple now, and if not, why.
import { type BlockNumber, BOOTSTRAP_XID, FROZEN_XID, INVALID_XID, type OffsetNumber } from '@blockwright/base';
import type { PageMemory } from '@blockwright/page';
import type { Transaction, Transactions } from '@blockwright/transam';
import {
  HEAP_MOVED,
  HEAP_XMAX_COMMITTED,
  HEAP_XMAX_INVALID,
  HEAP_XMAX_IS_MULTI,
  HEAP_XMIN_FROZEN,
  HEAP_XMIN_INVALID,
  isXmaxLockOnly,
  tupleCtidBlock,
  tupleCtidOffset,
  tupleInfomask,
  tupleXmax,
  tupleXmin,
} from '@blockwright/tuple';
import type { HintSink } from './hints.ts';
import { movedTupleIsThere } from './visibility-moved.ts';
import { multixactIsRunning, tupleUpdateXid } from './visibility-multi.ts';
import { noteXminFate } from './visibility-vacuum.ts';

/** The tuple may be changed. */
export const TM_OK = 0;
/** It is not there for this command: not inserted, not yet, or deleted by an earlier own command. */
export const TM_INVISIBLE = 1;
/** The transaction changed it itself, in this command or a later one. */
export const TM_SELF_MODIFIED = 2;
/** A committed transaction has updated it: t_ctid leads to the newer version. */
export const TM_UPDATED = 3;
/** A committed transaction has deleted it. */
export const TM_DELETED = 4;
/** A transaction in progress has updated, deleted or locked it; also this one, if it only locked it. */
export const TM_BEING_MODIFIED = 5;

/**
 * What `transaction`, in its command `commandId`, may do with the tuple at `pos`, whose TID is (block, offset): one of
 * the TM_ codes, judged by what is so now and not by a snapshot. PostgreSQL: `HeapTupleSatisfiesUpdate`,
 * heapam_visibility.c.
 * @throws StorageError 58P01 when the commit log's segment is gone, XX001 for a multixact without members.
 */
export function satisfiesUpdate(
  m: PageMemory,
  pos: number,
  block: BlockNumber,
  offset: OffsetNumber,
  transactions: Transactions,
  transaction: Transaction,
  commandId: number,
  hints: HintSink,
): number {
  const infomask = tupleInfomask(m, pos);
  const xminBits = infomask & HEAP_XMIN_FROZEN;
  const xmin = tupleXmin(m, pos);
  if (xminBits === HEAP_XMIN_INVALID) return TM_INVISIBLE;
  if (xminBits === 0 && xmin !== FROZEN_XID && xmin !== BOOTSTRAP_XID) {
    if ((infomask & HEAP_MOVED) !== 0) {
      if (!movedTupleIsThere(m, pos, infomask, transactions, hints)) return TM_INVISIBLE;
    } else if (transaction.isCurrent(xmin)) {
      return ownForUpdate(m, pos, infomask, transactions, transaction, commandId, hints);
    } else {
      if (transactions.isInProgress(xmin)) return TM_INVISIBLE;
      if (!noteXminFate(m, pos, xmin, transactions, hints)) return TM_INVISIBLE;
    }
  }
  if ((infomask & HEAP_XMAX_INVALID) !== 0) return TM_OK;
  const xmax = tupleXmax(m, pos);
  if ((infomask & HEAP_XMAX_IS_MULTI) !== 0) {
    const code = multiForUpdate(m, pos, infomask, transactions, transaction, commandId, hints);
    return code === TM_DELETED ? updatedOrDeleted(m, pos, block, offset) : code;
  }
  const locksOnly = isXmaxLockOnly(infomask);
  if ((infomask & HEAP_XMAX_COMMITTED) !== 0) return locksOnly ? TM_OK : updatedOrDeleted(m, pos, block, offset);
  if (xmax === INVALID_XID) return TM_OK;
  if (transaction.isCurrent(xmax)) {
    return locksOnly ? TM_BEING_MODIFIED : ownCommand(transaction.cmax(m, pos), commandId);
  }
  if (transactions.isInProgress(xmax)) return TM_BEING_MODIFIED;
  if (locksOnly || !transactions.didCommit(xmax)) {
    hints.set(m, pos, HEAP_XMAX_INVALID);
    return TM_OK;
  }
  hints.setCommitted(m, pos, HEAP_XMAX_COMMITTED, transactions, xmax);
  return updatedOrDeleted(m, pos, block, offset);
}

/** A tuple that the transaction itself inserted. */
function ownForUpdate(
  m: PageMemory,
  pos: number,
  infomask: number,
  transactions: Transactions,
  transaction: Transaction,
  commandId: number,
  hints: HintSink,
): number {
  if (transaction.cmin(m, pos) >= commandId) return TM_INVISIBLE;
  if ((infomask & HEAP_XMAX_INVALID) !== 0) return TM_OK;
  const xmax = tupleXmax(m, pos);
  const isMulti = (infomask & HEAP_XMAX_IS_MULTI) !== 0;
  const isRunning = isMulti ? multixactIsRunning(m, pos, infomask, transactions) : transactions.isInProgress(xmax);
  // Others may hold a lock on it: the version before was locked when it was updated.
  if (isXmaxLockOnly(infomask)) return isRunning ? TM_BEING_MODIFIED : TM_OK;
  const deleter = tupleUpdateXid(m, pos, infomask, transactions);
  if (transaction.isCurrent(deleter)) return ownCommand(transaction.cmax(m, pos), commandId);
  // A savepoint deleted it and was rolled back.
  if (isMulti) return isRunning ? TM_BEING_MODIFIED : TM_OK;
  hints.set(m, pos, HEAP_XMAX_INVALID);
  return TM_OK;
}

/** A tuple whose xmax is a multixact; {@link TM_DELETED} stands for updated, too. */
function multiForUpdate(
  m: PageMemory,
  pos: number,
  infomask: number,
  transactions: Transactions,
  transaction: Transaction,
  commandId: number,
  hints: HintSink,
): number {
  const updater = tupleUpdateXid(m, pos, infomask, transactions);
  if (updater !== INVALID_XID && transaction.isCurrent(updater)) return ownCommand(transaction.cmax(m, pos), commandId);
  if (multixactIsRunning(m, pos, infomask, transactions)) return TM_BEING_MODIFIED;
  if (updater !== INVALID_XID && transactions.didCommit(updater)) return TM_DELETED;
  hints.set(m, pos, HEAP_XMAX_INVALID);
  return TM_OK;
}

/** What an own command `cmax` that deleted or updated the tuple is to the own command at hand. */
function ownCommand(cmax: number, commandId: number): number {
  return cmax >= commandId ? TM_SELF_MODIFIED : TM_INVISIBLE;
}

/** An updated tuple's t_ctid leads elsewhere; a deleted one's is its own TID. */
function updatedOrDeleted(m: PageMemory, pos: number, block: BlockNumber, offset: OffsetNumber): number {
  return tupleCtidBlock(m, pos) === block && tupleCtidOffset(m, pos) === offset ? TM_DELETED : TM_UPDATED;
}
