// The façade: a data directory, opened; its tables, created, filled and scanned.
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  type BlockNumber,
  checkOptions,
  nearestName,
  type OffsetNumber,
  type Oid,
  type RunOptions,
  run,
  runSync,
  type Steps,
  StorageError,
} from '@blockwright/base';
import type { BufferStats } from '@blockwright/bufmgr';
import { Catalog, type CatalogEntry, FIRST_NORMAL_OID } from '@blockwright/catalog';
import { type ControlFile, checkDataDirectory, readControlFile, writeControlFile } from '@blockwright/control';
import type { BlockGeometry, BlockSize } from '@blockwright/geometry';
import {
  type HeapCount,
  type HeapPageStats,
  heapCount,
  heapFetch,
  heapPageStats,
  type UnknownPolicy,
} from '@blockwright/heap';
import type { Compaction } from '@blockwright/page';
import { RowDecoder, type TupleDescriptor } from '@blockwright/tuple';
import { NodeVfs, type Vfs } from '@blockwright/vfs';
import { checkLoadOptions, inTable, type LoadBatch, type LoadOptions, TableLoad } from './load.ts';
import { DirectoryLock } from './lock.ts';
import { Relations } from './relations.ts';
import { Scan, type ScanOptions } from './scan.ts';
import { parseMemorySize } from './sizes.ts';
import { type ColumnName, type ColumnTypes, type Row, type TableDef } from './table.ts';
import type { DatabaseTransaction } from './transaction.ts';
import type { Changes, RunTransactionOptions, TransactionOptions } from './transaction-options.ts';

export interface OpenOptions {
  /** Refuse every change; not one byte of the directory's files is written. */
  readonly readOnly?: boolean;
  /** Size of the buffer pool in bytes, or text such as `128MB`, the default. */
  readonly sharedBuffers?: number | string;
  /** false: commits do not wait for the disk, unless a transaction asks otherwise. True by default. */
  readonly synchronousCommit?: boolean;
  /** How pages are compacted, here and in recovery; `adaptive` by default. */
  readonly compaction?: Compaction;
  /** false: no full-page images, so that a torn page is not healed. For measuring only; true by default. */
  readonly fullPageImages?: boolean;
  /** Milliseconds between checkpoints; 5 minutes by default. */
  readonly checkpointTimeoutMs?: number;
  /** Bytes of WAL after which a checkpoint is begun, or text; 1GB by default. */
  readonly maxWalBytes?: number | string;
  /** Bytes of the WAL's buffers, or text; by default a 32nd of the buffer pool, at most a segment. */
  readonly walBufferBytes?: number | string;
  /** Told what a server would write to its log: recovery's lines, checkpoints. */
  readonly onLog?: (line: string) => void;
  /** Measure in recovery what compaction, buffer look-up and file opening take: a few per cent slower. */
  readonly recoveryTiming?: boolean;
  /** Told of what is wrong and was passed over, such as a damaged map page. */
  readonly onWarning?: (message: string) => void;
  /** For tests: what is lent (pages, batches) reads as nonsense once it was given back. Slow. */
  readonly debugPoison?: boolean;
  /** The file system; node:fs by default. */
  readonly vfs?: Vfs;
}

/** A table of an open database, with its size. */
export interface TableInfo {
  readonly name: string;
  readonly oid: Oid;
  readonly columns: number;
  /** Blocks of the main fork. */
  readonly blocks: number;
  readonly bytes: number;
  /** Whether it is one of the catalogs. */
  readonly isCatalog: boolean;
  /** Path of the main fork's first file below the data directory. */
  readonly path: string;
}

export interface CountOptions {
  /** false: judge every tuple, without asking the visibility map. */
  readonly map?: boolean;
  /** What to do with tuples whose header does not say whether they are visible; `error` by default. */
  readonly unknown?: UnknownPolicy;
}

const KNOWN_OPTIONS = [
  'readOnly',
  'sharedBuffers',
  'synchronousCommit',
  'compaction',
  'fullPageImages',
  'checkpointTimeoutMs',
  'maxWalBytes',
  'walBufferBytes',
  'onLog',
  'recoveryTiming',
  'onWarning',
  'debugPoison',
  'vfs',
];
const DEFAULT_SHARED_BUFFERS = '128MB';

