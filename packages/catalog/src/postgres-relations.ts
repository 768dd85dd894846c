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
import { missingValue } from './missing-value.ts';

/** A relation as pg_class lists it. */
export interface PostgresRelation {
  readonly oid: Oid;
  readonly schema: string;
  readonly name: string;
  /** `r` table, `i` index, `t` TOAST table, `m` materialized view, `S` sequence, … */
  readonly kind: string;
  /** Object id of its access method: of an index 403 for btree. */
  readonly accessMethod: Oid;
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
}

/** A row of a catalog, the columns that were asked for by name. */
export type CatalogRow = Readonly<Record<string, unknown>>;

/** The columns that rows of pg_attribute describe. @throws RangeError, TypeError or StorageError when they cannot be. */
export function describeColumns(
  relation: string,
  rows: readonly CatalogRow[],
): Pick<PostgresTable, 'descriptor' | 'unreadable'> {
  const unreadable = new Map<string, Oid>();
  const columns = rows.map((row, index): ColumnDefinition => {
    const attnum = row.attnum as number;
    if (attnum !== index + 1) {
      throw new StorageError('XX001', `pg_attribute is damaged: column ${index + 1} of "${relation}" is missing`);
    }
    const align = row.attalign as AttAlign;
    if (!'csid'.includes(align) || align.length !== 1) throw new RangeError(`"${String(align)}" is no alignment`);
    if (row.attisdropped === true) return droppedColumn(attnum, row.attlen as number, align);
    const name = String(row.attname);
    const nullable = row.attnotnull !== true;
    const missing = missingOf(row, align);
    const known = columnTypeOf(row.atttypid as Oid, row.atttypmod as number, nullable);
    if (known !== undefined) return { name, type: known, missing };
    unreadable.set(name, row.atttypid as Oid);
    const type = opaque(row.attlen as number, align, row.atttypid as Oid, row.atttypmod as number);
    return { name, type: (nullable ? type.nullable() : type) as ColumnDefinition['type'], missing };
  });
  return { descriptor: TupleDescriptor.of(columns), unreadable };
}

function missingOf(row: CatalogRow, align: AttAlign): Uint8Array | undefined {
  const { attmissingval } = row;
  if (!(attmissingval instanceof Uint8Array)) return undefined;
  return missingValue(attmissingval, row.atttypid as Oid, row.attlen as number, align);
}
