// The pages of the commit log: files of 32 pages, a number of pages kept in memory, and the rule that WAL goes to the
// disk before the page whose bits it brought about. PostgreSQL: slru.c.
//
//   DIR/0000         DIR/0001
//   +----+----+--- ---+----+   +----+----+---      a page of B bytes has 4·B transactions of 2 bits, lowest bits first;
//   | 0  | 1  |  ...  | 31 |   | 32 | 33 | ...     a segment's name is its number in four hexadecimal digits
//   +----+----+--- ---+----+   +----+----+---
import { type Lsn, StorageError } from '@blockwright/base';
import { joinPath, readFully, type Vfs, type VfsFile, writeFully } from '@blockwright/vfs';
import type { TransactionWal } from './transaction-wal.ts';

/** Pages of a segment file, as a shift. PostgreSQL: `SLRU_PAGES_PER_SEGMENT`, 32. */
export const SEGMENT_PAGES_SHIFT = 5;
const SEGMENT_PAGES_MASK = (1 << SEGMENT_PAGES_SHIFT) - 1;
/** Memory for pages, whatever their size: 4,194,304 transactions. */
const CACHE_BYTES = 1 << 20;
const MIN_CACHED_PAGES = 32;
/** A group of 2^5 transactions shares one remembered LSN. PostgreSQL: `CLOG_XACTS_PER_LSN_GROUP`, 32. */
export const LSN_GROUP_SHIFT = 5;

/** A page in memory. */
export class CommitLogPage {
  readonly number: number;
  readonly bytes: Uint8Array;
  /** Of each group of transactions, the WAL position to flush before its bits may be believed on disk; made when needed. */
  lsns: Float64Array | undefined = undefined;
  /** The greatest of them. */
  lsn: Lsn = 0;
  dirty: boolean = false;
  /** When it was last asked for. */
  used: number = 0;

  constructor(number: number, bytes: Uint8Array) {
    this.number = number;
    this.bytes = bytes;
  }
}

export interface CommitLogPagesOptions {
  readonly vfs: Vfs;
  readonly directory: string;
  readonly pageBytes: number;
  readonly readOnly: boolean;
  readonly wal: TransactionWal | undefined;
}

export class CommitLogPages {
  /** During recovery a page that is not there is zero: its records follow, or a later truncation removed it. */
  recovering: boolean = false;
  private readonly options: CommitLogPagesOptions;
  private readonly shift: number;
  private readonly most: number;
  private readonly cache: Map<number, CommitLogPage> = new Map();
  private readonly files: Map<number, VfsFile> = new Map();
  /** Segments with bytes written since their last sync. */
  private readonly unsynced: Set<number> = new Set();
  /** Whether names were made or removed since the directory was last synced. */
  private namesChanged: boolean = false;
  private clock: number = 0;
  private broken: unknown = undefined;

  constructor(options: CommitLogPagesOptions) {
    this.options = options;
    this.shift = 31 - Math.clz32(options.pageBytes);
    this.most = Math.max(MIN_CACHED_PAGES, CACHE_BYTES >>> this.shift);
  }

  /** Path of the segment file that holds a page. */
  pathOf(page: number): string {
    return this.segmentPath(page >>> SEGMENT_PAGES_SHIFT);
  }

  /** A page that is in memory. */
  cached(number: number): CommitLogPage | undefined {
    return this.cache.get(number);
  }

  /**
   * A page, read if need be.
   * @throws StorageError 58P01 naming the segment file when it is missing, XX001 when it ends before the page.
   */
  page(number: number): CommitLogPage {
    let page = this.cache.get(number);
    if (page === undefined) {
      this.makeRoom();
      page = new CommitLogPage(number, this.read(number));
      this.cache.set(number, page);
    }
    page.used = ++this.clock;
    return page;
  }

  /**
   * Makes room on the disk for a page, all zero, so that writing it later cannot fail for want of it.
   * @throws StorageError 53100 and the like: the file is as long as it was.
   */
  extend(number: number): void {
    this.refuseBroken();
    this.makeRoom();
    const segment = number >>> SEGMENT_PAGES_SHIFT;
    const file = this.open(segment, true) as VfsFile;
    const before = file.size();
    try {
      writeFully(file, new Uint8Array(this.options.pageBytes), 0, this.options.pageBytes, this.position(number));
    } catch (error) {
      try {
        if (file.size() > before) file.truncate(before);
      } catch {
        // a part of a page of zeros at the end: the next attempt writes over it
      }
      throw error;
    }
    this.unsynced.add(segment);
  }

  /** A page that is all zero from now on, whatever the file has. */
  zero(number: number): CommitLogPage {
    let page = this.cache.get(number);
    if (page === undefined) {
      this.makeRoom();
      page = new CommitLogPage(number, new Uint8Array(this.options.pageBytes));
      this.cache.set(number, page);
    } else {
      page.bytes.fill(0);
      page.lsns = undefined;
      page.lsn = 0;
    }
    page.dirty = true;
    page.used = ++this.clock;
    return page;
  }

