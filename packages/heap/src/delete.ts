// Deletion of a row. PostgreSQL: `heap_delete`, heapam.c.
import { PAGE_STANDARD } from '@blockwright/access';
import type { BlockNumber, BufferId, OffsetNumber, Xid } from '@blockwright/base';
import { pageClearAllVisible, pageIsAllVisible, pageSetPrunable } from '@blockwright/page';
import type { Snapshot, Transaction } from '@blockwright/transam';
import { HEAP_HOT_UPDATED, setTupleCtid, setTupleInfomask2, tupleInfomask2 } from '@blockwright/tuple';
import { VISIBILITYMAP_VALID_BITS, type VisibilityMap } from '@blockwright/visibilitymap';
import { RM_HEAP } from '@blockwright/wal';
import type { Admission } from './admission.ts';
import { comboFor, setCmax, setXmax } from './header-change.ts';
import { keepDisplacedLock } from './lock.ts';
import {
  BLOCK_MAP,
  BLOCK_NEW,
  DELETE_BYTES,
  infobitsOf,
  XLH_ALL_VISIBLE_CLEARED,
  XLOG_HEAP_DELETE,
} from './record-format.ts';
import { modeInfomask2, UPDATE } from './row-modes.ts';
import { TM_OK } from './visibility-update.ts';
import type { TransactionWriterParts } from './writer-parts.ts';

/** Deletes the row at (block, offset), as {@link HeapWriter.delete} says. */
export function deleteRow(
  parts: TransactionWriterParts,
  admission: Admission,
  transaction: Transaction,
  block: BlockNumber,
  offset: OffsetNumber,
  snapshot: Snapshot,
): number {
  const { relation } = parts;
  const xid = transaction.writeXid();
  const id = relation.pool.pin(relation.main, block);
  try {
    const code = admission.ask(parts, id, block, offset, transaction, snapshot, UPDATE);
    if (code !== TM_OK) return code;
    markDeleted(parts, admission.pos, id, block, offset, transaction, xid);
    keepDisplacedLock(parts, admission, block, offset, transaction);
    return TM_OK;
  } finally {
    relation.pool.unpin(id);
  }
}

function markDeleted(
  parts: TransactionWriterParts,
  pos: number,
  id: BufferId,
  block: BlockNumber,
  offset: OffsetNumber,
  transaction: Transaction,
  xid: Xid,
): void {
  const { relation, map } = parts;
  const { pool, main, vm, log } = relation;
  const m = pool.memory(id);
  const base = pool.base(id);
  const { commandId } = transaction;
  const combo = comboFor(m, pos, transaction, commandId);
  const wasAllVisible = pageIsAllVisible(m, base);
  const mapId = wasAllVisible && map !== undefined ? map.pinToClear(block) : -1;
  try {
    log.begin(relation, RM_HEAP, XLOG_HEAP_DELETE, 2, DELETE_BYTES);
    try {
      const infomask2 = modeInfomask2(UPDATE);
      pageSetPrunable(m, base, xid);
      pageClearAllVisible(m, base);
      setXmax(m, pos, xid, 0, infomask2);
      setTupleInfomask2(m, pos, tupleInfomask2(m, pos) & ~HEAP_HOT_UPDATED);
      setCmax(m, pos, commandId, combo);
      setTupleCtid(m, pos, block, offset);
      log.u32(xid);
      log.u16(offset);
      log.u8(infobitsOf(0, infomask2));
      log.u8(wasAllVisible ? XLH_ALL_VISIBLE_CLEARED : 0);
      log.page(BLOCK_NEW, main, id, PAGE_STANDARD);
      if (mapId >= 0) {
        (map as VisibilityMap).clearPinned(mapId, block, VISIBILITYMAP_VALID_BITS);
        log.page(BLOCK_MAP, vm, mapId, 0);
      }
      log.finish(xid);
    } catch (error) {
      log.panic(error);
    }
  } finally {
    if (mapId >= 0) pool.unpin(mapId);
  }
}
