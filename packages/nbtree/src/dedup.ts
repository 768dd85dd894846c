// Deduplication of a full leaf page: neighbours of equal keys become one tuple with a posting list.
// PostgreSQL: nbtdedup.c.
import { PAGE_STANDARD } from '@blockwright/access';
import { type BufferId, StorageError } from '@blockwright/base';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import {
  itemPosition,
  type PageMemory,
  pageAddItem,
  pageInit,
  pageLsnHigh,
  pageLsnLow,
  pageMaxOffset,
  pageSetLsn,
  restoreTempPage,
} from '@blockwright/page';
import { type IndexTupleFormat, indexTupleSize, type TupleMemory } from '@blockwright/tuple';
import { RM_BTREE } from '@blockwright/wal';
import type { BtreeIndex } from './btree.ts';
import { type DedupState, maxPostingSize } from './dedup-state.ts';
import {
  BTP_HAS_GARBAGE,
  btFlags,
  btIsRightmost,
  copySpecial,
  firstDataKey,
  SIZE_OF_BTREE_SPECIAL,
  setBtFlags,
} from './page.ts';
import { formPosting } from './posting.ts';
import { BLOCK_PAGE, DEDUP_BYTES, DEDUP_INTERVAL_BYTES, XLOG_BTREE_DEDUP } from './record-format.ts';
import { workspaceOf } from './workspace.ts';

const LINE_POINTER_BYTES = 4;
const PIVOT_TID_BYTES = 8;
/** What {@link SINGLE_VALUE_FILL} leaves free. PostgreSQL: (100 - `BTREE_SINGLEVAL_FILLFACTOR`) / 100. */
const SINGLE_VALUE_FREE = 0.04;
/** Of a page full of one value, so many posting lists are made as large as they may be. */
const LARGE_LISTS = 5;

/**
 * Merges the tuples of equal keys on a full leaf page, as a step before it would be split for the tuple at `newPos`, of
 * `newLength` bytes. No item of the page is dead. It may free too little, or nothing. PostgreSQL: `_bt_dedup_pass`.
 * @param afterDeletion a bottom-up deletion has just been tried: the page is to stay whole, whatever fills it
 * @throws StorageError 53100 when the WAL has no room: nothing has changed.
 */
export function dedupPass(
  index: BtreeIndex,
  buffer: BufferId,
  newM: TupleMemory,
  newPos: number,
  newLength: number,
  afterDeletion: boolean,
): void {
  const { pool, geometry, format } = index;
  const m = pool.memory(buffer);
  const base = pool.base(buffer);
  const { dedup: state, leftPage: page } = workspaceOf(geometry);
  state.begin(maxPostingSize(geometry));
  const isSingle = !afterDeletion && isSingleValue(format, m, base, geometry, newM, newPos);
  startCopy(m, base, geometry, page);
  mergeItems(format, m, base, geometry, page, state, isSingle, newLength);
  if (state.intervalCount === 0) return;
  setBtFlags(page, 0, geometry.size, btFlags(page, 0, geometry.size) & ~BTP_HAS_GARBAGE);
  replacePage(index, buffer, page, state);
}

/** The page as it is without its items, but for its high key. */
function startCopy(m: PageMemory, base: number, g: BlockGeometry, page: PageMemory): void {
  pageInit(page, 0, g, SIZE_OF_BTREE_SPECIAL);
  copySpecial(m, base, page, 0, g.size);
  pageSetLsn(page, 0, pageLsnHigh(m, base), pageLsnLow(m, base));
  if (!btIsRightmost(m, base, g.size)) addItem(page, g, m, itemPosition(m, base, 1));
}

function mergeItems(
  format: IndexTupleFormat,
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  page: PageMemory,
  state: DedupState,
  isSingle: boolean,
  newLength: number,
): void {
  const { keyCount } = format;
  const first = firstDataKey(m, base, g.size);
  const last = pageMaxOffset(m, base);
  let merges = true;
  let counts = isSingle;
  for (let o = first; o <= last; o++) {
    const pos = itemPosition(m, base, o);
    if (o > first) {
      const isEqual = merges && format.firstDifferentImage(m, state.basePos, m, pos, keyCount) > keyCount;
      if (isEqual && state.save(m, pos)) continue;
      finishPending(page, g, state);
      if (counts && state.largeLists === LARGE_LISTS) limitLastList(g, state, newLength);
      else if (counts && state.largeLists === LARGE_LISTS + 1) {
        merges = false;
        counts = false;
      }
    }
    state.start(m, pos, o);
  }
  finishPending(page, g, state);
}

/** Puts the pending tuples on the page, as one. PostgreSQL: `_bt_dedup_finish_pending`. */
function finishPending(page: PageMemory, g: BlockGeometry, state: DedupState): void {
  const { baseMemory, basePos, itemCount } = state;
  if (itemCount === 1) addItem(page, g, baseMemory, basePos);
  else {
    const { tuple } = workspaceOf(g);
    formPosting(baseMemory, basePos, state.tids, state.tidCount, tuple, 0);
    addItem(page, g, tuple, 0);
    state.closeInterval();
  }
  state.reset();
}

function addItem(page: PageMemory, g: BlockGeometry, m: TupleMemory, pos: number): void {
  if (pageAddItem(page, 0, g, m.u8, pos, indexTupleSize(m, pos), pageMaxOffset(page, 0) + 1) !== 0) return;
  throw new StorageError('XX002', 'the items of an index page overlap: they do not fit a page when each stands alone');
}

/** Whether all items of the page have the key of the new tuple. PostgreSQL: `_bt_do_singleval`. */
function isSingleValue(
  format: IndexTupleFormat,
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  newM: TupleMemory,
  newPos: number,
): boolean {
  const { keyCount } = format;
  const first = itemPosition(m, base, firstDataKey(m, base, g.size));
  if (format.firstDifferentImage(newM, newPos, m, first, keyCount) <= keyCount) return false;
  const last = itemPosition(m, base, pageMaxOffset(m, base));
  return format.firstDifferentImage(newM, newPos, m, last, keyCount) > keyCount;
}

/**
 * The sixth large list of a page is shorter by what a split leaves free on the left, so that the split finds its point
 * there. PostgreSQL: `_bt_singleval_fillfactor`.
 */
function limitLastList(g: BlockGeometry, state: DedupState, newLength: number): void {
  const room = g.size - SIZE_OF_PAGE_HEADER - SIZE_OF_BTREE_SPECIAL;
  const leftFree = room - (newLength + LINE_POINTER_BYTES + PIVOT_TID_BYTES);
  const reduction = (leftFree * SINGLE_VALUE_FREE) | 0;
  state.maxPostingSize = state.maxPostingSize > reduction ? state.maxPostingSize - reduction : 0;
}

function replacePage(index: BtreeIndex, buffer: BufferId, page: PageMemory, state: DedupState): void {
  const { relation, pool, geometry } = index;
  const { log, main } = relation;
  const words = state.intervalCount << 1;
  log.begin(relation, RM_BTREE, XLOG_BTREE_DEDUP, 1, DEDUP_BYTES + state.intervalCount * DEDUP_INTERVAL_BYTES);
  try {
    restoreTempPage(page, pool.memory(buffer), pool.base(buffer), geometry);
    log.u16(state.intervalCount);
    log.page(BLOCK_PAGE, main, buffer, PAGE_STANDARD);
    for (let i = 0; i < words; i++) log.u16(state.intervals[i]);
    log.finish(0);
  } catch (error) {
    log.panic(error);
  }
}
