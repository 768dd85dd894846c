// The pages of an index, by block: wherever links lead, but quickest in the order in which they lie.
import { type BlockNumber, isStorageError } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { type PageMemory, pageMemory } from '@blockwright/page';
import { pageKind } from '@blockwright/pageinspect';
import type { BlockReader } from './block-reader.ts';

/** Bytes that are read at once where the last page's neighbour is asked for. */
const AHEAD_BYTES = 1 << 18;

/** What {@link BtreePages.load} found. */
export const PAGE_SOUND = 0;
/** All zero: free, as the extension of a file leaves them. */
export const PAGE_ZERO = 1;
/** No page of a B-tree, its header makes no sense, or it cannot be read: said where pages are checked one by one. */
export const PAGE_UNSOUND = 2;

/** Reads pages; the last one stays until the next is asked for. */
export class BtreePages {
  readonly geometry: BlockGeometry;
  readonly memory: PageMemory;
  readonly blockCount: number;
  /** Where the last page begins in the memory. */
  base = 0;
  private readonly reader: BlockReader;
  private readonly most: number;
  private first = 0;
  private count = 0;
  private last = -1;

  constructor(geometry: BlockGeometry, reader: BlockReader) {
    this.geometry = geometry;
    this.reader = reader;
    this.blockCount = reader.blockCount;
    this.most = AHEAD_BYTES >>> geometry.shift;
    this.memory = pageMemory(new ArrayBuffer(AHEAD_BYTES));
  }

  /** Reads the block, which lies before {@link blockCount}, to {@link base} of the memory. */
  load(block: BlockNumber): number {
    if ((block < this.first || block >= this.first + this.count) && !this.read(block)) return PAGE_UNSOUND;
    this.last = block;
    this.base = (block - this.first) << this.geometry.shift;
    const kind = pageKind(this.memory, this.base, this.geometry);
    return kind === 'btree' ? PAGE_SOUND : kind === 'new' ? PAGE_ZERO : PAGE_UNSOUND;
  }

  private read(block: BlockNumber): boolean {
    const segment = this.reader.segmentOf(block);
    if (segment === undefined) return false;
    const left = segment.firstBlock + segment.blocks - block;
    const wanted = block === this.last + 1 && left > 1 ? Math.min(this.most, left) : 1;
    this.first = block;
    this.count = 0;
    try {
      this.count = this.reader.read(segment, block - segment.firstBlock, wanted, this.memory.u8);
    } catch (error) {
      if (!isStorageError(error)) throw error;
    }
    return this.count > 0;
  }
}
