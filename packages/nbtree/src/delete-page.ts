// Deleting an empty leaf, in two steps, after each of which the tree is whole: first its parent's downlink goes, and the
// leaf is half-dead; then it is taken out of its level. Its keys become its right sibling's. A parent whose only child it is
// goes with it, and that one's parent, one page a level; what has no right sibling under the same parent stays.
// PostgreSQL: `_bt_pagedel` and what follows it, nbtpage.c; nbtree/README.
import { PAGE_STANDARD, PAGE_WILL_INIT } from '@blockwright/access';
import { type BlockNumber, type BufferId, INVALID_BLOCK_NUMBER, type OffsetNumber } from '@blockwright/base';
import { copyPage, itemPosition, pageMaxOffset, restoreTempPage } from '@blockwright/page';
import { RM_BTREE } from '@blockwright/wal';
import { fillHalfDeadLeaf, removeDownlink } from './deleted-pages.ts';
import { findDownlink } from './finish-split.ts';
import {
  BTP_ROOT,
  btFlags,
  btIncompleteSplit,
  btIsDeleted,
  btIsHalfDead,
  btIsLeaf,
  btIsRightmost,
  btNext,
  btPrev,
  firstDataKey,
  P_NONE,
} from './page.ts';
import {
  HALFDEAD_BLOCK_LEAF,
  HALFDEAD_BLOCK_PARENT,
  HALFDEAD_BYTES,
  XLOG_BTREE_MARK_PAGE_HALFDEAD,
} from './record-format.ts';
import { descend } from './search.ts';
import { downlink, heapTidAt, tidBlock, tidOffset, tupleNatts } from './tuples.ts';
import { unlinkPage } from './unlink-page.ts';
import type { VacuumState } from './vacuum-state.ts';

/**
 * Deletes an empty leaf, or finishes deleting a half-dead one, if it can go; and its right siblings as long as they are
 * empty, too: they may have been kept by this one alone. The pin given is given back.
 * @throws StorageError 53100 when the WAL has no room: the tree is whole, and the next vacuum goes on.
 */
export function deletePage(state: VacuumState, leaf: BufferId): void {
  const { pool, main, geometry } = state.index;
  const { size } = geometry;
  const scanBlock = pool.block(leaf);
  let id = leaf;
  let hasStack = false;
  for (;;) {
    let right: BlockNumber;
    try {
      const m = pool.memory(id);
      const base = pool.base(id);
      if (!btIsHalfDead(m, base, size)) {
        if (!mayGo(state, id)) return;
        if (!hasStack && !findLeaf(state, id)) return;
        hasStack = true;
        if (!markHalfDead(state, id)) return;
      }
      while (btIsHalfDead(m, base, size)) if (!unlinkPage(state, id, scanBlock)) return;
      right = btNext(m, base, size);
    } finally {
      pool.unpin(id);
    }
    if (!state.rightIsEmpty) return;
    id = pool.pin(main, right);
  }
}

/** Whether the page is an empty leaf that has a right sibling, is no root and not the left half of an incomplete split. */
function mayGo(state: VacuumState, id: BufferId): boolean {
  const { pool, geometry } = state.index;
  const { size } = geometry;
  const m = pool.memory(id);
  const base = pool.base(id);
  if (!btIsLeaf(m, base, size) || btIsDeleted(m, base, size)) {
    state.warn(`block ${pool.block(id)} was to be deleted, and is no leaf that is in use`);
    return false;
  }
  return !(
    btIsRightmost(m, base, size) ||
    (btFlags(m, base, size) & BTP_ROOT) !== 0 ||
    pageMaxOffset(m, base) >= firstDataKey(m, base, size) ||
    btIncompleteSplit(m, base, size)
  );
}

/** Descends to the leaf by its high key, so that the stack leads to it. @returns false when its left sibling's split keeps it */
function findLeaf(state: VacuumState, id: BufferId): boolean {
  const { index, stack, key } = state;
  const { pool, geometry, format } = index;
  const m = pool.memory(id);
  const base = pool.base(id);
  if (isRightHalf(state, btPrev(m, base, geometry.size), pool.block(id))) return false;
  const highKey = itemPosition(m, base, 1);
  const tid = heapTidAt(m, highKey);
  const natts = tupleNatts(m, highKey, format.columnCount);
  key.memory = m; // pinned, and unchanged until the descent is over
  key.pos = highKey;
  key.natts = natts < format.keyCount ? natts : format.keyCount;
  key.heapBlock = tid < 0 ? 0 : tidBlock(m, tid);
  key.heapOffset = tid < 0 ? 0 : tidOffset(m, tid);
  key.backward = true;
  const found = descend(index, key, stack, false);
  if (found >= 0) pool.unpin(found);
  return found >= 0;
}

