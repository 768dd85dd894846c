// A transaction as users see it: statements on tables, savepoints, commit and rollback. What a statement does to rows is in
// rows.ts, what it does to tables in schema.ts, bulk loads in load.ts; here is when it may run and what its failure means.
import {
  type BlockNumber,
  type OffsetNumber,
  type RunOptions,
  run,
  runSync,
  type Steps,
  StorageError,
} from '@blockwright/base';
import type { CatalogEntry, IndexEntry } from '@blockwright/catalog';
import type { HeapCount } from '@blockwright/heap';
import type { RowLockMode, Snapshot, Transaction } from '@blockwright/transam';
import { type Core, unknownIndex, unknownTable } from './core.ts';
import { type IndexOptions, indexSpecOf } from './index-options.ts';
import type {
  ByKeyOptions,
  GetOptions,
  IndexCount,
  IndexCountOptions,
  IndexScanOptions,
  PrimaryKey,
} from './index-range.ts';
import { countByIndex, findRow, getRow, lookupFor, NO_OPTIONS } from './keyed-rows.ts';
import { checkLoadOptions, type LoadBatch, type LoadOptions, TableLoad } from './load.ts';
import { countRows, fetchRow, RowStatements } from './rows.ts';
import type { Scan, ScanOptions } from './scan.ts';
import { createTable, dropTable } from './schema.ts';
import { SchemaChanges } from './schema-changes.ts';
import { dropIndex, IndexCreation } from './schema-indexes.ts';
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
import {
  closedUnder,
  ended,
  filesAreNewer,
  hadFailed,
  hasFailed,
  indexIsNewer,
  indexIsUnfilled,
  interrupted,
  refusePromise,
} from './transaction-errors.ts';
import type { Changes, InsertOptions, Tid } from './transaction-options.ts';

/** A statement in steps. */
export interface LongWork<Result> {
  /** With an article: `a load`. */
  readonly what: string;
  /** Whether all is done. */
  readonly isWhole: boolean;
  /** Whether it makes what is in this index: until the end nothing can be looked for there. */
  fills(index: IndexEntry): boolean;
  /** When it fails or is returned from early, {@link undo} has been called. */
  run(): Steps<Result>;
  /** Stops it, unless all is done: the transaction ends. */
  undo(): void;
}

/**
 * An open transaction: `db.begin()` gives one, `db.transaction(fn)` lends one. Several may be open at once; a row that
 * another one has written is refused with 55P03, nothing waits. A statement sees what its transaction wrote before it,
 * never its own writes. After a statement that failed half-way every call is refused with 25P02 until {@link rollback}
 * or {@link rollbackTo}.
 */
export class DatabaseTransaction implements Disposable {
  /** @internal */
  readonly core: Core;
  /** @internal */
  readonly inner: Transaction;
  /** @internal */
  readonly schema: SchemaChanges;
  /** Where the last row went that was inserted or updated: {@link lastTid}, without an object. */
  lastBlock: BlockNumber = 0xffff_ffff;
  lastOffset: OffsetNumber = 0;
  /** Whether the last update was a HOT update: the row stayed on its page, and its TID the same. */
  lastWasHot = false;
  /** @internal Changes made so far: tells a statement that failed half-way from one that did nothing. */
  changes = 0;
  /** @internal Tables whose rows statements under way write, with the indexes that they had when each began. */
  readonly writing: CatalogEntry[] = [];
  private readonly rows: RowStatements;
  /** What goes on over several steps. */
  private work: LongWork<unknown> | undefined = undefined;
  /** Statements that are under way: one whose rows or changes come from a function may have others inside it. */
  private statements = 0;
  /** Of repeatable read: the age of files that its snapshot knows of. */
  private filesKnown: number | undefined = undefined;
  /** Whether it was open when the database was closed. */
  private wasClosed = false;

  /** @internal Made by `Database.begin`. */
  constructor(core: Core, inner: Transaction) {
    this.core = core;
    this.inner = inner;
    this.schema = new SchemaChanges(core.catalog);
    this.rows = new RowStatements(this);
    core.open.add(this);
  }

