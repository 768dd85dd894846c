// A scan of a part of an index, in its order or against it, one leaf page at a time. What a page has is copied at once, so
// nothing is pinned between two pages, and the index may change meanwhile: entries that were there all the time are given
// once each. PostgreSQL: `_bt_first`, `_bt_next`, `_bt_readpage`, nbtsearch.c; `_bt_killitems`, nbtutils.c.
import { type BlockNumber, type BufferId, checkOptions, fromWords, type OffsetNumber } from '@blockwright/base';
import { type PageMemory, pageMaxOffset } from '@blockwright/page';
import type { BtreeIndex } from './btree.ts';
import { corrupted } from './errors.ts';
import { markKilled } from './kill-items.ts';
import { btIsRightmost, btNext, btPrev, firstDataKey } from './page.ts';
import { isBeyondPage, positionFrom, positionOf, ScanBoundary, type SearchBound } from './scan-boundary.ts';
import { collectItems, copyTuples, giveItems, type PageItems, takeItems } from './scan-items.ts';
import { ReadAhead } from './scan-read-ahead.ts';
import { DescentStack, descend, descendToEnd } from './search.ts';
import { pinLeftOf, pinRightOf } from './siblings.ts';

/** The part of an index that a scan gives. Bounds' memory must stay as it is as long as the scan lives. */
export interface ScanRange {
  /** Where it begins in the index's own order; at its beginning when not given. */
  readonly from?: SearchBound | undefined;
  /** Where it ends in that order; at its end when not given. */
  readonly to?: SearchBound | undefined;
  /** The keys that begin with one of these, in the index's order, each once; not beside `from` and `to`. */
  readonly in?: readonly SearchBound[] | undefined;
  /** Gives the same from its end to its beginning. */
  readonly backward?: boolean | undefined;
}

export interface ScanOptions extends ScanRange {
  /** false: only TIDs are wanted. `memory`, `positions` and `lengths` are not filled then. */
  readonly tuples?: boolean | undefined;
}

const OPTIONS = ['from', 'to', 'in', 'backward', 'tuples'];

/** The next page is found from the root, */
const DESCEND = 0;
/** beside the last one, */
const FOLLOW = 1;
/** or there is none. */
const END = 2;

/** Of one descent at a time: a scan does not need to know its way. */
const stack: DescentStack = new DescentStack();

const NO_ITEMS = { blocks: new Uint32Array(0), offsets: new Uint16Array(0), numbers: new Int32Array(0) };

/**
 * Gives the entries of a range. Whoever changes the index or lets others do so between two pages holds a snapshot older than
 * the scan: by it, no page that the scan may still come to is used for something else.
 */
export class BtreeScan implements Disposable {
  /** Leaf pages that gave entries so far. */
  pages = 0;
  private readonly index: BtreeIndex;
  private readonly backward: boolean;
  private readonly withTuples: boolean;
  private readonly points: readonly SearchBound[] | undefined;
  private readonly readAhead: ReadAhead;
  private readonly lower: ScanBoundary;
  private readonly upper: ScanBoundary;
  /** Entry of `points` whose keys are being given. */
  private point = 0;
  private state = DESCEND;
  /** The page that was read last, and its link in the scan's direction as it was then. */
  private block: BlockNumber = 0;
  private link: BlockNumber = 0;
  private count = 0;
  private items: PageItems | undefined;
  private killed: number[] = [];

  /**
   * @throws TypeError for an unknown option, or `in` beside `from` or `to`; RangeError for a bound of more attributes than
   *   the index has key columns, or of none, and when those of `in` do not rise.
   */
  constructor(index: BtreeIndex, options: ScanOptions = {}) {
    checkOptions('BtreeScan', options, OPTIONS);
    const { from, to, in: points, backward = false, tuples = true } = options;
    if (points !== undefined && (from !== undefined || to !== undefined)) {
      throw new TypeError('a scan takes "in", or "from" and "to", not both');
    }
    for (const bound of points ?? [from, to]) if (bound !== undefined) checkBound(index, bound);
    if (points !== undefined) checkRising(index, points);
    this.index = index;
    this.backward = backward;
    this.withTuples = tuples;
    this.points = points;
    this.readAhead = new ReadAhead(index, backward);
    this.lower = new ScanBoundary(false, false);
    this.upper = new ScanBoundary(true, backward);
    this.items = takeItems(index.geometry);
    if (points === undefined) {
      this.lower.set(from);
      this.upper.set(to);
    } else if (points.length > 0) this.setPoint(backward ? points.length - 1 : 0);
    else this.state = END;
  }

