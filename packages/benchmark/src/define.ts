// Makes a Benchmark from typed parts: the options are checked before the body sees them.
import type { MachineDescription } from './machine.ts';
import { describeMachine } from './machine.ts';
import { type BenchmarkOption, type ResolvedOptions, resolveOptions } from './options.ts';
import type { Benchmark, BenchmarkContext, BenchmarkReport, ReportColumn } from './report.ts';

/** What the body of a benchmark gives back; name, machine and the options as used are added to it. */
export interface BenchmarkOutcome extends Omit<BenchmarkReport, 'benchmark' | 'machine' | 'settings'> {
  /** Beside the options, which are always in the report's settings. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

export interface BenchmarkDefinition<Specs extends Readonly<Record<string, BenchmarkOption>>> {
  readonly name: string;
  readonly summary: string;
  readonly options: Specs;
  readonly columns: readonly ReportColumn[];
  readonly run: (
    options: ResolvedOptions<Specs>,
    context: BenchmarkContext,
    machine: MachineDescription,
  ) => Promise<BenchmarkOutcome>;
}

/** A benchmark whose `run` checks its options, describes the machine, and hands both to the definition's body. */
export function defineBenchmark<const Specs extends Readonly<Record<string, BenchmarkOption>>>(
  definition: BenchmarkDefinition<Specs>,
): Benchmark {
  const { name, summary, options: specs, columns } = definition;
  return Object.freeze({
    name,
    summary,
    options: specs,
    columns,
    run: async (given, context): Promise<BenchmarkReport> => {
      const options = resolveOptions(name, specs, given);
      context.signal.throwIfAborted();
      const machine = describeMachine();
      const { settings, ...outcome } = await definition.run(options, context, machine);
      return { benchmark: name, machine, settings: { ...options, ...settings }, ...outcome };
    },
  } satisfies Benchmark);
}
