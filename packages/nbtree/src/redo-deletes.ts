// Redo of what takes tuples from a leaf: DEDUP, which merges equal ones, and DELETE and VACUUM, which remove them, or TIDs
// of posting lists. PostgreSQL: `btree_xlog_dedup`, `btree_xlog_delete`, `btree_xlog_vacuum`, nbtxlog.c.
import {
  cannotRedo,
  needBlockData,
  needData,
  REDO_MISSING,
  REDO_NEEDED,
  redoBlock,
  refusedBy,
} from '@blockwright/access';
import {
  linePointer,
  lpLength,
  type PageMemory,
  pageAddItem,
  pageIndexMultiDelete,
  pageIndexTupleOverwrite,
  pageInit,
  pageMaxOffset,
} from '@blockwright/page';
import { INDEX_SIZE_MASK, indexTupleSize } from '@blockwright/tuple';
import type { WalRecord } from '@blockwright/wal';
import { BTP_HAS_GARBAGE, btFlags, firstDataKey, SIZE_OF_BTREE_SPECIAL, setBtFlags } from './page.ts';
import { formPosting, updatePosting } from './posting.ts';
import { BLOCK_PAGE, DEDUP_BYTES, DEDUP_INTERVAL_BYTES, DELETE_BYTES, VACUUM_BYTES } from './record-format.ts';
import type { RedoPart } from './redo.ts';
import { needBtreePage, needPosting, redoPosition } from './redo-page.ts';
import { isPosting, postingCount, postingOffset } from './tuples.ts';

/** 16-bit words of a TID. */
const TID_WORDS = 3;

type PageChange = (part: RedoPart, record: WalRecord, index: number, m: PageMemory, base: number) => void;

function onPage(part: RedoPart, record: WalRecord, change: PageChange): void {
  const { pages } = part;
  const index = redoBlock(record, BLOCK_PAGE);
  const found = pages.fetch(record, index);
  if (found === REDO_MISSING) return;
  const { buffer, memory: m, base } = pages;
  if (found === REDO_NEEDED) {
    const g = pages.pool.geometry;
    needBtreePage(m, base, g, record, index);
    change(part, record, index, m, base);
    setBtFlags(m, base, g.size, btFlags(m, base, g.size) & ~BTP_HAS_GARBAGE);
    pages.changed(buffer, record);
  }
  pages.release(buffer);
}

/** Replays DELETE: its numbers of offsets stand after the conflict horizon. */
export function redoDelete(part: RedoPart, record: WalRecord): void {
  needData(record, DELETE_BYTES);
  onPage(part, record, (...page) => deleteTuples(...page, record.dataAt + 4));
}

/** Replays VACUUM. */
export function redoVacuum(part: RedoPart, record: WalRecord): void {
  needData(record, VACUUM_BYTES);
  onPage(part, record, (...page) => deleteTuples(...page, record.dataAt));
}

/** The posting lists first, for offsets are those before anything was deleted. */
function deleteTuples(
  part: RedoPart,
  record: WalRecord,
  index: number,
  m: PageMemory,
  base: number,
  countsAt: number,
): void {
  const g = part.pages.pool.geometry;
  const deleted = record.u16(countsAt);
  const updated = record.u16(countsAt + 2);
  const start = record.blockDataAt[index];
  const updatesAt = start + ((deleted + updated) << 1);
  needBlockData(record, index, updatesAt - start);
  const offsets = offsetsAt(record, index, start, deleted, pageMaxOffset(m, base));
  const lists = offsetsAt(record, index, start + (deleted << 1), updated, pageMaxOffset(m, base));
  let at = updatesAt;
  for (const offset of lists) at = removeTids(part, record, index, m, base, offset, at);
  if (deleted === 0) return;
  try {
    pageIndexMultiDelete(m, base, g, offsets, deleted, part.pages.scratch, part.pages.compaction);
  } catch (error) {
    throw refusedBy(error, record, index);
  }
}

/** @throws StorageError XX001 unless they rise, and are of the page. */
function offsetsAt(record: WalRecord, index: number, at: number, count: number, most: number): Uint16Array {
  const offsets = new Uint16Array(count);
  let last = 0;
  for (let i = 0; i < count; i++) {
    const offset = record.u16(at + (i << 1));
    if (offset <= last || offset > most) {
      throw cannotRedo(record, index, `it has ${most} line pointers, and number ${offset} is to go, after ${last}`);
    }
    offsets[i] = offset;
    last = offset;
  }
  return offsets;
}

