// Update of a row: a new version, on the same page as long as there is room, and the old one's header led to it. HOT when
// the indexes need not know. PostgreSQL: `heap_update`, heapam.c.
import { PAGE_STANDARD, PAGE_WILL_INIT } from '@blockwright/access';
import type { BlockNumber, BufferId, OffsetNumber, Xid } from '@blockwright/base';
import {
  type PageMemory,
  pageClearAllVisible,
  pageHeapFreeSpace,
  pageIsAllVisible,
  pageSetFull,
  pageSetPrunable,
} from '@blockwright/page';
import type { Snapshot, Transaction } from '@blockwright/transam';
import {
  HEAP_HOT_UPDATED,
  HEAP_ONLY_TUPLE,
  HEAP_UPDATED,
  HEAP_XMAX_INVALID,
  HEAP_XMAX_KEYSHR_LOCK,
  HEAP_XMAX_LOCK_ONLY,
  setTupleCtid,
  setTupleInfomask,
  setTupleInfomask2,
  setTupleXmax,
  tupleInfomask,
  tupleInfomask2,
} from '@blockwright/tuple';
import { VISIBILITYMAP_VALID_BITS, type VisibilityMap } from '@blockwright/visibilitymap';
import { RM_HEAP } from '@blockwright/wal';
import type { Admission } from './admission.ts';
import { comboFor, setCmax, setXmax } from './header-change.ts';
import type { IndexedColumns } from './indexed-columns.ts';
import { keepDisplacedLock } from './lock.ts';
import { heapPagePruneOpt, prunePageForUpdate } from './prune.ts';
import { putTuple, putWhole, startsPage } from './put-tuple.ts';
import {
  BLOCK_MAP,
  BLOCK_NEW,
  BLOCK_OLD,
  BLOCK_OLD_MAP,
  infobitsOf,
  TUPLE_HEADER_BYTES,
  UPDATE_BYTES,
  XLH_ALL_VISIBLE_CLEARED,
  XLH_UPDATE_NEW_ALL_VISIBLE_CLEARED,
  XLOG_HEAP_HOT_UPDATE,
  XLOG_HEAP_INIT_PAGE,
  XLOG_HEAP_UPDATE,
} from './record-format.ts';
import { modeInfomask2, NO_KEY_UPDATE, UPDATE } from './row-modes.ts';
import { putChanged, TupleDifference } from './tuple-difference.ts';
import { TM_OK } from './visibility-update.ts';
import { checkHeapPage, type TransactionWriterParts } from './writer-parts.ts';

/** What an update knows before it changes a byte; one a writer, used again. */
export class RowUpdate {
  readonly difference: TupleDifference = new TupleDifference();
  xid: Xid = 0;
  commandId = 0;
  combo = 0;
  block: BlockNumber = 0;
  offset: OffsetNumber = 0;
  buffer: BufferId = -1;
  /** Of the old tuple, in its page's memory. */
  pos = 0;
  oldLength = 0;
  /** Bytes of the new tuple. */
  length = 0;
  infomask2 = 0;
  newXmax: Xid = 0;
}

/**
 * Updates the row at (block, offset) to the tuple that {@link WriterParts.encode} made, as {@link HeapWriter.update} says.
 * With `columns`, they say what is kept.
 */
