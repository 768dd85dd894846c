// One heap tuple's header: fields that are possible, and that do not contradict each other. What only the commit log
// could tell is not judged.
import { type BlockNumber, FIRST_NORMAL_XID, type OffsetNumber } from '@blockwright/base';
import type { PageMemory } from '@blockwright/page';
import {
  HEAP_HASNULL,
  HEAP_HASOID_OLD,
  HEAP_HOT_UPDATED,
  HEAP_KEYS_UPDATED,
  HEAP_LOCK_MASK,
  HEAP_MOVED,
  HEAP_TUPLE_HEADER_BYTES,
  HEAP_UPDATED,
  HEAP_XMAX_BITS,
  HEAP_XMAX_COMMITTED,
  HEAP_XMAX_INVALID,
  HEAP_XMAX_IS_MULTI,
  HEAP_XMAX_KEYSHR_LOCK,
  HEAP_XMAX_LOCK_ONLY,
  HEAP2_XACT_MASK,
  heapHeaderBytes,
  isHeapOnly,
  isXmaxLockOnly,
  isXminFrozen,
  nullBitmapBytes,
  tupleCtidBlock,
  tupleCtidOffset,
  tupleHoff,
  tupleInfomask,
  tupleInfomask2,
  tupleNatts,
  tupleXmax,
  tupleXmin,
} from '@blockwright/tuple';
import type { PageReport } from './page-report.ts';
import { multiXactFault, type XidRange, xidFault } from './xids.ts';

/** What a table's tuples are held against. */
export interface TupleLimits {
  /** Columns of the table, dropped ones included; Infinity when not known. */
  readonly columns: number;
  /** Line pointers that a heap page can have. */
  readonly maxTuples: number;
  readonly xids: XidRange | undefined;
}

/** Bytes from the tuple's start to the field. */
const XMIN = 0;
const XMAX = 4;
const CTID = 12;
const INFOMASK2 = 18;
const INFOMASK = 20;
const HOFF = 22;
const BITMAP = HEAP_TUPLE_HEADER_BYTES;

/** Bits of t_infomask2 that have no meaning. */
const INFOMASK2_UNUSED = 0x1800;
/** Offsets of t_ctid with a meaning of their own. PostgreSQL: `SpecTokenOffsetNumber`, `MovedPartitionsOffsetNumber`. */
const SPECULATIVE_TOKEN = 0xfffe;
const MOVED_PARTITIONS = 0xfffd;

/**
 * Reports what is wrong with the header of the tuple of `length` bytes at byte `position`; gives whether its attributes
 * can be found. PostgreSQL: `check_tuple_header`, `check_tuple_visibility`, verify_heapam.c.
 */
export function checkTupleHeader(
  m: PageMemory,
  position: number,
  length: number,
  block: BlockNumber,
  offset: OffsetNumber,
  limits: TupleLimits,
  report: PageReport,
): boolean {
  const infomask = tupleInfomask(m, position);
  const infomask2 = tupleInfomask2(m, position);
  checkXids(m, position, infomask, limits.xids, report);
  if ((infomask & (HEAP_HASOID_OLD | HEAP_MOVED)) !== 0) checkOldFlags(infomask, report);
  if ((infomask2 & INFOMASK2_UNUSED) !== 0) {
    const message = `t_infomask2 0x${infomask2.toString(16)} has bits that have no meaning`;
    report.field('error', 'heap.tuple.infomask2', INFOMASK2, message);
  }
  const xmax = tupleXmax(m, position);
  const isPlain =
    xmax === 0 && (infomask & HEAP_XMAX_BITS) === HEAP_XMAX_INVALID && (infomask2 & HEAP2_XACT_MASK) === 0;
  if (!isPlain) checkXmaxFlags(infomask, infomask2, xmax, report);
  if (isHeapOnly(infomask2) && (infomask & HEAP_UPDATED) === 0) {
    report.field(
      'error',
      'heap.tuple.heap_only_not_updated',
      INFOMASK2,
      'the tuple is heap-only, but no update made it',
    );
  }
  checkCtid(m, position, infomask, block, offset, limits, report);
  return checkSizes(m, position, length, limits.columns, report);
}

function checkXids(
  m: PageMemory,
  position: number,
  infomask: number,
  xids: XidRange | undefined,
  report: PageReport,
): void {
  // A frozen tuple keeps its t_xmin for people to look at, however old it gets.
  if (!isXminFrozen(infomask)) {
    const fault = xidFault(tupleXmin(m, position), xids);
    if (fault !== undefined) report.field('error', `heap.tuple.xmin.${fault.code}`, XMIN, `t_xmin ${fault.message}`);
  }
  // t_xmax is replaced by 0 when it gets old, whether it counts or not.
  const xmax = tupleXmax(m, position);
  const isMulti = (infomask & HEAP_XMAX_IS_MULTI) !== 0;
  const fault = isMulti ? multiXactFault(xmax, xids?.multixacts) : xidFault(xmax, xids);
  if (!isMulti && xmax !== 0 && xmax < FIRST_NORMAL_XID)
    report.field(
      'error',
      'heap.tuple.xmax.special',
      XMAX,
      `t_xmax is ${xmax}, which no transaction has that deletes or locks`,
    );
  if (fault !== undefined) report.field('error', `heap.tuple.xmax.${fault.code}`, XMAX, `t_xmax ${fault.message}`);
}

