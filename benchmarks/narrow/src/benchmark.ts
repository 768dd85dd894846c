// `bench narrow`: look-ups and updates by key of random rows of a narrow, unlogged table, with each way to compact a page;
// then scans of the tables that each left.
import { tmpdir } from 'node:os';
import {
  type Aim,
  aimAtLeast,
  type Benchmark,
  type BenchmarkContext,
  type BenchmarkOutcome,
  type Cell,
  cellOf,
  checkFolder,
  compareRounds,
  defineBenchmark,
  type Measured,
  measureRounds,
  type Variant,
  WrongAnswerError,
} from '@blockwright/benchmark';
import { parseMemorySize } from '@blockwright/engine';
import { BLOCK_SIZES, formatBlockSize, parseBlockSize } from '@blockwright/geometry';
import { COMPACTIONS, type Compaction } from '@blockwright/page';
import { type NarrowSubject, openNarrow } from './subject.ts';

const BASELINE: Compaction = 'sort';
const JUDGED: Compaction = 'adaptive';
const UNLOGGED =
  'the table is unlogged: nothing of it is in the WAL, and no image of a page, so that compaction weighs most';
const SAME_ROWS = 'every way to compact is given the same rows in the same order';

const whole = (value: unknown): string => Math.round(Number(value)).toLocaleString('en');
const twoDigits = (value: unknown): string => (value === null ? '' : Number(value).toFixed(2));
const oneDigit = (value: unknown): string => Number(value).toFixed(1);
const percent = (value: unknown): string => `${Number(value).toFixed(1)} %`;
const kilobytes = (value: unknown): string => whole(Number(value) / 1024);

export const narrowBenchmark: Benchmark = defineBenchmark({
  name: 'narrow',
  summary: 'look-ups and updates by key of narrow rows, with each way to compact a page, and scans of what they left',
  options: {
    blockSizes: { type: 'list', default: BLOCK_SIZES.map(formatBlockSize), help: 'block sizes', placeholder: 'SIZES' },
    rows: { type: 'number', default: 100_000, help: 'rows of the table', min: 1, max: 100_000_000, integer: true },
    transactions: {
      type: 'number',
      default: 10_000,
      help: 'transactions a sample: each looks a row up and updates it',
      min: 1,
      max: 10_000_000,
      integer: true,
    },
    compaction: {
      type: 'list',
      default: [...COMPACTIONS],
      choices: [...COMPACTIONS],
      help: 'ways to compact a page',
      placeholder: 'WAYS',
    },
    buffers: { type: 'string', default: '128MB', help: 'size of the buffer pool', placeholder: 'SIZE' },
    rounds: { type: 'number', default: 11, help: 'interleaved rounds', min: 9, max: 10_000, integer: true },
    folder: { type: 'string', default: undefined, help: 'where to make the directories', placeholder: 'DIR' },
    seed: { type: 'number', default: 1, help: 'seed of the updates', min: 0, max: 2 ** 32 - 1, integer: true },
  },
  columns: [
    { key: 'blockSize', title: 'block', format: (size) => formatBlockSize(parseBlockSize(Number(size))) },
    { key: 'variant', title: 'compaction' },
    { key: 'perSecond', title: 'transactions a second', format: whole },
    { key: 'ratio', title: "times sort's", format: twoDigits },
    { key: 'scanNs', title: 'scan ns a row', format: oneDigit },
    { key: 'scanRatio', title: "times sort's", format: twoDigits },
    { key: 'hotPercent', title: 'HOT', format: percent },
    { key: 'tableBytes', title: 'table kB', format: kilobytes },
  ],
  run: async (options, context) => {
    const sizes = options.blockSizes.map((text) => parseBlockSize(text));
    const ways = options.compaction as readonly Compaction[];
    const { rows, transactions, rounds, seed, buffers, folder = tmpdir() } = options;
    parseMemorySize('--buffers', buffers);
    checkFolder(folder);
    const results: Cell[] = [];
    const aims: Aim[] = [];
    for (const blockSize of sizes) {
      const subjects: NarrowSubject[] = [];
      try {
        for (const compaction of ways) {
          context.progress({
            phase: `filling at ${formatBlockSize(blockSize)}`,
            done: subjects.length,
            total: ways.length,
            unit: 'databases',
          });
          context.signal.throwIfAborted();
          subjects.push(openNarrow({ folder, blockSize, compaction, rows, buffers, seed }));
        }
        const measured = await measure(subjects, { rows, transactions, rounds, seed }, context);
        results.push(...measured.results);
        aims.push(...measured.aims);
      } finally {
        for (const subject of subjects) subject.close();
      }
    }
    return { results, aims, notes: [UNLOGGED, SAME_ROWS] };
  },
});

