// The records of a heap page's line pointers and tuple headers, as pageinspect's heap_page_items gives them.
import type { OffsetNumber } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import {
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  pageBoundsAreSane,
  pageMaxOffset,
} from '@blockwright/page';
import {
  HEAP_HASNULL,
  HEAP_HASOID_OLD,
  HEAP_TUPLE_HEADER_BYTES,
  nullBitmapBytes,
  tupleCommandId,
  tupleCtidBlock,
  tupleCtidOffset,
  tupleHoff,
  tupleInfomask,
  tupleInfomask2,
  tupleNatts,
  tupleXmax,
  tupleXmin,
} from '@blockwright/tuple';
import { byteaHex } from './hex.ts';

/** The four fields of a line pointer; all that is shown of one on a page that is not a heap's. */
export interface LinePointerRecord {
  readonly lp: OffsetNumber;
  readonly lp_off: number;
  /** 0 unused, 1 normal, 2 redirect, 3 dead. */
  readonly lp_flags: number;
  readonly lp_len: number;
}

/**
 * Fields and names of `heap_page_items`. All from `t_xmin` on are null where the line pointer has no tuple that lies on
 * the page. Xids and oids are text, as PostgreSQL's own JSON has them.
 */
export interface HeapItemRecord extends LinePointerRecord {
  readonly t_xmin: string | null;
  readonly t_xmax: string | null;
  readonly t_field3: number | null;
  /** `(block,offset)`. */
  readonly t_ctid: string | null;
  readonly t_infomask2: number | null;
  readonly t_infomask: number | null;
  readonly t_hoff: number | null;
  /** One digit an attribute, rounded up to 8; 1 where it is not null. Null where the tuple has no bitmap. */
  readonly t_bits: string | null;
  readonly t_oid: string | null;
  /** The bytes after the header, `\x…`. */
  readonly t_data: string | null;
}

/** The least length of a heap tuple: its header, rounded up to 8. PostgreSQL: `MinHeapTupleSize`. */
const MIN_HEAP_TUPLE_BYTES: number = (HEAP_TUPLE_HEADER_BYTES + 7) & ~7;

/** The fields of line pointer `o`. */
export function linePointerRecord(m: PageMemory, base: number, o: OffsetNumber): LinePointerRecord {
  const lp = linePointer(m, base, o);
  return { lp: o, lp_off: lpOffset(lp), lp_flags: lpFlags(lp), lp_len: lpLength(lp) };
}

/** All line pointers of a page; none where the header's bounds make no sense. */
export function linePointerRecords(m: PageMemory, base: number, g: BlockGeometry): LinePointerRecord[] {
  const records: LinePointerRecord[] = [];
  const count = pageBoundsAreSane(m, base, g) ? pageMaxOffset(m, base) : 0;
  for (let o = 1; o <= count; o++) records.push(linePointerRecord(m, base, o));
  return records;
}

/**
 * All line pointers of a heap page with their tuples' headers and data; none where the header's bounds make no sense.
 * Takes any bytes: what does not lie on the page is null. So is `t_data` from where items, lying over each other, have
 * added up to more than the page: thousands of them could each show all of it. PostgreSQL: `heap_page_items`, heapfuncs.c.
 */
export function heapPageItems(m: PageMemory, base: number, g: BlockGeometry): HeapItemRecord[] {
  let bytesLeft: number = g.size;
  return linePointerRecords(m, base, g).map((record) => {
    bytesLeft -= record.lp_len;
    return heapItem(m, base, g, record, bytesLeft >= 0);
  });
}

function heapItem(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  record: LinePointerRecord,
  showData: boolean,
): HeapItemRecord {
  const { lp_off: offset, lp_len: length } = record;
  if (length < MIN_HEAP_TUPLE_BYTES || (offset & 7) !== 0 || offset + length > g.size) {
    return { ...record, ...NO_TUPLE };
  }
  const pos = base + offset;
  const hoff = tupleHoff(m, pos);
  const infomask = tupleInfomask(m, pos);
  const isHoffSane = hoff >= HEAP_TUPLE_HEADER_BYTES && hoff <= length && (hoff & 7) === 0;
  return {
    ...record,
    t_xmin: String(tupleXmin(m, pos)),
    t_xmax: String(tupleXmax(m, pos)),
    t_field3: tupleCommandId(m, pos),
    t_ctid: `(${tupleCtidBlock(m, pos)},${tupleCtidOffset(m, pos)})`,
    t_infomask2: tupleInfomask2(m, pos),
    t_infomask: infomask,
    t_hoff: hoff,
    t_bits: isHoffSane && (infomask & HEAP_HASNULL) !== 0 ? bits(m, pos, hoff) : null,
    t_oid: isHoffSane && (infomask & HEAP_HASOID_OLD) !== 0 ? String(m.u32[(pos + hoff - 4) >>> 2]) : null,
    t_data: isHoffSane && showData ? byteaHex(m.u8.subarray(pos + hoff, pos + length)) : null,
  };
}

const NO_TUPLE: Omit<HeapItemRecord, keyof LinePointerRecord> = {
  t_xmin: null,
  t_xmax: null,
  t_field3: null,
  t_ctid: null,
  t_infomask2: null,
  t_infomask: null,
  t_hoff: null,
  t_bits: null,
  t_oid: null,
  t_data: null,
};

/** The null bitmap as digits; null where it would reach into the data. */
function bits(m: PageMemory, pos: number, hoff: number): string | null {
  const bytes = nullBitmapBytes(tupleNatts(m, pos));
  if (HEAP_TUPLE_HEADER_BYTES + bytes > hoff) return null;
  let text = '';
  for (let i = 0; i < bytes; i++) {
    const byte = m.u8[pos + HEAP_TUPLE_HEADER_BYTES + i] as number;
    for (let bit = 0; bit < 8; bit++) text += (byte >>> bit) & 1;
  }
  return text;
}
