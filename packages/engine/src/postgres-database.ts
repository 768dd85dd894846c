// A PostgreSQL data directory as a database: its tables scanned and counted as they lie, read only.
import { type BlockNumber, checkOptions, type OffsetNumber, StorageError } from '@blockwright/base';
import type { BufferStats } from '@blockwright/bufmgr';
import { PostgresDirectory, type PostgresTable } from '@blockwright/catalog';
import type { PgControl } from '@blockwright/control';
import type { BlockSize } from '@blockwright/geometry';
import {
  type HeapCount,
  type HeapPageStats,
  heapCount,
  heapFetch,
  heapPageStats,
  type UnknownPolicy,
} from '@blockwright/heap';
import { type ColumnType, RowDecoder } from '@blockwright/tuple';
import type { Vfs } from '@blockwright/vfs';
import { VisibilityMap } from '@blockwright/visibilitymap';
import type { TableInfo } from './database.ts';
import { heapScanOf, type Scan, type ScanHold, type ScanOptions } from './scan.ts';
import { parseMemorySize } from './sizes.ts';
import type { ColumnName, Row, TableDef } from './table.ts';

export interface PostgresDatabaseOptions {
  /** Name of the database; by default the only one that is neither a template nor `postgres`, else `postgres`. */
  readonly database?: string;
  /** Bytes of the buffer pool, or text; 128MB by default. */
  readonly sharedBuffers?: number | string;
  readonly onWarning?: (message: string) => void;
  readonly vfs?: Vfs;
}

const KNOWN_OPTIONS = ['database', 'sharedBuffers', 'onWarning', 'vfs'];
const COUNT_OPTIONS = ['map', 'unknown'];
/** Catalogs and what initdb makes have smaller object ids. PostgreSQL: `FirstNormalObjectId`. */
const FIRST_NORMAL_OID = 0x4000; // 16384

/** A PostgreSQL database whose server is stopped. The same calls as on `Database`, without those that change anything. */
export class PostgresDatabase implements Disposable {
  private readonly postgres: PostgresDirectory;

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
   * Scans a table's visible rows.
   * @throws StorageError 0A000 for a column whose type is not read.
   */
  scan<Table extends TableDef, Name extends ColumnName<Table>>(
    definition: Table,
    options: ScanOptions<Name>,
  ): Scan<Table, Name> {
    const table = this.postgres.table(definition.name);
    for (const column of options.columns ?? []) refuseUnreadable(table, column);
    const relation = this.postgres.relation(table);
    const fetchToast = this.postgres.toastReader(table);
    const { snapshot } = this.postgres;
    const hold: ScanHold = { snapshot, stopped: undefined, release: () => {} };
    return heapScanOf(relation, table.descriptor, { ...options, fetchToast }, hold);
  }

  /**
   * The row at a TID (PostgreSQL's `ctid`), or undefined where no visible row stands.
   * @throws StorageError 0A000 for a table with a column whose type is not read.
   */
  fetch<Table extends TableDef>(definition: Table, block: BlockNumber, offset: OffsetNumber): Row<Table> | undefined {
    const table = this.postgres.table(definition.name);
    for (const column of table.unreadable.keys()) refuseUnreadable(table, column);
    const decoder = RowDecoder.for(table.descriptor, undefined, { fetchToast: this.postgres.toastReader(table) });
    const { snapshot } = this.postgres;
    return heapFetch(this.postgres.relation(table), decoder, block, offset, { snapshot }) as Row<Table> | undefined;
  }

  /** Counts a table's visible rows; with `map: false`, without asking the visibility map. */
  count(definition: TableDef, options: { map?: boolean; unknown?: UnknownPolicy } = {}): HeapCount {
    checkOptions('count', options, COUNT_OPTIONS);
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

  private parts(definition: TableDef) {
    const relation = this.postgres.relation(this.postgres.table(definition.name));
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
