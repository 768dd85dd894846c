// Closing the gaps between items. A strategy gets the list of items that stay, already checked, and moves them to the
// end of the page in the list's order (the first ends where the special space begins), which is line pointer order: so
// the bytes come out the same whichever strategy did it.

import { nearestName } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { pageSetUpper, pageSpecial } from './header.ts';
import { linePointer, setLinePointer } from './line-pointer.ts';
import type { PageMemory } from './memory.ts';

/** How items are moved. `workspace`: through a copy of the page's item area, in any order. */
export type Compaction = 'workspace';

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
  /** Room for a page's items. */
  readonly words: Uint32Array;

  constructor(g: BlockGeometry) {
    const most = g.maxOffsetNumber;
    this.size = g.size;
    this.offsets = new Uint16Array(most);
    this.positions = new Uint16Array(most);
    this.lengths = new Uint16Array(most);
    this.linePointers = new Uint32Array(most);
    this.words = new Uint32Array(g.size >>> 2);
  }
}

/** @throws RangeError when the scratch is for smaller pages, TypeError when nobody knows the strategy `how`. */
export function checkCompaction(g: BlockGeometry, scratch: CompactionScratch, how: Compaction): void {
  if (scratch.size < g.size) {
    throw new RangeError(`a compaction scratch for pages of ${scratch.size} bytes does not serve pages of ${g.size}`);
  }
  if (how !== 'workspace') throw unknownCompaction(how);
}

function unknownCompaction(how: string): TypeError {
  const known = ['workspace'];
  const nearest = nearestName(String(how), known);
  return new TypeError(
    `"${String(how)}" is no way to compact a page${nearest === undefined ? `; there is ${known.join(', ')}` : `; did you mean "${nearest}"?`}`,
  );
}

/**
 * Moves the first `count` items of the scratch's list to the end of the page, sets their line pointers' offsets and
 * `pd_upper`. The list must have been checked: every item within the item area and aligned, and all of them together
 * no larger than the room from the line pointers to the special space.
 */
export function compactItems(m: PageMemory, base: number, scratch: CompactionScratch, count: number): void {
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
