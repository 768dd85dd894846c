// `bench scan`: the same rows at every block size, and in peers, scanned in the same run, every answer checked.
import { totalmem } from 'node:os';
import {
  type Benchmark,
  type BenchmarkContext,
  type Cell,
  cellOf,
  defineBenchmark,
  expectAnswer,
  type MachineDescription,
  type Measured,
  measureRounds,
  type Variant,
  WrongAnswerError,
} from '@blockwright/benchmark';
import { BLOCK_SIZES, type BlockSize, formatBlockSize, parseBlockSize } from '@blockwright/geometry';
import { rowCounts, TextPool } from '@blockwright/tpch';
import { scanAims } from './aims.ts';
import { type Answers, computedAnswers, publishedAnswers, q1Difference, q6Difference } from './answers.ts';
import { fileSubject, type LoadOptions, loadSubject, type OurSubject, openSubject, ROW_BYTES } from './our-subject.ts';
import { PEERS, type Peer, startPeer } from './peer-subject.ts';
import type { Q1Group } from './queries.ts';
import {
  POSTGRES_BLOCK_SIZE,
  type Q6Answer,
  QUERIES,
  QUERY_TITLES,
  type Query,
  type Sampled,
  type Subject,
} from './subject.ts';
import { summarySentences } from './summary.ts';

const OPTIONS = {
  directory: {
    type: 'string',
    default: undefined,
    placeholder: 'DIR',
    help: "scan the lineitem of this data directory, ours or PostgreSQL's",
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
  peers: { type: 'list', default: undefined, choices: [...PEERS], help: 'other databases to run beside' },
  rounds: { type: 'number', default: 9, min: 9, max: 1000, integer: true, help: 'interleaved rounds' },
  seed: { type: 'number', default: 1, min: 0, max: 4294967295, integer: true, help: 'seed of the order within rounds' },
  html: { type: 'string', default: undefined, placeholder: 'FILE', help: 'write a page with charts to this file' },
} as const;

type Options = Parameters<Parameters<typeof defineBenchmark<typeof OPTIONS>>[0]['run']>[0];

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
  run: async (options, context, machine) => {
    refuseContradictions(options);
    const queries = options.queries as readonly Query[];
    const sampled: Sampled[] = [];
    const about = new Set<string>();
    let source = '';
    for (const group of planGroups(options)) {
      const subjects: Subject[] = [];
      try {
        for await (const subject of openGroup(group, options, queries, context)) subjects.push(subject);
        const answers = rightAnswers(subjects[0] as OurSubject, options);
        source = answers.source;
        sampled.push(...(await measure(subjects, answers, options, queries, context)));
        for (const subject of subjects) if (subject.about !== undefined) about.add(subject.about);
      } finally {
        for (const subject of subjects) await subject.close();
      }
    }
    const results = sampled.map(({ cell }) => cell);
    const report = {
      results,
      aims: scanAims(sampled, options.scale),
      notes: [
        ...summarySentences(results),
        `Every answer was compared with ${source}. Pages are warm in the pool, one thread; the rows are TPC-H's, the queries derived from it, and the figures cannot be compared with published TPC results.`,
        ...cacheNote(results, machine),
        ...about,
      ],
    };
    if (options.html !== undefined) {
      const { writeHtml } = await import('./html.ts');
      writeHtml(options.html, { ...report, machine, scale: isGenerated(options) ? options.scale : undefined });
    }
    return report;
  },
});

function refuseContradictions({ directory, file, peers }: Options): void {
  if (directory !== undefined && file !== undefined)
    throw new RangeError('bench scan takes --directory or --file, not both');
  if ((directory !== undefined || file !== undefined) && peers !== undefined) {
    throw new RangeError(
      'bench scan runs peers only beside rows that it loads itself: leave out --directory and --file, or --peers',
    );
  }
}

/** Whether the rows are loaded for this run. */
function isGenerated({ directory, file }: Options): boolean {
  return directory === undefined && file === undefined;
}

/** Subjects that are measured in the same rounds. */
interface Group {
  readonly blockSizes: readonly BlockSize[];
}

