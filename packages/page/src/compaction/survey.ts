// Before a byte moves: the items that stay are listed, and each is checked. No step of this has a branch that depends on
// what the line pointers are: on pages that updates made, unused, redirecting and normal ones alternate at random, and a
// mispredicted branch costs as much as the copy of a short item.
import type { CompactionScratch } from './scratch.ts';

const FLAGS_MASK = 0x18000;

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
    gaps += -gap >>> 31;
    newUpper -= length;
    last = position;
  }
  scratch.newUpper = newUpper;
  scratch.gaps = gaps;
  scratch.isDescending = disorder >= 0;
  return fault;
}
