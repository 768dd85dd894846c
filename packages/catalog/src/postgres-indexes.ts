// Indexes of a PostgreSQL database as pg_index lists them, and which of them can be read here: B-trees over plain columns,
// in an order that is known. Of the others it is known why not.
import { type Oid, StorageError } from '@blockwright/base';
import type { KeyOrder } from '@blockwright/tuple';
import type { CatalogRow, PostgresRelation, PostgresTable } from './postgres-relations.ts';

/** An index of a table. */
export interface PostgresIndex extends PostgresRelation {
  readonly isUnique: boolean;
  readonly isPrimary: boolean;
  readonly nullsNotDistinct: boolean;
  /** `btree`, `hash`, …; a number when pg_am is not there to tell. */
  readonly method: string;
  /** Of each column of the index the table's, counted from 0, key columns first; -1 for an expression. */
  readonly columns: readonly number[];
  /** One a key column. */
  readonly keys: readonly KeyOrder[];
  /** Why it cannot be scanned here; undefined when it can. */
  readonly refusal: string | undefined;
}

/** What is known of the database beside the index's own rows. */
export interface IndexContext {
  /** Names of access methods by object id. */
  readonly methods: ReadonlyMap<Oid, string>;
  /** Names of the operator classes that PostgreSQL brings along for B-trees, by object id. */
  readonly operatorClasses: ReadonlyMap<Oid, string>;
  /** Whether text without a collation of its own is ordered by its bytes. */
  readonly isDefaultCollationC: boolean;
}

const BTREE: Oid = 403;
const PG_CATALOG: Oid = 11;
const DEFAULT_COLLATION: Oid = 100;
/** C, POSIX, and PostgreSQL's own order of UTF-8 by code points. PostgreSQL: pg_collation.dat. */
const BYTEWISE_COLLATIONS: readonly Oid[] = [0, 950, 951, 811];
const DESCENDING = 1;
const NULLS_FIRST = 2;

/** Operator classes whose order is known, and whether it depends on the collation. */
const ORDERS: ReadonlyMap<string, boolean> = new Map([
  ...['bool', 'int2', 'int4', 'int8', 'float4', 'float8', 'numeric', 'date', 'timestamptz'].map(plain),
  ...['bytea', 'uuid', 'oid', 'char', 'name', 'text_pattern', 'varchar_pattern', 'bpchar_pattern'].map(plain),
  ...['text', 'varchar', 'bpchar'].map((name) => [`${name}_ops`, true] as const),
]);

/** Those whose object ids are the same in every version. PostgreSQL: pg_opclass.dat. */
export const FIXED_OPERATOR_CLASSES: ReadonlyMap<Oid, string> = new Map([
  [1978, 'int4_ops'],
  [1979, 'int2_ops'],
  [1981, 'oid_ops'],
  [3122, 'date_ops'],
  [3123, 'float8_ops'],
  [3124, 'int8_ops'],
  [3125, 'numeric_ops'],
  [3126, 'text_ops'],
  [3127, 'timestamptz_ops'],
  [4217, 'text_pattern_ops'],
  [4218, 'varchar_pattern_ops'],
  [4219, 'bpchar_pattern_ops'],
]);

function plain(name: string): readonly [string, boolean] {
  return [`${name}_ops`, false];
}

/** Operator classes of B-trees that PostgreSQL brings along, from rows of pg_opclass. */
export function operatorClassesOf(rows: readonly CatalogRow[]): ReadonlyMap<Oid, string> {
  return new Map(
    rows
      .filter((row) => row.opcmethod === BTREE && row.opcnamespace === PG_CATALOG)
      .map((row) => [row.oid as Oid, String(row.opcname)]),
  );
}

/**
 * The index that a row of pg_index describes.
 * @throws StorageError XX001 when it is damaged.
 */
