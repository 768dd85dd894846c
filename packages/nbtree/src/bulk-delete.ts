// Bulk delete: every leaf in the order of blocks, each entry whose row is to go removed, emptied pages deleted, pages that
// nobody can reach any more given to the free space map. PostgreSQL: `btbulkdelete`, `btvacuumcleanup`, nbtree.c.
import type { BlockNumber, BufferId, Steps } from '@blockwright/base';
import { pageIsNew, pageMaxOffset } from '@blockwright/page';
import type { BtreeIndex } from './btree.ts';
import { needsCleanup, setCleanupInfo } from './cleanup-info.ts';
import { endVacuumCycle, startVacuumCycle } from './cycle-id.ts';
import { deletePage } from './delete-page.ts';
import { pageIsRecyclable, recordFreePage, recyclingHorizon, vacuumFreePages } from './free-pages.ts';
import { BTREE_METAPAGE } from './meta.ts';
import {
  BTP_SPLIT_END,
  btCycleId,
  btFlags,
  btIsDeleted,
  btIsHalfDead,
  btIsLeaf,
  btIsRightmost,
  btLevel,
  btNext,
  firstDataKey,
  P_NONE,
  setBtCycleId,
} from './page.ts';
import { checkPage } from './search.ts';
import { LeafVacuum } from './vacuum-leaf.ts';
import { type BulkDeleteStats, type IsDead, newBulkDeleteStats, VacuumState } from './vacuum-state.ts';

/** Blocks read ahead of the scan. */
const READ_AHEAD_BLOCKS = 16;

/**
 * Removes the entries of rows that are to go. Between two steps the index may be changed by anybody: what moves to a block
 * that was passed is found there. Items marked dead go only when `isDead` says so of their TIDs.
 * @param isDead asked of each TID of the index, in the order of blocks
 * @param stats of an earlier bulk delete of the same vacuum
 * @throws StorageError 55006 when another bulk delete of the index is under way; XX002 when a page is no B-tree's; 53100
 * when there is no room for WAL: what was done stays, and the next vacuum goes on.
 */
export function* btreeBulkDelete(
  index: BtreeIndex,
  isDead: IsDead,
  stats: BulkDeleteStats = newBulkDeleteStats(),
): Steps<BulkDeleteStats> {
  const cycle = startVacuumCycle(index);
  try {
    yield* scan(new VacuumState(index, stats, isDead, cycle));
  } finally {
    endVacuumCycle(index);
  }
  return stats;
}

/**
 * Ends a vacuum of the index. Without a bulk delete before it, the index is scanned only if pages that were deleted earlier
 * may be used again by now, as the meta page says; entries are not looked at then.
 * @param stats of the bulk deletes of this vacuum, if there were any
 * @returns what was found; `undefined` when there was nothing to do.
 * @throws as {@link btreeBulkDelete}
 */
export function* btreeVacuumCleanup(index: BtreeIndex, stats?: BulkDeleteStats): Steps<BulkDeleteStats | undefined> {
  let found = stats;
  if (found === undefined) {
    if (!needsCleanup(index)) return undefined;
    found = newBulkDeleteStats();
    yield* scan(new VacuumState(index, found, undefined, 0));
    found.estimatedCount = true;
  }
  setCleanupInfo(index, found.pagesDeleted - found.pagesFree);
  return found;
}

/** PostgreSQL: `btvacuumscan`. */
function* scan(state: VacuumState): Steps<void> {
  const { index, stats } = state;
  const { relation, pool, main } = index;
  const leaf = new LeafVacuum(state);
  stats.numPages = 0;
  stats.numIndexTuples = 0;
  stats.pagesDeleted = 0;
  stats.pagesFree = 0;
  let block = BTREE_METAPAGE + 1;
  for (let end = main.blockCount(); block < end; end = main.blockCount()) {
    for (let ahead = block; block < end; block++) {
      if (block >= ahead) {
        ahead = block + READ_AHEAD_BLOCKS;
        pool.readAhead(main, block, READ_AHEAD_BLOCKS, state.ring);
      }
      vacuumBlock(state, leaf, block);
      yield { phase: `vacuuming index ${relation.name}`, done: block + 1, total: end, unit: 'blocks' };
    }
  }
  stats.numPages = block;
  state.recordDeleted();
  if (stats.pagesFree > 0) vacuumFreePages(index);
}

