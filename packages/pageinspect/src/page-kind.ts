// Which access method a page of a main fork belongs to, judged by its special space alone: no catalog is at hand.
//
//   special bytes  last 2 bytes     kind
//   0              -                heap
//   16             0x0000..0xff7f   btree (the last field is its vacuum cycle id)
//   16             0xff80           hash
//   16             0xff81           gist
//   8              0xff82           spgist
//   8              0xf091..0xf093   brin
//   8              0x0017, 0x0000   sequence (its magic number, 0x1717, is the first 4 bytes)
//   8              flags up to 0x1ff  gin
//
// PostgreSQL: nbtree.h, hash.h, gist.h, spgist_private.h, brin_page.h, ginblock.h, sequence.c.
import type { BlockGeometry } from '@blockwright/geometry';
import {
  PageFault,
  type PageMemory,
  pageBoundsAreSane,
  pageIsNew,
  pageIsZero,
  pageSpecial,
  pageSpecialBytes,
  pageVerifyHeader,
} from '@blockwright/page';

/**
 * `new`: all zero. `heap`: a plain page, without special space. `damaged`: the header makes no sense, so that nothing
 * after it can be believed. `unknown`: a special space of nobody known here.
 */
export type PageKind =
  | 'new'
  | 'heap'
  | 'btree'
  | 'hash'
  | 'gist'
  | 'spgist'
  | 'brin'
  | 'gin'
  | 'sequence'
  | 'unknown'
  | 'damaged';

const BTREE_SPECIAL_BYTES = 16;
const MAX_BTREE_CYCLE_ID = 0xff7f;
const SEQUENCE_MAGIC = 0x1717;

/** The kind of a main fork's page. Takes any bytes. */
export function pageKind(m: PageMemory, base: number, g: BlockGeometry): PageKind {
  if (pageIsNew(m, base)) return pageIsZero(m, base, g) ? 'new' : 'damaged';
  if (pageVerifyHeader(m, base, g) !== PageFault.none) return 'damaged';
  const special = pageSpecial(m, base);
  const specialBytes = g.size - special;
  if (specialBytes === 0) return 'heap';
  const last = m.u16[(base + g.size - 2) >>> 1] as number;
  if (specialBytes === BTREE_SPECIAL_BYTES) return kindOf16(m, base, special, last);
  if (specialBytes === 8) return kindOf8(m, base, special, last);
  return 'unknown';
}

function kindOf16(m: PageMemory, base: number, special: number, last: number): PageKind {
  if (last === 0xff80) return 'hash';
  if (last === 0xff81) return 'gist';
  const flags = m.u16[(base + special + 12) >>> 1] as number;
  return last <= MAX_BTREE_CYCLE_ID && flags <= BTREE_FLAGS ? 'btree' : 'unknown';
}

function kindOf8(m: PageMemory, base: number, special: number, last: number): PageKind {
  if (last === 0xff82) return 'spgist';
  if (last >= 0xf091 && last <= 0xf093) return 'brin';
  if (m.u32[(base + special) >>> 2] === SEQUENCE_MAGIC && last === 0) return 'sequence';
  return last <= 0x1ff ? 'gin' : 'unknown';
}

// Bits of btpo_flags.
const BTREE_LEAF = 1;
const BTREE_ROOT = 2;
const BTREE_DELETED = 4;
const BTREE_META = 8;
const BTREE_HALF_DEAD = 16;
const BTREE_FLAGS = 0x1ff;

/** Which page of a B-tree it is, in words; for pages of kind `btree`. */
export function btreePageType(m: PageMemory, base: number): string {
  const special = (base + pageSpecial(m, base)) >>> 2;
  const flags = (m.u32[special + 3] as number) & 0xffff;
  if ((flags & BTREE_META) !== 0) return 'metapage';
  if ((flags & BTREE_DELETED) !== 0) return 'deleted page';
  const root = (flags & BTREE_ROOT) === 0 ? '' : 'root, ';
  const halfDead = (flags & BTREE_HALF_DEAD) === 0 ? '' : ', half dead';
  if ((flags & BTREE_LEAF) !== 0) return `${root}leaf page${halfDead}`;
  return `${root}internal page of level ${m.u32[special + 2]}${halfDead}`;
}

/** Whether a B-tree page has line pointers where other pages have them: metapages and deleted pages do not. */
export function btreePageHasItems(m: PageMemory, base: number): boolean {
  const flags = m.u16[(base + pageSpecial(m, base) + 12) >>> 1] as number;
  return (flags & (BTREE_META | BTREE_DELETED)) === 0;
}

/**
 * Whether the line pointers of a page of this kind are shown: those of heap pages, of B-tree pages that have some, and of
 * a damaged page whose bounds can be believed, if there is no special space that would make it another's.
 */
export function pageHasLinePointers(m: PageMemory, base: number, g: BlockGeometry, kind: PageKind): boolean {
  if (kind === 'btree') return btreePageHasItems(m, base);
  if (kind === 'damaged') return pageBoundsAreSane(m, base, g) && pageSpecialBytes(m, base, g) === 0;
  return kind === 'heap';
}
