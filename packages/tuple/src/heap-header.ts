// A heap tuple's header, at byte `pos` of a memory; `pos` is a multiple of 8, as pages place tuples.
//
//   pos +0      +4      +8      +12             +18     +20     +22  +23
//   +-------+-------+-------+---------------+-------+-------+----+------- - - -+----------
//   |t_xmin |t_xmax |t_cid  |t_ctid         |infom.2|infom. |hoff|t_bits       | data …
//   +-------+-------+-------+---------------+-------+-------+----+------- - - -+----------
//                            bi_hi bi_lo pos                                    ^ pos + t_hoff
//
//   | field       | byte | bytes | meaning                                                                   |
//   |-------------|------|-------|---------------------------------------------------------------------------|
//   | t_xmin      | 0    | 4     | inserting transaction                                                     |
//   | t_xmax      | 4    | 4     | deleting or locking transaction, or multixact                             |
//   | t_cid       | 8    | 4     | command id (or t_xvac)                                                    |
//   | t_ctid      | 12   | 6     | this or the newer version: block high half, block low half, offset number |
//   | t_infomask2 | 18   | 2     | number of attributes (11 bits) and flags                                  |
//   | t_infomask  | 20   | 2     | flags                                                                     |
//   | t_hoff      | 22   | 1     | bytes from pos to the data, a multiple of 8                               |
//   | t_bits      | 23   | n     | one bit an attribute, set where it is not null; only with HEAP_HASNULL    |
//
// PostgreSQL: htup_details.h (HeapTupleHeaderData).

import type { TupleMemory } from './memory.ts';

// t_infomask
export const HEAP_HASNULL = 0x0001;
export const HEAP_HASVARWIDTH = 0x0002;
export const HEAP_HASEXTERNAL = 0x0004;
export const HEAP_HASOID_OLD = 0x0008;
export const HEAP_XMAX_KEYSHR_LOCK = 0x0010;
export const HEAP_COMBOCID = 0x0020;
export const HEAP_XMAX_EXCL_LOCK = 0x0040;
export const HEAP_XMAX_LOCK_ONLY = 0x0080;
export const HEAP_XMAX_SHR_LOCK: number = HEAP_XMAX_EXCL_LOCK | HEAP_XMAX_KEYSHR_LOCK;
export const HEAP_LOCK_MASK: number = HEAP_XMAX_SHR_LOCK | HEAP_XMAX_EXCL_LOCK | HEAP_XMAX_KEYSHR_LOCK;
export const HEAP_XMIN_COMMITTED = 0x0100;
export const HEAP_XMIN_INVALID = 0x0200;
export const HEAP_XMIN_FROZEN: number = HEAP_XMIN_COMMITTED | HEAP_XMIN_INVALID;
export const HEAP_XMAX_COMMITTED = 0x0400;
export const HEAP_XMAX_INVALID = 0x0800;
export const HEAP_XMAX_IS_MULTI = 0x1000;
export const HEAP_UPDATED = 0x2000;
export const HEAP_MOVED_OFF = 0x4000;
export const HEAP_MOVED_IN = 0x8000;
export const HEAP_MOVED: number = HEAP_MOVED_OFF | HEAP_MOVED_IN;
export const HEAP_XACT_MASK = 0xfff0;
/** All bits that go when xmax changes. */
export const HEAP_XMAX_BITS: number =
  HEAP_XMAX_COMMITTED | HEAP_XMAX_INVALID | HEAP_XMAX_IS_MULTI | HEAP_LOCK_MASK | HEAP_XMAX_LOCK_ONLY;

// t_infomask2
export const HEAP_NATTS_MASK = 0x07ff;
export const HEAP_KEYS_UPDATED = 0x2000;
export const HEAP_HOT_UPDATED = 0x4000;
export const HEAP_ONLY_TUPLE = 0x8000;
export const HEAP2_XACT_MASK = 0xe000;

/** Bytes of the header before the null bitmap. PostgreSQL: SizeofHeapTupleHeader. */
export const HEAP_TUPLE_HEADER_BYTES = 23;
/** Most attributes that a heap table can have. PostgreSQL: MaxHeapAttributeNumber. */
export const MAX_HEAP_ATTRIBUTES = 1600;
/** Most attributes that any tuple can have. PostgreSQL: MaxTupleAttributeNumber. */
export const MAX_TUPLE_ATTRIBUTES = 1664;

