// What one index tuple says of itself, before anything believes it: its size, its kind, how many attributes it has, its
// posting list; and the order of two of them. PostgreSQL: bt_target_page_check, bt_check_natts, verify_nbtree.c.
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import {
  compareTids,
  heapTidAt,
  isPivot,
  isPosting,
  maxHeapTidAt,
  maxItemSizeOf,
  nthTidAt,
  pivotHasTid,
  postingCount,
  postingOffset,
  tidBlock,
  tidOffset,
  tupleNatts,
} from '@blockwright/nbtree';
import type { PageMemory } from '@blockwright/page';
import {
  INDEX_NULL_MASK,
  INDEX_VAR_MASK,
  type IndexTupleFormat,
  indexTupleDataOffset,
  indexTupleInfo,
  indexTupleOffset,
  indexTupleSize,
  type TupleMemory,
} from '@blockwright/tuple';
import type { BtreeReport } from './btree-report.ts';

const TID_BYTES = 6;
/** Bytes that a pivot's heap TID takes. PostgreSQL: `MAXALIGN(sizeof(ItemPointerData))`. */
const PIVOT_TID_BYTES = 8;
/** Bits of an offset number that say something else in pivots and posting lists. */
const COUNT_MASK = 0x0fff;
const PIVOT_TID_BIT = 0x1000;
const NO_BLOCK = 0xffff_ffff;

/** Checks single tuples of an index. */
export class BtreeTuples {
  private readonly format: IndexTupleFormat | undefined;
  private readonly report: BtreeReport;
  private readonly maxItemSize: number;
  private readonly maxOffset: number;
  /** Whether the meta page allows posting lists. */
  mayDeduplicate = true;

  constructor(geometry: BlockGeometry, format: IndexTupleFormat | undefined, report: BtreeReport) {
    this.format = format;
    this.report = report;
    this.maxItemSize = maxItemSizeOf(geometry);
    this.maxOffset = geometry.maxOffsetNumber;
  }

  /**
   * Whether the tuple of `length` bytes by its line pointer can be compared with others: a leaf's entry, or a pivot (a
   * high key, or any item above the leaves, the first one being without attributes).
   */
  check(
    m: PageMemory,
    pos: number,
    length: number,
    block: BlockNumber,
    offset: OffsetNumber,
    isEntry: boolean,
    isMinusInfinity: boolean,
  ): boolean {
    const { report } = this;
    const size = indexTupleSize(m, pos);
    if (size !== length) {
      report.error('tuple.size', block, offset, `index tuple size ${size} does not equal lp_len ${length}`);
      return false;
    }
    const most = this.maxItemSize + (isEntry ? 0 : PIVOT_TID_BYTES);
    if (size > most) {
      report.error('tuple.too_long', block, offset, `index row size ${size} exceeds maximum ${most}`);
      return false;
    }
    if (isEntry) return this.checkEntry(m, pos, size, block, offset);
    return this.checkPivot(m, pos, size, block, offset, isMinusInfinity);
  }

  private checkEntry(m: PageMemory, pos: number, size: number, block: BlockNumber, offset: OffsetNumber): boolean {
    const { report } = this;
    if (isPivot(m, pos)) {
      report.error('tuple.pivot_on_leaf', block, offset, 'a leaf entry is marked as a pivot tuple');
      return false;
    }
    if (isPosting(m, pos)) return this.checkPosting(m, pos, size, block, offset);
    if (!this.checkTid(m, pos, block, offset)) return false;
    return this.checkAttributes(m, pos, size, this.format?.columnCount ?? 0, block, offset);
  }

  private checkTid(m: PageMemory, at: number, block: BlockNumber, offset: OffsetNumber): boolean {
    const number = tidOffset(m, at);
    if (number >= 1 && number <= this.maxOffset && tidBlock(m, at) !== NO_BLOCK) return true;
    const message = `the entry's heap TID (${tidBlock(m, at)},${number}) cannot be any row's`;
    this.report.error('tuple.heap_tid', block, offset, message);
    return false;
  }

