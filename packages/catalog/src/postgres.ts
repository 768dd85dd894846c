// A PostgreSQL data directory, read only: its databases, its tables, and their columns, from PostgreSQL's own catalogs.
// The server must be stopped. Which rows are visible its commit log says; where that is not there, catalog rows whose hint
// bits do not say it are left out, and said.
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
import { StorageManager, type StoredRelation } from '@blockwright/smgr';
import { CommitLog, MultiXacts, type Snapshot, Transactions } from '@blockwright/transam';
import { type FetchToast, type TupleDescriptor, vectorValue } from '@blockwright/tuple';
import { NodeVfs, type Vfs } from '@blockwright/vfs';
import { readFilenodeMap } from './filenode-map.ts';
import {
  describeIndex,
  FIXED_OPERATOR_CLASSES,
  type IndexContext,
  operatorClassesOf,
  type PostgresIndex,
} from './postgres-indexes.ts';
import { type PostgresLayouts, postgresLayouts } from './postgres-layouts.ts';
import { type CatalogRow, describeColumns, type PostgresRelation, type PostgresTable } from './postgres-relations.ts';
import { toastReader } from './toast.ts';

export interface PostgresOptions {
  /** Name of the database; by default the only one that is neither a template nor `postgres`, else `postgres`. */
  readonly database?: string;
  /** Bytes of the buffer pool; 32 MB by default. Its blocks are as large as the control file says. */
  readonly sharedBuffers?: number;
  readonly onWarning?: (message: string) => void;
  readonly vfs?: Vfs;
}

const KNOWN_OPTIONS = ['database', 'sharedBuffers', 'onWarning', 'vfs'];
const PG_CLASS: Oid = 1259;
const PG_ATTRIBUTE: Oid = 1249;
const PG_NAMESPACE: Oid = 2615;
const PG_DATABASE: Oid = 1262;
const PG_INDEX: Oid = 2610;
const PG_OPCLASS: Oid = 2616;
const PG_AM: Oid = 2601;
const DEFAULT_SHARED_BUFFERS = 1 << 25;
/** PostgreSQL: the least that `shared_buffers` can be. */
const LEAST_BUFFERS = 16;
/** PostgreSQL: `PG_UTF8`, pg_wchar.h. */
const ENCODING_UTF8 = 6;

interface DatabaseRow {
  readonly name: string;
  readonly oid: Oid;
  readonly isUtf8: boolean;
  /** Whether text is ordered by its bytes where nothing else is said. */
  readonly isCollationC: boolean;
  /** Where its catalogs are, and every relation that says nothing else. PostgreSQL: `dattablespace`. */
  readonly tablespace: Oid;
}

