// A PostgreSQL data directory, read only: its databases, its tables, and their columns, from PostgreSQL's own catalogs.
// The server must be stopped. Catalog rows whose hint bits do not say whether they are visible are left out, and said.
import { Relation } from '@blockwright/access';
import {
  checkOptions,
  DEFAULT_TABLESPACE,
  GLOBAL_TABLESPACE,
  isStorageError,
  nearestName,
  type Oid,
  type RelationLocator,
  StorageError,
  type Xid,
} from '@blockwright/base';
import { BufferPool, type BufferStats } from '@blockwright/bufmgr';
import { type PgControl, readPgControlFile, readPgVersion } from '@blockwright/control';
import { BlockGeometry } from '@blockwright/geometry';
import { HeapScan } from '@blockwright/heap';
import { StorageManager } from '@blockwright/smgr';
import {
  type AttAlign,
  type ColumnDefinition,
  columnTypeOf,
  droppedColumn,
  type FetchToast,
  opaque,
  TupleDescriptor,
  vectorValue,
} from '@blockwright/tuple';
import { NodeVfs, type Vfs } from '@blockwright/vfs';
import { readFilenodeMap } from './filenode-map.ts';
import { type PostgresLayouts, postgresLayouts } from './postgres-layouts.ts';
import { toastReader } from './toast.ts';

export interface PostgresOptions {
  /** Name of the database; by default the only one that is neither a template nor `postgres`, else `postgres`. */
  readonly database?: string;
  /** Blocks of the buffer pool; 4096 by default. */
  readonly buffers?: number;
  readonly onWarning?: (message: string) => void;
  readonly vfs?: Vfs;
}

/** A relation as pg_class lists it. */
export interface PostgresRelation {
  readonly oid: Oid;
  readonly schema: string;
  readonly name: string;
  /** `r` table, `i` index, `t` TOAST table, `m` materialized view, `S` sequence, … */
  readonly kind: string;
  readonly locator: RelationLocator;
  /** Object id of its TOAST table, 0 for none. */
  readonly toastOid: Oid;
  /** Number of columns, dropped ones included. */
  readonly columnCount: number;
  /** No older transaction id is left in it, but in frozen tuples. PostgreSQL: `relfrozenxid`; 0 for what has no tuples. */
  readonly frozenXid: Xid;
  /** PostgreSQL: `relminmxid`. */
  readonly minMultiXact: number;
}

/** A table with its columns. */
export interface PostgresTable extends PostgresRelation {
  readonly descriptor: TupleDescriptor;
  /** Columns whose type is not read here: name and type's object id. */
  readonly unreadable: ReadonlyMap<string, Oid>;
  /** Columns that were added with a default: rows older than them take a value from the catalogs, which is not read. */
  readonly withMissingValue: ReadonlySet<string>;
}

type CatalogRow = Record<string, unknown>;

const KNOWN_OPTIONS = ['database', 'buffers', 'onWarning', 'vfs'];
const PG_CLASS: Oid = 1259;
const PG_ATTRIBUTE: Oid = 1249;
const PG_NAMESPACE: Oid = 2615;
const PG_DATABASE: Oid = 1262;
const DEFAULT_BUFFERS = 1 << 12;
/** PostgreSQL: `PG_UTF8`, pg_wchar.h. */
const ENCODING_UTF8 = 6;

interface DatabaseRow {
  readonly name: string;
  readonly oid: Oid;
  readonly isUtf8: boolean;
}

/** An open PostgreSQL data directory. Not one byte of it is written. */
export class PostgresDirectory implements Disposable {
  readonly directory: string;
  readonly version: number;
  readonly control: PgControl;
  readonly geometry: BlockGeometry;
  /** The database that is open. */
  readonly database: string;
  /** Whether the database's text is UTF-8, the only encoding that is read. */
  readonly isUtf8: boolean;
  private readonly databaseOid: Oid;
  private readonly layouts: PostgresLayouts;
  private readonly vfs: Vfs;
  private readonly onWarning: ((message: string) => void) | undefined;
  private readonly storage: StorageManager;
  private readonly pool: BufferPool;
  private readonly handles = new Map<string, Relation>();
  private listed: PostgresRelation[] | undefined = undefined;
  private columnRows: Map<Oid, CatalogRow[]> | undefined = undefined;
  private closed = false;