function checkOldFlags(infomask: number, report: PageReport): void {
  if ((infomask & HEAP_HASOID_OLD) !== 0) {
    const message = 't_infomask says that the tuple has an object id, as before PostgreSQL 12';
    report.field('error', 'heap.tuple.oid', INFOMASK, message);
  }
  if ((infomask & HEAP_MOVED) !== 0) {
    const message = 't_infomask says that VACUUM FULL moved the tuple, as before PostgreSQL 9.0';
    report.field('error', 'heap.tuple.moved', INFOMASK, message);
  }
}

/** Flags about t_xmax that nothing writes together. */
function checkXmaxFlags(infomask: number, infomask2: number, xmax: number, report: PageReport): void {
  const fault = (code: string, message: string, field: number = INFOMASK): void =>
    report.field('error', `heap.tuple.${code}`, field, message);
  const isMulti = (infomask & HEAP_XMAX_IS_MULTI) !== 0;
  const isLockOnly = (infomask & HEAP_XMAX_LOCK_ONLY) !== 0;
  if ((infomask & HEAP_XMAX_COMMITTED) !== 0) {
    if ((infomask & HEAP_XMAX_INVALID) !== 0)
      fault('xmax_committed_and_invalid', 't_infomask calls t_xmax both committed and invalid');
    if (isMulti) fault('multixact_committed', 't_infomask calls a multixact committed');
    if (isLockOnly) fault('lock_committed', 't_infomask calls t_xmax committed, and only a lock');
  }
  if (xmax === 0 && !isMulti) {
    if ((infomask & HEAP_XMAX_BITS) !== HEAP_XMAX_INVALID)
      fault('flags_without_xmax', `t_xmax is 0, but t_infomask 0x${infomask.toString(16)} tells about it`);
    if ((infomask2 & HEAP_HOT_UPDATED) !== 0)
      fault('hot_updated_without_xmax', 'the tuple was HOT-updated, but t_xmax is 0', INFOMASK2);
    if ((infomask2 & HEAP_KEYS_UPDATED) !== 0)
      fault('keys_updated_without_xmax', 'the tuple was deleted or its key updated, but t_xmax is 0', INFOMASK2);
  } else if (!isMulti) {
    const lock = infomask & HEAP_LOCK_MASK;
    if (!isLockOnly && (lock & HEAP_XMAX_KEYSHR_LOCK) !== 0)
      fault('lock_and_update', 't_infomask has a strength of lock, but t_xmax does not lock');
    if (isLockOnly && lock === 0)
      report.field('warning', 'heap.tuple.lock_without_strength', INFOMASK, 't_xmax is a lock of no strength');
  }
}

function checkCtid(
  m: PageMemory,
  position: number,
  infomask: number,
  block: BlockNumber,
  offset: OffsetNumber,
  limits: TupleLimits,
  report: PageReport,
): void {
  const ctidBlock = tupleCtidBlock(m, position);
  const ctidOffset = tupleCtidOffset(m, position);
  if (ctidBlock === block && ctidOffset === offset) return;
  if (ctidOffset === SPECULATIVE_TOKEN || ctidOffset === MOVED_PARTITIONS) return;
  const ctid = `t_ctid (${ctidBlock},${ctidOffset})`;
  if (ctidOffset < 1 || ctidOffset > limits.maxTuples) {
    report.field('error', 'heap.tuple.ctid_offset', CTID, `${ctid} names no line pointer that a heap page can have`);
  } else if ((tupleXmax(m, position) === 0 && !isXminFrozen(infomask)) || isXmaxLockOnly(infomask)) {
    // With another t_xmax, or after it was frozen, it may be what a failed update left: then it can lead anywhere.
    report.field(
      'warning',
      'heap.tuple.ctid_without_update',
      CTID,
      `${ctid} leads elsewhere, but nothing updated the tuple`,
    );
  }
}

/** Whether t_hoff and the number of attributes are possible: without that, no attribute can be found. */
function checkSizes(m: PageMemory, position: number, length: number, columns: number, report: PageReport): boolean {
  const natts = tupleNatts(m, position);
  const hoff = tupleHoff(m, position);
  const hasNulls = (tupleInfomask(m, position) & HEAP_HASNULL) !== 0;
  if (natts > columns) {
    report.field('error', 'heap.tuple.natts', INFOMASK2, `the tuple has ${natts} attributes, the table ${columns}`);
    return false;
  }
  const due = heapHeaderBytes(natts, hasNulls);
  if (hoff !== due) {
    const bitmap = hasNulls ? 'and' : 'without';
    const message = `t_hoff is ${hoff}; with ${natts} attributes ${bitmap} a null bitmap it is ${due}`;
    report.field('error', 'heap.tuple.hoff', HOFF, message);
    return false;
  }
  if (hoff > length) {
    report.field('error', 'heap.tuple.too_short', HOFF, `t_hoff is ${hoff}, the tuple has ${length} bytes`);
    return false;
  }
  checkHeaderPadding(m, position, natts, hasNulls, hoff, report);
  return true;
}

/** Bits of the null bitmap after the last attribute, and bytes from there to t_hoff, are zero. */
function checkHeaderPadding(
  m: PageMemory,
  position: number,
  natts: number,
  hasNulls: boolean,
  hoff: number,
  report: PageReport,
): void {
  let byte = BITMAP;
  if (hasNulls) {
    byte += nullBitmapBytes(natts);
    if ((natts & 7) !== 0 && m.u8[position + byte - 1] >>> (natts & 7) !== 0) {
      report.field('error', 'heap.tuple.null_bitmap', byte - 1, `the null bitmap has bits beyond attribute ${natts}`);
    }
  }
  for (; byte < hoff; byte++) {
    if (m.u8[position + byte] === 0) continue;
    report.field('error', 'heap.tuple.header_padding', byte, `byte ${byte} of the header is padding, and not zero`);
    return;
  }
}
