// The façade: a data directory, opened; its tables, its transactions, and the statements that are transactions themselves.
import {
  type BlockNumber,
  checkFlag,
  checkOptions,
  isStorageError,
  type OffsetNumber,
  type RunOptions,
  run,
  runSync,
  type Steps,
  StorageError,
} from '@blockwright/base';
import type { BufferStats } from '@blockwright/bufmgr';
import type { CatalogEntry } from '@blockwright/catalog';
import type { BlockGeometry, BlockSize } from '@blockwright/geometry';
import { type HeapCount, type HeapPageStats, heapPageStats } from '@blockwright/heap';
import { type CheckpointReport, type RecoveryReport } from '@blockwright/recovery';
import type { WalStats } from '@blockwright/wal';
import { type Core, unknownTable } from './core.ts';
import type { IndexOptions } from './index-options.ts';
import type {
  ByKeyOptions,
  GetOptions,
  IndexCount,
  IndexCountOptions,
  IndexScanOptions,
  PrimaryKey,
} from './index-range.ts';
import { countByIndex, findRow, getRow, NO_OPTIONS } from './keyed-rows.ts';
import type { LoadBatch, LoadOptions } from './load.ts';
import { type Opened, openSteps } from './open.ts';
import { type OpenOptions, openSettings } from './open-options.ts';
import { countRows, fetchRow } from './rows.ts';
import type { Scan, ScanOptions } from './scan.ts';
import { type ColumnName, nameOfTable, type Row, type TableDef } from './table.ts';
import {
  type CountOptions,
  type IndexInfo,
  indexInfo,
  refuseOtherColumns,
  type TableInfo,
  tableInfo,
  tableOf,
} from './table-info.ts';
import { DatabaseTransaction } from './transaction.ts';
import { refusePromise } from './transaction-errors.ts';
import type { Changes, InsertOptions, RunTransactionOptions, Tid, TransactionOptions } from './transaction-options.ts';

export type { CountOptions, IndexInfo, TableInfo } from './table-info.ts';

const TRANSACTION_OPTIONS = ['isolation', 'synchronousCommit', 'readOnly'];
const RUN_OPTIONS = [...TRANSACTION_OPTIONS, 'retries'];

/** An open data directory. One process has it at a time. */
export class Database implements Disposable {
  readonly directory: string;
  readonly readOnly: boolean;
  readonly geometry: BlockGeometry;
  /** What recovery did when the directory was opened; undefined when it had been shut down. */
  readonly recovery: RecoveryReport | undefined;
  private readonly core: Core;
  private readonly lock: Opened['lock'];

  private constructor({ core, lock, recovery }: Opened) {
    this.core = core;
    this.lock = lock;
    this.recovery = recovery;
    this.directory = core.parts.directory;
    this.geometry = core.parts.geometry;
    this.readOnly = core.parts.writing === undefined;
    core.parts.upkeep.start();
  }

  /**
   * Opens a data directory. One that was not shut down is recovered first: {@link openAsync} does that in steps.
   * @throws StorageError F0001 when another process has it open, 58P01 when it is none, 55000 when it was not shut down
   *   and is opened read-only, XX001 when its control file, its catalogs or its WAL is damaged; RangeError for a pool
   *   larger than the platform can hold.
   */
  static open(directory: string, options: OpenOptions = {}): Database {
    return new Database(runSync(openSteps(directory, openSettings(options))));
  }

  /** {@link open} in steps: recovery leaves room for signals, and says how far it is. */
  static async openAsync(directory: string, options: OpenOptions & RunOptions = {}): Promise<Database> {
    const { signal, onProgress, ...rest } = options;
    return new Database(await run(openSteps(directory, openSettings(rest)), { signal, onProgress }));
  }

  /** Bytes of a block. */
  get blockSize(): BlockSize {
    return this.geometry.size;
  }

