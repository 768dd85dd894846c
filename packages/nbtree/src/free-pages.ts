// Pages for new nodes: one that was deleted and that nobody can reach any more, or a new block at the end. The free space
// map offers the first, and is a hint: the page itself decides. PostgreSQL: `_bt_allocbuf`, nbtpage.c; indexfsm.c.
import { type BlockNumber, type BufferId, FIRST_NORMAL_XID, fromWords } from '@blockwright/base';
import { FreeSpaceMap, NO_BLOCK } from '@blockwright/freespacemap';
import type { BlockGeometry } from '@blockwright/geometry';
import { type PageMemory, pageIsNew, pageSpecial } from '@blockwright/page';
import type { StoredRelation } from '@blockwright/smgr';
import { fullXid } from '@blockwright/transam';
import type { BtreeIndex } from './btree.ts';
import { btIsDeleted, btSafeXid, SIZE_OF_BTREE_SPECIAL } from './page.ts';

/** Of indexes whose map has nothing to offer until a vacuum has looked: splits need not ask it. */
const exhausted: WeakSet<StoredRelation> = new WeakSet();

/**
 * A page for a new node, pinned. Its bytes are as they were, all zero or a deleted page's: the caller makes it anew once
 * its record has room. A page that is not used after all is found by the next vacuum.
 * @throws StorageError 53100 when the disk is full, 53000 when every buffer is pinned.
 */
export function allocatePage(index: BtreeIndex): BufferId {
  const { relation, pool, main } = index;
  if (!exhausted.has(relation.storage)) {
    const id = recycledPage(index);
    if (id >= 0) return id;
    exhausted.add(relation.storage);
  }
  return pool.pin(main, pool.extend(main, 1));
}

/** A page that the map offers and that can be used again, pinned; -1 when there is none. */
function recycledPage(index: BtreeIndex): BufferId {
  const { relation, pool, main, geometry } = index;
  const map = new FreeSpaceMap(relation);
  const horizon = recyclingHorizon(index);
  for (;;) {
    const block = map.find(geometry.size >>> 1);
    if (block === NO_BLOCK) return -1;
    map.record(block, 0);
    const id = pool.pin(main, block);
    if (pageIsRecyclable(pool.memory(id), pool.base(id), geometry, horizon)) return id;
    pool.unpin(id);
  }
}

/** Notes that a page can be used again; {@link vacuumFreePages} makes it known. PostgreSQL: `RecordFreeIndexPage`. */
export function recordFreePage(index: BtreeIndex, block: BlockNumber): void {
  new FreeSpaceMap(index.relation).record(block, index.geometry.size - 1);
}

/** Lets {@link allocatePage} find what was recorded. PostgreSQL: `IndexFreeSpaceMapVacuum`. */
export function vacuumFreePages(index: BtreeIndex): void {
  new FreeSpaceMap(index.relation).vacuum();
  exhausted.delete(index.relation.storage);
}

/**
 * Whether nobody can reach a page: it was never used, or it was deleted before every transaction that is open and every
 * snapshot that is held. PostgreSQL: `BTPageIsRecyclable`.
 * @param horizon of {@link recyclingHorizon}
 */
export function pageIsRecyclable(m: PageMemory, base: number, g: BlockGeometry, horizon: number): boolean {
  if (pageIsNew(m, base)) return true;
  if (pageSpecial(m, base) !== g.size - SIZE_OF_BTREE_SPECIAL) return false;
  return btIsDeleted(m, base, g.size) && btSafeXid(m, base, g) < horizon;
}

/** Pages deleted before it, with its epoch, nobody can reach; without transactions nobody says so of any. */
export function recyclingHorizon(index: BtreeIndex): number {
  const { transactions } = index;
  if (transactions === undefined) return 0;
  return fullXid(transactions.horizon(), transactions.nextXid, transactions.nextXidEpoch);
}

/** What a page that is deleted now is stamped with. PostgreSQL: `ReadNextFullTransactionId`. */
export function nextFullXid(index: BtreeIndex): number {
  const { transactions } = index;
  return transactions === undefined ? FIRST_NORMAL_XID : fromWords(transactions.nextXidEpoch, transactions.nextXid);
}
