// The end of the WAL, where records are added: into a ring of pages first, from there to the segment files, from there,
// synced, to the disk. PostgreSQL: xlog.c.
import { type Lsn, lowWord, lsnText, StorageError, type Xid } from '@blockwright/base';
import type { Vfs } from '@blockwright/vfs';
import { arrivedUpTo } from './arrived.ts';
import { GroupSync } from './group-sync.ts';
import { type Counts, Mark, type WalMark } from './mark.ts';
import {
  LONG_HEADER_BYTES,
  pageHeaderFault,
  pageIncarnation,
  SHORT_HEADER_BYTES,
  WAL_PAGE_BYTES,
  type WalIdentity,
  walIdentity,
  walPageBoundary,
  walPageStart,
} from './page-format.ts';
import { RecordBuilder } from './record-builder.ts';
import { MAX_RECORD_BYTES } from './record-format.ts';
import { WalRing } from './ring.ts';
import { SegmentWriter } from './segment-writer.ts';
import { SegmentLayout } from './segments.ts';

export interface WalWriterOptions {
  readonly vfs: Vfs;
  /** Of the segments: the data directory's `wal`. */
  readonly directory: string;
  /** A power of two from 1 MB to 1 GB. */
  readonly segmentSize: number;
  /** Of the data directory: a uint64 in decimal. */
  readonly systemIdentifier: string;
  /** Number of the WAL that is written: every recovery raises it. */
  readonly incarnation: number;
  /**
   * Where the next record goes. What the WAL has before it counts as durable. In the middle of a page: that page is
   * read, and must be one of this incarnation. A new incarnation starts at a page boundary: see {@link walPageBoundary}.
   */
  readonly start: Lsn;
  /** Where the last record before `start` begins; 0 when there is none. */
  readonly previous: Lsn;
  /** Bytes of the ring, rounded up to a power of two of at least 64 kB; 4 MB if not given. It grows for longer records. */
  readonly bufferBytes?: number;
  /** `fdatasync`; with `off` nothing is ever forced to the disk, and a crash of the machine loses and damages data. */
  readonly syncMethod?: 'fdatasync' | 'off';
}

/** What a writer has done since it was made. PostgreSQL: `pg_stat_wal`. */
export interface WalStats {
  /** Records inserted. */
  readonly records: number;
  /** Their bytes, page headers and padding not counted. */
  readonly bytes: number;
  /** Images of pages in them. */
  readonly images: number;
  /** Bytes of those images, without holes. */
  readonly imageBytes: number;
  /** Calls that wrote to a segment. */
  readonly writes: number;
  /** Calls that forced something to the disk. */
  readonly syncs: number;
}

const DEFAULT_BUFFER_BYTES = 1 << 22;
const LEAST_BUFFER_BYTES = 1 << 16;
/** Holds the longest record, its page headers, and a page at either end. */
const MOST_BUFFER_BYTES = MAX_RECORD_BYTES << 1;

/** Bytes of WAL that records of so many bytes take at most, page headers and padding included. */
function walBytes(recordBytes: number): number {
  return recordBytes + ((recordBytes >> 12) + 2) * LONG_HEADER_BYTES + 8;
}

export class WalWriter {
  /** Puts the next record together; {@link insert} adds it. */
  readonly record: RecordBuilder = new RecordBuilder();
  private readonly identity: WalIdentity;
  private readonly layout: SegmentLayout;
  private readonly segments: SegmentWriter;
  private readonly group: GroupSync;
  private readonly ring: WalRing;
  /** Records before it are in the files; a record's end, so that what a page says of durability never ends in one. */
  private written: Lsn;
  private flushed: Lsn;
  /** Up to here bytes may be in the files: beyond `written` after a write that ended half-way. */
  private inFiles: Lsn;
  /** Up to here records can go without anything being written or made; -1 once nothing can go anywhere. */
  private roomUpTo: Lsn = 0;
  /** A mark taken since the last record. */
  private openMark: Mark | undefined = undefined;
  private generation: number = 0;
  private isClosed: boolean = false;
  private failure: unknown = undefined;
  private counts: Counts = { records: 0, bytes: 0, images: 0, imageBytes: 0 };

