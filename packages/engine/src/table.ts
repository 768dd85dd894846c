// How a table is declared: a name and typed columns, from which row types follow.
import { checkOptions } from '@blockwright/base';
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
}

/** How a table is kept. */
export interface TableOptions {
  /** 10 to 100, the default. PostgreSQL: the storage parameter of that name. */
  readonly fillfactor?: number;
  /** true: changes are not logged, and after a crash the table is empty. PostgreSQL: UNLOGGED. */
  readonly unlogged?: boolean;
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
 * Declares a table: `table('part', { p_partkey: int4(), p_name: varchar(55) }, { fillfactor: 85 })`.
 * @throws RangeError for an empty or too long name (63 bytes of UTF-8), more than 1600 columns, or a wrong fillfactor.
 */
export function table<const Columns extends ColumnTypes>(
  name: string,
  columns: Columns,
  options: TableOptions = {},
): TableDef<Columns> {
  checkName('table', name);
  checkOptions(`table "${name}"`, options, ['fillfactor', 'unlogged']);
  const { fillfactor = MOST_FILLFACTOR, unlogged = false } = options;
  if (!Number.isInteger(fillfactor) || fillfactor < LEAST_FILLFACTOR || fillfactor > MOST_FILLFACTOR) {
    throw new RangeError(
      `fillfactor ${String(fillfactor)} of table "${name}" is not an integer from ${LEAST_FILLFACTOR} to ${MOST_FILLFACTOR}`,
    );
  }
  const names = Object.keys(columns);
  if (names.length > MOST_COLUMNS)
    throw new RangeError(`table "${name}" has ${names.length} columns; the most is ${MOST_COLUMNS}`);
  for (const column of names) checkName('column', column);
  const descriptor = TupleDescriptor.of(
    names.map((column) => ({ name: column, type: columns[column] as ColumnType<unknown> })),
  );
  return Object.freeze({ name, columns, descriptor, fillfactor, unlogged });
}

function checkName(what: string, name: string): void {
  const bytes = new TextEncoder().encode(name).length;
  if (bytes === 0 || bytes > LONGEST_NAME_BYTES || name.includes('\0')) {
    throw new RangeError(
      `${what} name ${JSON.stringify(name)} must be 1 to ${LONGEST_NAME_BYTES} bytes long, without NUL`,
    );
  }
}
