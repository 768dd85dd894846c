// `bench commit`: how many transactions of one row a second, with and without waiting for the disk, alone and in groups,
// beside SQLite.
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
} from '@blockwright/benchmark';
import { BLOCK_SIZES, formatBlockSize, parseBlockSize } from '@blockwright/geometry';
import { openSqliteCommits, sqliteIsInstalled } from '@blockwright/peers';
import { type CommitSubject, openSubject } from './subject.ts';
import { type Mode, modesOf, variantOf } from './variants.ts';

const SQLITE_MISSING = 'SQLite was not measured: the package libsql is not installed beside Blockwright';
const DOES_MORE =
  'SQLite parses each statement once and runs it in its bytecode engine, and keeps a B-tree by row id; its file is 4 kB pages in WAL mode';
const GROUPS =
  'a group: so many transactions begun together, each a promise; one sync off the thread serves all that wait. SQLite has no such thing: groups are held against its single commits';

const whole = (value: unknown): string => Math.round(Number(value)).toLocaleString('en');
const twoDigits = (value: unknown): string => Number(value).toFixed(2);

export const commitBenchmark: Benchmark = defineBenchmark({
  name: 'commit',
  summary: 'commits a second, with and without synchronous commit, alone and in groups, beside SQLite',
  options: {
    blockSizes: { type: 'list', default: BLOCK_SIZES.map(formatBlockSize), help: 'block sizes', placeholder: 'SIZES' },
    rounds: { type: 'number', default: 9, help: 'interleaved rounds', min: 9, max: 10_000, integer: true },
    commits: {
      type: 'number',
      default: 256,
      help: 'transactions a sample, where each waits for the disk; 16 times as many where none does',
      min: 1,
      max: 1_000_000,
      integer: true,
    },
    group: { type: 'number', default: 32, help: 'transactions of a group', min: 2, max: 10_000, integer: true },
    folder: {
      type: 'string',
      default: undefined,
      help: 'where to make the databases: the disk that is measured',
      placeholder: 'DIR',
    },
    seed: { type: 'number', default: 1, help: 'seed of the order', min: 0, max: 2 ** 32 - 1, integer: true },
  },
  columns: [
    { key: 'engine', title: 'engine' },
    { key: 'blockSize', title: 'block', format: (size) => formatBlockSize(parseBlockSize(Number(size))) },
    { key: 'variant', title: 'commits' },
    { key: 'perSecond', title: 'a second', format: whole },
    { key: 'ratio', title: "times SQLite's", format: twoDigits },
    { key: 'walBytes', title: 'WAL bytes each', format: whole },
  ],
  run: async (options, context) => {
    const sizes = options.blockSizes.map((text) => parseBlockSize(text));
    const { rounds, commits, group, seed, folder = tmpdir() } = options;
    checkFolder(folder);
    const subjects: CommitSubject[] = [];
    try {
      for (const blockSize of sizes) {
        for (const synchronous of [true, false]) subjects.push(openSubject({ folder, blockSize, synchronous }));
      }
      const peers = sqliteIsInstalled()
        ? await Promise.all([true, false].map((synchronous) => openSqliteCommits({ folder, synchronous })))
        : [];
      try {
        const modes = modesOf(subjects, peers, { commits, group });
        return await measure(modes, { rounds, seed }, context);
      } finally {
        for (const peer of peers) peer.close();
      }
    } finally {
      for (const subject of subjects) subject.remove();
    }
  },
});

async function measure(
  modes: readonly Mode[],
  { rounds, seed }: { readonly rounds: number; readonly seed: number },
  { signal, progress, log }: BenchmarkContext,
): Promise<BenchmarkOutcome> {
  const measured = await measureRounds(modes.map(variantOf), { rounds, seed, warmUpMs: 200, signal, progress });
  for (const mode of modes) mode.verify();
  const peerMode = modes.findIndex((mode) => mode.isPeer);
  if (peerMode < 0) log(SQLITE_MISSING);
  const results = modes.map((mode, i) => cell(mode, measured[i] as Measured, peerOf(mode, modes, measured)));
  return {
    settings: { sqlite: peerMode < 0 ? null : Object.assign({}, ...modes.map(({ settings }) => settings)) },
    results,
    aims: modes.filter((mode) => !mode.isPeer).map((mode) => aimOf(mode, modes, measured)),
    notes: peerMode < 0 ? [GROUPS, SQLITE_MISSING] : [GROUPS, DOES_MORE],
  };
}

/** What SQLite took with the same setting of synchronous commit. */
function peerOf(mode: Mode, modes: readonly Mode[], measured: readonly Measured[]): Measured | undefined {
  const at = modes.findIndex((other) => other.isPeer && other.synchronous === mode.synchronous);
  return at < 0 ? undefined : measured[at];
}

function cell(mode: Mode, measured: Measured, peer: Measured | undefined): Cell {
  const plain = cellOf(measured, { blockSize: mode.blockSize, engine: mode.engine, variant: mode.title });
  const comparison = peer === undefined || mode.isPeer ? undefined : compareRounds(perUnit(peer), perUnit(measured));
  return {
    ...plain,
    perSecond: 1e9 / plain.nsPerUnit,
    walBytes: mode.walBytes(),
    ratio: comparison?.ratio ?? null,
    ratioLow: comparison?.low ?? null,
    ratioHigh: comparison?.high ?? null,
    differenceSeen: comparison?.differenceSeen ?? null,
  };
}

function aimOf(mode: Mode, modes: readonly Mode[], measured: readonly Measured[]): Aim {
  const peer = peerOf(mode, modes, measured);
  const own = measured[modes.indexOf(mode)] as Measured;
  const name = `${formatBlockSize(parseBlockSize(mode.blockSize as number))}, ${mode.title}: commits a second over SQLite's`;
  return aimAtLeast(name, 1, peer === undefined ? null : compareRounds(perUnit(peer), perUnit(own)));
}
