// The downlink to a page, found again: from where it was seen on the way down, to the right over the level if need be.
// PostgreSQL: `_bt_getstackbuf`, nbtinsert.c, and `_bt_get_endpoint`, nbtsearch.c.
import { type BlockNumber, type BufferId, type OffsetNumber, StorageError } from '@blockwright/base';
import { itemPosition, type PageMemory, pageMaxOffset } from '@blockwright/page';
import type { BtreeIndex } from './btree.ts';
import { BTREE_METAPAGE, readMeta } from './meta.ts';
import { btIgnore, btIsRightmost, btLevel, btNext, firstDataKey } from './page.ts';
import { downlink } from './tuples.ts';

/**
 * The offset of the downlink to `child` on a page above the leaves, or 0: looked for from `start` on to the right, then to
 * the left.
 */
export function downlinkOffset(
  m: PageMemory,
  base: number,
  size: number,
  start: OffsetNumber,
  child: BlockNumber,
): OffsetNumber {
  const first = firstDataKey(m, base, size);
  const last = pageMaxOffset(m, base);
  let from = start < first ? first : start;
  if (from > last) from = last + 1;
  for (let o = from; o <= last; o++) if (downlink(m, itemPosition(m, base, o)) === child) return o;
  for (let o = from - 1; o >= first; o--) if (downlink(m, itemPosition(m, base, o)) === child) return o;
  return 0;
}

/**
 * The leftmost page of a level, 0 for leaves.
 * @throws StorageError XX002 when the tree has no such level.
 */
export function leftmostOfLevel(index: BtreeIndex, level: number): BlockNumber {
  const { pool, main, geometry } = index;
  const { size } = geometry;
  let block = pool.withPage(main, BTREE_METAPAGE, (m, base) => readMeta(m, base).root);
  for (;;) {
    const id: BufferId = pool.pin(main, block);
    try {
      const m = pool.memory(id);
      const base = pool.base(id);
      const own = btLevel(m, base, size);
      if (!btIgnore(m, base, size)) {
        if (own === level) return block;
        if (own < level) throw noLevel(index, level);
        block = downlink(m, itemPosition(m, base, firstDataKey(m, base, size)));
      } else {
        if (btIsRightmost(m, base, size)) throw noLevel(index, level);
        block = btNext(m, base, size);
      }
    } finally {
      pool.unpin(id);
    }
  }
}

function noLevel(index: BtreeIndex, level: number): StorageError {
  return new StorageError('XX002', `index "${index.relation.name}" has no level ${level}`, {
    hint: 'Rebuild the index: drop it and create it again.',
  });
}
