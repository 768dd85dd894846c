// The TIDs that a case loads, by definition and not by list: TID number i of all, whether a TID is one of them, and
// some that are not. Numbers of TIDs pass 2^32 (block times offsets does), so they are doubles, never shifted.
import { seededRandom } from '@blockwright/benchmark';
import type { BlockGeometry } from '@blockwright/geometry';

/** Which offsets of a block are loaded: the first ones, or ones drawn from all that a heap page can have. */
export type OffsetPattern = 'dense' | 'spread';

export interface PopulationOptions {
  readonly minBlock: number;
  /** The first block that is not loaded. */
  readonly maxBlock: number;
  /** Every so-manieth block is loaded. */
  readonly stride: number;
  readonly tidsPerBlock: number;
  readonly offsets: OffsetPattern;
  readonly seed: number;
}

export interface Tids {
  readonly blocks: Uint32Array;
  readonly offsets: Uint16Array;
}

/** Different sets of offsets that a `spread` population has; a power of two. */
const PATTERNS = 64;

export class Population {
  readonly minBlock: number;
  readonly stride: number;
  readonly blockCount: number;
  readonly tidsPerBlock: number;
  readonly tidCount: number;
  /** Ascending offsets; loaded block number k has those at `k & (patterns.length − 1)`. */
  readonly patterns: readonly Uint16Array[];
  readonly #maxOffset: number;
  readonly #seed: number;

  /** Takes options that were checked: see `checkedCase`. */
  constructor(g: BlockGeometry, options: PopulationOptions) {
    const { minBlock, maxBlock, stride, tidsPerBlock, seed } = options;
    this.minBlock = minBlock;
    this.stride = stride;
    this.blockCount = Math.ceil((maxBlock - minBlock) / stride);
    this.tidsPerBlock = tidsPerBlock;
    this.tidCount = this.blockCount * tidsPerBlock;
    this.patterns = offsetPatterns(g, options);
    this.#maxOffset = g.maxOffsetNumber;
    this.#seed = seed;
  }

  /** Block number k of the loaded ones, from 0 to {@link blockCount} − 1. */
  block(k: number): number {
    return this.minBlock + k * this.stride;
  }

  /** The offsets of block number k of the loaded ones. */
  offsetsOf(k: number): Uint16Array {
    return this.patterns[k % this.patterns.length];
  }

  /** Writes TID number `index` of all, in their order, to place `at` of `tids`. */
  write(tids: Tids, at: number, index: number): void {
    const k = Math.floor(index / this.tidsPerBlock);
    tids.blocks[at] = this.block(k);
    tids.offsets[at] = this.offsetsOf(k)[index - k * this.tidsPerBlock];
  }

  has(block: number, offset: number): boolean {
    const k = (block - this.minBlock) / this.stride;
    return Number.isInteger(k) && k >= 0 && k < this.blockCount && this.offsetsOf(k).includes(offset);
  }

  /**
   * Up to `count` TIDs that are not loaded, near to those that are: one bit of block or offset is another one, or the
   * block is a neighbour. A bit as high as 2^23 is what an overflowing key would take for none.
   */
  absent(count: number): Tids {
    const random = seededRandom(this.#seed);
    const below = (n: number): number => Math.floor(random() * n);
    const tids = { blocks: new Uint32Array(count), offsets: new Uint16Array(count) };
    let found = 0;
    for (let tries = 0; tries < 4 * count && found < count; tries++) {
      this.write(tids, found, below(this.tidCount));
      const block = tids.blocks[found];
      const offset = tids.offsets[found];
      if (tries % 2 === 0) tids.offsets[found] = (offset ^ (1 << below(13))) & 0xffff;
      else tids.blocks[found] = tries % 4 === 1 ? block ^ (1 << below(32)) : block + (below(2) === 0 ? -1 : 1);
      if (this.#isTid(tids, found) && !this.has(tids.blocks[found], tids.offsets[found])) found++;
    }
    return { blocks: tids.blocks.subarray(0, found), offsets: tids.offsets.subarray(0, found) };
  }

  #isTid({ blocks, offsets }: Tids, at: number): boolean {
    const offset = offsets[at];
    return blocks[at] !== 0xffff_ffff && offset >= 1 && offset <= this.#maxOffset;
  }
}

function offsetPatterns(g: BlockGeometry, { tidsPerBlock, offsets, seed }: PopulationOptions): Uint16Array[] {
  if (offsets === 'dense') return [Uint16Array.from({ length: tidsPerBlock }, (_, i) => i + 1)];
  const most = tidsPerBlock <= g.maxHeapTuplesPerPage ? g.maxHeapTuplesPerPage : g.maxOffsetNumber;
  const random = seededRandom(seed);
  return Array.from({ length: PATTERNS }, () => drawOffsets(tidsPerBlock, most, random));
}

/** `count` of 1 to `most`, each choice as likely, ascending. */
function drawOffsets(count: number, most: number, random: () => number): Uint16Array {
  const drawn = new Uint16Array(count);
  let found = 0;
  for (let offset = 1; offset <= most; offset++) {
    if (random() * (most - offset + 1) < count - found) drawn[found++] = offset;
  }
  return drawn;
}

/** A TID as one number, in TID order. Made by multiplication: a shift would drop the high bits of the block. */
export function tidKey(block: number, offset: number): number {
  return block * 0x1_0000 + offset;
}
