// `blockwright load`: generates rows and loads them into new tables.

import type { Database } from '@blockwright/engine';
import type { TextPool, TpchTableName } from '@blockwright/tpch';
import { Command, Option } from 'commander';
import type { Context } from '../context.ts';
import { UsageError } from '../failures.ts';
import { openDatabase } from '../open.ts';
import { addExamples, dataDirectory, dataOption, jsonOption, listOf, numberBetween } from '../options.ts';
import { formatBytes, formatCount, formatDuration } from '../output/format.ts';

const TABLE_NAMES = ['region', 'nation', 'supplier', 'customer', 'part', 'partsupp', 'orders', 'lineitem'] as const;
const SMALLEST_SCALE = 0.001;
const SCALE_LIMIT = 30000;

interface Options {
  readonly directory?: string;
  readonly scale: number;
  readonly tables: string[];
  readonly freeze: boolean;
  readonly json?: boolean;
}

/** What is told of one loaded table. */
interface Loaded {
  readonly table: string;
  readonly rows: number;
  readonly pages: number;
  readonly bytes: number;
  readonly milliseconds: number;
}

export function loadCommand(context: Context): Command {
  const command = new Command('load')
    .description('generate rows and load them into new tables')
    .usage('tpch [options]')
    .addCommand(tpchCommand(context));
  return addExamples(command, [
    ['blockwright load tpch -D ./data --scale=0.1', 'about 600,000 rows of lineitem'],
    ['blockwright load tpch --help', 'the options of one generator'],
  ]);
}

function tpchCommand(context: Context): Command {
  const command = new Command('tpch')
    .description("generate TPC-H's rows, as dbgen does, and load them into new tables")
    .addOption(dataOption())
    .addOption(
      new Option('--scale <factor>', 'scale factor, such as 0.01: 1 is about 1 GB in eight tables')
        .makeOptionMandatory()
        .argParser(scaleValue),
    )
    .addOption(
      new Option('--tables <names>', `all, or which of ${TABLE_NAMES.join(', ')}`)
        .default(['lineitem'], 'lineitem')
        .argParser(tablesValue),
    )
    .addOption(new Option('--no-freeze', 'add ordinary rows, logged in the WAL, to what the table holds'))
    .addOption(jsonOption())
    .action((options: Options) => loadTpch(context, options));
  return addExamples(command, [
    ['blockwright load tpch -D ./data --scale=0.1', 'about 600,000 rows of lineitem'],
    ['blockwright load tpch -D ./data --scale=0.01 --tables=all', 'all eight tables'],
  ]);
}

function scaleValue(text: string): number {
  const scale = numberBetween('--scale', 0, SCALE_LIMIT)(text);
  if (scale >= SMALLEST_SCALE) return scale;
  throw new UsageError(`invalid value for --scale: "${text}" is not at least ${SMALLEST_SCALE}`, {
    hint: 'dbgen counts in thousandths of a scale factor; below one there are no rows.',
  });
}

function tablesValue(text: string): string[] {
  return text === 'all' ? [...TABLE_NAMES] : listOf('--tables', TABLE_NAMES)(text);
}

async function loadTpch(context: Context, options: Options): Promise<void> {
  const directory = dataDirectory(context, options);
  if (options.scale > 1 && !Number.isInteger(options.scale)) {
    context.warning(`--scale=${options.scale} makes the rows of scale ${Math.floor(options.scale)}, as dbgen does`);
  }
  const [database, { TextPool }] = await Promise.all([openDatabase(context, directory), import('@blockwright/tpch')]);
  const loaded: Loaded[] = [];
  try {
    const pool = await context.run(TextPool.openSteps());
    try {
      if (pool.cacheError !== undefined) context.warning(`the text pool was not cached: ${pool.cacheError.message}`);
      for (const name of options.tables) {
        loaded.push(await loadTable(context, database, pool, name as TpchTableName, options));
      }
    } finally {
      pool.close();
    }
  } finally {
    database.close();
  }
  if (options.json === true) context.json(loaded);
  else await printLoaded(context, loaded);
}

async function loadTable(
  context: Context,
  database: Database,
  pool: TextPool,
  name: TpchTableName,
  options: Options,
): Promise<Loaded> {
  const [{ rowCounts, tableBatches }, { tpchTable }] = await Promise.all([
    import('@blockwright/tpch'),
    import('../tpch-tables.ts'),
  ]);
  const started = performance.now();
  const definition = tpchTable(name);
  const expected = rowCounts(options.scale)[name];
  // Table and rows in one transaction: what is interrupted leaves neither.
  const tx = database.begin();
  let rows: number;
  try {
    // One of the same columns that is there and empty is filled.
    if (!tx.tables().some((table) => table.name === name)) tx.createTable(definition);
    rows = await context.withProgress(({ onProgress }) =>
      tx.load(definition, tableBatches(name, options.scale, { pool }), {
        freeze: options.freeze,
        signal: context.io.signal,
        onProgress: (progress) => onProgress({ ...progress, total: Math.max(expected, progress.done) }),
      }),
    );
    tx.commit();
  } finally {
    tx.rollback();
  }
  const info = database.tables().find((table) => table.name === name);
  return {
    table: name,
    rows,
    pages: info?.blocks ?? 0,
    bytes: info?.bytes ?? 0,
    milliseconds: Math.round(performance.now() - started),
  };
}

async function printLoaded(context: Context, loaded: readonly Loaded[]): Promise<void> {
  const { formatTable } = await import('../output/table.ts');
  const rows = loaded.map(({ table, rows: count, pages, bytes, milliseconds }) => [
    table,
    formatCount(count),
    formatCount(pages),
    formatBytes(bytes),
    formatDuration(milliseconds),
  ]);
  const right = { align: 'right' } as const;
  const columns = [
    { title: 'table' },
    { title: 'rows', ...right },
    { title: 'pages', ...right },
    { title: 'size', ...right },
    { title: 'time', ...right },
  ];
  context.out.write(formatTable(columns, rows, context.colors));
}
