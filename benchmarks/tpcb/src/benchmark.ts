// `bench tpcb`: the transaction of pgbench, by one or several clients, with and without waiting for the disk, beside
// PostgreSQL by its socket and SQLite.
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
  perUnit,
  type Variant,
  WrongAnswerError,
} from '@blockwright/benchmark';
import { ACCOUNTS_A_BRANCH, type TpcbSize, tpcbSumsAgree } from '@blockwright/benchmark-workloads';
import { parseMemorySize } from '@blockwright/engine';
import { BLOCK_SIZES, formatBlockSize, parseBlockSize } from '@blockwright/geometry';
import { postgresIsInstalled, sqliteIsInstalled } from '@blockwright/peers';
import { openOurs, type SubjectOptions } from './our-subject.ts';
import {
  openPostgres,
  openSqliteTpcb,
  POSTGRES_DOES_MORE,
  SQLITE_DOES_LESS,
  startTpcbPostgres,
} from './peer-subjects.ts';
import { type Sample, TpcbDriver, type TpcbSubject } from './subject.ts';

const NOT_TPC =
  "derived from TPC-B as pgbench's transaction is; its figures cannot be compared with published TPC results";
const CONFLICTS =
  'a transaction that meets a row of another client is rolled back and begun again (retries); PostgreSQL waits instead';
/** Transactions by which the speed of each is guessed, so that samples last equally long. */
const TRIAL_TRANSACTIONS = 64;
/** Before anything is timed, each runs so many transactions, or so long: until then its code is compiled. */
const WARM_TRANSACTIONS = 6000;
const MOST_WARM_MS = 1500;
const LEAST_TRANSACTIONS = 32;

const whole = (value: unknown): string => Math.round(Number(value)).toLocaleString('en');
const threeDigits = (value: unknown): string => Number(Number(value).toPrecision(3)).toString();
const ratio = (value: unknown): string => (value === null || value === undefined ? '' : Number(value).toFixed(2));

export const tpcbBenchmark: Benchmark = defineBenchmark({
  name: 'tpcb',
  summary: "pgbench's transaction by one or several clients, beside PostgreSQL and SQLite",
  options: {
    blockSizes: { type: 'list', default: BLOCK_SIZES.map(formatBlockSize), help: 'block sizes', placeholder: 'SIZES' },
    clients: { type: 'list', default: ['1', '4'], help: 'clients at a time', placeholder: 'NUMBERS' },
    seconds: {
      type: 'number',
      default: 4,
      help: 'seconds that each cell runs, all rounds together',
      min: 0.05,
      max: 3600,
    },
    scale: {
      type: 'number',
      default: undefined,
      help: 'branches; as many as clients by default',
      min: 1,
      max: 1000,
      integer: true,
    },
    accounts: {
      type: 'number',
      default: ACCOUNTS_A_BRANCH,
      help: 'accounts of a branch',
      min: 1,
      max: 10_000_000,
      integer: true,
    },
    synchronous: {
      type: 'list',
      default: ['yes', 'no'],
      choices: ['yes', 'no'],
      help: 'whether commits wait for the disk',
      placeholder: 'LIST',
    },
    buffers: { type: 'string', default: '256MB', help: 'buffer pool of each engine', placeholder: 'SIZE' },
    peers: {
      type: 'list',
      default: ['postgres', 'sqlite'],
      choices: ['postgres', 'sqlite', 'none'],
      help: 'other databases to run beside',
    },
    rounds: { type: 'number', default: 9, help: 'interleaved rounds', min: 9, max: 10_000, integer: true },
    folder: {
      type: 'string',
      default: undefined,
      help: 'where to make the databases: the disk that is measured',
      placeholder: 'DIR',
    },
    seed: { type: 'number', default: 1, help: 'seed of the transactions', min: 0, max: 2 ** 32 - 1, integer: true },
  },
  columns: [
    { key: 'engine', title: 'engine' },
    {
      key: 'blockSize',
      title: 'block',
      format: (size) => (size === null ? '' : formatBlockSize(parseBlockSize(Number(size)))),
    },
    { key: 'variant', title: 'commits' },
    { key: 'clients', title: 'clients' },
    { key: 'perSecond', title: 'a second', format: whole },
    { key: 'p50', title: 'median ms', format: threeDigits },
    { key: 'p95', title: '95 % ms', format: threeDigits },
    { key: 'p99', title: '99 % ms', format: threeDigits },
    { key: 'retries', title: 'retries', format: whole },
    { key: 'timesPostgres', title: "times PostgreSQL's", format: ratio },
    { key: 'timesSqlite', title: "times SQLite's", format: ratio },
  ],
  run: async (options, context) => {
    const sizes = options.blockSizes.map((text) => parseBlockSize(text));
    const clients = options.clients.map(clientsOf);
    const most = Math.max(...clients);
    const { scale = most, seconds, rounds, seed, buffers, folder = tmpdir() } = options;
    if (scale < most)
      throw new RangeError(`--scale ${scale} is less than ${most} clients: they would wait for each other`);
    const size: TpcbSize = { branches: scale, accountsABranch: options.accounts };
    const bufferBytes = parseMemorySize('--buffers', buffers);
    checkFolder(folder);
    const asked = new Set(options.peers);
    if (asked.has('none') && asked.size > 1)
      throw new RangeError(`--peers "${options.peers.join(',')}": none stands alone`);
    const missing: string[] = [];
    const opened: (() => void | Promise<void>)[] = [];
    const subjects: TpcbSubject[] = [];
    const add = (subject: TpcbSubject): void => {
      subjects.push(subject);
      opened.push(() => subject.close());
    };
    try {
      const settings = options.synchronous.map((word): SubjectOptions => {
        return { folder, synchronous: word === 'yes', clients: most, size, buffers };
      });
      const total = settings.length * (sizes.length + 2);
      const tell = (phase: string): void => {
        context.progress({ phase, done: subjects.length, total, unit: 'databases' });
        context.signal.throwIfAborted();
      };
      for (const setting of settings) {
        for (const blockSize of sizes) {
          tell(`filling at ${formatBlockSize(blockSize)}`);
          add(await openOurs(setting, blockSize));
        }
      }
      if (asked.has('sqlite') && sqliteIsInstalled()) {
        tell('filling SQLite');
        for (const setting of settings) add(await openSqliteTpcb(setting, bufferBytes));
      } else if (asked.has('sqlite'))
        missing.push('SQLite was not measured: the package libsql is not installed beside Blockwright');
      if (asked.has('postgres') && postgresIsInstalled()) {
        tell('filling PostgreSQL');
        const server = await startTpcbPostgres(buffers);
        opened.push(() => server.close());
        for (const setting of settings) add(await openPostgres(server, setting));
      } else if (asked.has('postgres'))
        missing.push('PostgreSQL was not measured: its packages are not installed beside Blockwright');
      return await measure(subjects, { clients, size, seconds, rounds, seed, missing }, context);
    } finally {
      for (const close of opened.reverse()) await close();
    }
  },
});

