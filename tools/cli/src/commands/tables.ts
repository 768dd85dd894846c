// `blockwright tables`: lists the tables of a data directory, ours or PostgreSQL's, each with its indexes.
import { Command, Option } from 'commander';
import type { Context } from '../context.ts';
import { addExamples, databaseOption, dataDirectory, dataOption, jsonOption } from '../options.ts';
import { formatBytes, formatCount } from '../output/format.ts';
import { type ListedIndex, type ListedTable, openTables, type TableSource } from '../sources.ts';

interface Options {
  readonly directory?: string;
  readonly database?: string;
  readonly all?: boolean;
  readonly count?: boolean;
  readonly json?: boolean;
}

/** A table with what the command adds to it. */
interface PrintedTable extends ListedTable {
  readonly rows?: number;
  readonly indexes: readonly ListedIndex[];
}

export function tablesCommand(context: Context): Command {
  const command = new Command('tables')
    .description("list the tables of a data directory, ours or PostgreSQL's, and their indexes")
    .argument('[dir]', 'the same as -D')
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(new Option('-a, --all', 'the catalogs too'))
    .addOption(new Option('-c, --count', 'count the visible rows, which reads the tables'))
    .addOption(jsonOption())
    .action((argument: string | undefined, options: Options) => listTables(context, argument, options));
  return addExamples(command, [
    ['blockwright tables -D ./data --count', 'names, rows, pages, sizes; indexes below their tables'],
    ['blockwright tables -D /var/lib/postgresql/16/main', "the tables of a PostgreSQL's directory"],
  ]);
}

async function listTables(context: Context, argument: string | undefined, options: Options): Promise<void> {
  const directory = dataDirectory(context, options, argument);
  const source = await openTables(context, directory, options.database);
  let tables: PrintedTable[];
  try {
    tables = source.tables
      .filter((table) => options.all === true || !table.isCatalog)
      .map((table) => ({
        ...(options.count === true ? countRows(context, source, table) : table),
        indexes: source.indexesOf(table),
      }));
  } finally {
    source.close();
  }
  if (options.json === true) {
    context.json(tables);
    return;
  }
  if (tables.length === 0) {
    context.message('there are no tables; with --all, the catalogs are listed');
    return;
  }
  await printTables(context, tables, options.count === true);
}

/** A count never fails for rows of unknown fate: their number is said. */
function countRows(context: Context, source: TableSource, table: ListedTable): ListedTable & { rows: number } {
  const { rows, unknown } = source.count(table, 'skip');
  if (unknown > 0) {
    context.warning(`${table.name}: ${unknown} more rows are not counted, whose fate only the commit log knows`);
  }
  return { ...table, rows };
}

async function printTables(context: Context, tables: readonly PrintedTable[], counted: boolean): Promise<void> {
  const { formatTable } = await import('../output/table.ts');
  const right = { align: 'right' } as const;
  const columns = [
    { title: 'table' },
    { title: 'columns', ...right },
    ...(counted ? [{ title: 'rows', ...right }] : []),
    { title: 'pages', ...right },
    { title: 'size', ...right },
    { title: 'file' },
  ];
  const line = (name: string, of: ListedTable | ListedIndex, columns: number, rows: string): string[] => [
    name,
    String(columns),
    ...(counted ? [rows] : []),
    formatCount(of.pages),
    formatBytes(of.bytes),
    of.path,
  ];
  const rows = tables.flatMap((table) => [
    line(table.name, table, table.columns, formatCount(table.rows ?? 0)),
    ...table.indexes.map((index) => line(`  ${index.name}`, index, index.columns.length + index.include.length, '')),
  ]);
  context.out.write(formatTable(columns, rows, context.colors));
}
