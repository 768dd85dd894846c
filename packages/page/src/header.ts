// The page header: where each field lies, read and written. No rule is checked here: see bounds.ts and verify.ts.
//
//   byte  0        8      10     12     14     16       18          20         24           lower     upper   special
//         +--------+------+------+------+------+--------+-----------+----------+-----------+---------+-------+--------+
//         | lsn    | chk  | flags| lower| upper| special| size|vers | pruneXid | line      | free    | items | special|
//         | hi, lo |      |      |      |      |        |           |          | pointers  | space   |       | space  |
//         +--------+------+------+------+------+--------+-----------+----------+-----------+---------+-------+--------+
//
//   field                byte  bytes  what
//   pd_lsn                  0      8  WAL position after the last change: high word, then low word
//   pd_checksum             8      2  0 where data checksums are off
//   pd_flags               10      2  PD_HAS_FREE_LINES, PD_PAGE_FULL, PD_ALL_VISIBLE
//   pd_lower               12      2  byte after the last line pointer
//   pd_upper               14      2  byte where items begin; 0 on a page never initialised
//   pd_special             16      2  byte where the access method's own space begins; the page's end where it has none
//   pd_pagesize_version    18      2  block size (a multiple of 256) plus the layout version, 4
//   pd_prune_xid           20      4  oldest xid that may have left something to prune, or 0
//   pd_linp                24      -  line pointers, 4 bytes each
//
// PostgreSQL: PageHeaderData, bufpage.h.
import { type OffsetNumber, StorageError, type Xid } from '@blockwright/base';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import type { PageMemory } from './memory.ts';

/** The one page layout version that exists since PostgreSQL 8.3. PostgreSQL: `PG_PAGE_LAYOUT_VERSION`. */
export const PAGE_LAYOUT_VERSION = 4;

/** There may be unused line pointers: a hint. */
export const PD_HAS_FREE_LINES = 1;
/** An update found no room here: a hint. */
export const PD_PAGE_FULL = 2;
/** Every tuple is visible to everyone. */
export const PD_ALL_VISIBLE = 4;
/** The flags that a page can have. */
export const PD_VALID_FLAG_BITS = 7;

// Positions within the header, as indexes of 16-bit and 32-bit words.
const LSN_HIGH_32 = 0;
const LSN_LOW_32 = 1;
const CHECKSUM_16 = 4;
const FLAGS_16 = 5;
const LOWER_16 = 6;
const UPPER_16 = 7;
const SPECIAL_16 = 8;
const SIZE_VERSION_16 = 9;
const PRUNE_XID_32 = 5;

/** High word of `pd_lsn`, uint32. PostgreSQL: `PageGetLSN`. */
export function pageLsnHigh(m: PageMemory, base: number): number {
  return m.u32[(base >>> 2) + LSN_HIGH_32] as number;
}

/** Low word of `pd_lsn`, uint32. PostgreSQL: `PageGetLSN`. */
export function pageLsnLow(m: PageMemory, base: number): number {
  return m.u32[(base >>> 2) + LSN_LOW_32] as number;
}

/** PostgreSQL: `PageSetLSN`. */
export function pageSetLsn(m: PageMemory, base: number, high: number, low: number): void {
  m.u32[(base >>> 2) + LSN_HIGH_32] = high;
  m.u32[(base >>> 2) + LSN_LOW_32] = low;
}

/** `pd_checksum` as it stands on the page: 0 where none was set, or set since the last change. */
export function pageStoredChecksum(m: PageMemory, base: number): number {
  return m.u16[(base >>> 1) + CHECKSUM_16] as number;
}

/** Writes `pd_checksum`. {@link pageSetChecksum} computes it first. */
export function pageStoreChecksum(m: PageMemory, base: number, checksum: number): void {
  m.u16[(base >>> 1) + CHECKSUM_16] = checksum;
}

/** `pd_flags`. */
export function pageFlags(m: PageMemory, base: number): number {
  return m.u16[(base >>> 1) + FLAGS_16] as number;
}

/** Replaces all of `pd_flags`. */
export function pageSetFlags(m: PageMemory, base: number, flags: number): void {
  m.u16[(base >>> 1) + FLAGS_16] = flags;
}

