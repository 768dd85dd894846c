// A page split: half of its items go to a new page on its right, and the new tuple is placed. The split is not complete
// before the parent has a downlink to the new page: until then the left page says so. PostgreSQL: `_bt_split`, nbtinsert.c.
import { PAGE_STANDARD, PAGE_WILL_INIT } from '@blockwright/access';
import { type BlockNumber, type BufferId, type OffsetNumber, StorageError } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import {
  copyPage,
  itemPosition,
  type PageMemory,
  pageAddItem,
  pageLsnHigh,
  pageLsnLow,
  pageMaxOffset,
  pageSetLsn,
  pageSpecial,
  pageUpper,
} from '@blockwright/page';
import { indexTupleSize, setIndexTupleInfo, setIndexTupleTid, type TupleMemory } from '@blockwright/tuple';
import { RM_BTREE } from '@blockwright/wal';
import type { BtreeIndex } from './btree.ts';
import { checkItems } from './check-items.ts';
import { vacuumCycleId } from './cycle-id.ts';
import { allocatePage } from './free-pages.ts';
import {
  BTP_HAS_GARBAGE,
  BTP_INCOMPLETE_SPLIT,
  BTP_ROOT,
  BTP_SPLIT_END,
  btCycleId,
  btFlags,
  btInitPage,
  btIsLeaf,
  btIsRightmost,
  btLevel,
  btNext,
  btPrev,
  firstDataKey,
  setBtCycleId,
  setBtFlags,
  setBtLevel,
  setBtNext,
  setBtPrev,
} from './page.ts';
import {
  SPLIT_BLOCK_CHILD,
  SPLIT_BLOCK_LEFT,
  SPLIT_BLOCK_NEXT,
  SPLIT_BLOCK_RIGHT,
  SPLIT_BYTES,
  XLOG_BTREE_SPLIT_L,
  XLOG_BTREE_SPLIT_R,
} from './record-format.ts';
import { truncatedPivot } from './truncate.ts';
import { downlink, setPivot } from './tuples.ts';
import { workspaceOf } from './workspace.ts';

/** Bytes of a tuple without attributes. */
const MINUS_INFINITY_BYTES = 8;

/** The tuple that a page is split for, and the page. */
export class SplitTask {
  index!: BtreeIndex;
  buffer: BufferId = -1;
  /** On internal pages the left page of the split below, which is complete with this tuple; else -1. */
  child: BufferId = -1;
  newM!: TupleMemory;
  newPos = 0;
  newLength = 0;
  newOffset: OffsetNumber = 0;
  /** When a posting list, the item before the new one, is split, too: the place in it; else 0. */
  place = 0;
  /** Then the list as it will be, and the tuple as it came. */
  postingM!: TupleMemory;
  originalM!: TupleMemory;
  originalPos = 0;
  // Of the split.
  firstRight: OffsetNumber = 0;
  newOnLeft = false;

  /** The page is to be split for the tuple at `newPos`, which no posting list is in the way of. */
  start(
    index: BtreeIndex,
    buffer: BufferId,
    child: BufferId,
    newM: TupleMemory,
    newPos: number,
    newLength: number,
    newOffset: OffsetNumber,
  ): void {
    this.index = index;
    this.buffer = buffer;
    this.child = child;
    this.newM = newM;
    this.newPos = newPos;
    this.newLength = newLength;
    this.newOffset = newOffset;
    this.place = 0;
  }
}

/** Done with before the next one starts: a page is split, then its parent. */
export const splitTask: SplitTask = new SplitTask();

/**
 * Splits a page and places the new tuple. The page stays pinned; so does its child, the task's.
 * @returns the new right page, pinned.
 * @throws StorageError XX002 when a page is damaged, 53100 when there is no room: nothing has changed then.
 */
export function splitPage(): BufferId {
  const task = splitTask;
  const { index, buffer } = task;
  const { pool, geometry: g, main, format, relation } = index;
  const m = pool.memory(buffer);
  const base = pool.base(buffer);
  const { splitPoint, leftPage, rightPage } = workspaceOf(g);
  checkItems(index, buffer);
  try {
    splitPoint.find(format, m, base, task.newM, task.newPos, task.newLength, task.newOffset, relation.fillfactor);
    task.firstRight = splitPoint.firstRight;
    task.newOnLeft = splitPoint.newItemOnLeft;
    startHalves(task, m, base, leftPage, rightPage);
    moveItems(task, m, base, leftPage, rightPage);
  } catch (error) {
    throw cannotSplit(index, pool.block(buffer), error);
  }
  const next = btNext(m, base, g.size);
  const nextBuffer = next === 0 ? -1 : pool.pin(main, next);
  let right = -1;
  try {
    if (nextBuffer >= 0) checkNext(task, nextBuffer, next, rightPage);
    right = allocatePage(index);
    setBtNext(leftPage, 0, g.size, pool.block(right));
    logSplit(task, leftPage, rightPage, right, nextBuffer);
    return right;
  } catch (error) {
    if (right >= 0) pool.unpin(right);
    throw error;
  } finally {
    if (nextBuffer >= 0) pool.unpin(nextBuffer);
  }
}

