// How an index is asked for, and what that comes to: columns by number, the order of each, and a name that PostgreSQL would
// give it.
import { checkFlag, checkOptions } from '@blockwright/base';
import { type CatalogEntry, DEFAULT_INDEX_FILLFACTOR } from '@blockwright/catalog';
import type { KeyOrder } from '@blockwright/tuple';
import { columnIndexes } from './scan.ts';
import { checkIndexShape, type KeyOptions } from './table.ts';

/** A key column and its order. */
export interface IndexColumn<Name extends string = string> {
  readonly column: Name;
  /** false if not given. */
  readonly descending?: boolean;
  /** Whether nulls come before all other values; if not given, when descending. */
  readonly nullsFirst?: boolean;
}

/** An index to create. */
export interface IndexOptions<Name extends string = string> {
  /** Key columns: ascending and nulls last, unless said otherwise. */
  readonly columns: readonly (Name | IndexColumn<Name>)[];
  /** `table_a_b_idx` if not given. */
  readonly name?: string;
  /** Columns that are carried along, so that scans need not ask the table. PostgreSQL: INCLUDE. */
  readonly include?: readonly Name[];
  /** true: no two rows have equal keys. */
  readonly unique?: boolean;
  /** Of a unique index: true, two nulls are the same key. PostgreSQL: NULLS NOT DISTINCT. */
  readonly nullsNotDistinct?: boolean;
  /** 10 to 100: per cent of a leaf page that a build fills, 90 if not given. */
  readonly fillfactor?: number;
  /** false: entries of equal keys are not stored together. PostgreSQL: `deduplicate_items`. */
  readonly deduplicate?: boolean;
}

/** An index to be made, its columns known. */
export interface IndexSpec {
  readonly name: string | undefined;
  /** Of each column the table's, key columns first. */
  readonly columns: readonly number[];
  readonly keys: readonly KeyOrder[];
  readonly isUnique: boolean;
  readonly isPrimary: boolean;
  readonly nullsNotDistinct: boolean;
  readonly fillfactor: number;
  readonly deduplicate: boolean;
  /** What a name that is not given ends in. */
  readonly suffix: 'pkey' | 'key' | 'idx';
}

const KNOWN_OPTIONS = ['columns', 'name', 'include', 'unique', 'nullsNotDistinct', 'fillfactor', 'deduplicate'];

const INDEX_FLAGS = ['unique', 'nullsNotDistinct', 'deduplicate'] as const;

/** @throws TypeError, RangeError for options that cannot be; StorageError 42703 for a column that there is not. */
export function indexSpecOf(table: CatalogEntry, options: IndexOptions): IndexSpec {
  const what = `an index of table "${table.name}"`;
  checkOptions(what, options, KNOWN_OPTIONS);
  for (const flag of INDEX_FLAGS) checkFlag(what, flag, options[flag]);
  if (!Array.isArray(options.columns)) throw new TypeError(`${what} has no list of columns`);
  const columns = options.columns.map((column) => (typeof column === 'string' ? { column } : column));
  for (const column of columns) {
    checkOptions(`a column of ${what}`, column, ['column', 'descending', 'nullsFirst']);
    checkFlag(`column "${column.column}" of ${what}`, 'descending', column.descending);
    checkFlag(`column "${column.column}" of ${what}`, 'nullsFirst', column.nullsFirst);
  }
  const names = columns.map(({ column }) => column);
  const { name, include = [], unique = false, nullsNotDistinct = false, fillfactor, deduplicate = true } = options;
  checkIndexShape(what, { columns: names, include, name, fillfactor });
  return {
    name,
    columns: columnIndexes(table.name, table.descriptor, [...names, ...include]),
    keys: columns.map(({ descending = false, nullsFirst = descending }) => ({ descending, nullsFirst })),
    isUnique: unique,
    isPrimary: false,
    nullsNotDistinct,
    fillfactor: fillfactor ?? DEFAULT_INDEX_FILLFACTOR,
    deduplicate,
    suffix: 'idx',
  };
}

/** The index of a table's key. */
export function keySpecOf(table: CatalogEntry, key: KeyOptions, isPrimary: boolean): IndexSpec {
  const { columns, include = [], ...rest } = key;
  return {
    ...indexSpecOf(table, { ...rest, columns, include, unique: true }),
    isPrimary,
    suffix: isPrimary ? 'pkey' : 'key',
  };
}

/** PostgreSQL: `NAMEDATALEN` less one. */
const LONGEST_NAME_BYTES = 63;

/** The name that an index gets when none is given, the first that is free. PostgreSQL: `ChooseIndexName`, indexcmds.c. */
export function chosenName(table: CatalogEntry, spec: IndexSpec, isTaken: (name: string) => boolean): string {
  const columns = spec.columns.map((column) => table.descriptor.columns[column].name).join('_');
  for (let number = 0; ; number++) {
    const end = number === 0 ? spec.suffix : `${spec.suffix}${number}`;
    const name = objectName(table.name, spec.isPrimary ? undefined : columns, end);
    if (!isTaken(name)) return name;
  }
}

/** The parts joined, the longer of the first two cut so that all fits. PostgreSQL: `makeObjectName`. */
function objectName(table: string, columns: string | undefined, end: string): string {
  const encoder = new TextEncoder();
  const first = encoder.encode(table);
  const second = encoder.encode(columns ?? '');
  const room = LONGEST_NAME_BYTES - encoder.encode(end).length - 1 - (columns === undefined ? 0 : 1);
  let [a, b] = [first.length, second.length];
  while (a + b > room) {
    if (a > b) a--;
    else b--;
  }
  return [cut(first, a), ...(columns === undefined ? [] : [cut(second, b)]), end].join('_');
}

/** The first bytes, and no half character. */
function cut(bytes: Uint8Array, length: number): string {
  let end = length;
  while (end > 0 && end < bytes.length && (bytes[end] & 0xc0) === 0x80) end--;
  return new TextDecoder().decode(bytes.subarray(0, end));
}
