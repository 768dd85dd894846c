// One fork of a relation: blocks numbered through, in segment files of equal size. PostgreSQL: md.c.
//
// On disk, a fork is zero or more full segments, then one that is not full (perhaps empty), then perhaps empty ones
// that a truncation left. Whole blocks count; bytes after the last whole block are a tail, reported by tailBytes, that
// an extension overwrites.
import { type BlockNumber, type ForkNumber, INVALID_BLOCK_NUMBER, StorageError } from '@blockwright/base';
import { parentPath, readFully, type VfsFile } from '@blockwright/vfs';
import { segmentOfName, segmentPath } from './file-names.ts';
import type { StorageManager } from './manager.ts';
import type { StoredRelation } from './relation.ts';
import { type SegmentFile, Segments } from './segments.ts';
import { forkError, located, whereIn } from './where.ts';

let lastId = 0;

/** Blocks that are missing before others. */
export interface Gap {
  readonly fork: Fork;
  readonly segment: number;
  /** The first of them. */
  readonly block: BlockNumber;
  readonly blocks: number;
}

export class Fork {
  /** A small positive integer of this handle alone: no other fork of this process has it, had it or will have it. */
  readonly id: number;
  readonly relation: StoredRelation;
  readonly forkNumber: ForkNumber;
  /** Path of the first segment below the directory, such as `base/5/16384_vm`. */
  readonly name: string;
  private readonly manager: StorageManager;
  private readonly segmentFiles: Segments;
  private readonly shift: number;
  private readonly mask: number;
  private readonly segmentBlocks: number;
  private readonly segmentShift: number;
  private readonly segmentMask: number;
  /** The fork has at least so many blocks. */
  private knownBlocks: number = 0;

  /** @internal */
  constructor(relation: StoredRelation, forkNumber: ForkNumber) {
    const { manager } = relation;
    this.id = ++lastId;
    this.relation = relation;
    this.forkNumber = forkNumber;
    this.name = segmentPath(relation.name, forkNumber, 0);
    this.manager = manager;
    this.segmentFiles = new Segments(this, manager);
    this.shift = manager.geometry.shift;
    this.mask = manager.geometry.mask;
    this.segmentBlocks = manager.segmentBlocks;
    this.segmentShift = manager.segmentShift;
    this.segmentMask = manager.segmentBlocks - 1;
  }

  /** Path of a segment file. */
  segmentPath(segment: number): string {
    return segmentPath(this.relation.path, this.forkNumber, segment);
  }

  /** Whether the fork is there: its first segment file is. PostgreSQL: `mdexists`. */
  exists(): boolean {
    this.refuseUse();
    return this.manager.vfs.exists(this.segmentPath(0));
  }

  /**
   * Makes the fork, with no blocks. PostgreSQL: `mdcreate`.
   * @throws StorageError 58P02 when it exists, 25006 when opened read only.
   */
  create(): void {
    this.refuseChange('create');
    this.segmentFiles.make(0);
    this.segmentFiles.forgetCounts(0, false);
    this.knownBlocks = 0;
  }

  /**
   * Whole blocks of the fork. PostgreSQL: `mdnblocks`.
   * @throws StorageError 58P01 when the fork does not exist, or a segment is missing that has later ones; XX001 when a
   * segment before the last is not full, or one has more blocks than a segment can.
   */
  blockCount(): number {
    this.refuseUse();
    this.knownBlocks = this.segmentFiles.count();
    return this.knownBlocks;
  }

  /**
   * Whether the fork has this block: as `block < blockCount()`, without asking the system when that is known already.
   * @throws StorageError as {@link blockCount}.
   */
  hasBlock(block: BlockNumber): boolean {
    this.refuseUse();
    return block < this.knownBlocks || block < this.blockCount();
  }

  /** As {@link hasBlock}, for redo: a fork that is not there has no block. */
  hasBlockInRedo(block: BlockNumber): boolean {
    return block < this.knownBlocks || (this.exists() && block < this.blockCount());
  }

  /**
   * Makes sure, for redo, that the fork is there and has `blocks` blocks: it is made, and lengthened with zeros.
   * PostgreSQL: `XLogReadBufferExtended`, xlogutils.c.
   */
  ensureBlocks(blocks: number): void {
    if (blocks <= this.knownBlocks) return;
    if (!this.exists()) this.create();
    const end = this.blockCount();
    if (end < blocks) this.zeroExtend(end, blocks - end);
  }

