// A PostgreSQL data directory as a database: its tables scanned and counted as they lie, read only.
import { type BlockNumber, checkOptions, type OffsetNumber, StorageError } from '@blockwright/base';
import type { BufferStats } from '@blockwright/bufmgr';
import { PostgresDirectory, type PostgresIndex, type PostgresTable } from '@blockwright/catalog';
import type { PgControl } from '@blockwright/control';
import type { BlockSize } from '@blockwright/geometry';
import { type HeapCount, type HeapPageStats, heapCount, heapFetch, heapPageStats } from '@blockwright/heap';
import { BtreeIndex } from '@blockwright/nbtree';
import { type ColumnType, IndexTupleFormat, type KeyOrder, RowDecoder, TupleDescriptor } from '@blockwright/tuple';
import type { Vfs } from '@blockwright/vfs';
import { VisibilityMap } from '@blockwright/visibilitymap';
import { KeyLookup } from './get.ts';
import { indexCount, indexScanOf, noPrimaryKey, unknownIndex } from './index-queries.ts';
import type {
  ByKeyOptions,
  GetOptions,
  IndexCount,
  IndexCountOptions,
  IndexScanOptions,
  PrimaryKey,
} from './index-range.ts';
import type { QueryIndex } from './query-index.ts';
import { columnIndexes, heapScanOf, type Scan, type ScanHold, type ScanOptions } from './scan.ts';
import { parseMemorySize } from './sizes.ts';
import { type ColumnName, nameOfTable, type Row, type TableDef } from './table.ts';
import type { CountOptions, TableInfo } from './table-info.ts';
import type { Tid } from './transaction-options.ts';

export interface PostgresDatabaseOptions {
  /** Name of the database; by default the only one that is neither a template nor `postgres`, else `postgres`. */
  readonly database?: string;
  /** Bytes of the buffer pool, or text; 128MB by default. */
  readonly sharedBuffers?: number | string;
  readonly onWarning?: (message: string) => void;
  readonly vfs?: Vfs;
}

/** An index of a PostgreSQL table. */
export interface PostgresIndexInfo {
  readonly name: string;
  readonly table: string;
  readonly oid: number;
  /** `btree`, `hash`, … */
  readonly method: string;
  /** Key columns, in order; undefined for an expression. */
  readonly columns: readonly (KeyOrder & { readonly column: string | undefined })[];
  /** Columns that are only carried along. */
  readonly include: readonly string[];
  readonly isUnique: boolean;
  readonly isPrimary: boolean;
  /** Why it cannot be scanned here; undefined when it can. */
  readonly refusal: string | undefined;
  readonly blocks: number;
  readonly bytes: number;
  /** Whether it is of one of the catalogs. */
  readonly isCatalog: boolean;
  readonly path: string;
}

const KNOWN_OPTIONS = ['database', 'sharedBuffers', 'onWarning', 'vfs'];
const COUNT_OPTIONS = ['map', 'unknown', 'index'];
/** Catalogs and what initdb makes have smaller object ids. PostgreSQL: `FirstNormalObjectId`. */
const FIRST_NORMAL_OID = 0x4000; // 16384

/** A PostgreSQL database whose server is stopped. The same calls as on `Database`, without those that change anything. */
export class PostgresDatabase implements Disposable {
  private readonly postgres: PostgresDirectory;
  /** By the index's object id. */
  private readonly indexesInUse = new Map<number, QueryIndex>();
  private readonly lookups = new Map<number, KeyLookup>();

  private constructor(postgres: PostgresDirectory) {
    this.postgres = postgres;
  }

  /**
   * Opens a PostgreSQL data directory of version 13 to 18 whose server is stopped.
   * @throws StorageError 55006 when it is running; RangeError for a `sharedBuffers` that is no size; otherwise as
   *   `PostgresDirectory.open`.
   */
  static open(directory: string, options: PostgresDatabaseOptions = {}): PostgresDatabase {
    checkOptions('PostgresDatabase.open', options, KNOWN_OPTIONS);
    const { sharedBuffers = '128MB', ...rest } = options;
    const bytes = parseMemorySize('sharedBuffers', sharedBuffers);
    return new PostgresDatabase(PostgresDirectory.open(directory, { ...rest, sharedBuffers: bytes }));
  }

  get directory(): string {
    return this.postgres.directory;
  }

  /** Name of the database. */
  get name(): string {
    return this.postgres.database;
  }

  /** Major version of the PostgreSQL that wrote it. */
  get version(): number {
    return this.postgres.version;
  }

  get control(): PgControl {
    return this.postgres.control;
  }

  get blockSize(): BlockSize {
    return this.postgres.geometry.size;
  }

  get bufferStats(): BufferStats {
    return this.postgres.bufferStats;
  }