/** All block sizes together where memory allows; else one after the other, each with its peers. */
function planGroups(options: Options): Group[] {
  if (!isGenerated(options)) return [{ blockSizes: [] }];
  const sizes = [...new Set(options.blockSizes.map((size) => parseBlockSize(size)))];
  // A table for each count, in the pool and in the file cache; as much again for each peer.
  const perSize = rowCounts(options.scale).lineitem * ROW_BYTES * 4 * (1 + (options.peers?.length ?? 0));
  return perSize * sizes.length < totalmem() * 0.6
    ? [{ blockSizes: sizes }]
    : sizes.map((size) => ({ blockSizes: [size] }));
}

async function* openGroup(
  group: Group,
  options: Options,
  queries: readonly Query[],
  context: BenchmarkContext,
): AsyncGenerator<Subject> {
  if (options.directory !== undefined) {
    yield openSubject(options.directory);
    return;
  }
  if (options.file !== undefined) {
    yield fileSubject(options.file);
    return;
  }
  const { signal, progress } = context;
  const load: LoadOptions = {
    scale: options.scale,
    pool: TextPool.open({ onProgress: progress }),
    signal,
    progress,
    withUnmarked: queries.includes('judged'),
  };
  for (const size of group.blockSizes) yield await loadSubject(size, load);
  const peers = (options.peers ?? []) as readonly Peer[];
  for (const peer of peers) {
    if (peer === 'postgres') {
      if (group.blockSizes.includes(POSTGRES_BLOCK_SIZE))
        yield await startPeer(peer, POSTGRES_BLOCK_SIZE, load, queries);
    } else for (const size of group.blockSizes) yield await startPeer(peer, size, load, queries);
  }
}

function rightAnswers(first: OurSubject, options: Options): Answers {
  const generated = isGenerated(options);
  return (generated ? publishedAnswers(options.scale) : undefined) ?? computedAnswers(first.target, first.table);
}

async function measure(
  subjects: readonly Subject[],
  answers: Answers,
  options: Options,
  queries: readonly Query[],
  context: BenchmarkContext,
): Promise<Sampled[]> {
  const planned = subjects.flatMap((subject) =>
    queries.flatMap((query) => {
      const variant = queryVariant(query, subject, answers);
      return variant === undefined ? [] : [{ query, subject, variant }];
    }),
  );
  const { rounds, seed } = options;
  const { signal, progress } = context;
  const measured = await measureRounds(
    planned.map(({ variant }) => variant),
    { rounds, seed, signal, progress, phase: 'scanning', sampleMs: 5, warmUpMs: 100 },
  );
  return planned.map(({ query, subject }, i) => {
    const own = measured[i] as Measured;
    return { query, subject, cell: cell(own, query, subject), samplesNs: own.samplesNs };
  });
}

function queryVariant(query: Query, subject: Subject, answers: Answers): Variant | undefined {
  const run = subject.answer[query];
  if (run === undefined) return undefined;
  const name = `${QUERY_TITLES[query]} at ${subject.blockSize >>> 10} kB in ${subject.engine}`;
  const refuse = (difference: string | undefined): void => {
    if (difference !== undefined) throw new WrongAnswerError(`${name}: ${difference}`);
  };
  const check =
    query === 'q1'
      ? (answer: unknown) => refuse(q1Difference(answer as Q1Group[], answers))
      : query === 'q6'
        ? (answer: unknown) => refuse(q6Difference(answer as Q6Answer, answers))
        : (expectAnswer(name, answers.rows) as (answer: unknown) => void);
  return { name, units: subject.rows, run: run as () => unknown, check };
}

function cell(measured: Measured, query: Query, subject: Subject): Cell {
  const { engine, blockSize, pages, bytes, tailWaste } = subject;
  const made = cellOf(measured, { blockSize, engine, query });
  return {
    ...made,
    rowsPerSecond: Math.round(1e9 / made.nsPerUnit),
    pages,
    bytes,
    tailWaste,
    poolHits: subject.poolHits(),
  };
}

/** Says when the data fit the processor's cache: then it is the cache that was measured. */
function cacheNote(results: readonly Cell[], machine: MachineDescription): string[] {
  const cacheBytes = machine.lastLevelCacheBytes;
  const largest = Math.max(0, ...results.map((one) => Number(one.bytes)));
  if (cacheBytes === null || largest > cacheBytes) return [];
  return [
    `The table (${Math.round(largest / 2 ** 20)} MB) fits the last-level cache that the machine reports (${Math.round(cacheBytes / 2 ** 20)} MB), so memory may be faster here than with larger data.`,
  ];
}
