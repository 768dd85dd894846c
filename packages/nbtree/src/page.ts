// The special area of a B-tree page: its last 16 bytes.
//
//   size −16       −12       −8         −4       −2
//   +-----------+-----------+----------+--------+------------+
//   | btpo_prev | btpo_next | level    | flags  | cycle id   |
//   +-----------+-----------+----------+--------+------------+
//
//   prev, next   siblings on the level; 0 where there is none (block 0 is the meta page)
//   level        0 for leaves
//   cycle id     of the bulk delete during which the page was split
//
// On a page that is not the rightmost of its level item 1 is the high key: no key of the page is greater. PostgreSQL: nbtree.h.
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import { fromWords, highWord, lowWord } from '@blockwright/base';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { type PageMemory, pageInit, pageSetLower, pageSetUpper, pageSpecial } from '@blockwright/page';

/** `BTPageOpaqueData`. */
export const SIZE_OF_BTREE_SPECIAL = 16;

/** No sibling. */
export const P_NONE = 0;

export const BTP_LEAF = 1;
export const BTP_ROOT = 2;
/** Taken out of the tree; only who had a link to it still comes here, and goes on to the right. */
export const BTP_DELETED = 4;
export const BTP_META = 8;
/** Empty, and its downlink is gone: the first of two steps of deletion. */
export const BTP_HALF_DEAD = 16;
/** The rightmost page that a bulk delete's split made. */
export const BTP_SPLIT_END = 32;
/** Has items with LP_DEAD: a hint. */
export const BTP_HAS_GARBAGE = 64;
/** Its right half has no downlink yet. */
export const BTP_INCOMPLETE_SPLIT = 128;
/** A deleted page that has a safexid. */
export const BTP_HAS_FULLXID = 256;

const PREV_FROM_END = 16;
const NEXT_FROM_END = 12;
const LEVEL_FROM_END = 8;
const FLAGS_FROM_END = 4;
const CYCLE_ID_FROM_END = 2;

export function btPrev(m: PageMemory, base: number, size: number): BlockNumber {
  return m.u32[(base + size - PREV_FROM_END) >>> 2];
}

export function btNext(m: PageMemory, base: number, size: number): BlockNumber {
  return m.u32[(base + size - NEXT_FROM_END) >>> 2];
}

export function btLevel(m: PageMemory, base: number, size: number): number {
  return m.u32[(base + size - LEVEL_FROM_END) >>> 2];
}

export function btFlags(m: PageMemory, base: number, size: number): number {
  return m.u16[(base + size - FLAGS_FROM_END) >>> 1];
}

export function btCycleId(m: PageMemory, base: number, size: number): number {
  return m.u16[(base + size - CYCLE_ID_FROM_END) >>> 1];
}

export function setBtPrev(m: PageMemory, base: number, size: number, block: BlockNumber): void {
  m.u32[(base + size - PREV_FROM_END) >>> 2] = block;
}

export function setBtNext(m: PageMemory, base: number, size: number, block: BlockNumber): void {
  m.u32[(base + size - NEXT_FROM_END) >>> 2] = block;
}

export function setBtLevel(m: PageMemory, base: number, size: number, level: number): void {
  m.u32[(base + size - LEVEL_FROM_END) >>> 2] = level;
}

export function setBtFlags(m: PageMemory, base: number, size: number, flags: number): void {
  m.u16[(base + size - FLAGS_FROM_END) >>> 1] = flags;
}

export function setBtCycleId(m: PageMemory, base: number, size: number, cycleId: number): void {
  m.u16[(base + size - CYCLE_ID_FROM_END) >>> 1] = cycleId;
}

export function btIsLeaf(m: PageMemory, base: number, size: number): boolean {
  return (btFlags(m, base, size) & BTP_LEAF) !== 0;
}

/** Nothing is to the left of it on its level. */
export function btIsLeftmost(m: PageMemory, base: number, size: number): boolean {
  return btPrev(m, base, size) === P_NONE;
}

/** Nothing is to the right of it on its level; it has no high key. */
export function btIsRightmost(m: PageMemory, base: number, size: number): boolean {
  return btNext(m, base, size) === P_NONE;
}

export function btIsDeleted(m: PageMemory, base: number, size: number): boolean {
  return (btFlags(m, base, size) & BTP_DELETED) !== 0;
}

export function btIsHalfDead(m: PageMemory, base: number, size: number): boolean {
  return (btFlags(m, base, size) & BTP_HALF_DEAD) !== 0;
}

/** Half-dead or deleted: it holds no keys, and searches go on to the right. PostgreSQL: `P_IGNORE`. */
export function btIgnore(m: PageMemory, base: number, size: number): boolean {
  return (btFlags(m, base, size) & (BTP_DELETED | BTP_HALF_DEAD)) !== 0;
}

export function btIncompleteSplit(m: PageMemory, base: number, size: number): boolean {
  return (btFlags(m, base, size) & BTP_INCOMPLETE_SPLIT) !== 0;
}

/** Offset of the first item that is no high key: 1 on a rightmost page, 2 else. PostgreSQL: `P_FIRSTDATAKEY`. */
export function firstDataKey(m: PageMemory, base: number, size: number): OffsetNumber {
  return btNext(m, base, size) === P_NONE ? 1 : 2;
}

/** Makes an empty page, all of its special area zero. PostgreSQL: `_bt_pageinit`. */
export function btInitPage(m: PageMemory, base: number, g: BlockGeometry): void {
  pageInit(m, base, g, SIZE_OF_BTREE_SPECIAL);
}

/** Copies the special area of a page to another. */
export function copySpecial(m: PageMemory, base: number, to: PageMemory, toBase: number, size: number): void {
  const from = (base + size - SIZE_OF_BTREE_SPECIAL) >>> 2;
  const at = (toBase + size - SIZE_OF_BTREE_SPECIAL) >>> 2;
  for (let i = 0; i < SIZE_OF_BTREE_SPECIAL >>> 2; i++) to.u32[at + i] = m.u32[from + i];
}

/** Bytes of a deleted page's contents: its safexid. */
const DELETED_BYTES = 8;

/**
 * Makes a page, half-dead or empty, a deleted one: it keeps its links and its level. PostgreSQL: `BTPageSetDeleted`.
 * @param safeXid with its epoch, a safe integer
 */
export function setBtDeleted(m: PageMemory, base: number, g: BlockGeometry, safeXid: number): void {
  const flags = btFlags(m, base, g.size) & ~BTP_HALF_DEAD;
  setBtFlags(m, base, g.size, flags | BTP_DELETED | BTP_HAS_FULLXID);
  const at = (base + SIZE_OF_PAGE_HEADER) >>> 2;
  m.u32[at] = lowWord(safeXid);
  m.u32[at + 1] = highWord(safeXid);
  pageSetLower(m, base, SIZE_OF_PAGE_HEADER + DELETED_BYTES);
  pageSetUpper(m, base, pageSpecial(m, base));
}

/** The safexid of a deleted page, with its epoch; 0 when it has none, as before PostgreSQL 14. PostgreSQL: `BTPageGetDeleteXid`. */
export function btSafeXid(m: PageMemory, base: number, g: BlockGeometry): number {
  if ((btFlags(m, base, g.size) & BTP_HAS_FULLXID) === 0) return 0;
  const at = (base + SIZE_OF_PAGE_HEADER) >>> 2;
  return fromWords(m.u32[at + 1], m.u32[at]);
}
