// A record as it was read: its fields by name, its bytes where they lie.
import { formatLsn, fromWords, type Lsn, type Xid } from '@blockwright/base';
import {
  BLOCK_FORK_MASK,
  BLOCK_HAS_DATA,
  BLOCK_HAS_IMAGE,
  BLOCK_SAME_RELATION,
  BLOCK_WILL_INIT,
  IMAGE_HAS_HOLE,
  IMAGE_SIZE_SHIFT,
  LONG_DATA,
  MAX_BLOCK_REFERENCES,
  RECORD_FIELDS,
  RECORD_HEADER_BYTES,
  SHORT_DATA,
} from './record-format.ts';

const F = RECORD_FIELDS;
const N = MAX_BLOCK_REFERENCES;

/**
 * A record that a reader lends until its next `next()`. Block references are found by index, 0 to {@link blockCount} − 1,
 * in arrays; places are indexes into {@link bytes}. PostgreSQL: `DecodedXLogRecord`, xlogreader.h.
 */
export class WalRecord {
  /** Where the record begins. */
  lsn: Lsn = 0;
  /** Position after the record: the LSN of the pages that it changes. */
  endLsn: Lsn = 0;
  /** The two words of {@link endLsn} as int32, for page headers. */
  endHigh: number = 0;
  endLow: number = 0;
  /** Where the record before begins; 0 for the first. */
  previous: Lsn = 0;
  xid: Xid = 0;
  /** Id of the resource manager. */
  rmgr: number = 0;
  info: number = 0;
  /** Bytes, header included, padding and page headers not. */
  totalLength: number = 0;
  /** Of the WAL that the record is in. */
  incarnation: number = 0;
  /** The whole record, contiguous, from index {@link at} on; other bytes stand around it. */
  bytes: Uint8Array = new Uint8Array(0);
  /** The same bytes. */
  view: DataView = new DataView(new ArrayBuffer(0));
  at: number = 0;
  /** Where the main data lies. */
  dataAt: number = 0;
  dataLength: number = 0;
  blockCount: number = 0;
  readonly blockId: Int32Array = new Int32Array(N);
  readonly tablespace: Uint32Array = new Uint32Array(N);
  readonly database: Uint32Array = new Uint32Array(N);
  readonly relfilenode: Uint32Array = new Uint32Array(N);
  readonly fork: Int32Array = new Int32Array(N);
  readonly block: Uint32Array = new Uint32Array(N);
  /** 1 or 0. */
  readonly hasImage: Uint8Array = new Uint8Array(N);
  /** 1 or 0. */
  readonly willInit: Uint8Array = new Uint8Array(N);
  /** Where the image lies, and its bytes without the hole. */
  readonly imageAt: Int32Array = new Int32Array(N);
  readonly imageLength: Int32Array = new Int32Array(N);
  readonly holeOffset: Int32Array = new Int32Array(N);
  /** Bytes of the hole: with those of the image they are the block size. */
  readonly holeLength: Int32Array = new Int32Array(N);
  readonly blockDataAt: Int32Array = new Int32Array(N);
  readonly blockDataLength: Int32Array = new Int32Array(N);

  /** The byte at `at` of {@link bytes}. */
  u8(at: number): number {
    return this.bytes[at];
  }

  u16(at: number): number {
    return this.view.getUint16(at, true);
  }

  u32(at: number): number {
    return this.view.getUint32(at, true);
  }

  /** Index of the block reference with that id; -1 when there is none. */
  indexOf(blockId: number): number {
    const count = this.blockCount;
    for (let i = 0; i < count; i++) if (this.blockId[i] === blockId) return i;
    return -1;
  }
}

/**
 * Fills in what the record at `at` of `bytes`, of `total` bytes, says of itself; `lsn` and what follows from it is the
 * caller's. Nothing outside the record is read, whatever it says. @returns what is wrong with it; empty when nothing is.
 */
