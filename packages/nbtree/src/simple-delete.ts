// Simple deletion: before a leaf page would be split its dead items go, and with them entries that turn out to be dead,
// too, of rows on the blocks that the dead ones pointed to: those blocks are likely to be in memory, and to have more.
// PostgreSQL: `_bt_simpledel_pass`, nbtinsert.c, and `_bt_delitems_delete`, nbtpage.c.
import { PAGE_STANDARD } from '@blockwright/access';
import type { BlockNumber, BufferId } from '@blockwright/base';
import {
  copyPage,
  itemPosition,
  LP_DEAD,
  linePointer,
  lpFlags,
  type PageMemory,
  pageIndexMultiDelete,
  pageIndexTupleOverwrite,
  pageMaxOffset,
  restoreTempPage,
} from '@blockwright/page';
import { indexTupleBlock, type TupleMemory } from '@blockwright/tuple';
import { RM_BTREE } from '@blockwright/wal';
import type { BtreeIndex } from './btree.ts';
import { blockAtWord, type DeletionList, tidCountOf, tidWordAfter, tidWordOf } from './deletion-list.ts';
import { BTP_HAS_GARBAGE, btFlags, firstDataKey, setBtFlags } from './page.ts';
import { updatePosting } from './posting.ts';
import { BLOCK_PAGE, DELETE_BYTES, XLOG_BTREE_DELETE } from './record-format.ts';
import { workspaceOf } from './workspace.ts';

/**
 * Deletes the dead items of a leaf page, with what else can go.
 * @param newPos of the tuple that is to be inserted: its row's block is looked at, too
 * @returns false when no item was dead.
 * @throws StorageError 53100 when the WAL has no room: nothing has changed.
 */
export function deleteDeadItems(index: BtreeIndex, buffer: BufferId, newM: TupleMemory, newPos: number): boolean {
  const { pool, geometry } = index;
  const m = pool.memory(buffer);
  const base = pool.base(buffer);
  const first = firstDataKey(m, base, geometry.size);
  const last = pageMaxOffset(m, base);
  let o = first;
  while (o <= last && lpFlags(linePointer(m, base, o)) !== LP_DEAD) o++;
  if (o > last) return false;
  const list = workspaceOf(geometry).deletions;
  gather(m, base, first, last, deadBlocks(m, base, o, last, indexTupleBlock(newM, newPos)), list);
  askTable(index, list);
  deleteListed(index, buffer, list);
  return true;
}

/** Blocks of the rows of dead items from offset `o` on, and `newBlock`. PostgreSQL: `_bt_deadblocks`. */
function deadBlocks(
  m: PageMemory,
  base: number,
  o: number,
  last: number,
  newBlock: BlockNumber,
): ReadonlySet<BlockNumber> {
  const blocks = new Set<BlockNumber>([newBlock]);
  for (; o <= last; o++) {
    if (lpFlags(linePointer(m, base, o)) !== LP_DEAD) continue;
    const pos = itemPosition(m, base, o);
    const count = tidCountOf(m, pos);
    const word = tidWordOf(m, pos);
    for (let i = 0; i < count; i++) blocks.add(blockAtWord(m, tidWordAfter(word, i)));
  }
  return blocks;
}

/** Every TID of the page that leads to one of the blocks; those of dead items do. */
function gather(
  m: PageMemory,
  base: number,
  first: number,
  last: number,
  blocks: ReadonlySet<BlockNumber>,
  list: DeletionList,
): void {
  list.clear();
  for (let o = first; o <= last; o++) {
    const isDead = lpFlags(linePointer(m, base, o)) === LP_DEAD;
    const pos = itemPosition(m, base, o);
    const count = tidCountOf(m, pos);
    const start = tidWordOf(m, pos);
    for (let i = 0; i < count; i++) {
      const word = tidWordAfter(start, i);
      const block = blockAtWord(m, word);
      if (blocks.has(block)) list.add(block, m.u16[word + 2], o, i, isDead, false, 0);
    }
  }
}

