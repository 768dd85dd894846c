// What comparing an index's keys is made from: numbers alone, one kind an attribute. No name is in a plan, so none can
// reach generated code.

import { StorageError } from '@blockwright/base';
import type { ColumnType } from './column-type.ts';
import { type Column, type ColumnDefinition, TupleDescriptor } from './descriptor.ts';
import { INDEX_MAX_KEYS } from './index-header.ts';
import { cstring } from './types/catalog.ts';

/** The order of one key column. PostgreSQL: pg_index.indoption. */
export interface KeyOrder {
  readonly descending: boolean;
  /** Whether nulls come before all values; PostgreSQL's default is `true` for descending columns only. */
  readonly nullsFirst: boolean;
}

/** How the bytes of an attribute compare. */
export const KEY_BYTE = 0;
export const KEY_INT2 = 1;
export const KEY_INT4 = 2;
export const KEY_UINT4 = 3;
export const KEY_INT8 = 4;
export const KEY_FLOAT4 = 5;
export const KEY_FLOAT8 = 6;
/** A fixed number of bytes, as memcmp. */
export const KEY_FIXED = 7;
/** A varlena's bytes, as memcmp and then by length. */
export const KEY_BYTES = 8;
/** The same without blanks at the end: char(n). */
export const KEY_BLANKS = 9;
export const KEY_NUMERIC = 10;
/** Bytes up to a zero byte. */
export const KEY_CSTRING = 11;

const KINDS: Readonly<Record<string, number>> = {
  bool: KEY_BYTE,
  '"char"': KEY_BYTE,
  int2: KEY_INT2,
  int4: KEY_INT4,
  date: KEY_INT4,
  oid: KEY_UINT4,
  int8: KEY_INT8,
  timestamptz: KEY_INT8,
  float4: KEY_FLOAT4,
  float8: KEY_FLOAT8,
  uuid: KEY_FIXED,
  text: KEY_BYTES,
  varchar: KEY_BYTES,
  bytea: KEY_BYTES,
  char: KEY_BLANKS,
  numeric: KEY_NUMERIC,
  cstring: KEY_CSTRING,
};

/** A key attribute, as comparing needs to know it. */
export interface PlannedKey {
  readonly kind: number;
  readonly attlen: number;
  readonly alignment: number;
  readonly descending: boolean;
  readonly nullsFirst: boolean;
}

/**
 * The columns of an index as it stores them: a key of type `name` is a cstring.
 * @throws StorageError 42704 for a key of a type that has no order, 54000 for more than 32 columns; RangeError for
 *   another number of orders than 1 to the number of columns, or a dropped column.
 */
export function indexColumns(descriptor: TupleDescriptor, keyCount: number): TupleDescriptor {
  const { columns } = descriptor;
  if (columns.length > INDEX_MAX_KEYS)
    throw new StorageError('54000', `an index can have at most ${INDEX_MAX_KEYS} columns, not ${columns.length}`);
  if (keyCount < 1 || keyCount > columns.length)
    throw new RangeError(`an index of ${columns.length} columns cannot have ${keyCount} key columns`);
  const stored = columns.map((column, i) => {
    if (column.isDropped) throw new RangeError(`column ${i + 1} of the index is a dropped one`);
    return i < keyCount ? keyColumn(column) : column;
  });
  return stored.every((column, i) => column === columns[i]) ? descriptor : TupleDescriptor.of(stored);
}

function keyColumn(column: Column): Column | ColumnDefinition {
  const { name, type } = column;
  if (type.name === 'name') return { name, type: (type.isNullable ? cstring().nullable() : cstring()) as ColumnType };
  if (KINDS[type.name] === undefined)
    throw new StorageError('42704', `column "${name}" has a type without an order, ${type.sqlName}`, {
      hint: 'A column of such a type can be included in an index, but be no key.',
    });
  return column;
}

/** Plans the comparison of the key columns, in the order of the index. */
export function planKeys(descriptor: TupleDescriptor, keys: readonly KeyOrder[]): PlannedKey[] {
  return keys.map(({ descending, nullsFirst }, i) => ({
    kind: KINDS[descriptor.columns[i].type.name],
    attlen: descriptor.attlens[i],
    alignment: descriptor.alignments[i],
    descending,
    nullsFirst,
  }));
}

/** Plans the comparison of stored bytes, in no order that means something. */
export function planImages(keys: readonly PlannedKey[]): PlannedKey[] {
  return keys.map((key) => ({ ...key, kind: imageKind(key), descending: false, nullsFirst: false }));
}

function imageKind({ attlen }: PlannedKey): number {
  switch (attlen) {
    case -2:
      return KEY_CSTRING;
    case -1:
      return KEY_BYTES;
    case 1:
      return KEY_BYTE;
    case 2:
      return KEY_INT2;
    case 4:
      return KEY_INT4;
    case 8:
      return KEY_INT8;
    default:
      return KEY_FIXED;
  }
}

/** Whether keys that compare equal always have the same bytes. PostgreSQL: the opclass's `btequalimage`. */
export function isEqualImage({ kind }: PlannedKey): boolean {
  return kind !== KEY_NUMERIC && kind !== KEY_FLOAT4 && kind !== KEY_FLOAT8;
}