/** Both halves, with nothing but their high keys. */
function startHalves(task: SplitTask, m: PageMemory, base: number, left: PageMemory, right: PageMemory): void {
  const { index, buffer } = task;
  const { geometry: g } = index;
  const { size } = g;
  const flags = btFlags(m, base, size) & ~(BTP_ROOT | BTP_SPLIT_END | BTP_HAS_GARBAGE);
  btInitPage(left, 0, g);
  btInitPage(right, 0, g);
  pageSetLsn(left, 0, pageLsnHigh(m, base), pageLsnLow(m, base));
  setBtFlags(left, 0, size, flags | BTP_INCOMPLETE_SPLIT);
  setBtFlags(right, 0, size, flags);
  setBtPrev(left, 0, size, btPrev(m, base, size));
  setBtPrev(right, 0, size, index.pool.block(buffer));
  setBtNext(right, 0, size, btNext(m, base, size));
  const level = btLevel(m, base, size);
  setBtLevel(left, 0, size, level);
  setBtLevel(right, 0, size, level);
  const cycleId = vacuumCycleId(index);
  setBtCycleId(left, 0, size, cycleId);
  setBtCycleId(right, 0, size, cycleId);
  addHighKey(task, m, base, left);
  if (!btIsRightmost(m, base, size)) addItem(right, g, m, itemPosition(m, base, 1));
}

/** The left page's new high key: above the leaves the first tuple on the right, as it is. */
function addHighKey(task: SplitTask, m: PageMemory, base: number, left: PageMemory): void {
  const { index, newM, newPos, newOffset, firstRight, newOnLeft } = task;
  const { geometry: g, format } = index;
  const listAt = task.place === 0 ? 0 : newOffset - 1;
  const isNew = !newOnLeft && newOffset === firstRight;
  const isList = !isNew && firstRight === listAt;
  const rightM = isNew ? newM : isList ? task.postingM : m;
  const rightPos = isNew ? newPos : isList ? 0 : itemPosition(m, base, firstRight);
  if (!btIsLeaf(m, base, g.size)) {
    addItem(left, g, rightM, rightPos);
    return;
  }
  const lastIsNew = newOnLeft && newOffset === firstRight;
  const lastIsList = !lastIsNew && firstRight - 1 === listAt;
  const leftM = lastIsNew ? newM : lastIsList ? task.postingM : m;
  const leftPos = lastIsNew ? newPos : lastIsList ? 0 : itemPosition(m, base, firstRight - 1);
  const { tuple } = workspaceOf(g);
  truncatedPivot(format, leftM, leftPos, rightM, rightPos, tuple, 0);
  addItem(left, g, tuple, 0);
}

function moveItems(task: SplitTask, m: PageMemory, base: number, left: PageMemory, right: PageMemory): void {
  const { index, newM, newPos, newOffset, firstRight, newOnLeft } = task;
  const { geometry: g } = index;
  const last = pageMaxOffset(m, base);
  const listAt = task.place === 0 ? 0 : newOffset - 1;
  // Above the leaves the first tuple on the right loses its key: it is the high key of the left page.
  const truncatesAt = btIsLeaf(m, base, g.size) ? 0 : pageMaxOffset(right, 0) + 1;
  for (let o = firstDataKey(m, base, g.size); o <= last; o++) {
    if (o === newOffset) addData(newOnLeft ? left : right, g, newM, newPos, newOnLeft ? 0 : truncatesAt);
    const isLeft = o < firstRight;
    const page = isLeft ? left : right;
    if (o === listAt) addItem(page, g, task.postingM, 0);
    else addData(page, g, m, itemPosition(m, base, o), isLeft ? 0 : truncatesAt);
  }
  if (newOffset > last) addData(right, g, newM, newPos, truncatesAt);
}

