// The items of one page of a B-tree: each by itself, their order, the high key, the order against the page to the left; of
// a leaf's entries, what they lead to. PostgreSQL: bt_target_page_check, verify_nbtree.c.
import { type BlockNumber, isStorageError, type OffsetNumber } from '@blockwright/base';
import {
  btIncompleteSplit,
  btIsLeaf,
  btNext,
  firstDataKey,
  isPosting,
  nthTidAt,
  postingCount,
  tidBlock,
  tidOffset,
} from '@blockwright/nbtree';
import {
  itemPosition,
  LP_DEAD,
  LP_NORMAL,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  pageLower,
  pageMaxOffset,
  pageUpper,
} from '@blockwright/page';
import { type IndexTupleFormat, indexTupleSize, type TupleMemory, tupleMemory } from '@blockwright/tuple';
import { type Downlinks, NO_KEY, UNKNOWN_KEY } from './btree-downlinks.ts';
import type { BtreePages } from './btree-pages.ts';
import type { BtreeReport } from './btree-report.ts';
import { BtreeTuples, compareTuples } from './btree-tuples.ts';
import type { UniqueKeys } from './btree-unique.ts';
import type { HeapRows } from './heap-rows.ts';

/** Room for a tuple that is kept while the next page is looked at. */
const TUPLE_BYTES = 0x2000;
const LONGEST = 0x1fff;
const SPECIAL_BYTES = 16;

export interface BtreePageOptions {
  readonly pages: BtreePages;
  readonly report: BtreeReport;
  /** How the tuples compare; without it order is not checked. */
  readonly format: IndexTupleFormat | undefined;
  /** What the entries lead to. */
  readonly rows: HeapRows | undefined;
  /** Of a unique index whose rows are known. */
  readonly unique: UniqueKeys | undefined;
}

/** Checks pages, level by level and from left to right. */
export class BtreePageCheck {
  readonly pages: BtreePages;
  readonly report: BtreeReport;
  readonly tuples: BtreeTuples;
  /** Leaf entries, TIDs of posting lists counted one by one. */
  entries = 0;
  /** Tuples of all levels, pivots included. */
  indexTuples = 0;
  private readonly format: IndexTupleFormat | undefined;
  private readonly rows: HeapRows | undefined;
  private readonly unique: UniqueKeys | undefined;
  /** High key of the page to the left. */
  private readonly leftKey: TupleMemory = tupleMemory(new Uint8Array(TUPLE_BYTES));
  private leftBlock = -1;

  constructor({ pages, report, format, rows, unique }: BtreePageOptions) {
    this.pages = pages;
    this.report = report;
    this.format = format;
    this.rows = rows;
    this.unique = unique;
    this.tuples = new BtreeTuples(pages.geometry, format, report);
  }

  /** What comes next has nothing to its left. */
  beginLevel(): void {
    this.leftBlock = -1;
    this.unique?.begin();
  }

  /** Offset of the loaded page's first item that is no high key; 0 when there is no item there. */
  firstItem(): OffsetNumber {
    const { memory: m, base, geometry } = this.pages;
    const first = firstDataKey(m, base, geometry.size);
    return first <= pageMaxOffset(m, base) && this.hasItem(first) && (first === 1 || this.hasItem(1)) ? first : 0;
  }

  /**
   * Checks the loaded page, which is neither half-dead nor deleted.
   * @param endKey what its high key must be: a key of `above`, NO_KEY or UNKNOWN_KEY
   * @returns whether all its items can be believed
   */
  check(block: BlockNumber, endKey: number, above: Downlinks | undefined): boolean {
    const { report } = this;
    const { memory: m, base, geometry } = this.pages;
    const isLeaf = btIsLeaf(m, base, geometry.size);
    const isRightmost = btNext(m, base, geometry.size) === 0;
    const first = firstDataKey(m, base, geometry.size);
    const last = pageMaxOffset(m, base);
    if (isRightmost && btIncompleteSplit(m, base, geometry.size)) {
      report.error('page.incomplete_split', block, 0, 'the split of a rightmost page is called incomplete');
    }
    if (last < (isLeaf ? first - 1 : first)) {
      const what = last < first - 1 ? 'high key' : 'downlinks';
      report.error(`page.no_${what.replace(' ', '_')}`, block, 0, `the page has ${last} items, and so no ${what}`);
      this.leftBlock = -1;
      return false;
    }
    const isSound = this.checkItems(block, first, last, isLeaf);
    if (isSound) this.orRefused(block, () => this.checkOrder(block, first, last, isLeaf));
    if (first === 1 || this.hasItem(1)) this.checkHighKey(block, first, endKey, above);
    if (isLeaf) this.followEntries(block, first, last);
    this.keepHighKey(block, isSound && first === 2);
    return isSound;
  }

  private hasItem(offset: OffsetNumber): boolean {
    const { memory: m, base, geometry } = this.pages;
    const lp = linePointer(m, base, offset);
    const at = lpOffset(lp);
    const flags = lpFlags(lp);
    const end = geometry.size - SPECIAL_BYTES;
    if ((flags !== LP_NORMAL && flags !== LP_DEAD) || (at & 7) !== 0 || lpLength(lp) < 8) return false;
    return at >= pageUpper(m, base) && at + lpLength(lp) <= end && pageLower(m, base) <= at;
  }

