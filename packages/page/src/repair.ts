// What a heap page does after pruning: gaps closed, unused line pointers at the end cut off.
import { StorageError } from '@blockwright/base';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { moveRuns, RUNS_MASK, surveyRuns } from './compaction/runs.ts';
import type { CompactionScratch } from './compaction/scratch.ts';
import { COUNT_MASK, listItems, listUsedItems, SOME_UNUSED, SOME_UNUSED_NOT_ZERO } from './compaction/survey.ts';
import { type Compaction, checkCompaction, checkItems, moveItems } from './compaction.ts';
import {
  checkPageBounds,
  pageClearHasFreeLines,
  pageLower,
  pageMaxOffset,
  pageSetHasFreeLines,
  pageSetLower,
  pageSetUpper,
  pageSpecial,
  pageUpper,
} from './header.ts';
import { corruptLinePointer, itemIsInBounds, LP_UNUSED, linePointer, lpFlags } from './line-pointer.ts';
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
  const { u32 } = m;
  const start = (base + SIZE_OF_PAGE_HEADER) >>> 2;
  let end = start + pageMaxOffset(m, base);
  while (end > start && lpFlags(u32[end - 1] as number) === LP_UNUSED) end--;
  if (how === 'adaptive' && repairRuns(m, base, scratch, start, end)) return;
  const found = listItems(u32, start, end, scratch);
  const hasResidue = (found & SOME_UNUSED_NOT_ZERO) !== 0;
  const items = hasResidue ? listUsedItems(u32, start, end, scratch) : found & COUNT_MASK;
  if (!checkItems(m, base, scratch, items, how)) throw corruptItems(m, base, g);

  // From here on the page changes. An unused line pointer should be all zero; now it is.
  if (hasResidue) clearUnused(u32, start, end);
  moveItems(m, base, scratch, items, how);
  cutLinePointers(m, base, end - start, (found & SOME_UNUSED) !== 0);
}

/** The same where items lie in a few runs. @returns false when they do not, or are corrupted: nothing has changed. */
function repairRuns(m: PageMemory, base: number, scratch: CompactionScratch, start: number, end: number): boolean {
  const special = pageSpecial(m, base);
  const found = surveyRuns(m.u32, start, end, scratch, pageUpper(m, base), special);
  if (found < 0 || scratch.newUpper < pageLower(m, base)) return false;
  const runs = found & RUNS_MASK;
  if (runs !== 0) moveRuns(m.u32, base >>> 2, start, scratch, runs, special);
  pageSetUpper(m, base, scratch.newUpper);
  cutLinePointers(m, base, end - start, (found & SOME_UNUSED) !== 0);
  return true;
}

/** The line pointer array ends after `count`; some of these are unused, or none is. */
function cutLinePointers(m: PageMemory, base: number, count: number, someUnused: boolean): void {
  pageSetLower(m, base, (count << 2) + SIZE_OF_PAGE_HEADER);
  if (someUnused) pageSetHasFreeLines(m, base);
  else pageClearHasFreeLines(m, base);
}

function clearUnused(u32: Uint32Array, start: number, end: number): void {
  for (let i = start; i < end; i++) if (lpFlags(u32[i] as number) === LP_UNUSED) u32[i] = 0;
}

/** Which line pointer of a heap page is corrupted, or else that items have no room; one of the two is the case. */
function corruptItems(m: PageMemory, base: number, g: BlockGeometry): StorageError {
  const upper = pageUpper(m, base);
  const special = pageSpecial(m, base);
  const count = pageMaxOffset(m, base);
  let totalBytes = 0;
  for (let o = 1; o <= count; o++) {
    const lp = linePointer(m, base, o);
    if (lp >>> 17 === 0 || lpFlags(lp) === LP_UNUSED) continue;
    if (!itemIsInBounds(lp, upper, special)) return corruptLinePointer(m, base, g, o);
    totalBytes += ((lp >>> 17) + 7) & ~7;
  }
  return tooManyBytes(m, base, totalBytes);
}

/** The error for items of `totalBytes`, which cannot have room between line pointers and special space. */
export function tooManyBytes(m: PageMemory, base: number, totalBytes: number): StorageError {
  const room = pageSpecial(m, base) - pageLower(m, base);
  return new StorageError('XX001', `items are corrupted: ${totalBytes} bytes in all where ${room} have room`, {
    detail: 'Items that overlap each other add up to more than the page holds.',
    hint: 'Nothing was changed. Run "blockwright check" on the file, and restore it from a backup.',
  });
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
