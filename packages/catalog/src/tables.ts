// The catalogs themselves: heap tables like any other, whose names, numbers and columns bootstrap knows by heart.
import { bool, char, int2, int4, oid, TupleDescriptor, text } from '@blockwright/tuple';

/** A catalog as bootstrap makes it. */
export interface CatalogTable {
  readonly name: string;
  /** Object id, and file number too. */
  readonly oid: number;
  readonly descriptor: TupleDescriptor;
}

/** One row a relation. PostgreSQL: `pg_class`. */
export const BW_CLASS: CatalogTable = {
  name: 'bw_class',
  oid: 1259,
  descriptor: TupleDescriptor.of([
    { name: 'oid', type: oid() },
    { name: 'relname', type: text() },
    { name: 'relkind', type: char(1) }, // r table, i index
    { name: 'relfilenode', type: oid() },
    { name: 'relnatts', type: int2() },
    { name: 'relpersistence', type: char(1) }, // p permanent, u unlogged
    { name: 'reloptions', type: text().nullable() }, // name=value with commas between: fillfactor=85,deduplicate_items=off
  ]),
};

/** One row a column. PostgreSQL: `pg_attribute`. */
export const BW_ATTRIBUTE: CatalogTable = {
  name: 'bw_attribute',
  oid: 1249,
  descriptor: TupleDescriptor.of([
    { name: 'attrelid', type: oid() },
    { name: 'attnum', type: int2() },
    { name: 'attname', type: text() },
    { name: 'atttypid', type: oid() },
    { name: 'atttypmod', type: int4() },
    { name: 'attnotnull', type: bool() },
  ]),
};

/** One row an index. PostgreSQL: `pg_index`. */
export const BW_INDEX: CatalogTable = {
  name: 'bw_index',
  oid: 2610,
  descriptor: TupleDescriptor.of([
    { name: 'indexrelid', type: oid() },
    { name: 'indrelid', type: oid() },
    { name: 'indnatts', type: int2() }, // key columns, then those that are only carried along
    { name: 'indnkeyatts', type: int2() },
    { name: 'indisunique', type: bool() },
    { name: 'indnullsnotdistinct', type: bool() },
    { name: 'indisprimary', type: bool() },
    { name: 'indkey', type: text() }, // column numbers with spaces between
    { name: 'indoption', type: text() }, // a number a key column: 1 descending, 2 nulls first
  ]),
};

/** All of them, in the order in which bootstrap makes them. */
export const CATALOG_TABLES: readonly CatalogTable[] = [BW_CLASS, BW_ATTRIBUTE, BW_INDEX];

/** An index of a catalog as bootstrap makes it. */
export interface CatalogIndex {
  readonly name: string;
  readonly oid: number;
  readonly table: CatalogTable;
  readonly columns: readonly string[];
  readonly isUnique: boolean;
  readonly isPrimary: boolean;
}

/** All of them, under PostgreSQL's numbers; those of one table in the order of these. PostgreSQL: `DECLARE_UNIQUE_INDEX_PKEY` and the like, pg_class.h. */
export const CATALOG_INDEXES: readonly CatalogIndex[] = [
  unique('bw_class_oid_index', 2662, BW_CLASS, ['oid'], true),
  unique('bw_class_relname_index', 2663, BW_CLASS, ['relname'], false),
  unique('bw_attribute_relid_attnum_index', 2659, BW_ATTRIBUTE, ['attrelid', 'attnum'], true),
  { ...unique('bw_index_indrelid_index', 2678, BW_INDEX, ['indrelid'], false), isUnique: false },
  unique('bw_index_indexrelid_index', 2679, BW_INDEX, ['indexrelid'], true),
];

function unique(
  name: string,
  oid: number,
  table: CatalogTable,
  columns: readonly string[],
  isPrimary: boolean,
): CatalogIndex {
  return { name, oid, table, columns, isUnique: true, isPrimary };
}

/** The first object id that is not a catalog's. PostgreSQL: `FirstNormalObjectId`, transam.h. */
export const FIRST_NORMAL_OID = 0x4000; // 16384
