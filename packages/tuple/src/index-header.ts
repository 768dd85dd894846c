// An index tuple's header, at byte `pos` of a memory.
//
//   pos +0            +6      +8
//   +---------------+-------+------------ - - -+----------
//   | t_tid         |t_info | null bitmap      | data …
//   +---------------+-------+------------ - - -+----------
//
//   | field  | byte | bits  | meaning                                                       |
//   |--------|------|-------|---------------------------------------------------------------|
//   | t_tid  | 0    | 48    | heap TID: block high half, block low half, offset number      |
//   | t_info | 6    | 15    | has nulls: a bitmap of 4 bytes (32 attributes) follows        |
//   |        |      | 14    | has variable-width attributes                                 |
//   |        |      | 13    | for the access method                                         |
//   |        |      | 12..0 | size of the tuple in bytes                                    |
//
// PostgreSQL: itup.h (IndexTupleData).

import type { TupleMemory } from './memory.ts';

export const INDEX_SIZE_MASK = 0x1fff;
export const INDEX_AM_RESERVED_BIT = 0x2000;
export const INDEX_VAR_MASK = 0x4000;
export const INDEX_NULL_MASK = 0x8000;
/** Bytes of the header without a bitmap. */
export const INDEX_TUPLE_HEADER_BYTES = 8;
/** Most attributes of an index. PostgreSQL: INDEX_MAX_KEYS. */
export const INDEX_MAX_KEYS = 32;

/** The block of t_tid, uint32. */
export function indexTupleBlock(m: TupleMemory, pos: number): number {
  const at = pos >>> 1;
  return ((m.u16[at] << 16) | m.u16[at + 1]) >>> 0;
}

/** The offset number of t_tid. */
export function indexTupleOffset(m: TupleMemory, pos: number): number {
  return m.u16[(pos >>> 1) + 2];
}

/** t_info */
export function indexTupleInfo(m: TupleMemory, pos: number): number {
  return m.u16[(pos >>> 1) + 3];
}

/** Size of the tuple in bytes, as t_info says. */
export function indexTupleSize(m: TupleMemory, pos: number): number {
  return m.u16[(pos >>> 1) + 3] & INDEX_SIZE_MASK;
}

/** Bytes from `pos` to the data: 8, or 16 with a null bitmap. PostgreSQL: IndexInfoFindDataOffset. */
export function indexTupleDataOffset(info: number): number {
  return (info & INDEX_NULL_MASK) !== 0 ? 16 : 8;
}

export function setIndexTupleTid(m: TupleMemory, pos: number, block: number, offset: number): void {
  const at = pos >>> 1;
  m.u16[at] = block >>> 16;
  m.u16[at + 1] = block;
  m.u16[at + 2] = offset;
}

export function setIndexTupleInfo(m: TupleMemory, pos: number, info: number): void {
  m.u16[(pos >>> 1) + 3] = info;
}
