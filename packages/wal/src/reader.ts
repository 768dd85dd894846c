// Reads records one after another until the WAL ends, and says why it does. What a crash left behind, and what is
// damaged, looks the same from here; `durableBeyondEnd` helps to tell. PostgreSQL: xlogreader.c.
import { highWord, type Lsn, lsnText, StorageError } from '@blockwright/base';
import type { Vfs } from '@blockwright/vfs';
import { crc32 } from './crc.ts';
import {
  PAGE_CONTINUES,
  pageHeaderBytes,
  pageIncarnation,
  pageInfo,
  pageRemaining,
  WAL_PAGE_BYTES,
  walPageBoundary,
  walPageStart,
} from './page-format.ts';
import { PageSource } from './page-source.ts';
import { decodeRecord, previousOf, previousText, WalRecord } from './record.ts';
import { MAX_RECORD_BYTES, RECORD_FIELDS, RECORD_HEADER_BYTES } from './record-format.ts';

const PAGE_BYTES = WAL_PAGE_BYTES;
const HEADER_BYTES = RECORD_HEADER_BYTES;
const CRC_AT = RECORD_FIELDS.crc;
const crcOf = crc32;
const decode = decodeRecord;
const highOf = highWord;

export interface WalReaderOptions {
  readonly vfs: Vfs;
  /** Of the segments: the data directory's `wal`. Nothing is written to it. */
  readonly directory: string;
  readonly segmentSize: number;
  /** Of the data directory: segments of another are refused. Any is taken if not given. */
  readonly systemIdentifier?: string;
  /** Only records of this one; if not given, of that of the first page that is read after a {@link WalReader.seek}. */
  readonly incarnation?: number;
  /** Where an incarnation ends, go on with a higher one that begins right there. */
  readonly followIncarnations?: boolean;
}

/** Where one incarnation ended and the next begins. */
export interface IncarnationEnd {
  readonly incarnation: number;
  /** After its last good record. */
  readonly lsn: Lsn;
  readonly reason: string;
}

const NO_INCARNATION = -1;

export class WalReader {
  /** What the last {@link next} read; lent until the next. */
  readonly record: WalRecord = new WalRecord();
  private readonly source: PageSource;
  private readonly wantedIncarnation: number;
  private readonly isFollowing: boolean;
  private incarnation: number = NO_INCARNATION;
  /** The page that the next record begins on, where it lies (-1: to be loaded), and where on it the record begins. */
  private pageLsn: Lsn = 0;
  private pageAt: number = -1;
  private inPage: number = 0;
  /** Start of the last record, which the next must name; -1 after a seek. */
  private lastStart: Lsn = -1;
  private end: Lsn = 0;
  private reason: string = 'no position was sought';
  private ended: IncarnationEnd | undefined = undefined;
  /** A record that crosses pages is put together here. */
  private whole: Uint8Array = new Uint8Array(1 << 16);
  private wholeView: DataView = new DataView(this.whole.buffer);

  /** @throws RangeError for a segment size that cannot be. */
  constructor(options: WalReaderOptions) {
    const { vfs, directory, segmentSize, systemIdentifier, incarnation, followIncarnations } = options;
    this.source = new PageSource(vfs, directory, segmentSize, systemIdentifier);
    this.wantedIncarnation = incarnation ?? NO_INCARNATION;
    this.isFollowing = followIncarnations === true;
  }

  /** Why the last {@link next} gave false, with the place; empty while there is no end. */
  get endReason(): string {
    return this.reason;
  }

  /** Position after the last good record; what was sought when there was none. */
  get endLsn(): Lsn {
    return this.end;
  }

  /** The incarnation that ended before the one being read; undefined when there was none since the last seek. */
  get incarnationEnd(): IncarnationEnd | undefined {
    return this.ended;
  }

  /** The next record is the one that begins at `lsn`, or on the page that begins there. @throws RangeError: no such position */
  seek(lsn: Lsn): void {
    if (!Number.isSafeInteger(lsn) || lsn < 0) throw new RangeError(`${String(lsn)} is no position in the WAL`);
    this.source.forget(); // the WAL may have grown
    this.incarnation = this.wantedIncarnation;
    this.ended = undefined;
    this.reason = '';
    this.goTo(walPageStart(lsn), lsn - walPageStart(lsn));
  }

