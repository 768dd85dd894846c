// Line pointers (item ids): one 32-bit word each, from byte 24 of the page on, numbered from 1.
//
//   bit 31                17 16   15 14                 0
//       +-------------------+-------+-------------------+
//       |      lp_len       | flags |      lp_off       |
//       +-------------------+-------+-------------------+
//
//   flags          lp_off                            lp_len
//   LP_UNUSED   0  0                                 0
//   LP_NORMAL   1  byte of the item in the page      bytes of the item, without padding
//   LP_REDIRECT 2  offset number of another pointer  0
//   LP_DEAD     3  0, or as LP_NORMAL (index pages)  0, or as LP_NORMAL
//
// PostgreSQL: ItemIdData, itemid.h.
import { type OffsetNumber, StorageError } from '@blockwright/base';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { pageSpecial, pageUpper } from './header.ts';
import type { PageMemory } from './memory.ts';

export const LP_UNUSED = 0;
export const LP_NORMAL = 1;
export const LP_REDIRECT = 2;
export const LP_DEAD = 3;

/** Index of line pointer 0, which does not exist, in 32-bit words from the page's start. */
const BEFORE_FIRST_32 = (SIZE_OF_PAGE_HEADER >>> 2) - 1;
const FIELD_MASK = 0x7fff;

/** Line pointer `o`, 1 to {@link pageMaxOffset}, as its 32-bit word. Not checked. PostgreSQL: `PageGetItemId`. */
export function linePointer(m: PageMemory, base: number, o: OffsetNumber): number {
  return m.u32[(base >>> 2) + BEFORE_FIRST_32 + o] as number;
}

export function setLinePointer(m: PageMemory, base: number, o: OffsetNumber, lp: number): void {
  m.u32[(base >>> 2) + BEFORE_FIRST_32 + o] = lp;
}

/** `lp_off`: the item's byte in the page; of a redirect, the offset number it leads to. */
export function lpOffset(lp: number): number {
  return lp & FIELD_MASK;
}

/** `lp_flags`: {@link LP_UNUSED}, {@link LP_NORMAL}, {@link LP_REDIRECT} or {@link LP_DEAD}. */
export function lpFlags(lp: number): number {
  return (lp >>> 15) & 3;
}

/** `lp_len`: bytes of the item; 0 where the line pointer has no storage. */
export function lpLength(lp: number): number {
  return lp >>> 17;
}

/** A line pointer's word: offset and length 0 to 32767, flags 0 to 3. */
export function makeLinePointer(offset: number, flags: number, length: number): number {
  return (offset | (flags << 15) | (length << 17)) >>> 0;
}

/** Byte in `m.u8` at which the item of line pointer `o` begins. Not checked. PostgreSQL: `PageGetItem`. */
export function itemPosition(m: PageMemory, base: number, o: OffsetNumber): number {
  return base + lpOffset(linePointer(m, base, o));
}

/** PostgreSQL: `ItemIdSetUnused`. */
export function markLinePointerUnused(m: PageMemory, base: number, o: OffsetNumber): void {
  setLinePointer(m, base, o, 0);
}

/** Dead and without storage, as on heap pages. PostgreSQL: `ItemIdSetDead`. */
export function markLinePointerDead(m: PageMemory, base: number, o: OffsetNumber): void {
  setLinePointer(m, base, o, LP_DEAD << 15);
}

/** Dead, its item kept, as on index pages. PostgreSQL: `ItemIdMarkDead`. */
export function markItemDead(m: PageMemory, base: number, o: OffsetNumber): void {
  setLinePointer(m, base, o, (linePointer(m, base, o) | (LP_DEAD << 15)) >>> 0);
}

/** Leads to line pointer `target` of the same page. PostgreSQL: `ItemIdSetRedirect`. */
export function markLinePointerRedirect(m: PageMemory, base: number, o: OffsetNumber, target: OffsetNumber): void {
  setLinePointer(m, base, o, makeLinePointer(target, LP_REDIRECT, 0));
}

/**
 * Whether the item of a line pointer with storage lies where items may lie: on a multiple of 8, from `upper` to
 * `special`. Its padding to the next multiple of 8 then does, too.
 */
export function itemIsInBounds(lp: number, upper: number, special: number): boolean {
  const offset = lp & FIELD_MASK;
  return offset >= upper && offset + (lp >>> 17) <= special && (offset & 7) === 0;
}

/**
 * The item of line pointer `o`, checked: the word when it is normal or dead with its item inside the page's item area,
 * else 0 when it has no item.
 * @throws StorageError XX001 when the item lies elsewhere. The page's bounds must have been verified.
 */
export function checkedItem(m: PageMemory, base: number, g: BlockGeometry, o: OffsetNumber): number {
  const lp = linePointer(m, base, o);
  if (lp >>> 17 === 0) return 0;
  if (!itemIsInBounds(lp, pageUpper(m, base), pageSpecial(m, base))) throw corruptLinePointer(m, base, g, o);
  return lp;
}

/** The error for a line pointer that leads outside the item area; the caller throws it before any byte has moved. */
export function corruptLinePointer(m: PageMemory, base: number, g: BlockGeometry, o: OffsetNumber): StorageError {
  const lp = linePointer(m, base, o);
  const numbers = `lp_off ${lpOffset(lp)}, lp_flags ${lpFlags(lp)}, lp_len ${lpLength(lp)}`;
  return new StorageError('XX001', `line pointer ${o} is corrupted: ${numbers}`, {
    detail: `Items of this ${g.size}-byte page lie from byte ${pageUpper(m, base)} to ${pageSpecial(m, base)}, on multiples of 8. Offset number ${o}.`,
    hint: 'Nothing was changed. Run "blockwright check" on the file, and restore it from a backup.',
  });
}
