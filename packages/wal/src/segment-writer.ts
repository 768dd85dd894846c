// The files under a writer: the segment being written, those prepared for what comes, and what syncs them.
import { isStorageError, type Lsn, StorageError } from '@blockwright/base';
import { joinPath, type Vfs, type VfsFile } from '@blockwright/vfs';
import { listSegments, makeSegment, type SegmentLayout } from './segments.ts';

export class SegmentWriter {
  /** Up to here the segments are there. */
  readyUpTo: Lsn;
  writes: number = 0;
  syncs: number = 0;
  private readonly vfs: Vfs;
  private readonly directory: string;
  private readonly layout: SegmentLayout;
  private readonly isSyncing: boolean;
  /** Told of a failed sync or write: nobody knows what is in the files after it. */
  private readonly onFailure: (cause: unknown) => void;
  private file: VfsFile | undefined = undefined;
  private fileStart: Lsn = -1;

  constructor(
    vfs: Vfs,
    directory: string,
    layout: SegmentLayout,
    start: Lsn,
    isSyncing: boolean,
    onFailure: (cause: unknown) => void,
  ) {
    this.vfs = vfs;
    this.directory = directory;
    this.layout = layout;
    this.readyUpTo = layout.start(start);
    this.isSyncing = isSyncing;
    this.onFailure = onFailure;
  }

  /** Makes the segments up to `lsn` that are not there yet. @throws StorageError 53100 and others; may be called again. */
  prepare(lsn: Lsn): void {
    while (this.readyUpTo < lsn) {
      const { vfs, directory, layout, readyUpTo } = this;
      const isNew = makeSegment(vfs, directory, layout, readyUpTo, (file) => this.forced(() => file.sync()));
      if (isNew) this.syncDirectory();
      this.readyUpTo = readyUpTo + layout.size;
    }
  }

  /**
   * Writes some of `length` bytes of `bytes` from index `at` to byte `lsn` of the WAL, all in one segment.
   * @returns how many it wrote.
   * @throws StorageError 53100 when the disk is full: it may be tried again. Any other failure is final.
   */
  write(bytes: Uint8Array, at: number, length: number, lsn: Lsn): number {
    const { layout } = this;
    const start = layout.start(lsn);
    // A segment is synced before a later one gets a byte: what flush has to sync lies in one file.
    if (start > this.fileStart) this.sync();
    const file = this.open(start);
    const offset = layout.offset(lsn);
    this.writes++;
    let count: number;
    try {
      count = file.write(bytes, at, length, offset);
    } catch (error) {
      if (!isStorageError(error) || error.code !== '53100') this.onFailure(error);
      throw error;
    }
    if (count === 0) {
      throw new StorageError('53100', `could not write file "${file.path}": it takes no more bytes`, {
        hint: 'Free some disk space.',
      });
    }
    return count;
  }

  /** Reads `length` bytes at `lsn`, all in one segment. */
  read(bytes: Uint8Array, at: number, length: number, lsn: Lsn): number {
    const { layout } = this;
    const file = this.open(layout.start(lsn));
    let done = 0;
    while (done < length) {
      const count = file.read(bytes, at + done, length - done, layout.offset(lsn) + done);
      if (count === 0) break;
      done += count;
    }
    return done;
  }

  /** Forces what was written to the disk. */
  sync(): void {
    const { file } = this;
    if (file === undefined) return;
    this.forced(() => file.datasync());
  }

  /** As {@link sync}, off the thread. What is written while it runs it does not cover. */
  async syncAsync(): Promise<void> {
    const { file } = this;
    if (file === undefined || !this.isSyncing) return;
    this.syncs++;
    await file.datasyncAsync();
  }

  /** Forces created and renamed segments to the disk. */
  syncDirectory(): void {
    this.forced(() => this.vfs.syncDirectory(this.directory));
  }

  /**
   * Renames segments before that of `keepFrom`, and of `current`, the first page still to be written, to names that come,
   * as long as fewer than `spare` lie ahead; removes the others.
   */
  recycle(keepFrom: Lsn, current: Lsn, spare: number): { removed: number; recycled: number } {
    const { vfs, directory, layout } = this;
    const path = (start: Lsn) => joinPath(directory, layout.name(start));
    const starts = listSegments(vfs, directory, layout);
    const currentStart = layout.start(current);
    const keepStart = Math.min(layout.start(keepFrom), currentStart);
    let last = Math.max(currentStart, starts.at(-1) ?? 0, this.readyUpTo - layout.size);
    let ahead = starts.filter((start) => start > currentStart).length;
    let removed = 0;
    let recycled = 0;
    try {
      for (const start of starts) {
        if (start >= keepStart) break;
        if (this.fileStart === start) this.closeFile();
        if (ahead < spare && vfs.stat(path(start))?.size === layout.size) {
          last += layout.size;
          vfs.rename(path(start), path(last));
          ahead++;
          recycled++;
        } else {
          vfs.unlink(path(start));
          removed++;
        }
      }
    } finally {
      // Also when one of them failed: a segment that is there is taken for one whose name is durable.
      if (removed + recycled > 0) this.syncDirectory();
    }
    return { removed, recycled };
  }

  close(): void {
    this.closeFile();
  }

  private open(start: Lsn): VfsFile {
    if (this.file !== undefined && this.fileStart === start) return this.file;
    this.closeFile();
    const file = this.vfs.open(joinPath(this.directory, this.layout.name(start)), 'r+');
    this.file = file;
    this.fileStart = start;
    return file;
  }

  private closeFile(): void {
    this.file?.close();
    this.file = undefined;
    this.fileStart = -1;
  }

  private forced(sync: () => void): void {
    if (!this.isSyncing) return;
    this.syncs++;
    try {
      sync();
    } catch (error) {
      this.onFailure(error);
      throw error;
    }
  }
}