  /** Whether it has neither been committed nor rolled back. */
  get isOpen(): boolean {
    return this.inner.state === 'open' || this.inner.state === 'failed';
  }

  /**
   * Where the last row went that this transaction inserted or updated: by this TID it is found from now on. After an
   * update that kept the row on its page (HOT) it is the one before.
   */
  get lastTid(): Tid {
    return { block: this.lastBlock, offset: this.lastOffset };
  }

  /**
   * Inserts rows, and gives their number. When one fails, the transaction has failed, unless it is the first.
   * @throws StorageError 54000 when a row fits no page, 23502 for a null in a NOT NULL column; TypeError for a value of
   *   the wrong type, or a row with a column that the table has not.
   */
  insert<Table extends TableDef>(definition: Table, rows: Iterable<Row<Table>>, options: InsertOptions = {}): number {
    return this.write('insert', () => this.rows.insert(this.written(definition), rows, options));
  }

  /**
   * Changes the row at a TID. In read committed, a newer version that another transaction committed meanwhile is changed
   * instead. PostgreSQL: `heap_update`.
   * @returns false when no visible row stands there any more, or the function wanted no change.
   * @throws StorageError 55P03 naming the row when another open transaction has written or locked it; 40001 in repeatable
   *   read when it was changed since the snapshot.
   */
  update<Table extends TableDef>(
    definition: Table,
    block: BlockNumber,
    offset: OffsetNumber,
    changes: Changes<Table>,
  ): boolean {
    return this.write('update', () =>
      this.rows.update(this.written(definition), block, offset, changes as Changes<TableDef>),
    );
  }

  /** Deletes the row at a TID, as {@link update} finds it. @returns false when no visible row stands there any more. */
  delete(definition: TableDef, block: BlockNumber, offset: OffsetNumber): boolean {
    return this.write('delete', () => this.rows.delete(this.written(definition), block, offset));
  }

  /**
   * Locks the row at a TID until the transaction ends, or the savepoint in which it was locked is rolled back.
   * @returns false when no visible row stands there any more.
   */
  lock(definition: TableDef, block: BlockNumber, offset: OffsetNumber, mode: RowLockMode = 'update'): boolean {
    return this.write('lock a row', () => this.rows.lock(this.written(definition), block, offset, mode));
  }

  /**
   * Changes the row with this key, of the primary key's columns or those of `index`, which must be unique, as
   * {@link update} does. @returns false when there is none, or the function wanted no change.
   * @throws TypeError or RangeError for what is no key of the index; StorageError 42704 when there is no such index, and as
   *   {@link update}.
   */
  updateByKey<Table extends TableDef>(
    definition: Table,
    key: PrimaryKey<Table>,
    changes: Changes<Table>,
    options: ByKeyOptions = NO_OPTIONS,
  ): boolean {
    return this.write('update', () => {
      const entry = this.written(definition);
      this.refuseNewerIndex(entry, options.index);
      const lookup = lookupFor(this.core, entry, options);
      const snapshot = this.snapshot();
      let row: Record<string, unknown> | undefined;
      try {
        row = lookup.get(key, snapshot);
      } finally {
        snapshot.release();
      }
      if (row === undefined) return false;
      const { block, offset, version } = lookup;
      return this.rows.update(entry, block, offset, changes as Changes<TableDef>, { version, row });
    });
  }

  /** Deletes the row with this key, as {@link updateByKey} finds it. @returns false when there is none. */
  deleteByKey<Table extends TableDef>(
    definition: Table,
    key: PrimaryKey<Table>,
    options: ByKeyOptions = NO_OPTIONS,
  ): boolean {
    return this.write('delete', () => {
      const entry = this.written(definition);
      const tid = this.rowWithKey(entry, key, options);
      return tid !== undefined && this.rows.delete(entry, tid.block, tid.offset);
    });
  }

