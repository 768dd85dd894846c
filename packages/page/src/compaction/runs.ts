// `adaptive` on a page that was compacted not long ago, as an updated page mostly was: its items lie in the order of their
// line pointers in a few runs without gaps, with a row or two that were added since out of their place. One pass over the
// line pointers checks every item and finds where runs begin; then the runs that do not lie where they belong are moved,
// and no others are touched. The longest of them moves within the page, the others through a copy aside, so that none is
// overwritten before it was read, even where damaged items overlap. Pages with more runs take the way of single items.

import { copyBlock, moveUp } from './move.ts';
import type { CompactionScratch } from './scratch.ts';
import { FLAGS_MASK, SOME_UNUSED } from './survey.ts';

/** With more runs than this, moving items one by one is as fast. */
const MOST_RUNS = 8;
/** The number of runs in the result of {@link surveyRuns}. */
export const RUNS_MASK = 0xff;

/**
 * Checks the items of line pointers, words [start, end) of `u32`, and finds the runs that items form after those that are
 * in place: `scratch.runs` has the index of the first line pointer of each.
 * @returns the number of runs, with SOME_UNUSED when there are unused line pointers; -1 when there are too many, an item is
 *   not aligned between `upper` and `special`, or an unused line pointer is not all zero: the other way decides then.
 */
export function surveyRuns(
  u32: Uint32Array,
  start: number,
  end: number,
  scratch: CompactionScratch,
  upper: number,
  special: number,
): number {
  const { runs } = scratch;
  let tail = special; // of the run: where its first item ends
  let last = special; // where the item before begins
  let newUpper = special;
  let fault = 0;
  let unused = 0;
  let residue = 0;
  let count = 0;
  for (let i = start; i < end; i++) {
    const lp = u32[i] as number;
    const bytes = lp >>> 17;
    const has = (0 - bytes) >> 31; // all bits where there is an item: whether there is, no processor can foresee
    const length = (bytes + 7) & 0x1fff8;
    const position = lp & 0x7fff;
    // Within a run items fall and are aligned as the first: only that one, and the last, must be looked at.
    if (((last - position - length) & has) !== 0) {
      if (count === MOST_RUNS) return -1;
      runs[count++] = i;
      fault |= (last - upper) | (special - position - length) | -(position & 7);
      newUpper -= tail - last;
      tail = position + length;
    }
    last ^= (last ^ position) & has;
    const sign = (lp & FLAGS_MASK) - 1; // negative where LP_UNUSED
    unused |= sign;
    residue |= lp & (sign >> 31);
  }
  fault |= last - upper;
  newUpper -= tail - last;
  if (fault < 0 || residue !== 0) return -1;
  scratch.newUpper = newUpper;
  runs[count] = end;
  return count | (unused < 0 ? SOME_UNUSED : 0);
}

/** Moves the `count` runs that {@link surveyRuns} found to where they belong, and their line pointers with them. */
export function moveRuns(
  u32: Uint32Array,
  page: number,
  start: number,
  scratch: CompactionScratch,
  count: number,
  special: number,
): void {
  const { runs, runHeads, runBytes, runMoves, words } = scratch;
  let top = headBefore(u32, runs[0] as number, start, special);
  let longest = -1;
  let longestBytes = 0;
  for (let k = 0; k < count; k++) {
    const lp = u32[runs[k] as number] as number;
    const tail = (lp & 0x7fff) + (((lp >>> 17) + 7) & 0x1fff8);
    const head = headBefore(u32, runs[k + 1] as number, start, special);
    const bytes = tail - head;
    const by = top - tail;
    top -= bytes;
    runHeads[k] = head;
    runMoves[k] = by;
    runBytes[k] = by === 0 ? 0 : bytes;
    if (by !== 0 && bytes > longestBytes) {
      longest = k;
      longestBytes = bytes;
    }
  }
  if (longest < 0) return;
  let aside = 0;
  for (let k = 0; k < count; k++) {
    const length = (runBytes[k] as number) >>> 2;
    if (length === 0 || k === longest) continue;
    copyBlock(u32, page + ((runHeads[k] as number) >>> 2), words, aside, length);
    aside += length;
  }
  moveWithin(u32, page + ((runHeads[longest] as number) >>> 2), longestBytes >>> 2, (runMoves[longest] as number) >> 2);
  aside = 0;
  for (let k = 0; k < count; k++) {
    const by = runMoves[k] as number;
    if (by === 0) continue;
    if (k !== longest) {
      const length = (runBytes[k] as number) >>> 2;
      copyBlock(words, aside, u32, page + (((runHeads[k] as number) + by) >>> 2), length);
      aside += length;
    }
    movePointers(u32, runs[k] as number, runs[k + 1] as number, by);
  }
}

/** Where the last item of the line pointers before word `end` begins; `special` when there is none. */
function headBefore(u32: Uint32Array, end: number, start: number, special: number): number {
  for (let i = end - 1; i >= start; i--) {
    const lp = u32[i] as number;
    if (lp >>> 17 !== 0) return lp & 0x7fff;
  }
  return special;
}

function moveWithin(u32: Uint32Array, from: number, length: number, by: number): void {
  if (by > 0) moveUp(u32, from, from + length, by);
  else u32.copyWithin(from + by, from, from + length);
}

function movePointers(u32: Uint32Array, start: number, end: number, by: number): void {
  for (let i = start; i < end; i++) {
    const lp = u32[i] as number;
    u32[i] = lp + (by & -(((lp >>> 17) + 0x7fff) >>> 15));
  }
}