  /**
   * @throws RangeError for a value that cannot be; StorageError XX001 when the page that `start` is in the middle of is
   * none of this incarnation; what the file system throws when it cannot be read.
   */
  constructor(options: WalWriterOptions) {
    const { vfs, directory, start, previous } = options;
    this.layout = new SegmentLayout(options.segmentSize);
    this.identity = walIdentity(options.systemIdentifier, options.segmentSize, options.incarnation);
    if (!Number.isSafeInteger(start) || start <= 0 || (lowWord(start) & 7) !== 0) {
      throw new RangeError(`the WAL cannot go on at ${String(start)}: that is no positive multiple of 8`);
    }
    let capacity = LEAST_BUFFER_BYTES;
    const wanted = Math.min(options.bufferBytes ?? DEFAULT_BUFFER_BYTES, MOST_BUFFER_BYTES);
    while (capacity < wanted) capacity += capacity;
    const isSyncing = options.syncMethod !== 'off';
    this.segments = new SegmentWriter(vfs, directory, this.layout, start, isSyncing, (cause) => this.fail(cause));
    this.group = new GroupSync({
      writtenUpTo: () => this.written,
      syncAsync: () => this.segments.syncAsync(),
      synced: (upTo) => this.noteFlushed(upTo),
      syncFailed: (cause) => this.fail(cause),
    });
    const at = isFirstRecord(start, this.layout) ? walPageStart(start) : start;
    this.ring = new WalRing(capacity, this.identity, at, previous);
    if (at !== walPageStart(at)) this.load(at);
    this.written = at;
    this.flushed = at;
    this.inFiles = at;
  }

  /** Where the last record begins. */
  get lastStart(): Lsn {
    return this.ring.lastStart;
  }

  /** Position after the last record. */
  get insertedUpTo(): Lsn {
    return this.ring.end;
  }

  /** Records before it are in the files. */
  get writtenUpTo(): Lsn {
    return this.written;
  }

  /** Records before it survive a crash of the machine. */
  get flushedUpTo(): Lsn {
    return this.flushed;
  }

  /** Why the writer does nothing any more; undefined while it does. */
  get failed(): unknown {
    return this.failure;
  }

  get stats(): WalStats {
    return { ...this.counts, writes: this.segments.writes, syncs: this.segments.syncs };
  }

  /**
   * Makes room for records of `bytes` in all (each with its header and rounded up to a multiple of 8): in the ring, for
   * which older records may have to be written, and in segment files, which are filled with zeros and synced. After it
   * {@link insert} of so many bytes cannot fail.
   * @throws StorageError 53100 when the disk is full: nothing has changed, and it may be tried again; 58030 for other
   * troubles of the disk.
   */
  reserve(bytes: number): void {
    if (!(this.ring.end + walBytes(bytes) <= this.roomUpTo)) this.makeRoom(bytes);
    this.record.ensure(bytes);
  }

  /**
   * Adds the record that {@link record} holds.
   * @returns the position after it, which is the LSN of the pages that it changes.
   * @throws TypeError when no record was begun; without a {@link reserve}, what that throws.
   */
  insert(xid: Xid): Lsn {
    const { record, ring, counts } = this;
    const total = record.seal();
    if (ring.end + walBytes(total) > this.roomUpTo) this.makeRoom(total);
    const end = ring.add(record, total, xid);
    counts.records++;
    counts.bytes += total;
    if (record.images !== 0) {
      counts.images += record.images;
      counts.imageBytes += record.imagesLength;
    }
    if (this.openMark !== undefined) {
      this.openMark.firstEnd = end;
      this.openMark = undefined;
    }
    return end;
  }

