// Reads the blocks of a fork straight from its segment files: a check must see what is there, damaged or not, and find
// out what is missing. Every segment that is there is read, also behind a gap.
import { type BlockNumber, type ForkNumber, isStorageError, type Severity } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { segmentOfName, segmentPath } from '@blockwright/smgr';
import { baseName, readFully, type Vfs, type VfsFile } from '@blockwright/vfs';
import { bytesOfBlocks, firstBlockOfSegment, wholeBlocksIn } from './file-bytes.cold.ts';

/** The largest number that a block can have. PostgreSQL: `MaxBlockNumber`. */
const MAX_BLOCK = 0xffff_fffe;

/** One segment file that is there. */
export interface Segment {
  readonly path: string;
  readonly number: number;
  /** First block of the fork that lies in it. */
  readonly firstBlock: BlockNumber;
  /** Whole blocks. */
  readonly blocks: number;
  /** undefined when it cannot be read. */
  readonly file: VfsFile | undefined;
  /** What is wrong with the file as such. */
  readonly faults: readonly SegmentFault[];
}

interface SegmentFault {
  readonly code: string;
  readonly severity: Severity;
  readonly message: string;
  readonly byteOffset?: number;
}

/** A fork's segment files, opened for reading. */
export class BlockReader {
  readonly segments: readonly Segment[];
  /** Blocks up to the end of the last segment that is there. */
  readonly blockCount: number;
  private readonly geometry: BlockGeometry;

  private constructor(geometry: BlockGeometry, segments: readonly Segment[]) {
    this.geometry = geometry;
    this.segments = segments;
    this.blockCount = segments.reduce(
      (end, { firstBlock, blocks }) => Math.max(end, blocks === 0 ? 0 : firstBlock + blocks),
      0,
    );
  }

  /**
   * Opens the segment files of a fork whose main fork's first segment is `relation`. There may be none.
   * @param names of files beside it, its own among them
   */
  static open(
    vfs: Vfs,
    geometry: BlockGeometry,
    relation: string,
    names: readonly string[],
    fork: ForkNumber,
    segmentBlocks: number,
  ): BlockReader {
    const segments: Segment[] = [];
    for (const number of segmentNumbers(names, baseName(segmentPath(relation, fork, 0)))) {
      const path = segmentPath(relation, fork, number);
      segments.push(openSegment(vfs, geometry, path, number, segmentBlocks, segments.at(-1)));
    }
    return new BlockReader(geometry, segments);
  }

  /** Reads `count` blocks of a segment, from its `first` on, to the start of `into`; gives how many were there. */
  read(segment: Segment, first: number, count: number, into: Uint8Array): number {
    if (segment.file === undefined) return 0;
    const { size, shift } = this.geometry;
    return readFully(segment.file, into, 0, count << shift, bytesOfBlocks(first, size)) >>> shift;
  }

  /** The segment that holds a block of the fork, or undefined. */
  segmentOf(block: BlockNumber): Segment | undefined {
    return this.segments.find(({ firstBlock, blocks }) => block >= firstBlock && block < firstBlock + blocks);
  }

  close(): void {
    for (const { file } of this.segments) file?.close();
  }
}

function openSegment(
  vfs: Vfs,
  geometry: BlockGeometry,
  path: string,
  number: number,
  segmentBlocks: number,
  before: Segment | undefined,
): Segment {
  const faults: SegmentFault[] = [];
  const fault = (code: string, message: string, byteOffset?: number): void => {
    const at = byteOffset === undefined ? {} : { byteOffset };
    faults.push({ code: `file.${code}`, severity: 'error', message, ...at });
  };
  const nothing = { path, number, firstBlock: 0, blocks: 0, file: undefined, faults };
  const firstBlock = firstBlockOfSegment(number, segmentBlocks);
  if (firstBlock > MAX_BLOCK) {
    fault('segment_out_of_range', `there is no segment ${number}: its blocks would have numbers beyond 2^32`);
    return nothing;
  }
  let file: VfsFile | undefined;
  let bytes: number;
  try {
    const stat = vfs.stat(path);
    if (stat !== undefined && !stat.isFile) {
      // To open a pipe would wait for its other end, and no signal would be seen meanwhile.
      if (stat.isDirectory) fault('is_directory', 'it is a directory, where a file of a relation is due');
      else fault('not_regular', 'it is a pipe, socket or device, where a file of a relation is due');
      return { ...nothing, firstBlock };
    }
    file = vfs.open(path, 'r');
    bytes = file.size();
  } catch (error) {
    if (!isStorageError(error)) throw error;
    file?.close();
    fault('unreadable', `it cannot be read, and was not checked: ${error.message}`);
    return { ...nothing, firstBlock };
  }
  checkNeighbour(number, bytes, segmentBlocks, before, fault);
  const whole = wholeBlocksIn(bytes, geometry.size);
  const tail = bytes - bytesOfBlocks(whole, geometry.size);
  if (tail !== 0) fault('partial_block', `${tail} bytes follow the last whole block`, bytes - tail);
  if (whole > segmentBlocks) fault('segment_too_long', `the file has ${whole} blocks; a segment has ${segmentBlocks}`);
  const blocks = Math.min(whole, segmentBlocks, MAX_BLOCK + 1 - firstBlock);
  return { path, number, firstBlock, blocks, file, faults };
}

/**
 * A segment that holds anything has all segments before it, full ones. Empty ones may follow: truncation leaves them.
 * PostgreSQL: md.c.
 */
function checkNeighbour(
  number: number,
  bytes: number,
  segmentBlocks: number,
  before: Segment | undefined,
  fault: (code: string, message: string) => void,
): void {
  if (bytes === 0) return;
  const due = (before?.number ?? -1) + 1;
  if (number !== due) {
    const missing = due === number - 1 ? `segment ${due} is` : `segments ${due} to ${number - 1} are`;
    fault('missing_segment', `${missing} missing: a server does not reach this file's blocks`);
  } else if (before !== undefined && before.blocks < segmentBlocks && before.file !== undefined) {
    fault('short_segment', `segment ${before.number} before it has ${before.blocks} of ${segmentBlocks} blocks`);
  }
}

/** Numbers of the segment files of a fork whose first is called `first`, ascending. */
function segmentNumbers(names: readonly string[], first: string): number[] {
  return names
    .map((name) => segmentOfName(first, name))
    .filter((number) => number >= 0)
    .sort((a, b) => a - b);
}
