// `blockwright bench`: lists the benchmarks and runs one. Each benchmark is a package that declares its options as
// data; the arguments and flags, their checks and the help of `bench NAME` are built from that.

import {
  aimText,
  type Benchmark,
  type BenchmarkOption,
  type BenchmarkReport,
  isPositional,
  machineText,
  type OptionValue,
  type OptionValues,
  optionFlag,
  optionWord,
  reportJson,
  resolveOptions,
  type StringOption,
} from '@blockwright/benchmark';
import { Argument, Command, Option } from 'commander';
import type { Context } from '../context.ts';
import { CommandFailure, Interrupted, UsageError } from '../failures.ts';
import { addExamples, choiceOf, jsonOption } from '../options.ts';
import { wrapWords } from '../output/format.ts';

interface Entry {
  readonly name: string;
  /** Loaded only when asked for: a benchmark may bring peers and data that no other command needs. */
  readonly load: () => Promise<Benchmark>;
  readonly examples: readonly (readonly [line: string, meaning: string])[];
}

const ENTRIES: readonly Entry[] = [
  {
    name: 'scan',
    load: async () => benchmarkOf(await import('@blockwright/benchmark-scan')),
    examples: [
      ['blockwright bench scan --scale=0.1', 'all six block sizes over the same rows'],
      ['blockwright bench scan -D ./tpch', 'the lineitem of a data directory'],
      ['blockwright bench scan --scale=0.1 --html=scan.html', 'and a page with charts'],
    ],
  },
  {
    name: 'geometry',
    load: async () => benchmarkOf(await import('@blockwright/benchmark-geometry')),
    examples: [['blockwright bench geometry --json', 'what a run-time block size costs, as JSON']],
  },
  {
    name: 'compactify',
    load: async () => benchmarkOf(await import('@blockwright/benchmark-compactify')),
    examples: [
      [
        'blockwright bench compactify --block-sizes=8kB --scan-megabytes=0',
        'three ways to compact a page, side by side',
      ],
      ['blockwright bench compactify --widths=16,40 --orders=updates,batches', 'narrow pages that updates make'],
    ],
  },
  {
    name: 'recovery',
    load: async () => benchmarkOf(await import('@blockwright/benchmark-recovery')),
    examples: [
      ['blockwright bench recovery --peers=postgres', 'random updates, a crash, redo; at every block size'],
      ['blockwright bench recovery --block-sizes=8kB --compaction=sort,adaptive', 'two ways to compact, one size'],
      ['blockwright bench recovery --workload=tpcb,narrow', "pgbench's transaction; updates by key"],
      ['blockwright bench recovery --wal=64MB', 'with checkpoints, and so more page images, between the updates'],
    ],
  },
  {
    name: 'commit',
    load: async () => benchmarkOf(await import('@blockwright/benchmark-commit')),
    examples: [
      ['blockwright bench commit --block-sizes=8kB', 'commits a second, alone and in groups, beside SQLite'],
      ['blockwright bench commit --folder=/mnt/disk --group=100', 'on another disk, in larger groups'],
    ],
  },
  {
    name: 'index',
    load: async () => benchmarkOf(await import('@blockwright/benchmark-index')),
    examples: [
      ['blockwright bench index --block-sizes=8kB', 'builds, inserts and look-ups beside PostgreSQL and SQLite'],
      ['blockwright bench index --parts=build --keys=uuid --rows=1000000', 'a million UUIDs, built in bulk'],
      ['blockwright bench index --peers=none', 'what the block size does, without peers'],
    ],
  },
  {
    name: 'tpcb',
    load: async () => benchmarkOf(await import('@blockwright/benchmark-tpcb')),
    examples: [
      ['blockwright bench tpcb --block-sizes=8kB --clients=1,4', "pgbench's transaction beside PostgreSQL and SQLite"],
      ['blockwright bench tpcb --synchronous=no --peers=none', 'what the block size does where nothing waits'],
      ['blockwright bench tpcb --clients=16 --seconds=20 --folder=/mnt/disk', 'on another disk, with many clients'],
    ],
  },
  {
    name: 'narrow',
    load: async () => benchmarkOf(await import('@blockwright/benchmark-narrow')),
    examples: [
      ['blockwright bench narrow --block-sizes=8kB', 'three ways to compact a page, under updates by key'],
      ['blockwright bench narrow --rows=1000000 --compaction=sort,adaptive', 'a larger table, two ways'],
    ],
  },
  {
    name: 'checksum',
    load: async () => benchmarkOf(await import('@blockwright/benchmark-checksum')),
    examples: [
      ['blockwright bench checksum', 'page checksums, and check beside pg_checksums'],
      ['blockwright bench checksum --block-sizes=8kB', 'at one block size'],
      ['blockwright bench checksum --parts=directory', 'a whole directory, beside pg_checksums'],
    ],
  },
  {
    name: 'tidstore',
    load: async () => benchmarkOf(await import('@blockwright/benchmark-tidstore')),
    examples: [
      ['blockwright bench tidstore', 'both searches: dense, spread over the page, sparse, far apart'],
      ['blockwright bench tidstore shuffle-search --max-block=10000000', '300 million TIDs, 3.6 GB of memory'],
      ['blockwright bench tidstore seq-search --tids-per-block=1 --stride=100', 'in order; every 100th block, one TID'],
    ],
  },
];