  /** Bytes after the last whole block of a segment: of the last one by default. 0 unless a write was cut short. */
  tailBytes(segment?: number): number {
    const which = segment ?? this.blockCount() >>> this.segmentShift;
    this.refuseUse();
    const file = this.segmentFiles.open(which);
    return file === undefined ? 0 : this.segmentFiles.sizeOf(file, which) & this.mask;
  }

  /** The segment files that exist, by number, none of them judged: for those who look at damage. */
  segments(): SegmentFile[] {
    this.refuseUse();
    return this.segmentFiles.list();
  }

  /**
   * Reads `count` blocks from `first` into `dest` at index `at`, over segment edges. Segments that hold none of them
   * need not be there. PostgreSQL: `mdreadv`.
   * @throws StorageError 58P01 when a segment is missing, XX001 when the file ends before a block or within it;
   * RangeError when the numbers are no blocks'.
   */
  read(first: BlockNumber, count: number, dest: Uint8Array, at: number): void {
    this.refuseUse();
    checkBlocks(first, count);
    let block = first;
    let index = at;
    for (let left = count; left > 0; ) {
      const segment = block >>> this.segmentShift;
      const within = block & this.segmentMask;
      const run = Math.min(left, this.segmentBlocks - within);
      const length = run << this.shift;
      const file = this.segmentFiles.open(segment, block);
      if (file === undefined) throw this.segmentFiles.missing(segment, block);
      let got: number;
      try {
        got = readFully(file, dest, index, length, within << this.shift);
      } catch (error) {
        throw located(error, this, segment, block);
      }
      if (got < length) throw this.shortRead(file, segment, block, got);
      block = (block + run) >>> 0;
      index += length;
      left -= run;
    }
  }

  /**
   * Writes `count` blocks that exist, over segment edges, and asks for a sync of their files. PostgreSQL: `mdwritev`.
   * @throws StorageError 53100 when the disk is full, XX001 when a block is beyond the end, 25006 when opened read only.
   */
  write(first: BlockNumber, count: number, src: Uint8Array, at: number): void {
    this.refuseChange('write');
    checkBlocks(first, count);
    if (first + count > this.knownBlocks) {
      const blocks = this.blockCount();
      if (first + count > blocks) {
        const block = Math.max(first, blocks);
        throw forkError(
          'XX001',
          this,
          block >>> this.segmentShift,
          block,
          `cannot write beyond the end: ${blocks} blocks`,
        );
      }
    }
    this.store(first, count, src, at);
  }

  /**
   * Adds `count` blocks of `src` at `first`, the end of the fork, making segment files as needed. Blocks that are
   * there already are overwritten when they are zero. When it fails, the fork ends where it ended before.
   * PostgreSQL: `mdextend`; the refusal is that of `ExtendBufferedRelShared`, bufmgr.c.
   * @throws StorageError 53100 when the disk is full, XX001 when a block that is not zero stands there (it is kept),
   * 54000 beyond the last block number, 58P01 when the fork does not exist; RangeError when it would leave a hole.
   */
  extend(first: BlockNumber, count: number, src: Uint8Array, at: number): void {
    this.extendWith(first, count, src, at);
  }

  /**
   * Adds `count` blocks of zeros at `first`: as {@link extend}. They are written, not left as a hole, so that a full
   * disk shows now and not when the block is written back. PostgreSQL: `mdzeroextend`.
   */
  zeroExtend(first: BlockNumber, count: number): void {
    this.extendWith(first, count, undefined, 0);
  }

  private extendWith(first: BlockNumber, count: number, src: Uint8Array | undefined, at: number): void {
    this.refuseChange('extend');
    checkCounts(first, count);
    if (first + count > INVALID_BLOCK_NUMBER) {
      throw new StorageError('54000', `${whereIn(this)}: cannot extend beyond ${INVALID_BLOCK_NUMBER} blocks`);
    }
    const end = this.blockCount();
    if (first > end) {
      throw new RangeError(`${whereIn(this)}: extending at block ${first} would leave a hole after its ${end} blocks`);
    }
    if (first < end) this.checkZero(first, Math.min(count, end - first));
    try {
      this.store(first, count, src, at);
    } catch (error) {
      this.cutBack(end, (first + count) >>> this.segmentShift);
      throw error;
    }
    this.knownBlocks = Math.max(end, first + count);
  }