/** Whether a page is the right half of an incomplete split, so that it has no downlink, or may be. PostgreSQL: `_bt_leftsib_splitflag`. */
function isRightHalf(state: VacuumState, left: BlockNumber, block: BlockNumber): boolean {
  if (left === P_NONE) return false;
  const { pool, main, geometry } = state.index;
  if (!main.hasBlock(left)) {
    state.warn(`the left sibling of block ${block} is said to be block ${left}, which is not there`);
    return true;
  }
  const { size } = geometry;
  return pool.withPage(main, left, (m, base) => btNext(m, base, size) === block && btIncompleteSplit(m, base, size));
}

/** The page of the subtree that goes, and the parent that keeps it. */
interface Subtree {
  /** Pinned. */
  readonly parent: BufferId;
  readonly offset: OffsetNumber;
  readonly top: BlockNumber;
  readonly topRight: BlockNumber;
}

/** The first step. @returns false when the page cannot go. PostgreSQL: `_bt_mark_page_halfdead`. */
function markHalfDead(state: VacuumState, leaf: BufferId): boolean {
  const { pool, main, geometry: g } = state.index;
  const { size } = g;
  const m = pool.memory(leaf);
  const base = pool.base(leaf);
  const right = btNext(m, base, size);
  if (!main.hasBlock(right)) {
    state.warn(`the right sibling of block ${pool.block(leaf)} is said to be block ${right}, which is not there`);
    return false;
  }
  // A half-dead right sibling has no downlink: the parent's next one would be another page's.
  if (pool.withPage(main, right, (rm, rb) => btIsHalfDead(rm, rb, size))) return false;
  const subtree = findSubtree(state, pool.block(leaf), right);
  if (subtree === undefined) return false;
  const { parent, offset, top, topRight } = subtree;
  try {
    const pm = pool.memory(parent);
    const pb = pool.base(parent);
    const next = downlink(pm, itemPosition(pm, pb, offset + 1));
    if (next !== topRight) {
      const where = `block ${topRight}, the right sibling of block ${top}`;
      state.warn(`${where}, is not the next child of block ${pool.block(parent)}, which has block ${next} there`);
      return false;
    }
    copyPage(pm, pb, state.page, 0, g);
    removeDownlink(state.page, 0, g, offset);
    logHalfDead(state, leaf, subtree);
    return true;
  } finally {
    pool.unpin(parent);
  }
}

function logHalfDead(state: VacuumState, leaf: BufferId, subtree: Subtree): void {
  const { relation, pool, main, geometry: g } = state.index;
  const { parent, offset, top } = subtree;
  const { log } = relation;
  const m = pool.memory(leaf);
  const base = pool.base(leaf);
  const block = pool.block(leaf);
  const left = btPrev(m, base, g.size);
  const right = btNext(m, base, g.size);
  const topParent = top === block ? INVALID_BLOCK_NUMBER : top;
  log.begin(relation, RM_BTREE, XLOG_BTREE_MARK_PAGE_HALFDEAD, 2, HALFDEAD_BYTES);
  try {
    restoreTempPage(state.page, pool.memory(parent), pool.base(parent), g);
    fillHalfDeadLeaf(m, base, g, left, right, topParent);
    log.u16(offset);
    log.u16(0);
    log.u32(block);
    log.u32(left);
    log.u32(right);
    log.u32(topParent);
    log.page(HALFDEAD_BLOCK_LEAF, main, leaf, PAGE_WILL_INIT);
    log.page(HALFDEAD_BLOCK_PARENT, main, parent, PAGE_STANDARD);
    log.finish(0);
  } catch (error) {
    log.panic(error);
  }
}

/**
 * How much goes with the leaf: its parent while it is that one's only child, and so on up. @returns undefined when a page
 * of those may not go: as the last child of a parent that has others, as the last page of its level, or because its left
 * sibling's split is not complete. PostgreSQL: `_bt_lock_subtree_parent`.
 */
function findSubtree(state: VacuumState, leaf: BlockNumber, leafRight: BlockNumber): Subtree | undefined {
  const { index, stack } = state;
  const { pool, geometry } = index;
  const { size } = geometry;
  let top = leaf;
  let topRight = leafRight;
  for (let at = stack.depth - 1; at >= 0; at--) {
    const parent = findDownlink(index, stack, at, top);
    if (parent < 0) break;
    const m = pool.memory(parent);
    const base = pool.base(parent);
    const offset = stack.offsets[at];
    const last = pageMaxOffset(m, base);
    if (offset < last) return { parent, offset, top, topRight };
    const block = pool.block(parent);
    const left = btPrev(m, base, size);
    const isOnlyChild = offset === firstDataKey(m, base, size) && !btIsRightmost(m, base, size);
    topRight = btNext(m, base, size);
    pool.unpin(parent);
    if (!isOnlyChild || isRightHalf(state, left, block)) return undefined;
    top = block;
  }
  state.warn(`the downlink to block ${top} is not found: block ${leaf}, which is empty, stays`);
  return undefined;
}
