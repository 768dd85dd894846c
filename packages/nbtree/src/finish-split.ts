// The second half of a split: the new right page gets its downlink in the parent, which may be split in turn. What a crash
// or a full disk has left undone, the next insert that meets the page does. PostgreSQL: `_bt_insert_parent`,
// `_bt_finish_split`, `_bt_getstackbuf`, nbtinsert.c.
import { PAGE_STANDARD, PAGE_WILL_INIT } from '@blockwright/access';
import { type BlockNumber, type BufferId, type OffsetNumber, StorageError } from '@blockwright/base';
import { itemPosition, pageFreeSpace } from '@blockwright/page';
import { RM_BTREE } from '@blockwright/wal';
import type { BtreeIndex } from './btree.ts';
import { copyTuple } from './copy-tuple.ts';
import { downlinkOffset, leftmostOfLevel } from './find-parent.ts';
import { BTREE_METAPAGE, type MetaData, readMeta, writeMeta } from './meta.ts';
import { makeNewRoot, putMetadata } from './new-root.ts';
import { BTP_ROOT, btFlags, btIgnore, btIncompleteSplit, btIsRightmost, btLevel, btNext, btPrev } from './page.ts';
import { placeItem } from './place-item.ts';
import {
  INSERT_BLOCK_CHILD,
  INSERT_BLOCK_META,
  INSERT_BLOCK_PAGE,
  INSERT_BYTES,
  METADATA_BYTES,
  XLOG_BTREE_INSERT_META,
  XLOG_BTREE_INSERT_UPPER,
} from './record-format.ts';
import type { DescentStack } from './search.ts';
import { clearIncomplete, splitPage, splitTask } from './split.ts';
import { setDownlink } from './tuples.ts';
import { workspaceOf } from './workspace.ts';

/**
 * Splits the page of {@link splitTask}, and gives the new right page its downlink. Pins stay.
 * @param depth of the stack above the page
 */
export function splitAndLink(stack: DescentStack, depth: number): void {
  const { index, buffer } = splitTask;
  const { pool, geometry } = index;
  const { size } = geometry;
  const m = pool.memory(buffer);
  const base = pool.base(buffer);
  const isRoot = (btFlags(m, base, size) & BTP_ROOT) !== 0;
  const isOnly = btPrev(m, base, size) === 0 && btNext(m, base, size) === 0;
  const right = splitPage();
  try {
    insertDownlink(index, buffer, right, stack, depth, isRoot, isOnly);
  } finally {
    pool.unpin(right);
  }
}

/**
 * Completes the split of a pinned page, whose pin stays: its right sibling gets its downlink.
 * @param depth of the stack above the page; 0 when it is not known how the page was found
 * @throws StorageError 53100 when there is no room: the split is still incomplete, the tree as good as it was.
 */
export function finishSplit(index: BtreeIndex, buffer: BufferId, stack: DescentStack, depth: number): void {
  const { pool, main, geometry } = index;
  const { size } = geometry;
  const m = pool.memory(buffer);
  const base = pool.base(buffer);
  const isRoot =
    depth === 0 && pool.withPage(main, BTREE_METAPAGE, (meta, at) => readMeta(meta, at).root) === pool.block(buffer);
  const right = pool.pin(main, btNext(m, base, size));
  try {
    const isOnly = btPrev(m, base, size) === 0 && btIsRightmost(pool.memory(right), pool.base(right), size);
    insertDownlink(index, buffer, right, stack, depth, isRoot, isOnly);
  } finally {
    pool.unpin(right);
  }
}

function insertDownlink(
  index: BtreeIndex,
  left: BufferId,
  right: BufferId,
  stack: DescentStack,
  depth: number,
  isRoot: boolean,
  isOnly: boolean,
): void {
  if (isRoot) {
    makeNewRoot(index, left, right);
    return;
  }
  const { pool, geometry } = index;
  const m = pool.memory(left);
  const base = pool.base(left);
  let above = depth - 1;
  if (depth === 0) {
    // Every page of the level above may be it, from the leftmost one on.
    above = 0;
    stack.blocks[0] = leftmostOfLevel(index, btLevel(m, base, geometry.size) + 1);
    stack.offsets[0] = 0;
  }
  const parent = findDownlink(index, stack, above, pool.block(left));
  if (parent < 0) throw noDownlink(index, pool.block(left), pool.block(right));
  try {
    // Made only now: on the way to the parent other splits may have been completed.
    const { downlink } = workspaceOf(geometry);
    const length = copyTuple(m, itemPosition(m, base, 1), downlink, 0);
    setDownlink(downlink, 0, pool.block(right));
    insertOnInternal(index, parent, stack.offsets[above] + 1, left, stack, above, length, isOnly);
  } finally {
    pool.unpin(parent);
  }
}