  /** Every table, catalogs included, by schema and name. */
  tables(): Omit<TableInfo, 'indexes'>[] {
    return this.postgres
      .relations()
      .filter(({ kind }) => kind === 'r' || kind === 'm')
      .map((relation) => {
        const handle = this.postgres.relation(relation);
        const blocks = handle.main.exists() ? handle.blockCount() : 0;
        return {
          name: relation.schema === 'public' ? relation.name : `${relation.schema}.${relation.name}`,
          oid: relation.oid,
          columns: this.postgres.table(`${relation.schema}.${relation.name}`).descriptor.liveColumns().length,
          blocks,
          bytes: blocks * this.blockSize,
          isCatalog: relation.oid < FIRST_NORMAL_OID,
          path: this.postgres.path(relation),
        };
      });
  }

  /**
   * The indexes of a table, those too that cannot be scanned here.
   * @throws StorageError 42P01 when there is no such table.
   */
  indexes(table: string | TableDef): PostgresIndexInfo[] {
    const of = this.postgres.table(typeof table === 'string' ? table : table.name);
    return this.postgres.indexesOf(of).map((index) => this.indexInfo(of, index));
  }

  /**
   * The definition of a table, by `name` or `schema.name`.
   * @throws StorageError 42P01 when there is none.
   */
  table(name: string): TableDef {
    const table = this.postgres.table(name);
    const columns: Record<string, ColumnType<unknown>> = {};
    for (const { name: column, type, isDropped } of table.descriptor.columns) if (!isDropped) columns[column] = type;
    return { name, columns, descriptor: table.descriptor };
  }

  /**
   * Scans a table's visible rows, or with `index` those of a range of it, in its order.
   * @throws StorageError 0A000 for a column whose type is not read, and for an index that is not, saying why; 42704 for one
   *   that there is not.
   */
  scan<Table extends TableDef, Name extends ColumnName<Table>>(
    definition: Table,
    options: ScanOptions<Name> | IndexScanOptions<Table, Name>,
  ): Scan<Table, Name> {
    const table = this.postgres.table(nameOfTable(definition));
    for (const column of options.columns ?? []) refuseUnreadable(table, column);
    const fetchToast = this.postgres.toastReader(table);
    const { snapshot } = this.postgres;
    const hold: ScanHold = { snapshot, stopped: undefined, release: () => {} };
    if (options.index !== undefined) {
      return indexScanOf(this.indexOf(table, options.index), { ...options, fetchToast }, hold);
    }
    return heapScanOf(this.postgres.relation(table), table.descriptor, { ...options, fetchToast }, hold);
  }

  /**
   * The row with this key, of the primary key's columns or those of `index`, which must be unique; undefined when there is
   * none.
   * @throws TypeError or RangeError for what is no key of the index; StorageError as {@link scan}.
   */
  get<Table extends TableDef, Name extends ColumnName<Table> = ColumnName<Table>>(
    definition: Table,
    key: PrimaryKey<Table>,
    options: GetOptions<Name> = {},
  ): Pick<Row<Table>, Name> | undefined {
    checkOptions('get', options, ['index', 'columns']);
    const table = this.postgres.table(nameOfTable(definition));
    for (const column of options.columns ?? table.unreadable.keys()) refuseUnreadable(table, column);
    const { snapshot } = this.postgres;
    const lookup = this.lookupOf(table, options.index);
    if (options.columns === undefined) return lookup.get(key, snapshot) as Row<Table> | undefined;
    const columns = columnIndexes(table.name, table.descriptor, options.columns);
    const fetchToast = this.postgres.toastReader(table);
    const decoder = RowDecoder.for(table.descriptor, columns, { fetchToast });
    return lookup.get(key, snapshot, decoder) as Pick<Row<Table>, Name> | undefined;
  }

  /** The TID of the row with this key, as {@link get} finds it. */
  find<Table extends TableDef>(definition: Table, key: PrimaryKey<Table>, options: ByKeyOptions = {}): Tid | undefined {
    checkOptions('find', options, ['index']);
    const lookup = this.lookupOf(this.postgres.table(nameOfTable(definition)), options.index);
    return lookup.find(key, this.postgres.snapshot) ? { block: lookup.block, offset: lookup.offset } : undefined;
  }

  /**
   * The row at a TID (PostgreSQL's `ctid`), or undefined where no visible row stands.
   * @throws StorageError 0A000 for a table with a column whose type is not read.
   */
  fetch<Table extends TableDef>(definition: Table, block: BlockNumber, offset: OffsetNumber): Row<Table> | undefined {
    const table = this.postgres.table(nameOfTable(definition));
    for (const column of table.unreadable.keys()) refuseUnreadable(table, column);
    const decoder = RowDecoder.for(table.descriptor, undefined, { fetchToast: this.postgres.toastReader(table) });
    const { snapshot } = this.postgres;
    return heapFetch(this.postgres.relation(table), decoder, block, offset, { snapshot }) as Row<Table> | undefined;
  }

