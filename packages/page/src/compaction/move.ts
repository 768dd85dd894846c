// Moving items to the end of a page: in place where their order allows it, else through a copy aside. All that is moved
// lies on multiples of 8 bytes, and every item has been checked.
//
// The primitive goes by length (Node.js 20, ns a call, measured one against another in one process): a loop over 32-bit
// words, eight a turn, takes 3 to 5 for 16 bytes, 10 for 40, 17 for 96, 23 for 136, 82 for 512; `copyWithin` 17 whatever
// the length, up to 500 bytes; `set` of a `subarray`, the only way from one buffer to another without a loop, 38 to 70,
// and 120 for 8 kB. So short items are copied by a loop; long ones, joined with those that they abut, by `copyWithin`,
// which needs them in one buffer: where they must be permuted, the page's item area is set aside as a whole first, and
// comes back as a whole. To join short items does not pay: the branch that ends a run is mispredicted, which costs more
// than the copy. Views of 64-bit floats are no faster than two words at a time, and might change a NaN's bits.
import { SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import type { CompactionScratch } from './scratch.ts';

const HEADER_32 = SIZE_OF_PAGE_HEADER >>> 2;
/** From here on `copyWithin` is faster than a loop, in 32-bit words. */
const LONG_32 = 18;
/** The same in bytes, of an item with its padding. */
const LONG_BYTES = LONG_32 << 2;
/** The same where fewer than FEW_ITEMS move: to set the item area aside costs as much as a loop takes for two of them. */
const FEW_LONG_BYTES = 200;
const FEW_ITEMS = 8;
/** Below this a loop is faster than the view that `set` needs, in 32-bit words. */
const SHORT_SET_32 = 112;

/** Moves words [start, end) up by `by` words, which may be fewer than there are. */
export function moveUp(u32: Uint32Array, start: number, end: number, by: number): void {
  if (end - start >= LONG_32) {
    u32.copyWithin(start + by, start, end);
    return;
  }
  let i = end;
  for (; i - start >= 4; i -= 4) {
    const a = u32[i - 4] as number;
    const b = u32[i - 3] as number;
    const c = u32[i - 2] as number;
    const d = u32[i - 1] as number;
    // None of these is read again: what they overwrite lies higher, or was read just now.
    u32[i + by - 4] = a;
    u32[i + by - 3] = b;
    u32[i + by - 2] = c;
    u32[i + by - 1] = d;
  }
  if (i > start) {
    const low = u32[start] as number;
    const high = u32[start + 1] as number;
    u32[start + by] = low;
    u32[start + by + 1] = high;
  }
}

/**
 * Closes the gaps of items that lie in the order of their line pointers, downwards, from the first of the scratch's list
 * that is not in place on: each run of items that abut moves as one.
 */
export function moveInPlace(u32: Uint32Array, base: number, scratch: CompactionScratch, count: number): void {
  const { linePointers, numbers } = scratch;
  const page = base >>> 2;
  const array = page + HEADER_32;
  let head = scratch.top;
  let tail = head;
  let by = 0;
  let upper = head;
  for (let i = scratch.inPlace; i < count; i++) {
    const lp = linePointers[i] as number;
    const length = ((lp >>> 17) + 7) & 0x1fff8;
    const position = lp & 0x7fff;
    if (position + length !== head) {
      if (by !== 0) moveUp(u32, page + (head >>> 2), page + (tail >>> 2), by >>> 2);
      tail = position + length;
      by = upper - tail;
    }
    head = position;
    upper -= length;
    u32[array + (numbers[i] as number)] = lp + by;
  }
  if (by !== 0) moveUp(u32, page + (head >>> 2), page + (tail >>> 2), by >>> 2);
}

/**
 * Moves items, from number `first` of the scratch's list on, to where they must end, `top`, in the order of the list.
 * They are brought in order aside, and come back in one piece, so that none is overwritten before it was read. Items
 * that overlap keep their bytes.
 */
export function moveThroughScratch(
  u32: Uint32Array,
  base: number,
  scratch: CompactionScratch,
  first: number,
  count: number,
  top: number,
  special: number,
): void {
  const { linePointers, numbers, words, aside } = scratch;
  const page = base >>> 2;
  const array = page + HEADER_32;
  const least = count - first < FEW_ITEMS ? FEW_LONG_BYTES : LONG_BYTES;
  let upper = top;
  // The run of long items that waits to be copied: in bytes of the page, before and after.
  let head = -1;
  let tail = -1;
  let by = 0;
  for (let i = first; i < count; i++) {
    const lp = linePointers[i] as number;
    const length = ((lp >>> 17) + 7) & 0x1fff8;
    const position = lp & 0x7fff;
    upper -= length;
    u32[array + (numbers[i] as number)] = lp + (upper - position);
    if (length < least) {
      copyShort(u32, page + (position >>> 2), words, upper >>> 2, length >>> 2);
    } else if (position + length === head && upper - position === by) {
      head = position;
    } else {
      if (head < 0) setAside(u32, page, scratch, special);
      else words.copyWithin((head + by) >>> 2, aside + (head >>> 2), aside + (tail >>> 2));
      head = position;
      tail = position + length;
      by = upper - position;
    }
  }
  if (head >= 0) words.copyWithin((head + by) >>> 2, aside + (head >>> 2), aside + (tail >>> 2));
  copyBlock(words, upper >>> 2, u32, page + (upper >>> 2), (top - upper) >>> 2);
}

/** Overlapping items may reach beyond where the first to be moved must end: the whole item area is taken. */
function setAside(u32: Uint32Array, page: number, scratch: CompactionScratch, special: number): void {
  const upper = (scratch.lowest & ~7) >>> 2; // pd_upper may be no multiple of 8
  copyBlock(u32, page + upper, scratch.words, scratch.aside + upper, (special >>> 2) - upper);
}

function copyShort(from: Uint32Array, start: number, to: Uint32Array, at: number, count: number): void {
  let source = start;
  let target = at;
  if ((count & 2) !== 0) {
    to[target] = from[source] as number;
    to[target + 1] = from[source + 1] as number;
    source += 2;
    target += 2;
  }
  if ((count & 4) !== 0) {
    to[target] = from[source] as number;
    to[target + 1] = from[source + 1] as number;
    to[target + 2] = from[source + 2] as number;
    to[target + 3] = from[source + 3] as number;
    source += 4;
    target += 4;
  }
  for (let n = count >>> 3; n > 0; n--) {
    to[target] = from[source] as number;
    to[target + 1] = from[source + 1] as number;
    to[target + 2] = from[source + 2] as number;
    to[target + 3] = from[source + 3] as number;
    to[target + 4] = from[source + 4] as number;
    to[target + 5] = from[source + 5] as number;
    to[target + 6] = from[source + 6] as number;
    to[target + 7] = from[source + 7] as number;
    source += 8;
    target += 8;
  }
}

/** Copies `count` words from one buffer to another, few or many; an even number. */
export function copyBlock(from: Uint32Array, start: number, to: Uint32Array, at: number, count: number): void {
  if (count < SHORT_SET_32) copyShort(from, start, to, at, count);
  else to.set(from.subarray(start, start + count), at);
}
