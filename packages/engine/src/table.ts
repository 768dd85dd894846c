// How a table is declared: a name and typed columns, from which row types follow.
import { checkFlag, checkOptions } from '@blockwright/base';
import { type ColumnType, TupleDescriptor } from '@blockwright/tuple';

/** Column names to column types, in the table's order. */
export type ColumnTypes = Readonly<Record<string, ColumnType<unknown>>>;

/** A table as declared, or as read from the catalogs. */
export interface TableDef<Columns extends ColumnTypes = ColumnTypes> {
  readonly name: string;
  readonly columns: Columns;
  readonly descriptor: TupleDescriptor;
  /** Per cent of a page that inserts fill; updates use the rest, to keep a row's versions together. 100 if not given. */
  readonly fillfactor?: number;
  /** Nothing of it is logged: after a crash it is empty. */
  readonly unlogged?: boolean;
  readonly primaryKey?: KeyOptions | undefined;
  readonly unique?: readonly KeyOptions[];
}

/** A primary key, or a unique one: an index is made for it with its table. */
export interface KeyOptions<Name extends string = string> {
  readonly columns: readonly Name[];
  /** Of its index; `part_pkey`, or `part_a_b_key`, if not given. */
  readonly name?: string;
  /** Columns that its index carries along, so that look-ups need not ask the table. */
  readonly include?: readonly Name[];
  /** 10 to 100: per cent of a leaf page that a build fills, 90 if not given. */
  readonly fillfactor?: number;
  /** false: entries of equal keys are not stored together. */
  readonly deduplicate?: boolean;
  /** Of a unique key: true, two nulls are the same key. PostgreSQL: NULLS NOT DISTINCT. */
  readonly nullsNotDistinct?: boolean;
}

/** How a table's key is given: its columns alone, or with more about it. */
export type KeyDefinition<Name extends string> = readonly Name[] | KeyOptions<Name>;

/** How a table is kept. */
export interface TableOptions<Name extends string = string> {
  /** 10 to 100, the default. PostgreSQL: the storage parameter of that name. */
  readonly fillfactor?: number;
  /** true: changes are not logged, and after a crash the table is empty. PostgreSQL: UNLOGGED. */
  readonly unlogged?: boolean;
  /** Columns that tell rows apart and are never null: `['id']`, or `{ columns: ['id'], fillfactor: 85 }`. */
  readonly primaryKey?: KeyDefinition<Name>;
  /** Further keys that no two rows share: `[['a', 'b'], { columns: ['c'], include: ['d'] }]`. */
  readonly unique?: readonly KeyDefinition<Name>[];
}

type ValueOf<Type> = Type extends ColumnType<infer Value> ? Value : never;

/** The row type of a table: `Row<typeof lineitem>`. */
export type Row<Table extends TableDef> = { [Name in keyof Table['columns']]: ValueOf<Table['columns'][Name]> };

/** The column names of a table. */
export type ColumnName<Table extends TableDef> = keyof Table['columns'] & string;

/** PostgreSQL: `NAMEDATALEN` less one. */
const LONGEST_NAME_BYTES = 63;
/** PostgreSQL: `MaxHeapAttributeNumber`. */
const MOST_COLUMNS = 1600;
/** PostgreSQL: `HEAP_MIN_FILLFACTOR`. */
const LEAST_FILLFACTOR = 10;
const MOST_FILLFACTOR = 100;

/**
 * Declares a table: `table('part', { p_partkey: int4(), p_name: varchar(55) }, { primaryKey: ['p_partkey'] })`.
 * @throws RangeError for an empty or too long name (63 bytes of UTF-8), more than 1600 columns, a wrong fillfactor, or a key
 *   that cannot be; TypeError for a key's column that there is not.
 */
export function table<const Columns extends ColumnTypes>(
  name: string,
  columns: Columns,
  options: TableOptions<keyof Columns & string> = {},
): TableDef<Columns> {
  checkName('table', name);
  checkOptions(`table "${name}"`, options, ['fillfactor', 'unlogged', 'primaryKey', 'unique']);
  const { fillfactor = MOST_FILLFACTOR, unlogged = false } = options;
  checkFillfactor(`table "${name}"`, fillfactor);
  checkFlag(`table "${name}"`, 'unlogged', unlogged);
  const names = Object.keys(columns);
  if (names.length > MOST_COLUMNS)
    throw new RangeError(`table "${name}" has ${names.length} columns; the most is ${MOST_COLUMNS}`);
  for (const column of names) checkName('column', column);
  const descriptor = TupleDescriptor.of(
    names.map((column) => ({ name: column, type: columns[column] as ColumnType<unknown> })),
  );
  const { primaryKey, unique } = keysOf(name, descriptor, options);
  return Object.freeze({ name, columns, descriptor, fillfactor, unlogged, primaryKey, unique });
}