  /** Blocks of the page's TIDs, in scan order. As long as a page can have TIDs; good until the next page, or the end. */
  get blocks(): Uint32Array {
    return this.items?.blocks ?? NO_ITEMS.blocks;
  }

  get offsets(): Uint16Array {
    return this.items?.offsets ?? NO_ITEMS.offsets;
  }

  /** Copies of the tuples: that of entry i begins at byte `positions[i]` and is `lengths[i]` long, a posting list's TIDs included. */
  get memory(): PageMemory {
    if (this.items === undefined) throw new TypeError('the scan is closed');
    return this.items.memory;
  }

  get positions(): Int32Array {
    return this.items?.positions ?? NO_ITEMS.numbers;
  }

  get lengths(): Int32Array {
    return this.items?.lengths ?? NO_ITEMS.numbers;
  }

  /**
   * Reads the next leaf page that has entries of the range. Nothing stays pinned.
   * @returns how many it has; 0 at the end, and after {@link close}
   * @throws StorageError XX002 when the index is damaged; what reading a page throws. The scan can then only be closed.
   */
  nextPage(): number {
    const { items } = this;
    this.killed.length = 0;
    this.count = 0;
    while (this.state !== END && items !== undefined) {
      const found = this.readNext(items);
      if (found === 0) continue;
      this.pages++;
      this.count = found;
      return found;
    }
    return 0;
  }

  /**
   * The row of entry `i` of the page is dead to everybody. For {@link flushKilled}, in the same step of the program: later,
   * the TID may be that of another row.
   */
  kill(i: number): void {
    if (!(i >= 0 && i < this.count))
      throw new RangeError(`the page has ${this.count} entries, and none with number ${i}`);
    this.killed.push(i);
  }

  /** Marks the entries that were killed, so that searches pass over them, and inserts take them away. It is a hint. */
  flushKilled(): void {
    const { killed, items, index } = this;
    if (killed.length === 0 || items === undefined) return;
    const tids = new Set<number>();
    for (const i of killed) tids.add(fromWords(items.offsets[i], items.blocks[i]));
    killed.length = 0;
    markKilled(index, this.block, tids);
  }