interface DatabaseParts {
  readonly directory: string;
  readonly readOnly: boolean;
  readonly vfs: Vfs;
  readonly lock: DirectoryLock | undefined;
  readonly control: ControlFile;
  readonly relations: Relations;
}

/** An open data directory. One process has it at a time. */
export class Database implements Disposable {
  readonly directory: string;
  readonly readOnly: boolean;
  readonly geometry: BlockGeometry;
  private readonly vfs: Vfs;
  private readonly lock: DirectoryLock | undefined;
  private readonly relations: Relations;
  private readonly catalog: Catalog;
  private readonly loads = new Map<Oid, TableLoad>();
  private control: ControlFile;
  private closed = false;

  private constructor(parts: DatabaseParts) {
    this.directory = parts.directory;
    this.readOnly = parts.readOnly;
    this.vfs = parts.vfs;
    this.lock = parts.lock;
    this.control = parts.control;
    this.relations = parts.relations;
    this.geometry = parts.relations.geometry;
    this.catalog = Catalog.read((relfilenode, name) => this.relations.handle(relfilenode, name));
  }

  /**
   * Opens a data directory.
   * @throws StorageError F0001 when another process has it open, 58P01 when it is none, 55000 when it was not shut down
   *   cleanly, XX001 when its control file is damaged; RangeError for a pool larger than the platform can hold.
   */
  static open(directory: string, options: OpenOptions = {}): Database {
    checkOptions('Database.open', options, KNOWN_OPTIONS);
    const {
      readOnly = false,
      sharedBuffers = DEFAULT_SHARED_BUFFERS,
      vfs = new NodeVfs(),
      onWarning,
      debugPoison = false,
    } = options;
    const path = resolve(directory);
    checkDataDirectory(vfs, path);
    const sharedBytes = parseMemorySize('sharedBuffers', sharedBuffers);
    const lock = readOnly ? undefined : DirectoryLock.take(vfs, path, realPath(path));
    let relations: Relations | undefined;
    try {
      if (readOnly) DirectoryLock.refuseWhenHeld(vfs, path);
      const control = readControlFile(vfs, path);
      refuseUnlessShutDown(path, control);
      relations = new Relations({ vfs, directory: path, control, readOnly, sharedBytes, onWarning, debugPoison });
      const database = new Database({ directory: path, readOnly, vfs, lock, control, relations });
      if (!readOnly) database.writeControl({ state: 'in production' });
      return database;
    } catch (error) {
      relations?.abandon();
      lock?.release();
      throw error;
    }
  }

  /** {@link open} in steps: recovery leaves room for signals, and says how far it is. */
  static async openAsync(directory: string, options: OpenOptions & RunOptions = {}): Promise<Database> {
    const { signal, onProgress, ...rest } = options;
    signal?.throwIfAborted();
    void onProgress;
    return Database.open(directory, rest);
  }

  /**
   * Begins a transaction, which must be committed or rolled back.
   * @throws TypeError for an unknown option.
   */
  begin(_options: TransactionOptions = {}): DatabaseTransaction {
    throw new StorageError('0A000', 'transactions are not there yet');
  }

  /**
   * Runs `fn` in a transaction, and gives what it returns: committed when it returns, rolled back when it throws. What
   * `fn` gets is of no use afterwards.
   */
  transaction<Result>(fn: (tx: DatabaseTransaction) => Result, _options: RunTransactionOptions = {}): Result {
    return fn(this.begin());
  }

