// Locks on rows: the first in the tuple's header, as PostgreSQL writes it; those for which it has no room in memory.
// PostgreSQL: `heap_lock_tuple`, heapam.c, which makes a multixact there.
import { PAGE_STANDARD } from '@blockwright/access';
import type { BlockNumber, BufferId, OffsetNumber, Xid } from '@blockwright/base';
import { type PageMemory, pageIsAllVisible } from '@blockwright/page';
import { rowLockCovers, type Snapshot, type Transaction } from '@blockwright/transam';
import {
  HEAP_HOT_UPDATED,
  HEAP_XMAX_INVALID,
  setTupleCtid,
  setTupleInfomask2,
  tupleCtidBlock,
  tupleCtidOffset,
  tupleInfomask,
  tupleInfomask2,
  tupleXmax,
  tupleXmin,
} from '@blockwright/tuple';
import { VISIBILITYMAP_ALL_FROZEN, type VisibilityMap } from '@blockwright/visibilitymap';
import { RM_HEAP } from '@blockwright/wal';
import { Admission } from './admission.ts';
import { rowIsLocked } from './errors.ts';
import { setXmax } from './header-change.ts';
import {
  BLOCK_MAP,
  BLOCK_NEW,
  infobitsOf,
  LOCK_BYTES,
  XLH_LOCK_ALL_FROZEN_CLEARED,
  XLOG_HEAP_LOCK,
} from './record-format.ts';
import { heldMode, lockInfomask, modeInfomask2, modesConflict, rowModeName } from './row-modes.ts';
import { TM_OK } from './visibility-update.ts';
import type { TransactionWriterParts } from './writer-parts.ts';

/** Locks the row at (block, offset), as {@link HeapWriter.lock} says. */
export function lockRow(
  parts: TransactionWriterParts,
  admission: Admission,
  transaction: Transaction,
  block: BlockNumber,
  offset: OffsetNumber,
  mode: number,
  snapshot: Snapshot,
): number {
  const { relation, transactions, locator } = parts;
  const xid = transaction.writeXid();
  const id = relation.pool.pin(relation.main, block);
  try {
    const code = admission.ask(parts, id, block, offset, transaction, snapshot, mode);
    if (code !== TM_OK) return code;
    const { heldXid, isOwn, held } = admission;
    if (isOwn && held >= mode) return TM_OK;
    const name = rowModeName(mode);
    const { locks } = transactions;
    if (!locks.isEmpty) {
      const own = locks.heldBy(transaction, locator, block, offset);
      if (own !== undefined && rowLockCovers(own, name)) return TM_OK;
    }
    if (heldXid === 0 || heldXid === xid) {
      writeLock(parts, admission.pos, id, block, offset, xid, mode);
      return TM_OK;
    }
    if (!isOwn) {
      const newer = nextOf(relation.pool.memory(id), admission.pos, block, offset);
      overNewerVersions(parts, heldXid, newer, (m, pos, at) => refuseConflict(parts, transaction, mode, m, pos, at));
      overNewerVersions(parts, heldXid, newer, (_m, _pos, at) =>
        locks.hold(transaction, locator, at.block, at.offset, name),
      );
    }
    locks.hold(transaction, locator, block, offset, name);
    return TM_OK;
  } finally {
    relation.pool.unpin(id);
  }
}

