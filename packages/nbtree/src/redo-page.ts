// Pages of a B-tree as redo needs them: checked before they are believed, and made anew from a record's tuples.
import type { RedoPages } from '@blockwright/access';
import { cannotRedo, needBlockData } from '@blockwright/access';
import type { OffsetNumber } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import {
  itemIsInBounds,
  linePointer,
  lpLength,
  lpOffset,
  type PageMemory,
  pageAddItem,
  pageBoundsAreSane,
  pageMaxOffset,
  pageSpecial,
  pageUpper,
} from '@blockwright/page';
import { INDEX_SIZE_MASK, indexTupleSize } from '@blockwright/tuple';
import type { WalRecord } from '@blockwright/wal';
import { BTREE_METAPAGE, initMetaPage, writeMeta } from './meta.ts';
import { BTP_INCOMPLETE_SPLIT, btFlags, SIZE_OF_BTREE_SPECIAL, setBtFlags } from './page.ts';
import { METADATA_BYTES } from './record-format.ts';
import { isPosting, postingCount, postingOffset } from './tuples.ts';

/** The least that a tuple has: TID and t_info. */
const LEAST_TUPLE_BYTES = 8;
const TID_BYTES = 6;

/** @throws StorageError XX001 unless the page's bounds are those of a B-tree's page. */
export function needBtreePage(m: PageMemory, base: number, g: BlockGeometry, record: WalRecord, index: number): void {
  if (!pageBoundsAreSane(m, base, g)) throw cannotRedo(record, index, 'the bounds in its page header are damaged');
  if (pageSpecial(m, base) !== g.size - SIZE_OF_BTREE_SPECIAL) {
    throw cannotRedo(record, index, 'its special space is not that of a B-tree');
  }
}

/** Byte of the tuple at `offset`, in the page's memory. @throws StorageError XX001 when there is none. */
export function redoPosition(
  m: PageMemory,
  base: number,
  offset: OffsetNumber,
  record: WalRecord,
  index: number,
): number {
  if (offset >= 1 && offset <= pageMaxOffset(m, base)) {
    const lp = linePointer(m, base, offset);
    if (lpLength(lp) >= LEAST_TUPLE_BYTES && itemIsInBounds(lp, pageUpper(m, base), pageSpecial(m, base))) {
      const pos = base + lpOffset(lp);
      const size = indexTupleSize(m, pos);
      if (size >= LEAST_TUPLE_BYTES && size <= lpLength(lp)) return pos;
    }
  }
  throw cannotRedo(record, index, `no tuple stands at offset ${offset}`);
}

/** @throws StorageError XX001 unless the tuple is a posting list whose TIDs lie within it. */
export function needPosting(m: PageMemory, pos: number, record: WalRecord, index: number): void {
  if (isPosting(m, pos)) {
    const keyEnd = postingOffset(m, pos);
    const end = keyEnd + postingCount(m, pos) * TID_BYTES;
    if (keyEnd >= LEAST_TUPLE_BYTES && (keyEnd & 7) === 0 && end <= indexTupleSize(m, pos)) return;
  }
  throw cannotRedo(record, index, 'what is to be a posting list is none');
}

/**
 * Bytes of the tuple that the block reference's data has at `at`. @throws StorageError XX001 unless it is whole, and a
 * multiple of 8 bytes long.
 */
export function redoTupleLength(record: WalRecord, index: number, at: number): number {
  const start = record.blockDataAt[index];
  needBlockData(record, index, at - start + LEAST_TUPLE_BYTES);
  const length = record.u16(at + 6) & INDEX_SIZE_MASK;
  if (length < LEAST_TUPLE_BYTES || (length & 7) !== 0) {
    throw cannotRedo(record, index, `the record has a tuple of ${length} bytes for it`);
  }
  needBlockData(record, index, at - start + length);
  return length;
}

/**
 * Adds the tuples that the record has for a page made anew: they stand there as on the page, the last one first.
 * PostgreSQL: `_bt_restore_page`.
 * @throws StorageError XX001 when they are no tuples, or do not fit.
 */
export function restoreTuples(m: PageMemory, base: number, pages: RedoPages, record: WalRecord, index: number): void {
  const g = pages.pool.geometry;
  const start = record.blockDataAt[index];
  const end = start + record.blockDataLength[index];
  const places: number[] = [];
  for (let at = start; at < end; at += redoTupleLength(record, index, at)) places.push(at);
  for (let i = places.length - 1; i >= 0; i--) {
    const length = redoTupleLength(record, index, places[i]);
    if (pageAddItem(m, base, g, record.bytes, places[i], length, places.length - i) === 0) {
      throw cannotRedo(record, index, `there is no room for its ${places.length} tuples`);
    }
  }
}

/** A split of the page is complete: its right half has its downlink. PostgreSQL: `_bt_clear_incomplete_split`. */
export function clearIncompleteSplit(m: PageMemory, base: number, g: BlockGeometry): void {
  setBtFlags(m, base, g.size, btFlags(m, base, g.size) & ~BTP_INCOMPLETE_SPLIT);
}

/**
 * Makes the meta page anew from the data of its block reference. PostgreSQL: `_bt_restore_meta`.
 * @throws StorageError XX001 when that is too short, or the block is not the first one.
 */
export function restoreMeta(m: PageMemory, base: number, g: BlockGeometry, record: WalRecord, index: number): void {
  initMetaPage(m, base, g);
  const at = record.blockDataAt[index];
  writeMeta(m, base, {
    version: record.u32(at),
    root: record.u32(at + 4),
    level: record.u32(at + 8),
    fastroot: record.u32(at + 12),
    fastlevel: record.u32(at + 16),
    lastCleanupNumDelpages: record.u32(at + 20),
    lastCleanupNumHeapTuples: -1,
    allequalimage: record.u8(at + 24) !== 0,
  });
}

/** @throws StorageError XX001 unless the block reference is a meta page's, with its data. */
export function needMetadata(record: WalRecord, index: number): void {
  if (record.block[index] !== BTREE_METAPAGE) throw cannotRedo(record, index, 'it is no meta page');
  if (record.hasImage[index] === 0) needBlockData(record, index, METADATA_BYTES);
}
