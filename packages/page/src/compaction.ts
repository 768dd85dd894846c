// Closing the gaps between items. A strategy gets the list of items that stay, already checked, and moves them to the
// end of the page. `workspace` and `adaptive` leave them in the order of their line pointers, the first where the special
// space begins, which is what PostgreSQL leaves since version 14; `sort` leaves them in the order in which they lay.

import { nearestName } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { pageSetUpper, pageSpecial } from './header.ts';
import { linePointer, setLinePointer } from './line-pointer.ts';
import type { PageMemory } from './memory.ts';

/**
 * How items are moved. `sort`: in the order in which they lie, each to its place. `workspace`: through a copy aside, in
 * the order of their line pointers. `adaptive`: in place where the two orders are one, else as `workspace`.
 */
export type Compaction = 'sort' | 'workspace' | 'adaptive';

/** Every way to compact a page, in the order of their age in PostgreSQL. */
export const COMPACTIONS: readonly Compaction[] = ['sort', 'workspace', 'adaptive'];

/**
 * Working memory of a compaction, for pages of one size or smaller: make one and keep it. What is in it is of no
 * interest after the call.
 */
export class CompactionScratch {
  /** The largest block size that this serves, in bytes. */
  readonly size: number;
  /** Offset number of each item that stays. */
  readonly offsets: Uint16Array;
  /** Byte in the page at which each item stands before. */
  readonly positions: Uint16Array;
  /** Bytes of each item, rounded up to 8. */
  readonly lengths: Uint16Array;
  /** Line pointers that replace the old ones, where their numbers change. */
  readonly linePointers: Uint32Array;
  /** Position and number in the list of each item, packed to be sorted. */
  readonly keys: Uint32Array;
  /** Room for a page's items. */
  readonly words: Uint32Array;

  constructor(g: BlockGeometry) {
    const most = g.maxOffsetNumber;
    this.size = g.size;
    this.offsets = new Uint16Array(most);
    this.positions = new Uint16Array(most);
    this.lengths = new Uint16Array(most);
    this.linePointers = new Uint32Array(most);
    this.keys = new Uint32Array(most);
    this.words = new Uint32Array(g.size >>> 2);
  }
}

/** @throws RangeError when the scratch is for smaller pages, TypeError when nobody knows the strategy `how`. */
export function checkCompaction(g: BlockGeometry, scratch: CompactionScratch, how: Compaction): void {
  if (scratch.size < g.size) {
    throw new RangeError(`a compaction scratch for pages of ${scratch.size} bytes does not serve pages of ${g.size}`);
  }
  if (how !== 'adaptive' && how !== 'workspace' && how !== 'sort') throw unknownCompaction(how);
}

function unknownCompaction(how: string): TypeError {
  const nearest = nearestName(String(how), COMPACTIONS);
  return new TypeError(
    `"${String(how)}" is no way to compact a page${nearest === undefined ? `; there is ${COMPACTIONS.join(', ')}` : `; did you mean "${nearest}"?`}`,
  );
}

/**
 * Moves the first `count` items of the scratch's list to the end of the page, sets their line pointers' offsets and
 * `pd_upper`. The list must have been checked: every item within the item area and aligned, and all of them together
 * no larger than the room from the line pointers to the special space.
 */
export function compactItems(
  m: PageMemory,
  base: number,
  scratch: CompactionScratch,
  count: number,
  how: Compaction,
): void {
  if (how === 'sort' && sortItems(scratch, count)) moveSorted(m, base, scratch, count);
  else if (how === 'adaptive' && isDescending(scratch, count)) moveInPlace(m, base, scratch, count);
  else moveThroughScratch(m, base, scratch, count);
}

/** Bits of an item's number in a key: 8186 line pointers fit the largest page. */
const INDEX_BITS = 13;
const INDEX_MASK = (1 << INDEX_BITS) - 1;

/** Fills the keys, lowest position first. @returns false when items overlap: they cannot be moved one after another. */
function sortItems(scratch: CompactionScratch, count: number): boolean {
  const { positions, lengths, keys } = scratch;
  for (let i = 0; i < count; i++) keys[i] = ((positions[i] as number) << (INDEX_BITS - 3)) | i;
  keys.subarray(0, count).sort();
  for (let i = 1; i < count; i++) {
    const below = (keys[i - 1] as number) & INDEX_MASK;
    const above = (keys[i] as number) & INDEX_MASK;
    if ((positions[below] as number) + (lengths[below] as number) > (positions[above] as number)) return false;
  }
  return true;
}

function moveSorted(m: PageMemory, base: number, scratch: CompactionScratch, count: number): void {
  const { offsets, positions, lengths, keys } = scratch;
  let upper = pageSpecial(m, base);
  for (let k = count - 1; k >= 0; k--) {
    const i = (keys[k] as number) & INDEX_MASK;
    upper -= lengths[i] as number;
    moveItem(m, base, offsets[i] as number, positions[i] as number, upper, lengths[i] as number);
  }
  pageSetUpper(m, base, upper);
}

/** Whether each item lies below the one before it in the list, and none overlaps another. */
function isDescending(scratch: CompactionScratch, count: number): boolean {
  const { positions, lengths } = scratch;
  for (let i = 1; i < count; i++) {
    if ((positions[i] as number) + (lengths[i] as number) > (positions[i - 1] as number)) return false;
  }
  return true;
}

function moveInPlace(m: PageMemory, base: number, scratch: CompactionScratch, count: number): void {
  const { offsets, positions, lengths } = scratch;
  let upper = pageSpecial(m, base);
  for (let i = 0; i < count; i++) {
    upper -= lengths[i] as number;
    moveItem(m, base, offsets[i] as number, positions[i] as number, upper, lengths[i] as number);
  }
  pageSetUpper(m, base, upper);
}

function moveItem(m: PageMemory, base: number, o: number, from: number, to: number, length: number): void {
  if (from === to) return;
  m.u32.copyWithin((base + to) >>> 2, (base + from) >>> 2, (base + from + length) >>> 2);
  setLinePointer(m, base, o, (linePointer(m, base, o) & ~0x7fff) | to);
}

function moveThroughScratch(m: PageMemory, base: number, scratch: CompactionScratch, count: number): void {
  const { offsets, positions, lengths, words } = scratch;
  let upper = pageSpecial(m, base);
  let first = 0;
  while (first < count && (positions[first] as number) + (lengths[first] as number) === upper) {
    upper = positions[first] as number;
    first++;
  }
  if (first < count) {
    let lowest = upper;
    for (let i = first; i < count; i++) if ((positions[i] as number) < lowest) lowest = positions[i] as number;
    // The copy takes in the whole item area: of the items left to move, overlapping ones may reach beyond `upper`.
    copyWords(m.u32, (base + lowest) >>> 2, words, lowest >>> 2, (pageSpecial(m, base) - lowest) >>> 2);
    for (let i = first; i < count; i++) {
      const length = lengths[i] as number;
      upper -= length;
      copyWords(words, (positions[i] as number) >>> 2, m.u32, (base + upper) >>> 2, length >>> 2);
      const o = offsets[i] as number;
      setLinePointer(m, base, o, (linePointer(m, base, o) & ~0x7fff) | upper);
    }
  }
  pageSetUpper(m, base, upper);
}

function copyWords(src: Uint32Array, from: number, dest: Uint32Array, at: number, count: number): void {
  for (let i = 0; i < count; i++) dest[at + i] = src[from + i] as number;
}
