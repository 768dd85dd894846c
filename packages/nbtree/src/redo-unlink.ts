// Redo of page deletion: the first step, which takes the downlink away, and the second, which takes a page out of its
// level. PostgreSQL: `btree_xlog_mark_page_halfdead`, `btree_xlog_unlink_page`, nbtxlog.c.
import {
  cannotRedo,
  malformed,
  needData,
  REDO_MISSING,
  REDO_NEEDED,
  redoBlock,
  redoBlockIfAny,
  refusedBy,
} from '@blockwright/access';
import { type BlockNumber, fromWords } from '@blockwright/base';
import { pageMaxOffset } from '@blockwright/page';
import type { WalRecord } from '@blockwright/wal';
import { fillDeletedPage, fillHalfDeadLeaf, removeDownlink } from './deleted-pages.ts';
import { firstDataKey, P_NONE, setBtNext, setBtPrev } from './page.ts';
import {
  HALFDEAD_BLOCK_LEAF,
  HALFDEAD_BLOCK_PARENT,
  HALFDEAD_BYTES,
  UNLINK_BLOCK_LEAF,
  UNLINK_BLOCK_LEFT,
  UNLINK_BLOCK_META,
  UNLINK_BLOCK_RIGHT,
  UNLINK_BLOCK_TARGET,
  UNLINK_BYTES,
} from './record-format.ts';
import type { RedoPart } from './redo.ts';
import { needBtreePage, needMetadata, redoPosition } from './redo-page.ts';

/** Replays MARK_PAGE_HALFDEAD: the parent first, so that no page that is half-dead has a downlink. */
export function redoMarkHalfDead(part: RedoPart, record: WalRecord): void {
  const { pages } = part;
  const g = pages.pool.geometry;
  needData(record, HALFDEAD_BYTES);
  const { dataAt } = record;
  const leafIndex = redoBlock(record, HALFDEAD_BLOCK_LEAF);
  const parentIndex = redoBlock(record, HALFDEAD_BLOCK_PARENT);
  const parentFound = pages.fetch(record, parentIndex);
  if (parentFound !== REDO_MISSING) {
    const { buffer, memory: m, base } = pages;
    if (parentFound === REDO_NEEDED) {
      const offset = record.u16(dataAt);
      needBtreePage(m, base, g, record, parentIndex);
      const first = firstDataKey(m, base, g.size);
      if (offset < first || offset >= pageMaxOffset(m, base)) {
        throw cannotRedo(record, parentIndex, `it has no downlink at offset ${offset} with another after it`);
      }
      redoPosition(m, base, offset, record, parentIndex);
      redoPosition(m, base, offset + 1, record, parentIndex);
      try {
        removeDownlink(m, base, g, offset);
      } catch (error) {
        throw refusedBy(error, record, parentIndex);
      }
      pages.changed(buffer, record);
    }
    pages.release(buffer);
  }
  const found = pages.init(record, leafIndex);
  const { buffer } = pages;
  if (found === REDO_NEEDED) {
    const left = record.u32(dataAt + 8);
    fillHalfDeadLeaf(pages.memory, pages.base, g, left, record.u32(dataAt + 12), record.u32(dataAt + 16));
    pages.changed(buffer, record);
  }
  pages.release(buffer);
}

/** Replays UNLINK_PAGE and UNLINK_PAGE_META. */
export function redoUnlink(part: RedoPart, record: WalRecord, isMeta: boolean): void {
  const { pages } = part;
  const g = pages.pool.geometry;
  needData(record, UNLINK_BYTES);
  const { dataAt } = record;
  const left = record.u32(dataAt);
  const right = record.u32(dataAt + 4);
  const targetIndex = redoBlock(record, UNLINK_BLOCK_TARGET);
  const leftIndex = left === P_NONE ? -1 : redoBlock(record, UNLINK_BLOCK_LEFT);
  const rightIndex = redoBlock(record, UNLINK_BLOCK_RIGHT);
  const leafIndex = redoBlockIfAny(record, UNLINK_BLOCK_LEAF);
  const metaIndex = isMeta ? redoBlock(record, UNLINK_BLOCK_META) : -1;
  if (metaIndex >= 0) needMetadata(record, metaIndex);
  const level = record.u32(dataAt + 8);
  if (leafIndex >= 0 !== level > 0) {
    throw malformed(record, `it deletes a page of level ${level}, with ${leafIndex < 0 ? 'no' : 'another'} leaf`);
  }
  const safeXid = fromWords(record.u32(dataAt + 20), record.u32(dataAt + 16));

  if (leftIndex >= 0) link(part, record, leftIndex, setBtNext, right);
  const found = pages.init(record, targetIndex);
  const target = pages.buffer;
  if (found === REDO_NEEDED) {
    fillDeletedPage(pages.memory, pages.base, g, left, right, level, safeXid);
    pages.changed(target, record);
  }
  pages.release(target);
  link(part, record, rightIndex, setBtPrev, left);
  if (leafIndex >= 0) {
    const leafFound = pages.init(record, leafIndex);
    const leaf = pages.buffer;
    if (leafFound === REDO_NEEDED) {
      const leafRight = record.u32(dataAt + 28);
      fillHalfDeadLeaf(pages.memory, pages.base, g, record.u32(dataAt + 24), leafRight, record.u32(dataAt + 32));
      pages.changed(leaf, record);
    }
    pages.release(leaf);
  }
  if (metaIndex >= 0) part.meta(record, metaIndex);
}

/** A sibling of the page that goes is led to the other one. */
function link(part: RedoPart, record: WalRecord, index: number, set: typeof setBtNext, to: BlockNumber): void {
  const { pages } = part;
  const g = pages.pool.geometry;
  const found = pages.fetch(record, index);
  if (found === REDO_MISSING) return;
  const { buffer, memory: m, base } = pages;
  if (found === REDO_NEEDED) {
    needBtreePage(m, base, g, record, index);
    set(m, base, g.size, to);
    pages.changed(buffer, record);
  }
  pages.release(buffer);
}
