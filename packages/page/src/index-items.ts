// Deleting and replacing items of index pages, where a line pointer's number is its place in the order of keys, and so
// may change. Nothing changes before all line pointers are checked.
import { type OffsetNumber, StorageError } from '@blockwright/base';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { checkSource, copyBytes } from './add.ts';
import type { CompactionScratch } from './compaction/scratch.ts';
import { closeLinePointers, listKeptItems } from './compaction/survey.ts';
import { type Compaction, checkCompaction, checkItems, moveItems } from './compaction.ts';
import {
  checkPageBounds,
  pageLower,
  pageMaxOffset,
  pageSetLower,
  pageSetUpper,
  pageSpecial,
  pageUpper,
} from './header.ts';
import { corruptLinePointer, itemIsInBounds, linePointer, setLinePointer } from './line-pointer.ts';
import type { PageMemory } from './memory.ts';
import { tooManyBytes } from './repair.ts';

/**
 * Deletes an item and its line pointer: higher offset numbers go down by one. PostgreSQL: `PageIndexTupleDelete`.
 * @throws RangeError when there is no line pointer `o`; StorageError XX001 when a bound or a line pointer is corrupted,
 * or `o` has no item. The page is untouched in both cases.
 */
export function pageIndexTupleDelete(m: PageMemory, base: number, g: BlockGeometry, o: OffsetNumber): void {
  targetApart(m, base, g, o);
  deleteChecked(m, base, o);
}

function deleteChecked(m: PageMemory, base: number, o: OffsetNumber): void {
  const lp = linePointer(m, base, o);
  const count = pageMaxOffset(m, base);
  for (let i = o; i < count; i++) setLinePointer(m, base, i, linePointer(m, base, i + 1));
  pageSetLower(m, base, pageLower(m, base) - 4);
  closeGap(m, base, lp & 0x7fff, ((lp >>> 17) + 7) & ~7);
}

/**
 * Deletes an item and leaves its line pointer unused, so that other offset numbers stay; the last line pointer of the
 * page is taken away. PostgreSQL: `PageIndexTupleDeleteNoCompact`.
 * @throws as {@link pageIndexTupleDelete}.
 */
export function pageIndexTupleDeleteNoCompact(m: PageMemory, base: number, g: BlockGeometry, o: OffsetNumber): void {
  const lp = targetApart(m, base, g, o);
  if (o < pageMaxOffset(m, base)) setLinePointer(m, base, o, 0);
  else pageSetLower(m, base, pageLower(m, base) - 4);
  closeGap(m, base, lp & 0x7fff, ((lp >>> 17) + 7) & ~7);
}

/**
 * Puts another item in an item's place, which may be longer or shorter. Flags and offset number stay, and items stay
 * without gaps. `src` must not be the page's own memory. PostgreSQL: `PageIndexTupleOverwrite`.
 * @returns false when there is no room for it, the page untouched.
 * @throws as {@link pageIndexTupleDelete}; RangeError when `src` has no such bytes.
 */
export function pageIndexTupleOverwrite(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  o: OffsetNumber,
  src: Uint8Array,
  from: number,
  length: number,
): boolean {
  checkSource(src, from, length);
  const lp = targetApart(m, base, g, o);
  const growth = ((length + 7) & ~7) - (((lp >>> 17) + 7) & ~7);
  if (growth > pageUpper(m, base) - pageLower(m, base)) return false;
  closeGap(m, base, lp & 0x7fff, -growth);
  const moved = linePointer(m, base, o);
  setLinePointer(m, base, o, ((moved & 0x1_ffff) | (length << 17)) >>> 0);
  copyBytes(src, from, m.u8, base + (moved & 0x7fff), length);
  return true;
}

/** As many or fewer are deleted one by one, as in PostgreSQL: it costs less than to look at every item, and keeps order. */
const RETAIL_DELETES = 2;

/**
 * Deletes the items of the first `count` of `offsets`, which must rise: higher offset numbers go down. One or two are
 * deleted one by one, and gaps that were there before stay; of more, all gaps are closed. An item that overlaps one to
 * delete keeps its bytes. PostgreSQL: `PageIndexMultiDelete`.
 * @throws RangeError when the offsets do not rise or do not exist; StorageError XX001 when a bound or a line pointer is
 * corrupted, or one to delete has no item. The page is untouched in both cases.
 */
export function pageIndexMultiDelete(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  offsets: Uint16Array,
  count: number,
  scratch: CompactionScratch,
  how: Compaction = 'adaptive',
): void {
  checkCompaction(g, scratch, how);
  checkPageBounds(m, base, g);
  checkRising(offsets, count, pageMaxOffset(m, base));
  if (count <= RETAIL_DELETES && deleteOneByOne(m, base, g, offsets, count)) return;
  const { u32 } = m;
  const start = (base + SIZE_OF_PAGE_HEADER) >>> 2;
  const end = start + pageMaxOffset(m, base);
  const items = listKeptItems(u32, start, end, offsets, count, pageUpper(m, base), pageSpecial(m, base), scratch);
  if (items < 0 || !checkItems(m, base, scratch, items, how)) throw corruptItems(m, base, g, offsets, count);

  // From here on the page changes. Line pointers of items that move are written with them.
  const kept = end - start - count;
  if (items < kept) closeLinePointers(u32, start, end, offsets, count);
  else for (let i = 0; i < scratch.inPlace; i++) u32[start + i] = scratch.linePointers[i] as number;
  pageSetLower(m, base, SIZE_OF_PAGE_HEADER + (kept << 2));
  moveItems(m, base, scratch, items, how);
}