  /**
   * Cuts the fork to `blocks` blocks, from the last segment backwards: at any moment it is a shorter fork and never one
   * with a gap. Segments after the new end stay as empty files, as in PostgreSQL (`mdtruncate`).
   * @throws RangeError when the fork has fewer blocks.
   */
  truncate(blocks: number): void {
    this.refuseChange('truncate');
    const end = this.blockCount();
    if (!Number.isInteger(blocks) || blocks < 0 || blocks > end) {
      throw new RangeError(`${whereIn(this)}: cannot truncate to ${String(blocks)} blocks, it has ${end}`);
    }
    if (blocks === end) return;
    const keep = blocks >>> this.segmentShift;
    this.knownBlocks = 0; // until it is done: a failure half-way leaves fewer blocks than were known
    this.segmentFiles.forgetCounts(keep, true);
    for (let segment = end >>> this.segmentShift; segment >= keep; segment--) {
      const file = this.segmentFiles.open(segment);
      if (file === undefined) continue; // the end is a segment's edge, and the next segment was never made
      this.manager.pending.request(file);
      try {
        file.truncate(segment === keep ? (blocks & this.segmentMask) << this.shift : 0);
      } catch (error) {
        throw located(error, this, segment);
      }
    }
    this.knownBlocks = blocks;
  }

  /** Removes all its segments, the last first; nothing when it does not exist. PostgreSQL: `mdunlink`. */
  unlink(): void {
    this.refuseChange('remove');
    const numbers = this.segmentFiles.numbers();
    this.releaseFiles();
    for (let i = numbers.length - 1; i >= 0; i--) this.removeSegment(numbers[i] as number);
  }

  /**
   * Removes all segments but the first, which stays without a block: as long as its name is taken, nobody can make a
   * relation of the same number. PostgreSQL: `mdunlinkfork`, md.c.
   */
  empty(): void {
    this.refuseChange('remove');
    const numbers = this.segmentFiles.numbers();
    this.releaseFiles();
    for (let i = numbers.length - 1; i >= 0; i--) {
      const segment = numbers[i] as number;
      if (segment !== 0) {
        this.removeSegment(segment);
        continue;
      }
      const file = this.segmentFiles.open(0);
      if (file === undefined) continue;
      this.manager.pending.request(file);
      try {
        file.truncate(0);
      } catch (error) {
        throw located(error, this, 0);
      }
    }
  }

  /**
   * Syncs now what was written to this fork, and its directory when a file came or went. PostgreSQL: `mdimmedsync`.
   * @throws StorageError as {@link StorageManager.syncPending}.
   */
  sync(): void {
    this.refuseUse();
    const first = this.segmentPath(0);
    this.manager.pending.syncFiles((path) => segmentOfName(first, path) >= 0);
    this.manager.pending.syncDirectory(parentPath(first));
  }

  /** @internal Closes the files; those with a sync pending are closed after it. */
  releaseFiles(): void {
    this.segmentFiles.release();
    this.knownBlocks = 0;
  }

  private removeSegment(segment: number): void {
    const path = this.segmentPath(segment);
    this.manager.pending.forget(path);
    this.manager.pending.requestDirectory(parentPath(path));
    try {
      this.manager.vfs.unlink(path);
    } catch (error) {
      throw located(error, this, segment);
    }
  }

  /** @internal What is missing of segments that are short, or not there, and have later ones with blocks. */
  gaps(): Gap[] {
    this.refuseUse();
    const files = this.segmentFiles.list();
    let last = -1;
    for (const file of files) if (file.blocks > 0) last = file.segment;
    const gaps: Gap[] = [];
    for (let segment = 0; segment < last; segment++) {
      const there = files.find((file) => file.segment === segment)?.blocks ?? 0;
      const blocks = this.segmentBlocks - there;
      if (blocks > 0) gaps.push({ fork: this, segment, block: ((segment << this.segmentShift) + there) >>> 0, blocks });
    }
    return gaps;
  }

  /** @internal Fills a gap with zeros. */
  fillGap({ block, blocks }: Gap): void {
    this.refuseChange('fill');
    this.store(block, blocks, undefined, 0);
    this.segmentFiles.forgetCounts(0, false);
  }

  /** The first block in the segments after `segment` that is not all zero; -1: there is none. */
  firstWrittenAfter(segment: number): BlockNumber | -1 {
    this.refuseUse();
    const block = new Uint8Array(this.mask + 1);
    for (const file of this.segmentFiles.list()) {
      if (file.segment <= segment) continue;
      const first = (file.segment << this.segmentShift) >>> 0;
      for (let i = 0; i < Math.min(file.blocks, this.segmentBlocks); i++) {
        this.read(first + i, 1, block, 0);
        if (block.some((byte) => byte !== 0)) return first + i;
      }
    }
    return -1;
  }

