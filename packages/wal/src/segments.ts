// Segment files: which one holds a byte of the WAL, what it is called, and how one comes into being.
import { fromWords, highWord, type Lsn, lowWord, StorageError } from '@blockwright/base';
import { joinPath, type Vfs, type VfsFile, writeFully } from '@blockwright/vfs';
import { WAL_PAGE_BYTES } from './page-format.ts';

const MIN_SEGMENT_SHIFT = 20;
const MAX_SEGMENT_SHIFT = 30;
/** Names start with the timeline, which is always the first one. */
const TIMELINE = '00000001';
/** What a segment being made is called. One left over from a crash is taken over by the next. */
const TEMPORARY_NAME = 'segment.tmp';
/** LSNs stay safe integers: below 2^53. */
const HIGH_WORDS = 1 << 21;

/** The segments of a WAL with one segment size. */
export class SegmentLayout {
  readonly size: number;
  readonly mask: number;
  private readonly shift: number;

  /** @throws RangeError when `size` is not a power of two from 1 MB to 1 GB. */
  constructor(size: number) {
    const shift = 31 - Math.clz32(size);
    if (!isSegmentSize(size)) {
      throw new RangeError(`WAL segment size ${String(size)} is not a power of two from 1 MB to 1 GB`);
    }
    this.size = size;
    this.mask = size - 1;
    this.shift = shift;
  }

  /** LSN of the first byte of the segment that has byte `lsn`. */
  start(lsn: Lsn): Lsn {
    return lsn - this.offset(lsn);
  }

  /** Where byte `lsn` lies in its segment. */
  offset(lsn: Lsn): number {
    return lowWord(lsn) & this.mask;
  }

  /** File name of the segment that has byte `lsn`. PostgreSQL: `XLogFileName`. */
  name(lsn: Lsn): string {
    return `${TIMELINE}${hexWord(highWord(lsn))}${hexWord(lowWord(lsn) >>> this.shift)}`;
  }

  /** LSN of the first byte of the segment with that file name, -1 when it is no segment's. */
  startOf(name: string): Lsn {
    if (!/^00000001[0-9A-F]{16}$/.test(name)) return -1;
    const high = Number.parseInt(name.slice(8, 16), 16);
    const number = Number.parseInt(name.slice(16), 16);
    if (high >= HIGH_WORDS || number > 0xffff_ffff >>> this.shift) return -1;
    return fromWords(high, number << this.shift);
  }
}

/** Whether `size` is one that a WAL segment can have: a power of two from 1 MB to 1 GB. PostgreSQL: `IsValidWalSegSize`. */
export function isSegmentSize(size: number): boolean {
  const shift = 31 - Math.clz32(size);
  return shift >= MIN_SEGMENT_SHIFT && shift <= MAX_SEGMENT_SHIFT && size === 1 << shift;
}

function hexWord(word: number): string {
  return word.toString(16).toUpperCase().padStart(8, '0');
}

/** Segments in a directory, by rising LSN of their first byte. */
export function listSegments(vfs: Vfs, directory: string, layout: SegmentLayout): Lsn[] {
  const starts: Lsn[] = [];
  for (const name of vfs.readdir(directory)) {
    const start = layout.startOf(name);
    if (start >= 0) starts.push(start);
  }
  return starts.sort((a, b) => a - b);
}

const ZEROS = new Uint8Array(WAL_PAGE_BYTES << 5);

/**
 * Makes the segment that begins at `start`, all zero, unless it is there: filled and synced under another name, so that
 * no write to a segment ever needs room on the disk and no sync of one has to note a size. The directory is not synced.
 * `syncFile` is given the file to be synced.
 * @returns whether it was made.
 * @throws StorageError 53100 when there is no room: nothing is left behind; XX001 when it is there with another size.
 */
export function makeSegment(
  vfs: Vfs,
  directory: string,
  layout: SegmentLayout,
  start: Lsn,
  syncFile: (file: VfsFile) => void,
): boolean {
  const path = joinPath(directory, layout.name(start));
  const stat = vfs.stat(path);
  if (stat !== undefined) {
    if (stat.isFile && stat.size === layout.size) return false;
    throw new StorageError('XX001', `WAL segment "${path}" has ${stat.size} bytes instead of ${layout.size}`, {
      hint: 'Segments have their full size from their first moment on: the file was not written by this engine, or damaged.',
    });
  }
  const temporary = joinPath(directory, TEMPORARY_NAME);
  const file = vfs.open(temporary, 'create');
  try {
    file.truncate(0);
    for (let at = 0; at < layout.size; at += ZEROS.length) writeFully(file, ZEROS, 0, ZEROS.length, at);
    syncFile(file);
    file.close();
    vfs.rename(temporary, path);
  } catch (error) {
    discard(vfs, file);
    throw error;
  }
  return true;
}

function discard(vfs: Vfs, file: VfsFile): void {
  try {
    file.close();
    vfs.unlink(file.path);
  } catch {
    // The error that brought us here is the one to report; the next segment takes the file over.
  }
}
