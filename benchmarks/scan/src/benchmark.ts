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
import { type Answers, computedAnswers, keyAnswer, publishedAnswers, q1Difference, q6Difference } from './answers.ts';
import { fileSubject, type LoadOptions, loadSubject, type OurSubject, openSubject, ROW_BYTES } from './our-subject.ts';
import { PEERS, type Peer, startPeer } from './peer-subject.ts';
import type { Q1Group } from './queries.ts';
import {
  KEY_QUERIES,
  type KeyRange,
  POSTGRES_BLOCK_SIZE,
  type PoolStats,
  type Q6Answer,
  QUERIES,
  QUERY_TITLES,
  type Query,
  type Sampled,
  type Subject,
  withSubjects,
} from './subject.ts';
import { mapCostSentences, summarySentences } from './summary.ts';

const DEFAULT_SCALE = 0.01;
const sizeText = (size: BlockSize): string => `${size >>> 10}kB`;

// Scale and block sizes have no default here, so that those that were given beside a directory or file are noticed.
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
    default: undefined,
    placeholder: 'SIZES',
    help: `block sizes to make data directories of (default: ${BLOCK_SIZES.map(sizeText).join(',')})`,
  },
  scale: {
    type: 'number',
    default: undefined,
    min: 0.001,
    max: 100,
    help: `TPC-H scale of the rows to load (default: ${DEFAULT_SCALE})`,
  },
  queries: { type: 'list', default: [...QUERIES], choices: [...QUERIES], help: 'what to run' },
  peers: { type: 'list', default: undefined, choices: [...PEERS], help: 'other databases to run beside' },
  rounds: { type: 'number', default: 9, min: 9, max: 1000, integer: true, help: 'interleaved rounds' },
  seed: { type: 'number', default: 1, min: 0, max: 4294967295, integer: true, help: 'seed of the order within rounds' },
  html: { type: 'string', default: undefined, placeholder: 'FILE', help: 'write a page with charts to this file' },
} as const;

type Options = Parameters<Parameters<typeof defineBenchmark<typeof OPTIONS>>[0]['run']>[0];

export const scanBenchmark: Benchmark = defineBenchmark({
  name: 'scan',
  summary: 'count, TPC-H Q6 and Q1, and an index alone, over the same lineitem at every block size',
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
  run: async (given, context, machine) => {
    refuseContradictions(given);
    const plan = planOf(given);
    const html = given.html === undefined ? undefined : await import('./html.ts');
    if (given.html !== undefined) html?.tryHtml(given.html);
    const sampled: Sampled[] = [];
    const about = new Set<string>();
    let source = '';
    for (const sizes of groupsOf(plan)) {
      await withSubjects(openGroup(sizes, plan, context), async (subjects) => {
        const answers = rightAnswers(subjects[0] as OurSubject, plan);
        source = answers.source;
        sampled.push(...(await measure(subjects, answers, plan, context)));
        for (const subject of subjects) if (subject.about !== undefined) about.add(subject.about);
      });
    }
    const results = sampled.map(({ cell }) => cell);
    const report = {
      results,
      aims: scanAims(sampled, plan.generated?.scale ?? 0),
      settings: settingsOf(plan),
      notes: [
        ...summarySentences(results),
        ...mapCostSentences(sampled),
        `Every answer was compared with ${source}. Pages are warm in the pool, one thread; the rows are TPC-H's, the queries derived from it, and the figures cannot be compared with published TPC results.`,
        ...asTheyAreNote(plan),
        ...cacheNote(results, machine),
        ...about,
      ],
    };
    if (given.html !== undefined) html?.writeHtml(given.html, { ...report, machine, scale: plan.generated?.scale });
    return report;
  },
});

function refuseContradictions({ directory, file, peers, scale, blockSizes }: Options): void {
  if (directory !== undefined && file !== undefined)
    throw new RangeError('bench scan takes --directory or --file, not both');
  if (directory === undefined && file === undefined) return;
  if (peers !== undefined) {
    throw new RangeError(
      'bench scan runs peers only beside rows that it loads itself: leave out --directory and --file, or --peers',
    );
  }
  for (const [flag, value] of [['--scale', scale] as const, ['--block-sizes', blockSizes] as const]) {
    if (value === undefined) continue;
    throw new RangeError(
      `bench scan takes ${flag} for rows that it loads itself: those of --directory and --file are scanned as they are`,
    );
  }
}

/** What is going to run, defaults filled in, each thing once. */
interface Plan {
  readonly directory: string | undefined;
  readonly file: string | undefined;
  readonly queries: readonly Query[];
  readonly rounds: number;
  readonly seed: number;
  /** How the rows are loaded; undefined when they stand already. */
  readonly generated:
    | { readonly scale: number; readonly blockSizes: readonly BlockSize[]; readonly peers: readonly Peer[] }
    | undefined;
}

function planOf({ directory, file, queries, rounds, seed, scale, blockSizes, peers }: Options): Plan {
  const stands = directory !== undefined || file !== undefined;
  const generated = stands
    ? undefined
    : {
        scale: scale ?? DEFAULT_SCALE,
        blockSizes: once(blockSizes?.map((size) => parseBlockSize(size)) ?? BLOCK_SIZES),
        peers: once((peers ?? []) as readonly Peer[]),
      };
  return { directory, file, queries: once(queries as readonly Query[]), rounds, seed, generated };
}

