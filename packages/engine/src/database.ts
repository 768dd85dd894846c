// The façade: a data directory, opened; its tables, created, filled and scanned.
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { Relation } from '@blockwright/access';
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
import { BufferPool, type BufferStats } from '@blockwright/bufmgr';
import { Catalog, type CatalogEntry, FIRST_NORMAL_OID } from '@blockwright/catalog';
import { type ControlFile, checkDataDirectory, readControlFile, writeControlFile } from '@blockwright/control';
import { BlockGeometry, type BlockSize } from '@blockwright/geometry';
import {
  BulkLoader,
  frozenEncoder,
  type HeapCount,
  HeapInserter,
  type HeapPageStats,
  heapCount,
  heapFetch,
  heapPageStats,
  hintedEncoder,
  type UnknownPolicy,
} from '@blockwright/heap';
import { StorageManager } from '@blockwright/smgr';
import { type ColumnType, RowDecoder, type TupleDescriptor, type Vector } from '@blockwright/tuple';
import { NodeVfs, type Vfs } from '@blockwright/vfs';
import { VisibilityMap } from '@blockwright/visibilitymap';
import { locatorOf } from './layout.ts';
import { DirectoryLock } from './lock.ts';
import { Scan, type ScanOptions } from './scan.ts';
import { parseMemorySize } from './sizes.ts';
import { type ColumnName, type ColumnTypes, type Row, type TableDef } from './table.ts';

export interface OpenOptions {
  /** Refuse every change; not one byte of the directory's files is written. */
  readonly readOnly?: boolean;
  /** Size of the buffer pool in bytes, or text such as `128MB`, the default. */
  readonly sharedBuffers?: number | string;
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

/** Column vectors of rows to load. */
export interface LoadBatch {
  readonly length: number;
  /** In the table's column order. */
  readonly columns: readonly Vector[];
}

export interface LoadOptions {
  /**
   * true, the default: rows are frozen and pages marked all-visible, as PostgreSQL's COPY FREEZE leaves them. false:
   * rows carry hint bits only, as an ordinary load leaves them after its first scan, and no page is marked.
   */
  readonly freeze?: boolean;
}

const KNOWN_OPTIONS = ['readOnly', 'sharedBuffers', 'onWarning', 'debugPoison', 'vfs'];
const DEFAULT_SHARED_BUFFERS = '128MB';
/** PostgreSQL: the least that `shared_buffers` can be. */
const LEAST_BUFFERS = 16;

interface DatabaseParts {
  readonly directory: string;
  readonly readOnly: boolean;
  readonly vfs: Vfs;
  readonly lock: DirectoryLock | undefined;
  readonly control: ControlFile;
  readonly buffers: number;
  readonly onWarning: ((message: string) => void) | undefined;
  readonly debugPoison: boolean;
}

/** An open data directory. One process has it at a time. */
export class Database implements Disposable {
  readonly directory: string;
  readonly readOnly: boolean;
  readonly geometry: BlockGeometry;
  private readonly vfs: Vfs;
  private readonly lock: DirectoryLock | undefined;
  private readonly storage: StorageManager;
  private readonly pool: BufferPool;
  private readonly catalog: Catalog;
  private readonly relations = new Map<Oid, Relation>();
  private readonly maps = new Map<Oid, VisibilityMap>();
  private readonly inserters = new Map<Oid, HeapInserter>();
  private control: ControlFile;
  private closed = false;

  private constructor(parts: DatabaseParts) {
    const { directory, readOnly, vfs, control, onWarning } = parts;
    this.directory = directory;
    this.readOnly = readOnly;
    this.vfs = vfs;
    this.lock = parts.lock;
    this.control = control;
    this.geometry = BlockGeometry.of(control.blockSize);
    const { segmentBlocks } = control;
    this.storage = new StorageManager({ vfs, directory, geometry: this.geometry, segmentBlocks, readOnly });
    this.pool = new BufferPool({
      geometry: this.geometry,
      buffers: parts.buffers,
      verifyChecksums: control.dataChecksums,
      writeChecksums: control.dataChecksums,
      onWarning,
      debugPoison: parts.debugPoison,
    });
    this.catalog = Catalog.read((relfilenode, name) => this.relation(relfilenode, name));
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
    try {
      if (readOnly) DirectoryLock.refuseWhenHeld(vfs, path);
      const control = readControlFile(vfs, path);
      refuseUnlessShutDown(path, control);
      const buffers = Math.max(sharedBytes / control.blockSize, LEAST_BUFFERS);
      const database = new Database({
        directory: path,
        readOnly,
        vfs,
        lock,
        control,
        buffers: Math.floor(buffers),
        onWarning,
        debugPoison,
      });
      if (!readOnly) database.writeControl({ state: 'in production' });
      return database;
    } catch (error) {
      lock?.release();
      throw error;
    }
  }

  /** Bytes of a block. */
  get blockSize(): BlockSize {
    return this.geometry.size;
  }

  /** What the buffer pool has done since the database was opened. */
  get bufferStats(): BufferStats {
    return this.pool.stats;
  }