export function decodeRecord(record: WalRecord, bytes: Uint8Array, view: DataView, at: number, total: number): string {
  record.bytes = bytes;
  record.view = view;
  record.at = at;
  record.totalLength = total;
  record.xid = view.getUint32(at + F.xid, true);
  record.previous = previousOf(view, at);
  record.info = view.getUint8(at + F.info);
  record.rmgr = view.getUint8(at + F.rmgr);
  record.dataLength = 0;
  record.blockCount = 0;
  const end = at + total;
  let p = at + RECORD_HEADER_BYTES;
  let dataBytes = 0;
  let lastId = -1;
  while (end - p > dataBytes) {
    const id = view.getUint8(p);
    if (id === SHORT_DATA || id === LONG_DATA) {
      const header = id === SHORT_DATA ? 2 : 5;
      if (p + header > end) return 'its main data header is cut short';
      const length = id === SHORT_DATA ? view.getUint8(p + 1) : view.getUint32(p + 1, true);
      record.dataLength = length;
      dataBytes += length;
      p += header;
      break; // the main data's header is the last
    }
    if (id >= N) return `invalid block id ${id}`;
    if (id <= lastId) return `block id ${id} after ${lastId}`;
    lastId = id;
    const next = decodeBlock(record, view, p, end);
    if (next < 0) return `block ${id}: ${BLOCK_FAULTS[-next] as string}`;
    p = next;
    const i = record.blockCount - 1;
    dataBytes += record.imageLength[i] + record.blockDataLength[i];
  }
  if (end - p !== dataBytes) return `its parts have ${dataBytes} bytes where ${end - p} are left`;
  for (let i = 0; i < record.blockCount; i++) {
    record.imageAt[i] = p;
    p += record.imageLength[i];
    record.blockDataAt[i] = p;
    p += record.blockDataLength[i];
  }
  record.dataAt = p;
  return '';
}

/** By minus what {@link decodeBlock} gives. */
const BLOCK_FAULTS: readonly string[] = [
  '',
  'its header is cut short',
  'it has no data, but a length of data, or the other way round',
  'its image has no size that a page can have',
  'the hole of its image does not fit',
  'it is of the same relation as a block before it, and there is none',
  'it has a fork that there is not',
];

/** Reads the block reference at `p`. @returns what comes after it, or minus the number of what is wrong. */
function decodeBlock(record: WalRecord, view: DataView, from: number, end: number): number {
  let p = from;
  if (p + 4 > end) return -1;
  const i = record.blockCount;
  const flags = view.getUint8(p + 1);
  const length = view.getUint16(p + 2, true);
  record.blockId[i] = view.getUint8(p);
  record.fork[i] = flags & BLOCK_FORK_MASK;
  record.willInit[i] = (flags & BLOCK_WILL_INIT) === 0 ? 0 : 1;
  record.blockDataLength[i] = length;
  if (((flags & BLOCK_HAS_DATA) !== 0) !== (length !== 0)) return -2;
  if ((flags & BLOCK_FORK_MASK) > 3) return -6;
  p += 4;
  record.hasImage[i] = 0;
  record.imageLength[i] = 0;
  record.holeOffset[i] = 0;
  record.holeLength[i] = 0;
  if ((flags & BLOCK_HAS_IMAGE) !== 0) {
    if (p + 5 > end) return -1;
    const imageLength = view.getUint16(p, true);
    const imageFlags = view.getUint8(p + 4);
    const shift = imageFlags >>> IMAGE_SIZE_SHIFT;
    const size = 1 << shift;
    const hole = size - imageLength;
    const holeOffset = view.getUint16(p + 2, true);
    record.hasImage[i] = 1;
    record.imageLength[i] = imageLength;
    record.holeOffset[i] = holeOffset;
    record.holeLength[i] = hole;
    if (shift < 10 || imageLength === 0) return -3;
    if (hole < 0 || holeOffset + hole > size || ((imageFlags & IMAGE_HAS_HOLE) !== 0) !== (hole !== 0)) return -4;
    p += 5;
  }
  if ((flags & BLOCK_SAME_RELATION) === 0) {
    if (p + 12 > end) return -1;
    record.tablespace[i] = view.getUint32(p, true);
    record.database[i] = view.getUint32(p + 4, true);
    record.relfilenode[i] = view.getUint32(p + 8, true);
    p += 12;
  } else {
    if (i === 0) return -5;
    record.tablespace[i] = record.tablespace[i - 1];
    record.database[i] = record.database[i - 1];
    record.relfilenode[i] = record.relfilenode[i - 1];
  }
  if (p + 4 > end) return -1;
  record.block[i] = view.getUint32(p, true);
  record.blockCount = i + 1;
  return p + 4;
}

/** LSN of the record before, as the header at `at` has it; not exact when it is nonsense above 2^53. */
export function previousOf(view: DataView, at: number): Lsn {
  return fromWords(view.getUint32(at + F.prev + 4, true), view.getUint32(at + F.prev, true));
}

/** LSN that the header at `at` says the record before has, as text. */
export function previousText(view: DataView, at: number): string {
  return formatLsn(view.getUint32(at + F.prev + 4, true), view.getUint32(at + F.prev, true));
}
