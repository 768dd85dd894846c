// Where a tuple goes: the leaf page, found by the cached rightmost one or from the root, and the place on it, after what
// can be done for room. PostgreSQL: `_bt_search_insert`, `_bt_findinsertloc`, `_bt_stepright`,
// `_bt_delete_or_dedup_one_page`, nbtinsert.c, and `_bt_binsrch_insert`, nbtsearch.c.
import { type BufferId, type OffsetNumber, StorageError } from '@blockwright/base';
import {
  itemIsInBounds,
  itemPosition,
  LP_DEAD,
  linePointer,
  lpFlags,
  type PageMemory,
  pageBoundsAreSane,
  pageFreeSpace,
  pageMaxOffset,
  pageSpecial,
  pageUpper,
} from '@blockwright/page';
import type { Transaction } from '@blockwright/transam';
import { indexTupleBlock, indexTupleOffset, type TupleMemory } from '@blockwright/tuple';
import { bottomUpPass } from './bottom-up.ts';
import type { BtreeIndex } from './btree.ts';
import { checkItems } from './check-items.ts';
import { compareKey } from './compare.ts';
import { dedupPass } from './dedup.ts';
import { blockAtWord, tidWordAfter } from './deletion-list.ts';
import { finishSplit } from './finish-split.ts';
import { btIgnore, btIncompleteSplit, btIsLeaf, btIsRightmost, btNext, firstDataKey } from './page.ts';
import { DescentStack, descend, wildLinePointer } from './search.ts';
import { SearchKey } from './search-key.ts';
import { deleteDeadItems } from './simple-delete.ts';
import { isPosting, postingCount, postingOffset } from './tuples.ts';

/** {@link InsertState.place}: the TID lies in a posting list that is dead. */
const IN_DEAD_LIST = -1;

/** An insert under way; one, used again. PostgreSQL: `BTInsertStateData`. */
export class InsertState {
  index!: BtreeIndex;
  tx!: Transaction;
  /** The tuple; its length is a multiple of 8. */
  m!: TupleMemory;
  pos = 0;
  length = 0;
  readonly key: SearchKey = new SearchKey();
  readonly stack: DescentStack = new DescentStack();
  /** The leaf page, pinned; -1 when none is. */
  buffer: BufferId = -1;
  /** What is known of the page by {@link findOffset}: items from `low` to before `strictHigh` may be equal to the key. */
  boundsValid = false;
  low: OffsetNumber = 0;
  strictHigh: OffsetNumber = 0;
  /** Place in the posting list at the found offset, 0 for none. */
  place = 0;

  /** Gives the pin back. */
  release(): void {
    const { buffer } = this;
    this.buffer = -1;
    if (buffer >= 0) this.index.pool.unpin(buffer);
  }
}

/** Pins the first leaf page that the key can be on. */
export function findLeaf(state: InsertState): void {
  const { index, key, stack } = state;
  state.boundsValid = false;
  state.place = 0;
  if (index.rightmostLeaf >= 0 && tryRightmost(state)) {
    stack.depth = 0;
    return;
  }
  state.buffer = descend(index, key, stack, true);
}

/** The page of the last insert at the right end, if it is still that page, the key belongs there, and there is room. */
function tryRightmost(state: InsertState): boolean {
  const { index, key } = state;
  const { pool, main, geometry } = index;
  const { size } = geometry;
  const id = pool.pin(main, index.rightmostLeaf);
  const m = pool.memory(id);
  const base = pool.base(id);
  state.buffer = id;
  if (
    pageBoundsAreSane(m, base, geometry) &&
    btIsRightmost(m, base, size) &&
    btIsLeaf(m, base, size) &&
    !btIgnore(m, base, size) &&
    pageFreeSpace(m, base) > state.length &&
    pageMaxOffset(m, base) >= 1 &&
    compareKey(index, key, m, base, 1) > 0
  ) {
    return true;
  }
  index.rightmostLeaf = -1;
  state.release();
  return false;
}

/**
 * The offset at which the tuple belongs on the state's page, by binary search, or between the bounds of an earlier one.
 * {@link InsertState.place} says where in a posting list, if its TID lies in one.
 * @throws StorageError XX002 when the index has an entry for the row already.
 */
export function findOffset(state: InsertState): OffsetNumber {
  const { index, key, buffer } = state;
  const { pool, geometry, format } = index;
  const m = pool.memory(buffer);
  const base = pool.base(buffer);
  let low = state.low;
  let high = state.strictHigh;
  if (!state.boundsValid) {
    low = firstDataKey(m, base, geometry.size);
    high = pageMaxOffset(m, base) + 1;
    if (high === low) return low;
  }
  const hasTid = key.heapOffset !== 0;
  const { compare, keyCount } = format;
  const upper = pageUpper(m, base);
  const special = pageSpecial(m, base);
  let strictHigh = high;
  while (high > low) {
    const middle = low + ((high - low) >>> 1);
    const lp = linePointer(m, base, middle);
    if (!itemIsInBounds(lp, upper, special)) throw wildLinePointer(index, lp, middle, pool.block(buffer));
    const pos = base + (lp & 0x7fff);
    let order = compare(key.memory, key.pos, m, pos, keyCount);
    if (order === 0 && hasTid) order = compareTid(key, m, pos);
    if (order > 0) low = middle + 1;
    else {
      high = middle;
      if (order !== 0) strictHigh = middle;
      else if (hasTid) state.place = placeInList(state, m, base, middle);
    }
  }
  state.low = low;
  state.strictHigh = strictHigh;
  state.boundsValid = true;
  return low;
}