export function updateRow(
  parts: TransactionWriterParts,
  admission: Admission,
  update: RowUpdate,
  transaction: Transaction,
  block: BlockNumber,
  offset: OffsetNumber,
  length: number,
  snapshot: Snapshot,
  keepsIndexedColumns: boolean,
  keepsKeyColumns: boolean,
  columns: IndexedColumns | undefined,
): number {
  const { relation, transactions } = parts;
  const { pool, main, geometry } = relation;
  const xid = transaction.writeXid();
  const id = pool.pin(main, block);
  try {
    heapPagePruneOpt(relation, id, transactions);
    let keepsIndexed = keepsIndexedColumns;
    let keepsKey = keepsKeyColumns;
    if (columns !== undefined && admission.find(parts, pool.memory(id), pool.base(id), block, offset)) {
      columns.compare(pool.memory(id), admission.pos, admission.length, parts.tuple, length);
      keepsIndexed = columns.keepsIndexed;
      keepsKey = columns.keepsKey;
    }
    const mode = keepsKey ? NO_KEY_UPDATE : UPDATE;
    const code = admission.ask(parts, id, block, offset, transaction, snapshot, mode);
    if (code !== TM_OK) return code;
    const m = pool.memory(id);
    const base = pool.base(id);
    checkHeapPage(m, base, parts, block);
    const needed = (length + 7) & ~7;
    let stays = pageHeapFreeSpace(m, base, geometry) >= needed;
    if (!stays) {
      prunePageForUpdate(relation, id, transactions);
      admission.find(parts, m, base, block, offset);
      stays = pageHeapFreeSpace(m, base, geometry) >= needed;
    }
    update.xid = xid;
    update.commandId = transaction.commandId;
    update.combo = comboFor(m, admission.pos, transaction, transaction.commandId);
    update.block = block;
    update.offset = offset;
    update.buffer = id;
    update.pos = admission.pos;
    update.oldLength = admission.length;
    update.length = length;
    update.infomask2 = modeInfomask2(admission.isOwn && admission.held > mode ? admission.held : mode);
    update.newXmax = admission.heldXid;
    stampNew(parts, update, stays && keepsIndexed);
    parts.wasHot = stays && keepsIndexed;
    if (stays) updateOnPage(parts, update);
    else updateToPage(parts, update);
    keepLocks(parts, admission, transaction, block, offset);
    return TM_OK;
  } finally {
    pool.unpin(id);
  }
}

/** The new tuple's header: a locker of the old version holds the new one, too. */
function stampNew(parts: TransactionWriterParts, update: RowUpdate, isHot: boolean): void {
  const { tuple } = parts;
  parts.stamp(update.xid, update.commandId);
  let infomask = (tupleInfomask(tuple, 0) & ~HEAP_XMAX_INVALID) | HEAP_UPDATED;
  if (update.newXmax === 0) infomask |= HEAP_XMAX_INVALID;
  else {
    infomask |= HEAP_XMAX_KEYSHR_LOCK | HEAP_XMAX_LOCK_ONLY;
    setTupleXmax(tuple, 0, update.newXmax);
  }
  setTupleInfomask(tuple, 0, infomask);
  const infomask2 = tupleInfomask2(tuple, 0) & ~HEAP_ONLY_TUPLE;
  setTupleInfomask2(tuple, 0, isHot ? infomask2 | HEAP_ONLY_TUPLE : infomask2);
}

/** Both versions on one page. */
function updateOnPage(parts: TransactionWriterParts, update: RowUpdate): void {
  const { relation, map, tuple, wasHot } = parts;
  const { pool, main, vm, geometry, log } = relation;
  const { block, buffer, pos, xid, length, difference } = update;
  const m = pool.memory(buffer);
  const base = pool.base(buffer);
  const wasAllVisible = pageIsAllVisible(m, base);
  const mapId = wasAllVisible && map !== undefined ? map.pinToClear(block) : -1;
  try {
    difference.find(m, pos, update.oldLength, tuple, length);
    const info = wasHot ? XLOG_HEAP_HOT_UPDATE : XLOG_HEAP_UPDATE;
    log.begin(relation, RM_HEAP, info, 2, UPDATE_BYTES + 4 + TUPLE_HEADER_BYTES + length);
    try {
      const offset = putTuple(m, base, geometry, tuple, 0, length, block);
      pageClearAllVisible(m, base);
      leaveOld(m, base, update, wasHot, block, offset);
      const cleared = wasAllVisible ? XLH_ALL_VISIBLE_CLEARED : 0;
      putMain(parts, update, cleared | difference.flags, offset);
      log.page(BLOCK_NEW, main, buffer, PAGE_STANDARD);
      putChanged(log, tuple, length, difference);
      if (mapId >= 0) {
        (map as VisibilityMap).clearPinned(mapId, block, VISIBILITYMAP_VALID_BITS);
        log.page(BLOCK_MAP, vm, mapId, 0);
      }
      log.finish(xid);
      parts.block = block;
      parts.offset = offset;
    } catch (error) {
      log.panic(error);
    }
  } finally {
    if (mapId >= 0) pool.unpin(mapId);
  }
}