  /** Locks the row with this key, as {@link lock} does. @returns false when there is none. */
  lockByKey<Table extends TableDef>(
    definition: Table,
    key: PrimaryKey<Table>,
    mode: RowLockMode = 'update',
    options: ByKeyOptions = NO_OPTIONS,
  ): boolean {
    return this.write('lock a row', () => {
      const entry = this.written(definition);
      const tid = this.rowWithKey(entry, key, options);
      return tid !== undefined && this.rows.lock(entry, tid.block, tid.offset, mode);
    });
  }

  /** The row with this key, as `Database.get` finds it. */
  get<Table extends TableDef, Name extends ColumnName<Table> = ColumnName<Table>>(
    definition: Table,
    key: PrimaryKey<Table>,
    options: GetOptions<Name> = NO_OPTIONS,
  ): Pick<Row<Table>, Name> | undefined {
    const entry = this.read(definition);
    this.refuseNewerIndex(entry, options.index);
    const snapshot = this.snapshot();
    try {
      return getRow(this.core, entry, key, options, snapshot) as Pick<Row<Table>, Name> | undefined;
    } finally {
      snapshot.release();
    }
  }

  /** The TID of the row with this key. */
  find<Table extends TableDef>(
    definition: Table,
    key: PrimaryKey<Table>,
    options: ByKeyOptions = NO_OPTIONS,
  ): Tid | undefined {
    const entry = this.read(definition);
    return this.rowWithKey(entry, key, options);
  }

  /** The row at a TID, or undefined when no visible row stands there. It is followed as {@link update} follows it. */
  fetch<Table extends TableDef>(definition: Table, block: BlockNumber, offset: OffsetNumber): Row<Table> | undefined {
    const entry = this.read(definition);
    const snapshot = this.snapshot();
    try {
      return fetchRow(this.core, entry, block, offset, snapshot) as Row<Table> | undefined;
    } finally {
      snapshot.release();
    }
  }

  /**
   * Scans the rows that are visible now, whatever is written while it goes on; with `index`, as `Database.scan` says. It ends
   * with the transaction at the latest.
   */
  scan<Table extends TableDef, Name extends ColumnName<Table>>(
    definition: Table,
    options: ScanOptions<Name> | IndexScanOptions<Table, Name>,
  ): Scan<Table, Name> {
    const entry = this.read(definition);
    if (options.index !== undefined) this.refuseNewerIndex(entry, options.index);
    return this.core.scan(entry, options, this.snapshot(), this);
  }

  /** Counts the rows of a range of an index. */
  count<Table extends TableDef>(definition: Table, options: IndexCountOptions<Table>): IndexCount;
  /** Counts the visible rows. */
  count(definition: TableDef, options?: CountOptions): HeapCount;
  count(definition: TableDef, options: CountOptions | IndexCountOptions<TableDef> = {}): HeapCount | IndexCount {
    const entry = this.read(definition);
    if (options.index !== undefined) this.refuseNewerIndex(entry, options.index);
    const snapshot = this.snapshot();
    try {
      return options.index === undefined
        ? countRows(this.core, entry, options, snapshot)
        : countByIndex(this.core, entry, options, snapshot);
    } finally {
      snapshot.release();
    }
  }

  /** Every table that this transaction sees. */
  tables(): TableInfo[] {
    this.enter();
    return this.schema.entries().map((entry) => tableInfo(this.core, entry));
  }

  /** The definition of a table. @throws StorageError 42P01 when there is none of that name. */
  table(name: string): TableDef {
    this.enter();
    return tableOf(this.entryNamed(name));
  }

  /** Creates an empty table; others see it once this is committed. @throws StorageError 42P07 when the name is taken. */
  createTable(definition: TableDef): void {
    this.write('create a table', () => createTable(this, definition));
  }

  /**
   * Drops a table; its files are removed once this is committed.
   * @throws StorageError 42P01 when there is none, 42501 for a catalog, 55006 when another transaction or scan uses it.
   */
  dropTable(table: string | TableDef): void {
    this.write('drop a table', () => dropTable(this, this.entryNamed(nameOf(table))));
  }

