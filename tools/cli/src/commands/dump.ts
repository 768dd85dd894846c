// `blockwright dump`: prints the rows of one table.

import { isStorageError, StorageError } from '@blockwright/base';
import { Command, Option } from 'commander';
import type { Context } from '../context.ts';
import { UsageError } from '../failures.ts';
import {
  addExamples,
  blockSizeValue,
  checkPath,
  choiceOf,
  databaseOption,
  dataDirectory,
  dataOption,
  splitList,
  unknownOption,
  wholeNumber,
} from '../options.ts';
import { ROW_FORMATS, type RowFormat, rowPrinter } from '../output/rows.ts';
import { openFile, openTables, type ScanChoice, type TableScan, type TableSource } from '../sources.ts';

interface Options {
  readonly directory?: string;
  readonly database?: string;
  readonly file?: string;
  readonly like?: string;
  readonly blockSize?: ReturnType<typeof blockSizeValue>;
  readonly format?: string;
  readonly header?: boolean;
  readonly columns?: string[];
  readonly limit?: number;
  readonly unknown?: string;
  readonly json?: boolean;
}

export function dumpCommand(context: Context): Command {
  const command = new Command('dump')
    .description("print a table's rows: of a data directory, ours or PostgreSQL's, or of one file")
    .argument('[table]', 'name of the table')
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(new Option('--file <relation>', 'read this relation file as it lies; needs --like'))
    .addOption(
      new Option('--like <table>', 'the TPC-H table whose columns --file has').argParser(choiceOf('--like', LIKE)),
    )
    .addOption(new Option('--block-size <size>', 'of --file, where its pages do not tell').argParser(blockSizeValue))
    .addOption(
      new Option(
        '--format <name>',
        `csv (the default), jsonl, copy: csv and copy are as PostgreSQL's COPY writes them`,
      ).argParser(choiceOf('--format', ROW_FORMATS)),
    )
    .addOption(new Option('--header', 'csv and copy: the names of the columns come first'))
    .addOption(
      new Option('--columns <names>', 'these columns, in this order').argParser((text) => splitList('--columns', text)),
    )
    .addOption(
      new Option('--limit <rows>', 'at most so many rows').argParser(
        wholeNumber('--limit', 0, Number.MAX_SAFE_INTEGER),
      ),
    )
    .addOption(unknownOption())
    .addOption(new Option('--json', 'the same as --format=jsonl'))
    .action((table: string | undefined, options: Options) => dump(context, table, options));
  return addExamples(command, [
    ['blockwright dump -D ./data lineitem --limit=5 --header', 'the first rows, as CSV'],
    ['blockwright dump -D ./data orders --columns=o_orderkey,o_orderdate --json', 'two columns, as JSON Lines'],
    ['blockwright dump --file=base/16384/16509 --like=lineitem', "the rows of a PostgreSQL's file"],
  ]);
}

const LIKE = ['region', 'nation', 'supplier', 'customer', 'part', 'partsupp', 'orders', 'lineitem'];

async function dump(context: Context, table: string | undefined, options: Options): Promise<void> {
  const format = formatOf(options);
  const source = await openSource(context, table, options);
  try {
    const scan = source.open(table ?? (options.like as string), {
      columns: options.columns,
      unknown: options.unknown as ScanChoice['unknown'],
    });
    try {
      await printRows(context, scan, format, options).catch(nameFlag);
      if (scan.unknown() > 0) {
        const done = options.unknown === 'include' ? 'printed' : 'left out';
        context.warning(`${scan.unknown()} rows were ${done} whose fate only the commit log knows`);
      }
    } finally {
      scan.close();
    }
  } finally {
    source.close();
  }
}

/** The library's hint speaks of its option; here the option is a flag. */
function nameFlag(error: unknown): never {
  if (isStorageError(error) && /does not say whether it is visible/.test(error.message)) {
    throw new StorageError(error.code, error.message, {
      detail: error.detail,
      hint: 'Decide for such rows with --unknown=skip or --unknown=include; their number is then said.',
      cause: error,
    });
  }
  throw error;
}

function formatOf(options: Options): RowFormat {
  if (options.json !== true) return (options.format ?? 'csv') as RowFormat;
  if (options.format !== undefined && options.format !== 'jsonl') {
    throw new UsageError(`--json and --format=${options.format} contradict each other`);
  }
  return 'jsonl';
}

async function openSource(context: Context, table: string | undefined, options: Options): Promise<TableSource> {
  if (options.file !== undefined) {
    if (table !== undefined || options.directory !== undefined || options.database !== undefined) {
      throw new UsageError('--file takes the place of -D, --database and the name of a table');
    }
    if (options.like === undefined) {
      throw new UsageError('--file needs --like', { hint: 'A file alone does not say what its columns are.' });
    }
    return openFile(context, checkPath(options.file, '--file'), { like: options.like, blockSize: options.blockSize });
  }
  if (options.like !== undefined) throw new UsageError('--like goes with --file');
  const directory = dataDirectory(context, options);
  if (table === undefined) {
    throw new UsageError('no table was named', { hint: '"blockwright tables" lists them.' });
  }
  return openTables(context, directory, options.database);
}

async function printRows(context: Context, scan: TableScan, format: RowFormat, options: Options): Promise<void> {
  const printer = rowPrinter(format, scan.columns);
  if (options.header === true) context.out.write(printer.header());
  const limit = options.limit ?? Number.POSITIVE_INFINITY;
  const values: unknown[] = scan.columns.map(() => null);
  let printed = 0;
  let breathed = performance.now();
  while (printed < limit) {
    const length = scan.next();
    if (length === undefined) break;
    for (let i = 0; i < length && printed < limit; i++, printed++) {
      for (let k = 0; k < values.length; k++) values[k] = (scan.readers[k] as (row: number) => unknown)(i);
      context.out.write(printer.row(values));
    }
    // A reader slower than we are is waited for, and Ctrl-C is looked for, between batches.
    if (context.out.isFull) await context.out.flush();
    if (performance.now() - breathed > 20) {
      await context.breathe();
      breathed = performance.now();
    }
  }
}
