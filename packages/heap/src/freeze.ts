// Freezing: a tuple's xmin is called older than all, an xmax that means nothing any more goes. Both may happen only to
// xids before the cutoff, whose fate every snapshot agrees on. PostgreSQL: `heap_prepare_freeze_tuple`,
// `FreezeMultiXactId`, `heap_execute_freeze_tuple`, heapam.c.
import { FIRST_NORMAL_XID, INVALID_XID, type OffsetNumber, StorageError, type Xid } from '@blockwright/base';
import type { PageMemory } from '@blockwright/page';
import { type Transactions, xidPrecedes } from '@blockwright/transam';
import {
  HEAP_HOT_UPDATED,
  HEAP_KEYS_UPDATED,
  HEAP_MOVED,
  HEAP_XMAX_BITS,
  HEAP_XMAX_INVALID,
  HEAP_XMAX_IS_MULTI,
  HEAP_XMIN_COMMITTED,
  HEAP_XMIN_FROZEN,
  isXmaxLockOnly,
  isXminFrozen,
  setTupleInfomask,
  setTupleInfomask2,
  setTupleXmax,
  tupleInfomask,
  tupleInfomask2,
  tupleXmax,
  tupleXmin,
} from '@blockwright/tuple';
import type { PruneState } from './prune-state.ts';
import { multixactIsRunning, tupleUpdateXid } from './visibility-multi.ts';

/** Whether neither xmin nor xmax of the tuple at `pos` is ever looked up again. PostgreSQL: `!heap_tuple_needs_eventual_freeze`. */
export function isTupleFrozen(m: PageMemory, pos: number): boolean {
  const infomask = tupleInfomask(m, pos);
  if (!isXminFrozen(infomask) && tupleXmin(m, pos) >= FIRST_NORMAL_XID) return false;
  return (infomask & (HEAP_XMAX_IS_MULTI | HEAP_MOVED)) === 0 && tupleXmax(m, pos) === INVALID_XID;
}

/**
 * Adds to the plans of `state` what freezing changes of the tuple at `pos`, which has offset number `o` and stays: xids
 * before `cutoff` go. Nothing changes yet.
 * @returns whether the tuple is frozen then, as {@link isTupleFrozen} says.
 * @throws StorageError XX001 when an xmin before the cutoff has not committed, or an xmax that deleted the tuple has.
 */
export function planFreeze(
  m: PageMemory,
  pos: number,
  o: OffsetNumber,
  cutoff: Xid,
  transactions: Transactions,
  state: PruneState,
): boolean {
  let infomask = tupleInfomask(m, pos);
  let infomask2 = tupleInfomask2(m, pos);
  if ((infomask & HEAP_MOVED) !== 0) return false;
  const xmin = tupleXmin(m, pos);
  let xmax = tupleXmax(m, pos);
  const isXminDone = isXminFrozen(infomask) || xmin < FIRST_NORMAL_XID;
  const freezesXmin = !isXminDone && xidPrecedes(xmin, cutoff);
  if (freezesXmin && (infomask & HEAP_XMIN_COMMITTED) === 0 && !transactions.didCommit(xmin)) {
    throw cannotFreeze(`xmin ${xmin}, before the cutoff ${cutoff}, has not committed`, o);
  }
  const dropsXmax = mayDropXmax(m, pos, o, infomask, xmax, cutoff, transactions);
  if (freezesXmin) infomask |= HEAP_XMIN_FROZEN;
  if (dropsXmax) {
    xmax = INVALID_XID;
    infomask = (infomask & ~HEAP_XMAX_BITS) | HEAP_XMAX_INVALID;
    infomask2 &= ~(HEAP_HOT_UPDATED | HEAP_KEYS_UPDATED);
  }
  if (freezesXmin || dropsXmax) {
    const at = state.frozenCount++;
    state.frozen[at] = o;
    state.frozenXmax[at] = xmax;
    state.frozenInfomask[at] = infomask;
    state.frozenInfomask2[at] = infomask2;
  }
  return (isXminDone || freezesXmin) && xmax === INVALID_XID;
}

/** Whether the xmax means nothing any more, and can be told to: a lock that is gone, an update that was rolled back. */
function mayDropXmax(
  m: PageMemory,
  pos: number,
  o: OffsetNumber,
  infomask: number,
  xmax: Xid,
  cutoff: Xid,
  transactions: Transactions,
): boolean {
  if ((infomask & HEAP_XMAX_IS_MULTI) !== 0) {
    if (isXmaxLockOnly(infomask)) return !multixactIsRunning(m, pos, infomask, transactions);
    const updater = tupleUpdateXid(m, pos, infomask, transactions);
    return !transactions.isInProgress(updater) && !transactions.didCommit(updater);
  }
  if (xmax < FIRST_NORMAL_XID || !xidPrecedes(xmax, cutoff)) return false;
  if ((infomask & HEAP_XMAX_INVALID) === 0 && !isXmaxLockOnly(infomask) && transactions.didCommit(xmax)) {
    throw cannotFreeze(`xmax ${xmax}, before the cutoff ${cutoff}, has committed and the tuple is still there`, o);
  }
  return true;
}

function cannotFreeze(why: string, offset: OffsetNumber): StorageError {
  return new StorageError('XX001', `cannot freeze the tuple at offset ${offset}: ${why}`, {
    hint: 'Run "blockwright check" on the directory to see all that is damaged, and restore it from a copy.',
  });
}

/** Writes what a plan says into the tuple at `pos`. PostgreSQL: `heap_execute_freeze_tuple`. */
export function freezeTuple(m: PageMemory, pos: number, xmax: Xid, infomask: number, infomask2: number): void {
  setTupleXmax(m, pos, xmax);
  setTupleInfomask(m, pos, infomask);
  setTupleInfomask2(m, pos, infomask2);
}