  /** Every index that this transaction sees, or those of a table, the oldest first. @throws StorageError 42P01 */
  indexes(table?: string | TableDef): IndexInfo[] {
    this.enter();
    const tables = table === undefined ? this.schema.entries() : [this.entryNamed(nameOf(table))];
    return tables.flatMap((entry) => entry.indexes.map((index) => indexInfo(this.core, entry, index)));
  }

  /**
   * Creates an index of a table, with entries for its rows; others see it once this is committed. While it goes on, the
   * transaction may read, and nothing else.
   * @throws StorageError 42P07 when the name is taken, 42703 for an unknown column, 42704 for one whose type has no order,
   *   23505 when two rows have the key of a unique index, 54000 for a key that is too long, 55006 or 55P03 when another
   *   transaction or scan uses the table, 42501 for a catalog, 40001 in repeatable read when rows have changed since the
   *   snapshot.
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

  /** @internal */
  *createIndexSteps(definition: TableDef, options: IndexOptions): Steps<IndexInfo> {
    return yield* this.longStatement('create an index', () => {
      const entry = this.entryOf(definition);
      return new IndexCreation(this, entry, indexSpecOf(entry, options));
    });
  }

  /**
   * Drops an index, also that of a key; its file is removed once this is committed.
   * @throws StorageError 42704 when there is none, 42501 for a catalog's, 55006 or 55P03 when somebody else uses its table.
   */
  dropIndex(name: string): void {
    this.write('drop an index', () => {
      const found = this.schema.findIndex(name);
      if (found === undefined) throw unknownIndex(name, this.schema.entries());
      dropIndex(this, found);
    });
  }

  /** {@link load}, driven through at once. */
  loadSync(definition: TableDef, batches: Iterable<LoadBatch>, options: LoadOptions = {}): number {
    return runSync(this.loadSteps(definition, batches, options));
  }

  /**
   * Fills an empty table from column vectors, and gives the number of rows. Frozen rows go to files made in this
   * transaction: a table that was there before gets new ones, which take the place of the old at commit, as PostgreSQL's
   * TRUNCATE and COPY FREEZE in one transaction do. While it goes on, the transaction may read, and nothing else.
   * With `freeze: false` rows are added to what is there.
   * @throws StorageError 55000 when rows are to be frozen and the table has some, 40001 when rows have come or gone since a
   *   repeatable-read snapshot, 55006 when somebody else uses the table; 54000 when a row fits no page: the transaction has
   *   failed then.
   */
  load(definition: TableDef, batches: Iterable<LoadBatch>, options: LoadOptions & RunOptions = {}): Promise<number> {
    return run(this.loadSteps(definition, batches, options), options);
  }

  /** @internal */
  *loadSteps(definition: TableDef, batches: Iterable<LoadBatch>, options: LoadOptions): Steps<number> {
    checkLoadOptions(options);
    return yield* this.longStatement('load', () => new TableLoad(this, this.entryOf(definition), options, batches));
  }

  /** A statement in steps, between which the transaction may read. */
  private *longStatement<Result>(what: string, begin: () => LongWork<Result>): Steps<Result> {
    this.enterWriting(what);
    this.fixSnapshot();
    const before = this.changes;
    try {
      const work = begin();
      this.work = work;
      return yield* work.run();
    } catch (error) {
      this.failedBy(error, before);
      throw error;
    } finally {
      if (this.work?.isWhole === false) this.failedBy(interrupted(this.work.what), before); // stopped between two steps
      this.work = undefined;
      this.endStatement();
    }
  }

  /** Begins a savepoint, inside those that are open; gives its level, 1 for the outermost. */
  savepoint(): number;
  /** Runs `fn` in a savepoint: released when it returns, rolled back when it throws. */
  savepoint<Result>(fn: () => Result): Result;
  savepoint<Result>(fn?: () => Result): Result | number {
    this.enter();
    this.refuseWhileBusy('begin a savepoint');
    const level = this.inner.savepoint();
    if (fn === undefined) return level;
    try {
      const result = fn();
      refusePromise('savepoint', result);
      this.releaseSavepoint(level);
      return result;
    } catch (error) {
      if (this.isOpen && this.inner.level >= level && !this.core.hasStopped) {
        this.rollbackTo(level);
        this.releaseSavepoint(level);
      }
      throw error;
    }
  }

