// Reads the blocks of a fork straight from its segment files: a check must see what is there, damaged or not, and find
// out what is missing.
import { type BlockNumber, type Finding, type FindingSink, FORK_NAMES, type ForkNumber } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { type PageMemory, pageMemory } from '@blockwright/page';
import { segmentOfName, segmentPath } from '@blockwright/smgr';
import { baseName, parentPath, readFully, type Vfs, type VfsFile } from '@blockwright/vfs';

/** Bytes read at once. */
export const RUN_BYTES = 0x4_0000;

/** One segment file. */
export interface Segment {
  readonly path: string;
  readonly number: number;
  /** First block of the fork that lies in it. */
  readonly firstBlock: BlockNumber;
  /** Whole blocks. */
  readonly blocks: number;
}

/** A fork's segment files, opened for reading. */
export class BlockReader {
  /** Where {@link read} puts blocks, from byte 0 on. */
  readonly memory: PageMemory;
  /** Room for one block. */
  readonly scratch: Uint8Array;
  readonly segments: readonly Segment[];
  /** Blocks up to the first gap, or the end. */
  readonly blockCount: number;
  private readonly files: readonly VfsFile[];
  private readonly geometry: BlockGeometry;
  private readonly segmentShift: number;

  private constructor(geometry: BlockGeometry, segmentShift: number, segments: Segment[], files: VfsFile[]) {
    this.geometry = geometry;
    this.segmentShift = segmentShift;
    this.segments = segments;
    this.files = files;
    const last = segments.at(-1);
    this.blockCount = last === undefined ? 0 : last.firstBlock + last.blocks;
    this.memory = pageMemory(new ArrayBuffer(RUN_BYTES));
    this.scratch = new Uint8Array(geometry.size);
  }

  /**
   * Opens a fork whose main fork's first segment is `relation`. Reports a segment file that is missing between others
   * (those behind it are not read), one that ends before it is full and is not the last, and bytes after the last block.
   */
  static open(
    vfs: Vfs,
    geometry: BlockGeometry,
    relation: string,
    fork: ForkNumber,
    segmentBlocks: number,
    shown: (path: string) => string,
    sink: FindingSink,
  ): BlockReader {
    const first = segmentPath(relation, fork, 0);
    const present = presentSegments(vfs, first);
    const segmentShift = 31 - Math.clz32(segmentBlocks);
    const segments: Segment[] = [];
    const files: VfsFile[] = [];
    const report = (
      code: string,
      severity: 'error' | 'warning',
      path: string,
      segment: number,
      message: string,
      at: Partial<Finding> = {},
    ): void =>
      sink({ code: `file.${code}`, severity, message, file: shown(path), fork: FORK_NAMES[fork], segment, ...at });
    for (const number of present) {
      const path = segmentPath(relation, fork, number);
      if (number !== segments.length) {
        report(
          'missing_segment',
          'error',
          path,
          number,
          `segment ${segments.length} is missing: this file and those after it are not reached`,
        );
        break;
      }
      const file = vfs.open(path, 'r');
      files.push(file);
      const bytes = file.size();
      const blocks = blocksIn(bytes, geometry);
      segments.push({ path, number, firstBlock: (number << segmentShift) >>> 0, blocks });
      const tail = bytes & geometry.mask;
      if (tail !== 0) {
        report('partial_block', 'error', path, number, `${tail} bytes follow the last whole block`, {
          byteOffset: bytes - tail,
        });
      }
      if (blocks > segmentBlocks)
        report(
          'segment_too_long',
          'error',
          path,
          number,
          `the file has ${blocks} blocks; a segment has ${segmentBlocks}`,
        );
      const hasNext = present.includes(number + 1);
      if (blocks < segmentBlocks && hasNext) {
        report(
          'short_segment',
          'error',
          path,
          number,
          `the file has ${blocks} of ${segmentBlocks} blocks, and another segment follows`,
        );
      }
    }
    return new BlockReader(geometry, segmentShift, segments, files);
  }

  /** Reads `count` blocks, all in one segment, to the start of {@link memory}. */
  read(first: BlockNumber, count: number): void {
    const { shift } = this.geometry;
    const segment = this.segments[first >>> this.segmentShift];
    const within = (first - segment.firstBlock) >>> 0;
    // A segment file has less than 2^30 bytes, so this is no overflow.
    readFully(this.files[segment.number], this.memory.u8, 0, count << shift, within << shift);
  }

  /** Reads one block to the start of `into`. */
  readInto(block: BlockNumber, into: Uint8Array): void {
    const { shift, size } = this.geometry;
    const segment = this.segments[block >>> this.segmentShift];
    readFully(this.files[segment.number], into, 0, size, ((block - segment.firstBlock) >>> 0) << shift);
  }

  close(): void {
    for (const file of this.files) file.close();
  }
}

function blocksIn(bytes: number, geometry: BlockGeometry): number {
  // Longer than a segment can be: only how much too long matters.
  if (bytes > 0x7fff_ffff) return 0x7fff_ffff >>> geometry.shift;
  return bytes >>> geometry.shift;
}

function presentSegments(vfs: Vfs, first: string): number[] {
  const name = baseName(first);
  return vfs
    .readdir(parentPath(first))
    .map((other) => segmentOfName(name, other))
    .filter((number) => number >= 0)
    .sort((a, b) => a - b);
}