  /** Every table, catalogs included, by name. */
  tables(): TableInfo[] {
    this.checkOpen();
    return this.catalog.entries().map((entry) => {
      const relation = this.relation(entry.relfilenode, entry.name);
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
    const relation = this.relation(oid, definition.name);
    relation.main.create();
    this.catalog.add(oid, definition.name, definition.descriptor);
  }

  /**
   * Inserts rows, and gives their number. A row that fails stops the call; the rows before it stay.
   * @throws StorageError 54000 when a row fits no page, 23502 for a null in a NOT NULL column; TypeError for a value of
   *   the wrong type, or a row with a column that the table has not.
   */
  insert<Table extends TableDef>(definition: Table, rows: Iterable<Row<Table>>): number {
    this.checkWritable('insert');
    const { entry, relation } = this.resolve(definition);
    const names = entry.descriptor.columns.map((column) => column.name);
    const inserter = this.inserter(entry, relation);
    let count = 0;
    for (const row of rows) {
      checkOptions(`a row of "${entry.name}"`, row, names);
      inserter.insert(names.map((name) => (row as Record<string, unknown>)[name]));
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
    this.checkWritable('load');
    const { entry, relation } = this.resolve(definition);
    const freeze = options.freeze ?? true;
    const encoder = (freeze ? frozenEncoder : hintedEncoder)(entry.descriptor, this.geometry);
    const map = this.map(entry);
    const loader = new BulkLoader(relation, encoder, map, { allVisible: freeze });
    let isWhole = false;
    try {
      for (const batch of batches) {
        loader.append(batch.columns, batch.length);
        yield { phase: `loading ${entry.name}`, done: loader.rows, total: 0, unit: 'rows' };
      }
      isWhole = true;
    } finally {
      try {
        loader.finish();
      } finally {
        // The table was empty before, and is again: a part of the rows is no state that anybody asked for.
        if (!isWhole) this.emptyTable(relation, map);
      }
    }
    return loader.rows;
  }

  private emptyTable(relation: Relation, map: VisibilityMap): void {
    map.truncate(0);
    this.pool.dropFork(relation.main);
    relation.main.truncate(0);
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
    const { entry, relation } = this.resolve(definition);
    return new Scan(relation, entry.descriptor, options);
  }

  /** Counts a table's visible rows; with `map: false`, without asking the visibility map. */
  count(definition: TableDef, options: { map?: boolean; unknown?: UnknownPolicy } = {}): HeapCount {
    this.checkOpen();
    const { entry, relation } = this.resolve(definition);
    return heapCount(relation, { map: options.map === false ? undefined : this.map(entry), unknown: options.unknown });
  }

  /** How full a table's pages are. */
  pageStats(definition: TableDef): HeapPageStats {
    this.checkOpen();
    return heapPageStats(this.resolve(definition).relation);
  }

  /** The row at a TID, or undefined when no visible row stands there. */
  fetch<Table extends TableDef>(definition: Table, block: BlockNumber, offset: OffsetNumber): Row<Table> | undefined {
    this.checkOpen();
    const { entry, relation } = this.resolve(definition);
    const decoder = RowDecoder.for(
      entry.descriptor,
      entry.descriptor.columns.map((_, index) => index),
    );
    return heapFetch(relation, decoder, block, offset) as Row<Table> | undefined;
  }

  /** Writes every changed page and syncs every file. */
  checkpoint(): void {
    this.checkWritable('checkpoint');
    this.pool.flushAll();
    this.storage.syncPending();
  }

  /**
   * Writes and syncs everything, and gives the directory back. Again is fine.
   * @throws StorageError when writing fails: the directory then counts as not shut down cleanly.
   */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    try {
      if (!this.readOnly) {
        this.pool.flushAll();
        this.storage.syncPending();
        this.writeControl({ state: 'shut down' });
      }
      this.pool.close();
    } finally {
      this.storage.close();
      this.lock?.release();
    }
  }

  [Symbol.dispose](): void {
    this.close();
  }

  private relation(relfilenode: Oid, name: string): Relation {
    let relation = this.relations.get(relfilenode);
    if (relation === undefined) {
      relation = new Relation({ pool: this.pool, storage: this.storage.open(locatorOf(relfilenode)), name });
      this.relations.set(relfilenode, relation);
    }
    return relation;
  }

  private map(entry: CatalogEntry): VisibilityMap {
    let map = this.maps.get(entry.relfilenode);
    if (map === undefined) {
      map = new VisibilityMap({ pool: this.pool, fork: this.relation(entry.relfilenode, entry.name).vm });
      this.maps.set(entry.relfilenode, map);
    }
    return map;
  }

  /** The inserter of a table, kept so that the next rows go where the last ones went. */
  private inserter(entry: CatalogEntry, relation: Relation): HeapInserter {
    let inserter = this.inserters.get(entry.relfilenode);
    if (inserter === undefined) {
      inserter = new HeapInserter(relation, frozenEncoder(entry.descriptor, this.geometry), this.map(entry));
      this.inserters.set(entry.relfilenode, inserter);
    }
    return inserter;
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
  private resolve(definition: TableDef): { entry: CatalogEntry; relation: Relation } {
    const entry = this.entry(definition.name);
    refuseOtherColumns(entry, definition);
    return { entry, relation: this.relation(entry.relfilenode, entry.name) };
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
  const columns: Record<string, ColumnType<unknown>> = {};
  for (const { name, type } of entry.descriptor.columns) columns[name] = type;
  return { name: entry.name, columns: columns as ColumnTypes, descriptor: entry.descriptor };
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // not of this file system: a simulated disk has no links
  }
}
