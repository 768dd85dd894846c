// Transaction ids: 32 bits that wrap around, compared modulo 2^32, so that half of all normal ids are past and half
// are to come, seen from any of them. PostgreSQL: transam.c, transam.h.
import { FIRST_NORMAL_XID, fromWords, type Xid } from '@blockwright/base';

/** Whether `xid` is one that a transaction can have: neither none, nor bootstrap's, nor frozen. PostgreSQL: `TransactionIdIsNormal`. */
export function isNormalXid(xid: Xid): boolean {
  return xid >= FIRST_NORMAL_XID;
}

/**
 * Whether `a` is older than `b`: modulo 2^32 if both are normal; a permanent xid is older than every normal one.
 * PostgreSQL: `TransactionIdPrecedes`.
 */
export function xidPrecedes(a: Xid, b: Xid): boolean {
  return a < 3 || b < 3 ? a < b : ((a - b) | 0) < 0;
}

/** PostgreSQL: `TransactionIdPrecedesOrEquals`. */
export function xidPrecedesOrEquals(a: Xid, b: Xid): boolean {
  return a < 3 || b < 3 ? a <= b : ((a - b) | 0) <= 0;
}

/** PostgreSQL: `TransactionIdFollows`. */
export function xidFollows(a: Xid, b: Xid): boolean {
  return a < 3 || b < 3 ? a > b : ((a - b) | 0) > 0;
}

/** PostgreSQL: `TransactionIdFollowsOrEquals`. */
export function xidFollowsOrEquals(a: Xid, b: Xid): boolean {
  return a < 3 || b < 3 ? a >= b : ((a - b) | 0) >= 0;
}

/** The xid that is handed out after `xid`: the permanent ones are left out. PostgreSQL: `TransactionIdAdvance`. */
export function nextXidAfter(xid: Xid): Xid {
  const next = (xid + 1) >>> 0;
  return next < FIRST_NORMAL_XID ? FIRST_NORMAL_XID : next;
}

/** The xid that was handed out before `xid`. PostgreSQL: `TransactionIdRetreat`. */
export function xidBefore(xid: Xid): Xid {
  return xid <= FIRST_NORMAL_XID ? 0xffff_ffff : (xid - 1) >>> 0;
}

/**
 * An xid together with its epoch (how often the ids had wrapped around when it was handed out), as one safe integer,
 * epoch · 2^32 + xid; `xid` lies in the half of all ids before `nextXid` or in the half after it. What would be older
 * than the first transaction of all counts as that one, so garbage never seems to lie in the future; permanent xids
 * have no epoch. PostgreSQL: `FullTransactionIdFromAllowableAt`.
 */
export function fullXid(xid: Xid, nextXid: Xid, nextXidEpoch: number): number {
  if (xid < FIRST_NORMAL_XID) return xid;
  const difference = (xid - nextXid) | 0;
  const full = fromWords(nextXidEpoch, nextXid) + difference;
  return full < FIRST_NORMAL_XID ? FIRST_NORMAL_XID : full;
}

/** New xids are refused so many before the oldest would be in the future. PostgreSQL: `xidStopLimit`, varsup.c. */
export const XIDS_KEPT_BACK = 3_000_000;
/** Warnings begin so many xids before that wraparound. PostgreSQL: `xidWarnLimit`, varsup.c. */
export const XIDS_WARNED_BEFORE = 40_000_000;

/** The last xid that may be handed out while `oldest` is in use somewhere. PostgreSQL: `xidWrapLimit`. */
export function wraparoundLimit(oldest: Xid): Xid {
  const limit = (oldest + 0x7fff_ffff) >>> 0;
  return limit < FIRST_NORMAL_XID ? (limit + FIRST_NORMAL_XID) >>> 0 : limit;
}

/** `limit` so many xids earlier, jumping over the permanent ones. */
export function xidsBefore(limit: Xid, count: number): Xid {
  const earlier = (limit - count) >>> 0;
  return earlier < FIRST_NORMAL_XID ? (earlier - FIRST_NORMAL_XID) >>> 0 : earlier;
}
