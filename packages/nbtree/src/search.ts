// The way down: from the root to the leaf page on which a key belongs, over pages that were split or deleted since the
// link to them was read. PostgreSQL: `_bt_search`, `_bt_moveright`, `_bt_binsrch`, `_bt_endpoint`, nbtsearch.c; `_bt_getroot`, nbtpage.c.
import { PAGE_STANDARD, PAGE_WILL_INIT } from '@blockwright/access';
import type { BlockNumber, BufferId, OffsetNumber, StorageError } from '@blockwright/base';
import {
  itemIsInBounds,
  itemPosition,
  linePointer,
  lpLength,
  lpOffset,
  type PageMemory,
  pageBoundsAreSane,
  pageIsNew,
  pageMaxOffset,
  pageSpecial,
  pageUpper,
} from '@blockwright/page';
import { RM_BTREE } from '@blockwright/wal';
import { type BtreeIndex, MOST_LEVELS } from './btree.ts';
import { compareToTuple } from './compare.ts';
import { corrupted } from './errors.ts';
import { finishSplit } from './finish-split.ts';
import { allocatePage } from './free-pages.ts';
import { BTREE_METAPAGE, readMeta, writeMeta } from './meta.ts';
import { putMetadata } from './new-root.ts';
import {
  BTP_LEAF,
  BTP_META,
  BTP_ROOT,
  btFlags,
  btIgnore,
  btIncompleteSplit,
  btInitPage,
  btIsLeaf,
  btIsLeftmost,
  btIsRightmost,
  btLevel,
  btNext,
  firstDataKey,
  SIZE_OF_BTREE_SPECIAL,
  setBtFlags,
} from './page.ts';
import {
  METADATA_BYTES,
  NEWROOT_BLOCK_META,
  NEWROOT_BLOCK_ROOT,
  NEWROOT_BYTES,
  XLOG_BTREE_NEWROOT,
} from './record-format.ts';
import type { SearchKey } from './search-key.ts';
import { downlink } from './tuples.ts';

/** The pages above a leaf by which it was reached, the root first, and the offset of the downlink taken on each. */
export class DescentStack {
  depth = 0;
  readonly blocks: Uint32Array = new Uint32Array(MOST_LEVELS + 1);
  readonly offsets: Uint16Array = new Uint16Array(MOST_LEVELS + 1);
}

/**
 * Pins the leaf page on which the key belongs: the first one whose high key is not less (greater, with `nextkey`).
 * @param forInsert incomplete splits on the way are completed, and an index without a root gets one
 * @returns -1 when the index is empty
 * @throws StorageError XX002 when the tree is damaged: links that lead nowhere, in circles or to another level.
 */
export function descend(index: BtreeIndex, key: SearchKey, stack: DescentStack, forInsert: boolean): BufferId {
  const { pool, main, geometry, name } = index;
  const { size } = geometry;
  stack.depth = 0;
  let id = pinRoot(index, forInsert);
  if (id < 0) return id;
  try {
    for (;;) {
      id = moveRight(index, key, id, stack, forInsert);
      const m = pool.memory(id);
      const base = pool.base(id);
      const level = btLevel(m, base, size);
      if (level === 0) return id;
      const block = pool.block(id);
      const offset = binarySearch(index, key, m, base, block);
      if (offset < firstDataKey(m, base, size)) throw corrupted(name, block, 'a page above the leaves is empty');
      const child = downlink(m, checkedPosition(index, m, base, offset, block));
      if (stack.depth > MOST_LEVELS) throw corrupted(name, block, 'the way down leads in a circle');
      stack.blocks[stack.depth] = block;
      stack.offsets[stack.depth++] = offset;
      if (!main.hasBlock(child))
        throw corrupted(name, block, `item ${offset} leads to block ${child}, which is not there`);
      const next = pool.pin(main, child);
      pool.unpin(id);
      id = next;
      checkPage(index, id, level - 1);
    }
  } catch (error) {
    pool.unpin(id);
    throw error;
  }
}

/** Pins the leftmost or the rightmost leaf page; -1 when the index is empty. PostgreSQL: `_bt_get_endpoint`. */
export function descendToEnd(index: BtreeIndex, rightmost: boolean): BufferId {
  const { pool, main, geometry, name } = index;
  const { size } = geometry;
  let id = pinRoot(index, false);
  if (id < 0) return id;
  try {
    for (let depth = 0; ; depth++) {
      for (let steps = 0; ; steps++) {
        const m = pool.memory(id);
        const base = pool.base(id);
        const goesRight = btIgnore(m, base, size) || (rightmost && !btIsRightmost(m, base, size));
        if (!goesRight) break;
        id = stepRight(index, id, steps);
      }
      const m = pool.memory(id);
      const base = pool.base(id);
      const level = btLevel(m, base, size);
      if (level === 0) return id;
      const block = pool.block(id);
      if (depth > MOST_LEVELS) throw corrupted(name, block, 'the way down leads in a circle');
      const first = firstDataKey(m, base, size);
      const last = pageMaxOffset(m, base);
      if (last < first) throw corrupted(name, block, 'a page above the leaves is empty');
      const child = downlink(m, checkedPosition(index, m, base, rightmost ? last : first, block));
      if (!main.hasBlock(child)) throw corrupted(name, block, `it leads to block ${child}, which is not there`);
      const next = pool.pin(main, child);
      pool.unpin(id);
      id = next;
      checkPage(index, id, level - 1);
    }
  } catch (error) {
    pool.unpin(id);
    throw error;
  }
}

