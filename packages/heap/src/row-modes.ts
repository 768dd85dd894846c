// Strengths of row locks, and the bits of a tuple's header that stand for them. PostgreSQL: `LockTupleMode`,
// `compute_new_xmax_infomask`, heapam.c.
import type { RowLockMode } from '@blockwright/transam';
import {
  HEAP_KEYS_UPDATED,
  HEAP_LOCK_MASK,
  HEAP_XMAX_EXCL_LOCK,
  HEAP_XMAX_KEYSHR_LOCK,
  HEAP_XMAX_LOCK_ONLY,
  HEAP_XMAX_SHR_LOCK,
  isXmaxLockOnly,
} from '@blockwright/tuple';

const KEY_SHARE = 0;
const SHARE = 1;
/** Also what an update holds that leaves the key as it is. */
export const NO_KEY_UPDATE = 2;
/** Also what a deletion holds, and an update of the key. */
export const UPDATE = 3;

const NAMES: readonly RowLockMode[] = ['key share', 'share', 'no key update', 'update'];

/** @throws RangeError for a name that is none. */
export function rowMode(name: RowLockMode): number {
  const mode = NAMES.indexOf(name);
  if (mode >= 0) return mode;
  throw new RangeError(`"${String(name)}" is no row lock; there is ${NAMES.join(', ')}`);
}

export function rowModeName(mode: number): RowLockMode {
  return NAMES[mode];
}

/** Whether two transactions cannot have these at once. PostgreSQL: the table of README.tuplock, which comes to this sum. */
export function modesConflict(a: number, b: number): boolean {
  return a + b >= 3;
}

/** What the xmax of a header with these bits, which is no multixact and is in progress, holds. */
export function heldMode(infomask: number, infomask2: number): number {
  if (!isXmaxLockOnly(infomask)) return (infomask2 & HEAP_KEYS_UPDATED) !== 0 ? UPDATE : NO_KEY_UPDATE;
  switch (infomask & HEAP_LOCK_MASK) {
    case HEAP_XMAX_KEYSHR_LOCK:
      return KEY_SHARE;
    case HEAP_XMAX_SHR_LOCK:
      return SHARE;
    default:
      return (infomask2 & HEAP_KEYS_UPDATED) !== 0 ? UPDATE : NO_KEY_UPDATE;
  }
}

/** Bits of t_infomask for a mere lock. */
export function lockInfomask(mode: number): number {
  if (mode === KEY_SHARE) return HEAP_XMAX_LOCK_ONLY | HEAP_XMAX_KEYSHR_LOCK;
  return HEAP_XMAX_LOCK_ONLY | (mode === SHARE ? HEAP_XMAX_SHR_LOCK : HEAP_XMAX_EXCL_LOCK);
}

/** Bits of t_infomask2 for a lock, an update or a deletion. */
export function modeInfomask2(mode: number): number {
  return mode === UPDATE ? HEAP_KEYS_UPDATED : 0;
}