/** PostgreSQL: `_bt_pgaddtup`. */
function addData(page: PageMemory, g: BlockGeometry, m: TupleMemory, pos: number, truncatesAt: OffsetNumber): void {
  if (pageMaxOffset(page, 0) + 1 !== truncatesAt) {
    addItem(page, g, m, pos);
    return;
  }
  const { tuple } = workspaceOf(g);
  setIndexTupleInfo(tuple, 0, MINUS_INFINITY_BYTES);
  setIndexTupleTid(tuple, 0, downlink(m, pos), 0);
  setPivot(tuple, 0, 0, false);
  addItem(page, g, tuple, 0);
}

function addItem(page: PageMemory, g: BlockGeometry, m: TupleMemory, pos: number): void {
  if (pageAddItem(page, 0, g, m.u8, pos, indexTupleSize(m, pos), pageMaxOffset(page, 0) + 1) !== 0) return;
  throw new StorageError('XX002', 'the items of one half do not fit a page');
}

function checkNext(task: SplitTask, nextBuffer: BufferId, next: BlockNumber, right: PageMemory): void {
  const { index, buffer } = task;
  const { pool, geometry } = index;
  const { size } = geometry;
  const m = pool.memory(nextBuffer);
  const base = pool.base(nextBuffer);
  const block = pool.block(buffer);
  const back = btPrev(m, base, size);
  if (back !== block) {
    throw new StorageError(
      'XX002',
      `the left link of block ${next} of index "${index.relation.name}" leads to block ${back}, not to block ${block}, whose right link leads to it`,
      { detail: 'Block ' + `${block} was to be split.`, hint: 'Rebuild the index: drop it and create it again.' },
    );
  }
  // Its tuples were no part of the page when the vacuum began that the halves are stamped with.
  if (btCycleId(m, base, size) !== btCycleId(right, 0, size)) {
    setBtFlags(right, 0, size, btFlags(right, 0, size) | BTP_SPLIT_END);
  }
}

function logSplit(
  task: SplitTask,
  leftPage: PageMemory,
  rightPage: PageMemory,
  right: BufferId,
  nextBuffer: BufferId,
): void {
  const { index, buffer, child } = task;
  const { relation, pool, geometry: g } = index;
  const { size } = g;
  const { log, main } = relation;
  const info = task.newOnLeft ? XLOG_BTREE_SPLIT_L : XLOG_BTREE_SPLIT_R;
  log.begin(relation, RM_BTREE, info, 4, SPLIT_BYTES + (size << 1));
  try {
    const m = pool.memory(buffer);
    const base = pool.base(buffer);
    copyPage(leftPage, 0, m, base, g);
    copyPage(rightPage, 0, pool.memory(right), pool.base(right), g);
    if (nextBuffer >= 0) setBtPrev(pool.memory(nextBuffer), pool.base(nextBuffer), size, pool.block(right));
    if (child >= 0) clearIncomplete(pool.memory(child), pool.base(child), size);
    const listAt = task.newOffset - 1;
    const place = task.place !== 0 && listAt < task.firstRight ? task.place : 0;
    log.u32(btLevel(m, base, size));
    log.u16(task.firstRight);
    log.u16(task.newOffset);
    log.u16(place);
    log.page(SPLIT_BLOCK_LEFT, main, buffer, PAGE_STANDARD);
    if (place !== 0) log.bytes(task.originalM.u8, task.originalPos, task.newLength);
    else if (task.newOnLeft) log.bytes(task.newM.u8, task.newPos, task.newLength);
    const highKey = itemPosition(m, base, 1);
    log.bytes(m.u8, highKey, indexTupleSize(m, highKey));
    log.page(SPLIT_BLOCK_RIGHT, main, right, PAGE_WILL_INIT);
    const upper = pageUpper(rightPage, 0);
    log.bytes(rightPage.u8, upper, pageSpecial(rightPage, 0) - upper);
    if (nextBuffer >= 0) log.page(SPLIT_BLOCK_NEXT, main, nextBuffer, PAGE_STANDARD);
    if (child >= 0) log.page(SPLIT_BLOCK_CHILD, main, child, PAGE_STANDARD);
    log.finish(0);
  } catch (error) {
    log.panic(error);
  }
}

/** The split of the page is complete. */
export function clearIncomplete(m: PageMemory, base: number, size: number): void {
  setBtFlags(m, base, size, btFlags(m, base, size) & ~BTP_INCOMPLETE_SPLIT);
}

function cannotSplit(index: BtreeIndex, block: BlockNumber, cause: unknown): StorageError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StorageError('XX002', `block ${block} of index "${index.relation.name}" cannot be split: ${reason}`, {
    hint: 'Rebuild the index: drop it and create it again.',
    cause,
  });
}
