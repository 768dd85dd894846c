// Where `tables` and `dump` read: our data directory, PostgreSQL's, or one relation file, all with one face.

import type { IndexInfo, PostgresIndexInfo, Scan, ScanOptions, TableDef } from '@blockwright/engine';
import type { BlockSize } from '@blockwright/geometry';
import type { TpchTableName } from '@blockwright/tpch';
import type { ColumnType, Vector, vectorValue as VectorValue } from '@blockwright/tuple';
import type { Context } from './context.ts';
import { CommandFailure, UsageError } from './failures.ts';
import type { PrintedColumn } from './output/rows.ts';

/** A table as it is listed. */
export interface ListedTable {
  readonly name: string;
  readonly columns: number;
  readonly pages: number;
  readonly bytes: number;
  readonly isCatalog: boolean;
  /** The main fork's first file, below the data directory. */
  readonly path: string;
}

/** An index as it is listed. */
export interface ListedIndex {
  readonly name: string;
  /** Its key columns; a descending one says so, an expression is `(expression)`. */
  readonly columns: readonly string[];
  /** Columns that are only carried along. */
  readonly include: readonly string[];
  readonly isUnique: boolean;
  readonly isPrimary: boolean;
  readonly pages: number;
  readonly bytes: number;
  readonly path: string;
}

/** A running scan: `next` brings a batch of rows, and `readers` reads their values, one reader a column. */
export interface TableScan {
  readonly columns: readonly PrintedColumn[];
  readonly readers: readonly ((row: number) => unknown)[];
  /** Rows met so far whose header does not say whether they are visible. */
  unknown(): number;
  /** Rows of the next batch; undefined at the end. */
  next(): number | undefined;
  close(): void;
}

/** What of a table is wanted. */
export interface ScanChoice {
  /** All columns where none are named. */
  readonly columns?: readonly string[];
  /** What to do with rows whose header does not say whether they are visible: refused when not given. */
  readonly unknown?: 'error' | 'skip' | 'include';
}

/** Something that holds tables. */
export interface TableSource {
  readonly tables: readonly ListedTable[];
  indexesOf(table: ListedTable): readonly ListedIndex[];
  /** Counts a table's visible rows, and those whose header does not say whether they are visible. */
  count(table: ListedTable, unknown: ScanChoice['unknown']): { readonly rows: number; readonly unknown: number };
  /**
   * Begins to scan a table.
   * @throws StorageError 42P01 or 42703 for a table or column that is not there.
   */
  open(table: string, choice: ScanChoice): TableScan;
  close(): void;
}

/** How a relation file is to be read. */
export interface FileOptions {
  /** The TPC-H table whose columns it has. */
  readonly like: string;
  /** Found from its pages when not given. */
  readonly blockSize?: BlockSize;
}

/** A scan reads pages once, in order: it needs no large pool. */
const POOL_SIZE = '16MB';

/**
 * Whose data directory a path names.
 * @throws CommandFailure when it does not exist, is no directory, or is nobody's data directory.
 */
export async function dataDirectoryKind(path: string): Promise<'blockwright' | 'postgresql'> {
  const [{ directoryKind }, { NodeVfs }] = await Promise.all([
    import('@blockwright/control'),
    import('@blockwright/vfs'),
  ]);
  const kind = directoryKind(new NodeVfs(), path);
  switch (kind) {
    case 'blockwright':
    case 'postgresql':
      return kind;
    case 'missing':
      throw new CommandFailure(`data directory "${path}" does not exist`, { hint: MAKE_ONE });
    case 'file':
      throw new CommandFailure(`"${path}" is not a directory`, {
        hint: 'Name the data directory; a single file is read by dump --file, inspect and check.',
      });
    default:
      throw new CommandFailure(`"${path}" is not a data directory`, {
        detail: kind === 'empty' ? 'It is empty.' : 'It holds neither BLOCKWRIGHT_VERSION nor PG_VERSION.',
        hint: MAKE_ONE,
      });
  }
}

