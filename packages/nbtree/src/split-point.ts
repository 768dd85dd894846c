// Where a page is split: of all points between two of its items, the new one thought among them, the one that leaves equal
// space on both sides (or a page almost full, where keys rise), and near it the one whose key is shortest. The choice is
// PostgreSQL's in every case, order of equal candidates included. PostgreSQL: nbtsplitloc.c.
import { type OffsetNumber, StorageError } from '@blockwright/base';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { itemPosition, linePointer, type PageMemory, pageExactFreeSpace, pageMaxOffset } from '@blockwright/page';
import {
  type IndexTupleFormat,
  indexTupleBlock,
  indexTupleOffset,
  indexTupleSize,
  type TupleMemory,
} from '@blockwright/tuple';
import { btIsLeaf, btIsRightmost, firstDataKey, SIZE_OF_BTREE_SPECIAL } from './page.ts';
import { sortSplits } from './split-sort.ts';
import { isPosting, postingOffset } from './tuples.ts';

const LINE_POINTER_BYTES = 4;
/** What a tuple of no attributes takes, line pointer included. */
const MINUS_INFINITY_BYTES = 8 + LINE_POINTER_BYTES;
const PIVOT_TID_BYTES = 8;
/** Longer ones than this may be posting lists whose TIDs are worth being counted. */
const LIKELY_POSTING_BYTES = 64;
/** The widest tuples that "split after the new item" is for: two int8. */
const GROUPED_BYTES = 8 + 16 + LINE_POINTER_BYTES;
/** PostgreSQL: `BTREE_NONLEAF_FILLFACTOR`, as a fraction. */
const INTERNAL_FILL = 0.7;
/** PostgreSQL: `BTREE_SINGLEVAL_FILLFACTOR`, as a fraction. */
const SINGLE_VALUE_FILL = 0.96;
const LEAF_SPLIT_DISTANCE = 0.05;
const INTERNAL_SPLIT_DISTANCE = 0.075;
/** New items so near to the right of a "many duplicates" split point keep the page from being split there. */
const JUST_RIGHT = 9;
const LARGEST = 0x7fff_ffff;

const DEFAULT = 0;
const MANY_DUPLICATES = 1;
const SINGLE_VALUE = 2;

/** Finds split points; one for pages of one size, used again. */
export class SplitPointFinder {
  /** The first item of the page that goes right; one beyond the last when only the new item does. */
  firstRight: OffsetNumber = 0;
  /** Which side the new item goes to: it stands before {@link firstRight} or after the point when both are one place. */
  newItemOnLeft = false;

  private readonly geometry: BlockGeometry;
  // Candidates, by number; `order` is the array that PostgreSQL sorts.
  private readonly order: Uint16Array;
  private readonly deltas: Int16Array;
  private readonly leftFrees: Int16Array;
  private readonly rightFrees: Int16Array;
  private readonly firstRights: Uint16Array;
  private readonly onLefts: Uint8Array;
  private count = 0;
  private interval = 0;
  private strategy = DEFAULT;

  // The page and the new item.
  private format!: IndexTupleFormat;
  private m!: PageMemory;
  private base = 0;
  private newM!: TupleMemory;
  private newPos = 0;
  private newOffset: OffsetNumber = 0;
  private newBytes = 0;
  private isLeaf = false;
  private isRightmost = false;
  private leftSpace = 0;
  private rightSpace = 0;
  private totalBytes = 0;
  private smallestFirstRight = LARGEST;

  constructor(geometry: BlockGeometry) {
    const most = geometry.maxOffsetNumber + 1;
    this.geometry = geometry;
    this.order = new Uint16Array(most);
    this.deltas = new Int16Array(most);
    this.leftFrees = new Int16Array(most);
    this.rightFrees = new Int16Array(most);
    this.firstRights = new Uint16Array(most);
    this.onLefts = new Uint8Array(most);
  }

