// `bench index`: builds of B-trees, inserts into them and point look-ups, at every block size, beside PostgreSQL and SQLite.
import { tmpdir } from 'node:os';
import {
  type Aim,
  aimAtLeast,
  aimAtMost,
  type Benchmark,
  type BenchmarkContext,
  type BenchmarkOutcome,
  type Cell,
  cellOf,
  checkFolder,
  compareRounds,
  defineBenchmark,
  expectAnswer,
  type Measured,
  measureRounds,
  perUnit,
} from '@blockwright/benchmark';
import { parseMemorySize } from '@blockwright/engine';
import { BLOCK_SIZES, formatBlockSize, parseBlockSize } from '@blockwright/geometry';
import { postgresIsInstalled, sqliteIsInstalled } from '@blockwright/peers';
import { KEY_KINDS, type KeyKind } from './keys.ts';
import { openOurs } from './our-subject.ts';
import { openPostgresIndexes, POSTGRES_NOTE } from './postgres-subject.ts';
import { openSqliteIndexes, SQLITE_NOTE } from './sqlite-subject.ts';
import { type IndexPlan, type IndexSize, type IndexSubject, PARTS, type Part, type Work } from './subject.ts';

/** The block size at which PostgreSQL runs, and the aims are set. */
const JUDGED_SIZE = 8192;
const SIZE_TOLERANCE = 0.02;
const LEAST_WORK_MEM = 65_536;
const SYNCED = 'every engine waits for the disk at the end of a build and of a transaction of inserts';

const whole = (value: unknown): string =>
  value === null || value === undefined ? '' : Math.round(Number(value)).toLocaleString('en');
const twoDigits = (value: unknown): string => (value === null || value === undefined ? '' : Number(value).toFixed(2));
const kilobytes = (value: unknown): string => (value === null ? '' : whole(Number(value) / 1024));

export const indexBenchmark: Benchmark = defineBenchmark({
  name: 'index',
  summary: 'B-trees built, inserted into and looked up at every block size, beside PostgreSQL and SQLite',
  options: {
    blockSizes: { type: 'list', default: BLOCK_SIZES.map(formatBlockSize), help: 'block sizes', placeholder: 'SIZES' },
    parts: { type: 'list', default: [...PARTS], choices: [...PARTS], help: 'what to measure', placeholder: 'PARTS' },
    keys: {
      type: 'list',
      default: [...KEY_KINDS],
      choices: [...KEY_KINDS],
      help: 'kinds of keys',
      placeholder: 'KINDS',
    },
    rows: { type: 'number', default: 200_000, help: 'rows of a table', min: 1, max: 100_000_000, integer: true },
    lookups: { type: 'number', default: 50_000, help: 'look-ups a sample', min: 1, max: 10_000_000, integer: true },
    workMem: { type: 'string', default: '256MB', help: 'memory to sort in', placeholder: 'SIZE' },
    buffers: { type: 'string', default: '256MB', help: 'buffer pool of each engine', placeholder: 'SIZE' },
    peers: {
      type: 'list',
      default: ['postgres', 'sqlite'],
      choices: ['postgres', 'sqlite', 'none'],
      help: 'other databases to run beside',
    },
    rounds: { type: 'number', default: 9, help: 'interleaved rounds', min: 9, max: 10_000, integer: true },
    folder: { type: 'string', default: undefined, help: 'where to make the databases', placeholder: 'DIR' },
    seed: { type: 'number', default: 1, help: 'seed of keys and order', min: 0, max: 2 ** 32 - 1, integer: true },
  },
  columns: [
    { key: 'what', title: 'what' },
    { key: 'perSecond', title: 'a second', format: whole },
    { key: 'nsPerUnit', title: 'ns each', format: whole },
    { key: 'timesPostgres', title: "times PostgreSQL's", format: twoDigits },
    { key: 'timesSqlite', title: "times SQLite's", format: twoDigits },
    { key: 'indexBytes', title: 'index kB', format: kilobytes },
    { key: 'levels', title: 'levels', format: whole },
  ],
  run: async (options, context) => {
    const sizes = options.blockSizes.map((text) => parseBlockSize(text));
    const { rows, lookups, workMem, buffers, rounds, seed, folder = tmpdir() } = options;
    const bufferBytes = parseMemorySize('--buffers', buffers);
    if (parseMemorySize('--work-mem', workMem) < LEAST_WORK_MEM)
      throw new RangeError(`--work-mem "${workMem}" is less than 64kB, the least that PostgreSQL sorts in`);
    if (options.peers.includes('none') && options.peers.length > 1)
      throw new RangeError(`--peers "${options.peers.join(',')}": none stands alone`);
    checkFolder(folder);
    const plan: IndexPlan = {
      folder,
      parts: options.parts as readonly Part[],
      kinds: options.keys as readonly KeyKind[],
      rows,
      lookups,
      workMem,
      buffers,
      seed,
    };
    const missing: string[] = [];
    const subjects: IndexSubject[] = [];
    try {
      for (const size of sizes) subjects.push(openOurs(plan, size));
      if (options.peers.includes('sqlite')) {
        if (sqliteIsInstalled()) subjects.push(await openSqliteIndexes(plan, bufferBytes));
        else missing.push('SQLite was not measured: the package libsql is not installed beside Blockwright');
      }
      if (options.peers.includes('postgres')) {
        if (postgresIsInstalled()) subjects.push(await openPostgresIndexes(plan));
        else missing.push('PostgreSQL was not measured: its packages are not installed beside Blockwright');
      }
      return await measure(subjects, { rounds, seed, missing }, context);
    } finally {
      for (const subject of subjects.reverse()) await subject.close();
    }
  },
});

