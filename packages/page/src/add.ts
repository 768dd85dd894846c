// Adding an item: which line pointer it gets, and where its bytes go.
import type { OffsetNumber } from '@blockwright/base';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import {
  checkPageBounds,
  pageClearHasFreeLines,
  pageHasFreeLines,
  pageLower,
  pageMaxOffset,
  pageSetHasFreeLines,
  pageSetLower,
  pageSetUpper,
  pageUpper,
} from './header.ts';
import { LP_NORMAL, linePointer, lpFlags, lpLength, makeLinePointer, setLinePointer } from './line-pointer.ts';
import type { PageMemory } from './memory.ts';

/** Take the given line pointer, which must be unused, instead of moving it and its successors up. */
export const PAI_OVERWRITE = 1;
/** Never more line pointers than a heap page may have. */
export const PAI_IS_HEAP = 2;
/** The given offset may lie beyond the next one; the line pointers between become unused. */
export const PAI_ALLOW_FAR_OFFSET = 4;

/**
 * Makes room for an item of `length` bytes and gives it a line pointer, without writing its bytes: the caller writes
 * them at {@link itemPosition}. What stands in the padding to the next multiple of 8 is left as it is.
 *
 * `offset` 0 takes the first unused line pointer where PD_HAS_FREE_LINES says that there is one, else a new one. A
 * given `offset` is inserted there, the line pointers from it on moved up by one, or overwritten with
 * {@link PAI_OVERWRITE}. PostgreSQL: `PageAddItemExtended`.
 * @returns the item's offset number, or 0 when there is no room for it.
 * @throws RangeError when `offset` lies beyond the next one (without {@link PAI_ALLOW_FAR_OFFSET}), or is to be
 * overwritten and in use; StorageError XX001 when the page's bounds are corrupted. The page is untouched in all cases.
 */
export function pageReserveItem(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  length: number,
  offset: OffsetNumber = 0,
  flags: number = 0,
): OffsetNumber {
  checkPageBounds(m, base, g);
  const limit = pageMaxOffset(m, base) + 1;
  let at = offset;
  let shift = false;
  if (at === 0) {
    at = pageHasFreeLines(m, base) ? firstFreeLinePointer(m, base, limit) : limit;
  } else if (at >>> 0 > g.maxOffsetNumber) {
    throw new RangeError(`offset number ${at} is not one that a page of ${g.size} bytes can have`);
  } else if (at < limit) {
    shift = (flags & PAI_OVERWRITE) === 0;
    if (!shift && !isFree(linePointer(m, base, at))) throw usedLinePointer(at);
  } else if (at > limit && (flags & PAI_ALLOW_FAR_OFFSET) === 0) {
    throw farOffset(at, limit - 1);
  }
  if ((flags & PAI_IS_HEAP) !== 0 && at > g.maxHeapTuplesPerPage) return 0;

  const lower = at >= limit ? SIZE_OF_PAGE_HEADER + (at << 2) : pageLower(m, base) + (shift ? 4 : 0);
  const upper = (pageUpper(m, base) & ~7) - ((length + 7) & ~7);
  if (lower > upper || length >>> 0 > g.size) return 0;

  if (shift) {
    for (let o = limit; o > at; o--) setLinePointer(m, base, o, linePointer(m, base, o - 1));
  } else if (at > limit) {
    for (let o = limit; o < at; o++) setLinePointer(m, base, o, 0);
    pageSetHasFreeLines(m, base);
  } else if (at === limit && offset === 0 && pageHasFreeLines(m, base)) {
    pageClearHasFreeLines(m, base); // the hint was wrong: the search has just shown it
  }
  setLinePointer(m, base, at, makeLinePointer(upper, LP_NORMAL, length));
  pageSetLower(m, base, lower);
  pageSetUpper(m, base, upper);
  return at;
}

/**
 * Adds `length` bytes of `src`, from `from` on, as an item: {@link pageReserveItem}, then the copy. `src` may be the
 * memory of the page itself.
 * @returns the item's offset number, or 0 when there is no room for it.
 * @throws RangeError when `src` has no such bytes, and as {@link pageReserveItem} does; StorageError XX001 likewise.
 */
export function pageAddItem(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  src: Uint8Array,
  from: number,
  length: number,
  offset: OffsetNumber = 0,
  flags: number = 0,
): OffsetNumber {
  checkSource(src, from, length);
  const at = pageReserveItem(m, base, g, length, offset, flags);
  if (at !== 0) copyBytes(src, from, m.u8, base + pageUpper(m, base), length);
  return at;
}

/** @throws RangeError when `src` does not hold `length` bytes from `from` on. */
export function checkSource(src: Uint8Array, from: number, length: number): void {
  if (!(from >= 0 && length >= 0 && from + length <= src.length)) {
    throw new RangeError(`an item of ${length} bytes from byte ${from} of a source of ${src.length} bytes`);
  }
}

/** Below this, a loop is faster than the view that `set` needs. */
const SHORT_COPY_BYTES = 32;

export function copyBytes(src: Uint8Array, from: number, dest: Uint8Array, at: number, length: number): void {
  if (src === dest) dest.copyWithin(at, from, from + length);
  else if (length > SHORT_COPY_BYTES) dest.set(src.subarray(from, from + length), at);
  else for (let i = 0; i < length; i++) dest[at + i] = src[from + i] as number;
}

function firstFreeLinePointer(m: PageMemory, base: number, limit: OffsetNumber): OffsetNumber {
  let o = 1;
  while (o < limit && !isFree(linePointer(m, base, o))) o++;
  return o;
}

/** Unused, and without storage: the second must follow from the first, but bytes can be wrong. */
function isFree(lp: number): boolean {
  return lpFlags(lp) === 0 && lpLength(lp) === 0;
}

function usedLinePointer(o: OffsetNumber): RangeError {
  return new RangeError(`line pointer ${o} is in use and cannot be overwritten`);
}

function farOffset(o: OffsetNumber, count: number): RangeError {
  return new RangeError(
    `offset number ${o} lies too far: the page has ${count} line pointers, so the next is ${count + 1}`,
  );
}