  /** Gives its memory back. Again is fine. */
  close(): void {
    const { items, index } = this;
    if (items !== undefined) giveItems(index.geometry, items);
    this.items = undefined;
    this.killed.length = 0;
    this.count = 0;
    this.state = END;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Reads one more page. @returns the entries that it has, 0 if none */
  private readNext(items: PageItems): number {
    const { index, backward } = this;
    const isFirst = this.state === DESCEND;
    // Whatever is thrown, no page is given twice: the scan is over then.
    this.state = END;
    const id = isFirst ? this.pinFirst() : this.pinNeighbour();
    if (id < 0) return 0;
    const { pool } = index;
    try {
      const m = pool.memory(id);
      const base = pool.base(id);
      this.block = pool.block(id);
      this.link = (backward ? btPrev : btNext)(m, base, index.geometry.size);
      const found = backward ? this.readDown(m, base, isFirst, items) : this.readUp(m, base, isFirst, items);
      if (this.withTuples && found > 0) copyTuples(m, base, items, 0, found);
      return found;
    } finally {
      pool.unpin(id);
    }
  }

  /** The page on which the range begins, from the scan's side. */
  private pinFirst(): BufferId {
    const { index, backward } = this;
    const boundary = backward ? this.upper : this.lower;
    this.readAhead.restart();
    return boundary.isOpen ? descendToEnd(index, backward) : descend(index, boundary.key, stack, false);
  }

  private pinNeighbour(): BufferId {
    const { index, block, link } = this;
    this.readAhead.before(block, link);
    return this.backward ? pinLeftOf(index, block, link) : pinRightOf(index, block, link);
  }

  /** Takes the entries of the range from a page, upward, and says in `state` where it goes on. */
  private readUp(m: PageMemory, base: number, isFirst: boolean, items: PageItems): number {
    const { index, block, lower, upper } = this;
    const { size } = index.geometry;
    const first = firstDataKey(m, base, size);
    const last = pageMaxOffset(m, base);
    const isRightmost = btIsRightmost(m, base, size);
    let start = isFirst && !lower.isOpen ? positionOf(index, lower, m, base, block) : first;
    for (let n = 0; ; ) {
      const goesOn = isBeyondPage(index, upper, m, base, block);
      const end = goesOn || upper.isOpen ? last + 1 : positionFrom(index, upper, m, base, block, start);
      n = this.collect(m, base, start, end - start, 1, items, n);
      if (goesOn) {
        this.state = FOLLOW;
        return n;
      }
      if (!this.nextPoint()) return n;
      // A point that is beyond the page is looked for from the root: it may be far.
      if (!isRightmost && isBeyondPage(index, lower, m, base, block)) {
        this.state = DESCEND;
        return n;
      }
      start = positionOf(index, lower, m, base, block);
    }
  }

  /** The same downward. */
  private readDown(m: PageMemory, base: number, isFirst: boolean, items: PageItems): number {
    const { index, block, lower, upper } = this;
    const { size } = index.geometry;
    const first = firstDataKey(m, base, size);
    let end = isFirst && !upper.isOpen ? positionOf(index, upper, m, base, block) : pageMaxOffset(m, base) + 1;
    for (let n = 0; ; ) {
      const start = lower.isOpen ? first : positionOf(index, lower, m, base, block);
      n = this.collect(m, base, end - 1, end - start, -1, items, n);
      if (start <= first) {
        // Keys that are equal to the first one may be to the left of it.
        this.state = FOLLOW;
        return n;
      }
      if (!this.nextPoint()) return n;
      end = positionOf(index, upper, m, base, block);
      if (end <= first) {
        this.state = DESCEND;
        return n;
      }
    }
  }

  private collect(
    m: PageMemory,
    base: number,
    first: OffsetNumber,
    count: number,
    step: number,
    items: PageItems,
    n: number,
  ): number {
    const found = collectItems(m, base, first, count, step, items, n);
    if (found >= 0) return found;
    throw corrupted(this.index.name, this.block, `item ${-found} is damaged`);
  }

  /** Goes on to the next point in scan order. @returns false when there is none */
  private nextPoint(): boolean {
    const { points, backward, point } = this;
    const next = backward ? point - 1 : point + 1;
    if (points === undefined || next < 0 || next >= points.length) return false;
    this.setPoint(next);
    return true;
  }

  private setPoint(i: number): void {
    const bound = (this.points as readonly SearchBound[])[i];
    this.point = i;
    this.lower.set(bound, true);
    this.upper.set(bound, true);
  }
}

function checkBound({ format, name }: BtreeIndex, { natts }: SearchBound): void {
  if (Number.isInteger(natts) && natts >= 1 && natts <= format.keyCount) return;
  throw new RangeError(`a bound of ${natts} attributes: index "${name}" has ${format.keyCount} key columns`);
}

function checkRising({ format, name }: BtreeIndex, points: readonly SearchBound[]): void {
  for (let i = 1; i < points.length; i++) {
    const a = points[i - 1];
    const b = points[i];
    const natts = a.natts < b.natts ? a.natts : b.natts;
    if (format.compare(a.memory, a.pos, b.memory, b.pos, natts) < 0) continue;
    throw new RangeError(`keys ${i - 1} and ${i} of "in" are not in the order of index "${name}", or are the same`);
  }
}
