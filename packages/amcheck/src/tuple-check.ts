// One heap tuple: a header that does not contradict itself, and attributes that fill the tuple exactly.
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import type { PageMemory } from '@blockwright/page';
import {
  AttributePlaces,
  atTuple,
  HEAP_HASEXTERNAL,
  HEAP_HASNULL,
  HEAP_HASOID_OLD,
  HEAP_HASVARWIDTH,
  HEAP_HOT_UPDATED,
  HEAP_MOVED,
  HEAP_XMAX_COMMITTED,
  HEAP_XMAX_INVALID,
  HEAP_XMAX_IS_MULTI,
  HEAP_XMIN_COMMITTED,
  HEAP_XMIN_INVALID,
  heapHeaderBytes,
  locateAttributes,
  RowDecoder,
  type TupleDescriptor,
  TupleError,
  tupleCtidBlock,
  tupleCtidOffset,
  tupleHoff,
  tupleInfomask,
  tupleInfomask2,
  tupleNatts,
  tupleXmax,
  tupleXmin,
} from '@blockwright/tuple';
import type { Report } from './heap-page.ts';
import { type XidRange, xidFault } from './xids.ts';

export interface TupleCheckOptions {
  readonly geometry: BlockGeometry;
  readonly descriptor?: TupleDescriptor;
  readonly xids?: XidRange;
  readonly blockCount: number;
}

/** Bits of t_infomask2 that have no meaning. */
const INFOMASK2_UNUSED = 0x1800;
const BITMAP_BYTE = 23;
/** Offsets of t_ctid with a meaning of their own. PostgreSQL: `SpecTokenOffsetNumber`, `MovedPartitionsOffsetNumber`. */
const SPECULATIVE_TOKEN = 0xfffe;
const MOVED_PARTITIONS = 0xfffd;

/** Where in the tuple each field lies, for the findings. */
const FIELD = { xmin: 0, xmax: 4, ctid: 12, infomask2: 18, infomask: 20, hoff: 22, bitmap: BITMAP_BYTE } as const;

/** Checks tuples, one after the other. PostgreSQL: `check_tuple_header`, `check_tuple_attribute`, verify_heapam.c. */
export class TupleCheck {
  private readonly options: TupleCheckOptions;
  private readonly places: AttributePlaces;
  private readonly decoder: RowDecoder | undefined;

  constructor(options: TupleCheckOptions) {
    this.options = options;
    const { descriptor } = options;
    this.places = new AttributePlaces(descriptor?.columns.length ?? 0);
    this.decoder = descriptor === undefined ? undefined : RowDecoder.for(descriptor);
  }

  /** Checks the tuple of `length` bytes at byte `position` of `m`, all of it inside its page. */
  check(
    m: PageMemory,
    position: number,
    length: number,
    block: BlockNumber,
    offset: OffsetNumber,
    pageReport: Report,
  ): void {
    const report = (field: keyof typeof FIELD, code: string, message: string): void =>
      pageReport(`tuple.${code}`, 'error', message, {
        offsetNumber: offset,
        byteOffset: (position & this.options.geometry.mask) + FIELD[field],
      });
    this.checkXids(m, position, report);
    checkFlags(m, position, report);
    this.checkCtid(m, position, block, report);
    if (!checkSizes(m, position, length, this.options.descriptor, report)) return;
    this.checkAttributes(m, position, length, offset, pageReport, report);
  }

  private checkXids(m: PageMemory, position: number, report: FieldReport): void {
    const infomask = tupleInfomask(m, position);
    const isFrozen = (infomask & HEAP_XMIN_COMMITTED) !== 0 && (infomask & HEAP_XMIN_INVALID) !== 0;
    const xminFault = isFrozen ? undefined : xidFault(tupleXmin(m, position), this.options.xids);
    if (xminFault !== undefined) report('xmin', 'xmin', `t_xmin ${xminFault}`);
    const hasXmax = (infomask & (HEAP_XMAX_INVALID | HEAP_XMAX_IS_MULTI)) === 0;
    const xmaxFault = hasXmax ? xidFault(tupleXmax(m, position), this.options.xids) : undefined;
    if (xmaxFault !== undefined) report('xmax', 'xmax', `t_xmax ${xmaxFault}`);
  }

  private checkCtid(m: PageMemory, position: number, block: BlockNumber, report: FieldReport): void {
    const ctidBlock = tupleCtidBlock(m, position);
    const ctidOffset = tupleCtidOffset(m, position);
    if (ctidOffset === SPECULATIVE_TOKEN || ctidOffset === MOVED_PARTITIONS) return;
    if (ctidOffset < 1 || ctidOffset > this.options.geometry.maxOffsetNumber) {
      report('ctid', 'ctid_offset', `t_ctid (${ctidBlock},${ctidOffset}) names no line pointer that a page can have`);
    } else if (ctidBlock >= this.options.blockCount && ctidBlock !== block) {
      report(
        'ctid',
        'ctid_block',
        `t_ctid (${ctidBlock},${ctidOffset}) is beyond the relation's ${this.options.blockCount} blocks`,
      );
    }
  }

