// `bench scan`: the same rows at every block size, scanned in the same run, every answer checked.
import {
  type Benchmark,
  type BenchmarkContext,
  type Cell,
  cellOf,
  defineBenchmark,
  type Measured,
  measureRounds,
  type Variant,
} from '@blockwright/benchmark';
import { RelationFile } from '@blockwright/engine';
import { BLOCK_SIZES, type BlockSize, formatBlockSize, parseBlockSize } from '@blockwright/geometry';
import { TextPool } from '@blockwright/tpch';
import { type Answers, computedAnswers, publishedAnswers } from './answers.ts';
import { lineitemTable } from './lineitem.ts';
import { QUERIES, QUERY_TITLES, type Query, queryVariant } from './queries-run.ts';
import { summarySentences } from './summary.ts';
import { fileSubject, loadSubject, openSubject, type Subject } from './target.ts';

const OPTIONS = {
  directory: {
    type: 'string',
    default: undefined,
    placeholder: 'DIR',
    help: 'scan the lineitem of this data directory',
  },
  file: {
    type: 'string',
    default: undefined,
    placeholder: 'RELATION',
    help: "scan a relation file with lineitem's columns, PostgreSQL's or ours, as it lies",
  },
  blockSizes: {
    type: 'list',
    default: BLOCK_SIZES.map((size) => `${size >>> 10}kB`),
    placeholder: 'SIZES',
    help: 'block sizes to make data directories of',
  },
  scale: { type: 'number', default: 0.01, min: 0.001, max: 100, help: 'TPC-H scale of the rows to load' },
  queries: { type: 'list', default: [...QUERIES], choices: [...QUERIES], help: 'what to run' },
  rounds: { type: 'number', default: 9, min: 9, max: 1000, integer: true, help: 'interleaved rounds' },
  seed: { type: 'number', default: 1, min: 0, max: 4294967295, integer: true, help: 'seed of the order within rounds' },
} as const;

/** Number of queries times subjects is small; a name is `query@subject`. */
interface Planned {
  readonly query: Query;
  readonly subject: Subject;
  readonly variant: Variant;
}

export const scanBenchmark: Benchmark = defineBenchmark({
  name: 'scan',
  summary: 'count, TPC-H Q6 and Q1 over the same lineitem at every block size',
  options: OPTIONS,
  columns: [
    { key: 'query', title: 'query' },
    {
      key: 'blockSize',
      title: 'block',
      format: (value) => (value === null ? '' : formatBlockSize(value as BlockSize)),
    },
    { key: 'engine', title: 'engine' },
    { key: 'nsPerUnit', title: 'ns/row' },
    { key: 'rowsPerSecond', title: 'rows/s' },
    { key: 'pages', title: 'pages' },
    { key: 'bytes', title: 'bytes' },
    { key: 'tailWaste', title: 'waste/page' },
    { key: 'poolHits', title: 'pool hits' },
  ],
  run: async (options, context) => {
    const queries = options.queries as readonly Query[];
    const subjects: Subject[] = [];
    try {
      for await (const subject of openSubjects(options, queries, context)) subjects.push(subject);
      const { measured, planned, answers } = await measure(subjects, options, queries, context);
      const results = planned.map(({ query, subject }, i) => cell(measured[i] as Measured, query, subject));
      return {
        results,
        aims: [],
        notes: [`Every answer was compared with ${answers.source}.`, ...summarySentences(results)],
      };
    } finally {
      for (const subject of subjects) subject.close();
    }
  },
});

type Options = Parameters<Parameters<typeof defineBenchmark<typeof OPTIONS>>[0]['run']>[0];

async function* openSubjects(
  options: Options,
  queries: readonly Query[],
  context: BenchmarkContext,
): AsyncGenerator<Subject> {
  if (options.directory !== undefined && options.file !== undefined) {
    throw new RangeError('bench scan takes --directory or --file, not both');
  }
  if (options.directory !== undefined) {
    yield openSubject(options.directory);
    return;
  }
  if (options.file !== undefined) {
    yield fileSubject(RelationFile.open(options.file, lineitemTable('lineitem')));
    return;
  }
  const { signal, progress } = context;
  const pool = TextPool.open({ onProgress: progress });
  for (const size of options.blockSizes.map(parseBlockSize)) {
    yield await loadSubject(size, {
      scale: options.scale,
      pool,
      signal,
      progress,
      withUnmarked: queries.includes('judged'),
    });
  }
}

async function measure(
  subjects: readonly Subject[],
  options: Options,
  queries: readonly Query[],
  context: BenchmarkContext,
): Promise<{ measured: Measured[]; planned: Planned[]; answers: Answers }> {
  const generated = options.directory === undefined && options.file === undefined;
  const first = subjects[0] as Subject;
  const answers =
    (generated ? publishedAnswers(options.scale) : undefined) ?? computedAnswers(first.target, first.marked);
  const planned = subjects.flatMap((subject) =>
    queries.map((query) => ({
      query,
      subject,
      variant: queryVariant(query, subject, answers, `${QUERY_TITLES[query]} at ${formatBlockSize(subject.blockSize)}`),
    })),
  );
  const measured = await measureRounds(
    planned.map(({ variant }) => variant),
    {
      rounds: options.rounds,
      seed: options.seed,
      signal: context.signal,
      progress: context.progress,
      phase: 'scanning',
      sampleMs: 5,
    },
  );
  return { measured, planned, answers };
}

function cell(measured: Measured, query: Query, subject: Subject): Cell {
  const made = cellOf(measured, { blockSize: subject.blockSize, engine: 'blockwright', query });
  const { hits, reads } = subject.stats();
  return {
    ...made,
    rowsPerSecond: Math.round(1e9 / made.nsPerUnit),
    pages: subject.pages,
    bytes: subject.bytes,
    tailWaste: subject.tailWaste,
    poolHits: hits / Math.max(hits + reads, 1),
  };
}
