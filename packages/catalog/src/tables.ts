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
    { name: 'reloptions', type: text().nullable() }, // name=value with commas between, such as fillfactor=85
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
    { name: 'indisunique', type: bool() },
    { name: 'indisprimary', type: bool() },
    { name: 'indkey', type: text() }, // column numbers with spaces between
  ]),
};

/** All of them, in the order in which bootstrap makes them. */
export const CATALOG_TABLES: readonly CatalogTable[] = [BW_CLASS, BW_ATTRIBUTE, BW_INDEX];

/** The first object id that is not a catalog's. PostgreSQL: `FirstNormalObjectId`, transam.h. */
export const FIRST_NORMAL_OID = 0x4000; // 16384