  /**
   * Finds the point at which the page is split for a new item of `newLength` bytes, a multiple of 8, that is to stand at
   * `newOffset`: {@link firstRight} and {@link newItemOnLeft}. The page has not the room for it.
   * @param fillfactor of leaf pages, in percent
   * @throws StorageError XX002 when there is no such point, as on a page whose items overlap.
   */
  find(
    format: IndexTupleFormat,
    m: PageMemory,
    base: number,
    newM: TupleMemory,
    newPos: number,
    newLength: number,
    newOffset: OffsetNumber,
    fillfactor: number,
  ): void {
    this.begin(format, m, base, newM, newPos, newLength, newOffset);
    this.listCandidates();
    if (this.count === 0) throw new StorageError('XX002', 'there is no point at which the page can be split');
    const last = pageMaxOffset(m, base);
    let isWeighted = this.isRightmost;
    let fill = this.isLeaf ? fraction(fillfactor) : INTERNAL_FILL;
    if (this.isLeaf && !isWeighted) {
      const after = this.splitsAfterNew(last, fillfactor);
      if (after === AFTER_EXACTLY && this.takeAfterNew()) return;
      isWeighted = after === AFTER_FILL;
      if (!isWeighted) fill = 0.5;
    }
    this.sort(fill, isWeighted);
    this.interval = this.defaultInterval();
    const perfect = this.chooseStrategy();
    if (this.strategy === MANY_DUPLICATES) this.interval = this.count;
    else if (this.strategy === SINGLE_VALUE) {
      this.sort(SINGLE_VALUE_FILL, true);
      this.interval = 1;
    }
    this.takeBest(perfect);
  }

  private begin(
    format: IndexTupleFormat,
    m: PageMemory,
    base: number,
    newM: TupleMemory,
    newPos: number,
    newLength: number,
    newOffset: OffsetNumber,
  ): void {
    const { size } = this.geometry;
    this.format = format;
    this.m = m;
    this.base = base;
    this.newM = newM;
    this.newPos = newPos;
    this.newOffset = newOffset;
    this.newBytes = newLength + LINE_POINTER_BYTES;
    this.isLeaf = btIsLeaf(m, base, size);
    this.isRightmost = btIsRightmost(m, base, size);
    this.count = 0;
    this.smallestFirstRight = LARGEST;
    const space = size - SIZE_OF_PAGE_HEADER - SIZE_OF_BTREE_SPECIAL;
    this.leftSpace = space;
    this.rightSpace = this.isRightmost ? space : space - itemBytes(m, base, 1);
    this.totalBytes = this.rightSpace - pageExactFreeSpace(m, base);
  }

  private listCandidates(): void {
    const { m, base, newOffset } = this;
    const last = pageMaxOffset(m, base);
    let bytesLeft = 0;
    for (let o = firstDataKey(m, base, this.geometry.size); o <= last; o++) {
      const bytes = itemBytes(m, base, o);
      if (o <= newOffset) this.addCandidate(o, false, bytesLeft, bytes);
      if (o >= newOffset) this.addCandidate(o, true, bytesLeft, bytes);
      bytesLeft += bytes;
    }
    if (newOffset > last) this.addCandidate(newOffset, false, this.totalBytes, 0);
  }

  /** The point before item `o`, if both sides have room. PostgreSQL: `_bt_recsplitloc`. */
  private addCandidate(o: OffsetNumber, onLeft: boolean, bytesLeft: number, itemBytes: number): void {
    const { m, base, newBytes } = this;
    const newIsFirst = o === this.newOffset && !onLeft;
    const firstBytes = newIsFirst ? newBytes : itemBytes;
    let leftFree = this.leftSpace - bytesLeft;
    let rightFree = this.rightSpace - (this.totalBytes - bytesLeft);
    if (this.isLeaf) {
      let postingBytes = 0;
      if (!newIsFirst && firstBytes > LIKELY_POSTING_BYTES) {
        const pos = itemPosition(m, base, o);
        if (isPosting(m, pos)) postingBytes = indexTupleSize(m, pos) - postingOffset(m, pos);
      }
      leftFree -= firstBytes + PIVOT_TID_BYTES - postingBytes;
    } else {
      leftFree -= firstBytes;
      rightFree += firstBytes - MINUS_INFINITY_BYTES;
    }
    if (onLeft) leftFree -= newBytes;
    else rightFree -= newBytes;
    if (leftFree < 0 || rightFree < 0) return;
    const i = this.count++;
    if (firstBytes < this.smallestFirstRight) this.smallestFirstRight = firstBytes;
    this.order[i] = i;
    this.leftFrees[i] = leftFree;
    this.rightFrees[i] = rightFree;
    this.firstRights[i] = o;
    this.onLefts[i] = onLeft ? 1 : 0;
  }

