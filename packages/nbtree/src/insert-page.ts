// A tuple onto the leaf page where it belongs: into a posting list when its TID lies in one, with a split when there is no
// room. PostgreSQL: `_bt_insertonpg`, nbtinsert.c.
import { PAGE_STANDARD } from '@blockwright/access';
import { type BlockNumber, type BufferId, type OffsetNumber, StorageError } from '@blockwright/base';
import { itemPosition, LP_DEAD, linePointer, lpFlags, type PageMemory, pageFreeSpace } from '@blockwright/page';
import { indexTupleBlock, indexTupleOffset, type TupleMemory } from '@blockwright/tuple';
import { RM_BTREE } from '@blockwright/wal';
import type { BtreeIndex } from './btree.ts';
import { copyWords } from './copy-tuple.ts';
import { splitAndLink } from './finish-split.ts';
import { BTP_ROOT, btFlags, btIsRightmost } from './page.ts';
import { placeItem } from './place-item.ts';
import { swapPosting } from './posting.ts';
import {
  INSERT_BLOCK_PAGE,
  INSERT_BYTES,
  POSTING_OFFSET_BYTES,
  XLOG_BTREE_INSERT_LEAF,
  XLOG_BTREE_INSERT_POST,
} from './record-format.ts';
import type { DescentStack } from './search.ts';
import { splitTask } from './split.ts';
import { isPosting } from './tuples.ts';
import { workspaceOf } from './workspace.ts';

/**
 * Inserts the tuple at `newPos` into a pinned leaf page, at `offset`; with `place` not 0 its TID goes into the posting list
 * there. A page without room is split. The pin stays.
 * @param stack how the page was found; `depth` of it lie above the page
 * @throws StorageError 53100 when there is no room: the tuple is in the index if the page itself was split, else not; what
 * is left to do of a split, the next insert does. XX002 for damaged pages.
 */
export function insertOnLeaf(
  index: BtreeIndex,
  buffer: BufferId,
  stack: DescentStack,
  depth: number,
  newM: TupleMemory,
  newPos: number,
  newLength: number,
  offset: OffsetNumber,
  place: number,
): void {
  if (place !== 0) {
    insertIntoPosting(index, buffer, stack, depth, newM, newPos, newLength, offset, place);
    return;
  }
  const { pool } = index;
  const m = pool.memory(buffer);
  const base = pool.base(buffer);
  if (pageFreeSpace(m, base) >= newLength) {
    placeOnLeaf(index, buffer, m, base, newM, newPos, newLength, offset);
    return;
  }
  splitTask.start(index, buffer, -1, newM, newPos, newLength, offset);
  splitAndLink(stack, depth);
}

function placeOnLeaf(
  index: BtreeIndex,
  buffer: BufferId,
  m: PageMemory,
  base: number,
  newM: TupleMemory,
  newPos: number,
  newLength: number,
  offset: OffsetNumber,
): void {
  const { relation, geometry } = index;
  const { log, main } = relation;
  log.begin(relation, RM_BTREE, XLOG_BTREE_INSERT_LEAF, 1, INSERT_BYTES + newLength);
  try {
    placeItem(m, base, newM, newPos, newLength, offset);
    log.u16(offset);
    log.page(INSERT_BLOCK_PAGE, main, buffer, PAGE_STANDARD);
    log.bytes(newM.u8, newPos, newLength);
    log.finish(0);
  } catch (error) {
    log.panic(error);
  }
  const flags = btFlags(m, base, geometry.size);
  if ((flags & BTP_ROOT) === 0 && btIsRightmost(m, base, geometry.size)) index.rightmostLeaf = index.pool.block(buffer);
}

/** The new TID goes into the list, and the list's last one becomes the new tuple's, which follows the list. */
function insertIntoPosting(
  index: BtreeIndex,
  buffer: BufferId,
  stack: DescentStack,
  depth: number,
  newM: TupleMemory,
  newPos: number,
  newLength: number,
  offset: OffsetNumber,
  place: number,
): void {
  const { pool, geometry } = index;
  const m = pool.memory(buffer);
  const base = pool.base(buffer);
  const listPos = itemPosition(m, base, offset);
  if (!isPosting(m, listPos) || lpFlags(linePointer(m, base, offset)) === LP_DEAD) {
    throw overlaps(index, pool.block(buffer), offset, newM, newPos);
  }
  const { posting, swapped } = workspaceOf(geometry);
  copyWords(newM, newPos, swapped, 0, newLength);
  const listLength = swapPosting(swapped, 0, m, listPos, place, posting, 0);
  if (pageFreeSpace(m, base) < newLength) {
    splitTask.start(index, buffer, -1, swapped, 0, newLength, offset + 1);
    splitTask.place = place;
    splitTask.postingM = posting;
    splitTask.originalM = newM;
    splitTask.originalPos = newPos;
    splitAndLink(stack, depth);
    return;
  }
  const { relation } = index;
  const { log, main } = relation;
  log.begin(relation, RM_BTREE, XLOG_BTREE_INSERT_POST, 1, INSERT_BYTES + POSTING_OFFSET_BYTES + newLength);
  try {
    copyWords(posting, 0, m, listPos, listLength);
    placeItem(m, base, swapped, 0, newLength, offset + 1);
    log.u16(offset + 1);
    log.page(INSERT_BLOCK_PAGE, main, buffer, PAGE_STANDARD);
    log.u16(place);
    log.bytes(newM.u8, newPos, newLength);
    log.finish(0);
  } catch (error) {
    log.panic(error);
  }
}

function overlaps(
  index: BtreeIndex,
  block: BlockNumber,
  offset: OffsetNumber,
  newM: TupleMemory,
  newPos: number,
): StorageError {
  const row = `(${indexTupleBlock(newM, newPos)},${indexTupleOffset(newM, newPos)})`;
  return new StorageError('XX002', `index "${index.relation.name}" has an entry for row ${row} already`, {
    detail: `It is item ${offset} of block ${block}.`,
    hint: 'Rebuild the index: drop it and create it again.',
  });
}