/** The benchmark that a package exports, under whatever name. */
function benchmarkOf(module: object): Benchmark {
  for (const value of Object.values(module) as unknown[]) {
    if (isBenchmark(value)) return value;
  }
  throw new CommandFailure('the benchmark package exports no benchmark');
}

function isBenchmark(value: unknown): value is Benchmark {
  if (typeof value !== 'object' || value === null) return false;
  const { name, options, run } = value as Partial<Benchmark>;
  return typeof name === 'string' && typeof options === 'object' && typeof run === 'function';
}

/** Builds `bench`; the benchmarks' packages are loaded only when `args` are about them. */
export async function benchCommand(context: Context, args: readonly string[]): Promise<Command> {
  const command = new Command('bench').description('list the benchmarks, or run one').usage('list | NAME [options]');
  addExamples(command, [
    ['blockwright bench list', 'what there is'],
    ['blockwright bench recovery --block-sizes=8kB', 'one of them, at one block size'],
    ['blockwright bench recovery --help', 'its options'],
  ]);
  command.addCommand(listCommand(context));
  if (args.includes('bench')) {
    const named = ENTRIES.filter((entry) => args.includes(entry.name));
    for (const entry of named.length > 0 ? named : ENTRIES) {
      command.addCommand(runCommand(context, entry, await entry.load()));
    }
  }
  return command;
}

function listCommand(context: Context): Command {
  const command = new Command('list').description('list the benchmarks').addOption(jsonOption());
  addExamples(command, [
    ['blockwright bench list', 'names, and what each measures'],
    ['blockwright bench list --json', 'with the options that each takes'],
  ]);
  return command.action(async (options: { json?: boolean }) => {
    const benchmarks = await Promise.all(ENTRIES.map((entry) => entry.load()));
    if (options.json === true) {
      context.json(benchmarks.map(({ name, summary, options: declared }) => ({ name, summary, options: declared })));
      return;
    }
    const rows = benchmarks.map(({ name, summary }) => [name, summary]);
    const { formatTable } = await import('../output/table.ts');
    context.out.write(formatTable([{ title: 'benchmark' }, { title: 'what it measures' }], rows, context.colors));
  });
}

function runCommand(context: Context, entry: Entry, benchmark: Benchmark): Command {
  const command = new Command(entry.name).description(benchmark.summary);
  const words: string[] = [];
  for (const [name, spec] of Object.entries(benchmark.options)) {
    if (isPositional(spec)) {
      words.push(name);
      command.addArgument(argumentOf(name, spec));
    } else {
      for (const option of flagsOf(name, spec)) command.addOption(option);
    }
  }
  command.addOption(jsonOption());
  addExamples(command, entry.examples);
  return command.action(async () => {
    const given: Record<string, unknown> = command.opts();
    const named = Object.fromEntries(words.map((name, i) => [name, command.processedArgs[i] as unknown]));
    const options = optionValues(benchmark, { ...given, ...named });
    const report = await runBenchmark(context, benchmark, options);
    if (given.json === true) context.out.line(reportJson(report));
    else await printReport(context, benchmark, report);
  });
}

/** The argument of one declared option that is a word of its own; it may be left out. */
function argumentOf(name: string, spec: StringOption): Argument {
  const word = optionWord(name);
  const argument = new Argument(`[${word}]`, optionHelp(spec));
  return spec.choices === undefined ? argument : argument.argParser(choiceOf(word, spec.choices));
}