  /** PostgreSQL: `_bt_deltasortsplits`. */
  private sort(fill: number, isWeighted: boolean): void {
    const { deltas, leftFrees, rightFrees, count } = this;
    for (let i = 0; i < count; i++) {
      const left = leftFrees[i];
      const right = rightFrees[i];
      const delta = isWeighted ? (fill * left - (1.0 - fill) * right) | 0 : left - right;
      deltas[i] = delta < 0 ? -delta : delta;
    }
    sortSplits(this.order, deltas, 0, count);
  }

  /** How many of the candidates, best ones first, share the space well enough. PostgreSQL: `_bt_defaultinterval`. */
  private defaultInterval(): number {
    const { order, leftFrees, rightFrees, count } = this;
    const tolerance = (this.totalBytes * (this.isLeaf ? LEAF_SPLIT_DISTANCE : INTERNAL_SPLIT_DISTANCE)) | 0;
    const left = leftFrees[order[0]];
    const right = rightFrees[order[0]];
    for (let i = 1; i < count; i++) {
      const leftFree = leftFrees[order[i]];
      const rightFree = rightFrees[order[i]];
      if (leftFree < left - tolerance || rightFree < right - tolerance) return i;
      if (leftFree > left + tolerance || rightFree > right + tolerance) return i;
    }
    return count;
  }

  /**
   * Whether the new item continues a group of rising keys in the middle of an index of several columns.
   * PostgreSQL: `_bt_afternewitemoff`.
   */
  private splitsAfterNew(last: OffsetNumber, fillfactor: number): number {
    const { m, base, newOffset, newBytes, format } = this;
    if (format.keyCount === 1 || newOffset === 2) return AFTER_NO;
    if (newBytes !== this.smallestFirstRight || newBytes > GROUPED_BYTES) return AFTER_NO;
    if (newBytes * (last - 1) !== this.totalBytes) return AFTER_NO;
    const isLast = newOffset > last;
    const before = itemPosition(m, base, isLast ? last : newOffset - 1);
    if (!isLast && (isPosting(m, before) || !this.isAdjacent(before))) return AFTER_NO;
    const differs = format.firstDifferentImage(m, before, this.newM, this.newPos, format.keyCount);
    if (differs <= 1 || differs > format.keyCount) return AFTER_NO;
    if (isLast) return AFTER_FILL;
    return newOffset * 100 > fillfactor * (last + 1) ? AFTER_FILL : AFTER_EXACTLY;
  }

  /** The row of the tuple at `pos` and the new one lie side by side in the table. PostgreSQL: `_bt_adjacenthtid`. */
  private isAdjacent(pos: number): boolean {
    const low = indexTupleBlock(this.m, pos);
    const high = indexTupleBlock(this.newM, this.newPos);
    return low === high || (low + 1 === high && indexTupleOffset(this.newM, this.newPos) === 1);
  }

  /** Takes the point right after the new item, if it is one of the candidates. */
  private takeAfterNew(): boolean {
    const { newOffset, firstRights, onLefts, count } = this;
    for (let i = 0; i < count; i++) {
      if (onLefts[i] === 0 || firstRights[i] !== newOffset) continue;
      this.firstRight = newOffset;
      this.newItemOnLeft = true;
      return true;
    }
    return false;
  }

