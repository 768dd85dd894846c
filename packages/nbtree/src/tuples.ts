// The three kinds of tuples of a B-tree, told apart by bit 13 of t_info and the upper bits of t_tid's offset.
//
//   leaf     bit 13 clear: t_tid is the row's TID
//   pivot    bit 13 set, offset bit 13 clear: a high key or a separator above the leaves. t_tid's block is the child, the
//            lower 12 bits of the offset how many attributes it has; offset bit 12: a heap TID is its last 6 bytes
//   posting  bit 13 set, offset bit 13 set: one key and several rows. t_tid's block is the byte at which the sorted TIDs
//            begin, the lower 12 bits of the offset how many there are
//
// PostgreSQL: nbtree.h (`BTreeTupleIsPivot` and what follows it).
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import {
  INDEX_AM_RESERVED_BIT,
  indexTupleBlock,
  indexTupleOffset,
  indexTupleSize,
  type TupleMemory,
} from '@blockwright/tuple';

/** `INDEX_ALT_TID_MASK` */
const ALT_TID = INDEX_AM_RESERVED_BIT;
const COUNT_MASK = 0x0fff;
const PIVOT_HEAP_TID = 0x1000;
const IS_POSTING = 0x2000;
/** Words of 2 bytes of a TID. */
const TID_WORDS = 3;
const TID_BYTES = 6;

export function isPivot(m: TupleMemory, pos: number): boolean {
  const at = pos >>> 1;
  return (m.u16[at + 3] & ALT_TID) !== 0 && (m.u16[at + 2] & IS_POSTING) === 0;
}

export function isPosting(m: TupleMemory, pos: number): boolean {
  const at = pos >>> 1;
  return (m.u16[at + 3] & ALT_TID) !== 0 && (m.u16[at + 2] & IS_POSTING) !== 0;
}

/** Attributes that the tuple has: a pivot may have been cut. @param columns of the index, INCLUDE columns too */
export function tupleNatts(m: TupleMemory, pos: number, columns: number): number {
  return isPivot(m, pos) ? indexTupleOffset(m, pos) & COUNT_MASK : columns;
}

/** Makes a tuple a pivot of `natts` attributes; its downlink stays. PostgreSQL: `BTreeTupleSetNAtts`. */
export function setPivot(m: TupleMemory, pos: number, natts: number, hasTid: boolean): void {
  const at = pos >>> 1;
  m.u16[at + 3] |= ALT_TID;
  m.u16[at + 2] = natts | (hasTid ? PIVOT_HEAP_TID : 0);
}

/** The child of a pivot above the leaves. */
export function downlink(m: TupleMemory, pos: number): BlockNumber {
  return indexTupleBlock(m, pos);
}

export function setDownlink(m: TupleMemory, pos: number, block: BlockNumber): void {
  const at = pos >>> 1;
  m.u16[at] = block >>> 16;
  m.u16[at + 1] = block;
}

/** Whether a pivot keeps a heap TID as its last attribute. */
export function pivotHasTid(m: TupleMemory, pos: number): boolean {
  return (m.u16[(pos >>> 1) + 2] & PIVOT_HEAP_TID) !== 0;
}

/** Makes a tuple a posting list of `count` TIDs that begin at its byte `offset`. PostgreSQL: `BTreeTupleSetPosting`. */
export function setPosting(m: TupleMemory, pos: number, count: number, offset: number): void {
  const at = pos >>> 1;
  m.u16[at + 3] |= ALT_TID;
  m.u16[at + 2] = count | IS_POSTING;
  setDownlink(m, pos, offset);
}

/** TIDs of a posting list. */
export function postingCount(m: TupleMemory, pos: number): number {
  return m.u16[(pos >>> 1) + 2] & COUNT_MASK;
}

/** Byte of a posting list at which its TIDs begin. */
export function postingOffset(m: TupleMemory, pos: number): number {
  return indexTupleBlock(m, pos);
}

/** Byte at which the tuple's lowest TID stands; −1 for a pivot that has none. PostgreSQL: `BTreeTupleGetHeapTID`. */
export function heapTidAt(m: TupleMemory, pos: number): number {
  const at = pos >>> 1;
  if ((m.u16[at + 3] & ALT_TID) === 0) return pos;
  const offset = m.u16[at + 2];
  if ((offset & IS_POSTING) !== 0) return pos + indexTupleBlock(m, pos);
  return (offset & PIVOT_HEAP_TID) === 0 ? -1 : pos + indexTupleSize(m, pos) - TID_BYTES;
}

/** Byte at which TID `n`, from 0 on, of a posting list stands. */
export function nthTidAt(m: TupleMemory, pos: number, n: number): number {
  return pos + postingOffset(m, pos) + ((TID_WORDS * n) << 1);
}

/** Byte at which the highest TID of a leaf tuple stands. PostgreSQL: `BTreeTupleGetMaxHeapTID`. */
export function maxHeapTidAt(m: TupleMemory, pos: number): number {
  return isPosting(m, pos) ? nthTidAt(m, pos, postingCount(m, pos) - 1) : heapTidAt(m, pos);
}

/** The block of a TID at byte `at`, an even one. */
export function tidBlock(m: TupleMemory, at: number): BlockNumber {
  const word = at >>> 1;
  return ((m.u16[word] << 16) | m.u16[word + 1]) >>> 0;
}

export function tidOffset(m: TupleMemory, at: number): OffsetNumber {
  return m.u16[(at >>> 1) + 2];
}

/** Order of two TIDs: negative, 0, positive. PostgreSQL: `ItemPointerCompare`. */
export function compareTids(
  block1: BlockNumber,
  offset1: OffsetNumber,
  block2: BlockNumber,
  offset2: OffsetNumber,
): number {
  return block1 === block2 ? offset1 - offset2 : block1 < block2 ? -1 : 1;
}
