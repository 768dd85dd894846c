// The TID store on the radix tree: a block's key is its number, its value the set of its offsets.
import { type BlockNumber, checkOptions, type OffsetNumber } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { checkMaxBytes } from './arena.ts';
import { countOf, freeValue, hasOffset, pairOf, readOffsets, writeBitmap } from './offsets.ts';
import { areCounts, refuseTids, type TidCursor, type TidStore } from './store.ts';
import { type RadixStats, RadixTree } from './tree.ts';
import type { RadixCursor } from './tree-cursor.ts';

const hasElsewhere = hasOffset;

/**
 * TIDs in an adaptive radix tree: about 4.2 bytes a block where blocks are dense and offsets are 31 or below.
 * PostgreSQL: tidstore.c.
 */
export class RadixTidStore implements TidStore {
  private readonly tree: RadixTree;
  private readonly maxOffset: number;
  private readonly maxBytes: number;
  private tids = 0;
  /**
   * The block last asked about, as int32, and its value: an index in the table's order asks about a block many times in a
   * row. -1 is no block.
   */
  private lastBlock = -1;
  private lastValue = 0;

  /**
   * `maxBytes`: when the memory is above it, {@link isFull} says so. Memory grows in steps of 256 kB, or of 1/16 of
   * `maxBytes` and 8 kB at least.
   * @throws RangeError when it is not above 0, TypeError when it is no number, or for an option that is none.
   */
  constructor(geometry: BlockGeometry, options: { readonly maxBytes?: number } = {}) {
    checkOptions('RadixTidStore', options, ['maxBytes']);
    const { maxBytes = Infinity } = options;
    checkMaxBytes('RadixTidStore', maxBytes);
    this.maxOffset = geometry.maxOffsetNumber;
    this.maxBytes = maxBytes;
    this.tree = new RadixTree({ maxBytes });
  }

  add(block: BlockNumber, offsets: Uint16Array, count: number): void {
    if (!areCounts(block, offsets, count)) refuseTids(block, offsets, count, this.maxOffset);
    let bits = 1;
    let last = 0;
    let i = 0;
    // Four at a time: the sign of any difference less one tells that an offset does not ascend.
    for (; i + 3 < count; i += 4) {
      const a = offsets[i];
      const b = offsets[i + 1];
      const c = offsets[i + 2];
      const d = offsets[i + 3];
      if (((a - last - 1) | (b - a - 1) | (c - b - 1) | (d - c - 1)) < 0) break;
      bits |= (1 << a) | (1 << b) | (1 << c) | (1 << d);
      last = d;
    }
    for (; i < count; i++) {
      const o = offsets[i];
      if (o <= last) refuseTids(block, offsets, count, this.maxOffset);
      last = o;
      bits |= 1 << o;
    }
    if (last > this.maxOffset) refuseTids(block, offsets, count, this.maxOffset);
    this.lastBlock = -1;
    this.lastValue = 0;
    const { tree } = this;
    const was = tree.place(0, block);
    const words = tree.slotWords;
    const { slot } = tree;
    if (was) this.forget(words[slot]);
    this.tids += count;
    if (last < 32) words[slot] = bits;
    else if (count <= 2) words[slot] = pairOf(offsets[0], last);
    else words[slot] = writeBitmap(tree.arena, offsets, count);
  }

  private forget(value: number): void {
    this.tids -= countOf(this.tree.arena, value);
    freeValue(this.tree.arena, value);
  }

  has(block: BlockNumber, o: OffsetNumber): boolean {
    if (block >>> 0 !== block || (o | 0) !== o) return false;
    let value = this.lastValue;
    if ((block | 0) !== this.lastBlock) {
      value = this.tree.find(0, block);
      this.lastBlock = block | 0;
      this.lastValue = value;
    }
    if ((value & 1) !== 0) return (o - 1) >>> 0 < 31 && ((value >>> o) & 1) !== 0;
    return value !== 0 && hasElsewhere(this.tree.arena, value, o);
  }

  cursor(): TidCursor {
    return new RadixTidCursor(this.tree, new Uint16Array(this.maxOffset));
  }

  get memoryBytes(): number {
    return this.tree.memoryBytes;
  }

  get blockCount(): number {
    return this.tree.numKeys;
  }

  get tidCount(): number {
    return this.tids;
  }

  /** An empty store never is: whoever empties it must get on, however small `maxBytes` is. */
  isFull(): boolean {
    const { arena, numKeys } = this.tree;
    return numKeys !== 0 && (arena.bytesInUse > this.maxBytes || arena.isAtLimit);
  }

  /** Keeps the memory, for what is added next: a vacuum of several passes fills it again. */
  clear(): void {
    this.tree.clear();
    this.tids = 0;
    this.lastBlock = -1;
    this.lastValue = 0;
  }

  /** What the tree is made of. */
  stats(): RadixStats {
    return this.tree.stats();
  }
}

class RadixTidCursor implements TidCursor {
  block: BlockNumber = 0;
  count = 0;
  readonly offsets: Uint16Array;
  private readonly tree: RadixTree;
  private readonly keys: RadixCursor;

  constructor(tree: RadixTree, offsets: Uint16Array) {
    this.tree = tree;
    this.keys = tree.cursor();
    this.offsets = offsets;
  }

  next(): boolean {
    const { keys } = this;
    if (!keys.next()) return false;
    this.block = keys.keyLow;
    this.count = readOffsets(this.tree.arena, keys.value, this.offsets);
    return true;
  }
}