/** @throws RangeError naming the option for what is no number of clients. */
function clientsOf(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 1000) return value;
  throw new RangeError(`tpcb's --clients takes integers from 1 to 1000, not "${text}"`);
}

interface Plan {
  readonly clients: readonly number[];
  readonly size: TpcbSize;
  readonly seconds: number;
  readonly rounds: number;
  readonly seed: number;
  readonly missing: readonly string[];
}

/** One engine with one number of clients: what it did, warm-up included, and what of it was timed. */
class Mode {
  readonly subject: TpcbSubject;
  readonly clients: number;
  readonly latencies: number[] = [];
  retries = 0;
  transactions = 0;
  private readonly driver: TpcbDriver;

  constructor(subject: TpcbSubject, clients: number, size: TpcbSize, seed: number) {
    this.subject = subject;
    this.clients = clients;
    this.driver = new TpcbDriver(subject, clients, size, seed);
  }

  get commits(): string {
    return commitsOf(this.subject);
  }

  /** Guesses how many transactions a sample of `seconds` takes. */
  async sizeSample(seconds: number): Promise<void> {
    const start = performance.now();
    const warmMs = Math.min(MOST_WARM_MS, seconds * 10_000);
    let committed = 0;
    let each: number;
    do {
      const began = performance.now();
      await this.driver.run(TRIAL_TRANSACTIONS);
      each = (performance.now() - began) / TRIAL_TRANSACTIONS;
      committed += TRIAL_TRANSACTIONS;
    } while (committed < WARM_TRANSACTIONS && performance.now() - start < warmMs);
    this.transactions = Math.max(LEAST_TRANSACTIONS, Math.ceil((seconds * 1000) / each));
    committedOf.set(this.subject, (committedOf.get(this.subject) ?? 0) + committed);
  }

  variant(): Variant<Sample> {
    const { subject, clients, transactions, commits } = this;
    let isTimed = false;
    return {
      name: `${subject.engine} ${subject.blockSize ?? ''} ${commits}, ${clients} clients`,
      units: transactions,
      before: (round) => {
        isTimed = round >= 0;
      },
      run: () => this.driver.run(transactions),
      check: ({ committed, retries, latenciesMs }) => {
        if (committed !== transactions)
          throw new WrongAnswerError(`${subject.engine} committed ${committed} of ${transactions} transactions`);
        committedOf.set(subject, (committedOf.get(subject) ?? 0) + committed);
        if (!isTimed) return;
        this.retries += retries;
        for (const latency of latenciesMs) this.latencies.push(latency);
      },
    };
  }