/**
 * Finds the downlink to `child` again, from where entry `at` of the stack says on, and to the right over the level; splits
 * on the way that are not complete are completed. The entry says then where it is.
 * @returns the parent, pinned; -1 when there is none.
 */
export function findDownlink(index: BtreeIndex, stack: DescentStack, at: number, child: BlockNumber): BufferId {
  const { pool, main, geometry } = index;
  const { size } = geometry;
  let block = stack.blocks[at];
  let start = stack.offsets[at];
  for (;;) {
    const id = pool.pin(main, block);
    let keepsPin = false;
    try {
      const m = pool.memory(id);
      const base = pool.base(id);
      if (btIncompleteSplit(m, base, size)) finishSplit(index, id, stack, at);
      const offset = btIgnore(m, base, size) ? 0 : downlinkOffset(m, base, size, start, child);
      if (offset !== 0) {
        stack.blocks[at] = block;
        stack.offsets[at] = offset;
        keepsPin = true;
        return id;
      }
      if (btIsRightmost(m, base, size)) return -1;
      block = btNext(m, base, size);
      start = 0;
    } finally {
      if (!keepsPin) pool.unpin(id);
    }
  }
}

/** The downlink of the workspace onto a page above the leaves, which completes the split of `child`. */
function insertOnInternal(
  index: BtreeIndex,
  buffer: BufferId,
  offset: OffsetNumber,
  child: BufferId,
  stack: DescentStack,
  depth: number,
  length: number,
  childWasOnly: boolean,
): void {
  const { relation, pool, geometry } = index;
  const { size } = geometry;
  const m = pool.memory(buffer);
  const base = pool.base(buffer);
  const { downlink } = workspaceOf(geometry);
  if (pageFreeSpace(m, base) < length) {
    splitTask.start(index, buffer, child, downlink, 0, length, offset);
    splitAndLink(stack, depth);
    return;
  }
  const { log, main } = relation;
  const meta = childWasOnly ? pool.pin(main, BTREE_METAPAGE) : -1;
  try {
    const data = meta >= 0 ? newFastRoot(index, meta, buffer, btLevel(m, base, size)) : undefined;
    const info = data === undefined ? XLOG_BTREE_INSERT_UPPER : XLOG_BTREE_INSERT_META;
    log.begin(relation, RM_BTREE, info, 3, INSERT_BYTES + length + METADATA_BYTES);
    try {
      placeItem(m, base, downlink, 0, length, offset);
      clearIncomplete(pool.memory(child), pool.base(child), size);
      log.u16(offset);
      log.page(INSERT_BLOCK_PAGE, main, buffer, PAGE_STANDARD);
      log.bytes(downlink.u8, 0, length);
      log.page(INSERT_BLOCK_CHILD, main, child, PAGE_STANDARD);
      if (data !== undefined) {
        writeMeta(pool.memory(meta), pool.base(meta), data);
        log.page(INSERT_BLOCK_META, main, meta, PAGE_WILL_INIT | PAGE_STANDARD);
        putMetadata(index, data);
      }
      log.finish(0);
    } catch (error) {
      log.panic(error);
    }
    if (data !== undefined) index.forgetMeta();
  } finally {
    if (meta >= 0) pool.unpin(meta);
  }
}

/** The child was alone on its level and may have been the fast root: the parent is then, unless a higher page is already. */
function newFastRoot(index: BtreeIndex, meta: BufferId, parent: BufferId, level: number): MetaData | undefined {
  const { pool } = index;
  const data = readMeta(pool.memory(meta), pool.base(meta));
  return data.fastlevel >= level ? undefined : { ...data, fastroot: pool.block(parent), fastlevel: level };
}

function noDownlink(index: BtreeIndex, child: BlockNumber, right: BlockNumber): StorageError {
  return new StorageError(
    'XX002',
    `index "${index.relation.name}" has no downlink to block ${child}, which was split into it and block ${right}`,
    { hint: 'Rebuild the index: drop it and create it again.' },
  );
}