/** Takes TIDs from a posting list. @returns where the next one's numbers are */
function removeTids(
  part: RedoPart,
  record: WalRecord,
  index: number,
  m: PageMemory,
  base: number,
  offset: number,
  at: number,
): number {
  const start = record.blockDataAt[index];
  needBlockData(record, index, at + 2 - start);
  const count = record.u16(at);
  const end = at + 2 + (count << 1);
  needBlockData(record, index, end - start);
  const pos = redoPosition(m, base, offset, record, index);
  needPosting(m, pos, record, index);
  const total = postingCount(m, pos);
  const numbers = new Uint16Array(count);
  let last = -1;
  for (let i = 0; i < count; i++) {
    const number = record.u16(at + 2 + (i << 1));
    if (number <= last || number >= total) {
      throw cannotRedo(record, index, `the posting list at offset ${offset} has ${total} TIDs, and not one ${number}`);
    }
    numbers[i] = number;
    last = number;
  }
  if (count === total) throw cannotRedo(record, index, `the posting list at offset ${offset} is to lose all its TIDs`);
  const { list } = part;
  const length = updatePosting(m, pos, numbers, 0, count, list, 0);
  try {
    pageIndexTupleOverwrite(m, base, part.pages.pool.geometry, offset, list.u8, 0, length);
  } catch (error) {
    throw refusedBy(error, record, index);
  }
  return end;
}

/** Replays DEDUP. */
export function redoDedup(part: RedoPart, record: WalRecord): void {
  needData(record, DEDUP_BYTES);
  onPage(part, record, dedup);
}

/** Makes the page aside: tuples of an interval become one, the others are copied. */
function dedup(part: RedoPart, record: WalRecord, index: number, m: PageMemory, base: number): void {
  const { page, list } = part;
  const g = part.pages.pool.geometry;
  const intervals = record.u16(record.dataAt);
  needBlockData(record, index, intervals * DEDUP_INTERVAL_BYTES);
  const first = firstDataKey(m, base, g.size);
  const last = pageMaxOffset(m, base);
  const special = g.size - SIZE_OF_BTREE_SPECIAL;
  pageInit(page, 0, g, SIZE_OF_BTREE_SPECIAL);
  page.u8.set(m.u8.subarray(base + special, base + g.size), special);
  const add = (bytes: Uint8Array, from: number, length: number): void => {
    if (pageAddItem(page, 0, g, bytes, from, length, pageMaxOffset(page, 0) + 1) !== 0) return;
    throw cannotRedo(record, index, 'there is no room for its tuples after some were merged');
  };
  const copyUpTo = (from: number, end: number): void => {
    for (let o = from; o < end; o++) {
      add(m.u8, redoPosition(m, base, o, record, index), lpLength(linePointer(m, base, o)));
    }
  };
  let next = 1; // the high key goes with the others
  for (let i = 0, at = record.blockDataAt[index]; i < intervals; i++, at += DEDUP_INTERVAL_BYTES) {
    const from = record.u16(at);
    const end = from + record.u16(at + 2);
    if (from < first || from < next || end <= from || end > last + 1) {
      throw cannotRedo(record, index, `it has no offsets ${from} to ${end - 1} that are to be merged`);
    }
    copyUpTo(next, from);
    add(list.u8, 0, merge(part, record, index, m, base, from, end));
    next = end;
  }
  copyUpTo(next, last + 1);
  m.u8.set(page.u8, base);
}

/** Room for the TIDs of the longest tuple. */
const tids: Uint16Array = new Uint16Array((INDEX_SIZE_MASK + 1) >>> 1);

/** The posting list of the tuples from `from` to before `end`, in `list`. @returns its length */
function merge(
  part: RedoPart,
  record: WalRecord,
  index: number,
  m: PageMemory,
  base: number,
  from: number,
  end: number,
): number {
  const { u16 } = m;
  const first = redoPosition(m, base, from, record, index);
  const keyBytes = isPosting(m, first) ? postingOffset(m, first) : indexTupleSize(m, first);
  const most = (INDEX_SIZE_MASK - keyBytes) >>> 1;
  let words = 0;
  let count = 0;
  for (let o = from; o < end; o++) {
    const pos = redoPosition(m, base, o, record, index);
    let at = pos >>> 1;
    let added = 1;
    if (isPosting(m, pos)) {
      needPosting(m, pos, record, index);
      at += postingOffset(m, pos) >>> 1;
      added = postingCount(m, pos);
    }
    const more = added * TID_WORDS;
    if (words + more > most) throw cannotRedo(record, index, `tuples from offset ${from} on do not fit into one`);
    count += added;
    for (let i = 0; i < more; i++) tids[words++] = u16[at + i];
  }
  return formPosting(m, first, tids, count, part.list, 0);
}
