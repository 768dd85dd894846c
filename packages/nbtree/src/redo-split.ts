// Redo of splits: the right page is made anew from the record, the left one from itself, the new tuple and the new high
// key. PostgreSQL: `btree_xlog_split`, nbtxlog.c.
import {
  cannotRedo,
  needData,
  REDO_MISSING,
  REDO_NEEDED,
  redoBlock,
  redoBlockIfAny,
  refusedBy,
} from '@blockwright/access';
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import { linePointer, lpLength, type PageMemory, pageAddItem, pageInit, pageMaxOffset } from '@blockwright/page';
import type { WalRecord } from '@blockwright/wal';
import {
  BTP_INCOMPLETE_SPLIT,
  BTP_LEAF,
  btInitPage,
  firstDataKey,
  P_NONE,
  SIZE_OF_BTREE_SPECIAL,
  setBtCycleId,
  setBtFlags,
  setBtLevel,
  setBtNext,
  setBtPrev,
} from './page.ts';
import { swapPosting } from './posting.ts';
import {
  SPLIT_BLOCK_CHILD,
  SPLIT_BLOCK_LEFT,
  SPLIT_BLOCK_NEXT,
  SPLIT_BLOCK_RIGHT,
  SPLIT_BYTES,
} from './record-format.ts';
import type { RedoPart } from './redo.ts';
import { needBtreePage, needPosting, redoPosition, redoTupleLength, restoreTuples } from './redo-page.ts';

/** Replays SPLIT_L and SPLIT_R. */
export class SplitRedo {
  private readonly part: RedoPart;
  /** Bytes of the posting list that a TID was put into, in the part's `list`. */
  private listLength = 0;

  constructor(part: RedoPart) {
    this.part = part;
  }

  redo(record: WalRecord, isNewOnLeft: boolean): void {
    const { part } = this;
    needData(record, SPLIT_BYTES);
    const level = record.u32(record.dataAt);
    const leftIndex = redoBlock(record, SPLIT_BLOCK_LEFT);
    const rightIndex = redoBlock(record, SPLIT_BLOCK_RIGHT);
    const nextIndex = redoBlockIfAny(record, SPLIT_BLOCK_NEXT);
    const childIndex = level === 0 ? -1 : redoBlock(record, SPLIT_BLOCK_CHILD);
    if (childIndex >= 0) part.completeSplit(record, childIndex);
    const next = nextIndex < 0 ? P_NONE : record.block[nextIndex];
    this.right(record, rightIndex, record.block[leftIndex], next, level);
    this.left(record, leftIndex, record.block[rightIndex], level, isNewOnLeft);
    if (nextIndex >= 0) this.next(record, nextIndex, record.block[rightIndex]);
  }

  private right(record: WalRecord, index: number, left: BlockNumber, next: BlockNumber, level: number): void {
    const { pages } = this.part;
    const g = pages.pool.geometry;
    const found = pages.init(record, index);
    const { buffer } = pages;
    if (found === REDO_NEEDED) {
      const { memory: m, base } = pages;
      btInitPage(m, base, g);
      setBtPrev(m, base, g.size, left);
      setBtNext(m, base, g.size, next);
      setBtLevel(m, base, g.size, level);
      setBtFlags(m, base, g.size, level === 0 ? BTP_LEAF : 0);
      restoreTuples(m, base, pages, record, index);
      pages.changed(buffer, record);
    }
    pages.release(buffer);
  }

  private left(record: WalRecord, index: number, right: BlockNumber, level: number, isNewOnLeft: boolean): void {
    const { pages, page } = this.part;
    const { size } = pages.pool.geometry;
    const found = pages.fetch(record, index);
    if (found === REDO_MISSING) return;
    const { buffer, memory: m, base } = pages;
    if (found === REDO_NEEDED) {
      this.fillLeft(record, index, m, base, isNewOnLeft);
      m.u8.set(page.u8, base);
      setBtFlags(m, base, size, level === 0 ? BTP_INCOMPLETE_SPLIT | BTP_LEAF : BTP_INCOMPLETE_SPLIT);
      setBtNext(m, base, size, right);
      setBtCycleId(m, base, size, 0);
      pages.changed(buffer, record);
    }
    pages.release(buffer);
  }

