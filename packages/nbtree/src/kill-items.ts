// Entries whose rows are dead to everybody are marked so. PostgreSQL: `_bt_killitems`, nbtutils.c.
import { type BlockNumber, fromWords } from '@blockwright/base';
import {
  itemIsInBounds,
  LP_NORMAL,
  linePointer,
  lpFlags,
  lpOffset,
  markItemDead,
  type PageMemory,
  pageMaxOffset,
  pageSpecial,
  pageUpper,
} from '@blockwright/page';
import type { BtreeIndex } from './btree.ts';
import { BTP_HAS_GARBAGE, btFlags, btIgnore, btIsLeaf, firstDataKey, setBtFlags } from './page.ts';
import { heapTidAt, isPosting, nthTidAt, postingCount, tidBlock, tidOffset } from './tuples.ts';

/**
 * Marks the items of a leaf page all of whose TIDs are in `dead`. Items are found by their TIDs: the page may have changed
 * since they were read. What is not on it any more is let be.
 * @param dead `fromWords(offset, block)` of each
 */
export function markKilled(index: BtreeIndex, block: BlockNumber, dead: ReadonlySet<number>): void {
  const { pool, main, relation, geometry } = index;
  const { size } = geometry;
  if (relation.storage.readOnly || relation.log.recovering || !main.hasBlock(block)) return;
  const id = pool.pin(main, block);
  try {
    const m = pool.memory(id);
    const base = pool.base(id);
    if (!btIsLeaf(m, base, size) || btIgnore(m, base, size)) return;
    if (markItems(m, base, size, dead) === 0) return;
    setBtFlags(m, base, size, btFlags(m, base, size) | BTP_HAS_GARBAGE);
    relation.log.hint(relation, main, id);
  } finally {
    pool.unpin(id);
  }
}

function markItems(m: PageMemory, base: number, size: number, dead: ReadonlySet<number>): number {
  const upper = pageUpper(m, base);
  const special = pageSpecial(m, base);
  const last = pageMaxOffset(m, base);
  let marked = 0;
  for (let o = firstDataKey(m, base, size); o <= last; o++) {
    const lp = linePointer(m, base, o);
    if (lpFlags(lp) !== LP_NORMAL || !itemIsInBounds(lp, upper, special)) continue;
    if (!isWholly(m, base + lpOffset(lp), dead)) continue;
    markItemDead(m, base, o);
    marked++;
  }
  return marked;
}

/** Whether all TIDs of a leaf item are among `dead`. */
function isWholly(m: PageMemory, pos: number, dead: ReadonlySet<number>): boolean {
  if (!isPosting(m, pos)) return has(dead, m, heapTidAt(m, pos));
  const count = postingCount(m, pos);
  for (let i = 0; i < count; i++) if (!has(dead, m, nthTidAt(m, pos, i))) return false;
  return count > 0;
}

function has(dead: ReadonlySet<number>, m: PageMemory, at: number): boolean {
  return dead.has(fromWords(tidOffset(m, at), tidBlock(m, at)));
}
