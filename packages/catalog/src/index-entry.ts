// An index as the catalogs know it, and its rows of bw_class, bw_attribute and bw_index that say so.
import type { Oid } from '@blockwright/base';
import { INDEX_MAX_KEYS, type KeyOrder, TupleDescriptor } from '@blockwright/tuple';
import { type CatalogRow, type CatalogTid, damaged, descriptorOf, type TableShape } from './entry.ts';

/** What DDL says of an index. */
export interface IndexShape {
  readonly oid: Oid;
  readonly name: string;
  readonly relfilenode: Oid;
  /** Object id of its table. */
  readonly table: Oid;
  /** Of each of its columns the table's, counted from 0: key columns, then those that are only carried along. */
  readonly columns: readonly number[];
  /** One a key column. */
  readonly keys: readonly KeyOrder[];
  readonly isUnique: boolean;
  readonly isPrimary: boolean;
  /** Of a unique index: two nulls are the same key. */
  readonly nullsNotDistinct: boolean;
  /** Of its columns, named as the table's. */
  readonly descriptor: TupleDescriptor;
  readonly persistence: 'p' | 'u';
  /** 10 to 100: per cent of a leaf page that a build fills. */
  readonly fillfactor: number;
  /** Whether equal keys are stored once. */
  readonly deduplicate: boolean;
}

/** An index as the catalogs know it. */
export interface IndexEntry extends IndexShape {
  /** Its row of bw_class, those of bw_attribute in the columns' order, and that of bw_index. */
  readonly row: CatalogTid;
  readonly attributeRows: readonly CatalogTid[];
  readonly indexRow: CatalogTid;
}

/** Of an index whose reloptions do not say. PostgreSQL: `BTREE_DEFAULT_FILLFACTOR`. */
export const DEFAULT_INDEX_FILLFACTOR = 90;

const DESCENDING = 1;
const NULLS_FIRST = 2;

/** The descriptor of an index over these columns of a table. */
export function indexDescriptor(table: TupleDescriptor, columns: readonly number[]): TupleDescriptor {
  return TupleDescriptor.of(columns.map((column) => table.columns[column]));
}

/** Values of an index's row of bw_class. */
export function indexClassRow(index: IndexShape): unknown[] {
  const { oid, name, relfilenode, descriptor, persistence, fillfactor, deduplicate } = index;
  const options: string[] = [];
  if (fillfactor !== DEFAULT_INDEX_FILLFACTOR) options.push(`fillfactor=${fillfactor}`);
  if (!deduplicate) options.push('deduplicate_items=off');
  const reloptions = options.length === 0 ? null : options.join(',');
  return [oid, name, 'i', relfilenode, descriptor.columns.length, persistence, reloptions];
}

/** Values of its row of bw_index. */
export function indexRow(index: IndexShape): unknown[] {
  const { oid, table, columns, keys, isUnique, nullsNotDistinct, isPrimary } = index;
  const indkey = columns.map((column) => column + 1).join(' ');
  const indoption = keys
    .map(({ descending, nullsFirst }) => (descending ? DESCENDING : 0) | (nullsFirst ? NULLS_FIRST : 0))
    .join(' ');
  return [oid, table, columns.length, keys.length, isUnique, nullsNotDistinct, isPrimary, indkey, indoption];
}

/** The rows of one index. */
export interface IndexRows {
  readonly class: CatalogRow;
  readonly index: CatalogRow;
  readonly attributes: CatalogRow[];
}

/**
 * The index that its rows describe.
 * @throws StorageError XX001 when they contradict each other or its table, or say what cannot be.
 */
export function indexEntryOf(rows: IndexRows, table: TableShape): IndexEntry {
  const [oid, relname, , relfilenode, relnatts, persistence, reloptions] = rows.class.values;
  const [, , natts, keyCount, isUnique, nullsNotDistinct, isPrimary, indkey, indoption] = rows.index.values;
  const name = String(relname);
  const columns = numbers(indkey).map((number) => number - 1);
  const options = numbers(indoption);
  const counts = [relnatts, natts, columns.length, rows.attributes.length];
  if (counts.some((count) => count !== columns.length) || columns.length < 1 || columns.length > INDEX_MAX_KEYS) {
    throw damaged(`index "${name}" has ${counts.join(', ')} columns in bw_class, bw_index, indkey and bw_attribute`);
  }
  if (options.length !== keyCount || options.length < 1 || options.length > columns.length) {
    throw damaged(
      `index "${name}" has indnkeyatts ${String(keyCount)} and indoption "${String(indoption)}" in bw_index`,
    );
  }
  if (options.some((option) => !(option >= 0 && option <= (DESCENDING | NULLS_FIRST)))) {
    throw damaged(`index "${name}" has indoption "${String(indoption)}" in bw_index`);
  }
  if (columns.some((column) => table.descriptor.columns[column] === undefined)) {
    throw damaged(`index "${name}" has indkey "${String(indkey)}" in bw_index, beyond its table's columns`);
  }
  if (persistence !== table.persistence) {
    throw damaged(`index "${name}" has relpersistence "${String(persistence)}" and its table "${table.persistence}"`);
  }
  rows.attributes.sort((a, b) => (a.values[1] as number) - (b.values[1] as number));
  const descriptor = indexDescriptor(table.descriptor, columns);
  if (text(descriptorOf(name, rows.attributes, 'index')) !== text(descriptor)) {
    throw damaged(`the columns of index "${name}" in bw_attribute are not those of table "${table.name}"`);
  }
  return {
    oid: oid as Oid,
    name,
    relfilenode: relfilenode as Oid,
    table: table.oid,
    columns,
    keys: options.map((option) => ({
      descending: (option & DESCENDING) !== 0,
      nullsFirst: (option & NULLS_FIRST) !== 0,
    })),
    isUnique: isUnique === true,
    isPrimary: isPrimary === true,
    nullsNotDistinct: nullsNotDistinct === true,
    descriptor,
    persistence: table.persistence,
    ...optionsOf(name, reloptions as string | null),
    row: rows.class.tid,
    attributeRows: rows.attributes.map(({ tid }) => tid),
    indexRow: rows.index.tid,
  };
}

function numbers(list: unknown): number[] {
  return /^\d+(?: \d+)*$/.test(String(list)) ? String(list).split(' ').map(Number) : [];
}

function optionsOf(name: string, reloptions: string | null): { fillfactor: number; deduplicate: boolean } {
  const found = /^(?:fillfactor=(\d{2,3})(?:,|$))?(deduplicate_items=off)?$/.exec(reloptions ?? '');
  const fillfactor = Number(found?.[1] ?? DEFAULT_INDEX_FILLFACTOR);
  if (found === null || !(fillfactor >= 10 && fillfactor <= 100)) {
    throw damaged(`index "${name}" has reloptions "${reloptions}" in bw_class`);
  }
  return { fillfactor, deduplicate: found[2] === undefined };
}

function text(descriptor: TupleDescriptor): string {
  return JSON.stringify(descriptor.columns.map(({ name, type }) => [name, type.oid, type.typmod, type.isNullable]));
}