  private checkPosting(m: PageMemory, pos: number, size: number, block: BlockNumber, offset: OffsetNumber): boolean {
    const { report } = this;
    const count = postingCount(m, pos);
    const from = postingOffset(m, pos);
    const fault = (code: string, message: string): false => {
      report.error(`posting.${code}`, block, offset, message);
      return false;
    };
    if (!this.mayDeduplicate) return fault('not_allowed', 'the index has a posting list, where equal is not identical');
    const spare = (indexTupleOffset(m, pos) & ~(COUNT_MASK | 0x2000)) !== 0;
    if (spare) return fault('status_bits', 'bits are set in the posting list tuple that have no meaning');
    const least = indexTupleDataOffset(indexTupleInfo(m, pos));
    const end = from + count * TID_BYTES;
    if ((from & 7) !== 0 || from < least || end > size || ((end + 7) & ~7) !== size) {
      return fault(
        'bounds',
        `the ${count} TIDs of a posting list at byte ${from} do not fill its tuple of ${size} bytes`,
      );
    }
    if (count < 2) return fault('too_short', `the posting list has ${count} TIDs`);
    let isSound = true;
    for (let n = 0; n < count && isSound; n++) {
      const at = nthTidAt(m, pos, n);
      isSound = this.checkTid(m, at, block, offset);
      if (!isSound || n === 0) continue;
      const before = at - TID_BYTES;
      if (compareTids(tidBlock(m, before), tidOffset(m, before), tidBlock(m, at), tidOffset(m, at)) >= 0) {
        const message = `posting list contains misplaced TID (${tidBlock(m, at)},${tidOffset(m, at)}) at posting list offset ${n}`;
        return fault('misplaced_tid', message);
      }
    }
    return isSound && this.checkAttributes(m, pos, from, this.format?.columnCount ?? 0, block, offset);
  }

  private checkPivot(
    m: PageMemory,
    pos: number,
    size: number,
    block: BlockNumber,
    offset: OffsetNumber,
    isMinusInfinity: boolean,
  ): boolean {
    const fault = (message: string): false => {
      this.report.error('tuple.natts', block, offset, message);
      return false;
    };
    if (!isPivot(m, pos)) return fault('a pivot tuple is not marked as one');
    const natts = tupleNatts(m, pos, 0);
    const hasTid = pivotHasTid(m, pos);
    if ((indexTupleOffset(m, pos) & ~(COUNT_MASK | PIVOT_TID_BIT)) !== 0)
      return fault('bits are set in the pivot tuple that have no meaning');
    if (isMinusInfinity) {
      if (natts !== 0 || hasTid)
        return fault(`the first item above the leaves has ${natts} attributes instead of none`);
      return size === 8 || fault(`the first item above the leaves has ${size} bytes instead of 8`);
    }
    if (natts === 0) return fault('the pivot tuple has no attributes');
    const { format } = this;
    if (format !== undefined && (natts > format.keyCount || (hasTid && natts !== format.keyCount))) {
      const tid = hasTid ? ' and a heap TID' : '';
      return fault(`the pivot tuple has ${natts} attributes${tid}, where the index has ${format.keyCount} key columns`);
    }
    const end = hasTid ? size - PIVOT_TID_BYTES : size;
    if (end < 8) return fault(`the pivot tuple of ${size} bytes has no room for its heap TID`);
    return this.checkAttributes(m, pos, end, natts, block, offset);
  }

