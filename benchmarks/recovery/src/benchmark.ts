// `bench recovery`: crash recovery of random single-row updates, the same WAL with each way to compact a page, beside
// PostgreSQL's own redo of the same workload.
import { tmpdir } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import {
  type Benchmark,
  type BenchmarkContext,
  type BenchmarkOutcome,
  checkFolder,
  defineBenchmark,
} from '@blockwright/benchmark';
import { parseMemorySize } from '@blockwright/engine';
import { BLOCK_SIZES, type BlockSize, formatBlockSize, parseBlockSize } from '@blockwright/geometry';
import { COMPACTIONS, type Compaction } from '@blockwright/page';
import { makeCrashedDirectory } from './crashed.ts';
import { measurePostgres, POSTGRES_DOES_MORE, type PostgresResult } from './postgres-updates.ts';
import { replay } from './replay.ts';
import { aimsOf, Replays, summarise, summarisePostgres } from './summary.ts';
import { FILLFACTOR, WORKLOADS, type WorkloadName } from './workload.ts';

const COPY_NOTE =
  'each run opens a fresh copy of the same crashed directory, which is in the page cache; the code is warm after one run of each kind that is not counted';
const SHARES_NOTE =
  'shares of compaction, buffer look-up and file opening come from runs of their own: to measure them takes time';

const whole = (value: unknown): string => Math.round(Number(value)).toLocaleString('en');
const oneDigit = (value: unknown): string => Number(value).toFixed(1);
const twoDigits = (value: unknown): string => Number(value).toFixed(2);
const kilobytes = (value: unknown): string => whole(Number(value) / 1024);
const percent = (value: unknown): string => `${Number(value).toFixed(1)} %`;

export const recoveryBenchmark: Benchmark = defineBenchmark({
  name: 'recovery',
  summary: 'crash recovery of random updates or transactions, with each way to compact a page, beside PostgreSQL',
  options: {
    workload: {
      type: 'list',
      default: ['update'],
      choices: [...WORKLOADS],
      help: "what ran before the crash: updates of rows by TID; pgbench's transaction; look-ups and updates by key",
      placeholder: 'WORKLOAD',
    },
    blockSizes: { type: 'list', default: BLOCK_SIZES.map(formatBlockSize), help: 'block sizes', placeholder: 'SIZES' },
    rows: { type: 'number', default: 200_000, help: 'rows of the table', min: 1, max: 100_000_000, integer: true },
    updates: {
      type: 'number',
      default: 384_000,
      help: 'transactions before the crash',
      min: 1,
      max: 1e9,
      integer: true,
    },
    compaction: {
      type: 'list',
      default: [...COMPACTIONS],
      choices: [...COMPACTIONS],
      help: 'ways to compact a page in redo',
      placeholder: 'WAYS',
    },
    wal: {
      type: 'string',
      default: '64GB',
      help: 'WAL after which a checkpoint begins while the updates run',
      placeholder: 'SIZE',
    },
    walSegsize: { type: 'string', default: '16MB', help: 'size of a WAL segment', placeholder: 'SIZE' },
    buffers: {
      type: 'string',
      default: '32MB',
      help: 'size of the buffer pool, here and in PostgreSQL',
      placeholder: 'SIZE',
    },
    rounds: { type: 'number', default: 3, help: 'recoveries of each kind', min: 3, max: 1000, integer: true },
    peers: { type: 'list', default: undefined, choices: ['postgres'], help: 'other databases to run beside' },
    folder: {
      type: 'string',
      default: undefined,
      help: 'where to make the directories',
      placeholder: 'DIR',
    },
    seed: { type: 'number', default: 1, help: 'seed of the updates', min: 0, max: 2 ** 32 - 1, integer: true },
  },
  columns: [
    { key: 'engine', title: 'engine' },
    { key: 'blockSize', title: 'block', format: (size) => formatBlockSize(parseBlockSize(Number(size))) },
    { key: 'query', title: 'workload' },
    { key: 'variant', title: 'compaction' },
    { key: 'verifyMs', title: 'verify ms', format: whole },
    { key: 'redoMs', title: 'redo ms', format: whole },
    { key: 'checkpointMs', title: 'checkpoint ms', format: whole },
    { key: 'records', title: 'records', format: whole },
    { key: 'recordsPerSecond', title: 'a second', format: whole },
    { key: 'nsPerUnit', title: 'ns a record', format: whole },
    { key: 'ratio', title: "times sort's speed", format: twoDigits },
    { key: 'compactionPercent', title: 'compaction', format: percent },
    { key: 'lookupPercent', title: 'look-up', format: percent },
    { key: 'hotPercent', title: 'HOT', format: percent },
    { key: 'walBytesPerUpdate', title: 'WAL bytes a transaction', format: oneDigit },
    { key: 'imagePercent', title: 'images of it', format: percent },
    { key: 'tableBytes', title: 'table kB', format: kilobytes },
    { key: 'walBytes', title: 'WAL kB', format: kilobytes },
  ],
  run: async (options, context) => {
    const sizes = options.blockSizes.map((text) => parseBlockSize(text));
    const ways = options.compaction as readonly Compaction[];
    const { wal, walSegsize, buffers } = options;
    parseMemorySize('--wal', wal);
    parseMemorySize('--buffers', buffers);
    checkSegmentSize(walSegsize);
    const { rows, updates, rounds, seed, folder = tmpdir() } = options;
    checkFolder(folder);
    const plan: Plan = { ways, rows, updates, maxWal: wal, walSegmentSize: walSegsize, buffers, rounds, seed, folder };
    const replays: Replays[] = [];
    const postgres: PostgresResult[] = [];
    for (const workload of options.workload as readonly WorkloadName[]) {
      for (const blockSize of sizes) replays.push(...(await measureAt(workload, blockSize, plan, context)));
      if (options.peers?.includes('postgres')) {
        postgres.push(await measurePostgres({ workload, rows, updates, buffers, rounds, signal: context.signal }));
      }
    }
    return outcome(replays, postgres);
  },
});

