// The segment files of a fork: opened when first needed, counted, made and let go. What the numbers of blocks mean is
// here; what is done to blocks is in fork.ts.
import { type BlockNumber, highWord, INVALID_BLOCK_NUMBER, lowWord } from '@blockwright/base';
import { baseName, errnoOf, parentPath, type VfsFile } from '@blockwright/vfs';
import { segmentOfName } from './file-names.ts';
import type { Fork } from './fork.ts';
import type { StorageManager } from './manager.ts';
import { forkError, located } from './where.ts';

/** A segment file as it lies. */
export interface SegmentFile {
  readonly segment: number;
  readonly path: string;
  readonly sizeBytes: number;
  /** Whole blocks in it. */
  readonly blocks: number;
  /** Bytes after the last whole block. */
  readonly tailBytes: number;
}

export class Segments {
  private readonly fork: Fork;
  private readonly manager: StorageManager;
  private readonly shift: number;
  private readonly mask: number;
  private readonly segmentBlocks: number;
  private readonly segmentShift: number;
  private readonly files: (VfsFile | undefined)[] = [];
  /** Leading segments that were seen full: none of them is asked for its size again. */
  private full: number = 0;
  /** No segment with data was seen after the end. */
  private endChecked: boolean = false;

  constructor(fork: Fork, manager: StorageManager) {
    this.fork = fork;
    this.manager = manager;
    this.shift = manager.geometry.shift;
    this.mask = manager.geometry.mask;
    this.segmentBlocks = manager.segmentBlocks;
    this.segmentShift = manager.segmentShift;
  }

  /** The file of a segment, opened when it is not yet; `undefined` when it does not exist. */
  open(segment: number, block?: BlockNumber): VfsFile | undefined {
    const file = this.files[segment];
    if (file !== undefined) return file;
    try {
      const opened = this.manager.vfs.open(this.fork.segmentPath(segment), this.fork.relation.readOnly ? 'r' : 'r+');
      this.keep(segment, opened);
      return opened;
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return undefined;
      throw located(error, this.fork, segment, block);
    }
  }

  /** Makes a segment file; the first must not exist, a later one may (empty, left by a truncation). */
  make(segment: number, block?: BlockNumber): VfsFile {
    const path = this.fork.segmentPath(segment);
    let file: VfsFile;
    try {
      file = this.manager.vfs.open(path, segment === 0 ? 'createExclusive' : 'create');
    } catch (error) {
      throw located(error, this.fork, segment, block);
    }
    this.keep(segment, file);
    this.manager.pending.request(file);
    this.manager.pending.requestDirectory(parentPath(path));
    return file;
  }

  private keep(segment: number, file: VfsFile): void {
    while (this.files.length < segment) this.files.push(undefined); // no holes: the array stays a fast one
    this.files[segment] = file;
  }

  /** Bytes of a segment file that exists. */
  sizeOf(file: VfsFile, segment: number): number {
    try {
      return file.size();
    } catch (error) {
      throw located(error, this.fork, segment);
    }
  }

  /**
   * Blocks of the fork.
   * @throws StorageError as {@link Fork.blockCount}.
   */
  count(): number {
    const lastSegment = 0xffff_ffff >>> this.segmentShift;
    for (let segment = this.full; ; segment++) {
      const file = this.open(segment);
      if (file === undefined && segment === 0) throw this.missing();
      const blocks = file === undefined ? 0 : this.blocksOf(file, segment);
      if (blocks === this.segmentBlocks && segment < lastSegment) {
        this.full = segment + 1;
        continue;
      }
      if (!this.endChecked) this.checkEnd(segment, blocks, file !== undefined);
      // A segment that would end at block 2^32 lacks its last one: that number means "none".
      if (blocks === this.segmentBlocks) return INVALID_BLOCK_NUMBER;
      return ((segment << this.segmentShift) + blocks) >>> 0;
    }
  }

  private blocksOf(file: VfsFile, segment: number): number {
    const blocks = this.wholeBlocks(this.sizeOf(file, segment));
    if (blocks <= this.segmentBlocks) return blocks;
    throw forkError(
      'XX001',
      this.fork,
      segment,
      undefined,
      `it has ${blocks} blocks, a segment ${this.segmentBlocks}`,
      {
        hint: 'Was it written with another segment size, or another block size?',
      },
    );
  }

  private wholeBlocks(bytes: number): number {
    const blocksIn4GiB = 1 << (32 - this.shift);
    return highWord(bytes) * blocksIn4GiB + (lowWord(bytes) >>> this.shift);
  }

  /** Refuses data after the end, as a segment that was lost leaves it. */
  private checkEnd(end: number, blocks: number, exists: boolean): void {
    const first = baseName(this.fork.segmentPath(0));
    for (const name of this.manager.namesBeside(this.fork.relation.path)) {
      const segment = segmentOfName(first, name);
      if (segment <= end) continue;
      const size = this.manager.vfs.stat(this.fork.segmentPath(segment))?.size ?? 0;
      if (size === 0) continue;
      const what = exists
        ? `it ends after ${blocks} of ${this.segmentBlocks} blocks, but segment ${segment} has data`
        : `the segment is missing, but segment ${segment} has data`;
      throw forkError(exists ? 'XX001' : '58P01', this.fork, end, undefined, what, {
        hint: 'A file of the relation was removed or cut. The blocks after it can be read by their numbers, not counted.',
      });
    }
    this.endChecked = true;
  }

  /** What was counted no longer holds. */
  forgetCounts(atLeastFull: number, endIsClean: boolean): void {
    this.full = Math.min(this.full, atLeastFull);
    this.endChecked = endIsClean;
  }

  /** The error for a segment that is not there. */
  missing(segment: number = 0, block?: BlockNumber): Error {
    if (segment === 0 && block === undefined) {
      return forkError('58P01', this.fork, 0, undefined, 'the fork does not exist');
    }
    const there = this.numbers();
    return forkError('58P01', this.fork, segment, block, 'the segment does not exist', {
      detail: there.length === 0 ? 'The fork has no segment at all.' : `Segments there: ${there.join(', ')}.`,
    });
  }

  /** Numbers of the segment files that exist now, ascending. */
  numbers(): number[] {
    const path = this.fork.segmentPath(0);
    const first = baseName(path);
    const numbers = this.manager.namesLike(path).map((name) => segmentOfName(first, name));
    return numbers.filter((segment) => segment >= 0).sort((a, b) => a - b);
  }

  /** The segment files that exist now, by number. */
  list(): SegmentFile[] {
    const found: SegmentFile[] = [];
    for (const segment of this.numbers()) {
      const path = this.fork.segmentPath(segment);
      const sizeBytes = this.manager.vfs.stat(path)?.size;
      if (sizeBytes === undefined) continue;
      found.push({ segment, path, sizeBytes, blocks: this.wholeBlocks(sizeBytes), tailBytes: sizeBytes & this.mask });
    }
    return found;
  }

  /** Closes the files; those with a sync pending are closed after it. */
  release(): void {
    for (const file of this.files) {
      if (file !== undefined) this.manager.pending.release(file);
    }
    this.files.length = 0;
    this.forgetCounts(0, false);
  }
}
