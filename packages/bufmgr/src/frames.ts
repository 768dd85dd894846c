// The frames of a pool: page memory in chunks of at most 1 GiB, and four 32-bit words that describe each buffer.
//
// word  0        1         2      3
//       fork id  block     pins   usage count (bits 0-2), dirty (bit 3), valid (bit 4)
//
// The four lie together, so that a pin touches one cache line of them. A buffer that holds no page is on the free list,
// and its block word names the next one. Buffers are first handed out in order of their number: a sequential load or
// scan gets neighbours, which are read and written in one call.
import type { BlockNumber, BufferId } from '@blockwright/base';
import { StorageError } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { kernelMemory, type PageMemory, pageMemory } from '@blockwright/page';

export const WORD_FORK = 0;
export const WORD_BLOCK = 1;
export const WORD_PINS = 2;
export const WORD_STATE = 3;

export const USAGE_MASK = 7;
/** How often the clock hand passes a page by, at most. PostgreSQL: `BM_MAX_USAGE_COUNT`. */
export const MAX_USAGE = 5;
export const STATE_DIRTY = 8;
export const STATE_VALID = 16;

export const NO_BUFFER: BufferId = -1;

/** The most bytes of a chunk: every byte offset within one is below 2^30. */
export const MAX_CHUNK_BYTES = 0x4000_0000;

/**
 * A chunk of so many bytes or more is memory in which checksums are computed in place. To make such memory takes as long
 * as some thousand checksums of copied pages lose, and much address space: smaller chunks are ordinary memory.
 */
export const KERNEL_CHUNK_BYTES = 0x10_0000;

/** Memory and descriptors. Who holds which page, and who may take a buffer, is decided by others. */
export class BufferFrames {
  readonly geometry: BlockGeometry;
  /** How many buffers there are. */
  readonly count: number;
  /** Four words a buffer: see the head of this file. */
  readonly words: Int32Array;
  readonly chunks: PageMemory[] = [];
  readonly chunkShift: number;
  readonly chunkMask: number;
  readonly blockShift: number;
  /** Buffers below this number have been handed out once. */
  used = 0;
  private freeHead: BufferId = NO_BUFFER;
  private hand = 0;

  constructor(geometry: BlockGeometry, count: number, chunkBytes: number) {
    this.geometry = geometry;
    this.count = count;
    this.words = new Int32Array(count << 2);
    this.blockShift = geometry.shift;
    this.chunkShift = 31 - Math.clz32(chunkBytes) - geometry.shift;
    this.chunkMask = (1 << this.chunkShift) - 1;
  }

  memory(id: BufferId): PageMemory {
    return this.chunks[id >>> this.chunkShift];
  }

  base(id: BufferId): number {
    return (id & this.chunkMask) << this.blockShift;
  }

  block(id: BufferId): BlockNumber {
    return this.words[(id << 2) + WORD_BLOCK] >>> 0;
  }

  /** Gives a buffer back that holds no page any more. */
  free(id: BufferId): void {
    const at = id << 2;
    this.words[at + WORD_FORK] = -1;
    this.words[at + WORD_BLOCK] = this.freeHead;
    this.words[at + WORD_PINS] = 0;
    this.words[at + WORD_STATE] = 0;
    this.freeHead = id;
  }

  /**
   * A buffer that holds no page, or {@link NO_BUFFER}.
   * @throws StorageError 53200 when the platform has no memory for another chunk.
   */
  takeFree(): BufferId {
    const id = this.freeHead;
    if (id !== NO_BUFFER) {
      this.freeHead = this.words[(id << 2) + WORD_BLOCK];
      return id;
    }
    if (this.used === this.count) return NO_BUFFER;
    if ((this.used & this.chunkMask) === 0) this.addChunk();
    return this.used++;
  }

  /**
   * A buffer whose page may go: unpinned, and not used since the hand last took its count down; or {@link NO_BUFFER}
   * when all are pinned. Called when none is free. PostgreSQL: `StrategyGetBuffer`, freelist.c.
   */
  sweep(): BufferId {
    const words = this.words;
    for (let unchanged = 0; unchanged < this.count; unchanged++) {
      const id = this.hand;
      this.hand = id + 1 === this.count ? 0 : id + 1;
      const at = id << 2;
      if (words[at + WORD_PINS] !== 0) continue;
      if ((words[at + WORD_STATE] & USAGE_MASK) === 0) return id;
      words[at + WORD_STATE]--;
      unchanged = -1;
    }
    return NO_BUFFER;
  }

  /** Lets go of all memory. */
  release(): void {
    this.chunks.length = 0;
    this.words.fill(0, 0, this.used << 2);
    this.used = 0;
    this.freeHead = NO_BUFFER;
  }

  private addChunk(): void {
    const left = this.count - this.used;
    const buffers = left <= this.chunkMask ? left : this.chunkMask + 1;
    const bytes = buffers << this.blockShift;
    try {
      // Zeroed by the operating system page by page, so a chunk costs nothing until it is touched.
      this.chunks.push(bytes < KERNEL_CHUNK_BYTES ? pageMemory(new ArrayBuffer(bytes)) : kernelMemory(bytes));
    } catch (cause) {
      throw new StorageError('53200', `no memory for another ${bytes} bytes of the buffer pool`, {
        detail: `The pool was given ${this.count} buffers of ${this.geometry.size} bytes; ${this.used} have been used so far.`,
        hint: 'Open it with fewer buffers.',
        cause,
      });
    }
  }
}