  /** Writes blocks into their segments, making those after the first; zeros when there is no `src`. */
  private store(first: BlockNumber, count: number, src: Uint8Array | undefined, at: number): void {
    let block = first;
    let index = at;
    for (let left = count; left > 0; ) {
      const segment = block >>> this.segmentShift;
      const within = block & this.segmentMask;
      const run = Math.min(left, this.segmentBlocks - within);
      const length = run << this.shift;
      const file = this.segmentFiles.open(segment, block) ?? this.segmentFiles.make(segment, block);
      this.manager.pending.request(file);
      const bytes = src ?? this.manager.zeroBytes();
      for (let done = 0; done < length; ) {
        const from = src === undefined ? 0 : index + done;
        const most = src === undefined ? Math.min(length - done, bytes.length) : length - done;
        done += this.writeSome(file, segment, block, bytes, from, most, within, done);
      }
      block = (block + run) >>> 0;
      index += length;
      left -= run;
    }
  }

  /** One write, at byte `done` of a run that starts at `block`. @returns the bytes written, never 0. */
  private writeSome(
    file: VfsFile,
    segment: number,
    block: BlockNumber,
    bytes: Uint8Array,
    from: number,
    length: number,
    within: number,
    done: number,
  ): number {
    const reached = (block + (done >>> this.shift)) >>> 0;
    let count: number;
    try {
      count = file.write(bytes, from, length, (within << this.shift) + done);
    } catch (error) {
      throw located(error, this, segment, reached);
    }
    if (count > 0) return count;
    // A write that takes nothing and says nothing means a full disk, as PostgreSQL takes it too.
    throw forkError('53100', this, segment, reached, `could not write: the system took 0 of ${length} bytes`, {
      hint: 'Free some disk space.',
    });
  }

  /** After an extension that failed: no bytes are left after the old end. */
  private cutBack(end: number, lastSegment: number): void {
    const endSegment = end >>> this.segmentShift;
    for (let segment = lastSegment; segment >= endSegment; segment--) {
      try {
        const size = segment === endSegment ? (end & this.segmentMask) << this.shift : 0;
        const file = this.segmentFiles.open(segment);
        if (file !== undefined && file.size() > size) file.truncate(size);
      } catch {
        // The error of the extension is the one to report; bytes that stay are overwritten by the next, if zero.
      }
    }
  }

  /** Refuses to extend over data. */
  private checkZero(first: BlockNumber, count: number): void {
    const page = new Uint8Array(1 << this.shift);
    for (let i = 0; i < count; i++) {
      const block = first + i;
      this.read(block, 1, page, 0);
      if (page.every((byte) => byte === 0)) continue;
      throw forkError('XX001', this, block >>> this.segmentShift, block, 'cannot extend over a block with data in it', {
        detail: `The fork has ${this.knownBlocks} blocks.`,
        hint: 'Another process may be writing the file. The block was left as it is.',
      });
    }
  }

  /** The error for a read that got `got` bytes of a run that starts at `block`. */
  private shortRead(file: VfsFile, segment: number, block: BlockNumber, got: number): Error {
    const missed = (block + (got >>> this.shift)) >>> 0;
    const size = this.segmentFiles.sizeOf(file, segment);
    const start = (missed & this.segmentMask) << this.shift;
    const there = Math.max(0, Math.min(size - start, 1 << this.shift));
    if (there === 1 << this.shift) {
      const what = `could not read: the system gave ${got & this.mask} of ${1 << this.shift} bytes`;
      return forkError('58030', this, segment, missed, what);
    }
    const what =
      there === 0 ? 'the file ends before it' : `the file ends within it, after ${there} of ${1 << this.shift} bytes`;
    return forkError('XX001', this, segment, missed, what, { detail: `The segment has ${size} bytes.` });
  }

  private refuseUse(): void {
    if (this.relation.closed) throw new StorageError('55000', `${whereIn(this)}: the relation is closed`);
    this.manager.pending.refuseIfPoisoned();
  }

  private refuseChange(what: string): void {
    this.refuseUse();
    if (this.relation.readOnly)
      throw new StorageError('25006', `${whereIn(this)}: cannot ${what} it, it is opened read only`);
  }
}

function checkCounts(first: BlockNumber, count: number): void {
  if (!Number.isInteger(first) || first < 0 || !Number.isInteger(count) || count < 0) {
    throw new RangeError(`blocks from ${String(first)}, ${String(count)} of them: not two numbers from 0`);
  }
}

/** @throws RangeError unless all of the blocks have a block number. */
function checkBlocks(first: BlockNumber, count: number): void {
  checkCounts(first, count);
  if (first + count > INVALID_BLOCK_NUMBER) {
    throw new RangeError(`blocks from ${first}, ${count} of them: the last block number is 4294967294`);
  }
}