  /**
   * Hands the records before `upTo`, and all after them, to the system; they survive a crash of this process, not yet
   * one of the machine. (A segment that is full is synced too.)
   * @throws StorageError 53100 when the disk is full: it may be tried again. 58030 and the like when a write fails in
   * another way: then, and from then on always, since nobody knows what reached the file. XX001 when the WAL is shorter.
   */
  write(upTo: Lsn): void {
    if (upTo <= this.written && this.roomUpTo >= 0) return;
    this.needUsable();
    if (upTo > this.ring.end) throw this.beyondEnd(upTo);
    this.writeAll();
  }

  /**
   * Makes the records before `upTo`, and all after them, durable.
   * @throws StorageError as {@link write} does; 58030 when the sync fails: that is as final.
   */
  flush(upTo: Lsn): void {
    if (upTo <= this.flushed && this.roomUpTo >= 0) return;
    this.write(upTo);
    const upToNow = this.written;
    this.segments.sync();
    this.noteFlushed(upToNow);
    this.group.release(upToNow);
  }

  /**
   * As {@link flush}, but syncs off the thread, one sync for all who wait: see D4. The records are written before it
   * returns; when that fails the promise is rejected and {@link rewind} may take them back.
   */
  async flushAsync(upTo: Lsn): Promise<void> {
    if (upTo <= this.flushed && this.roomUpTo >= 0) return;
    this.write(upTo);
    await this.group.wait(upTo);
  }

  /** A position to which {@link rewind} can go back. */
  mark(): WalMark {
    this.openMark ??= new Mark(this, this.ring.end, this.ring.lastStart, this.counts, this.generation);
    return this.openMark;
  }

  /**
   * Takes back the records inserted since the mark, all of them, whoever did: for a commit record that a full disk had no
   * room for. It may be done again to the same mark; all others end with it.
   * @returns whether it could: not if the first of those records may have reached a file as a whole, whatever the write
   * said, for then a crash would bring it back; nor when the writer has failed.
   * @throws TypeError when the mark is not of this writer, or has ended.
   */
  rewind(mark: WalMark): boolean {
    if (!(mark instanceof Mark) || mark.writer !== this || mark.generation !== this.generation) {
      throw new TypeError('the mark is of another writer, or has ended with an earlier rewind');
    }
    if (mark.firstEnd < 0) return true;
    if (this.roomUpTo < 0 || this.inFiles >= mark.firstEnd) return false;
    this.ring.goTo(mark.lsn, mark.lastStart);
    this.inFiles = Math.min(this.inFiles, mark.lsn);
    this.counts = { ...mark.counts };
    this.generation++;
    mark.generation = this.generation;
    mark.firstEnd = -1;
    this.openMark = mark;
    return true;
  }

  /** Ends the writer's work: everything throws 58030 with this cause from now on, and whoever waits is turned away. */
  fail(cause: unknown): void {
    if (this.failure !== undefined) return;
    this.failure = cause ?? new Error('no cause was given');
    this.roomUpTo = -1;
    this.group.fail(this.refusal());
  }

  /**
   * Removes the segments before the one that has `keepFrom`, or renames them to names that come while fewer than `spare`
   * segments lie ahead: writing over a file costs less than making one. What is not written yet keeps its segment.
   */
  recycle(keepFrom: Lsn, spare: number): { removed: number; recycled: number } {
    this.needUsable();
    return this.segments.recycle(keepFrom, walPageStart(this.written), spare);
  }

