// A transaction as users see it: statements on tables, savepoints, commit and rollback.
import { type BlockNumber, type OffsetNumber, type RunOptions, StorageError } from '@blockwright/base';
import type { HeapCount } from '@blockwright/heap';
import type { CountOptions, TableInfo } from './database.ts';
import type { LoadBatch, LoadOptions } from './load.ts';
import type { Scan, ScanOptions } from './scan.ts';
import type { ColumnName, Row, TableDef } from './table.ts';
import type { Changes, InsertOptions, RowLockMode, Tid } from './transaction-options.ts';

/**
 * An open transaction: `db.begin()` gives one, `db.transaction(fn)` lends one. Several may be open at once; a row that
 * another one has written is refused with 55P03, nothing waits. A statement sees what its transaction wrote before it,
 * never its own writes. After a statement that failed half-way every call is refused with 25P02 until {@link rollback}
 * or {@link rollbackTo}.
 */
export class DatabaseTransaction implements Disposable {
  /** Whether neither {@link commit} nor {@link rollback} was called. */
  get isOpen(): boolean {
    throw notYet();
  }

  /**
   * Where the last row went that this transaction inserted or updated: by this TID it is found from now on. After an
   * update that kept the row on its page (HOT) it is the one before.
   */
  get lastTid(): Tid {
    return { block: this.lastBlock, offset: this.lastOffset };
  }
  /** {@link lastTid}, without an object. */
  get lastBlock(): BlockNumber {
    throw notYet();
  }
  get lastOffset(): OffsetNumber {
    throw notYet();
  }
  /** Whether the last update was a HOT update: the row stayed on its page, and its TID the same. */
  get lastWasHot(): boolean {
    throw notYet();
  }

  /**
   * Inserts rows, and gives their number. When one fails, the transaction has failed, unless it is the first.
   * @throws StorageError 54000 when a row fits no page, 23502 for a null in a NOT NULL column; TypeError for a value of
   *   the wrong type, or a row with a column that the table has not.
   */
  insert<Table extends TableDef>(
    _definition: Table,
    _rows: Iterable<Row<Table>>,
    _options: InsertOptions = {},
  ): number {
    throw notYet();
  }

  /**
   * Changes the row at a TID. In read committed, a newer version that another transaction committed meanwhile is changed
   * instead. PostgreSQL: `heap_update`.
   * @returns false when no visible row stands there any more, or the function wanted no change.
   * @throws StorageError 55P03 naming the row when another open transaction has written or locked it; 40001 in repeatable
   *   read when it was changed since the snapshot.
   */
  update<Table extends TableDef>(
    _definition: Table,
    _block: BlockNumber,
    _offset: OffsetNumber,
    _changes: Changes<Table>,
  ): boolean {
    throw notYet();
  }

  /** Deletes the row at a TID, as {@link update} finds it. @returns false when no visible row stands there any more. */
  delete(_definition: TableDef, _block: BlockNumber, _offset: OffsetNumber): boolean {
    throw notYet();
  }

  /**
   * Locks the row at a TID until the transaction ends, or the savepoint in which it was locked is rolled back.
   * @returns false when no visible row stands there any more.
   */
  lock(_definition: TableDef, _block: BlockNumber, _offset: OffsetNumber, _mode: RowLockMode = 'update'): boolean {
    throw notYet();
  }

  /** The row at a TID, or undefined when no visible row stands there. A chain of HOT updates is followed. */
  fetch<Table extends TableDef>(
    _definition: Table,
    _block: BlockNumber,
    _offset: OffsetNumber,
  ): Row<Table> | undefined {
    throw notYet();
  }

  /** Scans the rows that are visible now, whatever is written while it goes on. It ends with the transaction at the latest. */
  scan<Table extends TableDef, Name extends ColumnName<Table>>(
    _definition: Table,
    _options: ScanOptions<Name>,
  ): Scan<Table, Name> {
    throw notYet();
  }

  /** Counts the visible rows. */
  count(_definition: TableDef, _options: CountOptions = {}): HeapCount {
    throw notYet();
  }

  /** Every table that this transaction sees. */
  tables(): TableInfo[] {
    throw notYet();
  }

  /** The definition of a table. @throws StorageError 42P01 when there is none of that name. */
  table(_name: string): TableDef {
    throw notYet();
  }

  /** Creates an empty table; others see it once this is committed. @throws StorageError 42P07 when the name is taken. */
  createTable(_definition: TableDef): void {
    throw notYet();
  }

  /**
   * Drops a table; its files are removed once this is committed.
   * @throws StorageError 42P01 when there is none, 55006 when another transaction or scan uses it.
   */
  dropTable(_table: string | TableDef): void {
    throw notYet();
  }

  /** {@link load}, driven through at once. */
  loadSync(_definition: TableDef, _batches: Iterable<LoadBatch>, _options: LoadOptions = {}): number {
    throw notYet();
  }

  /**
   * Fills an empty table from column vectors, and gives the number of rows. Frozen rows go to files made in this
   * transaction: a table that was there before gets new ones, which take the place of the old at commit, as PostgreSQL's
   * TRUNCATE and COPY FREEZE in one transaction do.
   */
  load(_definition: TableDef, _batches: Iterable<LoadBatch>, _options: LoadOptions & RunOptions = {}): Promise<number> {
    throw notYet();
  }

  /** Begins a savepoint, inside those that are open; gives its level, 1 for the outermost. */
  savepoint(): number;
  /** Runs `fn` in a savepoint: released when it returns, rolled back when it throws. */
  savepoint<Result>(fn: () => Result): Result;
  savepoint<Result>(_fn?: () => Result): Result | number {
    throw notYet();
  }

  /** Ends a savepoint and those inside it, keeping what was done. By default the innermost. */
  releaseSavepoint(_level?: number): void {
    throw notYet();
  }

  /** Takes back what was done since a savepoint; it stays open, as in PostgreSQL. By default the innermost. */
  rollbackTo(_level?: number): void {
    throw notYet();
  }

  /**
   * Ends the transaction, its effects kept and, unless `synchronousCommit` is off, on the disk.
   * @throws StorageError 25P02 when a statement has failed: it is rolled back then; 53100 when the disk has no room for
   *   the commit record: the same; 58030 when the disk failed: only opening again tells whether it was committed.
   */
  commit(): void {
    throw notYet();
  }

  /** {@link commit}, which joins with others in one sync off the main thread. Others see its effects once it resolves. */
  commitAsync(): Promise<void> {
    throw notYet();
  }

  /** Ends the transaction and takes everything back. Again, and after a commit, is fine. */
  rollback(): void {
    throw notYet();
  }

  /** Rolls back, unless it has ended. */
  [Symbol.dispose](): void {
    this.rollback();
  }
}

function notYet(): StorageError {
  return new StorageError('0A000', 'transactions are not there yet');
}
