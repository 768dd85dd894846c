// Whether a transaction may change or lock a row now, and which lock in the row's header stays when it does. One
// transaction has room in a header; the locks of others that stay go to the RowLocks in memory, with the versions of the
// row that they are on. PostgreSQL: the loops of `heap_update`, `heap_delete` and `heap_lock_tuple`, heapam.c.
import type { BlockNumber, OffsetNumber, Xid } from '@blockwright/base';
import { LP_NORMAL, linePointer, lpFlags, lpLength, lpOffset, type PageMemory } from '@blockwright/page';
import type { Snapshot, Transaction } from '@blockwright/transam';
import {
  HEAP_XMAX_IS_MULTI,
  tupleCtidBlock,
  tupleCtidOffset,
  tupleInfomask,
  tupleInfomask2,
  tupleXmax,
} from '@blockwright/tuple';
import { changedSinceSnapshot, corruptLinePointer, rowIsLocked } from './errors.ts';
import { leadsToTuple, linePointerCount, linePointersEnd } from './line-pointers.ts';
import { heldMode, modesConflict, rowModeName } from './row-modes.ts';
import { satisfiesUpdate, TM_BEING_MODIFIED, TM_DELETED, TM_OK, TM_UPDATED } from './visibility-update.ts';
import type { TransactionWriterParts } from './writer-parts.ts';

export class Admission {
  /** Byte of the tuple in its page's memory, until something moves it. */
  pos = 0;
  /** Its bytes. */
  length = 0;
  /** The xid in the header whose lock, or update, goes on beside what is asked for; 0 for none. */
  heldXid: Xid = 0;
  /** What it holds. */
  held = 0;
  /** Whether it is the transaction's own, of this or another level. */
  isOwn = false;

  /**
   * Asks for the row at (block, offset), whose page `id` is pinned, in mode `mode`.
   * @returns TM_OK: go on. TM_INVISIBLE, TM_SELF_MODIFIED, TM_UPDATED (the newer version's TID is in `parts.newer`),
   * TM_DELETED: the row is not this one any more; also where no tuple stands.
   * @throws StorageError 55P03 when another open transaction has written the row, or holds a lock in the way; 40001 when
   * the row was changed since a repeatable-read transaction's snapshot; XX001 for damage.
   */
  ask(
    parts: TransactionWriterParts,
    id: number,
    block: BlockNumber,
    offset: OffsetNumber,
    transaction: Transaction,
    snapshot: Snapshot,
    mode: number,
  ): number {
    const { relation, transactions, hints } = parts;
    const m = relation.pool.memory(id);
    this.heldXid = 0;
    this.isOwn = false;
    if (!this.find(parts, m, relation.pool.base(id), block, offset)) return TM_DELETED;
    const { pos } = this;
    const { commandId } = snapshot;
    let code = satisfiesUpdate(m, pos, block, offset, transactions, transaction, commandId, hints);
    hints.flush(relation, id);
    if (code === TM_BEING_MODIFIED) {
      this.beside(parts, m, block, offset, transaction, mode);
      code = TM_OK;
    }
    if (code === TM_OK) {
      this.checkMemory(parts, block, offset, transaction, mode);
      return TM_OK;
    }
    if (code === TM_UPDATED || code === TM_DELETED) {
      if (transaction.isolation === 'repeatable read') {
        throw changedSinceSnapshot(relation.name, block, offset, tupleXmax(m, pos), code === TM_DELETED);
      }
      parts.newer.block = tupleCtidBlock(m, pos);
      parts.newer.offset = tupleCtidOffset(m, pos);
    }
    return code;
  }

  /** Finds the tuple again on a page whose items may have moved. */
  find(parts: TransactionWriterParts, m: PageMemory, base: number, block: BlockNumber, offset: OffsetNumber): boolean {
    const { geometry, name } = parts.relation;
    const lines = linePointerCount(m, base, geometry.size, name, block);
    if (!(offset >= 1 && offset <= lines)) return false;
    const lp = linePointer(m, base, offset);
    if (!leadsToTuple(lp, linePointersEnd(lines), geometry.size)) {
      if (lpFlags(lp) !== LP_NORMAL) return false;
      throw corruptLinePointer(name, block, offset, lpOffset(lp), lpLength(lp));
    }
    this.pos = base + lpOffset(lp);
    this.length = lpLength(lp);
    return true;
  }

  /** The header's xmax is at work: may this go on beside it? */
  private beside(
    parts: TransactionWriterParts,
    m: PageMemory,
    block: BlockNumber,
    offset: OffsetNumber,
    transaction: Transaction,
    mode: number,
  ): void {
    const { pos } = this;
    const infomask = tupleInfomask(m, pos);
    const xmax = tupleXmax(m, pos);
    const isMulti = (infomask & HEAP_XMAX_IS_MULTI) !== 0;
    const held = heldMode(infomask, tupleInfomask2(m, pos));
    this.isOwn = !isMulti && transaction.isCurrent(xmax);
    if (isMulti || (!this.isOwn && modesConflict(held, mode))) {
      const top = isMulti ? xmax : parts.transactions.topXidOf(xmax);
      throw rowIsLocked(parts.relation.name, block, offset, rowModeName(mode), rowModeName(held), top);
    }
    this.heldXid = xmax;
    this.held = held;
  }

  private checkMemory(
    parts: TransactionWriterParts,
    block: BlockNumber,
    offset: OffsetNumber,
    transaction: Transaction,
    mode: number,
  ): void {
    const { locks } = parts.transactions;
    if (locks.isEmpty) return;
    const wanted = rowModeName(mode);
    const other = locks.conflicting(transaction, parts.locator, block, offset, wanted);
    if (other === undefined) return;
    const held = locks.heldBy(other, parts.locator, block, offset) ?? wanted;
    throw rowIsLocked(parts.relation.name, block, offset, wanted, held, other.topXid);
  }
}