/** The command-line flags of one declared option. A switch that is on by default is turned off by `--no-…`. */
function flagsOf(name: string, spec: BenchmarkOption): Option[] {
  const flag = optionFlag(name);
  if (spec.type === 'boolean') {
    const off = new Option(flag.replace(/^--/, '--no-'), spec.default === true ? spec.help : `not ${flag}`);
    return spec.default === true ? [new Option(flag).hideHelp(), off] : [new Option(flag, spec.help)];
  }
  const placeholder = (spec.placeholder ?? { number: 'n', string: 'text', list: 'a,b' }[spec.type]).toLowerCase();
  const short = name === 'data' || name === 'directory' ? '-D, ' : '';
  return [new Option(`${short}${flag} <${placeholder}>`, optionHelp(spec))];
}

function optionHelp(spec: Exclude<BenchmarkOption, { type: 'boolean' }>): string {
  const notes: string[] = [];
  if (spec.type !== 'number' && spec.choices !== undefined) notes.push(`of ${spec.choices.join(', ')}`);
  const preset = Array.isArray(spec.default) ? spec.default.join(', ') : spec.default?.toString();
  if (preset !== undefined && preset !== '') notes.push(`default: ${preset}`);
  return notes.length === 0 ? spec.help : `${spec.help} (${notes.join('; ')})`;
}

/** Those of the given options that are the benchmark's, checked. */
function optionValues(benchmark: Benchmark, given: Record<string, unknown>): OptionValues {
  const values: Record<string, OptionValue> = {};
  for (const name of Object.keys(benchmark.options)) {
    const value = given[name];
    if (value !== undefined) values[name] = value as OptionValue;
  }
  try {
    resolveOptions(benchmark.name, benchmark.options, values);
  } catch (error) {
    throw asUsageError(error);
  }
  return values;
}

/** What benchmarks throw for options that are wrong is wrong usage here. */
function asUsageError(error: unknown): unknown {
  return error instanceof RangeError || error instanceof TypeError
    ? new UsageError(error.message, { hint: 'Run the command with --help to see what it takes.' })
    : error;
}

async function runBenchmark(context: Context, benchmark: Benchmark, options: OptionValues): Promise<BenchmarkReport> {
  try {
    return await context.withProgress(({ onProgress, pause }) => {
      const log = (line: string): void => {
        pause();
        context.message(line);
      };
      return benchmark.run(options, { log, progress: onProgress, signal: context.io.signal });
    });
  } catch (error) {
    if (error instanceof Interrupted) throw error;
    if (error instanceof Error && error.name === 'WrongAnswerError') {
      throw new CommandFailure(`wrong answer: ${error.message}`, { hint: 'The times of this run mean nothing.' });
    }
    throw error instanceof RangeError ? asUsageError(error) : error;
  }
}

async function printReport(context: Context, benchmark: Benchmark, report: BenchmarkReport): Promise<void> {
  const { benchmarkTables, fitTable } = await import('../output/bench-table.ts');
  const { out, colors, columns: width } = context;
  const paragraph = (text: string, indent?: string) => out.line(wrapWords(text, width, indent));
  out.line(colors.bold(wrapWords(`${benchmark.name}: ${benchmark.summary}`, width)));
  out.line(colors.dim(wrapWords(machineText(report.machine), width)));
  for (const table of benchmarkTables(report, benchmark.columns)) {
    out.line();
    if (table.heading !== undefined) paragraph(table.heading);
    out.write(fitTable(table, width, colors));
  }
  if (report.aims.length > 0) out.line();
  for (const aim of report.aims.filter(({ met }) => met !== null)) {
    const mark = aim.met === true ? colors.green('✓') : colors.yellow('✗');
    paragraph(`${mark} ${aimText(aim)}`, '  ');
  }
  const unmeasured = report.aims.filter(({ met }) => met === null).length;
  if (unmeasured > 0) {
    const what =
      unmeasured === 1 ? 'aim was not measured: --json lists it' : 'aims were not measured: --json lists them';
    paragraph(`- ${unmeasured} ${what}`, '  ');
  }
  if ((report.notes ?? []).length > 0) out.line();
  for (const note of report.notes ?? []) paragraph(note, '  ');
}
