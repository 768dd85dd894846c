// Bytes and blocks of whole files, which may be larger than 4 GiB, where a shift would lose the upper bits. Asked once a
// file or once a run of blocks.

/** Bytes that `blocks` blocks of `size` bytes take: a safe integer, however many there are. */
export function bytesOfBlocks(blocks: number, size: number): number {
  return blocks * size;
}

/** Whole blocks of `size` bytes in a file of `bytes` bytes. */
export function wholeBlocksIn(bytes: number, size: number): number {
  return Math.floor(bytes / size);
}

/** First block of a segment file, beyond 2^32 when there can be no such segment. */
export function firstBlockOfSegment(segment: number, segmentBlocks: number): number {
  return segment * segmentBlocks;
}
