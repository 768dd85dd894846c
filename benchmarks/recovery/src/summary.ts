// Recoveries as cells and aims: medians, ratios within a round, shares.
import { type Aim, aimAtLeast, aimAtMost, type Cell, compareRounds, quartiles } from '@blockwright/benchmark';
import { formatBlockSize } from '@blockwright/geometry';
import type { Compaction } from '@blockwright/page';
import type { RecoveryReport, RedoShares } from '@blockwright/recovery';
import type { CrashedDirectory } from './crashed.ts';
import type { PostgresResult } from './postgres-updates.ts';
import type { WorkloadName } from './workload.ts';

const MOST_OF_SORT = 0.5;
const MOST_OF_POSTGRES = 0.5;
const BASELINE: Compaction = 'sort';

/** The recoveries of one crashed directory with one way to compact. */
export class Replays {
  readonly way: Compaction;
  readonly crashed: CrashedDirectory;
  /** Without the clock inside. */
  readonly plain: RecoveryReport[] = [];
  /** With it. */
  readonly timed: RecoveryReport[] = [];

  constructor(way: Compaction, crashed: CrashedDirectory) {
    this.way = way;
    this.crashed = crashed;
  }

  add(report: RecoveryReport, timing: boolean): void {
    (timing ? this.timed : this.plain).push(report);
  }

  get blockSize(): number {
    return this.crashed.blockSize;
  }

  get workload(): WorkloadName {
    return this.crashed.workload.name;
  }

  /** Those of the same crashed directory with another way to compact. */
  beside(way: Compaction, all: readonly Replays[]): Replays | undefined {
    return all.find((other) => other.crashed === this.crashed && other.way === way);
  }

  redoMs(): number[] {
    return this.plain.map(({ usage }) => usage.elapsedSeconds * 1000);
  }

  compactionMs(): number[] {
    return this.timed.map(({ shares }) => sharesOf(shares).compactionSeconds * 1000);
  }

  /** Verifying the WAL included, which PostgreSQL does while it replays. */
  nsPerRecord(): number[] {
    return this.plain.map(
      ({ verifySeconds, usage, records }) => ((verifySeconds + usage.elapsedSeconds) * 1e9) / records,
    );
  }

  /** Per cent of the redo's time, by the runs with the clock inside. */
  percent(of: keyof RedoShares): number {
    return quartiles(this.timed.map(({ shares, usage }) => (sharesOf(shares)[of] * 100) / usage.elapsedSeconds)).median;
  }
}

function sharesOf(shares: RedoShares | undefined): RedoShares {
  if (shares === undefined) throw new TypeError('a recovery with the clock inside has no shares');
  return shares;
}

/** One row of the report. */
export function summarise(replays: Replays, all: readonly Replays[]): Cell {
  const { crashed, way, plain } = replays;
  const baseline = replays.beside(BASELINE, all);
  const redo = quartiles(replays.redoMs());
  const { records } = plain[0] as RecoveryReport;
  const ratio = baseline === undefined ? undefined : compareRounds(baseline.redoMs(), replays.redoMs());
  return {
    blockSize: replays.blockSize,
    engine: 'blockwright',
    query: replays.workload,
    variant: way,
    medianNs: redo.median * 1e6,
    q1Ns: redo.q1 * 1e6,
    q3Ns: redo.q3 * 1e6,
    rounds: plain.length,
    units: records,
    nsPerUnit: (redo.median * 1e6) / records,
    redoMs: redo.median,
    verifyMs: quartiles(plain.map(({ verifySeconds }) => verifySeconds * 1000)).median,
    checkpointMs: quartiles(plain.map(({ checkpointSeconds }) => checkpointSeconds * 1000)).median,
    records,
    recordsPerSecond: (records / redo.median) * 1000,
    ratio: ratio?.ratio ?? null,
    differenceSeen: ratio?.differenceSeen ?? null,
    compactionMs: quartiles(replays.compactionMs()).median,
    compactionPercent: replays.percent('compactionSeconds'),
    lookupPercent: replays.percent('lookupSeconds'),
    openPercent: replays.percent('openSeconds'),
    hotPercent: crashed.hotShare * 100,
    walBytes: crashed.walBytes,
    walBytesPerUpdate: crashed.walBytes / crashed.transactions,
    imagePercent: (crashed.imageBytes / crashed.walBytes) * 100,
    tableBytes: crashed.tableBytes,
  };
}

/** PostgreSQL's row. */
export function summarisePostgres({ engine, workload, runs }: PostgresResult): Cell {
  const redo = quartiles(runs.map(({ elapsedMs }) => elapsedMs));
  const records = quartiles(runs.map((run) => run.records)).median;
  return {
    blockSize: 8192,
    engine,
    query: workload,
    variant: undefined,
    medianNs: redo.median * 1e6,
    q1Ns: redo.q1 * 1e6,
    q3Ns: redo.q3 * 1e6,
    rounds: runs.length,
    units: records,
    nsPerUnit: quartiles(postgresNsPerRecord(runs)).median,
    redoMs: redo.median,
    records,
    recordsPerSecond: (records / redo.median) * 1000,
    hotPercent: quartiles(runs.map((run) => run.hotShare * 100)).median,
    walBytes: quartiles(runs.map((run) => run.walBytes)).median,
  };
}

function postgresNsPerRecord(runs: PostgresResult['runs']): number[] {
  return runs.map(({ elapsedMs, records }) => (elapsedMs * 1e6) / records);
}

/** The aims; null where a run had no way to measure one. */
export function aimsOf(all: readonly Replays[], postgres: readonly PostgresResult[]): Aim[] {
  const aims: Aim[] = [];
  for (const replays of all) {
    if (replays.way !== 'adaptive') continue;
    const isPlain = replays.workload === 'update';
    const size = `${formatBlockSize(replays.crashed.blockSize)}${isPlain ? '' : `, ${replays.workload}`}`;
    const sort = replays.beside(BASELINE, all);
    if (isPlain) {
      const ratio = sort === undefined ? null : compareRounds(replays.compactionMs(), sort.compactionMs());
      aims.push(aimAtMost(`${size}: adaptive's compaction time over sort's in redo`, MOST_OF_SORT, ratio));
    } else {
      const ratio = sort === undefined ? null : compareRounds(sort.redoMs(), replays.redoMs());
      aims.push(aimAtLeast(`${size}: adaptive's speed of redo over sort's`, 1, ratio));
    }
    if (replays.blockSize !== 8192 || !isPlain) continue;
    const theirs = postgres.find(({ workload }) => workload === replays.workload);
    const beside = theirs === undefined ? null : compareRounds(replays.nsPerRecord(), postgresNsPerRecord(theirs.runs));
    aims.push(
      aimAtMost(`${size}: time a record, verifying included, over PostgreSQL's redo`, MOST_OF_POSTGRES, beside),
    );
  }
  return aims;
}
