// What a heap page does after pruning: gaps closed, unused line pointers at the end cut off.
import { StorageError } from '@blockwright/base';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { type Compaction, type CompactionScratch, checkCompaction, compactItems } from './compaction.ts';
import {
  checkPageBounds,
  pageClearHasFreeLines,
  pageLower,
  pageMaxOffset,
  pageSetHasFreeLines,
  pageSetLower,
  pageSpecial,
  pageUpper,
} from './header.ts';
import { corruptLinePointer, itemIsInBounds, LP_UNUSED, linePointer, lpFlags, setLinePointer } from './line-pointer.ts';
import type { PageMemory } from './memory.ts';

/**
 * Closes the gaps between a heap page's items, cuts off unused line pointers at the end of the array, and sets or
 * clears PD_HAS_FREE_LINES by whether unused ones are left. Offset numbers stay. PostgreSQL: `PageRepairFragmentation`.
 * @throws StorageError XX001 when a bound or a line pointer is corrupted: every one is checked before a byte changes.
 */
export function pageRepairFragmentation(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  scratch: CompactionScratch,
  how: Compaction = 'adaptive',
): void {
  checkCompaction(g, scratch, how);
  checkPageBounds(m, base, g);
  const upper = pageUpper(m, base);
  const special = pageSpecial(m, base);
  const count = pageMaxOffset(m, base);
  const { offsets, positions, lengths } = scratch;
  let items = 0;
  let unused = 0;
  let lastUsed = 0;
  let totalBytes = 0;
  for (let o = 1; o <= count; o++) {
    const lp = linePointer(m, base, o);
    if (lpFlags(lp) === LP_UNUSED) {
      unused++;
      continue;
    }
    lastUsed = o;
    if (lp >>> 17 === 0) continue;
    if (!itemIsInBounds(lp, upper, special)) throw corruptLinePointer(m, base, g, o);
    const length = ((lp >>> 17) + 7) & ~7;
    offsets[items] = o;
    positions[items] = lp & 0x7fff;
    lengths[items] = length;
    totalBytes += length;
    items++;
  }
  checkTotal(m, base, totalBytes);

  // From here on the page changes. An unused line pointer should be all zero; now it is.
  if (unused > 0) {
    for (let o = 1; o <= lastUsed; o++) {
      if (lpFlags(linePointer(m, base, o)) === LP_UNUSED) setLinePointer(m, base, o, 0);
    }
  }
  compactItems(m, base, scratch, items, how);
  pageSetLower(m, base, SIZE_OF_PAGE_HEADER + (lastUsed << 2));
  if (unused > count - lastUsed) pageSetHasFreeLines(m, base);
  else pageClearHasFreeLines(m, base);
}

/** @throws StorageError XX001 when items of `totalBytes` cannot have room between line pointers and special space. */
export function checkTotal(m: PageMemory, base: number, totalBytes: number): void {
  const room = pageSpecial(m, base) - pageLower(m, base);
  if (totalBytes > room) {
    throw new StorageError('XX001', `items are corrupted: ${totalBytes} bytes in all where ${room} have room`, {
      detail: 'Items that overlap each other add up to more than the page holds.',
      hint: 'Nothing was changed. Run "blockwright check" on the file, and restore it from a backup.',
    });
  }
}

/**
 * Cuts off unused line pointers at the end of a heap page's array, but leaves one when all are unused, and sets or
 * clears PD_HAS_FREE_LINES by whether unused ones are left. No item moves. PostgreSQL: `PageTruncateLinePointerArray`.
 * @throws StorageError XX001 when the page's bounds are corrupted.
 */
export function pageTruncateLinePointerArray(m: PageMemory, base: number, g: BlockGeometry): void {
  checkPageBounds(m, base, g);
  let last = pageMaxOffset(m, base);
  while (last > 1 && lpFlags(linePointer(m, base, last)) === LP_UNUSED) last--;
  let o = last;
  while (o > 0 && lpFlags(linePointer(m, base, o)) !== LP_UNUSED) o--;
  pageSetLower(m, base, SIZE_OF_PAGE_HEADER + (last << 2));
  if (o > 0) pageSetHasFreeLines(m, base);
  else pageClearHasFreeLines(m, base);
}