  /** Ends a savepoint and those inside it, keeping what was done. By default the innermost. */
  releaseSavepoint(level: number = this.inner.level): void {
    this.enter();
    this.refuseWhileBusy('release a savepoint');
    this.checkLevel(level);
    this.inner.releaseSavepoint(level);
    this.core.savepointReleased(this, level);
    this.schema.release(level);
  }

  /** Takes back what was done since a savepoint; it stays open, as in PostgreSQL. By default the innermost. */
  rollbackTo(level: number = this.inner.level): void {
    this.refuseWhenEnded();
    this.checkLevel(level);
    this.refuseWhileBusy('roll back to a savepoint');
    this.core.closeScansOf(this, 'its savepoint was rolled back', level);
    this.inner.rollbackTo(level);
    this.schema.rollbackTo(level);
    this.core.locks.rollbackTo(this, level);
  }

  /**
   * Ends the transaction, its effects kept and, unless `synchronousCommit` is off, on the disk.
   * @throws StorageError 25P02 when a statement has failed: it is rolled back then; 53100 when the disk has no room for
   *   the commit record: the same; 58030 when the disk failed: only opening again tells whether it was committed.
   */
  commit(): void {
    this.prepareCommit();
    try {
      this.inner.commit();
      this.schema.commit(this.core.files);
    } finally {
      this.finish();
    }
    this.core.tick();
  }

  /** {@link commit}, which joins with others in one sync off the main thread. Others see its effects once it resolves. */
  async commitAsync(): Promise<void> {
    this.prepareCommit();
    const { committing } = this.core;
    try {
      const ended = this.inner.commitAsync();
      committing.set(this, ended);
      await ended;
      this.schema.commit(this.core.files);
    } finally {
      committing.delete(this);
      this.finish();
    }
    this.core.tick();
  }

  /** Ends the transaction and takes everything back. Again, and after a commit, is fine. */
  rollback(): void {
    if (!this.isOpen) return;
    this.work?.undo();
    this.core.closeScansOf(this, 'its transaction has ended');
    try {
      this.inner.abort();
    } finally {
      this.finish();
    }
    this.core.tick();
  }

  /** @internal The database is being closed. */
  rollbackToClose(): void {
    if (!this.isOpen) return;
    this.wasClosed = true;
    this.rollback();
  }

  /** @internal @throws StorageError 57P01 when it was rolled back because the database was closed. */
  refuseWhenClosed(): void {
    if (this.wasClosed) throw closedUnder(this.core.parts.directory);
  }

  /** Rolls back, unless it has ended. */
  [Symbol.dispose](): void {
    this.rollback();
  }

  /** @internal Finds what a definition names, as this transaction sees it, and refuses one that is not the table's own. */
  entryOf(definition: TableDef): CatalogEntry {
    const entry = this.entryNamed(nameOfTable(definition));
    refuseOtherColumns(entry, definition);
    const { core, filesKnown } = this;
    if (filesKnown !== undefined && core.files.isNewer(entry.relfilenode, filesKnown)) throw filesAreNewer(entry.name);
    core.locks.share(entry, this, this.inner.level);
    return entry;
  }

  private entryNamed(name: string): CatalogEntry {
    const entry = this.schema.find(name);
    if (entry === undefined) throw unknownTable(name, this.schema.entries());
    return entry;
  }

  /** Within {@link write}, at whose end it is over: what comes from the caller's functions until then may not change the table. */
  private written(definition: TableDef): CatalogEntry {
    const entry = this.entryOf(definition);
    this.writing.push(entry);
    return entry;
  }

  private read(definition: TableDef): CatalogEntry {
    this.enter();
    return this.entryOf(definition);
  }