  /** Counts the rows of a range of an index, without the table where the visibility map allows it. */
  count<Table extends TableDef>(definition: Table, options: IndexCountOptions<Table>): IndexCount;
  /** Counts a table's visible rows; with `map: false`, without asking the visibility map. */
  count(definition: TableDef, options?: CountOptions): HeapCount;
  count(definition: TableDef, options: CountOptions | IndexCountOptions<TableDef> = {}): HeapCount | IndexCount {
    if (options.index !== undefined) {
      const index = this.indexOf(this.postgres.table(nameOfTable(definition)), options.index);
      return indexCount(index, options, this.postgres.snapshot);
    }
    checkOptions('a count without an index', options, COUNT_OPTIONS);
    const { pool, vm, relation } = this.parts(definition);
    const map = options.map === false ? undefined : new VisibilityMap({ pool, fork: vm });
    return heapCount(relation, { map, snapshot: this.postgres.snapshot, unknown: options.unknown });
  }

  /** How full a table's pages are. */
  pageStats(definition: TableDef): HeapPageStats {
    return heapPageStats(this.parts(definition).relation);
  }

  /** Closes every file; again is fine. */
  close(): void {
    this.postgres.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  private indexInfo(table: PostgresTable, index: PostgresIndex): PostgresIndexInfo {
    const { name, oid, method, isUnique, isPrimary, refusal } = index;
    const nameOf = (column: number): string | undefined => table.descriptor.columns[column]?.name;
    const { main } = this.postgres.relation(index);
    const blocks = main.exists() ? main.blockCount() : 0;
    return {
      name,
      table: table.name,
      oid,
      method,
      columns: index.keys.map((order, i) => ({ column: nameOf(index.columns[i]), ...order })),
      include: index.columns.slice(index.keys.length).map((column) => String(nameOf(column))),
      isUnique,
      isPrimary,
      refusal,
      blocks,
      bytes: blocks * this.blockSize,
      isCatalog: oid < FIRST_NORMAL_OID,
      path: this.postgres.path(index),
    };
  }

  private indexOf(table: PostgresTable, name: string): QueryIndex {
    const indexes = this.postgres.indexesOf(table);
    const index = indexes.find((one) => one.name === name);
    if (index !== undefined) return this.open(table, index);
    const names = indexes.map((one) => one.name);
    throw unknownIndex(table.name, name, names);
  }

  private lookupOf(table: PostgresTable, name: string | undefined): KeyLookup {
    const index = name === undefined ? this.primaryKeyOf(table) : this.indexOf(table, name);
    let lookup = this.lookups.get(index.oid);
    if (lookup === undefined) {
      lookup = new KeyLookup(index, this.postgres.toastReader(table));
      this.lookups.set(index.oid, lookup);
    }
    return lookup;
  }

  private primaryKeyOf(table: PostgresTable): QueryIndex {
    const indexes = this.postgres.indexesOf(table);
    const index = indexes.find(({ isPrimary }) => isPrimary);
    if (index !== undefined) return this.open(table, index);
    throw noPrimaryKey(
      table.name,
      indexes.filter(({ isUnique }) => isUnique).map((one) => one.name),
    );
  }

  private open(table: PostgresTable, index: PostgresIndex): QueryIndex {
    if (index.refusal !== undefined) {
      throw new StorageError('0A000', `index "${index.name}" of table "${table.name}" cannot be scanned here`, {
        detail: `That is so since ${index.refusal}.`,
        hint: 'Scan the table, or another index.',
      });
    }
    let open = this.indexesInUse.get(index.oid);
    if (open === undefined) {
      open = this.queryIndex(table, index);
      this.indexesInUse.set(index.oid, open);
    }
    return open;
  }

  private queryIndex(table: PostgresTable, index: PostgresIndex): QueryIndex {
    const { name, oid, columns, keys, isUnique, nullsNotDistinct } = index;
    const heap = this.postgres.relation(table);
    const { transactions } = this.postgres;
    const format = IndexTupleFormat.of(TupleDescriptor.of(columns.map((i) => table.descriptor.columns[i])), keys);
    const relation = this.postgres.relation(index);
    return {
      name,
      oid,
      table: table.name,
      btree: new BtreeIndex({ relation, format, isUnique, nullsNotDistinct, transactions }),
      isUnique,
      columns,
      heap,
      descriptor: table.descriptor,
      map: new VisibilityMap({ pool: heap.pool, fork: heap.vm }),
      transactions,
    };
  }

  private parts(definition: TableDef) {
    const relation = this.postgres.relation(this.postgres.table(nameOfTable(definition)));
    return { relation, pool: relation.pool, vm: relation.vm };
  }
}

function refuseUnreadable(table: PostgresTable, column: string): void {
  const typeOid = table.unreadable.get(column);
  if (typeOid !== undefined) {
    throw new StorageError(
      '0A000',
      `column "${column}" of table "${table.name}" has a type that is not read (object id ${typeOid})`,
      {
        hint: 'Choose other columns.',
      },
    );
  }
}