/** `pd_lower`: the byte, from the page's start, after the last line pointer. */
export function pageLower(m: PageMemory, base: number): number {
  return m.u16[(base >>> 1) + LOWER_16] as number;
}

export function pageSetLower(m: PageMemory, base: number, lower: number): void {
  m.u16[(base >>> 1) + LOWER_16] = lower;
}

/** `pd_upper`: the byte, from the page's start, where items begin; 0 on a page that was never initialised. */
export function pageUpper(m: PageMemory, base: number): number {
  return m.u16[(base >>> 1) + UPPER_16] as number;
}

export function pageSetUpper(m: PageMemory, base: number, upper: number): void {
  m.u16[(base >>> 1) + UPPER_16] = upper;
}

/** `pd_special`: the byte, from the page's start, where the special space begins. */
export function pageSpecial(m: PageMemory, base: number): number {
  return m.u16[(base >>> 1) + SPECIAL_16] as number;
}

/** Bytes of the special space; 0 where `pd_special` lies beyond the page. PostgreSQL: `PageGetSpecialSize`. */
export function pageSpecialBytes(m: PageMemory, base: number, g: BlockGeometry): number {
  const special = pageSpecial(m, base);
  return special > g.size ? 0 : g.size - special;
}

/** `pd_pagesize_version`, as an unsigned 16-bit word: a 32 kB page has 0x8004. */
export function pageSizeWord(m: PageMemory, base: number): number {
  return m.u16[(base >>> 1) + SIZE_VERSION_16] as number;
}

/** The block size that the page itself names, in bytes. PostgreSQL: `PageGetPageSize`. */
export function pageSizeOf(m: PageMemory, base: number): number {
  return pageSizeWord(m, base) & 0xff00;
}

/** The layout version that the page names: 4. PostgreSQL: `PageGetPageLayoutVersion`. */
export function pageLayoutVersion(m: PageMemory, base: number): number {
  return pageSizeWord(m, base) & 0xff;
}

/** `pd_prune_xid`, or 0. */
export function pagePruneXid(m: PageMemory, base: number): Xid {
  return m.u32[(base >>> 2) + PRUNE_XID_32] as number;
}

export function pageSetPruneXid(m: PageMemory, base: number, xid: Xid): void {
  m.u32[(base >>> 2) + PRUNE_XID_32] = xid;
}

/** Remembers that `xid` may leave something to prune, unless an older xid stands there. PostgreSQL: `PageSetPrunable`. */
export function pageSetPrunable(m: PageMemory, base: number, xid: Xid): void {
  const known = pagePruneXid(m, base);
  if (known === 0 || ((xid - known) | 0) < 0) pageSetPruneXid(m, base, xid);
}

/** PostgreSQL: `PageIsAllVisible`. */
export function pageIsAllVisible(m: PageMemory, base: number): boolean {
  return (pageFlags(m, base) & PD_ALL_VISIBLE) !== 0;
}

export function pageSetAllVisible(m: PageMemory, base: number): void {
  pageSetFlags(m, base, pageFlags(m, base) | PD_ALL_VISIBLE);
}

export function pageClearAllVisible(m: PageMemory, base: number): void {
  pageSetFlags(m, base, pageFlags(m, base) & ~PD_ALL_VISIBLE);
}

/** PostgreSQL: `PageIsFull`. */
export function pageIsFull(m: PageMemory, base: number): boolean {
  return (pageFlags(m, base) & PD_PAGE_FULL) !== 0;
}

export function pageSetFull(m: PageMemory, base: number): void {
  pageSetFlags(m, base, pageFlags(m, base) | PD_PAGE_FULL);
}

export function pageClearFull(m: PageMemory, base: number): void {
  pageSetFlags(m, base, pageFlags(m, base) & ~PD_PAGE_FULL);
}

/** PostgreSQL: `PageHasFreeLinePointers`. */
export function pageHasFreeLines(m: PageMemory, base: number): boolean {
  return (pageFlags(m, base) & PD_HAS_FREE_LINES) !== 0;
}

export function pageSetHasFreeLines(m: PageMemory, base: number): void {
  pageSetFlags(m, base, pageFlags(m, base) | PD_HAS_FREE_LINES);
}

