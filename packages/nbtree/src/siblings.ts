// From one leaf page to the next, when anything may have happened to the index since the first was read: pages were split,
// emptied, taken out. What was read with a page is only where to begin to look.
//
// No page can change while a function here runs. So where two pages that stand in the chain disagree about being
// neighbours, the index is damaged, and a chain that leads back to itself is noticed at the link that does so, not after
// it was followed for ever. PostgreSQL: `_bt_readnextpage`, `_bt_lock_and_validate_left`, nbtsearch.c.
import type { BlockNumber, BufferId, StorageError } from '@blockwright/base';
import { pageBoundsAreSane, pageIsNew, pageSpecial } from '@blockwright/page';
import type { BtreeIndex } from './btree.ts';
import { corrupted } from './errors.ts';
import { btIgnore, btIsDeleted, btIsLeaf, btNext, btPrev, P_NONE, SIZE_OF_BTREE_SPECIAL } from './page.ts';
import { checkPage } from './search.ts';

/**
 * Pins the first leaf page in use to the right of leaf `block`, whose right link was `next` when it was read.
 * @returns -1 when there is none
 * @throws StorageError XX002 for links that lead nowhere, to another level, or back.
 */
export function pinRightOf(index: BtreeIndex, block: BlockNumber, next: BlockNumber): BufferId {
  const { pool, geometry } = index;
  const { size } = geometry;
  let from = block;
  let link = next;
  for (let steps = 0; link !== P_NONE; steps++) {
    const id = pinSibling(index, from, link, 'right', steps);
    const m = pool.memory(id);
    const base = pool.base(id);
    const prev = btPrev(m, base, size);
    if (prev !== from && !btIsDeleted(m, base, size) && pointsTo(index, from, link)) {
      pool.unpin(id);
      throw corrupted(
        index.name,
        link,
        `its left sibling is said to be block ${prev}, but it is the right one of block ${from}`,
      );
    }
    if (!btIgnore(m, base, size)) return id;
    from = link;
    link = btNext(m, base, size);
    pool.unpin(id);
  }
  return -1;
}

/**
 * Pins the first leaf page in use to the left of leaf `block`, whose left link was `prev` when it was read.
 * @returns -1 when there is none
 * @throws StorageError XX002 for links that lead nowhere, to another level, or back.
 */
export function pinLeftOf(index: BtreeIndex, block: BlockNumber, prev: BlockNumber): BufferId {
  const { pool, geometry } = index;
  const { size } = geometry;
  let from = block;
  let link = prev;
  let isFresh = false;
  for (let steps = 0; ; steps++) {
    if (link === P_NONE) return -1;
    if (!isFresh && !pointsTo(index, link, from)) {
      // The left sibling was split or taken out, or the page itself was: the page knows its left sibling of now.
      const id = pinUndeleted(index, from);
      from = pool.block(id);
      link = btPrev(pool.memory(id), pool.base(id), size);
      pool.unpin(id);
      isFresh = true;
      continue;
    }
    const id = pinSibling(index, from, link, 'left', steps);
    const m = pool.memory(id);
    const base = pool.base(id);
    const next = btNext(m, base, size);
    if (next !== from || btIsDeleted(m, base, size)) {
      pool.unpin(id);
      throw corrupted(
        index.name,
        from,
        `its left sibling is said to be block ${link}, whose right one is block ${next}`,
      );
    }
    if (!btIgnore(m, base, size)) return id;
    from = link;
    link = btPrev(m, base, size);
    isFresh = true;
    pool.unpin(id);
  }
}

/** The page itself, pinned, or when it was taken out the first one to the right that was not: it has its keys. */
function pinUndeleted(index: BtreeIndex, block: BlockNumber): BufferId {
  const { pool, geometry } = index;
  const { size } = geometry;
  let id = pool.pin(index.main, block);
  for (let steps = 0; ; steps++) {
    const m = pool.memory(id);
    const base = pool.base(id);
    if (!btIsDeleted(m, base, size)) return id;
    const from = pool.block(id);
    const next = btNext(m, base, size);
    pool.unpin(id);
    if (next === P_NONE) throw corrupted(index.name, from, 'it was deleted, and nothing is to the right of it');
    id = pinSibling(index, from, next, 'right', steps);
  }
}

/** Whether `block` is a leaf page in the chain whose right sibling is `next`. It may be anything by now. */
function pointsTo(index: BtreeIndex, block: BlockNumber, next: BlockNumber): boolean {
  const { pool, main, geometry: g } = index;
  if (block === next) return true; // a link to itself: for whoever follows it to refuse
  if (!main.hasBlock(block)) return true; // out of range: so is this
  const id = pool.pin(main, block);
  const m = pool.memory(id);
  const base = pool.base(id);
  const does =
    !pageIsNew(m, base) &&
    pageBoundsAreSane(m, base, g) &&
    pageSpecial(m, base) === g.size - SIZE_OF_BTREE_SPECIAL &&
    btIsLeaf(m, base, g.size) &&
    !btIsDeleted(m, base, g.size) &&
    btNext(m, base, g.size) === next;
  pool.unpin(id);
  return does;
}

function pinSibling(
  index: BtreeIndex,
  from: BlockNumber,
  link: BlockNumber,
  side: 'left' | 'right',
  steps: number,
): BufferId {
  const { pool, main } = index;
  if (link === from || !main.hasBlock(link)) throw wildLink(index, from, link, side);
  if (steps > 0 && !main.hasBlock(steps - 1)) throw corrupted(index.name, from, `${side} siblings lead in a circle`);
  const id = pool.pin(main, link);
  try {
    checkPage(index, id, 0);
  } catch (error) {
    pool.unpin(id);
    throw error;
  }
  return id;
}

function wildLink(index: BtreeIndex, from: BlockNumber, link: BlockNumber, side: string): StorageError {
  const what = link === from ? 'the page itself' : `block ${link} of ${index.main.blockCount()}`;
  return corrupted(index.name, from, `its ${side} sibling is said to be ${what}`);
}
