// `blockwright tables`: lists the tables of a data directory, ours or PostgreSQL's.
import { Command, Option } from 'commander';
import type { Context } from '../context.ts';
import { addExamples, databaseOption, dataDirectory, dataOption, jsonOption } from '../options.ts';
import { formatBytes, formatCount } from '../output/format.ts';
import { type ListedTable, openTables, type TableSource } from '../sources.ts';

interface Options {
  readonly directory?: string;
  readonly database?: string;
  readonly all?: boolean;
  readonly count?: boolean;
  readonly json?: boolean;
}

export function tablesCommand(context: Context): Command {
  const command = new Command('tables')
    .description("list the tables of a data directory, ours or PostgreSQL's")
    .argument('[dir]', 'the same as -D')
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(new Option('-a, --all', 'the catalogs too'))
    .addOption(new Option('-c, --count', 'count the visible rows, which reads the tables'))
    .addOption(jsonOption())
    .action((argument: string | undefined, options: Options) => listTables(context, argument, options));
  return addExamples(command, [
    ['blockwright tables -D ./data --count', 'names, rows, pages, sizes'],
    ['blockwright tables -D /var/lib/postgresql/16/main', "the tables of a PostgreSQL's directory"],
  ]);
}

async function listTables(context: Context, argument: string | undefined, options: Options): Promise<void> {
  const directory = dataDirectory(context, options, argument);
  const source = await openTables(context, directory, options.database);
  let tables: (ListedTable & { rows?: number })[];
  try {
    tables = source.tables.filter((table) => options.all === true || !table.isCatalog);
    if (options.count === true) {
      tables = tables.map((table) => countRows(context, source, table));
    }
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

async function printTables(
  context: Context,
  tables: readonly (ListedTable & { rows?: number })[],
  counted: boolean,
): Promise<void> {
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
  const rows = tables.map((table) => [
    table.name,
    String(table.columns),
    ...(counted ? [formatCount(table.rows ?? 0)] : []),
    formatCount(table.pages),
    formatBytes(table.bytes),
    table.path,
  ]);
  context.out.write(formatTable(columns, rows, context.colors));
}
