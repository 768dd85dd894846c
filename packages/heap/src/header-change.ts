// The header of a tuple that is being updated, deleted or locked. PostgreSQL: the critical sections of heapam.c.
import type { Xid } from '@blockwright/base';
import type { PageMemory } from '@blockwright/page';
import type { Transaction } from '@blockwright/transam';
import {
  HEAP_COMBOCID,
  HEAP_KEYS_UPDATED,
  HEAP_MOVED,
  HEAP_XMAX_BITS,
  HEAP_XMIN_COMMITTED,
  setTupleCommandId,
  setTupleInfomask,
  setTupleInfomask2,
  setTupleXmax,
  tupleInfomask,
  tupleInfomask2,
  tupleXmin,
} from '@blockwright/tuple';

/** The plain command id goes into the header. */
const NO_COMBO = -1;

/**
 * The combo command id that the header of the tuple at `pos` needs when command `commandId` of `transaction` deletes it:
 * when the transaction inserted it, too. -1 when it needs none. PostgreSQL: `HeapTupleHeaderAdjustCmax`.
 */
export function comboFor(m: PageMemory, pos: number, transaction: Transaction, commandId: number): number {
  if ((tupleInfomask(m, pos) & HEAP_XMIN_COMMITTED) !== 0 || !transaction.isCurrent(tupleXmin(m, pos))) return NO_COMBO;
  return transaction.comboCid(transaction.cmin(m, pos), commandId);
}

/** Writes xmax and its bits, in place of what was there. */
export function setXmax(m: PageMemory, pos: number, xmax: Xid, infomask: number, infomask2: number): void {
  setTupleInfomask(m, pos, (tupleInfomask(m, pos) & ~(HEAP_XMAX_BITS | HEAP_MOVED)) | infomask);
  setTupleInfomask2(m, pos, (tupleInfomask2(m, pos) & ~HEAP_KEYS_UPDATED) | infomask2);
  setTupleXmax(m, pos, xmax);
}

/** Writes the command that deleted the tuple. PostgreSQL: `HeapTupleHeaderSetCmax`. */
export function setCmax(m: PageMemory, pos: number, commandId: number, combo: number): void {
  const infomask = tupleInfomask(m, pos);
  setTupleInfomask(m, pos, combo === NO_COMBO ? infomask & ~HEAP_COMBOCID : infomask | HEAP_COMBOCID);
  setTupleCommandId(m, pos, combo === NO_COMBO ? commandId : combo);
}
