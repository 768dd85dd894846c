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

/** Of 64 blocks, one is not all-visible. */
export function isAllVisible(block: number): boolean {
  return Math.imul(block ^ (block >>> 15), 0x9e37_79b1) >>> 26 !== 0;
}

/** Map pages `firstPage` to `firstPage + pages - 1`, as bytes of each page's map area. */
export function fillMapPage(g: BlockGeometry, page: number, u8: Uint8Array, at: number): void {
  const end = at + g.size;
  let block = g.firstHeapBlockOf(page);
  for (let i = at + PAGE_HEADER_BYTES; i < end; i++) {
    let byte = 0;
    for (let shift = 0; shift < 8; shift += 2) {
      if (isAllVisible(block)) byte |= 1 << shift;
      block = (block + 1) >>> 0;
    }
    u8[i] = byte;
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
