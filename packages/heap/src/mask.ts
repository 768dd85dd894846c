// What may differ between two copies of a heap page, put to zero, so that the rest can be compared byte for byte: of two
// that hold the same rows at the same places, and of a page and its like after a replay of the WAL.
import type { BlockGeometry } from '@blockwright/geometry';
import {
  checkPageBounds,
  itemIsInBounds,
  LP_NORMAL,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
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
  pageSpecial,
  pageStoreChecksum,
  pageUpper,
} from '@blockwright/page';
import {
  HEAP_TUPLE_HEADER_BYTES,
  HEAP_XACT_MASK,
  HEAP_XMAX_COMMITTED,
  HEAP_XMAX_INVALID,
  isXminFrozen,
  setTupleCommandId,
  setTupleInfomask,
  setTupleXmax,
  setTupleXmin,
  tupleInfomask,
} from '@blockwright/tuple';

/**
 * Zeroes, in place, a page's LSN, checksum, flags and prune xid, and each tuple's xmin, xmax, command id and transaction
 * bits (hint bits, frozen). Line pointers, TIDs, null bitmaps, attributes and unused bytes stay, and so do the HOT bits.
 * PostgreSQL: `heap_mask`, heapam_xlog.c, which masks less of frozen tuples, and also the unused space.
 * @throws StorageError XX001 when the page's bounds cannot be believed.
 */
export function maskHeapPage(m: PageMemory, base: number, g: BlockGeometry): void {
  if (pageIsZero(m, base, g)) return;
  checkPageBounds(m, base, g);
  pageSetLsn(m, base, 0, 0);
  pageStoreChecksum(m, base, 0);
  pageSetFlags(m, base, 0);
  pageSetPruneXid(m, base, 0);
  const upper = pageUpper(m, base);
  const special = pageSpecial(m, base);
  const last = pageMaxOffset(m, base);
  for (let o = 1; o <= last; o++) {
    const lp = linePointer(m, base, o);
    const hasTuple =
      lpFlags(lp) === LP_NORMAL && lpLength(lp) >= HEAP_TUPLE_HEADER_BYTES && itemIsInBounds(lp, upper, special);
    if (hasTuple) maskTuple(m, base + lpOffset(lp));
  }
}

function maskTuple(m: PageMemory, pos: number): void {
  setTupleXmin(m, pos, 0);
  setTupleXmax(m, pos, 0);
  setTupleCommandId(m, pos, 0);
  setTupleInfomask(m, pos, tupleInfomask(m, pos) & ~HEAP_XACT_MASK);
}

/**
 * Zeroes, in place, what a page's changes and their replay need not have in common: LSN and checksum, the hints
 * (`pd_prune_xid`, PD_PAGE_FULL, PD_HAS_FREE_LINES, PD_ALL_VISIBLE), the unused space, each tuple's command id and padding, and
 * its transaction bits, of a frozen tuple those about xmax alone. Exactly that. PostgreSQL: `heap_mask`, heapam_xlog.c.
 * @throws StorageError XX001 when the page's bounds cannot be believed.
 */
export function maskReplayedHeapPage(m: PageMemory, base: number, g: BlockGeometry): void {
  if (pageIsZero(m, base, g)) return;
  checkPageBounds(m, base, g);
  pageSetLsn(m, base, 0, 0);
  pageStoreChecksum(m, base, 0);
  pageSetFlags(m, base, pageFlags(m, base) & ~(PD_PAGE_FULL | PD_HAS_FREE_LINES | PD_ALL_VISIBLE));
  pageSetPruneXid(m, base, 0);
  const upper = pageUpper(m, base);
  const special = pageSpecial(m, base);
  m.u8.fill(0, base + pageLower(m, base), base + upper);
  const last = pageMaxOffset(m, base);
  for (let o = 1; o <= last; o++) {
    const lp = linePointer(m, base, o);
    const length = lpLength(lp);
    if (length === 0 || !itemIsInBounds(lp, upper, special)) continue;
    const pos = base + lpOffset(lp);
    if (lpFlags(lp) === LP_NORMAL && length >= HEAP_TUPLE_HEADER_BYTES) maskReplayedTuple(m, pos);
    m.u8.fill(0, pos + length, pos + ((length + 7) & ~7));
  }
}

function maskReplayedTuple(m: PageMemory, pos: number): void {
  const infomask = tupleInfomask(m, pos);
  const hints = isXminFrozen(infomask) ? HEAP_XMAX_INVALID | HEAP_XMAX_COMMITTED : HEAP_XACT_MASK;
  setTupleInfomask(m, pos, infomask & ~hints);
  setTupleCommandId(m, pos, 0);
}