/** t_xmin */
export function tupleXmin(m: TupleMemory, pos: number): number {
  return m.u32[pos >>> 2];
}

/** t_xmax, raw: a transaction or a multixact. */
export function tupleXmax(m: TupleMemory, pos: number): number {
  return m.u32[(pos >>> 2) + 1];
}

/** t_cid, raw. */
export function tupleCommandId(m: TupleMemory, pos: number): number {
  return m.u32[(pos >>> 2) + 2];
}

/** The block of t_ctid, uint32. */
export function tupleCtidBlock(m: TupleMemory, pos: number): number {
  const at = (pos >>> 1) + 6;
  return ((m.u16[at] << 16) | m.u16[at + 1]) >>> 0;
}

/** The offset number of t_ctid. */
export function tupleCtidOffset(m: TupleMemory, pos: number): number {
  return m.u16[(pos >>> 1) + 8];
}

/** t_infomask2 */
export function tupleInfomask2(m: TupleMemory, pos: number): number {
  return m.u16[(pos >>> 1) + 9];
}

/** t_infomask */
export function tupleInfomask(m: TupleMemory, pos: number): number {
  return m.u16[(pos >>> 1) + 10];
}

/** t_hoff: bytes from `pos` to the data. */
export function tupleHoff(m: TupleMemory, pos: number): number {
  return m.u8[pos + 22];
}

/** Number of attributes that the tuple stores. */
export function tupleNatts(m: TupleMemory, pos: number): number {
  return m.u16[(pos >>> 1) + 9] & HEAP_NATTS_MASK;
}

export function setTupleXmin(m: TupleMemory, pos: number, xid: number): void {
  m.u32[pos >>> 2] = xid;
}

export function setTupleXmax(m: TupleMemory, pos: number, xid: number): void {
  m.u32[(pos >>> 2) + 1] = xid;
}

export function setTupleCommandId(m: TupleMemory, pos: number, commandId: number): void {
  m.u32[(pos >>> 2) + 2] = commandId;
}

export function setTupleCtid(m: TupleMemory, pos: number, block: number, offset: number): void {
  const at = (pos >>> 1) + 6;
  m.u16[at] = block >>> 16;
  m.u16[at + 1] = block;
  m.u16[at + 2] = offset;
}

export function setTupleInfomask2(m: TupleMemory, pos: number, bits: number): void {
  m.u16[(pos >>> 1) + 9] = bits;
}

export function setTupleInfomask(m: TupleMemory, pos: number, bits: number): void {
  m.u16[(pos >>> 1) + 10] = bits;
}

/** Whether xmax, if valid, only locks the tuple. PostgreSQL: HEAP_XMAX_IS_LOCKED_ONLY. */
export function isXmaxLockOnly(infomask: number): boolean {
  return (
    (infomask & HEAP_XMAX_LOCK_ONLY) !== 0 || (infomask & (HEAP_XMAX_IS_MULTI | HEAP_LOCK_MASK)) === HEAP_XMAX_EXCL_LOCK
  );
}

/** Whether xmin is frozen. PostgreSQL: HeapTupleHeaderXminFrozen. */
export function isXminFrozen(infomask: number): boolean {
  return (infomask & HEAP_XMIN_FROZEN) === HEAP_XMIN_FROZEN;
}

/** Whether the tuple was HOT-updated and the update is not known to have failed. PostgreSQL: HeapTupleHeaderIsHotUpdated. */
export function isHotUpdated(infomask: number, infomask2: number): boolean {
  return (
    (infomask2 & HEAP_HOT_UPDATED) !== 0 &&
    (infomask & HEAP_XMAX_INVALID) === 0 &&
    (infomask & HEAP_XMIN_FROZEN) !== HEAP_XMIN_INVALID
  );
}

/** Whether the tuple is a heap-only one: reached through a HOT chain, not from an index. */
export function isHeapOnly(infomask2: number): boolean {
  return (infomask2 & HEAP_ONLY_TUPLE) !== 0;
}

/** Bytes of a null bitmap. PostgreSQL: BITMAPLEN. */
export function nullBitmapBytes(attributes: number): number {
  return (attributes + 7) >> 3;
}

/** t_hoff of a tuple: header and bitmap, rounded up to 8. */
export function heapHeaderBytes(attributes: number, hasNulls: boolean): number {
  return (HEAP_TUPLE_HEADER_BYTES + (hasNulls ? nullBitmapBytes(attributes) : 0) + 7) & ~7;
}