export function pageClearHasFreeLines(m: PageMemory, base: number): void {
  pageSetFlags(m, base, pageFlags(m, base) & ~PD_HAS_FREE_LINES);
}

/** Whether the page was never initialised, which its `pd_upper` of 0 says. PostgreSQL: `PageIsNew`. */
export function pageIsNew(m: PageMemory, base: number): boolean {
  return pageUpper(m, base) === 0;
}

/** Whether the page has no line pointer. PostgreSQL: `PageIsEmpty`. */
export function pageIsEmpty(m: PageMemory, base: number): boolean {
  return pageLower(m, base) <= SIZE_OF_PAGE_HEADER;
}

/**
 * The number of line pointers, which is the highest offset number; 0 on a new page. It believes `pd_lower`: on bytes
 * that nobody verified it can be as high as 16377. PostgreSQL: `PageGetMaxOffsetNumber`.
 */
export function pageMaxOffset(m: PageMemory, base: number): OffsetNumber {
  const lower = pageLower(m, base);
  return lower <= SIZE_OF_PAGE_HEADER ? 0 : (lower - SIZE_OF_PAGE_HEADER) >>> 2;
}

/**
 * Makes an empty page of the geometry's size, all zero but for its header. `specialBytes` is rounded up to 8.
 * PostgreSQL: `PageInit`.
 * @throws RangeError when the special space leaves no room for anything else.
 */
export function pageInit(m: PageMemory, base: number, g: BlockGeometry, specialBytes: number = 0): void {
  const special = g.size - ((specialBytes + 7) & ~7);
  if (!(specialBytes >= 0) || special <= SIZE_OF_PAGE_HEADER) {
    throw new RangeError(`a special space of ${specialBytes} bytes does not fit a page of ${g.size}`);
  }
  m.u32.fill(0, base >>> 2, (base + g.size) >>> 2);
  pageSetLower(m, base, SIZE_OF_PAGE_HEADER);
  pageSetUpper(m, base, special);
  m.u16[(base >>> 1) + SPECIAL_16] = special;
  m.u16[(base >>> 1) + SIZE_VERSION_16] = g.size | PAGE_LAYOUT_VERSION;
}

/** Whether every byte of the page is 0, as after an extension that nobody filled. PostgreSQL: `pg_memory_is_all_zeros`. */
export function pageIsZero(m: PageMemory, base: number, g: BlockGeometry): boolean {
  const words = m.u32;
  const end = (base + g.size) >>> 2;
  for (let i = base >>> 2; i < end; i++) if (words[i] !== 0) return false;
  return true;
}

/**
 * Whether `pd_lower`, `pd_upper` and `pd_special` can be believed: 24 <= lower <= upper <= special <= block size, lower
 * between two line pointers, special a multiple of 8. Every function that moves bytes asks this first.
 */
export function pageBoundsAreSane(m: PageMemory, base: number, g: BlockGeometry): boolean {
  const lower = pageLower(m, base);
  const upper = pageUpper(m, base);
  const special = pageSpecial(m, base);
  return (
    lower >= SIZE_OF_PAGE_HEADER &&
    lower <= upper &&
    upper <= special &&
    special <= g.size &&
    (lower & 3) === 0 &&
    (special & 7) === 0
  );
}

/**
 * Refuses a page whose bounds cannot be believed.
 * @throws StorageError XX001 with the three numbers; the caller knows relation and block: {@link withPageContext}.
 */
export function checkPageBounds(m: PageMemory, base: number, g: BlockGeometry): void {
  if (!pageBoundsAreSane(m, base, g)) throw corruptBounds(m, base, g);
}

function corruptBounds(m: PageMemory, base: number, g: BlockGeometry): StorageError {
  const numbers = `pd_lower ${pageLower(m, base)}, pd_upper ${pageUpper(m, base)}, pd_special ${pageSpecial(m, base)}`;
  return new StorageError('XX001', `the page header is corrupted: ${numbers}`, {
    detail: `They must rise from ${SIZE_OF_PAGE_HEADER} to ${g.size}; pd_lower a multiple of 4, pd_special of 8.`,
    hint: pageIsNew(m, base)
      ? 'A pd_upper of 0 says that the page was never initialised.'
      : 'Run "blockwright check" on the file, and restore it from a backup.',
  });
}