  private checkItems(block: BlockNumber, first: OffsetNumber, last: OffsetNumber, isLeaf: boolean): boolean {
    const { memory: m, base } = this.pages;
    let isSound = true;
    for (let o = 1; o <= last; o++) {
      const lp = linePointer(m, base, o);
      const isEntry = isLeaf && o >= first;
      if (!this.hasItem(o) || (lpFlags(lp) === LP_DEAD && !isEntry)) {
        const message = `line pointer ${o} (flags ${lpFlags(lp)}, ${lpLength(lp)} bytes at ${lpOffset(lp)}) has no tuple of an index`;
        this.report.error('line_pointer.no_tuple', block, o, message);
        isSound = false;
        continue;
      }
      this.indexTuples++;
      const pos = base + lpOffset(lp);
      if (!this.tuples.check(m, pos, lpLength(lp), block, o, isEntry, !isLeaf && o === first)) isSound = false;
    }
    return isSound;
  }

  /** Order of the items, the high key after them, the left page's high key before them. */
  private checkOrder(block: BlockNumber, first: OffsetNumber, last: OffsetNumber, isLeaf: boolean): void {
    const { format, report } = this;
    if (format === undefined) return;
    const { memory: m, base } = this.pages;
    // The first item above the leaves stands for the left page's high key.
    const from = isLeaf ? first : first + 1;
    const highKey = first === 2 ? itemPosition(m, base, 1) : -1;
    if (this.leftBlock >= 0 && from <= last) {
      if (compareTuples(format, this.leftKey, 0, false, m, itemPosition(m, base, from)) >= 0) {
        const message = `cross page item order invariant violated: the item is not above the high key of block ${this.leftBlock}`;
        report.error('order.across_pages', block, from, message);
      }
    }
    for (let o = from; o < last; o++) {
      const a = itemPosition(m, base, o);
      if (compareTuples(format, m, a, true, m, itemPosition(m, base, o + 1)) >= 0) {
        report.error(
          'order.within_page',
          block,
          o,
          `item order invariant violated: item ${o} is not below item ${o + 1}`,
        );
      }
    }
    if (highKey < 0 || from > last) return;
    const order = compareTuples(format, m, itemPosition(m, base, last), true, m, highKey);
    if (order > 0 || (order === 0 && !isLeaf)) {
      report.error('order.high_key', block, last, 'high key invariant violated: the last item is above the high key');
    }
    // The others can only be above the high key when they are out of order, which is said.
  }

  /** Whether the high key is what the level above says. */
  private checkHighKey(block: BlockNumber, first: OffsetNumber, endKey: number, above: Downlinks | undefined): void {
    const { memory: m, base } = this.pages;
    if (endKey === UNKNOWN_KEY || above === undefined) return;
    if (endKey === NO_KEY) {
      if (first === 1) return;
      this.report.error(
        'downlink.high_key',
        block,
        1,
        'the page has a high key, and its downlink is the last of the level above',
      );
      return;
    }
    if (first === 1) {
      this.report.error(
        'downlink.high_key',
        block,
        0,
        'the page has no high key, and its downlink is not the last of the level above',
      );
      return;
    }
    if (above.isKey(endKey, m, itemPosition(m, base, 1))) return;
    const message = 'mismatch between parent key and child high key: the separator above is another one';
    this.report.error('downlink.high_key', block, 1, message);
  }

  private keepHighKey(block: BlockNumber, hasKey: boolean): void {
    this.leftBlock = -1;
    if (!hasKey) return;
    const { memory: m, base } = this.pages;
    const pos = itemPosition(m, base, 1);
    const size = indexTupleSize(m, pos);
    if (size > LONGEST) return;
    const { u8 } = this.leftKey;
    for (let i = 0; i < size; i++) u8[i] = m.u8[pos + i];
    this.leftBlock = block;
  }

  /** What each entry of the leaf leads to. */
  private followEntries(block: BlockNumber, first: OffsetNumber, last: OffsetNumber): void {
    const { rows, unique, format } = this;
    const { memory: m, base } = this.pages;
    for (let o = first; o <= last; o++) {
      // A dead entry stands for nothing: no search gives it.
      if (!this.hasItem(o) || lpFlags(linePointer(m, base, o)) === LP_DEAD) continue;
      const pos = itemPosition(m, base, o);
      if (indexTupleSize(m, pos) !== lpLength(linePointer(m, base, o))) continue;
      if (unique !== undefined && format !== undefined) this.orRefused(block, () => unique.beginTuple(m, pos));
      if (!isPosting(m, pos)) {
        this.entries++;
        this.follow(pos, pos, block, o, rows);
        continue;
      }
      const count = postingCount(m, pos);
      const from = nthTidAt(m, pos, 0);
      if ((from & 1) !== 0 || nthTidAt(m, pos, count) > pos + indexTupleSize(m, pos)) continue;
      this.entries += count;
      for (let n = 0; n < count; n++) this.follow(nthTidAt(m, pos, n), pos, block, o, rows);
    }
  }

  private follow(tid: number, pos: number, block: BlockNumber, offset: OffsetNumber, rows: HeapRows | undefined): void {
    if (rows === undefined) return;
    const { memory: m } = this.pages;
    const isVisible = rows.entry(tidBlock(m, tid), tidOffset(m, tid), m, pos, block, offset);
    if (isVisible) this.unique?.row(tidBlock(m, tid), tidOffset(m, tid), block, offset);
  }

  /** A value whose bytes cannot be read is a finding about the page. */
  private orRefused(block: BlockNumber, compare: () => void): void {
    try {
      compare();
    } catch (error) {
      if (!isStorageError(error)) throw error;
      this.report.error('tuple.undecodable', block, 0, `a value of the page cannot be compared: ${error.message}`);
    }
  }
}
