// Marking a page all-visible: page and map say so in one record. PostgreSQL: `lazy_scan_prune`, vacuumlazy.c;
// `visibilitymap_set`, visibilitymap.c; `log_heap_visible`, heapam.c.
import { PAGE_STANDARD, type Relation } from '@blockwright/access';
import type { BlockNumber, BufferId, Xid } from '@blockwright/base';
import { pageIsAllVisible, pageIsNew, pageSetAllVisible } from '@blockwright/page';
import type { Transactions } from '@blockwright/transam';
import {
  VISIBILITYMAP_ALL_FROZEN,
  VISIBILITYMAP_ALL_VISIBLE,
  VISIBILITYMAP_VALID_BITS,
  type VisibilityMap,
} from '@blockwright/visibilitymap';
import { RM_HEAP2 } from '@blockwright/wal';
import { heapPrunePage } from './prune.ts';
import {
  BLOCK_VISIBLE_HEAP,
  BLOCK_VISIBLE_MAP,
  VISIBLE_BYTES,
  XLOG_HEAP2_PRUNE_VACUUM_SCAN,
  XLOG_HEAP2_VISIBLE,
} from './record-format.ts';

/**
 * Prunes block `block`, with `freeze` also freezes what may be frozen, and marks page and map when every tuple left is
 * visible to everybody (and all-frozen when each is frozen). Nothing is ever unmarked. A page that somebody else has
 * pinned is left as it is.
 * @returns the block's bits in the map now.
 * @throws StorageError 53100 when the disk is full, XX001 for damage, 58P01 when the commit log's segment is gone: the
 * page is pruned then, or not, and marked, or not.
 */
export function heapMarkAllVisible(
  relation: Relation,
  map: VisibilityMap,
  block: BlockNumber,
  transactions: Transactions,
  freeze: boolean,
): number {
  const { pool, main } = relation;
  const id = pool.pin(main, block);
  try {
    const m = pool.memory(id);
    const base = pool.base(id);
    if (pageIsNew(m, base) || pool.pinCount(id) !== 1) return map.status(block);
    const state = heapPrunePage(relation, id, transactions, { info: XLOG_HEAP2_PRUNE_VACUUM_SCAN, freeze });
    const before = map.status(block);
    if (!state.allVisible) return before;
    const wanted = state.allFrozen ? VISIBILITYMAP_VALID_BITS : VISIBILITYMAP_ALL_VISIBLE;
    if (pageIsAllVisible(m, base) && (wanted & ~before) === 0) return before;
    const bits = before | wanted;
    setBits(relation, map, block, id, bits, state.allFrozen ? 0 : state.visibleCutoff);
    return bits;
  } finally {
    pool.unpin(id);
  }
}

function setBits(
  relation: Relation,
  map: VisibilityMap,
  block: BlockNumber,
  id: BufferId,
  bits: number,
  conflictHorizon: Xid,
): void {
  const { pool, main, vm, log } = relation;
  const mapId = map.pinToSet(block);
  try {
    log.begin(relation, RM_HEAP2, XLOG_HEAP2_VISIBLE, 2, VISIBLE_BYTES);
    try {
      pageSetAllVisible(pool.memory(id), pool.base(id));
      map.setPinned(mapId, block, bits);
      log.u32(conflictHorizon);
      log.u8(bits & (VISIBILITYMAP_ALL_VISIBLE | VISIBILITYMAP_ALL_FROZEN));
      log.page(BLOCK_VISIBLE_MAP, vm, mapId, 0);
      // With its LSN, and so with an image when that is due: as if page checksums were on.
      log.page(BLOCK_VISIBLE_HEAP, main, id, PAGE_STANDARD);
      log.finish(0);
    } catch (error) {
      log.panic(error);
    }
  } finally {
    pool.unpin(mapId);
  }
}
