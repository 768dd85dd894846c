// Rows written within transactions: the heap's insert, update, delete and lock.
import type { Relation } from '@blockwright/access';
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import type { PageMemory } from '@blockwright/page';
import type { RowLockMode, Snapshot, Transaction, Transactions } from '@blockwright/transam';
import { type TupleDescriptor, TupleEncoder } from '@blockwright/tuple';
import type { VisibilityMap } from '@blockwright/visibilitymap';
import { Admission } from './admission.ts';
import { deleteRow } from './delete.ts';
import { checkFillfactor } from './fill.ts';
import type { IndexedColumns } from './indexed-columns.ts';
import { insertRow } from './insert-row.ts';
import { lockRow } from './lock.ts';
import { rowMode } from './row-modes.ts';
import { RowUpdate, updateRow } from './update.ts';
import { TransactionWriterParts } from './writer-parts.ts';

export interface HeapWriterOptions {
  /** Inserts leave so many per cent of each page to updates, less 100; the relation's own when not given. */
  readonly fillfactor?: number;
}

/**
 * Writes rows of one heap, for any of its transactions. Every call either does all that it says, logged in one record, or
 * throws and has changed no row. PostgreSQL: `heap_insert`, `heap_update`, `heap_delete`, `heap_lock_tuple`, heapam.c.
 */
export class HeapWriter {
  private readonly parts: TransactionWriterParts;
  private readonly admission: Admission = new Admission();
  private readonly rowUpdate: RowUpdate = new RowUpdate();

  /** @throws RangeError for a fillfactor below 10 or above 100. */
  constructor(
    relation: Relation,
    descriptor: TupleDescriptor,
    map: VisibilityMap,
    transactions: Transactions,
    options: HeapWriterOptions = {},
  ) {
    const toastTarget = relation.geometry.constants.TOAST_TUPLE_THRESHOLD;
    const encoder = TupleEncoder.for(descriptor, { toastTarget });
    const fillfactor = checkFillfactor(options.fillfactor ?? relation.fillfactor);
    this.parts = new TransactionWriterParts(relation, encoder, map, transactions, fillfactor);
  }

  /** Block of the row, or version, that was written last. */
  get block(): BlockNumber {
    return this.parts.block;
  }

  /** Its offset number. */
  get offset(): OffsetNumber {
    return this.parts.offset;
  }

  /** Whether the last update was HOT: on the row's page, and the index entries of the row lead to it as they are. */
  get wasHot(): boolean {
    return this.parts.wasHot;
  }

  /** The row, or version, that was written last: its tuple, {@link length} bytes at byte 0. Lent until the next call. */
  get tuple(): PageMemory {
    return this.parts.tuple;
  }

  /** Its bytes. */
  get length(): number {
    return this.parts.length;
  }

  /** After TM_UPDATED: the TID of the newer version. Lent until the next call. */
  get newer(): { readonly block: BlockNumber; readonly offset: OffsetNumber } {
    return this.parts.newer;
  }

  /**
   * Inserts a row, its values in the descriptor's order.
   * @throws StorageError 54000 when the row fits no page or no xids are left, 25006 in a read-only transaction, 23502 for
   * a null in a NOT NULL column, 53100 when the disk is full, XX001 for a damaged page.
   */
  insert(transaction: Transaction, values: readonly unknown[]): void {
    const { parts } = this;
    const length = parts.encode(values);
    const xid = transaction.writeXid();
    parts.stamp(xid, transaction.commandId);
    insertRow(parts, length, xid);
    const { locks } = parts.transactions;
    if (!locks.isEmpty) locks.forget(parts.locator, parts.block, parts.offset);
  }

  /**
   * Writes a newer version of the row at (block, offset), which `snapshot` sees.
   * @param keepsIndexedColumns no index would have another entry for the new version: then the update may be HOT
   * @param keepsKey no column changes that foreign keys could refer to: then those who hold the row for key share are in
   * nobody's way. As `keepsIndexedColumns` when not given.
   * @returns TM_OK; or, and nothing has changed: TM_UPDATED when a newer version was committed meanwhile ({@link newer}
   * says where), TM_DELETED when the row is gone, TM_SELF_MODIFIED when this command or a later one of the transaction
   * wrote it, TM_INVISIBLE when it is not there for the command.
   * @throws StorageError 55P03 when another open transaction has written or locked the row; 40001 instead of TM_UPDATED
   * and TM_DELETED in a repeatable-read transaction; and as {@link insert}.
   */
  update(
    transaction: Transaction,
    block: BlockNumber,
    offset: OffsetNumber,
    values: readonly unknown[],
    snapshot: Snapshot,
    keepsIndexedColumns: boolean,
    keepsKey: boolean = keepsIndexedColumns,
  ): number {
    const { parts } = this;
    const length = parts.encode(values);
    return updateRow(
      parts,
      this.admission,
      this.rowUpdate,
      transaction,
      block,
      offset,
      length,
      snapshot,
      keepsIndexedColumns,
      keepsKey,
      undefined,
    );
  }

  /**
   * {@link update} that finds out itself what the new version changes of the columns that indexes have; afterwards `columns`
   * says what.
   */
  updateIndexed(
    transaction: Transaction,
    block: BlockNumber,
    offset: OffsetNumber,
    values: readonly unknown[],
    snapshot: Snapshot,
    columns: IndexedColumns,
  ): number {
    const { parts } = this;
    const length = parts.encode(values);
    return updateRow(
      parts,
      this.admission,
      this.rowUpdate,
      transaction,
      block,
      offset,
      length,
      snapshot,
      true,
      true,
      columns,
    );
  }

  /** Deletes the row at (block, offset), which `snapshot` sees. Returns and throws as {@link update}. */
  delete(transaction: Transaction, block: BlockNumber, offset: OffsetNumber, snapshot: Snapshot): number {
    return deleteRow(this.parts, this.admission, transaction, block, offset, snapshot);
  }

  /**
   * Locks the row at (block, offset), which `snapshot` sees, until the transaction ends or the current savepoint is rolled
   * back. Returns and throws as {@link update}.
   */
  lock(
    transaction: Transaction,
    block: BlockNumber,
    offset: OffsetNumber,
    mode: RowLockMode,
    snapshot: Snapshot,
  ): number {
    return lockRow(this.parts, this.admission, transaction, block, offset, rowMode(mode), snapshot);
  }
}
