// The pages of the WAL that are being filled, in a ring: byte `lsn` of the WAL lies at its low bits. It knows no file; its
// owner sees to it that a record has room before it is added, and that nothing is overwritten that is not written yet.
import { highWord, type Lsn, lowWord } from '@blockwright/base';
import { stampPage, WAL_PAGE_BYTES, WAL_PAGE_MASK, type WalIdentity, writePageHeader } from './page-format.ts';
import type { RecordBuilder } from './record-builder.ts';

const PAGE_BYTES = WAL_PAGE_BYTES;
const PAGE_MASK = WAL_PAGE_MASK;
const highOf = highWord;

/** A field that starts like this holds doubles from its first moment: V8 need not learn it when the WAL passes 2 GB. */
const DOUBLE = 0.5;

export class WalRing {
  bytes: Uint8Array;
  view: DataView;
  /** Start of the last record. */
  lastStart: number = DOUBLE;
  private readonly identity: WalIdentity;
  /** LSN of the ring's first byte, in the lap that `cursor` is in. */
  private base: number = DOUBLE;
  /** Where in the ring the next record goes, and where that page ends. Equal when the next record begins a page. */
  private cursor: number = 0;
  private pageEnd: number = 0;
  /** A record that crosses pages is put together here, then cut. */
  private whole: Uint8Array = new Uint8Array(1 << 16);
  private wholeView: DataView = new DataView(this.whole.buffer);

  /** `capacity`: bytes, a power of two. The next record goes to `lsn`; what its page has before it is to be filled in. */
  constructor(capacity: number, identity: WalIdentity, lsn: Lsn, lastStart: Lsn) {
    this.bytes = new Uint8Array(capacity);
    this.view = new DataView(this.bytes.buffer);
    this.identity = identity;
    this.goTo(lsn, lastStart);
  }

  get capacity(): number {
    return this.bytes.length;
  }

  /** Position after the last record. */
  get end(): Lsn {
    return this.base + this.cursor;
  }

  /** Where byte `lsn` lies. */
  offsetOf(lsn: Lsn): number {
    return lowWord(lsn) & (this.bytes.length - 1);
  }

  /** The next record goes to `lsn`, whose page is in the ring. */
  goTo(lsn: Lsn, lastStart: Lsn): void {
    const offset = this.offsetOf(lsn);
    const within = offset & PAGE_MASK;
    this.base = lsn - offset;
    this.cursor = offset;
    this.pageEnd = within === 0 ? offset : offset - within + PAGE_BYTES;
    this.lastStart = lastStart;
  }

  /** Enlarges the ring to `capacity`, keeping the pages from `from`, a page's start, to the end. */
  grow(capacity: number, from: Lsn): void {
    const { end, bytes: old } = this;
    const mask = capacity - 1;
    const larger = new Uint8Array(capacity);
    for (let page = from; page < end; page += PAGE_BYTES) {
      const at = this.offsetOf(page);
      larger.set(old.subarray(at, at + PAGE_BYTES), lowWord(page) & mask);
    }
    this.bytes = larger;
    this.view = new DataView(larger.buffer);
    this.goTo(end, this.lastStart);
  }

  /** Adds the sealed record of `total` bytes. @returns the position after it. */
  add(record: RecordBuilder, total: number, xid: number): Lsn {
    const { cursor, base, lastStart, identity } = this;
    const next = cursor + ((total + 7) & -8);
    const previousHigh = highOf(lastStart);
    if (next > this.pageEnd) return this.addAcross(record, total, xid, previousHigh);
    clearPadding(this.view, next);
    record.assemble(this.bytes, this.view, cursor, xid, previousHigh, lastStart >>> 0, identity.incarnation);
    this.lastStart = base + cursor;
    this.cursor = next;
    return base + next;
  }

  /**
   * Makes the pages in [from, to), both page boundaries, ready to be written: their headers say how far the WAL is synced,
   * and behind the last record there are zeros, not what the ring had there before.
   */
  prepare(from: Lsn, to: Lsn, durableUpTo: Lsn): void {
    this.bytes.fill(0, this.cursor, this.pageEnd);
    for (let page = from; page < to; page += PAGE_BYTES) stampPage(this.view, this.offsetOf(page), durableUpTo);
  }

  private addAcross(record: RecordBuilder, total: number, xid: number, previousHigh: number): Lsn {
    if (total > this.whole.length) this.growWhole(total);
    const { whole } = this;
    record.assemble(whole, this.wholeView, 0, xid, previousHigh, this.lastStart >>> 0, this.identity.incarnation);
    if (this.cursor === this.pageEnd) this.nextPage(0);
    this.lastStart = this.base + this.cursor;
    for (let done = 0; ; ) {
      const { cursor } = this;
      const part = Math.min(total - done, this.pageEnd - cursor);
      const next = cursor + ((part + 7) & -8);
      clearPadding(this.view, next);
      this.bytes.set(whole.subarray(done, done + part), cursor);
      done += part;
      this.cursor = next;
      if (done === total) return this.base + this.cursor;
      this.nextPage(total - done);
    }
  }

  /** Begins a page, with `remaining` bytes of a record still to come. */
  private nextPage(remaining: number): void {
    let offset = this.pageEnd;
    if (offset === this.bytes.length) {
      this.base += offset;
      offset = 0;
    }
    const lsn = this.base + offset;
    const header = writePageHeader(this.view, offset, this.identity, highOf(lsn), lowWord(lsn), remaining);
    this.cursor = offset + header;
    this.pageEnd = offset + PAGE_BYTES;
  }

  private growWhole(bytes: number): void {
    let size = this.whole.length;
    while (size < bytes) size += size;
    this.whole = new Uint8Array(size);
    this.wholeView = new DataView(this.whole.buffer);
  }
}

/** Zeros the last eight bytes of where a record goes: what it does not fill is padding. */
function clearPadding(view: DataView, end: number): void {
  view.setInt32(end - 8, 0);
  view.setInt32(end - 4, 0);
}
