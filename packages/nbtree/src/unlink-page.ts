// The second step of a page's deletion: the topmost page of those that go with a half-dead leaf, or that leaf at last, is
// taken out of its level. PostgreSQL: `_bt_unlink_halfdead_page`, nbtpage.c.
import { PAGE_STANDARD, PAGE_WILL_INIT } from '@blockwright/access';
import {
  type BlockNumber,
  type BufferId,
  highWord,
  INVALID_BLOCK_NUMBER,
  lowWord,
  StorageError,
} from '@blockwright/base';
import { itemPosition, pageMaxOffset } from '@blockwright/page';
import { RM_BTREE } from '@blockwright/wal';
import { fillDeletedPage, fillHalfDeadLeaf } from './deleted-pages.ts';
import { BTREE_METAPAGE, type MetaData, readMeta, writeMeta } from './meta.ts';
import { putMetadata } from './new-root.ts';
import {
  BTP_ROOT,
  btFlags,
  btIsDeleted,
  btIsLeaf,
  btIsRightmost,
  btLevel,
  btNext,
  btPrev,
  firstDataKey,
  P_NONE,
  setBtNext,
  setBtPrev,
} from './page.ts';
import {
  METADATA_BYTES,
  UNLINK_BLOCK_LEAF,
  UNLINK_BLOCK_LEFT,
  UNLINK_BLOCK_META,
  UNLINK_BLOCK_RIGHT,
  UNLINK_BLOCK_TARGET,
  UNLINK_BYTES,
  XLOG_BTREE_UNLINK_PAGE,
  XLOG_BTREE_UNLINK_PAGE_META,
} from './record-format.ts';
import { downlink } from './tuples.ts';
import type { VacuumState } from './vacuum-state.ts';

/** Pages that change, pinned; -1 where there is none. */
interface Pages {
  readonly leaf: BufferId;
  readonly target: BufferId;
  left: BufferId;
  right: BufferId;
  meta: BufferId;
}

/**
 * Takes one page out. The leaf's pin stays.
 * @returns false when the siblings do not lead to the page and back: it stays as it is.
 * @throws StorageError XX002 when what is to be deleted is in use, 53100 when the WAL has no room: nothing has changed.
 */
export function unlinkPage(state: VacuumState, leaf: BufferId, scanBlock: BlockNumber): boolean {
  const { pool, main } = state.index;
  const lm = pool.memory(leaf);
  const top = downlink(lm, itemPosition(lm, pool.base(leaf), 1));
  const target = top === INVALID_BLOCK_NUMBER ? leaf : pool.pin(main, top);
  const pages: Pages = { leaf, target, left: -1, right: -1, meta: -1 };
  try {
    const nextTop = checkTarget(state, pages);
    if (!pinSiblings(state, pages)) return false;
    log(state, pages, nextTop, scanBlock);
    return true;
  } finally {
    if (target !== leaf) pool.unpin(target);
    for (const id of [pages.left, pages.right, pages.meta]) if (id >= 0) pool.unpin(id);
  }
}

/** The page that goes after the target, of those between it and the leaf. @throws StorageError XX002 when it may not go */
function checkTarget(state: VacuumState, pages: Pages): BlockNumber {
  const { pool, geometry } = state.index;
  const { size } = geometry;
  const { leaf, target } = pages;
  const m = pool.memory(target);
  const base = pool.base(target);
  const first = firstDataKey(m, base, size);
  const isInUse =
    btIsRightmost(m, base, size) || (btFlags(m, base, size) & BTP_ROOT) !== 0 || btIsDeleted(m, base, size);
  if (target === leaf) {
    if (isInUse || first <= pageMaxOffset(m, base)) throw inUse(state, target);
    return INVALID_BLOCK_NUMBER;
  }
  if (isInUse || btIsLeaf(m, base, size) || first !== pageMaxOffset(m, base)) throw inUse(state, target);
  const child = downlink(m, itemPosition(m, base, first));
  return child === pool.block(leaf) ? INVALID_BLOCK_NUMBER : child;
}

function inUse(state: VacuumState, id: BufferId): StorageError {
  const { relation, pool } = state.index;
  return new StorageError(
    'XX002',
    `block ${pool.block(id)} of index "${relation.name}" is to be deleted, and is in use`,
    { hint: 'Rebuild the index: drop it and create it again.' },
  );
}