/** One block, and those before it to which splits since the scan began moved tuples of it. PostgreSQL: `btvacuumpage`. */
function vacuumBlock(state: VacuumState, leaf: LeafVacuum, scanBlock: BlockNumber): void {
  const { pool, main } = state.index;
  for (let block = scanBlock; block !== P_NONE; ) {
    const id = pool.pin(main, block, state.ring);
    let isPinned = true;
    try {
      const isScanned = block === scanBlock;
      if (!isScanned && !isToDo(state, id)) return;
      // Asked before the page changes: that takes its cycle id away, or the page itself.
      const back = moved(state, id, scanBlock);
      if (vacuumPage(state, leaf, id, isScanned)) {
        isPinned = false;
        deletePage(state, id);
      }
      block = back;
    } finally {
      if (isPinned) pool.unpin(id);
    }
  }
}

/** On the way back: whether a page is a leaf of a split since the scan began that was not looked at since. */
function isToDo(state: VacuumState, id: BufferId): boolean {
  const { pool, geometry } = state.index;
  const { size } = geometry;
  const m = pool.memory(id);
  const base = pool.base(id);
  if (pageIsNew(m, base) || !btIsLeaf(m, base, size) || btIsHalfDead(m, base, size)) {
    state.warn(`block ${pool.block(id)}, the right half of a page that was split, is no leaf in use`);
    return false;
  }
  return btCycleId(m, base, size) === state.cycle && !btIsDeleted(m, base, size);
}

/** The block before the scan's position that has what was split off a leaf since the scan began; P_NONE for none. */
function moved(state: VacuumState, id: BufferId, scanBlock: BlockNumber): BlockNumber {
  const { pool, geometry } = state.index;
  const { size } = geometry;
  const m = pool.memory(id);
  const base = pool.base(id);
  const isSplit =
    state.cycle !== 0 &&
    !pageIsNew(m, base) &&
    btIsLeaf(m, base, size) &&
    !btIsDeleted(m, base, size) &&
    !btIsHalfDead(m, base, size) &&
    btCycleId(m, base, size) === state.cycle &&
    (btFlags(m, base, size) & BTP_SPLIT_END) === 0 &&
    !btIsRightmost(m, base, size);
  const next = isSplit ? btNext(m, base, size) : P_NONE;
  return next < scanBlock ? next : P_NONE;
}

/** @returns whether the page is to be deleted: it is empty, or half-dead. */
function vacuumPage(state: VacuumState, leaf: LeafVacuum, id: BufferId, isScanned: boolean): boolean {
  const { index, stats } = state;
  const { relation, pool, main, geometry: g } = index;
  const { size } = g;
  const m = pool.memory(id);
  const base = pool.base(id);
  if (!pageIsNew(m, base)) checkPage(index, id, btLevel(m, base, size));
  if (pageIsRecyclable(m, base, g, recyclingHorizon(index))) {
    recordFreePage(index, pool.block(id));
    stats.pagesDeleted++;
    stats.pagesFree++;
    return false;
  }
  if (btIsDeleted(m, base, size)) {
    stats.pagesDeleted++;
    return false;
  }
  if (btIsHalfDead(m, base, size)) return true;
  if (!btIsLeaf(m, base, size)) return false;
  const left = leaf.vacuum(id);
  if (!leaf.changed && state.cycle !== 0 && btCycleId(m, base, size) === state.cycle) {
    // So that it is not looked at again.
    setBtCycleId(m, base, size, 0);
    relation.log.hint(relation, main, id);
  }
  if (pageMaxOffset(m, base) < firstDataKey(m, base, size)) return isScanned;
  stats.numIndexTuples += left;
  return false;
}