  /**
   * Writes and syncs whatever was changed: WAL first, then pages, then files, then names.
   * @throws StorageError 53100 and the like when a write fails: may be tried again. 58030 when a sync fails, and from
   *   then on always.
   */
  flush(): void {
    if (this.options.readOnly) return;
    this.refuseBroken();
    const dirty = [...this.cache.values()].filter((page) => page.dirty).sort((a, b) => a.number - b.number);
    for (const page of dirty) this.write(page);
    try {
      for (const segment of this.unsynced) (this.open(segment, true) as VfsFile).datasync();
      if (this.namesChanged) this.options.vfs.syncDirectory(this.options.directory);
    } catch (error) {
      this.broken = error;
      this.options.wal?.fail(error);
      throw error;
    }
    this.unsynced.clear();
    this.namesChanged = false;
  }

  /** Removes the segments for which `goes` is true. @returns how many. */
  remove(goes: (segment: number) => boolean): number {
    this.refuseBroken();
    const { vfs, directory } = this.options;
    let removed = 0;
    for (const number of [...this.cache.keys()]) {
      if (goes(number >>> SEGMENT_PAGES_SHIFT)) this.cache.delete(number);
    }
    for (const name of vfs.readdir(directory)) {
      if (!/^[0-9A-F]{4}$/.test(name)) continue;
      const segment = Number.parseInt(name, 16);
      if (!goes(segment)) continue;
      this.files.get(segment)?.close();
      this.files.delete(segment);
      this.unsynced.delete(segment);
      vfs.unlink(joinPath(directory, name));
      this.namesChanged = true;
      removed++;
    }
    return removed;
  }

  /** Closes the files; writes nothing. */
  close(): void {
    for (const file of this.files.values()) file.close();
    this.files.clear();
    this.cache.clear();
  }

  /** Leaves room in memory for one more page: the one not asked for the longest goes, a clean one if there is any. */
  private makeRoom(): void {
    while (this.cache.size >= this.most) {
      let oldest: CommitLogPage | undefined;
      for (const page of this.cache.values()) {
        const older = oldest === undefined || (page.dirty === oldest.dirty ? page.used < oldest.used : oldest.dirty);
        if (older) oldest = page;
      }
      const leaving = oldest as CommitLogPage;
      if (leaving.dirty) {
        try {
          this.write(leaving);
        } catch {
          return; // it stays, and the memory grows by a page: the checkpoint will say what is wrong with the disk
        }
      }
      this.cache.delete(leaving.number);
    }
  }

  private read(number: number): Uint8Array {
    const { pageBytes } = this.options;
    const bytes = new Uint8Array(pageBytes);
    const segment = number >>> SEGMENT_PAGES_SHIFT;
    const file = this.open(segment, false);
    if (file === undefined) {
      if (this.recovering) return bytes;
      throw new StorageError('58P01', `segment file "${this.segmentPath(segment)}" of the commit log is missing`, {
        detail: `It holds page ${number}: what became of transactions ${this.firstXid(number)} to ${this.firstXid(number) + ((pageBytes << 2) - 1)}.`,
        hint: 'Put it back from a backup. Rows can be read by their hint bits alone; those without are of unknown fate.',
      });
    }
    const count = readFully(file, bytes, 0, pageBytes, this.position(number));
    if (count < pageBytes && !this.recovering) {
      throw new StorageError(
        'XX001',
        `segment file "${this.segmentPath(segment)}" of the commit log ends before page ${number}`,
        { detail: `Only ${count} of the page's ${pageBytes} bytes are there, at byte ${this.position(number)}.` },
      );
    }
    return bytes;
  }

  private write(page: CommitLogPage): void {
    const { wal, pageBytes } = this.options;
    if (wal !== undefined && page.lsn > wal.flushedUpTo) wal.flush(page.lsn);
    const segment = page.number >>> SEGMENT_PAGES_SHIFT;
    const file = this.open(segment, true) as VfsFile;
    writeFully(file, page.bytes, 0, pageBytes, this.position(page.number));
    this.unsynced.add(segment);
    page.dirty = false;
    page.lsns = undefined;
    page.lsn = 0;
  }

  private open(segment: number, make: boolean): VfsFile | undefined {
    let file = this.files.get(segment);
    if (file !== undefined) return file;
    const { vfs, readOnly } = this.options;
    const path = this.segmentPath(segment);
    const exists = vfs.exists(path);
    if (!exists && !make) return undefined;
    file = vfs.open(path, readOnly ? 'r' : 'create');
    if (!exists) this.namesChanged = true;
    this.files.set(segment, file);
    return file;
  }

  private segmentPath(segment: number): string {
    return joinPath(this.options.directory, segment.toString(16).toUpperCase().padStart(4, '0'));
  }

  private position(page: number): number {
    return (page & SEGMENT_PAGES_MASK) << this.shift;
  }

  private firstXid(page: number): number {
    return (page << (this.shift + 2)) >>> 0;
  }

  private refuseBroken(): void {
    if (this.broken !== undefined) throw this.broken;
  }
}