/** One engine's work, measured. */
interface Done {
  readonly subject: IndexSubject;
  readonly work: Work;
  readonly measured: Measured;
  readonly size: IndexSize | undefined;
}

/** What is compared runs in the same rounds: the same work on the same keys, by every engine. */
export async function measure(
  subjects: readonly IndexSubject[],
  { rounds, seed, missing }: { readonly rounds: number; readonly seed: number; readonly missing: readonly string[] },
  { signal, progress, log }: BenchmarkContext,
): Promise<BenchmarkOutcome> {
  const all: Done[] = [];
  const groups = new Map<string, { subject: IndexSubject; work: Work }[]>();
  for (const subject of subjects) {
    for (const work of subject.works) {
      const key = `${work.query} of ${work.kind} keys`;
      groups.set(key, [...(groups.get(key) ?? []), { subject, work }]);
    }
  }
  for (const [phase, group] of groups) {
    const variants = group.map(({ subject, work }) => ({
      name: `${subject.engine} ${subject.blockSize ?? ''} ${phase} ${work.form ?? ''}`,
      units: work.units,
      before: beforeEach(work),
      run: () => work.run(),
      check: expectAnswer(`${subject.engine}, ${phase}`, work.expected),
    }));
    const measured = await measureRounds(variants, { rounds, seed, warmUpMs: 200, signal, progress, phase });
    for (const [i, { subject, work }] of group.entries()) {
      await work.verify();
      all.push({ subject, work, measured: measured[i] as Measured, size: await work.size() });
    }
  }
  for (const line of missing) log(line);
  return {
    settings: Object.fromEntries(
      subjects.filter(({ isPeer }) => isPeer).map(({ engine, settings }) => [engine, settings]),
    ),
    results: all.map((done) => cell(done, all)),
    aims: all
      .filter(({ subject }) => subject.blockSize === JUDGED_SIZE && !subject.isPeer)
      .flatMap((done) => aimsOf(done, all)),
    notes: [SYNCED, POSTGRES_NOTE, SQLITE_NOTE, ...missing],
  };
}

/** What the last sample made is looked at before it goes. */
function beforeEach(work: Work): () => Promise<void> {
  let hasRun = false;
  return async () => {
    if (hasRun) await work.verify();
    hasRun = true;
    await work.prepare();
  };
}

type Peer = 'PostgreSQL' | 'SQLite';
const PEERS: readonly Peer[] = ['PostgreSQL', 'SQLite'];

/** What a peer did of the same work; in its quickest form, or asked as we are. */
function peersOf(peer: Peer, { work }: Done, all: readonly Done[]): Done[] {
  return all.filter(
    (other) =>
      other.subject.engine.startsWith(peer) && other.work.query === work.query && other.work.kind === work.kind,
  );
}

function quickest(done: readonly Done[]): Done | undefined {
  const median = ({ measured }: Done): number => cellOf(measured, { blockSize: null, engine: '' }).nsPerUnit;
  return [...done].sort((a, b) => median(a) - median(b))[0];
}

function cell(done: Done, all: readonly Done[]): Cell {
  const { subject, work, measured, size } = done;
  const plain = cellOf(measured, {
    blockSize: subject.blockSize,
    engine: subject.engine,
    query: work.query,
    variant: work.form,
    keys: work.kind,
  } as Parameters<typeof cellOf>[1]);
  const times = (peer: Peer): number | null => {
    const theirs = subject.isPeer ? undefined : quickest(peersOf(peer, done, all));
    return theirs === undefined ? null : compareRounds(perUnit(theirs.measured), perUnit(done.measured)).ratio;
  };
  return {
    ...plain,
    what: [
      work.query,
      work.kind,
      subject.isPeer ? shortName(subject) : formatBlockSize(parseBlockSize(subject.blockSize as number)),
      subject.isPeer && work.query === 'look-up' ? work.form : undefined,
    ]
      .filter((part) => part !== undefined)
      .join(' '),
    perSecond: 1e9 / plain.nsPerUnit,
    timesPostgres: times('PostgreSQL'),
    timesSqlite: times('SQLite'),
    indexBytes: size?.bytes ?? null,
    levels: size?.levels ?? null,
  };
}

function shortName({ engine }: IndexSubject): string {
  return engine.split(' ')[0] as string;
}

function aimsOf(done: Done, all: readonly Done[]): Aim[] {
  const { work, size } = done;
  const what = `${formatBlockSize(JUDGED_SIZE)}, ${work.query} of ${work.kind} keys`;
  const aims: Aim[] = [];
  for (const peer of work.query === 'insert' ? [] : PEERS) {
    const theirs = peersOf(peer, done, all);
    const name = `${what}: speed over ${peer}'s`;
    if (theirs.length === 0) aims.push(aimAtLeast(name, 1, null));
    for (const other of theirs) {
      const how = other.work.form === undefined ? '' : `, ${other.work.form}`;
      aims.push(aimAtLeast(`${name}${how}`, 1, compareRounds(perUnit(other.measured), perUnit(done.measured))));
    }
  }
  if (size === undefined) return aims;
  const theirs = peersOf('PostgreSQL', done, all)[0]?.size?.bytes;
  const apart = theirs === undefined || size.bytes === undefined ? null : Math.abs(size.bytes / theirs - 1);
  aims.push(aimAtMost(`${what}: difference of the index's size from PostgreSQL's`, SIZE_TOLERANCE, apart));
  return aims;
}