  private constructor(directory: string, options: PostgresOptions, choose = true) {
    this.directory = directory;
    this.vfs = options.vfs ?? new NodeVfs();
    this.onWarning = options.onWarning;
    this.version = readPgVersion(this.vfs, directory);
    this.control = readPgControlFile(this.vfs, directory);
    this.refuseRunningServer();
    this.geometry = BlockGeometry.of(this.control.blockSize);
    this.layouts = postgresLayouts(this.version);
    const { segmentBlocks } = this.control;
    this.storage = new StorageManager({
      vfs: this.vfs,
      directory,
      geometry: this.geometry,
      segmentBlocks,
      readOnly: true,
    });
    this.pool = new BufferPool({
      geometry: this.geometry,
      buffers: options.buffers ?? DEFAULT_BUFFERS,
      verifyChecksums: this.control.dataChecksumVersion !== 0,
      onWarning: options.onWarning,
    });
    try {
      const row = choose ? this.chooseDatabase(options.database) : { name: '', oid: 0, isUtf8: false };
      this.database = row.name;
      this.databaseOid = row.oid;
      this.isUtf8 = row.isUtf8;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /**
   * Opens a PostgreSQL data directory of version 13 to 18.
   * @throws StorageError 58P01, 0A000 or XX001 when it is none, of another version, or its control file is damaged;
   *   42704 when it has no such database, or several and none was named.
   */
  static open(directory: string, options: PostgresOptions = {}): PostgresDirectory {
    checkOptions('PostgresDirectory.open', options, KNOWN_OPTIONS);
    return new PostgresDirectory(directory, options);
  }

  /** Names of the databases whose files are there. */
  static databases(directory: string, options: Pick<PostgresOptions, 'vfs'> = {}): string[] {
    using postgres = new PostgresDirectory(directory, options, false);
    return postgres
      .allDatabases()
      .filter(({ oid }) => postgres.vfs.exists(`${directory}/base/${oid}`))
      .map(({ name }) => name);
  }

  /** What the buffer pool has done so far. */
  get bufferStats(): BufferStats {
    return this.pool.stats;
  }

  /** Every relation of the database, by schema and name. */
  relations(): readonly PostgresRelation[] {
    this.listed ??= this.readRelations();
    return this.listed;
  }

  /**
   * A table or materialized view, by `name`, `schema.name`, or a TOAST table by its full name, with its columns.
   * @throws StorageError 42P01 when there is none, with the nearest name.
   */
  table(name: string): PostgresTable {
    const heaps = this.relations().filter(({ kind }) => 'rmt'.includes(kind));
    const found =
      heaps.find((relation) => `${relation.schema}.${relation.name}` === name) ??
      heaps.find((relation) => relation.schema === 'public' && relation.name === name) ??
      heaps.find((relation) => relation.name === name);
    if (found === undefined) {
      const nearest = nearestName(
        name,
        heaps.map((relation) => relation.name),
      );
      throw new StorageError('42P01', `table "${name}" does not exist in database "${this.database}"`, {
        hint: nearest === undefined ? undefined : `Perhaps "${nearest}" was meant.`,
      });
    }
    return { ...found, ...this.columnsOf(found) };
  }

  /** The handle of a relation. */
  relation(of: PostgresRelation): Relation {
    const key = `${of.locator.tablespace}/${of.locator.database}/${of.locator.relfilenode}`;
    let handle = this.handles.get(key);
    if (handle === undefined) {
      handle = new Relation({
        pool: this.pool,
        storage: this.storage.open(of.locator),
        name: `${of.schema}.${of.name}`,
      });
      this.handles.set(key, handle);
    }
    return handle;
  }

  /** Fetches values that a table stores out of line; undefined for a table without a TOAST table. */
  toastReader(of: PostgresRelation): FetchToast | undefined {
    const toast = this.relations().find(({ oid }) => oid === of.toastOid && of.toastOid !== 0);
    return toast === undefined ? undefined : toastReader(this.relation(toast));
  }

  /** Closes every file; again is fine. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    try {
      this.pool.close();
    } finally {
      this.storage.close();
    }
  }

  [Symbol.dispose](): void {
    this.close();
  }

  private refuseRunningServer(): void {
    if (this.vfs.exists(`${this.directory}/postmaster.pid`)) {
      throw new StorageError('55006', `a PostgreSQL server may be running on "${this.directory}"`, {
        detail: 'It has a postmaster.pid.',
        hint: 'Stop the server first; if it crashed, start and stop it once.',
      });
    }
    const { state } = this.control;
    if (!state.startsWith('shut down')) {
      this.onWarning?.(
        `"${this.directory}" was not shut down cleanly (${state}): its newest rows may be in the WAL only`,
      );
    }
  }

  private allDatabases(): DatabaseRow[] {
    const map = this.readMap('global/pg_filenode.map');
    const locator = { tablespace: GLOBAL_TABLESPACE, database: 0, relfilenode: map.get(PG_DATABASE) ?? PG_DATABASE };
    return this.catalogRows('pg_database', locator, this.layouts.pgDatabase, ['oid', 'datname', 'encoding']).map(
      (row) => ({
        name: String(row.datname),
        oid: row.oid as Oid,
        isUtf8: row.encoding === ENCODING_UTF8,
      }),
    );
  }

  private chooseDatabase(wanted: string | undefined): DatabaseRow {
    const all = this.allDatabases();
    if (wanted !== undefined) {
      const found = all.find(({ name }) => name === wanted);
      if (found !== undefined) return found;
      throw new StorageError('42704', `database "${wanted}" does not exist in "${this.directory}"`, {
        hint: `It has ${all.map(({ name }) => `"${name}"`).join(', ')}.`,
      });
    }
    const own = all.filter(({ name }) => !['template0', 'template1', 'postgres'].includes(name));
    const choice = own.length === 0 ? all.filter(({ name }) => name === 'postgres') : own;
    if (choice.length === 1) return choice[0];
    throw new StorageError('42704', `"${this.directory}" has several databases, and none was named`, {
      hint: `Name one of ${choice.map(({ name }) => `"${name}"`).join(', ')} with --database.`,
    });
  }

  private readRelations(): PostgresRelation[] {
    const map = this.readMap(`base/${this.databaseOid}/pg_filenode.map`);
    const shared = this.readMap('global/pg_filenode.map');
    const columns = [
      'oid',
      'relname',
      'relnamespace',
      'relfilenode',
      'reltablespace',
      'reltoastrelid',
      'relkind',
      'relisshared',
      'relnatts',
      'relfrozenxid',
      'relminmxid',
    ];
    const classes = this.catalogRows('pg_class', this.catalogLocator(map, PG_CLASS), this.layouts.pgClass, columns);
    const namespaceRow = classes.find((row) => row.oid === PG_NAMESPACE);
    const schemas = this.readSchemas(map, namespaceRow);
    const relations = classes.map((row): PostgresRelation => {
      const oid = row.oid as Oid;
      const isShared = row.relisshared === true;
      const mapped = (isShared ? shared : map).get(oid);
      return {
        oid,
        schema: schemas.get(row.relnamespace as Oid) ?? String(row.relnamespace),
        name: String(row.relname),
        kind: String(row.relkind),
        toastOid: row.reltoastrelid as Oid,
        columnCount: row.relnatts as number,
        frozenXid: row.relfrozenxid as Xid,
        minMultiXact: row.relminmxid as number,
        locator: {
          tablespace: isShared ? GLOBAL_TABLESPACE : (row.reltablespace as Oid) || DEFAULT_TABLESPACE,
          database: isShared ? 0 : this.databaseOid,
          relfilenode: (row.relfilenode as Oid) || (mapped ?? oid),
        },
      };
    });
    return relations.sort((a, b) => compareText(a.schema, b.schema) || compareText(a.name, b.name));
  }

  private readSchemas(map: Map<Oid, Oid>, row: CatalogRow | undefined): Map<Oid, string> {
    const relfilenode = (row?.relfilenode as Oid | undefined) || map.get(PG_NAMESPACE) || PG_NAMESPACE;
    const locator = { tablespace: DEFAULT_TABLESPACE, database: this.databaseOid, relfilenode };
    const rows = this.catalogRows('pg_namespace', locator, this.layouts.pgNamespace, ['oid', 'nspname']);
    return new Map(rows.map(({ oid, nspname }) => [oid as Oid, String(nspname)]));
  }

  private columnsOf(relation: PostgresRelation): Pick<PostgresTable, 'descriptor' | 'unreadable' | 'withMissingValue'> {
    this.columnRows ??= this.readColumns();
    const rows = [...(this.columnRows.get(relation.oid) ?? [])].sort(
      (a, b) => (a.attnum as number) - (b.attnum as number),
    );
    if (rows.length !== relation.columnCount) {
      throw new StorageError(
        'XX001',
        `table "${relation.name}" has ${relation.columnCount} columns in pg_class and ${rows.length} in pg_attribute`,
        { hint: 'If its rows of pg_attribute have no hint bits yet, one "select" from it in the server sets them.' },
      );
    }
    const unreadable = new Map<string, Oid>();
    const withMissingValue = new Set<string>();
    const columns = rows.map((row, index): ColumnDefinition => {
      const attnum = row.attnum as number;
      if (attnum !== index + 1) {
        throw new StorageError(
          'XX001',
          `pg_attribute is damaged: column ${index + 1} of "${relation.name}" is missing`,
        );
      }
      const align = row.attalign as AttAlign;
      if (row.attisdropped === true) return droppedColumn(attnum, row.attlen as number, align);
      const name = String(row.attname);
      const nullable = row.attnotnull !== true;
      if (row.atthasmissing === true) withMissingValue.add(name);
      const known = columnTypeOf(row.atttypid as Oid, row.atttypmod as number, nullable);
      if (known !== undefined) return { name, type: known };
      unreadable.set(name, row.atttypid as Oid);
      const type = opaque(row.attlen as number, align, row.atttypid as Oid, row.atttypmod as number);
      return { name, type: (nullable ? type.nullable() : type) as ColumnDefinition['type'] };
    });
    return { descriptor: TupleDescriptor.of(columns), unreadable, withMissingValue };
  }

  private readColumns(): Map<Oid, CatalogRow[]> {
    const map = this.readMap(`base/${this.databaseOid}/pg_filenode.map`);
    const layout = this.layouts.pgAttribute;
    const columns = [
      'attrelid',
      'attname',
      'atttypid',
      'attlen',
      'attnum',
      'atttypmod',
      'attalign',
      'attnotnull',
      'atthasmissing',
      'attisdropped',
    ];
    const byRelation = new Map<Oid, CatalogRow[]>();
    for (const row of this.catalogRows('pg_attribute', this.catalogLocator(map, PG_ATTRIBUTE), layout, columns)) {
      if ((row.attnum as number) < 1) continue;
      const rows = byRelation.get(row.attrelid as Oid);
      if (rows === undefined) byRelation.set(row.attrelid as Oid, [row]);
      else rows.push(row);
    }
    this.checkLayout(byRelation, PG_CLASS, this.layouts.pgClass);
    this.checkLayout(byRelation, PG_ATTRIBUTE, layout);
    return byRelation;
  }

  /** What was known of a catalog's layout is what the catalog itself says. */
  private checkLayout(byRelation: Map<Oid, CatalogRow[]>, oid: Oid, layout: TupleDescriptor): void {
    for (const row of byRelation.get(oid) ?? []) {
      const known = layout.columns[(row.attnum as number) - 1];
      if (known === undefined || (!known.name.startsWith('(') && known.name !== row.attname)) {
        throw new StorageError(
          '0A000',
          `the catalogs of "${this.directory}" are not those of PostgreSQL ${this.version}`,
          {
            detail: `Column ${String(row.attnum)} of ${oid === PG_CLASS ? 'pg_class' : 'pg_attribute'} is "${String(row.attname)}".`,
          },
        );
      }
    }
  }

  private catalogLocator(map: Map<Oid, Oid>, oid: Oid): RelationLocator {
    return { tablespace: DEFAULT_TABLESPACE, database: this.databaseOid, relfilenode: map.get(oid) ?? oid };
  }

  private readMap(name: string): Map<Oid, Oid> {
    const path = `${this.directory}/${name}`;
    try {
      return readFilenodeMap(this.vfs.readFile(path), path);
    } catch (error) {
      // Without its map a database is as it was made: file numbers are object ids.
      if (isStorageError(error) && error.code === '58P01') return new Map();
      throw error;
    }
  }

  private catalogRows(
    name: string,
    locator: RelationLocator,
    layout: TupleDescriptor,
    names: readonly string[],
  ): CatalogRow[] {
    const storage = this.storage.open(locator);
    const relation = new Relation({ pool: this.pool, storage, name });
    const columns = names.map((column) => layout.indexOf(column));
    const scan = new HeapScan(relation, layout, { columns, unknown: 'skip' });
    const rows: CatalogRow[] = [];
    for (let batch = scan.next(); batch !== undefined; batch = scan.next()) {
      for (let i = 0; i < batch.length; i++) {
        rows.push(
          Object.fromEntries(
            columns.map((c, k) => [names[k], vectorValue(layout.columns[c].type, batch.vectors[k], i)]),
          ),
        );
      }
    }
    if (scan.unknown > 0) {
      this.onWarning?.(
        `${scan.unknown} rows of ${name} were left out: only the commit log, which is not read, knows whether they are visible`,
      );
    }
    return rows;
  }
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