  private checkAttributes(
    m: PageMemory,
    position: number,
    length: number,
    offset: OffsetNumber,
    pageReport: Report,
    report: FieldReport,
  ): void {
    const { descriptor } = this.options;
    if (descriptor === undefined || this.decoder === undefined) return;
    try {
      const natts = tupleNatts(m, position);
      const end = locateAttributes(descriptor, m.u8, position, length, natts, this.places);
      if (end !== position + length) {
        report('infomask', 'length', `the tuple has ${length} bytes, and its attributes end after ${end - position}`);
      }
      const external = checkAttributeFlags(m, position, natts, descriptor, this.places, report);
      if (external === 0) this.decoder.array(m, position, length); // what is out of line is another relation's
    } catch (error) {
      const fault = atTuple(error, descriptor, 0, -1);
      if (!(fault instanceof TupleError)) throw error;
      const attribute = fault.attributeNumber === 0 ? undefined : fault.attributeNumber;
      pageReport('tuple.attribute', 'error', fault.message, { offsetNumber: offset, attribute });
    }
  }
}

type FieldReport = (field: keyof typeof FIELD, code: string, message: string) => void;

/** Combinations of bits that nothing writes. */
function checkFlags(m: PageMemory, position: number, report: FieldReport): void {
  const infomask = tupleInfomask(m, position);
  const infomask2 = tupleInfomask2(m, position);
  const has = (bits: number): boolean => (infomask & bits) !== 0;
  if (has(HEAP_HASOID_OLD))
    report('infomask', 'oid', 't_infomask says that the tuple has an object id, as before PostgreSQL 12');
  if (has(HEAP_MOVED))
    report(
      'infomask',
      'moved',
      't_infomask says that an old-style VACUUM FULL moved the tuple, as before PostgreSQL 9.0',
    );
  if ((infomask2 & INFOMASK2_UNUSED) !== 0)
    report('infomask2', 'infomask2', `t_infomask2 0x${infomask2.toString(16)} has bits that have no meaning`);
  if (has(HEAP_XMAX_COMMITTED) && has(HEAP_XMAX_INVALID)) {
    report('infomask', 'xmax_committed_and_invalid', 't_infomask calls t_xmax both committed and invalid');
  }
  if (has(HEAP_XMAX_COMMITTED) && has(HEAP_XMAX_IS_MULTI)) {
    report('infomask', 'multixact_committed', 't_infomask calls a multixact committed');
  }
  if ((infomask2 & HEAP_HOT_UPDATED) !== 0 && !has(HEAP_XMAX_IS_MULTI) && tupleXmax(m, position) === 0) {
    report('infomask2', 'hot_updated_without_xmax', 'the tuple was HOT-updated, but t_xmax is 0');
  }
}

/** Whether t_hoff and the number of attributes are possible: without that, no attribute can be found. */
function checkSizes(
  m: PageMemory,
  position: number,
  length: number,
  descriptor: TupleDescriptor | undefined,
  report: FieldReport,
): boolean {
  const natts = tupleNatts(m, position);
  const hoff = tupleHoff(m, position);
  const hasNulls = (tupleInfomask(m, position) & HEAP_HASNULL) !== 0;
  if (descriptor !== undefined && natts > descriptor.columns.length) {
    report('infomask2', 'natts', `the tuple has ${natts} attributes, the table ${descriptor.columns.length}`);
    return false;
  }
  const due = heapHeaderBytes(natts, hasNulls);
  if (hoff !== due) {
    report(
      'hoff',
      'hoff',
      `t_hoff is ${hoff}; with ${natts} attributes ${hasNulls ? 'and' : 'without'} a null bitmap it is ${due}`,
    );
    return false;
  }
  if (hoff > length) {
    report('hoff', 'hoff_beyond_tuple', `t_hoff is ${hoff}, the tuple has ${length} bytes`);
    return false;
  }
  return true;
}

/**
 * What t_infomask says of the attributes is what they are, and the null bitmap says nothing of attributes that are not
 * there. Returns the number of attributes that are stored out of line.
 */
function checkAttributeFlags(
  m: PageMemory,
  position: number,
  natts: number,
  descriptor: TupleDescriptor,
  places: AttributePlaces,
  report: FieldReport,
): number {
  const infomask = tupleInfomask(m, position);
  let nulls = 0;
  let varlenas = 0;
  let external = 0;
  for (let i = 0; i < natts; i++) {
    if (places.forms[i] === 0) nulls++;
    else if (descriptor.attlens[i] < 0) varlenas++;
    if (places.forms[i] === 3) external++;
  }
  const says = (bit: number): boolean => (infomask & bit) !== 0;
  if (says(HEAP_HASNULL) !== nulls > 0)
    report('infomask', 'has_null', `t_infomask and the null bitmap disagree: ${nulls} attributes are null`);
  if (says(HEAP_HASVARWIDTH) !== varlenas > 0)
    report('infomask', 'has_varwidth', `t_infomask and the attributes disagree: ${varlenas} are of variable width`);
  if (says(HEAP_HASEXTERNAL) !== external > 0)
    report('infomask', 'has_external', `t_infomask and the attributes disagree: ${external} are stored out of line`);
  if (says(HEAP_HASNULL) && (natts & 7) !== 0) {
    const last = m.u8[position + BITMAP_BYTE + (natts >> 3)];
    if (last >> (natts & 7) !== 0)
      report('bitmap', 'null_bitmap', `the null bitmap has bits beyond attribute ${natts}`);
  }
  return external;
}
