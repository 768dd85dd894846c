// A disk, what has happened on it, and what must be there after a crash at any of its operations. A script says how to
// come there again: `8192 w7.60 c123.5 c40.all`: at 8 kB (`8192 unchecked`: without data checksums) a workload of 60 actions from seed 7, a crash after 123
// operations with seed 5, and one after 40 operations of the recovery from that.
import type { Database } from '@blockwright/engine';
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import type { SimulatedVfs, Survival } from '@blockwright/vfs/simulated';
import { databaseText, endProcess, newDisk, open, ownedFiles, wrongFiles, wrongLookUp } from './engine.ts';
import { afterCrash, type ModelState, stateText } from './model.ts';
import { type CommitPoint, Mismatch, Workload, type WorkloadOptions } from './workload.ts';

/** A moment to crash at, and what to lose. */
export interface Crash {
  readonly operation: number;
  readonly survival: Survival;
}

const NOTHING: ModelState = new Map();
/** Of a script: no data checksums. */
const UNCHECKED = 'unchecked';

export class Timeline {
  readonly script: string;
  readonly blockSize: BlockSize;
  /** Without them hints are in no WAL. */
  readonly hasChecksums: boolean;
  readonly disk: SimulatedVfs;
  readonly history: readonly CommitPoint[];
  /**
   * Operations until the database was open, until it began to be closed, and until it was closed. Before it is open and
   * once it is being closed, unlogged tables may have their rows, as after a clean shutdown.
   */
  private readonly opened: number;
  private readonly closing: number;
  private readonly closed: number;
  /** The last things that were done, for messages. */
  readonly log: readonly string[];

  private constructor(
    script: string,
    { blockSize, hasChecksums }: Pick<Timeline, 'blockSize' | 'hasChecksums'>,
    disk: SimulatedVfs,
    history: readonly CommitPoint[],
    opened: number,
    closing: number,
    log: readonly string[] = [],
    isClosed = true,
  ) {
    this.script = script;
    this.blockSize = blockSize;
    this.hasChecksums = hasChecksums;
    this.disk = disk;
    this.history = history;
    this.opened = opened;
    this.closing = closing;
    this.closed = isClosed ? disk.operations : Number.POSITIVE_INFINITY;
    this.log = log;
  }

  /** A new data directory. */
  static start(blockSize: BlockSize, hasChecksums = true): Timeline {
    const disk = newDisk(blockSize, hasChecksums);
    const script = `${blockSize}${hasChecksums ? '' : ` ${UNCHECKED}`}`;
    return new Timeline(script, { blockSize, hasChecksums }, disk, [startingWith(NOTHING)], 0, 0);
  }

  /** A new data directory for a seed: of the five kinds of workload every other round has no data checksums. */
  static startFor(blockSize: BlockSize, seed: number): Timeline {
    return Timeline.start(blockSize, Math.floor(seed / 5) % 2 === 0);
  }

  /** What the last commit left. */
  get state(): ModelState {
    return (this.history.at(-1) as CommitPoint).state;
  }

  /**
   * A workload from here on, and the database closed at its end.
   * @param on a disk with faults planted, to be used instead of a copy of this one; what they are is no part of the script
   * @param faults how the engine may answer them
   * @throws Mismatch
   */
  async workload(
    seed: number,
    actions: number,
    on?: SimulatedVfs,
    faults?: Pick<WorkloadOptions, 'tolerated' | 'mayGoOn'>,
  ): Promise<Timeline> {
    const script = `${this.script} w${seed}.${actions}`;
    const disk = on ?? this.disk.crash('all');
    let workload: Workload | undefined;
    try {
      const { blockSize, hasChecksums, state } = this;
      workload = new Workload({ seed, actions, blockSize, hasChecksums, disk, state, ...faults });
      await workload.run();
      const closing = disk.operations;
      workload.close();
      const { opened, log, isClosed } = workload;
      return new Timeline(script, this, disk, workload.points(), opened, closing, log, isClosed);
    } catch (error) {
      throw told(error, script, workload?.log);
    }
  }

  /** Opens the disk as it is, which no crash has made forget anything, verifies everything and closes. @throws Mismatch */
  reopen(): Timeline {
    endProcess(this.disk, false);
    try {
      const { state, opened, closing } = this.verify(this.disk, this.disk.operations);
      return new Timeline(`${this.script} reopened`, this, this.disk, [startingWith(state)], opened, closing);
    } catch (error) {
      throw told(error, `${this.script} reopened`, this.log);
    }
  }

