// The records of a B-tree's pages, as pageinspect's bt_metap, bt_page_stats and bt_page_items give them.
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import {
  BTP_DELETED,
  BTP_HALF_DEAD,
  BTP_HAS_FULLXID,
  BTP_LEAF,
  BTP_META,
  BTP_ROOT,
  btFlags,
  btLevel,
  btNext,
  btPrev,
  firstDataKey,
  heapTidAt,
  isPivot,
  isPosting,
  metaMagic,
  nthTidAt,
  postingCount,
  postingOffset,
  readMeta,
  tidBlock,
  tidOffset,
} from '@blockwright/nbtree';
import {
  LP_DEAD,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  pageBoundsAreSane,
  pageLower,
  pageMaxOffset,
  pageSpecial,
  pageUpper,
} from '@blockwright/page';
import {
  INDEX_NULL_MASK,
  INDEX_TUPLE_HEADER_BYTES,
  INDEX_VAR_MASK,
  indexTupleInfo,
  indexTupleSize,
} from '@blockwright/tuple';
import { btreePageHasItems } from './page-kind.ts';

/** Fields and names of `bt_metap`. */
export interface BtMetaRecord {
  readonly magic: number;
  readonly version: number;
  readonly root: number;
  readonly level: number;
  readonly fastroot: number;
  readonly fastlevel: number;
  readonly last_cleanup_num_delpages: number;
  readonly last_cleanup_num_tuples: number;
  readonly allequalimage: boolean;
}

/** Fields and names of `bt_page_stats`. */
export interface BtPageStatsRecord {
  readonly blkno: BlockNumber;
  /** `l` leaf, `r` root above the leaves, `i` internal, `e` half-dead, `d` deleted leaf, `D` deleted internal page. */
  readonly type: 'l' | 'r' | 'i' | 'e' | 'd' | 'D';
  readonly live_items: number;
  readonly dead_items: number;
  readonly avg_item_size: number;
  readonly page_size: number;
  readonly free_size: number;
  readonly btpo_prev: BlockNumber;
  readonly btpo_next: BlockNumber;
  readonly btpo_level: number;
  readonly btpo_flags: number;
}

/** Fields and names of `bt_page_items`. All after the first are null where no tuple lies on the page. */
export interface BtItemRecord {
  readonly itemoffset: OffsetNumber;
  /** t_tid as it stands: a row's TID, a downlink and a number of attributes, or where a posting list is and how long. */
  readonly ctid: string | null;
  readonly itemlen: number | null;
  readonly nulls: boolean | null;
  readonly vars: boolean | null;
  /** The bytes of the attributes, `0b 77 …`. */
  readonly data: string | null;
  /** Whether a leaf's entry is known to be dead; null for pivots. */
  readonly dead: boolean | null;
  /** The (lowest) heap TID, where the tuple has one. */
  readonly htid: string | null;
  /** All of a posting list's. */
  readonly tids: readonly string[] | null;
}

/** Whether a page of kind `btree` says that it is a meta page. */
export function btIsMeta(m: PageMemory, base: number, g: BlockGeometry): boolean {
  return (btFlags(m, base, g.size) & BTP_META) !== 0;
}

/** What the meta page says. PostgreSQL: `bt_metap`, btreefuncs.c. */
export function btMetaRecord(m: PageMemory, base: number): BtMetaRecord {
  const meta = readMeta(m, base);
  return {
    magic: metaMagic(m, base),
    version: meta.version,
    root: meta.root,
    level: meta.level,
    fastroot: meta.fastroot,
    fastlevel: meta.fastlevel,
    last_cleanup_num_delpages: meta.lastCleanupNumDelpages,
    last_cleanup_num_tuples: meta.lastCleanupNumHeapTuples,
    allequalimage: meta.allequalimage,
  };
}

/** What the page at `base`, of kind `btree` and no meta page, holds in numbers. PostgreSQL: `bt_page_stats`, btreefuncs.c. */
export function btPageStats(m: PageMemory, base: number, g: BlockGeometry, block: BlockNumber): BtPageStatsRecord {
  const { size } = g;
  const flags = btFlags(m, base, size);
  const count = itemCount(m, base, g);
  let dead = 0;
  let bytes = 0;
  for (let o = 1; o <= count; o++) {
    const lp = linePointer(m, base, o);
    if (lpFlags(lp) === LP_DEAD) dead++;
    if (liesOnPage(m, base, g, lp)) bytes += indexTupleSize(m, base + lpOffset(lp));
  }
  const free = pageUpper(m, base) - pageLower(m, base) - LINE_POINTER_BYTES;
  return {
    blkno: block,
    type: typeOf(flags),
    live_items: count - dead,
    dead_items: dead,
    avg_item_size: count === 0 ? 0 : wholePart(bytes, count),
    page_size: size,
    free_size: free < 0 ? 0 : free,
    btpo_prev: btPrev(m, base, size),
    btpo_next: btNext(m, base, size),
    btpo_level: btLevel(m, base, size),
    btpo_flags: flags,
  };
}

const LINE_POINTER_BYTES = 4;

function typeOf(flags: number): BtPageStatsRecord['type'] {
  if ((flags & BTP_DELETED) !== 0) return (flags & BTP_LEAF) !== 0 || (flags & BTP_HAS_FULLXID) === 0 ? 'd' : 'D';
  if ((flags & BTP_HALF_DEAD) !== 0) return 'e';
  if ((flags & BTP_LEAF) !== 0) return 'l';
  return (flags & BTP_ROOT) !== 0 ? 'r' : 'i';
}