const NO_DATABASE: DatabaseRow = {
  name: '',
  oid: 0,
  isUtf8: false,
  isCollationC: false,
  tablespace: DEFAULT_TABLESPACE,
};

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
  private readonly isCollationC: boolean;
  private readonly databaseOid: Oid;
  private readonly databaseTablespace: Oid;
  private readonly layouts: PostgresLayouts;
  private readonly vfs: Vfs;
  private readonly onWarning: ((message: string) => void) | undefined;
  private readonly storage: StorageManager;
  private readonly pool: BufferPool;
  private readonly commitLog: CommitLog;
  private readonly handles = new Map<string, Relation>();
  private listed: PostgresRelation[] | undefined = undefined;
  private byOid: Map<Oid, PostgresRelation> | undefined = undefined;
  private columnRows: Map<Oid, CatalogRow[]> | undefined = undefined;
  /** Rows of pg_index by their table. */
  private indexRows: Map<Oid, CatalogRow[]> | undefined = undefined;
  private indexContext: IndexContext | undefined = undefined;
  private closed = false;
  /** Catalog rows that were left out, as nothing that is read says whether they are visible; and why. */
  private leftOut = 0;
  private leftOutCause = '';
  /** What ended before the server did: everything that is in the files. */
  readonly transactions: Transactions;
  /** Sees what had committed when the server ended. */
  readonly snapshot: Snapshot;

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
      buffers: Math.max(
        Math.floor((options.sharedBuffers ?? DEFAULT_SHARED_BUFFERS) / this.geometry.size),
        LEAST_BUFFERS,
      ),
      verifyChecksums: this.control.dataChecksumVersion !== 0,
      onWarning: options.onWarning,
    });
    const pageBytes = this.geometry.size;
    this.commitLog = new CommitLog({ vfs: this.vfs, directory: `${directory}/pg_xact`, pageBytes, readOnly: true });
    // The end of its commit log may not have reached the disk before a crash: what is missing then did not commit.
    this.commitLog.recovering = !this.control.state.startsWith('shut down');
    const { nextMultiXact, nextMultiOffset, oldestMultiXact } = this.control.checkpoint;
    const multixacts = new MultiXacts({
      vfs: this.vfs,
      directory: `${directory}/pg_multixact`,
      pageBytes,
      nextMultiXact,
      nextMultiOffset,
      oldestMultiXact,
    });
    this.transactions = Transactions.offline({ commitLog: this.commitLog, multixacts });
    this.snapshot = this.transactions.snapshot();
    try {
      const row = choose ? this.chooseDatabase(options.database) : NO_DATABASE;
      this.database = row.name;
      this.databaseOid = row.oid;
      this.databaseTablespace = row.tablespace;
      this.isUtf8 = row.isUtf8;
      this.isCollationC = row.isCollationC;
      if (choose) this.refuseMissingDatabase(row);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /**
   * Opens a PostgreSQL data directory of version 13 to 18.
   * @throws StorageError 58P01, 0A000 or XX001 when it is none, of another version, or its control file is damaged;
   *   42704 when it has no such database, or several and none was named; RangeError for a pool larger than this machine
   *   can hold.
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
      .filter((row) => postgres.vfs.exists(`${directory}/${postgres.databasePath(row.tablespace, row.oid)}`))
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
        detail:
          this.leftOut === 0
            ? undefined
            : `${this.leftOut} rows of the catalogs were left out, of which nothing says whether they are visible: ${this.leftOutCause}`,
        hint:
          this.leftOut > 0
            ? 'Put back what is missing of the commit log (pg_xact), from where the directory was copied.'
            : nearest === undefined
              ? undefined
              : `Perhaps "${nearest}" was meant.`,
      });
    }
    return this.tableOf(found);
  }

  /** A table of {@link relations}, with its columns. @throws StorageError XX001 when pg_attribute does not have them. */
  tableOf(relation: PostgresRelation): PostgresTable {
    return { ...relation, ...this.columnsOf(relation) };
  }

  /**
   * The indexes of a table, by name; those that cannot be scanned say why.
   * @throws StorageError XX001 when pg_index is damaged.
   */
  indexesOf(table: PostgresTable): PostgresIndex[] {
    this.indexRows ??= this.readIndexes();
    this.indexContext ??= this.readIndexContext();
    const context = this.indexContext;
    return (this.indexRows.get(table.oid) ?? []).flatMap((row) => {
      const relation = this.relationWith(row.indexrelid as Oid);
      return relation === undefined ? [] : [describeIndex(row, relation, table, context)];
    });
  }

  /** The handle of a relation. */
  relation(of: PostgresRelation): Relation {
    const key = `${of.locator.tablespace}/${of.locator.database}/${of.locator.relfilenode}`;
    let handle = this.handles.get(key);
    if (handle === undefined) {
      handle = new Relation({
        pool: this.pool,
        storage: this.openStorage(of.locator),
        name: `${of.schema}.${of.name}`,
      });
      this.handles.set(key, handle);
    }
    return handle;
  }

  /** Path of a relation's first file below the data directory. PostgreSQL: `GetRelationPath`, relpath.c. */
  path({ locator: { tablespace, database, relfilenode } }: PostgresRelation): string {
    return `${this.databasePath(tablespace, database)}/${relfilenode}`;
  }

  /** Fetches values that a table stores out of line; undefined for a table without a TOAST table. */
  toastReader(of: PostgresRelation): FetchToast | undefined {
    if (of.toastOid === 0) return undefined;
    const toast = this.relationWith(of.toastOid);
    return toast === undefined ? undefined : toastReader(this.relation(toast));
  }

  private relationWith(oid: Oid): PostgresRelation | undefined {
    this.byOid ??= new Map(this.relations().map((relation) => [relation.oid, relation]));
    return this.byOid.get(oid);
  }

  /** Closes every file; again is fine. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    try {
      this.pool.close();
    } finally {
      this.storage.close();
      this.commitLog.close();
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
    const columns = ['oid', 'datname', 'encoding', 'dattablespace', 'datcollate'];
    const locale = this.version < 15 ? [] : ['datlocprovider', this.version < 17 ? 'daticulocale' : 'datlocale'];
    return this.catalogRows('pg_database', locator, this.layouts.pgDatabase, [...columns, ...locale]).map((row) => ({
      name: String(row.datname),
      oid: row.oid as Oid,
      isUtf8: row.encoding === ENCODING_UTF8,
      isCollationC: isCollationC(row),
      tablespace: row.dattablespace as Oid,
    }));
  }

  /** The directory of a database's files in one tablespace, below the data directory. */
  private databasePath(tablespace: Oid, database: Oid): string {
    if (tablespace === GLOBAL_TABLESPACE) return 'global';
    if (tablespace === DEFAULT_TABLESPACE) return `base/${database}`;
    return `pg_tblspc/${tablespace}/PG_${this.version}_${this.control.catalogVersion}/${database}`;
  }

  private openStorage(locator: RelationLocator): StoredRelation {
    const { tablespace, database, relfilenode } = locator;
    if (tablespace === GLOBAL_TABLESPACE || tablespace === DEFAULT_TABLESPACE) return this.storage.open(locator);
    return this.storage.openPath(`${this.directory}/${this.databasePath(tablespace, database)}/${relfilenode}`);
  }

  private refuseMissingDatabase({ name, oid, tablespace }: DatabaseRow): void {
    const path = this.databasePath(tablespace, oid);
    if (this.vfs.exists(`${this.directory}/${path}`)) return;
    throw new StorageError('58P01', `the files of database "${name}" are not there`, {
      detail: `pg_database says that they are in "${path}".`,
    });
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
    const map = this.readMap(`${this.ownPath}/pg_filenode.map`);
    const shared = this.readMap('global/pg_filenode.map');
    const columns = [
      'oid',
      'relname',
      'relnamespace',
      'relfilenode',
      'reltablespace',
      'reltoastrelid',
      'relkind',
      'relam',
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
        accessMethod: row.relam as Oid,
        toastOid: row.reltoastrelid as Oid,
        columnCount: row.relnatts as number,
        frozenXid: row.relfrozenxid as Xid,
        minMultiXact: row.relminmxid as number,
        locator: {
          tablespace: isShared ? GLOBAL_TABLESPACE : (row.reltablespace as Oid) || this.databaseTablespace,
          database: isShared ? 0 : this.databaseOid,
          relfilenode: (row.relfilenode as Oid) || (mapped ?? oid),
        },
      };
    });
    return relations.sort((a, b) => compareText(a.schema, b.schema) || compareText(a.name, b.name));
  }

  private readSchemas(map: Map<Oid, Oid>, row: CatalogRow | undefined): Map<Oid, string> {
    const relfilenode = (row?.relfilenode as Oid | undefined) || map.get(PG_NAMESPACE) || PG_NAMESPACE;
    const locator = { tablespace: this.databaseTablespace, database: this.databaseOid, relfilenode };
    const rows = this.catalogRows('pg_namespace', locator, this.layouts.pgNamespace, ['oid', 'nspname']);
    return new Map(rows.map(({ oid, nspname }) => [oid as Oid, String(nspname)]));
  }

  private readIndexes(): Map<Oid, CatalogRow[]> {
    const columns = this.layouts.pgIndex.columns.flatMap(({ name }) => (name.startsWith('(') ? [] : [name]));
    const byTable = new Map<Oid, CatalogRow[]>();
    const names = new Map(this.relations().map(({ oid, name }) => [oid, name]));
    const rows = this.rowsOfCatalog('pg_index', PG_INDEX, this.layouts.pgIndex, columns);
    rows.sort((a, b) => compareText(names.get(a.indexrelid as Oid) ?? '', names.get(b.indexrelid as Oid) ?? ''));
    for (const row of rows) {
      const list = byTable.get(row.indrelid as Oid);
      if (list === undefined) byTable.set(row.indrelid as Oid, [row]);
      else list.push(row);
    }
    return byTable;
  }

  private readIndexContext(): IndexContext {
    const { pgAm, pgOpclass } = this.layouts;
    const methods = this.rowsOfCatalog('pg_am', PG_AM, pgAm, ['oid', 'amname']);
    const classes = this.rowsOfCatalog('pg_opclass', PG_OPCLASS, pgOpclass, [
      'oid',
      'opcmethod',
      'opcname',
      'opcnamespace',
    ]);
    return {
      methods: new Map(methods.map(({ oid, amname }) => [oid as Oid, String(amname)])),
      operatorClasses: classes.length === 0 ? FIXED_OPERATOR_CLASSES : operatorClassesOf(classes),
      isDefaultCollationC: this.isCollationC,
    };
  }

  /** The rows of a catalog, its layout checked; none when its file is not there. */
  private rowsOfCatalog(
    name: string,
    oid: Oid,
    layout: TupleDescriptor,
    columns: readonly string[],
  ): Record<string, unknown>[] {
    const relation = this.relationWith(oid);
    if (relation === undefined || !this.relation(relation).main.exists()) return [];
    this.columnRows ??= this.readColumns();
    this.checkLayout(this.columnRows, name, oid, layout);
    return this.catalogRows(name, relation.locator, layout, columns);
  }

  private columnsOf(relation: PostgresRelation): Pick<PostgresTable, 'descriptor' | 'unreadable'> {
    this.columnRows ??= this.readColumns();
    const rows = [...(this.columnRows.get(relation.oid) ?? [])].sort(
      (a, b) => (a.attnum as number) - (b.attnum as number),
    );
    if (rows.length !== relation.columnCount) {
      throw new StorageError(
        'XX001',
        `table "${relation.name}" has ${relation.columnCount} columns in pg_class and ${rows.length} in pg_attribute`,
        this.leftOut === 0
          ? {}
          : { detail: `${this.leftOut} rows of the catalogs were left out: ${this.leftOutCause}` },
      );
    }
    try {
      return describeColumns(relation.name, rows);
    } catch (error) {
      if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
      throw new StorageError('XX001', `pg_attribute is damaged: it describes no columns of "${relation.name}"`, {
        detail: error.message,
      });
    }
  }

  private readColumns(): Map<Oid, CatalogRow[]> {
    const map = this.readMap(`${this.ownPath}/pg_filenode.map`);
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
    const locator = this.catalogLocator(map, PG_ATTRIBUTE);
    const byRelation = new Map<Oid, Record<string, unknown>[]>();
    let someMissing = false;
    for (const row of this.catalogRows('pg_attribute', locator, layout, columns)) {
      if ((row.attnum as number) < 1) continue;
      someMissing ||= row.atthasmissing === true;
      const rows = byRelation.get(row.attrelid as Oid);
      if (rows === undefined) byRelation.set(row.attrelid as Oid, [row]);
      else rows.push(row);
    }
    this.checkLayout(byRelation, 'pg_class', PG_CLASS, this.layouts.pgClass);
    this.checkLayout(byRelation, 'pg_attribute', PG_ATTRIBUTE, layout);
    this.checkLayout(byRelation, 'pg_namespace', PG_NAMESPACE, this.layouts.pgNamespace);
    this.checkLayout(byRelation, 'pg_database', PG_DATABASE, this.layouts.pgDatabase);
    if (someMissing) this.addMissingValues(byRelation, locator);
    return byRelation;
  }

  /** Puts `attmissingval` into the rows that have one. Where it lies, pg_attribute itself says: it differs by version. */
  private addMissingValues(byRelation: Map<Oid, Record<string, unknown>[]>, locator: RelationLocator): void {
    const own = [...(byRelation.get(PG_ATTRIBUTE) ?? [])].sort((a, b) => (a.attnum as number) - (b.attnum as number));
    const { descriptor } = describeColumns('pg_attribute', own);
    const columns = ['attrelid', 'attnum', 'atthasmissing', 'attmissingval'];
    for (const row of this.catalogRows('pg_attribute', locator, descriptor, columns)) {
      if (row.atthasmissing !== true) continue;
      const rows = byRelation.get(row.attrelid as Oid) ?? [];
      const of = rows.find(({ attnum }) => attnum === row.attnum);
      if (of !== undefined) of.attmissingval = row.attmissingval;
    }
  }

  /** What was known of a catalog's layout is what the catalog itself says. */
  private checkLayout(
    byRelation: ReadonlyMap<Oid, readonly CatalogRow[]>,
    name: string,
    oid: Oid,
    layout: TupleDescriptor,
  ): void {
    for (const row of byRelation.get(oid) ?? []) {
      const known = layout.columns[(row.attnum as number) - 1];
      if (known === undefined || (!known.name.startsWith('(') && known.name !== row.attname)) {
        throw new StorageError(
          '0A000',
          `the catalogs of "${this.directory}" are not those of PostgreSQL ${this.version}`,
          {
            detail: `Column ${String(row.attnum)} of ${name} is "${String(row.attname)}".`,
          },
        );
      }
    }
  }

  private catalogLocator(map: Map<Oid, Oid>, oid: Oid): RelationLocator {
    return { tablespace: this.databaseTablespace, database: this.databaseOid, relfilenode: map.get(oid) ?? oid };
  }

  /** The directory of the database's own files. */
  private get ownPath(): string {
    return this.databasePath(this.databaseTablespace, this.databaseOid);
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
  ): Record<string, unknown>[] {
    const relation = new Relation({ pool: this.pool, storage: this.openStorage(locator), name });
    const columns = names.map((column) => layout.indexOf(column));
    const scan = new HeapScan(relation, layout, { columns, snapshot: this.snapshot, unknown: 'skip' });
    const rows: Record<string, unknown>[] = [];
    for (let batch = scan.next(); batch !== undefined; batch = scan.next()) {
      const first = rows.length;
      for (let i = 0; i < batch.length; i++) rows.push({});
      // Column by column: a catalog has thousands of rows, and each of its columns one type.
      for (let k = 0; k < names.length; k++) {
        const { type } = layout.columns[columns[k]];
        const vector = batch.vectors[k];
        for (let i = 0; i < batch.length; i++) rows[first + i][names[k]] = vectorValue(type, vector, i);
      }
    }
    if (scan.unknown > 0) {
      this.leftOut += scan.unknown;
      this.leftOutCause = scan.unknownCause?.message ?? '';
      this.onWarning?.(
        `${scan.unknown} rows of ${name} were left out, of which nothing says whether they are visible: ${this.leftOutCause}`,
      );
    }
    return rows;
  }
}

/** Whether a database orders text by its bytes: by the C library's C, or by PostgreSQL's own locales, which do. */
function isCollationC({ datcollate, datlocprovider, datlocale }: CatalogRow): boolean {
  if (datlocprovider === 'b') return datlocale === 'C' || datlocale === 'C.UTF-8';
  return (datlocprovider === undefined || datlocprovider === 'c') && (datcollate === 'C' || datcollate === 'POSIX');
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
