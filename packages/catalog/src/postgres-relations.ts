// What PostgreSQL's catalogs say of a relation and its columns.
import { type Oid, type RelationLocator, StorageError, type Xid } from '@blockwright/base';
import {
  type AttAlign,
  type ColumnDefinition,
  columnTypeOf,
  droppedColumn,
  opaque,
  TupleDescriptor,
} from '@blockwright/tuple';

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

/** A row of a catalog, the columns that were asked for by name. */
export type CatalogRow = Readonly<Record<string, unknown>>;

/** The columns that rows of pg_attribute describe. @throws RangeError, TypeError or StorageError when they cannot be. */
export function describeColumns(
  relation: PostgresRelation,
  rows: readonly CatalogRow[],
): Pick<PostgresTable, 'descriptor' | 'unreadable' | 'withMissingValue'> {
  const unreadable = new Map<string, Oid>();
  const withMissingValue = new Set<string>();
  const columns = rows.map((row, index): ColumnDefinition => {
    const attnum = row.attnum as number;
    if (attnum !== index + 1) {
      throw new StorageError('XX001', `pg_attribute is damaged: column ${index + 1} of "${relation.name}" is missing`);
    }
    const align = row.attalign as AttAlign;
    if (!'csid'.includes(align) || align.length !== 1) throw new RangeError(`"${String(align)}" is no alignment`);
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