/**
 * To the right, as long as the key is beyond the page's high key, or the page holds no keys. Gives the pin of where it ends;
 * when it throws, the pin of `from` is still held.
 */
export function moveRight(
  index: BtreeIndex,
  key: SearchKey,
  from: BufferId,
  stack: DescentStack,
  forInsert: boolean,
): BufferId {
  const { pool, geometry } = index;
  const { size } = geometry;
  const least = key.nextkey ? 0 : 1;
  let id = from;
  for (let steps = 0; ; ) {
    const m = pool.memory(id);
    const base = pool.base(id);
    if (btIsRightmost(m, base, size)) {
      if (!btIgnore(m, base, size)) return id;
      throw corrupted(index.name, pool.block(id), 'the search fell off the right end of the level');
    }
    if (forInsert && btIncompleteSplit(m, base, size)) {
      finishSplit(index, id, stack, stack.depth);
      continue;
    }
    if (!btIgnore(m, base, size) && compareToTuple(index, key, m, itemPosition(m, base, 1)) < least) return id;
    id = stepRight(index, id, steps++);
  }
}

/**
 * On a leaf: the first offset whose item is not less than the key (greater, with `nextkey`), one more than the last when
 * there is none. Above: the last offset whose item is less (not greater): where to go down.
 * @param block of the page, for messages
 * @throws StorageError XX002 for a line pointer that leads out of the page's items.
 */
export function binarySearch(
  index: BtreeIndex,
  key: SearchKey,
  m: PageMemory,
  base: number,
  block: BlockNumber,
): OffsetNumber {
  const { size } = index.geometry;
  const isLeaf = btIsLeaf(m, base, size);
  const first = firstDataKey(m, base, size);
  let low = first;
  let high = pageMaxOffset(m, base) + 1;
  if (!isLeaf && low < high) low++; // the first item above the leaves is less than everything
  const least = key.nextkey ? 0 : 1;
  const upper = pageUpper(m, base);
  const special = pageSpecial(m, base);
  // Items of a leaf have all attributes: without a TID to compare, nothing else decides.
  const isPlain = isLeaf && key.heapOffset === 0;
  const { compare } = index.format;
  const { memory, pos, natts } = key;
  while (high > low) {
    const middle = low + ((high - low) >>> 1);
    const lp = linePointer(m, base, middle);
    if (!itemIsInBounds(lp, upper, special)) throw wildLinePointer(index, lp, middle, block);
    const at = base + (lp & 0x7fff);
    const order = isPlain ? compare(memory, pos, m, at, natts) : compareToTuple(index, key, m, at);
    if (order >= least) low = middle + 1;
    else high = middle;
  }
  return isLeaf ? low : low - 1;
}

/** The byte of item `offset`. @throws StorageError XX002 when the item lies outside the page's. */
function checkedPosition(
  index: BtreeIndex,
  m: PageMemory,
  base: number,
  offset: OffsetNumber,
  block: BlockNumber,
): number {
  const lp = linePointer(m, base, offset);
  if (!itemIsInBounds(lp, pageUpper(m, base), pageSpecial(m, base))) throw wildLinePointer(index, lp, offset, block);
  return base + lpOffset(lp);
}

export function wildLinePointer(index: BtreeIndex, lp: number, offset: OffsetNumber, block: BlockNumber): StorageError {
  const what = `line pointer ${offset} leads to byte ${lpOffset(lp)}, ${lpLength(lp)} bytes long, which is no item`;
  return corrupted(index.name, block, what);
}

/** The page to the right, in place of the pinned one, whose pin is given back. Throws before it is. */
export function stepRight(index: BtreeIndex, id: BufferId, steps: number): BufferId {
  const { pool, main, geometry, name } = index;
  const m = pool.memory(id);
  const base = pool.base(id);
  const block = pool.block(id);
  if (btIsRightmost(m, base, geometry.size))
    throw corrupted(name, block, 'the search fell off the right end of the level');
  const right = btNext(m, base, geometry.size);
  if (right === block || !main.hasBlock(right))
    throw corrupted(name, block, `its right sibling is said to be block ${right}`);
  if (!main.hasBlock(steps)) throw corrupted(name, block, 'right siblings lead in a circle');
  const level = btLevel(m, base, geometry.size);
  const next = pool.pin(main, right);
  try {
    checkPage(index, next, level);
  } catch (error) {
    pool.unpin(next);
    throw error;
  }
  pool.unpin(id);
  return next;
}

