// The flags of a tuple header in words, as pageinspect's heap_tuple_infomask_flags gives them.
import {
  HEAP_COMBOCID,
  HEAP_HASEXTERNAL,
  HEAP_HASNULL,
  HEAP_HASOID_OLD,
  HEAP_HASVARWIDTH,
  HEAP_HOT_UPDATED,
  HEAP_KEYS_UPDATED,
  HEAP_MOVED,
  HEAP_MOVED_IN,
  HEAP_MOVED_OFF,
  HEAP_ONLY_TUPLE,
  HEAP_UPDATED,
  HEAP_XMAX_COMMITTED,
  HEAP_XMAX_EXCL_LOCK,
  HEAP_XMAX_INVALID,
  HEAP_XMAX_IS_MULTI,
  HEAP_XMAX_KEYSHR_LOCK,
  HEAP_XMAX_LOCK_ONLY,
  HEAP_XMAX_SHR_LOCK,
  HEAP_XMIN_COMMITTED,
  HEAP_XMIN_FROZEN,
  HEAP_XMIN_INVALID,
} from '@blockwright/tuple';

/** Fields and names of `heap_tuple_infomask_flags`. */
export interface InfomaskFlags {
  /** Every flag that is set, by name. */
  readonly raw_flags: readonly string[];
  /** Names of those that mean something else together. */
  readonly combined_flags: readonly string[];
}

type Names = readonly (readonly [number, string])[];

const INFOMASK: Names = [
  [HEAP_HASNULL, 'HEAP_HASNULL'],
  [HEAP_HASVARWIDTH, 'HEAP_HASVARWIDTH'],
  [HEAP_HASEXTERNAL, 'HEAP_HASEXTERNAL'],
  [HEAP_HASOID_OLD, 'HEAP_HASOID_OLD'],
  [HEAP_XMAX_KEYSHR_LOCK, 'HEAP_XMAX_KEYSHR_LOCK'],
  [HEAP_COMBOCID, 'HEAP_COMBOCID'],
  [HEAP_XMAX_EXCL_LOCK, 'HEAP_XMAX_EXCL_LOCK'],
  [HEAP_XMAX_LOCK_ONLY, 'HEAP_XMAX_LOCK_ONLY'],
  [HEAP_XMIN_COMMITTED, 'HEAP_XMIN_COMMITTED'],
  [HEAP_XMIN_INVALID, 'HEAP_XMIN_INVALID'],
  [HEAP_XMAX_COMMITTED, 'HEAP_XMAX_COMMITTED'],
  [HEAP_XMAX_INVALID, 'HEAP_XMAX_INVALID'],
  [HEAP_XMAX_IS_MULTI, 'HEAP_XMAX_IS_MULTI'],
  [HEAP_UPDATED, 'HEAP_UPDATED'],
  [HEAP_MOVED_OFF, 'HEAP_MOVED_OFF'],
  [HEAP_MOVED_IN, 'HEAP_MOVED_IN'],
];

const INFOMASK2: Names = [
  [HEAP_KEYS_UPDATED, 'HEAP_KEYS_UPDATED'],
  [HEAP_HOT_UPDATED, 'HEAP_HOT_UPDATED'],
  [HEAP_ONLY_TUPLE, 'HEAP_ONLY_TUPLE'],
];

const COMBINED: Names = [
  [HEAP_XMAX_SHR_LOCK, 'HEAP_XMAX_SHR_LOCK'],
  [HEAP_XMIN_FROZEN, 'HEAP_XMIN_FROZEN'],
  [HEAP_MOVED, 'HEAP_MOVED'],
];

/** The names of the flags of `t_infomask` and `t_infomask2`. PostgreSQL: `heap_tuple_infomask_flags`, heapfuncs.c. */
export function heapTupleInfomaskFlags(infomask: number, infomask2: number): InfomaskFlags {
  return {
    raw_flags: [...namesOf(infomask, INFOMASK), ...namesOf(infomask2, INFOMASK2)],
    combined_flags: namesOf(infomask, COMBINED),
  };
}

function namesOf(mask: number, names: Names): string[] {
  return names.filter(([bits]) => (mask & bits) === bits).map(([, name]) => name);
}
