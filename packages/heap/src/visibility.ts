// Whether a tuple is visible, from what its own header says: frozen, hint bits, locks. The commit log, which decides the
// tuples whose header does not, comes with transactions.
import { BOOTSTRAP_XID, FROZEN_XID } from '@blockwright/base';
import {
  HEAP_XMAX_COMMITTED,
  HEAP_XMAX_INVALID,
  HEAP_XMAX_IS_MULTI,
  HEAP_XMIN_COMMITTED,
  HEAP_XMIN_INVALID,
  isXmaxLockOnly,
} from '@blockwright/tuple';

/** The tuple is visible to every snapshot that can still be taken. */
export const VISIBLE = 1;
/** The tuple is not: its inserting transaction aborted, or its deletion committed. */
export const INVISIBLE = 0;
/** Its header does not say: only the commit log, or a multixact's members, could. */
export const UNKNOWN = 2;

/** Byte of t_infomask in a tuple's header: the loops over tuples hold the array that it is read from. */
export const INFOMASK_BYTE = 20;

/** With these two bits a tuple is visible: committed or frozen (both xmin bits), and never deleted. */
export const PLAINLY_VISIBLE_MASK: number = HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID;

/**
 * What a tuple header says of the tuple's visibility: {@link VISIBLE}, {@link INVISIBLE} or {@link UNKNOWN}.
 * PostgreSQL: `HeapTupleSatisfiesMVCC` as far as hint bits reach, heapam_visibility.c.
 */
export function judgeByHints(infomask: number, xmin: number, xmax: number): number {
  const xminBits = infomask & (HEAP_XMIN_COMMITTED | HEAP_XMIN_INVALID);
  if (xminBits === HEAP_XMIN_INVALID) return INVISIBLE;
  if (xminBits === 0 && xmin !== FROZEN_XID && xmin !== BOOTSTRAP_XID) return UNKNOWN;
  if ((infomask & HEAP_XMAX_INVALID) !== 0 || xmax === 0) return VISIBLE;
  if (isXmaxLockOnly(infomask)) return VISIBLE;
  if ((infomask & HEAP_XMAX_IS_MULTI) !== 0) return UNKNOWN;
  return (infomask & HEAP_XMAX_COMMITTED) !== 0 ? INVISIBLE : UNKNOWN;
}