/**
 * That a pinned page can be searched, as one of `level`: its bounds, special area and line pointers. PostgreSQL:
 * `_bt_checkpage`.
 * @throws StorageError XX002 when it cannot.
 */
export function checkPage(index: BtreeIndex, id: BufferId, level: number): void {
  const { pool, geometry, name } = index;
  const { size } = geometry;
  const m = pool.memory(id);
  const base = pool.base(id);
  const block = pool.block(id);
  if (pageIsNew(m, base)) throw corrupted(name, block, 'a page that the tree leads to is all zero');
  if (!pageBoundsAreSane(m, base, geometry) || pageSpecial(m, base) !== size - SIZE_OF_BTREE_SPECIAL) {
    throw corrupted(name, block, 'it is no page of a B-tree: its bounds are wrong');
  }
  const flags = btFlags(m, base, size);
  const own = btLevel(m, base, size);
  if ((flags & BTP_META) !== 0 || ((flags & BTP_LEAF) !== 0) !== (own === 0)) {
    throw corrupted(name, block, `it has flags ${flags} at level ${own}`);
  }
  if (btIgnore(m, base, size)) return;
  if (own !== level) throw corrupted(name, block, `it has level ${own} where one of level ${level} should be`);
  // The first item is read without a further look: it is the high key, where there is one.
  if (pageMaxOffset(m, base) > 0) checkedPosition(index, m, base, 1, block);
  else if (!btIsRightmost(m, base, size)) throw corrupted(name, block, 'it has no high key');
}

/** Pins the fast root; makes a root when there is none and one is needed. -1: there is none. PostgreSQL: `_bt_getroot`. */
function pinRoot(index: BtreeIndex, forInsert: boolean): BufferId {
  const { pool, main } = index;
  for (;;) {
    const isRemembered = index.remembersMeta;
    const { fastroot, fastlevel } = index.metaData();
    if (fastroot === 0) {
      if (isRemembered) index.forgetMeta();
      else if (forInsert) makeFirstRoot(index);
      else return -1;
      continue;
    }
    let id = pool.pin(main, fastroot);
    if (isRemembered) {
      if (isStillRoot(index, id, fastlevel)) return id;
      pool.unpin(id);
      index.forgetMeta();
      continue;
    }
    try {
      checkPage(index, id, fastlevel);
      for (let steps = 0; btIgnore(pool.memory(id), pool.base(id), index.geometry.size); steps++) {
        id = stepRight(index, id, steps);
      }
      return id;
    } catch (error) {
      pool.unpin(id);
      throw error;
    }
  }
}

/** Alone on its level, which is still the same. */
function isStillRoot(index: BtreeIndex, id: BufferId, level: number): boolean {
  const { pool, geometry } = index;
  const { size } = geometry;
  const m = pool.memory(id);
  const base = pool.base(id);
  return (
    !pageIsNew(m, base) &&
    !btIgnore(m, base, size) &&
    btLevel(m, base, size) === level &&
    btIsLeftmost(m, base, size) &&
    btIsRightmost(m, base, size)
  );
}

/** An empty leaf as root. PostgreSQL: the second half of `_bt_getroot`. */
function makeFirstRoot(index: BtreeIndex): void {
  const { pool, main, relation, geometry: g } = index;
  const { log } = relation;
  let meta = -1;
  const root = allocatePage(index);
  try {
    meta = pool.pin(main, BTREE_METAPAGE);
    const block = pool.block(root);
    const data = {
      ...readMeta(pool.memory(meta), pool.base(meta)),
      root: block,
      level: 0,
      fastroot: block,
      fastlevel: 0,
    };
    log.begin(relation, RM_BTREE, XLOG_BTREE_NEWROOT, 2, NEWROOT_BYTES + METADATA_BYTES);
    try {
      btInitPage(pool.memory(root), pool.base(root), g);
      setBtFlags(pool.memory(root), pool.base(root), g.size, BTP_LEAF | BTP_ROOT);
      writeMeta(pool.memory(meta), pool.base(meta), data);
      log.u32(block);
      log.u32(0);
      log.page(NEWROOT_BLOCK_ROOT, main, root, PAGE_WILL_INIT);
      log.page(NEWROOT_BLOCK_META, main, meta, PAGE_WILL_INIT | PAGE_STANDARD);
      putMetadata(index, data);
      log.finish(0);
    } catch (error) {
      log.panic(error);
    }
    index.forgetMeta();
  } finally {
    if (meta >= 0) pool.unpin(meta);
    pool.unpin(root);
  }
}