  percentile(share: number): number {
    const sorted = this.sorted();
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;
  }

  private sortedLatencies: Float64Array | undefined = undefined;

  private sorted(): Float64Array {
    this.sortedLatencies ??= Float64Array.from(this.latencies).sort();
    return this.sortedLatencies;
  }
}

function commitsOf({ synchronous }: TpcbSubject): string {
  return synchronous ? 'synchronous' : 'asynchronous';
}

/** Transactions that each engine was told had committed. */
const committedOf = new WeakMap<TpcbSubject, number>();

async function measure(
  subjects: readonly TpcbSubject[],
  { clients, size, seconds, rounds, seed, missing }: Plan,
  { signal, progress, log }: BenchmarkContext,
): Promise<BenchmarkOutcome> {
  const modes = subjects.flatMap((subject) => clients.map((count) => new Mode(subject, count, size, seed)));
  for (const mode of modes) {
    progress({ phase: 'trying', done: 0, total: modes.length, unit: 'cells' });
    await mode.sizeSample(seconds / rounds);
    signal.throwIfAborted();
  }
  const variants = modes.map((mode) => mode.variant());
  const measured = await measureRounds(variants, { rounds, seed, warmUpMs: 0, signal, progress });
  for (const subject of subjects) await verify(subject, committedOf.get(subject) ?? 0);
  for (const line of missing) log(line);
  const results = modes.map((mode, i) => cell(mode, measured[i] as Measured, modes, measured));
  return {
    settings: Object.fromEntries(
      subjects.filter(({ isPeer }) => isPeer).map((s) => [`${s.engine}, ${commitsOf(s)}`, s.settings]),
    ),
    results,
    aims: modes.filter(({ subject }) => !subject.isPeer).flatMap((mode) => aimsOf(mode, modes, measured)),
    notes: [NOT_TPC, CONFLICTS, POSTGRES_DOES_MORE, SQLITE_DOES_LESS, ...missing],
  };
}

/** @throws WrongAnswerError when the four sums disagree, or the history is not as long as it should be. */
export async function verify(subject: TpcbSubject, committed: number): Promise<void> {
  const sums = await subject.sums();
  if (tpcbSumsAgree(sums, committed)) return;
  throw new WrongAnswerError(`${subject.engine}, after ${committed} transactions: ${JSON.stringify(sums)}`);
}

type Peer = 'PostgreSQL' | 'SQLite';

function peerOf(
  peer: Peer,
  { subject, clients }: Mode,
  modes: readonly Mode[],
  measured: readonly Measured[],
): Measured | undefined {
  const at = modes.findIndex(
    (other) =>
      other.subject.engine.startsWith(peer) &&
      other.clients === clients &&
      other.subject.synchronous === subject.synchronous,
  );
  return at < 0 ? undefined : measured[at];
}

function cell(mode: Mode, own: Measured, modes: readonly Mode[], measured: readonly Measured[]): Cell {
  const { subject, clients, commits, retries } = mode;
  const plain = cellOf(own, { blockSize: subject.blockSize, engine: subject.engine, variant: commits });
  const times = (peer: Peer): number | null => {
    const theirs = subject.isPeer ? undefined : peerOf(peer, mode, modes, measured);
    return theirs === undefined ? null : compareRounds(perUnit(theirs), perUnit(own)).ratio;
  };
  return {
    ...plain,
    clients,
    perSecond: 1e9 / plain.nsPerUnit,
    p50: mode.percentile(0.5),
    p95: mode.percentile(0.95),
    p99: mode.percentile(0.99),
    retries,
    timesPostgres: times('PostgreSQL'),
    timesSqlite: times('SQLite'),
  };
}

function aimsOf(mode: Mode, modes: readonly Mode[], measured: readonly Measured[]): Aim[] {
  const { subject, clients, commits } = mode;
  const own = measured[modes.indexOf(mode)] as Measured;
  const size = formatBlockSize(parseBlockSize(subject.blockSize as number));
  return (['PostgreSQL', 'SQLite'] as const).map((peer) => {
    const theirs = peerOf(peer, mode, modes, measured);
    const name = `${size}, ${commits}, ${clients} ${clients === 1 ? 'client' : 'clients'}: transactions a second over ${peer}'s`;
    return aimAtLeast(name, 1, theirs === undefined ? null : compareRounds(perUnit(theirs), perUnit(own)));
  });
}