  /** Whether the attributes, one after the other, end where the tuple's data ends, at byte `end` of it. */
  private checkAttributes(
    m: PageMemory,
    pos: number,
    end: number,
    natts: number,
    block: BlockNumber,
    offset: OffsetNumber,
  ): boolean {
    const { format } = this;
    const data = indexTupleDataOffset(indexTupleInfo(m, pos));
    const after = format === undefined || data > end ? data : attributesEnd(m, pos, end, natts, format);
    if (after > 0 && (format === undefined ? after <= end : ((after + 7) & ~7) === end)) {
      if (format === undefined || this.masksAreRight(m, pos, natts, format)) return true;
      this.report.error('tuple.info', block, offset, 't_info does not say which attributes the tuple has');
      return false;
    }
    const message = `the tuple's ${natts} attributes do not fill its ${end} bytes`;
    this.report.error('tuple.attributes', block, offset, message);
    return false;
  }

  private masksAreRight(m: PageMemory, pos: number, natts: number, format: IndexTupleFormat): boolean {
    const mask = INDEX_NULL_MASK | INDEX_VAR_MASK;
    return (indexTupleInfo(m, pos) & mask) === format.attributeMask(m, pos, natts);
  }
}

/** Byte of the tuple after its first `natts` attributes, counted from `pos`; 0 when one does not lie before `end`. */
function attributesEnd(m: PageMemory, pos: number, end: number, natts: number, format: IndexTupleFormat): number {
  const { attlens, alignments } = format.descriptor;
  const info = indexTupleInfo(m, pos);
  const bits = (info & INDEX_NULL_MASK) !== 0 ? m.u32[(pos + 8) >>> 2] | 0 : -1;
  const { u8 } = m;
  let at = indexTupleDataOffset(info);
  for (let i = 0; i < natts; i++) {
    if (((bits >>> i) & 1) === 0) continue;
    const attlen = attlens[i];
    if (attlen > 0) at = ((at + alignments[i] - 1) & -alignments[i]) + attlen;
    else if (attlen === -2) {
      while (at < end && u8[pos + at] !== 0) at++;
      at++;
    } else at = varlenaEnd(m, pos, at, end, alignments[i]);
    if (at === 0 || at > end) return 0;
  }
  return at;
}

function varlenaEnd(m: PageMemory, pos: number, from: number, end: number, alignment: number): number {
  if (from >= end) return 0;
  const first = m.u8[pos + from];
  if (first === 1) return 0; // stored out of line: not in an index
  if ((first & 1) !== 0) return from + (first >>> 1);
  let at = from;
  for (; (at & (alignment - 1)) !== 0; at++) if (m.u8[pos + at] !== 0) return 0;
  if (at + 4 > end) return 0;
  const word = m.u32[(pos + at) >>> 2];
  const size = word >>> 2;
  return (word & 1) !== 0 || size < 4 || size > end - at ? 0 : at + size;
}

/**
 * Order of two tuples, the lowest heap TID of the second and, with `fromHighest`, the highest of the first being their
 * last attribute; what a pivot has lost is less than everything. Without a format, of their TIDs alone nothing is said: 0.
 */
export function compareTuples(
  format: IndexTupleFormat,
  a: TupleMemory,
  aPos: number,
  fromHighest: boolean,
  b: TupleMemory,
  bPos: number,
): number {
  const { keyCount } = format;
  const aNatts = keysOf(a, aPos, keyCount);
  const bNatts = keysOf(b, bPos, keyCount);
  const order = format.compare(a, aPos, b, bPos, aNatts < bNatts ? aNatts : bNatts);
  if (order !== 0) return order;
  if (aNatts !== bNatts) return aNatts < bNatts ? -1 : 1;
  const aTid = fromHighest && !isPivot(a, aPos) ? maxHeapTidAt(a, aPos) : heapTidAt(a, aPos);
  const bTid = heapTidAt(b, bPos);
  if (aTid < 0 || bTid < 0) return aTid === bTid ? 0 : aTid < 0 ? -1 : 1;
  return compareTids(tidBlock(a, aTid), tidOffset(a, aTid), tidBlock(b, bTid), tidOffset(b, bTid));
}

function keysOf(m: TupleMemory, pos: number, keyCount: number): number {
  const natts = tupleNatts(m, pos, keyCount);
  return natts < keyCount ? natts : keyCount;
}