/** False, and nothing deleted, when one of them overlaps another item: to close its gap would cut that item's bytes. */
function deleteOneByOne(m: PageMemory, base: number, g: BlockGeometry, offsets: Uint16Array, count: number): boolean {
  for (let i = 0; i < count; i++) {
    const o = offsets[i] as number;
    if (overlapping(m, base, o, checkedTarget(m, base, g, o)) !== 0) return false;
  }
  for (let i = count - 1; i >= 0; i--) deleteChecked(m, base, offsets[i] as number);
  return true;
}

/** Which line pointer is corrupted, or else that the items that stay have no room; one of the two is the case. */
function corruptItems(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  offsets: Uint16Array,
  count: number,
): StorageError {
  const upper = pageUpper(m, base);
  const special = pageSpecial(m, base);
  const last = pageMaxOffset(m, base);
  let next = 0;
  let totalBytes = 0;
  for (let o = 1; o <= last; o++) {
    const lp = linePointer(m, base, o);
    const isTarget = next < count && offsets[next] === o;
    if (isTarget) next++;
    const isCorrupt = lp >>> 17 === 0 ? isTarget : !itemIsInBounds(lp, upper, special);
    if (isCorrupt) return corruptLinePointer(m, base, g, o);
    if (!isTarget) totalBytes += ((lp >>> 17) + 7) & ~7;
  }
  return tooManyBytes(m, base, totalBytes);
}

function checkRising(offsets: Uint16Array, count: number, most: OffsetNumber): void {
  let last = 0;
  for (let i = 0; i < count; i++) {
    const o = offsets[i] as number;
    if (!(o > last && o <= most)) {
      throw new RangeError(`offset numbers to delete must rise from 1 to ${most}: number ${i + 1} of them is ${o}`);
    }
    last = o;
  }
}

/** Line pointer `o` with its item, when every line pointer of the page can be believed. */
function checkedTarget(m: PageMemory, base: number, g: BlockGeometry, o: OffsetNumber): number {
  checkPageBounds(m, base, g);
  const count = pageMaxOffset(m, base);
  if (!(o >= 1 && o <= count)) throw new RangeError(`the page has no line pointer ${o}: it has ${count}`);
  const upper = pageUpper(m, base);
  const special = pageSpecial(m, base);
  const target = linePointer(m, base, o);
  if (target >>> 17 === 0 || !itemIsInBounds(target, upper, special)) throw corruptLinePointer(m, base, g, o);
  for (let i = 1; i <= count; i++) {
    const lp = linePointer(m, base, i);
    if (lp >>> 17 !== 0 && !itemIsInBounds(lp, upper, special)) throw corruptLinePointer(m, base, g, i);
  }
  return target;
}

/** The first line pointer whose item overlaps that of line pointer `o`, which is `target`; 0 when none does. */
function overlapping(m: PageMemory, base: number, o: OffsetNumber, target: number): OffsetNumber | 0 {
  const start = target & 0x7fff;
  const end = start + (target >>> 17);
  const count = pageMaxOffset(m, base);
  for (let i = 1; i <= count; i++) {
    const lp = linePointer(m, base, i);
    if (i !== o && lp >>> 17 !== 0 && (lp & 0x7fff) < end && (lp & 0x7fff) + (lp >>> 17) > start) return i;
  }
  return 0;
}

/** {@link checkedTarget}, when no item overlaps its item. */
function targetApart(m: PageMemory, base: number, g: BlockGeometry, o: OffsetNumber): number {
  const target = checkedTarget(m, base, g, o);
  const other = overlapping(m, base, o, target);
  if (other !== 0) throw overlap(m, base, g, other, o);
  return target;
}

function overlap(m: PageMemory, base: number, g: BlockGeometry, i: OffsetNumber, o: OffsetNumber): StorageError {
  const error = corruptLinePointer(m, base, g, i);
  return new StorageError(error.code, `${error.message}; its item overlaps that of line pointer ${o}`, error);
}

/**
 * Moves the items before byte `start` of the page up by `bytes` (down when negative), their line pointers with them,
 * and the item at `start` too, if it still has a line pointer.
 */
function closeGap(m: PageMemory, base: number, start: number, bytes: number): void {
  if (bytes === 0) return;
  const upper = pageUpper(m, base);
  m.u8.copyWithin(base + upper + bytes, base + upper, base + start);
  pageSetUpper(m, base, upper + bytes);
  const count = pageMaxOffset(m, base);
  for (let i = 1; i <= count; i++) {
    const lp = linePointer(m, base, i);
    if (lp >>> 17 !== 0 && (lp & 0x7fff) <= start) setLinePointer(m, base, i, lp + bytes);
  }
}