const MAKE_ONE = 'Make one with "blockwright initdb -D DIR".';

/**
 * The tables of a data directory, ours or PostgreSQL's. Nothing is written.
 * @param databaseName of a PostgreSQL's directory: which of its databases.
 */
export async function openTables(context: Context, directory: string, databaseName?: string): Promise<TableSource> {
  const kind = await dataDirectoryKind(directory);
  if (kind === 'blockwright' && databaseName !== undefined) {
    throw new UsageError("--database is for a PostgreSQL's directory", { hint: 'Ours holds one database.' });
  }
  const [{ Database, PostgresDatabase }, { vectorValue }] = await Promise.all([
    import('@blockwright/engine'),
    import('@blockwright/tuple'),
  ]);
  const options = { sharedBuffers: POOL_SIZE, onWarning: (message: string) => context.warning(message) };
  const database =
    kind === 'blockwright'
      ? Database.open(directory, { ...options, readOnly: true })
      : PostgresDatabase.open(directory, { ...options, database: databaseName });
  return {
    tables: database.tables().map((table) => {
      const { name, oid, columns, blocks, bytes, isCatalog, path } = table;
      return { name, oid, columns, bytes, isCatalog, path, pages: blocks };
    }),
    indexesOf: (table) => database.indexes(table.name).map(listedIndex),
    count: (table, unknown) => database.count(database.table(table.name), { unknown }),
    open(name, choice) {
      const table = database.table(name);
      return scanOf(table, choice, (options) => database.scan(table, options), vectorValue);
    },
    close: () => database.close(),
  };
}

/** One relation file as it lies, with the columns of a TPC-H table. */
export async function openFile(context: Context, path: string, options: FileOptions): Promise<TableSource> {
  const [{ RelationFile }, { tpchTable }, { vectorValue }] = await Promise.all([
    import('@blockwright/engine'),
    import('./tpch-tables.ts'),
    import('@blockwright/tuple'),
  ]);
  const table = tpchTable(options.like as TpchTableName);
  const file = RelationFile.open(path, table, {
    blockSize: options.blockSize,
    sharedBuffers: POOL_SIZE,
    onWarning: (message) => context.warning(message),
  });
  return {
    tables: [],
    indexesOf: () => [],
    count: (_table, unknown) => file.count(table, { unknown }),
    open: (_name, choice) => scanOf(table, choice, (options) => file.scan(table, options), vectorValue),
    close: () => file.close(),
  };
}

function listedIndex(index: IndexInfo | PostgresIndexInfo): ListedIndex {
  const { name, columns, include, isUnique, isPrimary, blocks, bytes, path } = index;
  const keys = columns.map(({ column = '(expression)', descending }) => (descending ? `${column} desc` : column));
  return { name, columns: keys, include, isUnique, isPrimary, pages: blocks, bytes, path };
}

function scanOf(
  table: TableDef,
  choice: ScanChoice,
  begin: (options: ScanOptions<string>) => Scan<TableDef, string>,
  vectorValue: typeof VectorValue,
): TableScan {
  const names = choice.columns ?? table.descriptor.liveColumns().map((index) => table.descriptor.columns[index].name);
  const scan = begin({ columns: names, unknown: choice.unknown }); // refuses a column that is not there
  const types = names.map((name) => table.columns[name] as ColumnType<unknown>);
  let vectors: readonly Vector[] = [];
  return {
    columns: names.map((name, k) => ({ name, toText: (value) => types[k].toText(value) })),
    readers: types.map((type, k) => (row) => vectorValue(type, vectors[k], row)),
    unknown: () => scan.unknown,
    next() {
      const batch = scan.next();
      if (batch !== undefined) vectors = batch.vectors;
      return batch?.length;
    },
    close: () => scan.close(),
  };
}
