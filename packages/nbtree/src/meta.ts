// The meta page, block 0: where the root is.
//
//   byte 24  magic 0x053162   28  version 4   32  root   36  level   40  fast root   44  fast level
//        48  pages that the last bulk delete left deleted   56  float8, not used any more: −1   64  allequalimage
//
// The fast root is the lowest page that is alone on its level: above it every page has one child. PostgreSQL:
// `BTMetaPageData`, nbtree.h.
import type { BlockNumber } from '@blockwright/base';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { type PageMemory, pageSetLower } from '@blockwright/page';
import { BTP_META, btInitPage, setBtFlags } from './page.ts';

export const BTREE_METAPAGE = 0;
export const BTREE_MAGIC = 0x053162;
export const BTREE_VERSION = 4;

/** What the meta page says. */
export interface MetaData {
  readonly version: number;
  /** 0 while the index is empty. */
  readonly root: BlockNumber;
  readonly level: number;
  readonly fastroot: BlockNumber;
  readonly fastlevel: number;
  readonly lastCleanupNumDelpages: number;
  readonly lastCleanupNumHeapTuples: number;
  readonly allequalimage: boolean;
}

const META_BYTES = 48;
const HEAP_TUPLES_AT = SIZE_OF_PAGE_HEADER + 32;
const ALL_EQUAL_IMAGE_AT = SIZE_OF_PAGE_HEADER + 40;

/** Words of a float8, low and high. */
const scratch = new Float64Array(1);
const scratchWords = new Uint32Array(scratch.buffer);

/** The magic number, where a meta page has its own. */
export function metaMagic(m: PageMemory, base: number): number {
  return m.u32[(base + SIZE_OF_PAGE_HEADER) >>> 2];
}

/** Reads the fields, whatever they say. */
export function readMeta(m: PageMemory, base: number): MetaData {
  const at = (base + SIZE_OF_PAGE_HEADER) >>> 2;
  const { u32 } = m;
  scratchWords[0] = u32[(base + HEAP_TUPLES_AT) >>> 2];
  scratchWords[1] = u32[(base + HEAP_TUPLES_AT + 4) >>> 2];
  return {
    version: u32[at + 1],
    root: u32[at + 2],
    level: u32[at + 3],
    fastroot: u32[at + 4],
    fastlevel: u32[at + 5],
    lastCleanupNumDelpages: u32[at + 6],
    lastCleanupNumHeapTuples: scratch[0],
    allequalimage: m.u8[base + ALL_EQUAL_IMAGE_AT] !== 0,
  };
}

/** Writes the fields and pd_lower of a page that is a meta page already. */
export function writeMeta(m: PageMemory, base: number, meta: MetaData): void {
  const at = (base + SIZE_OF_PAGE_HEADER) >>> 2;
  const { u32 } = m;
  u32[at] = BTREE_MAGIC;
  u32[at + 1] = meta.version;
  u32[at + 2] = meta.root;
  u32[at + 3] = meta.level;
  u32[at + 4] = meta.fastroot;
  u32[at + 5] = meta.fastlevel;
  u32[at + 6] = meta.lastCleanupNumDelpages;
  scratch[0] = meta.lastCleanupNumHeapTuples;
  u32[(base + HEAP_TUPLES_AT) >>> 2] = scratchWords[0];
  u32[(base + HEAP_TUPLES_AT + 4) >>> 2] = scratchWords[1];
  m.u8[base + ALL_EQUAL_IMAGE_AT] = meta.allequalimage ? 1 : 0;
  pageSetLower(m, base, SIZE_OF_PAGE_HEADER + META_BYTES);
}

/** Makes a meta page. PostgreSQL: `_bt_initmetapage`. */
export function initMetaPage(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  root: BlockNumber = 0,
  level: number = 0,
  allEqualImage: boolean = true,
): void {
  btInitPage(m, base, g);
  setBtFlags(m, base, g.size, BTP_META);
  writeMeta(m, base, {
    version: BTREE_VERSION,
    root,
    level,
    fastroot: root,
    fastlevel: level,
    lastCleanupNumDelpages: 0,
    lastCleanupNumHeapTuples: -1,
    allequalimage: allEqualImage,
  });
}