export function describeIndex(
  row: CatalogRow,
  relation: PostgresRelation,
  table: PostgresTable,
  context: IndexContext,
): PostgresIndex {
  const columns = vector(relation, 'indkey', row.indkey, 2).map((number) => (number >= 1 ? number - 1 : -1));
  const options = vector(relation, 'indoption', row.indoption, 2);
  const keyCount = row.indnkeyatts as number;
  const count = row.indnatts as number;
  const isWhole = columns.length === count && keyCount >= 1 && keyCount <= count && options.length === keyCount;
  if (!isWhole || columns.some((column) => column >= table.descriptor.columns.length)) {
    throw damaged(relation, `its ${count} columns, ${keyCount} of them keys, do not go together`);
  }
  return {
    ...relation,
    isUnique: row.indisunique === true,
    isPrimary: row.indisprimary === true,
    nullsNotDistinct: row.indnullsnotdistinct === true,
    method: context.methods.get(relation.accessMethod) ?? String(relation.accessMethod),
    columns,
    keys: options.map((option) => ({
      descending: (option & DESCENDING) !== 0,
      nullsFirst: (option & NULLS_FIRST) !== 0,
    })),
    refusal: refusalOf(row, relation, table, columns, context),
  };
}

function refusalOf(
  row: CatalogRow,
  relation: PostgresRelation,
  table: PostgresTable,
  columns: readonly number[],
  context: IndexContext,
): string | undefined {
  const method = context.methods.get(relation.accessMethod) ?? `with object id ${relation.accessMethod}`;
  if (relation.accessMethod !== BTREE) return `its access method, ${method}, is not read: only btree is`;
  if (relation.kind !== 'i') return 'it is the index of a partitioned table, and has no files';
  if (columns.includes(-1)) return 'it has an expression among its columns, which is not evaluated here';
  if (row.indpred !== null) return 'it is partial: it has entries for some rows only';
  if (row.indisvalid !== true || row.indisready !== true || row.indislive !== true) {
    return 'it is not valid: its building, or its dropping, was not finished';
  }
  const unreadable = columns.find((column) => table.unreadable.has(table.descriptor.columns[column].name));
  if (unreadable !== undefined) {
    return `column "${table.descriptor.columns[unreadable].name}" has a type that is not read`;
  }
  const classes = vector(relation, 'indclass', row.indclass, 4);
  const collations = vector(relation, 'indcollation', row.indcollation, 4);
  for (let i = 0; i < classes.length; i++) {
    const { name } = table.descriptor.columns[columns[i]];
    const known = context.operatorClasses.get(classes[i]);
    const needsCollation = known === undefined ? undefined : ORDERS.get(known);
    if (needsCollation === undefined) {
      return `the order of column "${name}" is not known: operator class ${known ?? classes[i]}`;
    }
    const isBytewise =
      collations[i] === DEFAULT_COLLATION ? context.isDefaultCollationC : BYTEWISE_COLLATIONS.includes(collations[i]);
    if (needsCollation && !isBytewise) {
      return `column "${name}" is ordered by a collation other than C (object id ${collations[i]})`;
    }
  }
  return undefined;
}

/**
 * The numbers of an int2vector or oidvector without its varlena header: an array of one dimension and no nulls. After
 * ndim, dataoffset, elemtype, dim and lbound, of 4 bytes each, come the elements. PostgreSQL: c.h.
 */
function vector(relation: PostgresRelation, field: string, value: unknown, width: 2 | 4): number[] {
  const bytes = value as Uint8Array;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const count = bytes.length >= ARRAY_HEADER ? view.getInt32(12, true) : -1;
  if (count < 0 || ARRAY_HEADER + count * width !== bytes.length) throw damaged(relation, `its ${field} is no vector`);
  return Array.from({ length: count }, (_, i) =>
    width === 2 ? view.getInt16(ARRAY_HEADER + i * 2, true) : view.getUint32(ARRAY_HEADER + i * 4, true),
  );
}

const ARRAY_HEADER = 20;

function damaged({ name }: PostgresRelation, detail: string): StorageError {
  return new StorageError('XX001', `pg_index is damaged: index "${name}"`, { detail });
}