  /**
   * An index that is being filled says nothing; and HOT chains that are older than an index are in it by their newest
   * version only. PostgreSQL: `indcheckxmin`.
   */
  private refuseNewerIndex({ indexes }: CatalogEntry, name: string | undefined): void {
    const { filesKnown, core, work } = this;
    if (filesKnown === undefined && work === undefined) return;
    for (const index of indexes) {
      const isMeant = name === undefined ? index.isPrimary : index.name === name;
      if (isMeant && work?.fills(index) === true) throw indexIsUnfilled(index.name, work.what);
      if (isMeant && filesKnown !== undefined && core.files.isNewer(index.relfilenode, filesKnown))
        throw indexIsNewer(index.name);
    }
  }

  private rowWithKey(entry: CatalogEntry, key: unknown, options: ByKeyOptions): Tid | undefined {
    this.refuseNewerIndex(entry, options.index);
    const snapshot = this.snapshot();
    try {
      return findRow(this.core, entry, key, options, snapshot);
    } finally {
      snapshot.release();
    }
  }

  private write<Result>(what: string, statement: () => Result): Result {
    this.enterWriting(what);
    this.fixSnapshot();
    const before = this.changes;
    const { writing } = this;
    const others = writing.length;
    this.statements++;
    try {
      return statement();
    } catch (error) {
      this.failedBy(error, before);
      throw error;
    } finally {
      this.statements--;
      if (writing.length > others) writing.pop();
      this.endStatement();
    }
  }

  /** The first statement of repeatable read fixes what all see, also when it looks at nothing itself. */
  private fixSnapshot(): void {
    if (this.inner.isolation === 'repeatable read') this.snapshot().release();
  }

  private snapshot(): Snapshot {
    const snapshot = this.inner.snapshot();
    if (this.inner.isolation === 'repeatable read') this.filesKnown ??= this.core.files.now;
    return snapshot;
  }

  private enter(): void {
    this.refuseWhenEnded();
    if (this.inner.state === 'failed') throw hasFailed(this.inner.failure);
  }

  private refuseWhenEnded(): void {
    this.refuseWhenClosed();
    this.core.check();
    if (!this.isOpen) throw ended();
  }

  private enterWriting(what: string): void {
    this.enter();
    this.core.writing(what);
    this.refuseDuringWork(what);
  }

  private refuseDuringWork(what: string): void {
    if (this.work === undefined) return;
    throw new StorageError('55006', `cannot ${what}: ${this.work.what} is going on in this transaction`);
  }

  /** What ends a part of a transaction, or all of it, would keep one half of a statement and lose the other. */
  private refuseWhileBusy(what: string): void {
    this.refuseDuringWork(what);
    if (this.statements === 0) return;
    throw new StorageError('55006', `cannot ${what}: a statement of this transaction is under way`, {
      detail: 'The rows or changes that it was given come from a function, and that has asked for it.',
    });
  }

  private failedBy(error: unknown, before: number): void {
    if (this.changes !== before && this.inner.state === 'open') this.inner.fail(error);
  }

  private endStatement(): void {
    if (this.inner.state === 'open') this.inner.nextCommand();
    this.core.parts.upkeep.tickByVolume();
  }

  private checkLevel(level: number): void {
    if (Number.isInteger(level) && level >= 1 && level <= this.inner.level) return;
    throw new StorageError('3B001', `there is no savepoint of level ${String(level)}`, {
      detail: `${this.inner.level} are open.`,
    });
  }

  private prepareCommit(): void {
    this.refuseWhenEnded();
    this.refuseWhileBusy('commit');
    const { state, failure } = this.inner;
    if (state === 'failed') {
      this.rollback();
      throw hadFailed(failure);
    }
    this.core.closeScansOf(this, 'its transaction has ended');
  }

  /** It has ended, one way or the other: nothing is held any more. */
  private finish(): void {
    this.core.locks.release(this);
    this.core.open.delete(this);
  }
}

function nameOf(table: string | TableDef): string {
  return typeof table === 'string' ? table : table.name;
}
