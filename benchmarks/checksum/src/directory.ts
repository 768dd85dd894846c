// The second part of `bench checksum`: a whole data directory, in the page cache, verified by pg_checksums and by check.
import { closeSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { runSync } from '@blockwright/base';
import {
  aimAtLeast,
  type BenchmarkContext,
  type BenchmarkOutcome,
  cellOf,
  compareRounds,
  type Measured,
  measureRounds,
  WrongAnswerError,
} from '@blockwright/benchmark';
import { checkPath } from '@blockwright/engine';
import {
  CHECK_COMMAND,
  ownCommand,
  PG_CHECKSUMS,
  type Verify,
  variantOf,
  verifications,
} from './directory-variants.ts';
import { type MadeDirectory, makeDirectory } from './made-directory.ts';
import { findTools, TOOLS_MISSING } from './postgres-tools.ts';

const AIM = 1.5;
/** The aim is one of two cores. */
const AIM_JOBS = 2;
const CANARY_BYTES = 2 ** 20;

export interface DirectorySettings {
  /** Somebody's directory, of a server that is stopped; by default one is made. */
  readonly directory: string | undefined;
  /** Bytes of the table that is made. */
  readonly bytes: number;
  readonly pgBin: string | undefined;
  readonly rounds: number;
  readonly seed: number;
  /** Bytes of the directory in which a fault is planted, where the measured one is somebody's. */
  readonly canaryBytes?: number;
  /** Whether pg_checksums is measured, where it is installed. By default it is. */
  readonly usePeer?: boolean;
}

/** What check verifies and pg_checksums does not. */
const VERIFIES_MORE =
  'pg_checksums verifies the checksum of each block; check verifies beside it each page header and LSN, every line ' +
  'pointer against the others, every heap tuple’s header, transaction ids, attributes, and values out of line, version ' +
  'chains, and the visibility map against the heap, by columns that it reads from the catalogs';

/** Measures the ways to verify a directory, after each has found a planted fault. */
export async function measureDirectory(
  settings: DirectorySettings,
  context: BenchmarkContext,
): Promise<BenchmarkOutcome> {
  const { directory, bytes, pgBin, rounds, seed, canaryBytes = CANARY_BYTES, usePeer = true } = settings;
  const { signal, progress, log } = context;
  const tools = usePeer ? findTools(pgBin) : undefined;
  const command = ownCommand();
  const jobs = Math.min(AIM_JOBS, availableParallelism());
  const ways = verifications({ tools, command, jobs });
  if (tools === undefined) log(TOOLS_MISSING);
  log(directory === undefined ? `making a directory of ${bytes} bytes` : `verifying ${directory}`);
  const made = directory === undefined ? await makeDirectory(tools, bytes, signal) : undefined;
  try {
    const path = directory ?? (made as MadeDirectory).path;
    const canary = made ?? (await makeDirectory(tools, canaryBytes, signal));
    try {
      await findPlantedFaults(ways, canary, signal);
    } finally {
      if (canary !== made) canary.remove();
    }
    const { files, blockSize } = runSync(checkPath(path, () => {}));
    const blocks = files.reduce((sum, { pages }) => sum + pages, 0);
    const variants = [...ways].map(([name, verify]) => variantOf(name, verify, path, blocks, signal));
    const measured = await measureRounds(variants, { rounds, seed, warmUpMs: 0, signal, progress, phase: 'directory' });
    return {
      settings: {
        directoryMadeBy: made?.madeBy ?? 'given',
        directoryBytes: blocks * blockSize,
        pgChecksums: tools?.version ?? null,
        jobs,
      },
      results: measured.map((one) => cell(one, measured, blockSize)),
      aims: [aimOf(measured)],
      notes: notesOf(tools !== undefined, command !== undefined),
    };
  } finally {
    made?.remove();
  }
}

function notesOf(hasTools: boolean, hasCommand: boolean): string[] {
  const notes = [VERIFIES_MORE];
  if (!hasTools) notes.push(TOOLS_MISSING);
  if (!hasCommand) notes.push('the command was not measured: this is not its process');
  return notes;
}

/** One bit of one page of the table is changed: a way that does not find it is not believed. */
export async function findPlantedFaults(
  ways: ReadonlyMap<string, Verify>,
  { path, tableFile }: MadeDirectory,
  signal: AbortSignal,
): Promise<void> {
  const at = Math.floor(statSync(tableFile).size / 3);
  flipBit(tableFile, at);
  try {
    for (const [name, verify] of ways) {
      const { isDamaged } = await verify(path, signal);
      if (!isDamaged)
        throw new WrongAnswerError(`${name} did not find the bit that was changed at byte ${at} of ${tableFile}`);
    }
  } finally {
    flipBit(tableFile, at);
  }
}

function flipBit(path: string, at: number): void {
  const file = openSync(path, 'r+');
  try {
    const byte = new Uint8Array(1);
    readSync(file, byte, 0, 1, at);
    byte[0] = (byte[0] as number) ^ 0x10;
    writeSync(file, byte, 0, 1, at);
  } finally {
    closeSync(file);
  }
}

function cell(one: Measured, all: readonly Measured[], blockSize: number): ReturnType<typeof cellOf> {
  const [baseline] = all as readonly [Measured, ...Measured[]];
  const { ratio, low, high, differenceSeen } = compareRounds(baseline.samplesNs, one.samplesNs);
  const plain = cellOf(one, { blockSize, engine: one.name === PG_CHECKSUMS ? 'postgres' : 'blockwright' });
  return {
    ...plain,
    variant: one.name,
    place: 'a directory',
    bytesPerNs: (one.units * blockSize) / plain.medianNs,
    ratio,
    ratioLow: low,
    ratioHigh: high,
    differenceSeen,
  };
}

function aimOf(measured: readonly Measured[]): ReturnType<typeof aimAtLeast> {
  const samples = (name: string): readonly number[] | undefined => measured.find((one) => one.name === name)?.samplesNs;
  const [theirs, ours] = [samples(PG_CHECKSUMS), samples(CHECK_COMMAND)];
  const speedUp = theirs === undefined || ours === undefined ? null : compareRounds(theirs, ours);
  return aimAtLeast(`check over pg_checksums, whole commands, ${AIM_JOBS} cores`, AIM, speedUp);
}