  /**
   * Seeks the first record that begins at or after `lsn`, which may lie anywhere. PostgreSQL: `XLogFindNextRecord`.
   * @returns where it begins; 0 when there is none, for {@link endReason}.
   */
  find(lsn: Lsn): Lsn {
    this.seek(walPageStart(lsn));
    for (let inPage = PAGE_BYTES; inPage >= PAGE_BYTES; this.pageLsn += PAGE_BYTES) {
      const at = this.loadPage(this.pageLsn);
      if (at < 0) {
        this.end = this.pageLsn;
        this.reason = this.source.fault;
        return 0;
      }
      const { view } = this.source;
      const info = pageInfo(view, at);
      inPage = pageHeaderBytes(info);
      if ((info & PAGE_CONTINUES) !== 0) inPage += padded(pageRemaining(view, at));
      this.inPage = inPage;
    }
    this.goTo(this.pageLsn - PAGE_BYTES, this.inPage);
    while (this.next()) {
      const { lsn: start } = this.record;
      if (start < lsn) continue;
      this.goTo(walPageStart(start), start - walPageStart(start));
      return start;
    }
    return 0;
  }

  /**
   * Reads the next record into {@link record}.
   * @returns false at the end of the WAL: see {@link endReason}.
   * @throws StorageError XX001 for a segment of another WAL, 53200 when there is no memory for the record, and what the
   * file system throws: none of these is an end of the WAL.
   */
  next(): boolean {
    while (this.reason === '') {
      const fault = this.read();
      if (fault === '') return true;
      if (!this.follow(fault)) this.reason = fault;
    }
    return false;
  }

  /**
   * The greatest `durableUpTo` that a page at or after the end has, of the incarnation that ended: if it is beyond
   * {@link endLsn}, the WAL did not end there by a crash, but records that were durable are damaged. 0 when none is
   * beyond. All segments after the end are looked at.
   */
  durableBeyondEnd(): Lsn {
    if (this.incarnation === NO_INCARNATION) return 0;
    const durable = this.source.greatestDurable(this.end, this.incarnation);
    return durable > this.end ? durable : 0;
  }

  close(): void {
    this.source.close();
    this.pageAt = -1;
    this.reason = 'the reader is closed';
  }

  private goTo(pageLsn: Lsn, inPage: number): void {
    this.pageLsn = pageLsn;
    this.pageAt = -1;
    this.inPage = inPage;
    this.lastStart = -1;
    this.end = pageLsn + inPage;
  }

  /** Reads the record at the position. @returns what is wrong; empty when nothing is. */
  private read(): string {
    let { inPage } = this;
    if (inPage === PAGE_BYTES) {
      this.pageLsn += PAGE_BYTES;
      this.pageAt = -1;
      inPage = 0;
    }
    if (this.pageAt < 0) {
      const fault = this.startPage(inPage);
      if (fault !== '') return fault;
      inPage = this.inPage;
    }
    const { source, pageLsn } = this;
    const at = this.pageAt + inPage;
    const rest = PAGE_BYTES - inPage;
    const lsn = pageLsn + inPage;
    const total = source.view.getUint32(at, true);
    if (total < HEADER_BYTES || total > MAX_RECORD_BYTES) return lengthFault(total, lsn);
    if (rest >= HEADER_BYTES && this.isMislinked(source.view, at, lsn)) return linkFault(source.view, at, lsn);
    if (total > rest) return this.readAcross(total, lsn, at, rest);
    const fault = this.accept(source.bytes, source.view, at, total, lsn);
    if (fault === '') this.moveOn(lsn, pageLsn, inPage + padded(total));
    return fault;
  }

  /** Loads the page of the position. @returns what is wrong with it as one on which a record begins. */
  private startPage(inPage: number): string {
    const at = this.loadPage(this.pageLsn);
    if (at < 0) return this.source.fault;
    const info = pageInfo(this.source.view, at);
    const header = pageHeaderBytes(info);
    if (inPage === 0) {
      if ((info & PAGE_CONTINUES) !== 0) {
        return `a record should begin where one continues, at ${lsnText(this.pageLsn + header)}`;
      }
      this.inPage = header;
    } else if (inPage < header || (inPage & 7) !== 0) {
      return `no record can begin at ${lsnText(this.pageLsn + inPage)}`;
    }
    this.pageAt = at;
    return '';
  }

  /** Where the page at `lsn`, of the incarnation being read, lies; -1 when it does not, for the source's fault. */
  private loadPage(lsn: Lsn): number {
    const { source } = this;
    const at = source.load(lsn);
    if (at < 0) return -1;
    const incarnation = pageIncarnation(source.view, at);
    if (this.incarnation === NO_INCARNATION) this.incarnation = incarnation;
    if (incarnation === this.incarnation) return at;
    source.fault = `incarnation ${incarnation} instead of ${this.incarnation} ${source.place(lsn)}`;
    return -1;
  }

