// What a benchmark is, what it is given, and what it gives back: one interface for all of them, so that one command
// can list and run them and one reader can read their JSON.
import type { Progress } from '@blockwright/base';
import type { MachineDescription } from './machine.ts';
import type { BenchmarkOption, OptionValues } from './options.ts';

/** What the caller of a benchmark lends it. */
export interface BenchmarkContext {
  /** A line for people, on standard error: never part of the result. */
  readonly log: (line: string) => void;
  readonly progress: (progress: Progress) => void;
  /** Ends the benchmark at its next sample: the promise rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

/** One measured cell: a block size, an engine, and what was run. Further columns are the benchmark's own. */
export interface Cell {
  /** Bytes; null where the cell has none. */
  readonly blockSize: number | null;
  /** Who ran: `blockwright`, `postgres`, `sqlite`, … */
  readonly engine: string;
  readonly query?: string;
  readonly variant?: string;
  readonly medianNs: number;
  readonly q1Ns: number;
  readonly q3Ns: number;
  readonly rounds: number;
  /** How many things one sample handled, such as rows. */
  readonly units: number;
  /** {@link medianNs} divided by {@link units}. */
  readonly nsPerUnit: number;
  readonly [column: string]: CellValue;
}

export type CellValue = number | string | boolean | bigint | null | undefined | readonly number[];

/** An aim of speed or size, always a ratio or count within the run, never an absolute time. */
export interface Aim {
  readonly name: string;
  readonly aim: number;
  readonly comparison: 'at least' | 'at most';
  /** null when the run could not measure it: a peer was missing, or a variant was not asked for. */
  readonly measured: number | null;
  /** null exactly when {@link measured} is. */
  readonly met: boolean | null;
  /** Confidence interval of {@link measured}, where there is one. */
  readonly interval?: readonly [number, number];
}

export interface BenchmarkReport {
  readonly benchmark: string;
  readonly machine: MachineDescription;
  /** Every option as it was used, with versions and whatever else a reader needs in order to repeat the run. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly results: readonly Cell[];
  readonly aims: readonly Aim[];
  /** Sentences for people: what was seen, and what to be careful about. */
  readonly notes?: readonly string[];
}

/** A column of the table that is printed for people. */
export interface ReportColumn {
  /** The cell's property. */
  readonly key: string;
  readonly title: string;
  /** Turns the value into text; by default numbers get three significant digits. */
  readonly format?: (value: CellValue, cell: Cell) => string;
}

/** A benchmark that can be listed, asked for its options, and run. */
export interface Benchmark {
  /** As in `blockwright bench NAME`. */
  readonly name: string;
  /** One line. */
  readonly summary: string;
  /** By name in camelCase: see {@link optionFlag} for the flag of each. */
  readonly options: Readonly<Record<string, BenchmarkOption>>;
  readonly columns: readonly ReportColumn[];
  /**
   * Checks the options, runs, and gives the report.
   * @throws TypeError or RangeError for options that are wrong; {@link WrongAnswerError} when a variant or peer gave a
   *   wrong answer; the signal's reason when it was stopped.
   */
  run(options: OptionValues, context: BenchmarkContext): Promise<BenchmarkReport>;
}

/** A variant computed something else than it should: whatever time it took means nothing. */
export class WrongAnswerError extends Error {
  override readonly name: string = 'WrongAnswerError';
}

/** The report as JSON text: bigint, NaN and infinities as strings, undefined left out. */
export function reportJson(report: BenchmarkReport, indent: number = 2): string {
  return JSON.stringify(
    report,
    (_key, value: unknown) => {
      if (typeof value === 'bigint') return value.toString();
      if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
      return value;
    },
    indent,
  );
}

/** The report's cells as text, ready for a table. */
export function reportTable(
  report: BenchmarkReport,
  columns: readonly ReportColumn[],
): { head: string[]; rows: string[][] } {
  return {
    head: columns.map((column) => column.title),
    rows: report.results.map((cell) =>
      columns.map(({ key, format }) => (format === undefined ? plain(cell[key]) : format(cell[key], cell))),
    ),
  };
}

function plain(value: CellValue): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'number') return String(value);
  return Number.isInteger(value) ? value.toLocaleString('en-US') : significant(value);
}

/** Three significant digits without an exponent: `0.0123`, `1.23`, `123`, `12,300`. */
export function significant(value: number, digits: number = 3): string {
  if (!Number.isFinite(value) || value === 0) return String(value);
  return Number(value.toPrecision(digits)).toLocaleString('en-US', { maximumSignificantDigits: digits });
}