/** How often `count` goes into `bytes`: at most some thousand times. */
function wholePart(bytes: number, count: number): number {
  let quotient = 0;
  for (let bit = 1 << 15; bit > 0; bit >>>= 1) if (times(quotient | bit, count) <= bytes) quotient |= bit;
  return quotient;
}

function times(a: number, b: number): number {
  return Math.imul(a, b) >>> 0;
}

function itemCount(m: PageMemory, base: number, g: BlockGeometry): number {
  return pageBoundsAreSane(m, base, g) && btreePageHasItems(m, base) ? pageMaxOffset(m, base) : 0;
}

/** Whether there is a tuple behind the line pointer, all of it between the header and the special area. */
function liesOnPage(m: PageMemory, base: number, g: BlockGeometry, lp: number): boolean {
  const offset = lpOffset(lp);
  const length = lpLength(lp);
  if (length < INDEX_TUPLE_HEADER_BYTES || (offset & 7) !== 0) return false;
  const end = pageSpecial(m, base);
  if (end > g.size || offset + length > end) return false;
  const size = indexTupleSize(m, base + offset);
  return size >= INDEX_TUPLE_HEADER_BYTES && size <= length;
}

/**
 * The items of the page at `base`, of kind `btree`; none of meta pages and deleted ones. Takes any bytes: what does not
 * lie on the page is null; so are `data` and `tids` from where items, lying over each other, have added up to more than
 * the page. PostgreSQL: `bt_page_items`, btreefuncs.c.
 */
export function btPageItems(m: PageMemory, base: number, g: BlockGeometry): BtItemRecord[] {
  const records: BtItemRecord[] = [];
  const count = itemCount(m, base, g);
  const first = firstDataKey(m, base, g.size);
  const isLeaf = (btFlags(m, base, g.size) & BTP_LEAF) !== 0;
  let bytesLeft: number = g.size;
  for (let o = 1; o <= count; o++) {
    const lp = linePointer(m, base, o);
    if (!liesOnPage(m, base, g, lp)) {
      records.push({ itemoffset: o, ...NO_TUPLE });
      continue;
    }
    bytesLeft -= lpLength(lp);
    records.push(item(m, base + lpOffset(lp), o, lpFlags(lp) === LP_DEAD, isLeaf && o >= first, bytesLeft >= 0));
  }
  return records;
}

function item(
  m: PageMemory,
  pos: number,
  itemoffset: OffsetNumber,
  isDead: boolean,
  isEntry: boolean,
  showData: boolean,
): BtItemRecord {
  const info = indexTupleInfo(m, pos);
  const size = indexTupleSize(m, pos);
  const hasNulls = (info & INDEX_NULL_MASK) !== 0;
  const tidAt = isEntry || isPivot(m, pos) ? heapTidAt(m, pos) : -1;
  const hasTid = tidAt >= pos && tidAt + TID_BYTES <= pos + size && (tidAt & 1) === 0;
  let end = pos + size;
  if (isPosting(m, pos)) end = pos + postingOffset(m, pos);
  else if (isPivot(m, pos) && tidAt >= 0) end -= PIVOT_TID_BYTES;
  const start = pos + INDEX_TUPLE_HEADER_BYTES + (hasNulls ? NULL_BITMAP_BYTES : 0);
  const hasData = showData && start <= end && end <= pos + size;
  return {
    itemoffset,
    ctid: tidText(m, pos),
    itemlen: size,
    nulls: hasNulls,
    vars: (info & INDEX_VAR_MASK) !== 0,
    data: hasData ? spacedHex(m.u8, start, end) : null,
    dead: isEntry ? isDead : null,
    htid: hasTid ? tidText(m, tidAt) : null,
    tids: showData && isPosting(m, pos) ? postingTids(m, pos, size) : null,
  };
}

const TID_BYTES = 6;
/** Of a pivot's heap TID. PostgreSQL: `MAXALIGN(sizeof(ItemPointerData))`. */
const PIVOT_TID_BYTES = 8;
/** One bit for each of 32 attributes, and padding. */
const NULL_BITMAP_BYTES = 8;

const NO_TUPLE: Omit<BtItemRecord, 'itemoffset'> = {
  ctid: null,
  itemlen: null,
  nulls: null,
  vars: null,
  data: null,
  dead: null,
  htid: null,
  tids: null,
};

/** Null when the list does not lie in the tuple. */
function postingTids(m: PageMemory, pos: number, size: number): string[] | null {
  const count = postingCount(m, pos);
  const offset = postingOffset(m, pos);
  if ((offset & 1) !== 0 || offset > size || nthTidAt(m, pos, count) > pos + size) return null;
  const tids: string[] = [];
  for (let n = 0; n < count; n++) tids.push(tidText(m, nthTidAt(m, pos, n)));
  return tids;
}

function tidText(m: PageMemory, at: number): string {
  return `(${tidBlock(m, at)},${tidOffset(m, at)})`;
}

function spacedHex(bytes: Uint8Array, start: number, end: number): string {
  let text = '';
  for (let at = start; at < end; at++)
    text += `${at === start ? '' : ' '}${(bytes[at] as number).toString(16).padStart(2, '0')}`;
  return text;
}
