// The block size of a relation file that lies alone, without the control file that would say it: what most of its pages
// say of themselves. A file that does not say it clearly is nobody's to guess about.
import { BLOCK_SIZES, BlockGeometry, type BlockSize } from '@blockwright/geometry';
import { PageFault, type PageMemory, PageMemoryViews, pageIsNew, pageVerifyHeader } from '@blockwright/page';

/** Where bytes come from: a file, or an array of them. */
export interface ByteSource {
  readonly size: number;
  /** `length` bytes from `position` on; fewer only at the end. */
  read(position: number, length: number): Uint8Array;
}

export interface DetectedBlockSize {
  readonly blockSize: BlockSize;
  /** Pages looked at that say this block size. */
  readonly agreeing: number;
  /** Pages looked at that are not all zero. */
  readonly pages: number;
}

/** A {@link ByteSource} over bytes in memory. */
export function bytesSource(bytes: Uint8Array): ByteSource {
  return { size: bytes.length, read: (position, length) => bytes.subarray(position, position + length) };
}

/** A large file is read in at most this many stretches, evenly apart, each as long as one page of the largest size. */
const MAX_STRETCHES_SHIFT = 8;
const HEADER_BYTES = 24;

/**
 * The block size that more than half of a file's initialised pages name, each at its own place and with a header that
 * makes sense at that size.
 * @returns undefined when no size has such a majority (an empty file, zero pages only, garbled headers): then the caller
 * must ask, and never assume one.
 */
export function detectBlockSize(source: ByteSource): DetectedBlockSize | undefined {
  const stretchBytes = BLOCK_SIZES.at(-1) as BlockSize;
  let step: number = stretchBytes;
  for (let reach = stretchBytes << MAX_STRETCHES_SHIFT; reach < source.size; reach += reach) step += step;
  const tallies = BLOCK_SIZES.map((blockSize) => ({ blockSize, agreeing: 0, pages: 0 }));
  for (let position = 0; position < source.size; position += step) {
    const stretch = source.read(position, stretchBytes);
    // Copied: the bytes may begin anywhere, and views of words cannot.
    const memory = new PageMemoryViews(new ArrayBuffer(stretchBytes));
    memory.u8.set(stretch);
    for (const tally of tallies) countPages(memory, stretch.length, tally);
  }
  // Of two majorities, the larger pages hold the smaller ones as their data.
  return tallies.findLast((tally) => tally.agreeing + tally.agreeing > tally.pages);
}

function countPages(
  m: PageMemory,
  bytes: number,
  tally: { blockSize: BlockSize; agreeing: number; pages: number },
): void {
  const g = BlockGeometry.of(tally.blockSize);
  for (let base = 0; base + tally.blockSize <= bytes; base += tally.blockSize) {
    if (m.u32.subarray(base >>> 2, (base + HEADER_BYTES) >>> 2).every((word) => word === 0)) continue;
    tally.pages++;
    if (!pageIsNew(m, base) && pageVerifyHeader(m, base, g) === PageFault.none) tally.agreeing++;
  }
}
