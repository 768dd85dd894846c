// What may differ between two copies of a heap page that hold the same rows at the same places, put to zero: so that the
// rest can be compared byte for byte.
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
  pageIsZero,
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
