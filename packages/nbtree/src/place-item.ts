// PostgreSQL's `PageAddItem` for pages whose room was checked: nothing is checked, so that an insert costs little.
import type { OffsetNumber } from '@blockwright/base';
import { SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { LP_NORMAL, makeLinePointer, type PageMemory } from '@blockwright/page';
import type { TupleMemory } from '@blockwright/tuple';
import { copyWords } from './copy-tuple.ts';

// Words of the page header and of line pointers.
const LOWER_16 = 6;
const UPPER_16 = 7;
const BEFORE_FIRST_32 = (SIZE_OF_PAGE_HEADER >>> 2) - 1;
/** Fewer line pointers than these are moved one by one: quicker than a call. */
const FEW = 24;

/**
 * Places the tuple of `length` bytes, a multiple of 8, as item `offset` of the page; later items move up by one. The page
 * has room for it and its line pointer, and `offset` is at most one more than its last.
 */
export function placeItem(
  m: PageMemory,
  base: number,
  source: TupleMemory,
  pos: number,
  length: number,
  offset: OffsetNumber,
): void {
  const { u16, u32 } = m;
  const half = base >>> 1;
  const lower = u16[half + LOWER_16];
  const upper = u16[half + UPPER_16] - length;
  const at = (base >>> 2) + BEFORE_FIRST_32 + offset;
  const end = (base + lower) >>> 2;
  if (end - at > FEW) u32.copyWithin(at + 1, at, end);
  else for (let i = end; i > at; i--) u32[i] = u32[i - 1];
  u32[at] = makeLinePointer(upper, LP_NORMAL, length);
  u16[half + LOWER_16] = lower + 4;
  u16[half + UPPER_16] = upper;
  copyWords(source, pos, m, base + upper, length);
}