  /** Gives the files back; flushes nothing. Those who wait for a sync that has not begun are turned away. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.roomUpTo = -1;
    this.segments.close();
    this.group.stop(this.refusal());
  }

  private noteFlushed(upTo: Lsn): void {
    if (upTo > this.flushed && this.failure === undefined) this.flushed = upTo;
  }

  private makeRoom(bytes: number): void {
    this.needUsable();
    if (!(bytes >= 0 && bytes <= MAX_RECORD_BYTES)) {
      throw new RangeError(`cannot make room for ${bytes} bytes of WAL: at most ${MAX_RECORD_BYTES}`);
    }
    const { ring } = this;
    const need = walBytes(bytes);
    if (need + WAL_PAGE_BYTES > ring.capacity) this.growRing(need + WAL_PAGE_BYTES);
    if (ring.end + need > walPageStart(this.written) + ring.capacity) this.writeAll();
    this.segments.prepare(ring.end + need);
    this.noteRoom();
  }

  private noteRoom(): void {
    this.roomUpTo = Math.min(walPageStart(this.written) + this.ring.capacity, this.segments.readyUpTo);
  }

  private growRing(bytes: number): void {
    let { capacity } = this.ring;
    while (capacity < bytes) capacity += capacity;
    this.ring.grow(capacity, walPageStart(this.written));
  }

  /** Writes whole pages, up to the one that the last record ends on. */
  private writeAll(): void {
    const { ring, layout } = this;
    const { end, capacity } = ring;
    const to = walPageBoundary(end);
    let at = walPageStart(this.written);
    ring.prepare(at, to, this.flushed);
    while (at < to) {
      const offset = ring.offsetOf(at);
      const length = Math.min(to - at, capacity - offset, layout.size - layout.offset(at));
      try {
        at += this.segments.write(ring.bytes, offset, length, at);
      } catch (error) {
        if (this.failure === undefined) this.findArrived(at, at + length);
        throw error;
      }
      this.inFiles = Math.max(this.inFiles, Math.min(at, end));
    }
    this.written = end;
    this.noteRoom();
  }

  /**
   * A write to [from, to) failed, which should mean that nothing of it is in the file. Looks, since a record that is there
   * after all comes back with a crash: what is found counts as written.
   */
  private findArrived(from: Lsn, to: Lsn): void {
    const { ring, inFiles } = this;
    const end = Math.min(to, ring.end);
    const start = Math.max(from, inFiles);
    if (start >= end) return;
    const found = new Uint8Array(end - start);
    try {
      found.fill(0xff, this.segments.read(found, 0, found.length, start));
    } catch (error) {
      this.fail(error);
      return;
    }
    const wanted = ring.bytes.subarray(ring.offsetOf(start), ring.offsetOf(start) + found.length);
    this.inFiles = Math.max(inFiles, start + arrivedUpTo(found, wanted, lowWord(start)));
  }

  /** Fetches the part of its page that lies before `start`. */
  private load(start: Lsn): void {
    const { ring, layout, identity } = this;
    const page = walPageStart(start);
    const offset = ring.offsetOf(page);
    const length = start - page;
    const count = this.segments.read(ring.bytes, offset, length, page);
    const isFirst = layout.offset(page) === 0;
    const incarnation = pageIncarnation(ring.view, offset);
    const fault =
      count < length
        ? 'it is not there'
        : pageHeaderFault(ring.view, offset, page, isFirst) ||
          (incarnation === identity.incarnation ? '' : `it is of incarnation ${incarnation}`);
    if (fault === '') return;
    throw new StorageError('XX001', `the WAL cannot go on at ${lsnText(start)} in the middle of its page: ${fault}`, {
      detail: `WAL segment ${layout.name(page)}, page ${lsnText(page)}, incarnation ${identity.incarnation}.`,
    });
  }

  private needUsable(): void {
    if (this.roomUpTo < 0) throw this.refusal();
  }

  private refusal(): Error {
    if (this.failure === undefined) return new TypeError('the WAL writer is closed');
    return new StorageError('58030', 'the WAL can take no more: it failed before', {
      detail: this.failure instanceof Error ? this.failure.message : String(this.failure),
      hint: 'Close the data directory and open it again: recovery finds out what is on the disk.',
      cause: this.failure,
    });
  }

  private beyondEnd(upTo: Lsn): StorageError {
    return new StorageError(
      'XX001',
      `the WAL cannot be flushed to ${lsnText(upTo)}: it ends at ${lsnText(this.ring.end)}`,
      { hint: 'A page with an LSN from the future was damaged, or belongs to another data directory.' },
    );
  }
}

/** Whether `start` is where a page's first record goes: right at its start, or behind its header. */
function isFirstRecord(start: Lsn, layout: SegmentLayout): boolean {
  const header = layout.offset(walPageStart(start)) === 0 ? LONG_HEADER_BYTES : SHORT_HEADER_BYTES;
  return start - walPageStart(start) === header;
}
