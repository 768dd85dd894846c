// A record's tuple put back on its page, and the header of one that was there.

import { cannotRedo, needSaneBounds } from '@blockwright/access';
import type { BlockNumber, OffsetNumber, Xid } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import {
  itemIsInBounds,
  LP_NORMAL,
  LP_UNUSED,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  PAI_IS_HEAP,
  PAI_OVERWRITE,
  type PageMemory,
  pageMaxOffset,
  pageReserveItem,
  pageSpecial,
  pageUpper,
} from '@blockwright/page';
import {
  HEAP_COMBOCID,
  HEAP_TUPLE_HEADER_BYTES,
  setTupleCommandId,
  setTupleCtid,
  setTupleInfomask,
  setTupleInfomask2,
  setTupleXmax,
  setTupleXmin,
  tupleInfomask,
} from '@blockwright/tuple';
import type { WalRecord } from '@blockwright/wal';
import { setXmax } from './header-change.ts';
import { infomask2OfInfobits, infomaskOfInfobits } from './record-format.ts';

/** Above this, `set` and `copyWithin` are faster than a loop. */
const LONG_BYTES = 32;

/** Byte of the tuple at `offset`, in the page's memory. @throws StorageError XX001 when there is none. */
export function redoPosition(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  offset: OffsetNumber,
  record: WalRecord,
  index: number,
): number {
  needSaneBounds(m, base, g, record, index);
  if (offset >= 1 && offset <= pageMaxOffset(m, base)) {
    const lp = linePointer(m, base, offset);
    const isTuple = lpFlags(lp) === LP_NORMAL && lpLength(lp) >= HEAP_TUPLE_HEADER_BYTES;
    if (isTuple && itemIsInBounds(lp, pageUpper(m, base), pageSpecial(m, base))) return base + lpOffset(lp);
  }
  throw cannotRedo(record, index, `no tuple stands at offset ${offset}`);
}

/**
 * Makes room for a tuple of `length` bytes at `offset`. @returns where in the page's memory
 * @throws StorageError XX001 when the line pointer is in use or cannot be there, or there is no room.
 */
export function redoRoom(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  offset: OffsetNumber,
  length: number,
  record: WalRecord,
  index: number,
): number {
  needSaneBounds(m, base, g, record, index);
  const next = pageMaxOffset(m, base) + 1;
  if (offset < 1 || offset > next || offset > g.maxHeapTuplesPerPage) {
    throw cannotRedo(
      record,
      index,
      offset < 1 ? 'offset 0 is none' : `offset ${offset} lies too far: the next is ${next}`,
    );
  }
  if (offset < next) {
    const lp = linePointer(m, base, offset);
    if (lpFlags(lp) !== LP_UNUSED || lpLength(lp) !== 0) throw cannotRedo(record, index, `offset ${offset} is in use`);
  }
  if (pageReserveItem(m, base, g, length, offset, PAI_OVERWRITE | PAI_IS_HEAP) !== offset) {
    throw cannotRedo(record, index, `there is no room for ${length} bytes at offset ${offset}`);
  }
  return base + pageUpper(m, base);
}

/** Writes the header whose five bytes the record has at `at`. */
export function redoHeader(
  m: PageMemory,
  pos: number,
  record: WalRecord,
  at: number,
  xmin: Xid,
  xmax: Xid,
  block: BlockNumber,
  offset: OffsetNumber,
): void {
  setTupleXmin(m, pos, xmin);
  setTupleXmax(m, pos, xmax);
  setTupleCommandId(m, pos, 0);
  setTupleCtid(m, pos, block, offset);
  setTupleInfomask2(m, pos, record.u16(at));
  setTupleInfomask(m, pos, record.u16(at + 2));
  m.u8[pos + 22] = record.u8(at + 4);
}

/** Copies bytes of the record to the page. */
export function redoBytes(m: PageMemory, to: number, record: WalRecord, from: number, length: number): void {
  const { u8 } = m;
  const { bytes } = record;
  if (length > LONG_BYTES) u8.set(bytes.subarray(from, from + length), to);
  else for (let i = 0; i < length; i++) u8[to + i] = bytes[from + i];
}

/** Copies bytes of the page to another place on it; the two do not overlap. */
export function copyOnPage(m: PageMemory, to: number, from: number, length: number): void {
  const { u8 } = m;
  if (length > LONG_BYTES) u8.copyWithin(to, from, from + length);
  else for (let i = 0; i < length; i++) u8[to + i] = u8[from + i];
}

/** The bytes of a tuple after the fixed part of its header. */
export function afterHeader(pos: number): number {
  return pos + HEAP_TUPLE_HEADER_BYTES;
}

/** Writes xmax and what the record says of it; the command that did it is nobody's business any more. */
export function redoXmax(m: PageMemory, pos: number, xmax: Xid, infobits: number): void {
  setXmax(m, pos, xmax, infomaskOfInfobits(infobits), infomask2OfInfobits(infobits));
  setTupleInfomask(m, pos, tupleInfomask(m, pos) & ~HEAP_COMBOCID);
  setTupleCommandId(m, pos, 0);
}