  /**
   * {@link transaction} whose commit joins a group: one sync off the main thread serves all that wait. `fn` may be
   * asynchronous; its effects are visible to others only after the sync.
   */
  async transactionAsync<Result>(
    fn: (tx: DatabaseTransaction) => Result | Promise<Result>,
    _options: RunTransactionOptions = {},
  ): Promise<Result> {
    return await fn(this.begin());
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

  /** {@link DatabaseTransaction.dropTable} in a transaction of its own. */
  dropTable(table: string | TableDef): void {
    this.transaction((tx) => tx.dropTable(table));
  }

  /** Bytes of a block. */
  get blockSize(): BlockSize {
    return this.geometry.size;
  }

  /** What the buffer pool has done since the database was opened. */
  get bufferStats(): BufferStats {
    return this.relations.pool.stats;
  }

  /** Every table, catalogs included, by name. */
  tables(): TableInfo[] {
    this.checkOpen();
    return this.catalog.entries().map((entry) => {
      const relation = this.relations.handleOf(entry);
      const blocks = relation.blockCount();
      return {
        name: entry.name,
        oid: entry.oid,
        columns: entry.descriptor.columns.length,
        blocks,
        bytes: blocks * this.blockSize,
        isCatalog: entry.oid < FIRST_NORMAL_OID,
        path: relation.storage.name,
      };
    });
  }

  /**
   * The definition of a table that the catalogs know.
   * @throws StorageError 42P01 when there is none of that name.
   */
  table(name: string): TableDef {
    this.checkOpen();
    return tableOf(this.entry(name));
  }

  /**
   * Creates an empty table.
   * @throws StorageError 42P07 when the name is taken, 25006 when the database is read-only.
   */
  createTable(definition: TableDef): void {
    this.checkWritable('create a table');
    if (this.catalog.find(definition.name) !== undefined) {
      throw new StorageError('42P07', `table "${definition.name}" already exists`);
    }
    const oid = this.control.nextOid;
    this.writeControl({ nextOid: oid + 1 });
    try {
      this.relations.handle(oid, definition.name).main.create();
      this.catalog.add(oid, definition.name, definition.descriptor);
    } catch (error) {
      // Rows of bw_attribute may stay behind: their object id is not given again, so nothing ever asks for them.
      this.relations.unlink(oid);
      throw error;
    }
  }

  /**
   * Inserts rows, and gives their number. A row that fails stops the call; the rows before it stay.
   * @throws StorageError 54000 when a row fits no page, 23502 for a null in a NOT NULL column; TypeError for a value of
   *   the wrong type, or a row with a column that the table has not.
   */
  insert<Table extends TableDef>(definition: Table, rows: Iterable<Row<Table>>): number {
    this.checkWritable('insert');
    const entry = this.resolve(definition);
    this.refuseWhenLoading(entry);
    const names = entry.descriptor.columns.map((column) => column.name);
    const inserter = this.relations.inserterOf(entry);
    let count = 0;
    for (const row of rows) {
      checkOptions(`a row of "${entry.name}"`, row, names);
      try {
        inserter.insert(names.map((name) => (row as Record<string, unknown>)[name]));
      } catch (error) {
        throw inTable(error, entry.name);
      }
      count++;
    }
    return count;
  }

  /** {@link load}, driven through at once. */
  loadSync(definition: TableDef, batches: Iterable<LoadBatch>, options: LoadOptions = {}): number {
    return runSync(this.loadSteps(definition, batches, options));
  }

  /**
   * Fills an empty table from column vectors, and gives the number of rows. A load that fails or is stopped leaves the
   * table empty.
   * @throws StorageError 55000 when the table has rows, 54000 when a row fits no page.
   */
  load(definition: TableDef, batches: Iterable<LoadBatch>, options: LoadOptions & RunOptions = {}): Promise<number> {
    return run(this.loadSteps(definition, batches, options), options);
  }

  private *loadSteps(definition: TableDef, batches: Iterable<LoadBatch>, options: LoadOptions): Steps<number> {
    checkLoadOptions(options);
    this.checkWritable('load');
    const entry = this.resolve(definition);
    this.refuseWhenLoading(entry);
    const load = new TableLoad(this.relations, entry, options);
    this.loads.set(entry.oid, load);
    try {
      return yield* load.run(batches);
    } finally {
      this.loads.delete(entry.oid);
    }
  }

  /**
   * Scans a table's visible rows: batches of typed vectors, or row objects through `rows()`.
   * @throws StorageError 42703 for an unknown column, naming the one that was probably meant.
   */
  scan<Table extends TableDef, Name extends ColumnName<Table>>(
    definition: Table,
    options: ScanOptions<Name>,
  ): Scan<Table, Name> {
    this.checkOpen();
    const entry = this.resolve(definition);
    return new Scan(this.relations.handleOf(entry), entry.descriptor, options);
  }

  /** Counts a table's visible rows; with `map: false`, without asking the visibility map. */
  count(definition: TableDef, options: CountOptions = {}): HeapCount {
    checkOptions('count', options, ['map', 'unknown']);
    this.checkOpen();
    const entry = this.resolve(definition);
    const map = options.map === false ? undefined : this.relations.mapOf(entry);
    return heapCount(this.relations.handleOf(entry), { map, unknown: options.unknown });
  }

  /** How full a table's pages are. */
  pageStats(definition: TableDef): HeapPageStats {
    this.checkOpen();
    return heapPageStats(this.relations.handleOf(this.resolve(definition)));
  }

  /** The row at a TID, or undefined when no visible row stands there. */
  fetch<Table extends TableDef>(definition: Table, block: BlockNumber, offset: OffsetNumber): Row<Table> | undefined {
    this.checkOpen();
    const entry = this.resolve(definition);
    const decoder = RowDecoder.for(entry.descriptor);
    return heapFetch(this.relations.handleOf(entry), decoder, block, offset) as Row<Table> | undefined;
  }

  /** Writes every changed page and syncs every file. */
  checkpoint(): void {
    this.checkWritable('checkpoint');
    this.relations.flush();
  }

  /**
   * Writes and syncs everything, and gives the directory back. A load that is going on is stopped, and its table left
   * empty. Again is fine.
   * @throws StorageError when writing fails, or a page is still pinned: the directory then counts as not shut down
   *   cleanly.
   */
  close(): void {
    if (this.closed) return;
    for (const load of this.loads.values()) load.undo();
    this.closed = true;
    try {
      this.relations.close();
      if (!this.readOnly) this.writeControl({ state: 'shut down' });
    } finally {
      this.lock?.release();
    }
  }

  [Symbol.dispose](): void {
    this.close();
  }

  private refuseWhenLoading(entry: CatalogEntry): void {
    if (this.loads.has(entry.oid)) throw new StorageError('55006', `table "${entry.name}" is being loaded`);
  }

  private entry(name: string): CatalogEntry {
    const entry = this.catalog.find(name);
    if (entry !== undefined) return entry;
    const nearest = nearestName(
      name,
      this.catalog.entries().map((known) => known.name),
    );
    throw new StorageError('42P01', `table "${name}" does not exist`, {
      hint: nearest === undefined ? undefined : `Perhaps "${nearest}" was meant.`,
    });
  }

  /** Finds what a definition names, and refuses one that is not the table's own. */
  private resolve(definition: TableDef): CatalogEntry {
    const entry = this.entry(definition.name);
    refuseOtherColumns(entry, definition);
    return entry;
  }

  private writeControl(change: Partial<ControlFile>): void {
    const control = { ...this.control, ...change };
    writeControlFile(this.vfs, this.directory, control);
    this.control = control;
  }

  private checkOpen(): void {
    if (this.closed) throw new StorageError('55000', `data directory "${this.directory}" is closed`);
  }

  private checkWritable(what: string): void {
    this.checkOpen();
    if (this.readOnly)
      throw new StorageError('25006', `cannot ${what}: data directory "${this.directory}" is open read-only`);
  }
}

function refuseUnlessShutDown(directory: string, control: ControlFile): void {
  if (control.state === 'shut down') return;
  throw new StorageError('55000', `data directory "${directory}" was not shut down cleanly`, {
    detail: `Its state is "${control.state}".`,
    hint: 'Recovery is not there yet: make a new directory with "blockwright initdb" and load it again.',
  });
}

function refuseOtherColumns(entry: CatalogEntry, definition: TableDef): void {
  const stored = columnsText(entry.descriptor);
  const declared = columnsText(definition.descriptor);
  if (stored === declared) return;
  throw new StorageError('55000', `table "${entry.name}" has other columns than its definition says`, {
    detail: `It has (${stored}), the definition (${declared}).`,
  });
}

function columnsText(descriptor: TupleDescriptor): string {
  return descriptor.columns
    .map(({ name, type }) => `${name} ${type.sqlName}${type.isNullable ? '' : ' not null'}`)
    .join(', ');
}

function tableOf(entry: CatalogEntry): TableDef {
  const columns: ColumnTypes = Object.fromEntries(entry.descriptor.columns.map(({ name, type }) => [name, type]));
  return { name: entry.name, columns, descriptor: entry.descriptor, fillfactor: 100, unlogged: false };
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // not of this file system: a simulated disk has no links
  }
}