  /** What the buffer pool has done since the database was opened. */
  get bufferStats(): BufferStats {
    return this.core.parts.pool.stats;
  }

  /** What the WAL has taken since the database was opened; undefined of one that is open read-only. */
  get walStats(): WalStats | undefined {
    return this.core.parts.writing?.wal.stats;
  }

  /**
   * Begins a transaction, which must be committed or rolled back.
   * @throws TypeError for an unknown option; StorageError 57P01 once {@link closeAsync} was called.
   */
  begin(options: TransactionOptions = {}): DatabaseTransaction {
    checkOptions('begin', options, TRANSACTION_OPTIONS);
    const { core } = this;
    core.check();
    if (core.closing) throw new StorageError('57P01', `data directory "${core.parts.directory}" is being closed`);
    return this.beginAttempt(options);
  }

  /** {@link begin}, also of a function's next attempt while the database is being closed. */
  private beginAttempt(options: TransactionOptions): DatabaseTransaction {
    const { isolation, synchronousCommit, readOnly } = options;
    checkFlag('begin', 'synchronousCommit', synchronousCommit);
    checkFlag('begin', 'readOnly', readOnly);
    if (isolation !== undefined && isolation !== 'read committed' && isolation !== 'repeatable read') {
      throw new RangeError(`isolation "${String(isolation)}" is neither "read committed" nor "repeatable read"`);
    }
    return new DatabaseTransaction(
      this.core,
      this.core.parts.transactions.begin({ isolation, synchronousCommit, readOnly }),
    );
  }

  /**
   * Runs `fn` in a transaction, and gives what it returns: committed when it returns, rolled back when it throws, unless
   * `fn` has ended it itself. What `fn` gets is of no use afterwards.
   * @throws StorageError 57P01 when `fn` has closed the database: the transaction was rolled back; TypeError when `fn` returns a promise: {@link transactionAsync} is for that.
   */
  transaction<Result>(fn: (tx: DatabaseTransaction) => Result, options: RunTransactionOptions = {}): Result {
    const { retries, ...rest } = runOptions('transaction', options);
    for (let attempt = 0; ; attempt++) {
      const tx = this.begin(rest);
      try {
        const result = fn(tx);
        refusePromise('transaction', result);
        tx.refuseWhenClosed();
        if (tx.isOpen) tx.commit();
        return result;
      } catch (error) {
        tx.rollback();
        if (attempt >= retries || !isRetryable(error)) throw error;
      }
    }
  }

  /**
   * {@link transaction} whose commit joins a group: one sync off the main thread serves all that wait. `fn` may be
   * asynchronous; its effects are visible to others only after the sync. Before it is tried again, others have their turn.
   * {@link close} rolls back what goes on, and it rejects with 57P01; {@link closeAsync} waits for it.
   */
  async transactionAsync<Result>(
    fn: (tx: DatabaseTransaction) => Result | Promise<Result>,
    options: RunTransactionOptions = {},
  ): Promise<Result> {
    const { retries, ...rest } = runOptions('transactionAsync', options);
    const { running } = this.core;
    const result = this.attempts(this.begin(rest), fn, rest, retries);
    running.add(result);
    try {
      return await result;
    } finally {
      running.delete(result);
    }
  }

  private async attempts<Result>(
    first: DatabaseTransaction,
    fn: (tx: DatabaseTransaction) => Result | Promise<Result>,
    options: TransactionOptions,
    retries: number,
  ): Promise<Result> {
    let tx = first;
    for (let attempt = 0; ; attempt++) {
      try {
        const result = await fn(tx);
        tx.refuseWhenClosed();
        if (tx.isOpen) await tx.commitAsync();
        else await this.core.committing.get(tx); // begun by fn, and not awaited
        return result;
      } catch (error) {
        tx.rollback();
        if (attempt >= retries || !isRetryable(error)) throw error;
      }
      await othersHadTheirTurn(attempt);
      this.core.check();
      tx = this.beginAttempt(options);
    }
  }

