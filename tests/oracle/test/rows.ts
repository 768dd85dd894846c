// The rows that are written on both sides.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type LoadBatch, PostgresDatabase, type Scan, type TableDef, table } from '@blockwright/engine';
import type { PostgresServer } from '@blockwright/peers';

const FIXTURES = fileURLToPath(new URL('../../../fixtures/pg/', import.meta.url));

export type AnyRow = Record<string, unknown>;

/** A table of the fixtures with its rows in ascending order of `keys`. */
export function fixtureRows(name: string, keys: readonly string[]): { definition: TableDef; rows: AnyRow[] } {
  const postgres = PostgresDatabase.open(`${FIXTURES}8k/pgdata`);
  try {
    const { columns } = postgres.table(name);
    const rows: AnyRow[] = [...postgres.scan(postgres.table(name), { columns: Object.keys(columns) }).rows()];
    for (const key of [...keys].reverse()) rows.sort((a, b) => Number(a[key]) - Number(b[key]));
    return { definition: table(name, columns), rows };
  } finally {
    postgres.close();
  }
}

/** The statements of the fixtures' seed that begin with one of `starts`, in order. */
export function seedStatements(...starts: string[]): string[] {
  return readFileSync(`${FIXTURES}seed.sql`, 'utf8')
    .split(/;[^\n']*\n/)
    .map((statement) => statement.replaceAll(/^(--|\\).*\n/gm, '').trim())
    .filter((statement) => starts.some((start) => statement.startsWith(start)));
}

/** The batches of a scan as a load takes them. */
export function* eachBatch(scan: Scan<TableDef, string>): Generator<LoadBatch> {
  for (const { length, vectors } of scan) yield { length, columns: vectors };
}

const NULL = '\\N';

/** Every row of a table as the server prints its columns, joined by `|`, in ascending order of the text's bytes. */
export async function theirRows(server: PostgresServer, name: string): Promise<string[]> {
  const columns = await server.query(
    'SELECT quote_ident(attname) AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum',
    [name],
  );
  // format() prints as the type's output function does; a cast to text would cut the blanks off a char(n).
  const texts = columns.map(({ name: c }) => `CASE WHEN ${c} IS NULL THEN '${NULL}' ELSE format('%s', ${c}) END`);
  const rows = await server.query(
    `SELECT array_to_string(ARRAY[${texts.join(', ')}]::text[], '|') AS row FROM ${name} ORDER BY 1`,
  );
  return rows.map(({ row }) => String(row));
}

/** The same of the rows that we read. */
export function ourRows(postgres: PostgresDatabase, name: string): string[] {
  const definition = postgres.table(name);
  const columns = Object.entries(definition.columns);
  const rows: Buffer[] = [];
  for (const row of postgres.scan(definition, { columns: columns.map(([column]) => column) }).rows()) {
    const texts = columns.map(([column, type]) => (row[column] === null ? NULL : type.toText(row[column])));
    rows.push(Buffer.from(texts.join('|')));
  }
  return rows.sort(Buffer.compare).map(String);
}

/** Where two lists differ, in words; undefined when nowhere. */
export function firstDifference(ours: readonly string[], theirs: readonly string[]): string | undefined {
  const at = ours.findIndex((row, i) => row !== theirs[i]);
  if (at >= 0) return `row ${at}: ${ours[at]} instead of ${theirs[at]}`;
  return ours.length === theirs.length ? undefined : `${ours.length} rows instead of ${theirs.length}`;
}
