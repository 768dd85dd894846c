// `sort`: items are brought into the order in which they lie, highest first, and each is moved up to its place. A key is
// one number, the item's position over its place in the list, so that sorting needs no comparator. Short lists are sorted
// by insertion; longer ones by two passes over the six high and the six low bits of the position, which have no branch
// to mispredict; the first pass over the items counts the digits of both.
import { SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { moveUp as moveUpImported } from './move.ts';
import { type CompactionScratch, DIGITS } from './scratch.ts';

const moveUp = moveUpImported;
const HEADER_32 = SIZE_OF_PAGE_HEADER >>> 2;

/** Bits of an item's place in the list: 8186 line pointers fit the largest page. */
const INDEX_BITS = 13;
const INDEX_MASK = (1 << INDEX_BITS) - 1;
/** What moves a position, a multiple of 8, to above the index. */
const POSITION_SHIFT = INDEX_BITS - 3;
const LOW_DIGIT = INDEX_BITS;
const HIGH_DIGIT = INDEX_BITS + 6;
const HIGH_COUNTS = DIGITS;
const DIGIT_MASK = DIGITS - 1;
/** As many or fewer are sorted by insertion. */
const SHORT_LIST = 40;

/**
 * Checks the listed items as {@link surveyItems} does, and leaves their keys in descending order; `isDescending` says
 * whether items can be moved in this order: not if some overlap.
 */
export function sortItems(scratch: CompactionScratch, count: number, upper: number, special: number): number {
  const { linePointers, keys } = scratch;
  let fault = 0;
  let newUpper = special;
  let last = INDEX_MASK << LOW_DIGIT;
  let disorder = 0;
  for (let i = 0; i < count; i++) {
    const lp = linePointers[i] as number;
    const length = ((lp >>> 17) + 7) & 0x1fff8;
    const position = lp & 0x7fff;
    fault |= (position - upper) | (special - position - length) | -(position & 7);
    newUpper -= length;
    const key = (position << POSITION_SHIFT) | i;
    keys[i] = key;
    disorder |= last - key;
    last = key;
  }
  scratch.newUpper = newUpper;
  scratch.inPlace = 0;
  if (fault < 0) return fault;
  if (disorder < 0) {
    if (count <= SHORT_LIST) sortByInsertion(keys, count);
    else sortByDigits(scratch, count);
  }
  scratch.isDescending = nothingOverlaps(scratch, count, special);
  return fault;
}

function sortByInsertion(keys: Uint32Array, count: number): void {
  for (let i = 1; i < count; i++) {
    const key = keys[i] as number;
    let j = i - 1;
    while (j >= 0 && (keys[j] as number) < key) {
      keys[j + 1] = keys[j] as number;
      j--;
    }
    keys[j + 1] = key;
  }
}

function sortByDigits(scratch: CompactionScratch, count: number): void {
  const { keys, otherKeys, counts } = scratch;
  counts.fill(0);
  for (let i = 0; i < count; i++) {
    const key = keys[i] as number;
    const low = (key >>> LOW_DIGIT) & DIGIT_MASK;
    const high = HIGH_COUNTS + (key >>> HIGH_DIGIT);
    counts[low] = (counts[low] as number) + 1;
    counts[high] = (counts[high] as number) + 1;
  }
  let low = 0;
  let high = 0;
  for (let digit = DIGIT_MASK; digit >= 0; digit--) {
    const lows = counts[digit] as number;
    counts[digit] = low;
    low += lows;
    const highs = counts[HIGH_COUNTS + digit] as number;
    counts[HIGH_COUNTS + digit] = high;
    high += highs;
  }
  for (let i = 0; i < count; i++) {
    const key = keys[i] as number;
    const digit = (key >>> LOW_DIGIT) & DIGIT_MASK;
    const at = counts[digit] as number;
    counts[digit] = at + 1;
    otherKeys[at] = key;
  }
  for (let i = 0; i < count; i++) {
    const key = otherKeys[i] as number;
    const digit = HIGH_COUNTS + (key >>> HIGH_DIGIT);
    const at = counts[digit] as number;
    counts[digit] = at + 1;
    keys[at] = key;
  }
}

function nothingOverlaps({ linePointers, keys }: CompactionScratch, count: number, special: number): boolean {
  let above = special;
  let overlap = 0;
  for (let k = 0; k < count; k++) {
    const lp = linePointers[(keys[k] as number) & INDEX_MASK] as number;
    const position = lp & 0x7fff;
    overlap |= above - position - (((lp >>> 17) + 7) & 0x1fff8);
    above = position;
  }
  return overlap >= 0;
}

/** Moves the items in the order of their keys. */
export function moveSorted(
  u32: Uint32Array,
  base: number,
  scratch: CompactionScratch,
  count: number,
  special: number,
): void {
  const { linePointers, numbers, keys } = scratch;
  const page = base >>> 2;
  const array = page + HEADER_32;
  let upper = special;
  for (let k = 0; k < count; k++) {
    const i = (keys[k] as number) & INDEX_MASK;
    const lp = linePointers[i] as number;
    const length = ((lp >>> 17) + 7) & 0x1fff8;
    const position = lp & 0x7fff;
    upper -= length;
    const by = upper - position;
    if (by !== 0) moveUp(u32, page + (position >>> 2), page + ((position + length) >>> 2), by >>> 2);
    u32[array + (numbers[i] as number)] = lp + by;
  }
}