  /** Every table, catalogs included, by name. */
  tables(): TableInfo[] {
    this.core.check();
    return this.core.catalog.entries().map((entry) => tableInfo(this.core, entry));
  }

  /**
   * The definition of a table that the catalogs know.
   * @throws StorageError 42P01 when there is none of that name.
   */
  table(name: string): TableDef {
    this.core.check();
    return tableOf(this.entry(name));
  }

  /**
   * Creates an empty table.
   * @throws StorageError 42P07 when the name is taken, 25006 when the database is read-only.
   */
  createTable(definition: TableDef): void {
    this.transaction((tx) => tx.createTable(definition));
  }

  /**
   * Drops a table, and removes its files.
   * @throws StorageError 42P01 when there is none, 42501 for a catalog, 55006 when a transaction or a scan uses it.
   */
  dropTable(table: string | TableDef): void {
    this.transaction((tx) => tx.dropTable(table));
  }

  /** Every index, or those of a table, the oldest first. @throws StorageError 42P01 when there is no such table. */
  indexes(table?: string | TableDef): IndexInfo[] {
    const { core } = this;
    core.check();
    const name = typeof table === 'object' ? table.name : table;
    const tables = name === undefined ? core.catalog.entries() : [this.entry(name)];
    return tables.flatMap((entry) => entry.indexes.map((index) => indexInfo(core, entry, index)));
  }

  /**
   * Creates an index of a table, with entries for its rows, in a transaction of its own.
   * @throws StorageError as {@link DatabaseTransaction.createIndex}.
   */
  createIndex<Table extends TableDef>(
    table: Table,
    options: IndexOptions<ColumnName<Table>>,
    runOptions: RunOptions = {},
  ): Promise<IndexInfo> {
    return run(this.createIndexSteps(table, options), runOptions);
  }

  /** {@link createIndex}, driven through at once. */
  createIndexSync<Table extends TableDef>(table: Table, options: IndexOptions<ColumnName<Table>>): IndexInfo {
    return runSync(this.createIndexSteps(table, options));
  }

  /** Drops an index, and removes its file. @throws StorageError as {@link DatabaseTransaction.dropIndex}. */
  dropIndex(name: string): void {
    this.transaction((tx) => tx.dropIndex(name));
  }

  /**
   * Inserts rows, and gives their number: all of them, or, when one fails, none.
   * @throws StorageError 54000 when a row fits no page, 23502 for a null in a NOT NULL column; TypeError for a value of
   *   the wrong type, or a row with a column that the table has not.
   */
  insert<Table extends TableDef>(definition: Table, rows: Iterable<Row<Table>>, options: InsertOptions = {}): number {
    return this.transaction((tx) => tx.insert(definition, rows, options));
  }

  /** {@link DatabaseTransaction.update} in a transaction of its own. */
  update<Table extends TableDef>(
    definition: Table,
    block: BlockNumber,
    offset: OffsetNumber,
    changes: Changes<Table>,
  ): boolean {
    return this.transaction((tx) => tx.update(definition, block, offset, changes));
  }

  /** {@link DatabaseTransaction.delete} in a transaction of its own. */
  delete(definition: TableDef, block: BlockNumber, offset: OffsetNumber): boolean {
    return this.transaction((tx) => tx.delete(definition, block, offset));
  }

  /** {@link DatabaseTransaction.updateByKey} in a transaction of its own. */
  updateByKey<Table extends TableDef>(
    definition: Table,
    key: PrimaryKey<Table>,
    changes: Changes<Table>,
    options: ByKeyOptions = {},
  ): boolean {
    return this.transaction((tx) => tx.updateByKey(definition, key, changes, options));
  }

  /** {@link DatabaseTransaction.deleteByKey} in a transaction of its own. */
  deleteByKey<Table extends TableDef>(definition: Table, key: PrimaryKey<Table>, options: ByKeyOptions = {}): boolean {
    return this.transaction((tx) => tx.deleteByKey(definition, key, options));
  }

