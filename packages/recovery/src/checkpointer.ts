// Checkpoints: from time to time everything that was changed goes to its files, so that redo need not start further back.
// One at a time; a spread one advances a little at each `tick`. PostgreSQL: `CreateCheckPoint`, xlog.c; checkpointer.c.
import type { PendingCreate } from '@blockwright/access';
import { checkOptions, isStorageError, type Lsn, type Steps, type Xid } from '@blockwright/base';
import type { BufferPool } from '@blockwright/bufmgr';
import type { ControlHolder } from '@blockwright/control';
import type { StorageManager } from '@blockwright/smgr';
import type { WalWriter } from '@blockwright/wal';
import { CheckpointJob } from './checkpoint-job.ts';
import { type CheckpointKind, type CheckpointReport, checkpointText } from './checkpoint-report.ts';
import type { ObjectIds } from './object-ids.ts';

/** What a checkpoint makes durable, and what its record says. */
export interface CheckpointParts {
  readonly wal: WalWriter;
  /** The page log: a checkpoint moves its redo point. */
  readonly log: { redoPoint: Lsn };
  readonly pool: BufferPool;
  readonly storage: StorageManager;
  readonly commitLog: { flush(): void };
  readonly transactions: { readonly nextXid: Xid; readonly nextXidEpoch: number; readonly oldestXid: Xid };
  readonly control: ControlHolder;
  readonly oids: ObjectIds;
  /** Files of dropped tables, which go once a checkpoint has ended that began after the drop. */
  readonly removed: { beforeCheckpoint(): void; afterCheckpoint(): void };
  readonly pendingCreates: { entries(): Iterable<PendingCreate> };
}

export interface CheckpointerOptions extends CheckpointParts {
  /** Milliseconds that never go back; `performance.now` by default. */
  readonly clock?: () => number;
  /** How long after the start of one the next begins. 5 minutes by default. PostgreSQL: `checkpoint_timeout`. */
  readonly checkpointTimeoutMs?: number;
  /** About so many bytes of WAL are kept for redo at most. 1 GiB by default. PostgreSQL: `max_wal_size`. */
  readonly maxWalBytes?: number;
  /** How much of the time to the next one a spread checkpoint takes. 0.9. PostgreSQL: `checkpoint_completion_target`. */
  readonly completionTarget?: number;
  /** Gets a line for each checkpoint that ended or failed. */
  readonly onLog?: (line: string) => void;
}

const OPTIONS: readonly (keyof CheckpointerOptions)[] = [
  'wal',
  'log',
  'pool',
  'storage',
  'commitLog',
  'transactions',
  'control',
  'oids',
  'removed',
  'pendingCreates',
  'clock',
  'checkpointTimeoutMs',
  'maxWalBytes',
  'completionTarget',
  'onLog',
];

const DEFAULT_TIMEOUT_MS = 300_000;
const DEFAULT_MAX_WAL_BYTES = 2 ** 30;
const DEFAULT_TARGET = 0.9;
/** How long a spread checkpoint that failed waits before it is tried again. */
const RETRY_MS = 1000;

/** The checkpoints of an open data directory. */
export class Checkpointer {
  private readonly parts: CheckpointParts;
  private readonly clock: () => number;
  private readonly timeoutMs: number;
  /** Bytes of WAL after a redo point that begin the next checkpoint. PostgreSQL: `CheckPointSegments`. */
  private readonly triggerBytes: number;
  private readonly maxWalBytes: number;
  private readonly target: number;
  private readonly onLog: ((line: string) => void) | undefined;
  private job: CheckpointJob | undefined = undefined;
  /** Clock at the start of the last checkpoint that ended well. */
  private startedMs: number;
  /** Not before this does the next one begin by itself. */
  private retryMs = 0;
  /** Bytes between redo points, a moving average that falls slowly. PostgreSQL: `CheckPointDistanceEstimate`. */
  private estimateBytes = 0;

