// A heap page's line pointers: how many there are, and whether one leads to where a tuple can be. Whoever touches a
// tuple asks here first.
import type { BlockNumber } from '@blockwright/base';
import { SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { LP_NORMAL, type PageMemory } from '@blockwright/page';
import { HEAP_TUPLE_HEADER_BYTES } from '@blockwright/tuple';
import { corruptPageHeader, notPlainHeapPage } from './errors.ts';

/**
 * Number of line pointers of the page at `base`, 0 for a new page.
 * @throws StorageError XX001 when pd_lower is impossible, or the page has a special area: heap pages have none.
 */
export function linePointerCount(m: PageMemory, base: number, size: number, name: string, block: BlockNumber): number {
  const lower = m.u16[(base + 12) >> 1];
  if (lower === 0 && m.u16[(base + 14) >> 1] === 0) return 0;
  if (lower < SIZE_OF_PAGE_HEADER || lower > size) throw corruptPageHeader(name, block, lower);
  const special = m.u16[(base + 16) >> 1];
  if (special !== size) throw notPlainHeapPage(name, block, special, size);
  return (lower - SIZE_OF_PAGE_HEADER) >> 2;
}

/** Byte after the last of `lines` line pointers, from the page's start: no tuple begins before it. */
export function linePointersEnd(lines: number): number {
  return SIZE_OF_PAGE_HEADER + (lines << 2);
}

// lp_flags, and the bits of lp_off that alignment to 8 leaves zero: looked at together.
const STATE_AND_ALIGNMENT = 0x1_8007;
const ALIGNED_NORMAL: number = LP_NORMAL << 15;
// Of this module's own: an imported constant is fetched from its module each time it is used.
const LEAST_LENGTH: number = HEAP_TUPLE_HEADER_BYTES;

/**
 * Whether a line pointer leads to where a tuple can be: it says so (LP_NORMAL), and the tuple begins behind the line
 * pointers, which end at byte `lower`, is aligned to 8, is as long as a tuple's header, and ends within the page. One that
 * says so and does not is damaged.
 */
export function leadsToTuple(lp: number, lower: number, size: number): boolean {
  if ((lp & STATE_AND_ALIGNMENT) !== ALIGNED_NORMAL) return false;
  const start = lp & 0x7fff;
  const length = lp >>> 17;
  return start >= lower && length >= LEAST_LENGTH && start + length <= size;
}