  /** {@link load}, driven through at once. */
  loadSync(definition: TableDef, batches: Iterable<LoadBatch>, options: LoadOptions = {}): number {
    return runSync(this.loadSteps(definition, batches, options));
  }

  /**
   * Fills an empty table from column vectors, or with `freeze: false` adds to any, and gives the number of rows. A load
   * that fails or is stopped leaves the table as it was.
   * @throws StorageError 55000 when rows are to be frozen and the table has some, 55006 when somebody uses it, 54000 when a
   *   row fits no page.
   */
  load(definition: TableDef, batches: Iterable<LoadBatch>, options: LoadOptions & RunOptions = {}): Promise<number> {
    return run(this.loadSteps(definition, batches, options), options);
  }

  /**
   * Scans a table's visible rows, as they are now: batches of typed vectors, or row objects through `rows()`. With `index`,
   * those of a range, in the index's order, and from the index alone when it holds every column asked for.
   * @throws StorageError 42703 for an unknown column, 42704 for an unknown index, naming the one that was probably meant;
   *   TypeError or RangeError for a range that the index cannot have.
   */
  scan<Table extends TableDef, Name extends ColumnName<Table>>(
    definition: Table,
    options: ScanOptions<Name> | IndexScanOptions<Table, Name>,
  ): Scan<Table, Name> {
    return this.core.scan(this.resolve(definition), options, this.core.parts.transactions.snapshot(), undefined);
  }

  /** Counts the rows of a range of an index, without the table where the visibility map allows it. */
  count<Table extends TableDef>(definition: Table, options: IndexCountOptions<Table>): IndexCount;
  /** Counts a table's visible rows; with `map: false`, without asking the visibility map. */
  count(definition: TableDef, options?: CountOptions): HeapCount;
  count(definition: TableDef, options: CountOptions | IndexCountOptions<TableDef> = {}): HeapCount | IndexCount {
    const entry = this.resolve(definition);
    const snapshot = this.core.parts.transactions.snapshot();
    try {
      return options.index === undefined
        ? countRows(this.core, entry, options, snapshot)
        : countByIndex(this.core, entry, options, snapshot);
    } finally {
      snapshot.release();
    }
  }

  /**
   * The row with this key, of the primary key's columns or those of `index`, which must be unique; undefined when there is
   * none. A key of several columns is an array of their values.
   * @throws TypeError or RangeError for what is no key of the index; StorageError 42704 when there is no such index.
   */
  get<Table extends TableDef, Name extends ColumnName<Table> = ColumnName<Table>>(
    definition: Table,
    key: PrimaryKey<Table>,
    options: GetOptions<Name> = NO_OPTIONS,
  ): Pick<Row<Table>, Name> | undefined {
    const entry = this.resolve(definition);
    const snapshot = this.core.parts.transactions.snapshot();
    try {
      return getRow(this.core, entry, key, options, snapshot) as Pick<Row<Table>, Name> | undefined;
    } finally {
      snapshot.release();
    }
  }

  /** The TID of the row with this key, as {@link get} finds it. */
  find<Table extends TableDef>(definition: Table, key: PrimaryKey<Table>, options: ByKeyOptions = {}): Tid | undefined {
    const entry = this.resolve(definition);
    const snapshot = this.core.parts.transactions.snapshot();
    try {
      return findRow(this.core, entry, key, options, snapshot);
    } finally {
      snapshot.release();
    }
  }

  /** The row at a TID, or undefined when no visible row stands there. */
  fetch<Table extends TableDef>(definition: Table, block: BlockNumber, offset: OffsetNumber): Row<Table> | undefined {
    const entry = this.resolve(definition);
    const snapshot = this.core.parts.transactions.snapshot();
    try {
      return fetchRow(this.core, entry, block, offset, snapshot) as Row<Table> | undefined;
    } finally {
      snapshot.release();
    }
  }

