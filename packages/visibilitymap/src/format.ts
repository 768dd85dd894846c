// A page of the visibility map: a standard header, then two bits for each heap block, to the end of the page.
//
// byte 0                        24             24 + i                                     block size
//      +------------------------+--------------+------------------------------------------+-+
//      | page header            | ...          |  7 6  |  5 4  |  3 2  |  1 0  |   ...       |
//      +------------------------+--------------+------------------------------------------+-+
//                                               4i + 3   4i + 2  4i + 1   4i    heap blocks, from the page's first
//
// of each pair  bit 0 (1)  all-visible: every tuple of the block is visible to everybody
//               bit 1 (2)  all-frozen: and needs no freezing either; never set without bit 0
//
// pd_lower is 24 and pd_upper and pd_special are the block size: the bits lie in what a standard page has as its hole.
import type { PageMemory } from '@blockwright/page';

/** PostgreSQL: `VISIBILITYMAP_ALL_VISIBLE`, visibilitymapdefs.h. */
export const VISIBILITYMAP_ALL_VISIBLE = 1;
/** PostgreSQL: `VISIBILITYMAP_ALL_FROZEN`, visibilitymapdefs.h. */
export const VISIBILITYMAP_ALL_FROZEN = 2;
/** Both. PostgreSQL: `VISIBILITYMAP_VALID_BITS`. */
export const VISIBILITYMAP_VALID_BITS = 3;

const EVEN_BITS = 0x5555_5555;

/** How many all-visible bits words [from, to) of a map page have. */
export function countVisible(m: PageMemory, from: number, to: number): number {
  const { u32 } = m;
  let count = 0;
  for (let i = from; i < to; i++) count += bitsSet(u32[i] & EVEN_BITS);
  return count;
}

/** How many all-frozen bits they have. */
export function countFrozen(m: PageMemory, from: number, to: number): number {
  const { u32 } = m;
  let count = 0;
  for (let i = from; i < to; i++) count += bitsSet((u32[i] >>> 1) & EVEN_BITS);
  return count;
}

/** Bits set among the even ones of a word: pairs hold 0 or 1 already, so the sums start at fours. */
function bitsSet(pairs: number): number {
  const fours = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333);
  const bytes = (fours + (fours >>> 4)) & 0x0f0f_0f0f;
  return Math.imul(bytes, 0x0101_0101) >>> 24;
}
