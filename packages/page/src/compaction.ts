// Closing the gaps between items. A strategy gets the list of items that stay, already checked, and moves them to the
// end of the page. `workspace` and `adaptive` leave them in the order of their line pointers, the first where the special
// space begins, which is what PostgreSQL leaves since version 14; `sort` leaves them in the order in which they lay.

import { nearestName } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { moveInPlace, moveThroughScratch } from './compaction/move.ts';
import type { CompactionScratch } from './compaction/scratch.ts';
import { moveSorted, sortItems } from './compaction/sort.ts';
import { surveyItems } from './compaction/survey.ts';
import { pageLower, pageSetUpper, pageSpecial, pageUpper } from './header.ts';
import type { PageMemory } from './memory.ts';

/**
 * How items are moved. `sort`: in the order in which they lie, each to its place. `workspace`: through a copy aside, in
 * the order of their line pointers. `adaptive`: in place where the two orders are one, else as `workspace`.
 */
export type Compaction = 'sort' | 'workspace' | 'adaptive';

/** Every way to compact a page, in the order of their age in PostgreSQL. */
export const COMPACTIONS: readonly Compaction[] = ['sort', 'workspace', 'adaptive'];

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
 * Checks the first `count` items of the scratch's list, none of which is moved yet.
 * @returns whether all lie within the item area, aligned, and have room between line pointers and special space.
 */
export function checkItems(
  m: PageMemory,
  base: number,
  scratch: CompactionScratch,
  count: number,
  how: Compaction,
): boolean {
  const upper = pageUpper(m, base);
  const special = pageSpecial(m, base);
  scratch.lowest = upper;
  const fault =
    how === 'sort' ? sortItems(scratch, count, upper, special) : surveyItems(scratch, count, upper, special);
  return fault >= 0 && scratch.newUpper >= pageLower(m, base);
}

/**
 * Moves the items that {@link checkItems} let pass to the end of the page, and writes their line pointers and
 * `pd_upper`. Line pointers of items that are where they belong are left to the caller.
 */
export function moveItems(
  m: PageMemory,
  base: number,
  scratch: CompactionScratch,
  count: number,
  how: Compaction,
): void {
  const { u32 } = m;
  const special = pageSpecial(m, base);
  if (how === 'sort' && scratch.isDescending) {
    moveSorted(u32, base, scratch, count, special);
  } else if (how === 'adaptive' && goInPlace(scratch, count)) {
    moveInPlace(u32, base, scratch, count);
  } else {
    const first = how === 'adaptive' ? scratch.inPlace : 0;
    const top = how === 'adaptive' ? scratch.top : special;
    moveThroughScratch(u32, base, scratch, first, count, top, special);
  }
  pageSetUpper(m, base, scratch.newUpper);
}

/**
 * Whether to move runs of items where they are costs less than to move every item aside and all of them back. The bytes
 * are the same. By measurement, of short items a run costs as much as four; long ones are never faster aside.
 */
function goInPlace({ isDescending, inPlace, top, newUpper, gaps }: CompactionScratch, count: number): boolean {
  const items = count - inPlace;
  return isDescending && (top - newUpper >= items << 6 || gaps << 2 < items + 24);
}