/** The keys as they are kept: each with its columns, known and told apart. */
function keysOf(
  table: string,
  descriptor: TupleDescriptor,
  { primaryKey, unique = [] }: TableOptions,
): Pick<TableDef, 'primaryKey' | 'unique'> {
  if (!Array.isArray(unique) || unique.some((key) => typeof key === 'string')) {
    throw new TypeError(`unique of table "${table}" is not a list of keys, such as [['a', 'b']]`);
  }
  const primary = primaryKey === undefined ? undefined : keyOf(`the primary key of table "${table}"`, primaryKey);
  for (const column of primary?.columns ?? []) {
    if (!descriptor.columns[descriptor.indexOf(column)].type.isNullable) continue;
    throw new RangeError(`column "${column}" is nullable, and in the primary key of table "${table}"`);
  }
  const keys = unique.map((key) => keyOf(`a unique key of table "${table}"`, key));
  for (const { columns, include = [] } of primary === undefined ? keys : [primary, ...keys]) {
    for (const column of [...columns, ...include]) descriptor.indexOf(column);
  }
  return { primaryKey: primary, unique: Object.freeze(keys) };
}

function keyOf(what: string, key: KeyDefinition<string>): KeyOptions {
  const options: KeyOptions = isList(key) ? { columns: key } : key;
  const known = ['columns', 'name', 'include', 'fillfactor', 'deduplicate', 'nullsNotDistinct'];
  checkOptions(what, options, known);
  checkFlag(what, 'deduplicate', options.deduplicate);
  checkFlag(what, 'nullsNotDistinct', options.nullsNotDistinct);
  checkIndexShape(what, options);
  return Object.freeze({ ...options });
}

function isList(key: KeyDefinition<string>): key is readonly string[] {
  return Array.isArray(key);
}

/** PostgreSQL: `INDEX_MAX_KEYS`. */
const MOST_INDEX_COLUMNS = 32;

/** What any index must keep to, that of a key too. @throws RangeError, TypeError */
export function checkIndexShape(
  what: string,
  options: { columns: readonly string[]; include?: readonly string[]; name?: string; fillfactor?: number },
): void {
  const { columns, include = [], name, fillfactor } = options;
  if (!Array.isArray(columns) || !Array.isArray(include)) throw new TypeError(`${what} has no list of columns`);
  const all = [...columns, ...include];
  if (columns.length === 0) throw new RangeError(`${what} has no columns`);
  if (all.length > MOST_INDEX_COLUMNS) {
    throw new RangeError(`${what} has ${all.length} columns; the most is ${MOST_INDEX_COLUMNS}`);
  }
  const twice = all.find((column, i) => all.indexOf(column) !== i);
  if (twice !== undefined) throw new RangeError(`${what} has column "${twice}" twice`);
  if (name !== undefined) checkName('index', name);
  if (fillfactor !== undefined) checkFillfactor(what, fillfactor);
}

function checkFillfactor(what: string, fillfactor: number): void {
  if (Number.isInteger(fillfactor) && fillfactor >= LEAST_FILLFACTOR && fillfactor <= MOST_FILLFACTOR) return;
  throw new RangeError(
    `fillfactor ${String(fillfactor)} of ${what} is not an integer from ${LEAST_FILLFACTOR} to ${MOST_FILLFACTOR}`,
  );
}

function checkName(what: string, name: string): void {
  if (typeof name !== 'string') throw new TypeError(`${what} name ${String(name)} is no string`);
  const bytes = new TextEncoder().encode(name).length;
  if (bytes === 0 || bytes > LONGEST_NAME_BYTES || name.includes('\0')) {
    throw new RangeError(
      `${what} name ${JSON.stringify(name)} must be 1 to ${LONGEST_NAME_BYTES} bytes long, without NUL`,
    );
  }
}

/**
 * The name of the table that a caller means.
 * @throws TypeError for what is no declaration of a table.
 */
export function nameOfTable(definition: TableDef): string {
  const given = definition as TableDef | undefined | null;
  if (typeof given === 'object' && given !== null && typeof given.name === 'string') return given.name;
  const is = typeof given === 'string' ? `"${String(given)}", a string` : given === null ? 'null' : typeof given;
  throw new TypeError(
    `a table is given as table() declares it, or as the database's table(name) gives it, not as ${is}`,
  );
}