  /**
   * What to do about duplicates around the best points. PostgreSQL: `_bt_strategy`.
   * @returns the penalty below which no other candidate needs to be looked at.
   */
  private chooseStrategy(): number {
    const { keyCount } = this.format;
    this.strategy = DEFAULT;
    if (!this.isLeaf) return this.smallestFirstRight;
    const best = this.edge(false);
    let perfect = this.difference(best, this.edge(true));
    if (perfect <= keyCount) return perfect;
    perfect = this.difference(0, this.count - 1); // by number they stand from left to right
    if (perfect <= keyCount) {
      this.strategy = MANY_DUPLICATES;
      return keyCount;
    }
    if (this.isRightmost) this.strategy = SINGLE_VALUE;
    else {
      const highKey = itemPosition(this.m, this.base, 1);
      perfect = this.format.firstDifferentImage(this.m, highKey, this.newM, this.newPos, keyCount);
      if (perfect <= keyCount) this.strategy = SINGLE_VALUE;
    }
    return perfect;
  }

  /** The leftmost or rightmost candidate of the interval, nearly. PostgreSQL: `_bt_interval_edges`. */
  private edge(right: boolean): number {
    const { order, firstRights, onLefts } = this;
    const best = order[0];
    const high = this.interval < this.count ? this.interval : this.count;
    for (let i = high - 1; i > 0; i--) {
      const other = order[i];
      // By number they stand from left to right, but for the two at the new item's place, which do so, too.
      const distance = firstRights[other] - firstRights[best] || onLefts[other] - onLefts[best];
      if (right ? distance > 0 : distance < 0) return other;
    }
    return best;
  }

  /** Which attribute tells the last item left of candidate `left` from the first one right of `right`. */
  private difference(left: number, right: number): number {
    const { m, base, newM, newPos, newOffset, firstRights, onLefts, format } = this;
    const leftIsNew = onLefts[left] === 1 && firstRights[left] === newOffset;
    const rightIsNew = onLefts[right] === 0 && firstRights[right] === newOffset;
    const leftPos = leftIsNew ? newPos : itemPosition(m, base, firstRights[left] - 1);
    const rightPos = rightIsNew ? newPos : itemPosition(m, base, firstRights[right]);
    return format.firstDifferentImage(leftIsNew ? newM : m, leftPos, rightIsNew ? newM : m, rightPos, format.keyCount);
  }

  /** PostgreSQL: `_bt_split_penalty`. */
  private penalty(i: number): number {
    if (this.isLeaf) return this.difference(i, i);
    const o = this.firstRights[i];
    return this.onLefts[i] === 0 && o === this.newOffset ? this.newBytes : itemBytes(this.m, this.base, o);
  }

  /** PostgreSQL: `_bt_bestsplitloc`. */
  private takeBest(perfect: number): void {
    const { order, firstRights, onLefts, newOffset } = this;
    const high = this.interval < this.count ? this.interval : this.count;
    let least = LARGEST;
    let best = 0;
    for (let i = 0; i < high; i++) {
      const penalty = this.penalty(order[i]);
      if (penalty < least) {
        least = penalty;
        best = i;
      }
      if (penalty <= perfect) break;
    }
    let taken = order[best];
    const distance = firstRights[taken] - newOffset;
    const isJustLeft = onLefts[taken] === 0 && distance >= 0 && distance < JUST_RIGHT;
    // Keys that fall to the right of many duplicates would split the page at the same point again and again.
    if (this.strategy === MANY_DUPLICATES && !this.isRightmost && isJustLeft) taken = order[0];
    this.firstRight = firstRights[taken];
    this.newItemOnLeft = onLefts[taken] === 1;
  }
}

const AFTER_NO = 0;
/** The fillfactor decides. */
const AFTER_FILL = 1;
/** Right after the new item. */
const AFTER_EXACTLY = 2;

/** Bytes of an item with its line pointer. */
function itemBytes(m: PageMemory, base: number, o: OffsetNumber): number {
  return (((linePointer(m, base, o) >>> 17) + 7) & ~7) + LINE_POINTER_BYTES;
}

/** `percent` / 100, rounded as a division rounds it: the decimal's nearest number. */
function fraction(percent: number): number {
  return Number(`${percent}e-2`);
}
