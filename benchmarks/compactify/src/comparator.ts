// What anyone would write first: a list of objects, sorted by a comparator. Printed beside the strategies, and none of them.
import { SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import {
  LP_UNUSED,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  pageClearHasFreeLines,
  pageMaxOffset,
  pageSetHasFreeLines,
  pageSetLower,
  pageSetUpper,
  pageSpecial,
  setLinePointer,
} from '@blockwright/page';

interface Item {
  readonly o: number;
  readonly position: number;
  readonly length: number;
}

/** Compacts a heap page, or an index page that loses the line pointers `doomed`, which rise. Nothing is checked. */
export function compactByComparator(m: PageMemory, base: number, doomed: Uint16Array | undefined): void {
  const items: Item[] = [];
  const count = pageMaxOffset(m, base);
  let kept = 0;
  let lastUsed = 0;
  let unused = 0;
  let next = 0;
  for (let o = 1; o <= count; o++) {
    const lp = linePointer(m, base, o);
    if (doomed !== undefined) {
      if (doomed[next] === o) {
        next++;
        continue;
      }
      setLinePointer(m, base, kept + 1, lp);
    }
    kept++;
    if (lpFlags(lp) === LP_UNUSED) unused++;
    else lastUsed = kept;
    if (lpLength(lp) > 0) items.push({ o: kept, position: lpOffset(lp), length: (lpLength(lp) + 7) & ~7 });
  }
  items.sort((a, b) => b.position - a.position);
  let upper = pageSpecial(m, base);
  for (const { o, position, length } of items) {
    upper -= length;
    if (upper === position) continue;
    m.u8.copyWithin(base + upper, base + position, base + position + length);
    setLinePointer(m, base, o, (linePointer(m, base, o) & ~0x7fff) | upper);
  }
  pageSetUpper(m, base, upper);
  const used = doomed === undefined ? lastUsed : kept;
  pageSetLower(m, base, SIZE_OF_PAGE_HEADER + used * 4);
  if (doomed !== undefined) return;
  if (unused > kept - lastUsed) pageSetHasFreeLines(m, base);
  else pageClearHasFreeLines(m, base);
}