/** The key's TID against those of a leaf tuple: 0 when it is the only one, or lies between the first and the last. */
function compareTid(key: SearchKey, m: PageMemory, pos: number): number {
  const posting = isPosting(m, pos);
  const word = (posting ? pos + postingOffset(m, pos) : pos) >>> 1;
  const block = blockAtWord(m, word);
  let order = key.heapBlock - block;
  if (order === 0) order = key.heapOffset - m.u16[word + 2];
  if (order <= 0 || !posting) return order;
  const last = tidWordAfter(word, postingCount(m, pos) - 1);
  order = key.heapBlock - blockAtWord(m, last);
  if (order === 0) order = key.heapOffset - m.u16[last + 2];
  return order > 0 ? order : 0;
}

/** PostgreSQL: `_bt_binsrch_posting`. */
function placeInList(state: InsertState, m: PageMemory, base: number, offset: OffsetNumber): number {
  const { key } = state;
  const pos = itemPosition(m, base, offset);
  if (!isPosting(m, pos)) throw alreadyThere(state, offset);
  if (lpFlags(linePointer(m, base, offset)) === LP_DEAD) return IN_DEAD_LIST;
  const first = (pos + postingOffset(m, pos)) >>> 1;
  let low = 0;
  let high = postingCount(m, pos);
  while (high > low) {
    const middle = low + ((high - low) >>> 1);
    const word = tidWordAfter(first, middle);
    const order = key.heapBlock - blockAtWord(m, word) || key.heapOffset - m.u16[word + 2];
    if (order === 0) throw alreadyThere(state, offset);
    if (order > 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The page and the offset for the tuple; on a page without room for it dead entries go, and equal ones are merged, first.
 * @param checksUnique whether the page is the first one of the key, and {@link findOffset} was asked without TID
 */
export function findLocation(state: InsertState, checksUnique: boolean, indexUnchanged: boolean): OffsetNumber {
  let hasDuplicates = indexUnchanged;
  if (checksUnique && moveToTid(state)) hasDuplicates = true;
  const { pool } = state.index;
  if (pageFreeSpace(pool.memory(state.buffer), pool.base(state.buffer)) < state.length) {
    makeRoom(state, checksUnique, hasDuplicates, indexUnchanged);
  }
  let offset = findOffset(state);
  if (state.place === IN_DEAD_LIST) {
    deleteDeadItems(state.index, state.buffer, state.m, state.pos);
    state.boundsValid = false;
    state.place = 0;
    offset = findOffset(state);
  }
  return offset;
}

/** To the right, over pages of equal keys, until the TID belongs on the page. @returns whether there are equal keys */
function moveToTid(state: InsertState): boolean {
  const { index, key } = state;
  const { pool, geometry } = index;
  let found = state.boundsValid && state.low < state.strictHigh;
  for (;;) {
    const m = pool.memory(state.buffer);
    const base = pool.base(state.buffer);
    if (state.boundsValid && state.strictHigh <= pageMaxOffset(m, base)) return found;
    if (btIsRightmost(m, base, geometry.size) || compareKey(index, key, m, base, 1) <= 0) return found;
    stepRight(state);
    found = true;
  }
}

/** To the next page that is in use, completing splits. */
function stepRight(state: InsertState): void {
  const { index, stack } = state;
  const { pool, main, geometry } = index;
  const { size } = geometry;
  let m = pool.memory(state.buffer);
  let base = pool.base(state.buffer);
  do {
    if (btIsRightmost(m, base, size)) throw endReached(index);
    const next = pool.pin(main, btNext(m, base, size));
    state.release();
    state.buffer = next;
    m = pool.memory(next);
    base = pool.base(next);
    if (btIncompleteSplit(m, base, size)) finishSplit(index, next, stack, stack.depth);
  } while (btIgnore(m, base, size));
  state.boundsValid = false;
}

function makeRoom(state: InsertState, checksUnique: boolean, hasDuplicates: boolean, indexUnchanged: boolean): void {
  const { index, buffer, m, pos, length } = state;
  const { pool } = index;
  let assumed = hasDuplicates;
  checkItems(index, buffer);
  if (deleteDeadItems(index, buffer, m, pos)) {
    state.boundsValid = false;
    if (pageFreeSpace(pool.memory(buffer), pool.base(buffer)) >= length) return;
    assumed = true;
  }
  if (checksUnique && !assumed) return;
  state.boundsValid = false;
  const triesDeletion = indexUnchanged || assumed;
  if (triesDeletion && bottomUpPass(index, buffer, length)) return;
  if (index.deduplicate && index.format.allEqualImage) dedupPass(index, buffer, m, pos, length, triesDeletion);
}

function alreadyThere(state: InsertState, offset: OffsetNumber): StorageError {
  const { index, m, pos, buffer } = state;
  const row = `(${indexTupleBlock(m, pos)},${indexTupleOffset(m, pos)})`;
  return new StorageError('XX002', `index "${index.relation.name}" has an entry for row ${row} already`, {
    detail: `It is item ${offset} of block ${index.pool.block(buffer)}.`,
    hint: 'Rebuild the index: drop it and create it again.',
  });
}

export function endReached(index: BtreeIndex): StorageError {
  return new StorageError('XX002', `fell off the right end of index "${index.relation.name}"`, {
    hint: 'Rebuild the index: drop it and create it again.',
  });
}
