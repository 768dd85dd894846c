// The sorted array with the memory that the tree has, for one loop of the benchmark: no store of the package, and no part
// of the aims. It tells how much of the tree's lead in order comes from remembering the block that was asked about last.
import type { SortedArrayTidStore } from '@blockwright/tidstore';

/** The store's own arrays: a copy of them would take as much memory again. */
interface Parts {
  readonly blocks: Uint32Array;
  readonly offsets: Uint16Array;
  readonly length: number;
}

/** Look-ups in a loaded store, which must not change any more. */
export class RememberingArray {
  private readonly blocks: Uint32Array;
  private readonly offsets: Uint16Array;
  private readonly length: number;
  private readonly maxOffset: number;
  /** The block asked about last, and the indexes of its first and its last TID. */
  private block = -1;
  private first = 0;
  private last = -1;
  private firstOffset = 0;

  constructor(store: SortedArrayTidStore, maxOffset: number) {
    const { blocks, offsets, length } = store as unknown as Parts;
    this.blocks = blocks;
    this.offsets = offsets;
    this.length = length;
    this.maxOffset = maxOffset;
  }

  /** As the store's: halving, but within the block's run, and first where the offset stands if none below it is missing. */
  has(block: number, o: number): boolean {
    if ((o | 0) !== o || (block !== this.block && !this.turnTo(block))) return false;
    const { offsets } = this;
    let from = this.first;
    let to = this.last;
    const most = from + (o - this.firstOffset);
    if (most < to) to = most;
    let at = to;
    while (from <= to) {
      const away = o - offsets[at];
      if (away === 0) return true;
      if (away > 0) {
        from = at + 1;
        if (at + away < to) to = at + away;
      } else {
        to = at - 1;
        if (at + away > from) from = at + away;
      }
      at = (from + to) >> 1;
    }
    return false;
  }

  /** Remembers another block: the next one, if it is that, without a search. False when it has no TIDs. */
  private turnTo(block: number): boolean {
    const wanted = block >>> 0;
    if (wanted !== block) return false;
    const { blocks, length } = this;
    let first = this.last + 1;
    if (first === length || blocks[first] !== wanted) first = this.firstFrom(wanted, 0, length);
    if (first === length || blocks[first] !== wanted) return false;
    this.block = wanted;
    this.first = first;
    this.firstOffset = this.offsets[first];
    this.last = this.firstFrom(wanted + 1, first + 1, Math.min(length, first + this.maxOffset)) - 1;
    return true;
  }

  /** The first index from `from` on, below `end`, of a TID whose block is `block` or above; else `end`. */
  private firstFrom(block: number, from: number, end: number): number {
    const { blocks } = this;
    let low = from;
    let high = end;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (blocks[middle] < block) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
