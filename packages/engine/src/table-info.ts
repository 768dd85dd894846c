// Tables as users see them: what is known of one, and whether a definition is its own.
import { type Oid, StorageError } from '@blockwright/base';
import { type CatalogEntry, FIRST_NORMAL_OID } from '@blockwright/catalog';
import type { UnknownPolicy } from '@blockwright/heap';
import type { TupleDescriptor } from '@blockwright/tuple';
import type { Core } from './core.ts';
import type { ColumnTypes, TableDef } from './table.ts';

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
  };
}

export function tableOf(entry: CatalogEntry): TableDef {
  const columns: ColumnTypes = Object.fromEntries(entry.descriptor.columns.map(({ name, type }) => [name, type]));
  const { name, descriptor, fillfactor, persistence } = entry;
  return { name, columns, descriptor, fillfactor, unlogged: persistence === 'u' };
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