  /** Puts together a record of which `rest` bytes lie at `at`, the others on the pages that follow. */
  private readAcross(total: number, lsn: Lsn, at: number, rest: number): string {
    const { source } = this;
    this.pageAt = -1;
    let got = 0;
    let part = rest;
    let from = at;
    let page = this.pageLsn;
    let inPage = 0;
    for (;;) {
      // Only what pages really hold makes the buffer grow, not what the length says.
      this.ensureWhole(got + part, got);
      this.whole.set(source.bytes.subarray(from, from + part), got);
      const before = got;
      got += part;
      if (before < HEADER_BYTES && got >= HEADER_BYTES && rest < HEADER_BYTES) {
        if (this.isMislinked(this.wholeView, 0, lsn)) return linkFault(this.wholeView, 0, lsn);
      }
      if (got === total) break;
      page += PAGE_BYTES;
      const pageAt = this.loadPage(page);
      if (pageAt < 0) return source.fault;
      const info = pageInfo(source.view, pageAt);
      if ((info & PAGE_CONTINUES) === 0) return `the record at ${lsnText(lsn)} does not continue at ${lsnText(page)}`;
      const remaining = pageRemaining(source.view, pageAt);
      if (remaining !== total - got) {
        return `invalid remaining length ${remaining} (expected ${total - got}) at ${lsnText(page)}`;
      }
      inPage = pageHeaderBytes(info);
      from = pageAt + inPage;
      part = Math.min(total - got, PAGE_BYTES - inPage);
    }
    const fault = this.accept(this.whole, this.wholeView, 0, total, lsn);
    if (fault !== '') return fault;
    this.pageLsn = page;
    this.pageAt = from - inPage;
    this.moveOn(lsn, page, inPage + padded(part));
    return '';
  }

  /** Checks the record that lies whole at `at`, and makes it {@link record}. */
  private accept(bytes: Uint8Array, view: DataView, at: number, total: number, lsn: Lsn): string {
    const crc = crcOf(bytes, view, at + HEADER_BYTES, total - HEADER_BYTES, this.incarnation);
    if (crcOf(bytes, view, at, CRC_AT, crc) !== view.getInt32(at + CRC_AT, true)) {
      return `incorrect checksum of the record at ${lsnText(lsn)}`;
    }
    const fault = decode(this.record, bytes, view, at, total);
    return fault === '' ? '' : `the record at ${lsnText(lsn)} is malformed: ${fault}`;
  }

  /** The record at `lsn` is good, and ends at byte `inPage` of the page at `page`. */
  private moveOn(lsn: Lsn, page: Lsn, inPage: number): void {
    const { record } = this;
    const end = page + inPage;
    record.lsn = lsn;
    record.endLsn = end;
    record.endHigh = highOf(end) | 0;
    record.endLow = end | 0;
    record.incarnation = this.incarnation;
    this.lastStart = lsn;
    this.inPage = inPage;
    this.end = end;
  }

  /** Whether the record at `at` names another one before it than there was. */
  private isMislinked(view: DataView, at: number, lsn: Lsn): boolean {
    const previous = previousOf(view, at);
    return this.lastStart < 0 ? previous >= lsn : previous !== this.lastStart;
  }

  /** Goes on with a higher incarnation, if that is wanted and one begins where this one ends. */
  private follow(fault: string): boolean {
    if (!this.isFollowing || this.incarnation === NO_INCARNATION) return false;
    const { source } = this;
    const page = walPageBoundary(this.end);
    const at = source.load(page);
    if (at < 0 || (pageInfo(source.view, at) & PAGE_CONTINUES) !== 0) return false;
    const incarnation = pageIncarnation(source.view, at);
    if (incarnation <= this.incarnation) return false;
    this.ended = { incarnation: this.incarnation, lsn: this.end, reason: fault };
    this.incarnation = incarnation;
    this.goTo(page, 0);
    return true;
  }

  /** Makes room for `bytes` of a record, of which `kept` are there. */
  private ensureWhole(bytes: number, kept: number): void {
    if (bytes <= this.whole.length) return;
    let size = this.whole.length;
    while (size < bytes) size += size;
    try {
      const larger = new Uint8Array(size);
      larger.set(this.whole.subarray(0, kept));
      this.whole = larger;
      this.wholeView = new DataView(larger.buffer);
    } catch (error) {
      throw new StorageError('53200', `no memory for a WAL record: ${size} bytes`, { cause: error });
    }
  }
}

function padded(bytes: number): number {
  return (bytes + 7) & -8;
}

function lengthFault(total: number, lsn: Lsn): string {
  const expected = total < HEADER_BYTES ? `at least ${HEADER_BYTES}` : `at most ${MAX_RECORD_BYTES}`;
  return `invalid record length at ${lsnText(lsn)}: expected ${expected}, got ${total}`;
}

function linkFault(view: DataView, at: number, lsn: Lsn): string {
  return `record with incorrect back link ${previousText(view, at)} at ${lsnText(lsn)}`;
}
