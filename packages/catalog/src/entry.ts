// A table as the catalogs know it, and its rows of bw_class and bw_attribute that say so.
import { type BlockNumber, type OffsetNumber, type Oid, StorageError } from '@blockwright/base';
import { type ColumnType, columnTypeOf, TupleDescriptor } from '@blockwright/tuple';
import type { IndexEntry } from './index-entry.ts';

/** Where a row of a catalog stands. */
export interface CatalogTid {
  readonly block: BlockNumber;
  readonly offset: OffsetNumber;
}

/** What DDL says of a table. */
export interface TableShape {
  readonly oid: Oid;
  readonly name: string;
  readonly relfilenode: Oid;
  readonly descriptor: TupleDescriptor;
  /** `p` permanent; `u` unlogged: nothing of it is in the WAL, and after a crash it is empty. */
  readonly persistence: 'p' | 'u';
  /** 10 to 100: per cent of a page that inserts fill. */
  readonly fillfactor: number;
}

/** A table as the catalogs know it. */
export interface CatalogEntry extends TableShape {
  /** Its row of bw_class, and those of bw_attribute in the columns' order. */
  readonly row: CatalogTid;
  readonly attributeRows: readonly CatalogTid[];
  /** Its indexes, the oldest first. */
  readonly indexes: readonly IndexEntry[];
}

/** A row that was read, and where it stands. */
export interface CatalogRow {
  readonly values: readonly unknown[];
  readonly tid: CatalogTid;
}

/** Values of a table's row of bw_class. */
export function classRow(table: TableShape): unknown[] {
  const { oid, name, relfilenode, descriptor, persistence, fillfactor } = table;
  const options = fillfactor === DEFAULT_FILLFACTOR ? null : `fillfactor=${fillfactor}`;
  return [oid, name, 'r', relfilenode, descriptor.columns.length, persistence, options];
}

/** Values of the rows of bw_attribute of a table or an index. */
export function attributeRows(relation: Pick<TableShape, 'oid' | 'descriptor'>): unknown[][] {
  return relation.descriptor.columns.map(({ name, type }, index) => {
    return [relation.oid, index + 1, name, type.oid, type.typmod, !type.isNullable];
  });
}

/**
 * The table that a row of bw_class and its rows of bw_attribute describe.
 * @throws StorageError XX001 when they contradict each other, or say what cannot be.
 */
export function entryOfRows(row: CatalogRow, attributes: CatalogRow[]): Omit<CatalogEntry, 'indexes'> {
  const [oid, relname, , relfilenode, natts, persistence, options] = row.values;
  const name = String(relname);
  if (attributes.length !== natts) {
    throw damaged(`table "${name}" has ${String(natts)} columns in bw_class and ${attributes.length} in bw_attribute`);
  }
  if (persistence !== 'p' && persistence !== 'u') {
    throw damaged(`table "${name}" has relpersistence "${String(persistence)}" in bw_class`);
  }
  attributes.sort((a, b) => (a.values[1] as number) - (b.values[1] as number));
  return {
    oid: oid as Oid,
    name,
    relfilenode: relfilenode as Oid,
    descriptor: descriptorOf(name, attributes, 'table'),
    persistence,
    fillfactor: fillfactorOf(name, options as string | null),
    row: row.tid,
    attributeRows: attributes.map(({ tid }) => tid),
  };
}

export function damaged(what: string): StorageError {
  return new StorageError('XX001', `the catalogs are damaged: ${what}`);
}

const DEFAULT_FILLFACTOR = 100;

function fillfactorOf(name: string, options: string | null): number {
  if (options === null) return DEFAULT_FILLFACTOR;
  const value = Number(/^fillfactor=(\d{2,3})$/.exec(options)?.[1]);
  if (value >= 10 && value <= DEFAULT_FILLFACTOR) return value;
  throw damaged(`table "${name}" has reloptions "${options}" in bw_class`);
}

/** The columns that rows of bw_attribute, in order, describe. @throws StorageError XX001 */
export function descriptorOf(
  name: string,
  attributes: readonly CatalogRow[],
  what: 'table' | 'index',
): TupleDescriptor {
  const seen = new Set<string>();
  return TupleDescriptor.of(
    attributes.map(({ values: [, number, column, typeOid, typmod, notNull] }, index) => {
      const type = columnType(typeOid as Oid, typmod as number, notNull !== true);
      if (type === undefined || number !== index + 1 || seen.has(String(column))) {
        throw damaged(
          `column ${index + 1} of ${what} "${name}" has number ${String(number)}, name "${String(column)}" and type ${String(typeOid)}`,
        );
      }
      seen.add(String(column));
      return { name: String(column), type };
    }),
  );
}

/** The type with these numbers; undefined when there is none, or none of this modifier. */
function columnType(typeOid: Oid, typmod: number, nullable: boolean): ColumnType<unknown> | undefined {
  try {
    return columnTypeOf(typeOid, typmod, nullable);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
