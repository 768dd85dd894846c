// The pages of the WAL: 8 kB at every block size, each with a header that says where it belongs.
//
//   0     2     4             8                       16        20        24                      32
//   +-----+-----+-------------+-----------------------+---------+---------+-----------------------+
//   |magic|info | incarnation | pageAddr              | remLen  |headerCrc| durableUpTo           |
//   +-----+-----+-------------+-----------------------+---------+---------+-----------------------+
//   | systemIdentifier        | segmentSize | pageBytes |   only on the first page of a segment
//   +-------------------------+-------------+-----------+
//  32                        40            44          48
//
// | byte | bytes | field            | meaning                                                                           |
// |-----:|------:|------------------|-----------------------------------------------------------------------------------|
// |    0 |     2 | magic            | 0xB10C; not PostgreSQL's `xlp_magic`                                              |
// |    2 |     2 | info             | 1: the page starts with the rest of a record; 2: long header (`xlp_info`)         |
// |    4 |     4 | incarnation      | of the WAL; raised by each recovery                                               |
// |    8 |     8 | pageAddr         | LSN of the page's first byte (`xlp_pageaddr`)                                     |
// |   16 |     4 | remLen           | bytes that the record still has, on this page and later ones (`xlp_rem_len`)      |
// |   20 |     4 | headerCrc        | CRC-32 of the rest of the header                                                  |
// |   24 |     8 | durableUpTo      | up to where the WAL was known synced when the page was written                    |
// |   32 |     8 | systemIdentifier | of the data directory (`xlp_sysid`)                                               |
// |   40 |     4 | segmentSize      | bytes (`xlp_seg_size`)                                                            |
// |   44 |     4 | pageBytes        | of a WAL page (`xlp_xlog_blcksz`)                                                 |
import { formatLsn, fromWords, highWord, type Lsn, lowWord, uint32 } from '@blockwright/base';
import { crc32ByTables } from './crc.ts';

export const WAL_PAGE_SHIFT: number = 13;
/** Bytes of a WAL page, whatever the block size. PostgreSQL: `XLOG_BLCKSZ`. */
export const WAL_PAGE_BYTES: number = 1 << WAL_PAGE_SHIFT;
export const WAL_PAGE_MASK: number = WAL_PAGE_BYTES - 1;

export const WAL_MAGIC: number = 0xb10c;
/** The page starts with the rest of a record. PostgreSQL: `XLP_FIRST_IS_CONTRECORD`. */
export const PAGE_CONTINUES: number = 1;
/** The header is the long one. PostgreSQL: `XLP_LONG_HEADER`. */
export const PAGE_LONG_HEADER: number = 2;
const PAGE_ALL_FLAGS = PAGE_CONTINUES | PAGE_LONG_HEADER;

export const SHORT_HEADER_BYTES: number = 32;
export const LONG_HEADER_BYTES: number = 48;

/** First byte of each field of a page header. */
export const PAGE_FIELDS = {
  magic: 0,
  info: 2,
  incarnation: 4,
  pageAddr: 8,
  remLen: 16,
  headerCrc: 20,
  durableUpTo: 24,
  systemIdentifier: 32,
  segmentSize: 40,
  pageBytes: 44,
} as const;
const F = PAGE_FIELDS;

/** LSN of the page that byte `lsn` is on. */
export function walPageStart(lsn: Lsn): Lsn {
  return lsn - (lowWord(lsn) & WAL_PAGE_MASK);
}

/** The first page boundary at or after `lsn`: where a new incarnation begins when the last one ended at `lsn`. */
export function walPageBoundary(lsn: Lsn): Lsn {
  return walPageStart(lsn + WAL_PAGE_MASK);
}

/** Where a record begins that follows one that ends at `lsn`: behind the header of its page, if it is the first on one. */
export function walRecordStart(lsn: Lsn, segmentSize: number): Lsn {
  if ((lowWord(lsn) & WAL_PAGE_MASK) !== 0) return lsn;
  return lsn + ((lowWord(lsn) & (segmentSize - 1)) === 0 ? LONG_HEADER_BYTES : SHORT_HEADER_BYTES);
}

/** Bytes of a header with those info bits. */
export function pageHeaderBytes(info: number): number {
  return (info & PAGE_LONG_HEADER) === 0 ? SHORT_HEADER_BYTES : LONG_HEADER_BYTES;
}

/** What all pages of a WAL have in common. */
export interface WalIdentity {
  readonly incarnation: number;
  readonly systemHigh: number;
  readonly systemLow: number;
  readonly segmentSize: number;
}

/** @throws RangeError when one of the values cannot be. */
export function walIdentity(systemIdentifier: string, segmentSize: number, incarnation: number): WalIdentity {
  let high = /^\d{1,20}$/.test(systemIdentifier) ? 0 : Number.NaN;
  let low = 0;
  for (const digit of systemIdentifier) {
    const next = low * 10 + Number(digit);
    high = high * 10 + highWord(next);
    low = lowWord(next);
  }
  if (!(high <= 0xffff_ffff)) {
    throw new RangeError(`system identifier "${systemIdentifier}" is not a uint64 in decimal`);
  }
  return { incarnation: uint32(incarnation, 'WAL incarnation'), systemHigh: high, systemLow: low, segmentSize };
}

