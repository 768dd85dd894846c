// How a transaction is asked for, and the small types that its statements take.
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import type { Row, TableDef } from './table.ts';

/** How a transaction runs. */
export interface TransactionOptions {
  /**
   * `read committed`, the default: each statement sees what was committed before it began. `repeatable read`: all
   * statements see what was committed before the first; a row that was changed since, or a table that was created or loaded
   * since, is refused with 40001.
   */
  readonly isolation?: 'read committed' | 'repeatable read';
  /**
   * false: the commit does not wait until its WAL is on the disk. A crash of the machine then loses the last such commits,
   * never a part of one, and damages nothing: those since the last sync, which begins at most `walWriterDelayMs` (200) after
   * a commit and goes on off the thread. Synchronous work that keeps the event loop from turning puts it off. By default
   * what the database was opened with.
   */
  readonly synchronousCommit?: boolean;
  /** Every write is refused with 25006. */
  readonly readOnly?: boolean;
}

/** How {@link Database.transaction} runs its function. */
export interface RunTransactionOptions extends TransactionOptions {
  /** How many times more the function is run when it fails with 40001 or 55P03; 0 by default. */
  readonly retries?: number;
}

/** Where a row stands. PostgreSQL: `ItemPointerData`, shown as `ctid`. */
export interface Tid {
  readonly block: BlockNumber;
  readonly offset: OffsetNumber;
}

export interface InsertOptions {
  /** Gets the TID of each row appended. */
  readonly tids?: Tid[];
}

/**
 * What an update changes: some columns, or a function from the row as it is to some columns. The function is called again
 * with the newer row where another transaction's update was committed meanwhile; undefined from it leaves the row as it is.
 */
export type Changes<Table extends TableDef> =
  | Partial<Row<Table>>
  | ((row: Row<Table>) => Partial<Row<Table>> | undefined);