function writeLock(
  parts: TransactionWriterParts,
  pos: number,
  id: BufferId,
  block: BlockNumber,
  offset: OffsetNumber,
  xid: Xid,
  mode: number,
): void {
  const { relation, map } = parts;
  const { pool, main, vm, log } = relation;
  const m = pool.memory(id);
  const isAllVisible = pageIsAllVisible(m, pool.base(id));
  const mapId = isAllVisible && map !== undefined ? map.pinToClear(block, VISIBILITYMAP_ALL_FROZEN) : -1;
  try {
    log.begin(relation, RM_HEAP, XLOG_HEAP_LOCK, 2, LOCK_BYTES);
    try {
      const infomask = lockInfomask(mode);
      const infomask2 = modeInfomask2(mode);
      setXmax(m, pos, xid, infomask, infomask2);
      setTupleInfomask2(m, pos, tupleInfomask2(m, pos) & ~HEAP_HOT_UPDATED);
      setTupleCtid(m, pos, block, offset);
      log.u32(xid);
      log.u16(offset);
      log.u8(infobitsOf(infomask, infomask2));
      log.u8(mapId >= 0 ? XLH_LOCK_ALL_FROZEN_CLEARED : 0);
      log.page(BLOCK_NEW, main, id, PAGE_STANDARD);
      if (mapId >= 0) {
        (map as VisibilityMap).clearPinned(mapId, block, VISIBILITYMAP_ALL_FROZEN);
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

/**
 * After an update or deletion took the header's one place: the lock that stood there goes on in memory, as the same
 * level's of the same transaction.
 */
export function keepDisplacedLock(
  parts: TransactionWriterParts,
  admission: Admission,
  block: BlockNumber,
  offset: OffsetNumber,
  transaction: Transaction,
): void {
  const { heldXid } = admission;
  if (heldXid === 0 || heldXid === transaction.xid) return;
  const { locks } = parts.transactions;
  const holder = parts.transactions.ownerOf(heldXid);
  if (holder !== undefined) locks.holdFor(holder, heldXid, parts.locator, block, offset, rowModeName(admission.held));
}

interface Version {
  readonly block: BlockNumber;
  readonly offset: OffsetNumber;
}

/** Where an updated tuple leads. */
function nextOf(m: PageMemory, pos: number, block: BlockNumber, offset: OffsetNumber): Version | undefined {
  const next = { block: tupleCtidBlock(m, pos), offset: tupleCtidOffset(m, pos) };
  return next.block === block && next.offset === offset ? undefined : next;
}

/**
 * Visits the newer versions of a row whose update is in progress: a key-share lock holds for them, too, so that whoever
 * comes after that update has committed finds it there. PostgreSQL: `heap_lock_updated_tuple`.
 */
function overNewerVersions(
  parts: TransactionWriterParts,
  updater: Xid,
  first: Version | undefined,
  visit: (m: PageMemory, pos: number, at: Version) => void,
): void {
  const { pool, main } = parts.relation;
  const admission = new Admission();
  let previousXmax = updater;
  let version = first;
  while (version !== undefined) {
    const { block, offset } = version;
    if (!main.hasBlock(block)) return;
    const id = pool.pin(main, block);
    try {
      const m = pool.memory(id);
      if (!admission.find(parts, m, pool.base(id), block, offset)) return;
      const { pos } = admission;
      if (tupleXmin(m, pos) !== previousXmax) return;
      visit(m, pos, version);
      previousXmax = tupleXmax(m, pos);
      version = previousXmax === 0 ? undefined : nextOf(m, pos, block, offset);
    } finally {
      pool.unpin(id);
    }
  }
}

/** The open transaction that made a version may have deleted or locked it since: that is in the way of a lock on the row. */
function refuseConflict(
  parts: TransactionWriterParts,
  transaction: Transaction,
  mode: number,
  m: PageMemory,
  pos: number,
  { block, offset }: Version,
): void {
  const { relation, transactions, locator } = parts;
  const name = rowModeName(mode);
  const other = transactions.locks.conflicting(transaction, locator, block, offset, name);
  if (other !== undefined) {
    const kept = transactions.locks.heldBy(other, locator, block, offset) ?? name;
    throw rowIsLocked(relation.name, block, offset, name, kept, other.topXid);
  }
  const xmax = tupleXmax(m, pos);
  const infomask = tupleInfomask(m, pos);
  if (xmax === 0 || (infomask & HEAP_XMAX_INVALID) !== 0) return;
  if (!transactions.isInProgress(xmax) || transaction.isCurrent(xmax)) return;
  const held = heldMode(infomask, tupleInfomask2(m, pos));
  if (!modesConflict(held, mode)) return;
  const holder = transactions.topXidOf(xmax);
  throw rowIsLocked(relation.name, block, offset, name, rowModeName(held), holder);
}