/** Writes a header at `at`; {@link stampPage} completes it when the page is written. @returns its bytes. */
export function writePageHeader(
  view: DataView,
  at: number,
  identity: WalIdentity,
  high: number,
  low: number,
  remaining: number,
): number {
  const long = (low & (identity.segmentSize - 1)) === 0;
  view.setUint16(at + F.magic, WAL_MAGIC, true);
  view.setUint16(at + F.info, (remaining === 0 ? 0 : PAGE_CONTINUES) | (long ? PAGE_LONG_HEADER : 0), true);
  view.setUint32(at + F.incarnation, identity.incarnation, true);
  view.setUint32(at + F.pageAddr, low, true);
  view.setUint32(at + F.pageAddr + 4, high, true);
  view.setUint32(at + F.remLen, remaining, true);
  if (!long) return SHORT_HEADER_BYTES;
  view.setUint32(at + F.systemIdentifier, identity.systemLow, true);
  view.setUint32(at + F.systemIdentifier + 4, identity.systemHigh, true);
  view.setUint32(at + F.segmentSize, identity.segmentSize, true);
  view.setUint32(at + F.pageBytes, WAL_PAGE_BYTES, true);
  return LONG_HEADER_BYTES;
}

/** Says in the header at `at` how far the WAL is synced, and puts the checksum there. */
export function stampPage(view: DataView, at: number, durableUpTo: Lsn): void {
  view.setUint32(at + F.durableUpTo, lowWord(durableUpTo), true);
  view.setUint32(at + F.durableUpTo + 4, highWord(durableUpTo), true);
  view.setInt32(at + F.headerCrc, pageHeaderCrc(view, at), true);
}

/** CRC-32 of the header at `at`, but for the place of the CRC. */
export function pageHeaderCrc(view: DataView, at: number): number {
  const crc = crc32ByTables(view, at, F.headerCrc, 0);
  const bytes = pageHeaderBytes(view.getUint16(at + F.info, true));
  return crc32ByTables(view, at + F.durableUpTo, bytes - F.durableUpTo, crc);
}

/**
 * What is wrong with the header at `at` of the page that should be the one at `lsn`; empty when nothing is. Neither
 * incarnation, system identifier nor segment size are looked at.
 */
export function pageHeaderFault(view: DataView, at: number, lsn: Lsn, isFirstOfSegment: boolean): string {
  const magic = view.getUint16(at + F.magic, true);
  if (magic !== WAL_MAGIC) return `invalid magic number ${hex(magic, 4)}`;
  const info = view.getUint16(at + F.info, true);
  if ((info & ~PAGE_ALL_FLAGS) !== 0) return `invalid info bits ${hex(info, 4)}`;
  if (((info & PAGE_LONG_HEADER) !== 0) !== isFirstOfSegment) {
    return `invalid info bits ${hex(info, 4)}: ${isFirstOfSegment ? 'no' : 'a'} long header`;
  }
  const low = view.getUint32(at + F.pageAddr, true);
  const high = view.getUint32(at + F.pageAddr + 4, true);
  if (low !== lowWord(lsn) || high !== highWord(lsn)) return `unexpected page address ${formatLsn(high, low)}`;
  if (view.getInt32(at + F.headerCrc, true) !== pageHeaderCrc(view, at)) return 'incorrect page header checksum';
  return '';
}

/** `incarnation` of the header at `at`. */
export function pageIncarnation(view: DataView, at: number): number {
  return view.getUint32(at + F.incarnation, true);
}

/** `info` of the header at `at`. */
export function pageInfo(view: DataView, at: number): number {
  return view.getUint16(at + F.info, true);
}

/** `remLen` of the header at `at`. */
export function pageRemaining(view: DataView, at: number): number {
  return view.getUint32(at + F.remLen, true);
}

/** What the long header at `at` says of its WAL; undefined when there is none, or its checksum is wrong. */
export function longHeader(
  view: DataView,
  at: number,
): { systemIdentifier: string; segmentSize: number; pageBytes: number } | undefined {
  if (view.getUint16(at + F.magic, true) !== WAL_MAGIC) return undefined;
  if ((pageInfo(view, at) & PAGE_LONG_HEADER) === 0) return undefined;
  if (view.getInt32(at + F.headerCrc, true) !== pageHeaderCrc(view, at)) return undefined;
  return {
    systemIdentifier: view.getBigUint64(at + F.systemIdentifier, true).toString(),
    segmentSize: view.getUint32(at + F.segmentSize, true),
    pageBytes: view.getUint32(at + F.pageBytes, true),
  };
}

/** `durableUpTo` of the header at `at`. */
export function pageDurableUpTo(view: DataView, at: number): Lsn {
  return fromWords(view.getUint32(at + F.durableUpTo + 4, true), view.getUint32(at + F.durableUpTo, true));
}

function hex(value: number, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, '0');
}
