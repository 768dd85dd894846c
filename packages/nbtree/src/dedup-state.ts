// The tuples of one key, gathered until they become one with a posting list. PostgreSQL: `BTDedupState`, nbtree.h.
import type { OffsetNumber } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { indexTupleSize, type TupleMemory } from '@blockwright/tuple';
import { isPosting, postingCount, postingOffset } from './tuples.ts';

const TID_WORDS = 3;
const TID_BYTES = 6;
const PIVOT_TID_BYTES = 8;
/** Posting lists of fewer TIDs do not count as large ones. */
const LARGE_LIST_TIDS = 50;

/** A third of a page's room in bytes, and half of that: no posting list that is made is longer. */
export function maxPostingSize(g: BlockGeometry): number {
  return postingLimit(g) >>> 1;
}

/** PostgreSQL: `BTMaxItemSize`, which is not cut down at 32 kB for a posting list. */
function postingLimit(g: BlockGeometry): number {
  // A third of 2^k - 56: a third of 2^k has the bits 0101…; 56 takes 19 from it, 18 where k is odd; what is left of a
  // third is lost in the alignment.
  const third = (0x5555_5555 >>> (32 - g.shift)) - 19 + (g.shift & 1);
  return (third & ~7) - PIVOT_TID_BYTES;
}

/** The tuples of one key, one after another, until they are put down as one. PostgreSQL: `BTDedupStateData`. */
export class DedupState {
  /** Longest tuple that may be made. */
  maxPostingSize = 0;
  /** Posting lists that could not take more TIDs, and have many. */
  largeLists = 0;
  /** The first tuple of the pending ones: its memory must stay until {@link finish}. */
  baseMemory!: TupleMemory;
  basePos = 0;
  baseOffset: OffsetNumber = 0;
  /** Bytes of the base tuple without TIDs. */
  keySize = 0;
  /** The TIDs of the pending tuples, 3 words each as on disk. */
  tids: Uint16Array;
  tidCount = 0;
  /** Pending tuples; 0 when nothing is pending. */
  itemCount = 0;
  /** Offset number of the base tuple and number of tuples, of each posting list made. */
  readonly intervals: Uint16Array;
  intervalCount = 0;

  /** @param g of the pages */
  constructor(g: BlockGeometry) {
    this.tids = new Uint16Array(g.size >>> 1);
    this.intervals = new Uint16Array((g.maxOffsetNumber + 1) << 1);
  }

  /** Begins a pass, or a build. */
  begin(mostBytes: number): void {
    this.maxPostingSize = mostBytes;
    this.largeLists = 0;
    this.tidCount = 0;
    this.itemCount = 0;
    this.intervalCount = 0;
  }

  /** The tuple at `pos` is the first of a new key. Nothing is pending. PostgreSQL: `_bt_dedup_start_pending`. */
  start(m: TupleMemory, pos: number, offset: OffsetNumber): void {
    const posting = isPosting(m, pos);
    this.keySize = posting ? postingOffset(m, pos) : indexTupleSize(m, pos);
    this.tidCount = 0;
    this.appendTids(m, pos, posting);
    this.itemCount = 1;
    this.baseMemory = m;
    this.basePos = pos;
    this.baseOffset = offset;
    this.intervals[this.intervalCount << 1] = offset;
  }

  /**
   * Adds the TIDs of the tuple at `pos`, of the same key.
   * @returns false when that would make the tuple too long: it is still pending. PostgreSQL: `_bt_dedup_save_htid`.
   */
  save(m: TupleMemory, pos: number): boolean {
    const posting = isPosting(m, pos);
    const count = posting ? postingCount(m, pos) : 1;
    if (((this.keySize + (this.tidCount + count) * TID_BYTES + 7) & ~7) > this.maxPostingSize) {
      if (this.tidCount > LARGE_LIST_TIDS) this.largeLists++;
      return false;
    }
    this.appendTids(m, pos, posting);
    this.itemCount++;
    return true;
  }

  /** The pending tuples make an interval: what they became was put down. */
  closeInterval(): void {
    this.intervals[(this.intervalCount << 1) + 1] = this.itemCount;
    this.intervalCount++;
  }

  /** Nothing is pending any more. */
  reset(): void {
    this.tidCount = 0;
    this.itemCount = 0;
  }

  private appendTids(m: TupleMemory, pos: number, posting: boolean): void {
    const source = m.u16;
    const { tids } = this;
    const count = posting ? postingCount(m, pos) : 1;
    let from = (posting ? pos + postingOffset(m, pos) : pos) >>> 1;
    let to = this.tidCount * TID_WORDS;
    const end = to + count * TID_WORDS;
    while (to < end) tids[to++] = source[from++];
    this.tidCount += count;
  }
}
