// Tables as users see them: what is known of one, and whether a definition is its own.
import { type Oid, StorageError } from '@blockwright/base';
import { type CatalogEntry, FIRST_NORMAL_OID, type IndexEntry } from '@blockwright/catalog';
import type { UnknownPolicy } from '@blockwright/heap';
import type { KeyOrder, TupleDescriptor } from '@blockwright/tuple';
import type { Core } from './core.ts';
import type { ColumnTypes, KeyOptions, TableDef } from './table.ts';

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
  readonly indexes: readonly IndexInfo[];
}

/** An index of an open database, with its size. */
export interface IndexInfo {
  readonly name: string;
  readonly table: string;
  readonly oid: Oid;
  /** Key columns, in order. */
  readonly columns: readonly (KeyOrder & { readonly column: string })[];
  /** Columns that are only carried along. */
  readonly include: readonly string[];
  readonly isUnique: boolean;
  readonly isPrimary: boolean;
  readonly nullsNotDistinct: boolean;
  readonly fillfactor: number;
  readonly deduplicate: boolean;
  readonly blocks: number;
  readonly bytes: number;
  /** Levels above the leaves: 0 when the root is a leaf, or there is none. */
  readonly levels: number;
  /** Whether it is of one of the catalogs. */
  readonly isCatalog: boolean;
  readonly path: string;
}

export interface CountOptions {
  /** false: judge every tuple, without asking the visibility map. */
  readonly map?: boolean;
  /** What to do with tuples whose header does not say whether they are visible; `error` by default. */
  readonly unknown?: UnknownPolicy;
  /** With the name of an index its entries are counted, which takes other options. */
  readonly index?: undefined;
}

export function tableInfo(core: Core, entry: CatalogEntry): TableInfo {
  const relation = core.parts.relations.handleOf(entry);
  const blocks = relation.blockCount();
  return {
    name: entry.name,
    oid: entry.oid,
    columns: entry.descriptor.columns.length,
    blocks,
    bytes: blocks * core.parts.geometry.size,
    isCatalog: entry.oid < FIRST_NORMAL_OID,
    path: relation.storage.name,
    indexes: entry.indexes.map((index) => indexInfo(core, entry, index)),
  };
}

export function indexInfo(core: Core, table: CatalogEntry, index: IndexEntry): IndexInfo {
  const { btree } = core.parts.relations.indexOf(table, index);
  const { relation } = btree;
  const blocks = relation.blockCount();
  const names = index.descriptor.columns.map(({ name }) => name);
  const { name, oid, keys, isUnique, isPrimary, nullsNotDistinct, fillfactor, deduplicate } = index;
  return {
    name,
    table: table.name,
    oid,
    columns: keys.map((order, i) => ({ column: names[i], ...order })),
    include: names.slice(keys.length),
    isUnique,
    isPrimary,
    nullsNotDistinct,
    fillfactor,
    deduplicate,
    blocks,
    bytes: blocks * core.parts.geometry.size,
    levels: blocks === 0 ? 0 : btree.levels(), // none while it is being built
    isCatalog: table.oid < FIRST_NORMAL_OID,
    path: relation.storage.name,
  };
}

export function tableOf(entry: CatalogEntry): TableDef {
  const columns: ColumnTypes = Object.fromEntries(entry.descriptor.columns.map(({ name, type }) => [name, type]));
  const { name, descriptor, fillfactor, persistence } = entry;
  const primary = entry.indexes.find((index) => index.isPrimary);
  return {
    name,
    columns,
    descriptor,
    fillfactor,
    unlogged: persistence === 'u',
    primaryKey: primary === undefined ? undefined : keyOf(primary),
    unique: entry.indexes.filter((index) => index.isUnique && !index.isPrimary).map(keyOf),
  };
}

function keyOf({ name, descriptor, keys, fillfactor, deduplicate, nullsNotDistinct }: IndexEntry): KeyOptions {
  const names = descriptor.columns.map((column) => column.name);
  const [columns, include] = [names.slice(0, keys.length), names.slice(keys.length)];
  return { columns, name, include, fillfactor, deduplicate, nullsNotDistinct };
}

/** Definitions that were found to be a table's own: each is compared once. */
const own = new WeakMap<TupleDescriptor, WeakSet<TupleDescriptor>>();

/** @throws StorageError 55000 when a definition has other columns than its table. */
export function refuseOtherColumns(entry: CatalogEntry, definition: TableDef): void {
  if (entry.descriptor === definition.descriptor || own.get(entry.descriptor)?.has(definition.descriptor)) return;
  const stored = columnsText(entry.descriptor);
  const declared = columnsText(definition.descriptor);
  if (stored !== declared) {
    throw new StorageError('55000', `table "${entry.name}" has other columns than its definition says`, {
      detail: `It has (${stored}), the definition (${declared}).`,
    });
  }
  const known = own.get(entry.descriptor);
  if (known === undefined) own.set(entry.descriptor, new WeakSet([definition.descriptor]));
  else known.add(definition.descriptor);
}

function columnsText(descriptor: TupleDescriptor): string {
  return descriptor.columns
    .map(({ name, type }) => `${name} ${type.sqlName}${type.isNullable ? '' : ' not null'}`)
    .join(', ');
}
