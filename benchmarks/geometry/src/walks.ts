// What the variants walk over: TIDs as an index hands them out, and a visibility map in memory.
import { seededRandom } from '@blockwright/benchmark';
import type { BlockGeometry } from '@blockwright/geometry';

export type WalkName = 'sequential' | 'random';

/** TIDs of an index, in its order. */
export interface Tids {
  readonly blocks: Uint32Array;
  readonly offsets: Uint16Array;
}

/** Bytes of a row, header and line pointer included: about what a TPC-H lineitem row takes. */
const ROW_BYTES = 140;

/** Every row of a table whose order is the index's, from its first block on, as many TIDs a block as it has rows. */
export function sequentialTids(g: BlockGeometry, count: number, firstBlock: number): Tids {
  const rows = Math.floor(g.size / ROW_BYTES);
  const blocks = new Uint32Array(count);
  const offsets = new Uint16Array(count);
  for (let i = 0; i < count; i++) {
    blocks[i] = firstBlock + Math.floor(i / rows);
    offsets[i] = 1 + (i % rows);
  }
  return { blocks, offsets };
}

/** Rows of a table whose order has nothing to do with the index's. */
export function randomTids(g: BlockGeometry, count: number, heapBlocks: number, seed: number): Tids {
  const rows = Math.floor(g.size / ROW_BYTES);
  const random = seededRandom(seed);
  const blocks = new Uint32Array(count);
  const offsets = new Uint16Array(count);
  for (let i = 0; i < count; i++) {
    blocks[i] = Math.floor(random() * heapBlocks);
    offsets[i] = 1 + Math.floor(random() * rows);
  }
  return { blocks, offsets };
}

/**
 * Map pages in memory, as a buffer pool has them: which buffer holds a page follows no order, and a page starts at its
 * buffer's number times the block size.
 */
export interface MapMemory {
  readonly u8: Uint8Array;
  /** The buffer of each map page. */
  readonly bufferOf: Int32Array;
}

/** Of 64 blocks, about one is not all-visible: a block is not when its six bits of its group's hash are 0. */
export function isAllVisible(block: number): boolean {
  return ((hashOfGroup(block >>> 2) >>> ((block & 3) << 3)) & 63) !== 0;
}

/** A hash of four neighbouring blocks, whose map bits stand in one byte: a byte for each of them. */
function hashOfGroup(group: number): number {
  const mixed = Math.imul(group ^ (group >>> 15), 0x85eb_ca6b);
  return Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
}

/** Fills the page at byte `at` of `u8` with the bits of map page `page`; the page header is left as it is. */
export function fillMapPage(g: BlockGeometry, page: number, u8: Uint8Array, at: number): void {
  const end = at + g.size;
  let group = g.firstHeapBlockOf(page) >>> 2;
  for (let i = at + PAGE_HEADER_BYTES; i < end; i++) {
    const hash = hashOfGroup(group++);
    u8[i] =
      ((hash & 0x3f) !== 0 ? 1 : 0) |
      ((hash & 0x3f00) !== 0 ? 4 : 0) |
      ((hash & 0x3f_0000) !== 0 ? 16 : 0) |
      ((hash & 0x3f00_0000) !== 0 ? 64 : 0);
  }
}

const PAGE_HEADER_BYTES = 24;

export function mapMemory(g: BlockGeometry, firstPage: number, pages: number, seed: number): MapMemory {
  const u8 = new Uint8Array(pages * g.size);
  const order = Int32Array.from({ length: pages }, (_, i) => i);
  const random = seededRandom(seed);
  for (let i = pages - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    const swapped = order[i] as number;
    order[i] = order[j] as number;
    order[j] = swapped;
  }
  const bufferOf = new Int32Array(firstPage + pages);
  for (let i = 0; i < pages; i++) {
    const buffer = order[i] as number;
    bufferOf[firstPage + i] = buffer;
    fillMapPage(g, firstPage + i, u8, buffer * g.size);
  }
  return { u8, bufferOf };
}

/** What a walk must compute: see the loops in variants.ts. Told by the definition, without map and geometry. */
export function rightAnswer({ blocks, offsets }: Tids, from: number, to: number): number {
  let answer = 0;
  for (let i = from; i < to; i++) {
    answer = (answer + (isAllVisible(blocks[i] as number) ? (offsets[i] as number) : NOT_VISIBLE)) | 0;
  }
  return answer;
}

/** What a TID adds whose block is not all-visible: an index-only scan has to visit the heap for it. */
export const NOT_VISIBLE = 0x10000;
