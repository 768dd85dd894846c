// One checkpoint, from its redo point to the removal of what nobody needs any more: its steps, and who takes them.
import { isStorageError, type Lsn, type Progress, type Steps, StorageError } from '@blockwright/base';
import { walRecordStart } from '@blockwright/wal';
import type { CheckpointKind, CheckpointReport } from './checkpoint-report.ts';
import type { CheckpointParts } from './checkpointer.ts';
import {
  type CheckpointData,
  checkpointRecordBytes,
  putCheckpoint,
  XLOG_CHECKPOINT_ONLINE,
  XLOG_CHECKPOINT_SHUTDOWN,
} from './xlog-records.ts';

/** What a job is told by the checkpointer that began it. */
export interface CheckpointJobOptions {
  readonly clock: () => number;
  /** Segments to keep for the WAL to come, given the bytes since the previous redo point. */
  readonly spareSegments: (distance: number) => number;
  /** Called once, when it has ended in whatever way. */
  readonly ended: () => void;
}

export class CheckpointJob {
  readonly kind: CheckpointKind;
  /** Whether `tick` takes its steps. */
  readonly byTick: boolean;
  /** Where redo will start once it has ended. Set at once: what is changed from now on may not reach the files. */
  readonly redo: Lsn;
  /** Where the WAL ended when it began. */
  private readonly insertedBefore: Lsn;
  /** Clock at its start. */
  readonly startedMs: number;
  report: CheckpointReport | undefined = undefined;
  error: unknown = undefined;
  /** How much of the writing is done, from 0 to 1. */
  progress = 0;
  private readonly parts: CheckpointParts;
  private readonly options: CheckpointJobOptions;
  private readonly data: CheckpointData;
  private readonly work: Steps<CheckpointReport>;
  private overtakenBy: CheckpointJob | undefined = undefined;
  private drivers = 0;

  /** Begins it: the redo point is set, and what the record will say of this moment is noted. */
  constructor(parts: CheckpointParts, kind: CheckpointKind, byTick: boolean, options: CheckpointJobOptions) {
    const { wal, log, transactions, control, oids, pendingCreates } = parts;
    this.parts = parts;
    this.kind = kind;
    this.byTick = byTick;
    this.options = options;
    this.startedMs = options.clock();
    this.redo = walRecordStart(wal.insertedUpTo, control.current.walSegmentSize);
    this.insertedBefore = wal.insertedUpTo;
    log.redoPoint = this.redo;
    parts.removed.beforeCheckpoint();
    this.data = {
      redo: this.redo,
      incarnation: control.current.walIncarnation,
      nextXid: transactions.nextXid,
      nextXidEpoch: transactions.nextXidEpoch,
      nextOid: this.isLast ? oids.next : oids.loggedUpTo,
      oldestXid: transactions.oldestXid,
      timeMs: Date.now(),
      pendingCreates: [...pendingCreates.entries()],
    };
    this.work = this.steps();
  }

  /** Takes all steps that are left; of the checkpoint that overtook this one, if one did. */
  *drive(): Steps<CheckpointReport> {
    this.drivers++;
    try {
      while (this.overtakenBy === undefined) {
        if (this.report !== undefined) return this.report;
        if (this.error !== undefined) throw this.error;
        const progress = this.advance();
        if (progress !== undefined) yield progress;
      }
    } finally {
      this.drivers--;
      if (this.drivers === 0 && !this.byTick) this.giveUp();
    }
    return yield* this.overtakenBy.drive();
  }

  /** Takes one step. @returns undefined after the last: {@link report} or {@link error} is set then. */
  advance(): Progress | undefined {
    try {
      const step = this.work.next();
      if (step.done !== true) return step.value;
      this.report = step.value;
    } catch (error) {
      this.error = error;
    }
    this.options.ended();
    return undefined;
  }