  /** @throws TypeError for an unknown option; RangeError for a time, a volume or a share that is none. */
  constructor(options: CheckpointerOptions) {
    checkOptions('Checkpointer', options, OPTIONS);
    this.parts = options;
    this.clock = options.clock ?? (() => performance.now());
    this.timeoutMs = positive('checkpointTimeoutMs', options.checkpointTimeoutMs ?? DEFAULT_TIMEOUT_MS);
    this.maxWalBytes = positive('maxWalBytes', options.maxWalBytes ?? DEFAULT_MAX_WAL_BYTES);
    this.target = options.completionTarget ?? DEFAULT_TARGET;
    if (!(this.target >= 0 && this.target <= 1)) {
      throw new RangeError(`completionTarget ${String(this.target)} is not a number from 0 to 1`);
    }
    this.triggerBytes = this.maxWalBytes / (1 + this.target);
    this.onLog = options.onLog;
    this.startedMs = this.clock();
  }

  /** Whether a checkpoint is under way. */
  get isRunning(): boolean {
    return this.job !== undefined;
  }

  /**
   * A checkpoint, as fast as its steps are taken. One that is under way is given up for it: whoever takes the other's
   * steps then takes this one's, and gets its report.
   * @throws StorageError 53100 when the disk is full: nothing is lost, and redo starts where it did. 58030 when a sync has
   *   failed: from then on the WAL refuses everything.
   */
  *steps(kind: CheckpointKind): Steps<CheckpointReport> {
    const job = this.begin(kind, false);
    return yield* job.drive();
  }

  /**
   * Lets a spread checkpoint begin when it is due by time or by the volume of WAL, and advance as far as it should have by
   * now. It throws nothing for a disk that refuses: a checkpoint that fails says so in the log and is tried again, and
   * after a failed sync the next change of a page throws.
   */
  tick(): void {
    let { job } = this;
    if (job === undefined) {
      if (!this.isDue()) return;
      job = this.begin('spread', true);
    }
    if (!job.byTick) return;
    try {
      while (this.job === job && this.isBehind(job)) job.advance();
      if (job.error !== undefined) throw job.error;
    } catch (error) {
      this.retryMs = this.clock() + RETRY_MS;
      if (!isStorageError(error)) throw error;
      this.onLog?.(`checkpoint failed: ${error.message}`);
    }
  }

  private begin(kind: CheckpointKind, byTick: boolean): CheckpointJob {
    const job = new CheckpointJob(this.parts, kind, byTick, {
      clock: this.clock,
      spareSegments: (distance) => this.spareSegments(distance),
      ended: () => this.ended(job),
    });
    this.job?.overtake(job);
    this.job = job;
    return job;
  }

  private ended(job: CheckpointJob): void {
    if (this.job === job) this.job = undefined;
    if (job.report === undefined) return;
    this.startedMs = job.startedMs;
    this.onLog?.(checkpointText(job.report));
  }

  /** Whether there is something to do, and it is time. */
  private isDue(): boolean {
    const { wal, control } = this.parts;
    const { checkpoint } = control.current;
    const byVolume = wal.insertedUpTo - checkpoint.redo >= this.triggerBytes;
    const nowMs = this.clock();
    if (!byVolume && nowMs - this.startedMs < this.timeoutMs) return false;
    if (nowMs < this.retryMs || wal.failed !== undefined) return false;
    if (wal.lastStart !== checkpoint.record) return true;
    this.startedMs = nowMs; // nothing was logged since the last one
    return false;
  }

  /** Whether a spread checkpoint has done less than it should have by now. PostgreSQL: `IsCheckpointOnSchedule`. */
  private isBehind(job: CheckpointJob): boolean {
    const done = job.progress * this.target;
    if (done < (this.parts.wal.insertedUpTo - job.redo) / this.triggerBytes) return true;
    return done < (this.clock() - job.startedMs) / this.timeoutMs;
  }

  /**
   * How many segments to keep for the WAL to come, given how much came since the checkpoint before.
   * PostgreSQL: `UpdateCheckPointDistanceEstimate`, `XLOGfileslop`.
   */
  private spareSegments(distance: number): number {
    const { estimateBytes: old } = this;
    this.estimateBytes = old < distance ? distance : 0.9 * old + 0.1 * distance;
    const size = this.parts.control.current.walSegmentSize;
    const wanted = 1.1 * (1 + this.target) * this.estimateBytes;
    return Math.ceil(Math.min(wanted, this.maxWalBytes) / size);
  }
}

function positive(name: string, value: number): number {
  if (!(value > 0)) throw new RangeError(`${name} ${String(value)} is not a positive number`);
  return value;
}
