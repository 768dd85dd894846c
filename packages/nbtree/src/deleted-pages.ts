// What pages look like after each step of their deletion; the steps and their redo make the same bytes.
//
//   half-dead leaf  empty but for a high key of 8 bytes, whose TID leads to the topmost page that goes with it (its
//                   top parent; 0xFFFFFFFF when it goes alone). It has no downlink, and still its siblings.
//   deleted page    no items; byte 24 is safexid u64, the first transaction id that was not handed out when the page
//                   was taken out of its level: who may still have a link to it has a snapshot as old as that.
//
// PostgreSQL: `_bt_mark_page_halfdead`, `_bt_unlink_halfdead_page`, nbtpage.c; `BTPageSetDeleted`, nbtree.h.
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { itemPosition, type PageMemory, pageIndexTupleDelete, pageReserveItem } from '@blockwright/page';
import { setIndexTupleInfo } from '@blockwright/tuple';
import {
  BTP_HALF_DEAD,
  BTP_LEAF,
  btInitPage,
  setBtDeleted,
  setBtFlags,
  setBtLevel,
  setBtNext,
  setBtPrev,
} from './page.ts';
import { downlink, setDownlink, setPivot } from './tuples.ts';

const TRUNCATED_TUPLE_BYTES = 8;

/** Makes the page a half-dead leaf. @param topParent 0xFFFFFFFF when no page above goes with it */
export function fillHalfDeadLeaf(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  left: BlockNumber,
  right: BlockNumber,
  topParent: BlockNumber,
): void {
  btInitPage(m, base, g);
  setBtPrev(m, base, g.size, left);
  setBtNext(m, base, g.size, right);
  setBtFlags(m, base, g.size, BTP_HALF_DEAD | BTP_LEAF);
  pageReserveItem(m, base, g, TRUNCATED_TUPLE_BYTES, 1);
  const pos = itemPosition(m, base, 1);
  setIndexTupleInfo(m, pos, TRUNCATED_TUPLE_BYTES);
  setDownlink(m, pos, topParent);
  setPivot(m, pos, 0, false);
}

/** Makes the page a deleted one. @param safeXid with its epoch */
export function fillDeletedPage(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  left: BlockNumber,
  right: BlockNumber,
  level: number,
  safeXid: number,
): void {
  btInitPage(m, base, g);
  setBtPrev(m, base, g.size, left);
  setBtNext(m, base, g.size, right);
  setBtLevel(m, base, g.size, level);
  setBtFlags(m, base, g.size, level === 0 ? BTP_LEAF : 0);
  setBtDeleted(m, base, g, safeXid);
}

/**
 * Takes the downlink at `offset` away, and the key after it: the keys of the page that goes become its right sibling's.
 * @throws as `pageIndexTupleDelete`; the page is untouched then.
 */
export function removeDownlink(m: PageMemory, base: number, g: BlockGeometry, offset: OffsetNumber): void {
  const right = downlink(m, itemPosition(m, base, offset + 1));
  pageIndexTupleDelete(m, base, g, offset + 1);
  setDownlink(m, itemPosition(m, base, offset), right);
}