  /** Crashes, recovers, verifies everything and closes. @throws Mismatch when something is lost, left over or damaged */
  crash({ operation, survival }: Crash): Timeline {
    const script = `${this.script} c${operation}.${survival}`;
    const disk = this.disk.crashedAt(operation, survival);
    endProcess(disk);
    try {
      const { state, opened, closing } = this.verify(disk, operation);
      return new Timeline(script, this, disk, [startingWith(state)], opened, closing);
    } catch (error) {
      const before = this.log.filter((line) => Number.parseInt(line, 10) <= operation);
      throw told(error, script, [...before, `crash before: ${this.disk.describe(operation)}`]);
    }
  }

  /** Opens a disk after a crash, and closes it. */
  private verify(
    disk: SimulatedVfs,
    operation: number,
  ): { readonly state: ModelState; readonly opened: number; readonly closing: number } {
    const db = open(disk, this.blockSize);
    const opened = disk.operations;
    const state = this.recovered(db, operation);
    const wrong = wrongLookUp(db, state);
    if (wrong !== undefined) throw new Mismatch(wrong);
    const owned = ownedFiles(db);
    const closing = disk.operations;
    db.close();
    const wrongFile = wrongFiles(disk, owned, this.hasChecksums);
    if (wrongFile !== undefined) throw new Mismatch(wrongFile);
    return { state, opened, closing };
  }

  /** Which of the states that may be there is. */
  private recovered(db: Database, operation: number): ModelState {
    const text = databaseText(db);
    const { history } = this;
    const first = history.findLastIndex((point) => point.durableAt <= operation);
    const last = history.findLastIndex((point) => point.startedAt < operation);
    for (let i = last; i >= first; i--) {
      const { state } = history[i] as CommitPoint;
      const candidates = operation < this.closed ? [afterCrash(state)] : [];
      if (operation <= this.opened || operation > this.closing) candidates.push(state);
      const found = candidates.find((candidate) => stateText(candidate) === text);
      if (found !== undefined) return found;
    }
    const known = history.findIndex((point) => stateText(afterCrash(point.state)) === text);
    const expected = history.slice(first, last + 1).map(({ state }) => stateText(afterCrash(state)));
    throw new Mismatch(
      `commits ${first} to ${last} may be there; what is there is ${known < 0 ? 'no commit' : `commit ${known}`}:\n${text}\n` +
        `instead of\n${[...new Set(expected)].join('\nor\n')}`,
    );
  }
}

function startingWith(state: ModelState): CommitPoint {
  return { state, startedAt: -1, durableAt: 0 };
}

function told(error: unknown, script: string, log: readonly string[] = []): Error {
  const cause = error instanceof Error ? error : new Error(String(error));
  if (cause.message.includes('BLOCKWRIGHT_SIMULATION_SEED')) return cause;
  const detail = (cause as { detail?: unknown }).detail;
  return new Mismatch(
    `${cause.message}${detail === undefined ? '' : ` (${String(detail)})`}\nBLOCKWRIGHT_SIMULATION_SEED="${script}"\n${log.slice(-30).join('\n')}`,
    { cause },
  );
}

/** Does what a script says. */
export async function replay(script: string): Promise<Timeline> {
  const [size, ...steps] = script.trim().split(/\s+/);
  const blockSize = BLOCK_SIZES.find((known) => String(known) === size);
  if (blockSize === undefined) throw new TypeError(`"${script}" does not begin with a block size`);
  const hasChecksums = steps[0] !== UNCHECKED;
  let timeline = Timeline.start(blockSize, hasChecksums);
  for (const step of steps.slice(hasChecksums ? 0 : 1)) {
    const match = /^(?:w(\d+)\.(\d+)|c(\d+)\.(all|synced|\d+))$/.exec(step);
    if (match === null) throw new TypeError(`"${step}" is no step of a script`);
    const [, seed, actions, operation, survival] = match;
    if (seed !== undefined) timeline = await timeline.workload(Number(seed), Number(actions));
    else {
      const what = survival === 'all' || survival === 'synced' ? survival : Number(survival);
      timeline = timeline.crash({ operation: Number(operation), survival: what });
    }
  }
  return timeline;
}