/** Both siblings, and the meta page when the right one will be alone on its level. @returns false when links contradict */
function pinSiblings(state: VacuumState, pages: Pages): boolean {
  const { pool, main, geometry } = state.index;
  const { size } = geometry;
  const { target } = pages;
  const m = pool.memory(target);
  const base = pool.base(target);
  const block = pool.block(target);
  const level = btLevel(m, base, size);
  const left = btPrev(m, base, size);
  const right = btNext(m, base, size);
  if (!main.hasBlock(left) || !main.hasBlock(right) || left === block || right === block) {
    state.warn(`the links of block ${block}, to blocks ${left} and ${right}, lead nowhere`);
    return false;
  }
  if (left !== P_NONE) {
    pages.left = pool.pin(main, left);
    const lm = pool.memory(pages.left);
    const lb = pool.base(pages.left);
    if (btNext(lm, lb, size) !== block || btIsDeleted(lm, lb, size)) {
      state.warn(`the left sibling of block ${block}, block ${left}, leads to block ${btNext(lm, lb, size)}`);
      return false;
    }
  }
  pages.right = pool.pin(main, right);
  const rm = pool.memory(pages.right);
  const rb = pool.base(pages.right);
  if (btPrev(rm, rb, size) !== block) {
    state.warn(`the right sibling of block ${block}, block ${right}, leads to block ${btPrev(rm, rb, size)}`);
    return false;
  }
  state.rightIsEmpty = pageMaxOffset(rm, rb) < firstDataKey(rm, rb, size);
  if (left === P_NONE && btIsRightmost(rm, rb, size)) {
    pages.meta = pool.pin(main, BTREE_METAPAGE);
    // The fast root is the lowest page that is alone on its level: this one's level is the next below it.
    if (readMeta(pool.memory(pages.meta), pool.base(pages.meta)).fastlevel > level + 1) {
      pool.unpin(pages.meta);
      pages.meta = -1;
    }
  }
  return true;
}

function log(state: VacuumState, pages: Pages, nextTop: BlockNumber, scanBlock: BlockNumber): void {
  const { index } = state;
  const { relation, pool, main, geometry: g } = index;
  const { size } = g;
  const { leaf, target, left, right, meta } = pages;
  const m = pool.memory(target);
  const base = pool.base(target);
  const leftBlock = btPrev(m, base, size);
  const rightBlock = btNext(m, base, size);
  const level = btLevel(m, base, size);
  const leafMemory = pool.memory(leaf);
  const leafBase = pool.base(leaf);
  const leafLeft = btPrev(leafMemory, leafBase, size);
  const leafRight = btNext(leafMemory, leafBase, size);
  const safeXid = state.safeXid();
  const data: MetaData | undefined =
    meta < 0 ? undefined : { ...readMeta(pool.memory(meta), pool.base(meta)), fastroot: rightBlock, fastlevel: level };
  const info = data === undefined ? XLOG_BTREE_UNLINK_PAGE : XLOG_BTREE_UNLINK_PAGE_META;
  relation.log.begin(relation, RM_BTREE, info, 5, UNLINK_BYTES + METADATA_BYTES);
  try {
    if (left >= 0) setBtNext(pool.memory(left), pool.base(left), size, rightBlock);
    setBtPrev(pool.memory(right), pool.base(right), size, leftBlock);
    fillDeletedPage(m, base, g, leftBlock, rightBlock, level, safeXid);
    if (target !== leaf) fillHalfDeadLeaf(leafMemory, leafBase, g, leafLeft, leafRight, nextTop);
    if (data !== undefined) writeMeta(pool.memory(meta), pool.base(meta), data);

    const out = relation.log;
    out.u32(leftBlock);
    out.u32(rightBlock);
    out.u32(level);
    out.u32(0);
    out.u32(lowWord(safeXid));
    out.u32(highWord(safeXid));
    out.u32(leafLeft);
    out.u32(leafRight);
    out.u32(nextTop);
    out.page(UNLINK_BLOCK_TARGET, main, target, PAGE_WILL_INIT);
    if (left >= 0) out.page(UNLINK_BLOCK_LEFT, main, left, PAGE_STANDARD);
    out.page(UNLINK_BLOCK_RIGHT, main, right, PAGE_STANDARD);
    if (target !== leaf) out.page(UNLINK_BLOCK_LEAF, main, leaf, PAGE_WILL_INIT);
    if (data !== undefined) {
      out.page(UNLINK_BLOCK_META, main, meta, PAGE_WILL_INIT | PAGE_STANDARD);
      putMetadata(index, data);
    }
    out.finish(0);
  } catch (error) {
    relation.log.panic(error);
  }
  if (data !== undefined) index.forgetMeta();
  state.noteDeleted(pool.block(target), safeXid, scanBlock);
}
