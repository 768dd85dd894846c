// Compaction as plainly as it can be said: what a page must look like afterwards. No strategy's code is used here.
import { SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import {
  LP_UNUSED,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  makeLinePointer,
  type PageMemory,
  pageLower,
  pageMaxOffset,
  pageSetLower,
  pageSetUpper,
  pageSpecial,
  pageUpper,
  setLinePointer,
} from '@blockwright/page';

/**
 * In which order items lie after a compaction, from the page's end: by line pointer, or as they lay before.
 */
export type DataOrder = 'line pointer' | 'physical';

/**
 * Compacts the page at byte `base` of `m`, item by item into a new one. `doomed`: the line pointers that an index page
 * loses; without, the page is a heap's, whose unused line pointers at the end are cut off.
 */
export function compactPlainly(
  m: PageMemory,
  base: number,
  size: number,
  order: DataOrder,
  doomed: Uint16Array | undefined,
): void {
  const before = m.u8.slice(base, base + size);
  let kept = Array.from({ length: pageMaxOffset(m, base) }, (_, i) => linePointer(m, base, i + 1));
  if (doomed === undefined) {
    while (kept.length > 0 && lpFlags(kept.at(-1) as number) === LP_UNUSED) kept.pop();
  } else {
    const isDoomed = new Set(doomed);
    kept = kept.filter((_, i) => !isDoomed.has(i + 1));
  }
  const items = kept.map((lp, i) => ({ lp, o: i + 1 })).filter(({ lp }) => lpLength(lp) > 0);
  if (order === 'physical') items.sort((a, b) => lpOffset(b.lp) - lpOffset(a.lp));
  let upper = pageSpecial(m, base);
  for (const item of items) {
    const length = (lpLength(item.lp) + 7) & ~7;
    upper -= length;
    m.u8.set(before.subarray(lpOffset(item.lp), lpOffset(item.lp) + length), base + upper);
    kept[item.o - 1] = makeLinePointer(upper, lpFlags(item.lp), lpLength(item.lp));
  }
  kept.forEach((lp, i) => setLinePointer(m, base, i + 1, lp));
  pageSetLower(m, base, SIZE_OF_PAGE_HEADER + kept.length * 4);
  pageSetUpper(m, base, upper);
}

/** Where line pointers or items of two pages differ, in words; undefined when nowhere. Free space may differ. */
export function difference(
  got: PageMemory,
  gotBase: number,
  wanted: PageMemory,
  base: number,
  size: number,
): string | undefined {
  const [lower, upper] = [pageLower(wanted, base), pageUpper(wanted, base)];
  if (pageLower(got, gotBase) !== lower || pageUpper(got, gotBase) !== upper) {
    return `pd_lower ${pageLower(got, gotBase)}, pd_upper ${pageUpper(got, gotBase)} instead of ${lower}, ${upper}`;
  }
  const count = pageMaxOffset(wanted, base);
  for (let o = 1; o <= count; o++) {
    const [lp, right] = [linePointer(got, gotBase, o), linePointer(wanted, base, o)];
    if (lp !== right) return `line pointer ${o} is ${lp.toString(16)} instead of ${right.toString(16)}`;
  }
  for (let at = upper; at < size; at += 4) {
    if (got.u32[(gotBase + at) >>> 2] !== wanted.u32[(base + at) >>> 2]) return `other bytes at byte ${at}`;
  }
  return undefined;
}
