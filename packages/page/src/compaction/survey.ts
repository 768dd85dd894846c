// Before a byte moves: the items that stay are listed, and each is checked. No step of this has a branch that depends on
// what the line pointers are: on pages that updates made, unused, redirecting and normal ones alternate at random, and a
// mispredicted branch costs as much as the copy of a short item.
import type { CompactionScratch } from './scratch.ts';

export const FLAGS_MASK = 0x18000;

/** What {@link listItems} found: the number of items, and in the bits above, what else. */
export const SOME_UNUSED: number = 1 << 16;
/** An unused line pointer is not all zero. */
export const SOME_UNUSED_NOT_ZERO: number = 1 << 17;
export const COUNT_MASK = 0xffff;

/** Lists the line pointers with an item, of words [start, end) of `u32`; those of unused ones that are not zero, too. */
export function listItems(u32: Uint32Array, start: number, end: number, scratch: CompactionScratch): number {
  const { linePointers, numbers } = scratch;
  let count = 0;
  let unused = 0;
  let residue = 0;
  for (let i = start; i < end; i++) {
    const lp = u32[i] as number;
    linePointers[count] = lp;
    numbers[count] = i - start;
    count += ((lp >>> 17) + 0x7fff) >>> 15; // by 1 where lp_len is not 0
    const sign = (lp & FLAGS_MASK) - 1; // negative where LP_UNUSED
    unused |= sign;
    residue |= lp & (sign >> 31);
  }
  return count | (unused < 0 ? SOME_UNUSED : 0) | (residue !== 0 ? SOME_UNUSED_NOT_ZERO : 0);
}

/** The same, where unused line pointers may have what looks like an item: they are left out. */
export function listUsedItems(u32: Uint32Array, start: number, end: number, scratch: CompactionScratch): number {
  let count = 0;
  for (let i = start; i < end; i++) {
    const lp = u32[i] as number;
    if (lp >>> 17 === 0 || (lp & FLAGS_MASK) === 0) continue;
    scratch.linePointers[count] = lp;
    scratch.numbers[count] = i - start;
    count++;
  }
  return count;
}

/**
 * Lists the line pointers with an item, but not those to delete, whose offset numbers are the first `count` of
 * `offsets`, as they will be numbered when these are gone.
 * @returns how many items stay; -1 when one to delete has no item between `upper` and `special`, aligned.
 */
export function listKeptItems(
  u32: Uint32Array,
  start: number,
  end: number,
  offsets: Uint16Array,
  count: number,
  upper: number,
  special: number,
  scratch: CompactionScratch,
): number {
  const { linePointers, numbers, marks } = scratch;
  // Marks, and not the next offset number to come: each step would have to wait for what the one before found.
  let fault = 0;
  for (let k = 0; k < count; k++) {
    const index = (offsets[k] as number) - 1;
    const lp = u32[start + index] as number;
    const length = lp >>> 17;
    const position = lp & 0x7fff;
    fault |= (position - upper) | (special - position - length) | -(position & 7) | (length - 1);
    marks[index] = 1;
  }
  let at = 0;
  let items = 0;
  for (let i = start; i < end; i++) {
    const lp = u32[i] as number;
    linePointers[items] = lp;
    numbers[items] = at;
    const stays = 1 - (marks[i - start] as number);
    at += stays;
    items += (((lp >>> 17) + 0x7fff) >>> 15) & stays;
  }
  for (let k = 0; k < count; k++) marks[(offsets[k] as number) - 1] = 0;
  return fault < 0 ? -1 : items;
}

/** Moves line pointers down over those to delete: `offsets` as for {@link listKeptItems}. */
export function closeLinePointers(
  u32: Uint32Array,
  start: number,
  end: number,
  offsets: Uint16Array,
  count: number,
): void {
  let next = 0;
  let at = start;
  for (let i = start; i < end; i++) {
    if (next < count && start + (offsets[next] as number) - 1 === i) next++;
    else u32[at++] = u32[i] as number;
  }
}

/**
 * Checks the listed items, and finds out what the strategies go by. All items lie on multiples of 8 between `upper` and
 * `special` if, and only if, the result is not negative; what it leaves in the scratch is of no use otherwise.
 */
export function surveyItems(scratch: CompactionScratch, count: number, upper: number, special: number): number {
  const { linePointers } = scratch;
  let last = special;
  let i = 0;
  for (; i < count; i++) {
    const lp = linePointers[i] as number;
    const position = lp & 0x7fff;
    if (position + (((lp >>> 17) + 7) & 0x1fff8) !== last) break;
    last = position;
  }
  scratch.inPlace = i;
  scratch.top = last;
  let fault = last - upper;
  let newUpper = last;
  let disorder = 0;
  let gaps = 0;
  for (; i < count; i++) {
    const lp = linePointers[i] as number;
    const length = ((lp >>> 17) + 7) & 0x1fff8;
    const position = lp & 0x7fff;
    const gap = last - position - length;
    fault |= (position - upper) | (special - position - length) | -(position & 7);
    disorder |= gap;
    gaps += (gap | (0 - gap)) >>> 31; // by 1 where it is not 0
    newUpper -= length;
    last = position;
  }
  scratch.newUpper = newUpper;
  scratch.gaps = gaps;
  scratch.isDescending = disorder >= 0;
  return fault;
}
