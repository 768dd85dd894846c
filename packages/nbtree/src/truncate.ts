// The key that parts two leaf pages: of the first tuple on the right as few attributes as tell it from the last one on the
// left, and where all key attributes are equal the highest TID of the left one, too. PostgreSQL: `_bt_truncate`,
// nbtutils.c, and `index_truncate_tuple`, indextuple.c.
import {
  INDEX_NULL_MASK,
  INDEX_SIZE_MASK,
  INDEX_TUPLE_HEADER_BYTES,
  type IndexTupleFormat,
  indexTupleDataOffset,
  indexTupleInfo,
  indexTupleSize,
  setIndexTupleInfo,
  type TupleMemory,
} from '@blockwright/tuple';
import { copyWords } from './copy-tuple.ts';
import { isPosting, postingCount, postingOffset, setPivot } from './tuples.ts';

/** Bytes that a pivot tuple's TID takes behind its key. PostgreSQL: MAXALIGN(sizeof(ItemPointerData)). */
export const PIVOT_TID_BYTES = 8;

/**
 * Makes the pivot tuple between two neighbours of a leaf page, the left one at `leftPos` and the right one at `rightPos`:
 * higher than the left one or equal to it, and lower than the right one. Its block number is what stood in the right
 * tuple's header.
 * @returns its length, a multiple of 8, at most {@link PIVOT_TID_BYTES} more than the right tuple's; it lies at byte `at`
 * of `out`.
 */
export function truncatedPivot(
  format: IndexTupleFormat,
  leftM: TupleMemory,
  leftPos: number,
  rightM: TupleMemory,
  rightPos: number,
  out: TupleMemory,
  at: number,
): number {
  const { keyCount } = format;
  const needed = format.firstDifferent(leftM, leftPos, rightM, rightPos, keyCount);
  const kept = needed > keyCount ? keyCount : needed;
  const length = copyAttributes(format, rightM, rightPos, kept, out, at);
  if (needed <= keyCount) {
    setPivot(out, at, kept, false);
    return length;
  }
  // The left tuple's highest TID, at the very end: 2 bytes of nothing before it.
  const end = (at + length + PIVOT_TID_BYTES) >>> 1;
  let last = leftPos >>> 1;
  if (isPosting(leftM, leftPos))
    last = (leftPos + postingOffset(leftM, leftPos) + 6 * (postingCount(leftM, leftPos) - 1)) >>> 1;
  const words = out.u16;
  words[end - 4] = 0;
  words[end - 3] = leftM.u16[last];
  words[end - 2] = leftM.u16[last + 1];
  words[end - 1] = leftM.u16[last + 2];
  setIndexTupleInfo(out, at, (indexTupleInfo(out, at) & ~INDEX_SIZE_MASK) | (length + PIVOT_TID_BYTES));
  setPivot(out, at, keyCount, true);
  return length + PIVOT_TID_BYTES;
}

/** The tuple's first `natts` attributes as a tuple of their own, without a posting list. @returns its length */
function copyAttributes(
  format: IndexTupleFormat,
  m: TupleMemory,
  pos: number,
  natts: number,
  out: TupleMemory,
  at: number,
): number {
  if (natts === format.columnCount) {
    const length = isPosting(m, pos) ? postingOffset(m, pos) : indexTupleSize(m, pos);
    copyWords(m, pos, out, at, length);
    setIndexTupleInfo(out, at, (indexTupleInfo(m, pos) & ~INDEX_SIZE_MASK) | length);
    return length;
  }
  const info = indexTupleInfo(m, pos);
  const hasNull = (info & INDEX_NULL_MASK) !== 0 && format.hasNull(m, pos, natts);
  const from = indexTupleDataOffset(info);
  const to = hasNull ? from : INDEX_TUPLE_HEADER_BYTES;
  const bytes = format.attributeEnd(m, pos, natts) - from;
  const length = (to + bytes + 7) & ~7;
  out.u32[(at + length - 4) >>> 2] = 0;
  out.u32[(at + length - 8) >>> 2] = 0;
  copyWords(m, pos, out, at, INDEX_TUPLE_HEADER_BYTES);
  if (hasNull) {
    out.u32[(at + INDEX_TUPLE_HEADER_BYTES) >>> 2] = m.u32[(pos + INDEX_TUPLE_HEADER_BYTES) >>> 2] & ((1 << natts) - 1);
    out.u32[(at + INDEX_TUPLE_HEADER_BYTES + 4) >>> 2] = 0;
  }
  const source = m.u8;
  const target = out.u8;
  for (let i = 0; i < bytes; i++) target[at + to + i] = source[pos + from + i];
  setIndexTupleInfo(out, at, length | format.attributeMask(m, pos, natts));
  return length;
}