  /** Makes the left page aside, its tuples in the order that they had: as the split itself does. */
  private fillLeft(record: WalRecord, index: number, m: PageMemory, base: number, isNewOnLeft: boolean): void {
    const { pages, page, tuple } = this.part;
    const g = pages.pool.geometry;
    const { dataAt } = record;
    const firstRight = record.u16(dataAt + 4);
    const newOffset = record.u16(dataAt + 6);
    const place = record.u16(dataAt + 8);
    needBtreePage(m, base, g, record, index);
    const first = firstDataKey(m, base, g.size);
    const end = pageMaxOffset(m, base) + 1;
    if (firstRight < first || firstRight > end || newOffset < first || newOffset > end) {
      throw cannotRedo(record, index, `it has offsets ${first} to ${end - 1}, and not ${firstRight} and ${newOffset}`);
    }
    if (isNewOnLeft && newOffset > firstRight) {
      throw cannotRedo(record, index, `the tuple at offset ${newOffset} is to stay left of offset ${firstRight}`);
    }
    let at = record.blockDataAt[index];
    let newLength = 0;
    let replaced: OffsetNumber = 0;
    if (isNewOnLeft || place !== 0) {
      newLength = redoTupleLength(record, index, at);
      tuple.u8.set(record.bytes.subarray(at, at + newLength));
      at += newLength;
    }
    if (place !== 0) {
      replaced = newOffset - 1;
      this.swap(record, index, m, redoPosition(m, base, replaced, record, index), place);
    }
    const highKey = at;
    const highKeyLength = redoTupleLength(record, index, at);
    pageInit(page, 0, g, SIZE_OF_BTREE_SPECIAL);
    page.u8.set(m.u8.subarray(base + g.size - SIZE_OF_BTREE_SPECIAL, base + g.size), g.size - SIZE_OF_BTREE_SPECIAL);
    const add = (bytes: Uint8Array, from: number, length: number): void => {
      if (pageAddItem(page, 0, g, bytes, from, length, pageMaxOffset(page, 0) + 1) !== 0) return;
      throw cannotRedo(record, index, 'there is no room for the tuples that are to stay on it');
    };
    add(record.bytes, highKey, highKeyLength);
    for (let o = first; o < firstRight; o++) {
      if (o === replaced) {
        add(this.part.list.u8, 0, this.listLength);
        continue;
      }
      if (isNewOnLeft && o === newOffset) add(tuple.u8, 0, newLength);
      const pos = redoPosition(m, base, o, record, index);
      add(m.u8, pos, lpLength(linePointer(m, base, o)));
    }
    if (isNewOnLeft && newOffset === firstRight) add(tuple.u8, 0, newLength);
  }

  /** Puts the new tuple's TID into the posting list at `posting`; the tuple gets the list's highest one. */
  private swap(record: WalRecord, index: number, m: PageMemory, posting: number, place: number): void {
    needPosting(m, posting, record, index);
    const { tuple, list } = this.part;
    try {
      this.listLength = swapPosting(tuple, 0, m, posting, place, list, 0);
    } catch (error) {
      throw refusedBy(error, record, index);
    }
  }

  private next(record: WalRecord, index: number, right: BlockNumber): void {
    const { pages } = this.part;
    const g = pages.pool.geometry;
    const found = pages.fetch(record, index);
    if (found === REDO_MISSING) return;
    const { buffer, memory: m, base } = pages;
    if (found === REDO_NEEDED) {
      needBtreePage(m, base, g, record, index);
      setBtPrev(m, base, g.size, right);
      pages.changed(buffer, record);
    }
    pages.release(buffer);
  }
}