const LEAST_SEGMENT_BYTES = 1 << 20;
const MOST_SEGMENT_BYTES = 1 << 30;

/** @throws RangeError naming the option when WAL segments cannot have that size. */
function checkSegmentSize(text: string): void {
  const bytes = parseMemorySize('--wal-segsize', text);
  const isInRange = bytes >= LEAST_SEGMENT_BYTES && bytes <= MOST_SEGMENT_BYTES;
  if (isInRange && Number.isInteger(Math.log2(bytes))) return;
  throw new RangeError(`--wal-segsize "${text}" is not a power of two from 1MB to 1GB`);
}

interface Plan {
  readonly ways: readonly Compaction[];
  readonly rows: number;
  readonly updates: number;
  readonly maxWal: string;
  readonly walSegmentSize: string;
  readonly buffers: string;
  readonly rounds: number;
  readonly seed: number;
  readonly folder: string;
}

/** All ways to compact over the WAL of one block size, in interleaved rounds. */
async function measureAt(
  workload: WorkloadName,
  blockSize: BlockSize,
  plan: Plan,
  context: BenchmarkContext,
): Promise<Replays[]> {
  const { ways, rounds, folder, buffers } = plan;
  const { signal, progress } = context;
  const crashed = await makeCrashedDirectory({ ...plan, workload, blockSize, signal, progress });
  try {
    const all = ways.map((way) => new Replays(way, crashed));
    for (let round = -1; round < rounds; round++) {
      for (const timing of [false, true]) {
        for (const replays of inTurn(all, round)) {
          const done = (round + 1) * all.length;
          progress({
            phase: `recovering at ${formatBlockSize(blockSize)}`,
            done,
            total: (rounds + 1) * all.length,
            unit: 'runs',
          });
          await setImmediate();
          signal.throwIfAborted();
          const report = replay(crashed, { folder, buffers, compaction: replays.way, timing });
          if (round >= 0) replays.add(report, timing);
        }
      }
    }
    return all;
  } finally {
    crashed.remove();
  }
}

/** Another one first in each round. */
function inTurn<Item>(items: readonly Item[], round: number): Item[] {
  const first = (round + items.length) % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}

function outcome(replays: readonly Replays[], postgres: readonly PostgresResult[]): BenchmarkOutcome {
  const [first] = postgres;
  return {
    settings: { fillfactor: FILLFACTOR, ...(first !== undefined && { postgres: first.settings }) },
    results: [...replays.map((one) => summarise(one, replays)), ...postgres.map(summarisePostgres)],
    aims: aimsOf(replays, postgres),
    notes: [COPY_NOTE, SHARES_NOTE, ...(first === undefined ? [] : [POSTGRES_DOES_MORE])],
  };
}
