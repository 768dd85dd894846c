// Changes of a map page, given its memory: as the map makes them inside a record of the heap, and as redo repeats them.
import type { MapTruncation } from '@blockwright/access';
import { type BlockNumber, ForkNumber } from '@blockwright/base';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { type PageMemory, pageInit, pageIsNew } from '@blockwright/page';
import { VISIBILITYMAP_ALL_FROZEN, VISIBILITYMAP_ALL_VISIBLE, VISIBILITYMAP_VALID_BITS } from './format.ts';

/**
 * Clears bits of heap block `b` on the map page that holds them; a page that is new becomes one without bits.
 * PostgreSQL: `visibilitymap_clear`, and its part in heapam_xlog.c.
 * @returns whether one of them was set.
 * @throws RangeError unless `bits` is all-frozen, or both: all-frozen never stays without all-visible.
 */
export function clearVisibilityBits(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  b: BlockNumber,
  bits: number,
): boolean {
  checkClearBits(bits);
  if (pageIsNew(m, base)) pageInit(m, base, g);
  const at = base + SIZE_OF_PAGE_HEADER + g.vmByteOf(b);
  const before = m.u8[at];
  const after = before & ~(bits << g.vmShiftOf(b));
  m.u8[at] = after;
  return after !== before;
}

/**
 * Sets bits of heap block `b` on the map page that holds them; a page that is new becomes one first. PostgreSQL:
 * `visibilitymap_set`.
 * @returns whether one of them was clear.
 * @throws RangeError unless `bits` is all-visible, or both.
 */
export function setVisibilityBits(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  b: BlockNumber,
  bits: number,
): boolean {
  checkSetBits(bits);
  if (pageIsNew(m, base)) pageInit(m, base, g);
  const at = base + SIZE_OF_PAGE_HEADER + g.vmByteOf(b);
  const before = m.u8[at];
  const after = before | (bits << g.vmShiftOf(b));
  m.u8[at] = after;
  return after !== before;
}

/** How a visibility map follows its heap when that is cut, then and in redo. PostgreSQL: `visibilitymap_prepare_truncate`. */
export const visibilityTruncation: MapTruncation = {
  fork: ForkNumber.vm,
  blocksFor(g, heapBlocks) {
    const page = g.vmBlockOf(heapBlocks);
    return heapBlocks === g.firstHeapBlockOf(page) ? page : page + 1;
  },
  hasTail(g, heapBlocks) {
    return heapBlocks !== g.firstHeapBlockOf(g.vmBlockOf(heapBlocks));
  },
  clearTail(m, base, g, heapBlocks) {
    const at = base + SIZE_OF_PAGE_HEADER + g.vmByteOf(heapBlocks);
    m.u8[at] &= (1 << g.vmShiftOf(heapBlocks)) - 1;
    m.u8.fill(0, at + 1, base + g.size);
  },
};

export function checkSetBits(bits: number): void {
  if (bits === VISIBILITYMAP_ALL_VISIBLE || bits === VISIBILITYMAP_VALID_BITS) return;
  throw new RangeError(`cannot set visibility bits ${String(bits)}: all-visible (1), or all-frozen with it (3)`);
}

export function checkClearBits(bits: number): void {
  if (bits === VISIBILITYMAP_ALL_FROZEN || bits === VISIBILITYMAP_VALID_BITS) return;
  throw new RangeError(`cannot clear visibility bits ${String(bits)}: all-frozen (2), or both (3)`);
}