interface Plan {
  readonly rows: number;
  readonly transactions: number;
  readonly rounds: number;
  readonly seed: number;
}

/** All ways to compact at one block size: the updates in interleaved rounds, then the scans. */
async function measure(
  subjects: readonly NarrowSubject[],
  plan: Plan,
  { signal, progress }: BenchmarkContext,
): Promise<Pick<BenchmarkOutcome, 'results' | 'aims'>> {
  const { rounds, seed } = plan;
  const size = formatBlockSize((subjects[0] as NarrowSubject).blockSize);
  const shared = { rounds, seed, signal, progress };
  const updates = await measureRounds(
    subjects.map((subject) => updatesOf(subject, plan)),
    { ...shared, warmUpMs: 500, phase: `updating at ${size}` },
  );
  const scans = await measureRounds(
    subjects.map((subject) => scanOf(subject, plan)),
    { ...shared, warmUpMs: 100, sampleMs: 20, phase: `scanning at ${size}` },
  );
  return {
    results: subjects.map((subject, i) => cell(subject, i, subjects, updates, scans)),
    aims: aimsOf(size, subjects, updates, scans),
  };
}

function updatesOf(subject: NarrowSubject, { transactions }: Plan): Variant<number> {
  let expected = 0;
  return {
    name: `${subject.blockSize} ${subject.compaction} updates`,
    units: transactions,
    before: () => {
      expected = subject.updates + transactions;
    },
    run: () => subject.update(transactions),
    check: (updates) => {
      if (updates !== expected) throw new WrongAnswerError(`${updates} updates instead of ${expected}`);
    },
  };
}

function scanOf(subject: NarrowSubject, { rows }: Plan): Variant<{ rows: number; updates: number }> {
  return {
    name: `${subject.blockSize} ${subject.compaction} scan`,
    units: rows,
    run: () => subject.scan(),
    check: (found) => {
      if (found.rows === rows && found.updates === subject.updates) return;
      throw new WrongAnswerError(
        `the scan found ${found.rows} rows with ${found.updates} updates instead of ${rows} with ${subject.updates}`,
      );
    },
  };
}

function cell(
  subject: NarrowSubject,
  i: number,
  subjects: readonly NarrowSubject[],
  updates: readonly Measured[],
  scans: readonly Measured[],
): Cell {
  const baseline = subjects.findIndex(({ compaction }) => compaction === BASELINE);
  const against = (measured: readonly Measured[]): number | null =>
    baseline < 0 ? null : compareRounds(ns(measured[baseline]), ns(measured[i])).ratio;
  const plain = cellOf(updates[i] as Measured, {
    blockSize: subject.blockSize,
    engine: 'blockwright',
    variant: subject.compaction,
  });
  const scan = cellOf(scans[i] as Measured, { blockSize: subject.blockSize, engine: 'blockwright' });
  return {
    ...plain,
    perSecond: 1e9 / plain.nsPerUnit,
    ratio: against(updates),
    scanNs: scan.nsPerUnit,
    scanRatio: against(scans),
    hotPercent: (subject.hot * 100) / subject.updates,
    tableBytes: subject.tableBytes(),
  };
}

function ns(measured: Measured | undefined): readonly number[] {
  if (measured === undefined) throw new TypeError('a way to compact was not measured');
  return measured.samplesNs;
}

/** Adaptive is never slower than sort: neither while rows are updated, nor when they are read. */
function aimsOf(
  size: string,
  subjects: readonly NarrowSubject[],
  updates: readonly Measured[],
  scans: readonly Measured[],
): Aim[] {
  const judged = subjects.findIndex(({ compaction }) => compaction === JUDGED);
  const baseline = subjects.findIndex(({ compaction }) => compaction === BASELINE);
  if (judged < 0) return [];
  return (
    [
      ['transactions a second', updates],
      ['speed of the scan afterwards', scans],
    ] as const
  ).map(([what, measured]) => {
    const ratio = baseline < 0 ? null : compareRounds(ns(measured[baseline]), ns(measured[judged]));
    return aimAtLeast(`${size}: adaptive's ${what} over sort's`, 1, ratio);
  });
}