/** Asks the table for those that are not known to be dead. */
function askTable(index: BtreeIndex, list: DeletionList): void {
  const { table } = index;
  if (table === undefined) return;
  list.sortByTid();
  const { order, isDead, answers } = list;
  let asked = 0;
  for (let i = 0; i < list.count; i++) {
    const entry = order[i];
    if (isDead[entry] === 1) continue;
    list.askedBlocks[asked] = list.blocks[entry];
    list.askedOffsets[asked] = list.offsets[entry];
    order[asked++] = entry;
  }
  if (asked === 0) return;
  table.deletable(list.askedBlocks, list.askedOffsets, asked, answers, asked);
  for (let i = 0; i < asked; i++) if (answers[i] === 1) isDead[order[i]] = 1;
}

/**
 * Deletes the entries of the list that are dead: whole items, and TIDs out of posting lists.
 * @returns false when none is.
 * @throws StorageError 53100 when the WAL has no room: nothing has changed.
 */
export function deleteListed(index: BtreeIndex, buffer: BufferId, list: DeletionList): boolean {
  const { relation, pool, geometry } = index;
  const m = pool.memory(buffer);
  const base = pool.base(buffer);
  sortOut(m, base, list);
  const { deletedCount, updatedCount } = counts;
  if (deletedCount === 0 && updatedCount === 0) return false;
  const { leftPage: page, tuple, compaction } = workspaceOf(geometry);
  copyPage(m, base, page, 0, geometry);
  const { updated, updateStarts, updatePlaces } = list;
  for (let i = 0; i < updatedCount; i++) {
    const from = updateStarts[i];
    const length = updatePosting(
      m,
      itemPosition(m, base, updated[i]),
      updatePlaces,
      from,
      updateStarts[i + 1] - from,
      tuple,
      0,
    );
    pageIndexTupleOverwrite(page, 0, geometry, updated[i], tuple.u8, 0, length);
  }
  if (deletedCount > 0) {
    pageIndexMultiDelete(page, 0, geometry, list.deleted, deletedCount, compaction, relation.compaction);
  }
  setBtFlags(page, 0, geometry.size, btFlags(page, 0, geometry.size) & ~BTP_HAS_GARBAGE);
  logDeletion(index, buffer, page, list);
  return true;
}

/** Of {@link sortOut}: kept apart, so that a list's arrays stay as they are. */
const counts = { deletedCount: 0, updatedCount: 0 };

/** Which items go whole, and which posting lists lose some TIDs. */
function sortOut(m: PageMemory, base: number, list: DeletionList): void {
  const { items, places, isDead, updateStarts, updatePlaces } = list;
  let deleted = 0;
  let updated = 0;
  let at = 0;
  for (let i = 0; i < list.count; ) {
    const item = items[i];
    const start = at;
    for (; i < list.count && items[i] === item; i++) if (isDead[i] === 1) updatePlaces[at++] = places[i];
    if (at === start) continue;
    if (at - start === tidCountOf(m, itemPosition(m, base, item))) {
      list.deleted[deleted++] = item;
      at = start;
    } else {
      updateStarts[updated] = start;
      list.updated[updated++] = item;
    }
  }
  updateStarts[updated] = at;
  counts.deletedCount = deleted;
  counts.updatedCount = updated;
}

function logDeletion(index: BtreeIndex, buffer: BufferId, page: PageMemory, list: DeletionList): void {
  const { relation, pool, geometry } = index;
  const { log, main } = relation;
  const { deletedCount, updatedCount } = counts;
  const { deleted, updated, updateStarts, updatePlaces } = list;
  const words = deletedCount + (updatedCount << 1) + updateStarts[updatedCount];
  log.begin(relation, RM_BTREE, XLOG_BTREE_DELETE, 1, DELETE_BYTES + (words << 1));
  try {
    restoreTempPage(page, pool.memory(buffer), pool.base(buffer), geometry);
    log.u32(0);
    log.u16(deletedCount);
    log.u16(updatedCount);
    log.u8(0);
    log.page(BLOCK_PAGE, main, buffer, PAGE_STANDARD);
    for (let i = 0; i < deletedCount; i++) log.u16(deleted[i]);
    for (let i = 0; i < updatedCount; i++) log.u16(updated[i]);
    for (let i = 0; i < updatedCount; i++) {
      log.u16(updateStarts[i + 1] - updateStarts[i]);
      for (let at = updateStarts[i]; at < updateStarts[i + 1]; at++) log.u16(updatePlaces[at]);
    }
    log.finish(0);
  } catch (error) {
    log.panic(error);
  }
}
