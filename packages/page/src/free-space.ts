// How much room a page has. All of these are 0 rather than negative on a page whose bounds make no sense.
import type { BlockGeometry } from '@blockwright/geometry';
import { pageHasFreeLines, pageLower, pageMaxOffset, pageUpper } from './header.ts';
import { LP_UNUSED, linePointer, lpFlags } from './line-pointer.ts';
import type { PageMemory } from './memory.ts';

/** Bytes between line pointers and items. PostgreSQL: `PageGetExactFreeSpace`. */
export function pageExactFreeSpace(m: PageMemory, base: number): number {
  const space = pageUpper(m, base) - pageLower(m, base);
  return space < 0 ? 0 : space;
}

/** Bytes for one more item and its line pointer, the line pointer taken off. PostgreSQL: `PageGetFreeSpace`. */
export function pageFreeSpace(m: PageMemory, base: number): number {
  return pageFreeSpaceForMultipleTuples(m, base, 1);
}

/** Bytes for `items` more items, their line pointers taken off. PostgreSQL: `PageGetFreeSpaceForMultipleTuples`. */
export function pageFreeSpaceForMultipleTuples(m: PageMemory, base: number, items: number): number {
  const space = pageUpper(m, base) - pageLower(m, base) - (items << 2);
  return space < 0 ? 0 : space;
}

/**
 * Bytes for one more heap tuple and its line pointer: 0 when the page has as many line pointers as a heap page may
 * have, and none of them is free. PostgreSQL: `PageGetHeapFreeSpace`.
 */
export function pageHeapFreeSpace(m: PageMemory, base: number, g: BlockGeometry): number {
  const space = pageFreeSpace(m, base);
  if (space === 0) return 0;
  const count = pageMaxOffset(m, base);
  if (count < g.maxHeapTuplesPerPage) return space;
  // Where the hint says that none is free, an insert believes it without looking; so must this.
  if (!pageHasFreeLines(m, base)) return 0;
  for (let o = 1; o <= count; o++) if (lpFlags(linePointer(m, base, o)) === LP_UNUSED) return space;
  return 0;
}