function once<Item>(items: readonly Item[]): readonly Item[] {
  return [...new Set(items)];
}

/** The options as they were used, where that is more than what was given. */
function settingsOf({ queries, generated }: Plan): Record<string, unknown> {
  if (generated === undefined) return { queries };
  const { scale, blockSizes, peers } = generated;
  return { queries, scale, blockSizes: blockSizes.map(sizeText), ...(peers.length > 0 && { peers }) };
}

/** Block sizes measured in the same rounds: all where memory allows; else one after the other, each with its peers. */
function groupsOf({ generated }: Plan): (readonly BlockSize[])[] {
  if (generated === undefined) return [[]];
  const { scale, blockSizes, peers } = generated;
  // A table for each count, in the pool and in the file cache; as much again for each peer.
  const perSize = rowCounts(scale).lineitem * ROW_BYTES * 4 * (1 + peers.length);
  return perSize * blockSizes.length < totalmem() * 0.6 ? [blockSizes] : blockSizes.map((size) => [size]);
}

async function* openGroup(
  blockSizes: readonly BlockSize[],
  { directory, file, queries, generated }: Plan,
  { signal, progress }: BenchmarkContext,
): AsyncGenerator<Subject> {
  if (directory !== undefined) yield openSubject(directory);
  if (file !== undefined) yield fileSubject(file);
  if (generated === undefined) return;
  const load: LoadOptions = {
    scale: generated.scale,
    pool: TextPool.open({ onProgress: progress }),
    signal,
    progress,
    withUnmarked: queries.includes('judged'),
    withIndex: queries.some((query) => KEY_QUERIES.includes(query)),
  };
  for (const size of blockSizes) yield await loadSubject(size, load);
  for (const peer of generated.peers) {
    if (peer === 'postgres') {
      if (blockSizes.includes(POSTGRES_BLOCK_SIZE)) yield await startPeer(peer, POSTGRES_BLOCK_SIZE, load, queries);
    } else for (const size of blockSizes) yield await startPeer(peer, size, load, queries);
  }
}

interface RightAnswers extends Answers {
  /** Where a sum of keys is asked for. */
  readonly keys: { readonly range: KeyRange; readonly sum: bigint } | undefined;
}

function rightAnswers(first: OurSubject, { generated, queries }: Plan): RightAnswers {
  const known = generated === undefined ? undefined : publishedAnswers(generated.scale);
  const keys = queries.includes('keysum') ? keyAnswer(first.target, first.table) : undefined;
  return { ...(known ?? computedAnswers(first.target, first.table)), keys };
}

async function measure(
  subjects: readonly Subject[],
  answers: RightAnswers,
  { queries, rounds, seed }: Plan,
  { signal, progress }: BenchmarkContext,
): Promise<Sampled[]> {
  const planned = subjects.flatMap((subject) =>
    queries.flatMap((query) => {
      const variant = queryVariant(query, subject, answers);
      return variant === undefined ? [] : [{ query, subject, variant }];
    }),
  );
  const before = new Map(subjects.map((subject) => [subject, subject.poolStats()]));
  const measured = await measureRounds(
    planned.map(({ variant }) => variant),
    { rounds, seed, signal, progress, phase: 'scanning', sampleMs: 5, warmUpMs: 100 },
  );
  return planned.map(({ query, subject }, i) => {
    const own = measured[i] as Measured;
    const poolHits = hitsSince(before.get(subject), subject.poolStats());
    return { query, subject, cell: cell(own, query, subject, poolHits), samplesNs: own.samplesNs };
  });
}

/** Pages found in memory among those that were asked for, 0 to 1; undefined where it is not known. */
function hitsSince(before: PoolStats | undefined, after: PoolStats | undefined): number | undefined {
  if (before === undefined || after === undefined) return undefined;
  const hits = after.hits - before.hits;
  return hits / Math.max(hits + after.reads - before.reads, 1);
}

function queryVariant(query: Query, subject: Subject, answers: RightAnswers): Variant | undefined {
  if (query === 'keysum') return keySumVariant(subject, answers);
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

function keySumVariant({ answer, blockSize, engine, rows }: Subject, { keys }: RightAnswers): Variant | undefined {
  const run = answer.keysum;
  if (run === undefined || keys === undefined) return undefined;
  const name = `${QUERY_TITLES.keysum} at ${blockSize >>> 10} kB in ${engine}`;
  // The keys are spread evenly: half of the rows.
  return {
    name,
    units: rows >>> 1,
    run: () => run(keys.range),
    check: expectAnswer(name, keys.sum) as (answer: unknown) => void,
  };
}

function cell(measured: Measured, query: Query, subject: Subject, poolHits: number | undefined): Cell {
  const { engine, blockSize, pages, bytes, tailWaste } = subject;
  const made = cellOf(measured, { blockSize, engine, query });
  return {
    ...made,
    rowsPerSecond: Math.round(1e9 / made.nsPerUnit),
    pages,
    bytes,
    tailWaste,
    poolHits,
  };
}

function asTheyAreNote({ queries, generated }: Plan): string[] {
  if (generated !== undefined || !queries.includes('judged')) return [];
  return [
    `${QUERY_TITLES.judged} ran on the pages as they are, marked or not, frozen or not; it does not ask the map.`,
  ];
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