  /** Ends it half-way for another: what it has written stays written. */
  overtake(by: CheckpointJob): void {
    this.overtakenBy = by;
    this.work.return(undefined as never);
  }

  private giveUp(): void {
    if (this.report !== undefined || this.error !== undefined || this.overtakenBy !== undefined) return;
    this.error = new StorageError('57014', 'the checkpoint was stopped');
    this.work.return(undefined as never);
    this.options.ended();
  }

  /** Whether nothing is logged while it runs: its redo point is its own record. */
  private get isLast(): boolean {
    return this.kind === 'shutdown' || this.kind === 'end-of-recovery';
  }

  private *steps(): Steps<CheckpointReport> {
    const { parts, redo, kind } = this;
    const { clock } = this.options;
    const previousRedo = parts.control.current.checkpoint.redo;
    const { wal, pool, control } = parts;
    if (kind === 'shutdown') this.stopOnFailure(() => control.update({ state: 'shutting down' }));
    parts.commitLog.flush();
    const buffersWritten = yield* this.writeBuffers();
    const writtenMs = clock();
    yield* this.syncFiles();
    const syncedMs = clock();
    if (this.isLast && wal.insertedUpTo !== this.insertedBefore) {
      throw new StorageError('55000', `something was logged during the ${kind} checkpoint`);
    }
    wal.reserve(checkpointRecordBytes(this.data));
    putCheckpoint(wal, this.isLast ? XLOG_CHECKPOINT_SHUTDOWN : XLOG_CHECKPOINT_ONLINE, this.data);
    const recordEnd = wal.insert(0);
    const record = wal.lastStart;
    wal.flush(recordEnd);
    // While redo still starts before their removal and would do it again: once the control file is written, a crash would
    // leave the names for ever. No number is given out in between.
    parts.removed.afterCheckpoint();
    this.stopOnFailure(() => parts.storage.syncPending());
    this.stopOnFailure(() => this.writeControl(record));
    const distanceBytes = redo - previousRedo;
    const { removed, recycled } = wal.recycle(redo, this.options.spareSegments(distanceBytes));
    return {
      kind,
      record,
      recordEnd,
      redo,
      buffersWritten,
      buffersShare: buffersWritten / pool.buffers,
      writeSeconds: (writtenMs - this.startedMs) / 1000,
      syncSeconds: (syncedMs - writtenMs) / 1000,
      totalSeconds: (clock() - this.startedMs) / 1000,
      segmentsRemoved: removed,
      segmentsRecycled: recycled,
      distanceBytes,
    };
  }

  private *writeBuffers(): Steps<number> {
    const writing = this.parts.pool.flushSteps();
    for (;;) {
      const step = writing.next();
      if (step.done === true) {
        this.progress = 1;
        return step.value;
      }
      const { done, total } = step.value;
      this.progress = total === 0 ? 1 : done / total;
      yield { ...step.value, phase: 'checkpoint' };
    }
  }

  private *syncFiles(): Steps<void> {
    try {
      yield* this.parts.storage.syncSteps();
    } catch (error) {
      this.parts.wal.fail(error);
      throw error;
    }
  }

  private writeControl(record: Lsn): void {
    const { control, wal } = this.parts;
    const { redo, incarnation, timeMs, nextXid, nextXidEpoch, oldestXid, nextOid } = this.data;
    control.update({
      state: this.kind === 'shutdown' ? 'shut down' : 'in production',
      checkpoint: { record, redo, durable: wal.flushedUpTo, incarnation, timeMs },
      nextXid,
      nextXidEpoch,
      oldestXid,
      nextOid,
    });
  }

  /** A full disk can be tried again. Whatever else goes wrong here leaves it open what is on the disk: the engine stops. */
  private stopOnFailure(change: () => void): void {
    try {
      change();
    } catch (error) {
      if (!isStorageError(error) || error.code !== '53100') this.parts.wal.fail(error);
      throw error;
    }
  }
}