  /** How full a table's pages are. */
  pageStats(definition: TableDef): HeapPageStats {
    return heapPageStats(this.core.parts.relations.handleOf(this.resolve(definition)));
  }

  /** Writes every changed page and syncs every file, so that recovery would start here. */
  checkpoint(): CheckpointReport {
    return runSync(this.checkpointSteps());
  }

  /** {@link checkpoint} in steps. */
  async checkpointAsync(options: RunOptions = {}): Promise<CheckpointReport> {
    return await run(this.checkpointSteps(), options);
  }

  /**
   * Writes and syncs everything, and gives the directory back. What is open is rolled back, and whoever goes on with it, or
   * commits it, is told with 57P01; a load that is going on is stopped, scans are ended. Again is fine, and after the engine
   * has stopped too: then nothing is written.
   * @throws StorageError 55006 while commits wait for the disk: {@link closeAsync} waits for them; what writing throws: the
   *   directory then counts as not shut down, and the next opening recovers it.
   */
  close(): void {
    const { core } = this;
    if (core.closed) return;
    core.refuseWhileCommitting();
    try {
      core.shutDown();
    } finally {
      this.lock?.release();
    }
  }

  /**
   * {@link close}, once the functions given to {@link transactionAsync} and the commits that wait for the disk have ended.
   * No other transaction begins meanwhile: 57P01. Not to be awaited by such a function, which would wait for itself.
   */
  async closeAsync(): Promise<void> {
    this.core.closing = true;
    // Asked again at once before closing: what one waits for may begin another.
    for (let left = this.core.goingOn(); left.length > 0; left = this.core.goingOn()) await Promise.allSettled(left);
    this.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  private *loadSteps(definition: TableDef, batches: Iterable<LoadBatch>, options: LoadOptions): Steps<number> {
    return yield* this.inSteps((tx) => tx.loadSteps(definition, batches, options));
  }

  private *createIndexSteps(table: TableDef, options: IndexOptions): Steps<IndexInfo> {
    return yield* this.inSteps((tx) => tx.createIndexSteps(table, options));
  }

  private *inSteps<Result>(statement: (tx: DatabaseTransaction) => Steps<Result>): Steps<Result> {
    const tx = this.begin();
    try {
      const result = yield* statement(tx);
      tx.commit();
      return result;
    } finally {
      tx.rollback();
    }
  }

  private *checkpointSteps(): Steps<CheckpointReport> {
    this.core.check();
    return yield* this.core.writing('checkpoint').checkpointer.steps('immediate');
  }

  private entry(name: string): CatalogEntry {
    const entry = this.core.catalog.find(name);
    if (entry === undefined) throw unknownTable(name, this.core.catalog.entries());
    return entry;
  }

  /** Finds what a definition names, and refuses one that is not the table's own, or that a transaction keeps to itself. */
  private resolve(definition: TableDef): CatalogEntry {
    this.core.check();
    const entry = this.entry(nameOfTable(definition));
    refuseOtherColumns(entry, definition);
    this.core.locks.refuseExcluded(entry);
    return entry;
  }
}

function runOptions(method: string, options: RunTransactionOptions): TransactionOptions & { retries: number } {
  checkOptions(method, options, RUN_OPTIONS);
  const { retries = 0 } = options;
  if (!Number.isInteger(retries) || retries < 0) {
    throw new RangeError(`retries ${String(retries)} is not an integer of at least 0`);
  }
  return { ...options, retries };
}

/** Failures that another attempt may be spared: somebody else was there first. */
function isRetryable(error: unknown): boolean {
  return isStorageError(error) && (error.code === '40001' || error.code === '55P03');
}

/** Whoever is in the way goes on: commits of others end in later turns, after their sync. */
function othersHadTheirTurn(attempt: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.min(attempt, 20)));
}
