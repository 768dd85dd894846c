// Where a range begins or ends: a place between two entries, which is looked for as a key is.
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import {
  itemIsInBounds,
  linePointer,
  lpOffset,
  type PageMemory,
  pageMaxOffset,
  pageSpecial,
  pageUpper,
} from '@blockwright/page';
import type { TupleMemory } from '@blockwright/tuple';
import type { BtreeIndex } from './btree.ts';
import { compareToTuple } from './compare.ts';
import { btIsRightmost } from './page.ts';
import { binarySearch, wildLinePointer } from './search.ts';
import { SearchKey } from './search-key.ts';

/** A place in an index: before or after all keys that begin with the first `natts` attributes of an index tuple. */
export interface SearchBound {
  readonly memory: TupleMemory;
  readonly pos: number;
  readonly natts: number;
  /** Whether keys that begin with these attributes belong to the range. */
  readonly inclusive: boolean;
}

/** One end of a range. An open one is that of the index. */
export class ScanBoundary {
  readonly key: SearchKey = new SearchKey();
  isOpen = true;
  private readonly isUpper: boolean;

  /** @param isUpper whether it is the end of the range, in the index's order */
  constructor(isUpper: boolean, backward: boolean) {
    this.isUpper = isUpper;
    this.key.backward = backward;
  }

  /** Before the keys that begin as the bound does, or after them. */
  set(bound: SearchBound | undefined, inclusive: boolean = bound?.inclusive ?? true): void {
    this.isOpen = bound === undefined;
    if (bound === undefined) return;
    const { key } = this;
    key.memory = bound.memory;
    key.pos = bound.pos;
    key.natts = bound.natts;
    key.nextkey = inclusive === this.isUpper;
  }
}

/** The offset of the first item of a leaf page that is after the boundary; one more than the last when none is. */
export function positionOf(
  index: BtreeIndex,
  { key }: ScanBoundary,
  m: PageMemory,
  base: number,
  block: BlockNumber,
): OffsetNumber {
  return binarySearch(index, key, m, base, block);
}

/**
 * As {@link positionOf}, of a boundary that is not before item `start`, and most often close behind it: looks at that one
 * first, then 2, 4, 8 further on.
 */
export function positionFrom(
  index: BtreeIndex,
  { key }: ScanBoundary,
  m: PageMemory,
  base: number,
  block: BlockNumber,
  start: OffsetNumber,
): OffsetNumber {
  const upper = pageUpper(m, base);
  const special = pageSpecial(m, base);
  const least = key.nextkey ? 0 : 1;
  const end = pageMaxOffset(m, base) + 1;
  let low = start;
  let high = end;
  let probe = start;
  for (let step = 1; low < high; step <<= 1) {
    const lp = linePointer(m, base, probe);
    if (!itemIsInBounds(lp, upper, special)) throw wildLinePointer(index, lp, probe, block);
    if (compareToTuple(index, key, m, base + lpOffset(lp)) >= least) low = probe + 1;
    else high = probe;
    // Forward by leaps until the boundary is passed, then by halves.
    probe = high === end && low + step < end ? low + step : low + ((high - low) >>> 1);
  }
  return low;
}

const HIGH_KEY: OffsetNumber = 1;

/** Whether the boundary lies on a page to the right of the leaf page, as its high key says. */
export function isBeyondPage(
  index: BtreeIndex,
  { key, isOpen }: ScanBoundary,
  m: PageMemory,
  base: number,
  block: BlockNumber,
): boolean {
  if (btIsRightmost(m, base, index.geometry.size)) return false;
  if (isOpen) return true;
  const lp = linePointer(m, base, HIGH_KEY);
  if (!itemIsInBounds(lp, pageUpper(m, base), pageSpecial(m, base))) throw wildLinePointer(index, lp, HIGH_KEY, block);
  return compareToTuple(index, key, m, base + lpOffset(lp)) >= (key.nextkey ? 0 : 1);
}
