// What may differ between a B-tree's page and its like after a replay of the WAL, put to zero, so that the rest can be
// compared byte for byte.
import type { BlockGeometry } from '@blockwright/geometry';
import {
  checkPageBounds,
  LP_UNUSED,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  makeLinePointer,
  type PageMemory,
  PD_ALL_VISIBLE,
  PD_HAS_FREE_LINES,
  PD_PAGE_FULL,
  pageFlags,
  pageIsZero,
  pageLower,
  pageMaxOffset,
  pageSetFlags,
  pageSetLsn,
  pageSetPruneXid,
  pageStoreChecksum,
  pageUpper,
  setLinePointer,
} from '@blockwright/page';
import { BTP_DELETED, BTP_HAS_GARBAGE, BTP_LEAF, BTP_SPLIT_END, btFlags, setBtCycleId, setBtFlags } from './page.ts';

/**
 * Zeroes, in place, what a page's changes and their replay need not have in common: LSN and checksum, the hints of the
 * header, the unused space, the flags of a leaf's line pointers (LP_DEAD is a hint), BTP_HAS_GARBAGE, BTP_SPLIT_END and the
 * vacuum's cycle id. Exactly that. PostgreSQL: `btree_mask`, nbtxlog.c.
 * @throws StorageError XX001 when the page's bounds cannot be believed.
 */
export function maskBtreePage(m: PageMemory, base: number, g: BlockGeometry): void {
  if (pageIsZero(m, base, g)) return;
  checkPageBounds(m, base, g);
  pageSetLsn(m, base, 0, 0);
  pageStoreChecksum(m, base, 0);
  pageSetFlags(m, base, pageFlags(m, base) & ~(PD_PAGE_FULL | PD_HAS_FREE_LINES | PD_ALL_VISIBLE));
  pageSetPruneXid(m, base, 0);
  m.u8.fill(0, base + pageLower(m, base), base + pageUpper(m, base));
  const flags = btFlags(m, base, g.size);
  // On a deleted page what stands there are no line pointers.
  if ((flags & (BTP_LEAF | BTP_DELETED)) === BTP_LEAF) {
    const last = pageMaxOffset(m, base);
    for (let o = 1; o <= last; o++) {
      const lp = linePointer(m, base, o);
      if (lpFlags(lp) !== LP_UNUSED) setLinePointer(m, base, o, makeLinePointer(lpOffset(lp), LP_UNUSED, lpLength(lp)));
    }
  }
  setBtFlags(m, base, g.size, flags & ~(BTP_HAS_GARBAGE | BTP_SPLIT_END));
  setBtCycleId(m, base, g.size, 0);
}