/** The new version on another page: there was no room. */
function updateToPage(parts: TransactionWriterParts, update: RowUpdate): void {
  const { relation, map, placement } = parts;
  const { pool } = relation;
  placement.find(update.length);
  let newMap = -1;
  let oldMap = -1;
  try {
    checkHeapPage(placement.memory, placement.base, parts, placement.block);
    if (map !== undefined) {
      if (pageIsAllVisible(placement.memory, placement.base)) newMap = map.pinToClear(placement.block);
      if (pageIsAllVisible(pool.memory(update.buffer), pool.base(update.buffer))) oldMap = map.pinToClear(update.block);
    }
    writeToPage(parts, update, newMap, oldMap);
  } finally {
    if (oldMap >= 0) pool.unpin(oldMap);
    if (newMap >= 0) pool.unpin(newMap);
    placement.release();
  }
}

function writeToPage(parts: TransactionWriterParts, update: RowUpdate, newMap: BufferId, oldMap: BufferId): void {
  const { relation, map, placement, tuple } = parts;
  const { pool, main, vm, geometry, log } = relation;
  const { memory: newM, base: newBase, block: newBlock } = placement;
  const { length, xid } = update;
  const m = pool.memory(update.buffer);
  const base = pool.base(update.buffer);
  const isFirst = startsPage(newM, newBase);
  const flags =
    (pageIsAllVisible(m, base) ? XLH_ALL_VISIBLE_CLEARED : 0) |
    (pageIsAllVisible(newM, newBase) ? XLH_UPDATE_NEW_ALL_VISIBLE_CLEARED : 0);
  const info = isFirst ? XLOG_HEAP_UPDATE | XLOG_HEAP_INIT_PAGE : XLOG_HEAP_UPDATE;
  log.begin(relation, RM_HEAP, info, 4, UPDATE_BYTES + TUPLE_HEADER_BYTES + length);
  try {
    const offset = putTuple(newM, newBase, geometry, tuple, 0, length, newBlock);
    pageClearAllVisible(newM, newBase);
    pageClearAllVisible(m, base);
    pageSetFull(m, base);
    leaveOld(m, base, update, false, newBlock, offset);
    putMain(parts, update, flags, offset);
    log.page(BLOCK_NEW, main, placement.buffer, isFirst ? PAGE_WILL_INIT : PAGE_STANDARD);
    putWhole(log, tuple, length);
    log.page(BLOCK_OLD, main, update.buffer, PAGE_STANDARD);
    if (newMap >= 0) (map as VisibilityMap).clearPinned(newMap, newBlock, VISIBILITYMAP_VALID_BITS);
    if (oldMap >= 0) (map as VisibilityMap).clearPinned(oldMap, update.block, VISIBILITYMAP_VALID_BITS);
    if (newMap >= 0) log.page(BLOCK_MAP, vm, newMap, 0);
    if (oldMap >= 0 && oldMap !== newMap) log.page(BLOCK_OLD_MAP, vm, oldMap, 0);
    log.finish(xid);
    parts.block = newBlock;
    parts.offset = offset;
  } catch (error) {
    log.panic(error);
  }
}

/** The old version's header: updated by this transaction, to (newBlock, newOffset). */
function leaveOld(
  m: PageMemory,
  base: number,
  update: RowUpdate,
  isHot: boolean,
  newBlock: BlockNumber,
  newOffset: OffsetNumber,
): void {
  const { pos } = update;
  pageSetPrunable(m, base, update.xid);
  setXmax(m, pos, update.xid, 0, update.infomask2);
  const infomask2 = tupleInfomask2(m, pos);
  setTupleInfomask2(m, pos, isHot ? infomask2 | HEAP_HOT_UPDATED : infomask2 & ~HEAP_HOT_UPDATED);
  setCmax(m, pos, update.commandId, update.combo);
  setTupleCtid(m, pos, newBlock, newOffset);
}

function putMain(parts: TransactionWriterParts, update: RowUpdate, flags: number, offset: OffsetNumber): void {
  const { log } = parts.relation;
  log.u32(update.xid);
  log.u16(update.offset);
  log.u8(infobitsOf(0, update.infomask2));
  log.u8(flags);
  log.u32(update.newXmax);
  log.u16(offset);
}

/** Locks of others, which an update of what is no key leaves: on the old version, should it come back, and on the new one. */
function keepLocks(
  parts: TransactionWriterParts,
  admission: Admission,
  transaction: Transaction,
  block: BlockNumber,
  offset: OffsetNumber,
): void {
  const { locks } = parts.transactions;
  if (!locks.isEmpty) {
    locks.forget(parts.locator, parts.block, parts.offset);
    locks.copy(parts.locator, block, offset, parts.block, parts.offset, transaction);
  }
  keepDisplacedLock(parts, admission, block, offset, transaction);
}
