// Opening a data directory: from its control file to a WAL that can be written, through redo when it was not shut down.
// Redo is done again and again until it succeeds, through whatever crashes there are in between: until the end-of-recovery
// checkpoint is in the control file, the next attempt starts where this one did. PostgreSQL: `StartupXLOG`, xlog.c.
import { PendingCreates, RedoPages, RedoStats } from '@blockwright/access';
import { checkOptions, type Lsn, lsnText, type Oid, type Steps, type Xid } from '@blockwright/base';
import type { BufferPool, WalFlusher } from '@blockwright/bufmgr';
import type { ControlHolder } from '@blockwright/control';
import type { Compaction } from '@blockwright/page';
import type { StorageManager } from '@blockwright/smgr';
import { CommitLog } from '@blockwright/transam';
import { joinPath, type Vfs } from '@blockwright/vfs';
import { type ResourceManager, type WalReader, walPageBoundary } from '@blockwright/wal';
import type { CheckpointReport } from './checkpoint-report.ts';
import type { Checkpointer } from './checkpointer.ts';
import { fillGaps, refuseUnexplainedGaps } from './gaps.ts';
import { redoManagers } from './managers.ts';
import { NextXid } from './next-xid.ts';
import { type Redone, redoSteps } from './redo.ts';
import { type RecoveryReport, redoDoneText } from './report.ts';
import { openReader, readStartPoint, type StartPoint } from './start-point.ts';
import { syncDirectorySteps } from './sync-directory.ts';
import { initUnlogged, removeUnlogged } from './unlogged.ts';
import { type WalExtent, walExtentSteps } from './wal-extent.ts';
import type { RedoCounters } from './xlog-redo.ts';

/** Where an opened directory goes on: what its WAL writer, its transactions and its object ids start from. */
export interface WalState {
  /** Of the WAL to be written. */
  readonly incarnation: number;
  /** Where its next record goes. */
  readonly start: Lsn;
  /** Start of the last record. */
  readonly previous: Lsn;
  /** For the page log. */
  readonly redo: Lsn;
  readonly nextXid: Xid;
  readonly nextXidEpoch: number;
  readonly oldestXid: Xid;
  readonly nextOid: Oid;
}

export interface StartOptions {
  readonly vfs: Vfs;
  /** The data directory. */
  readonly directory: string;
  readonly control: ControlHolder;
}

export interface RecoveryOptions extends StartOptions {
  readonly pool: BufferPool;
  readonly storage: StorageManager;
  /**
   * When redo is done, makes the WAL writer and what stands on it, gives it to the pool (`pool.wal`), and returns the
   * checkpointer: the end-of-recovery checkpoint follows.
   */
  readonly start: (state: WalState) => Checkpointer;
  /** Resource managers of further subjects. */
  readonly managers?: (pages: RedoPages) => readonly ResourceManager[];
  /** How pages are compacted; `adaptive` when not given. */
  readonly compaction?: Compaction;
  /** Whether to measure where the time goes: slower by a few percent. */
  readonly timing?: boolean;
  /** Gets what PostgreSQL writes to its log. */
  readonly onLog?: (line: string) => void;
  /** Milliseconds that never go back; `performance.now` by default. */
  readonly clock?: () => number;
}

const OPTIONS: readonly (keyof RecoveryOptions)[] = [
  'vfs',
  'directory',
  'control',
  'pool',
  'storage',
  'start',
  'managers',
  'compaction',
  'timing',
  'onLog',
  'clock',
];

/** Where the commit log is below the data directory. */
const COMMIT_LOG_DIRECTORY = 'xact';

/**
 * Where a directory that was shut down goes on. The caller sets the control file's state to `in production` before it
 * writes WAL: from then on the directory counts as crashed until it is shut down again.
 * @throws StorageError XX001 when its last checkpoint cannot be read.
 */
export function cleanStart(options: StartOptions): WalState {
  checkOptions('cleanStart', options, ['vfs', 'directory', 'control']);
  const { vfs, directory } = options;
  const control = options.control.current;
  const reader = openReader(vfs, directory, control);
  try {
    const { data, recordEnd } = readStartPoint(reader, directory, control);
    const { nextXid, nextXidEpoch, oldestXid, nextOid, redo } = data;
    const incarnation = control.walIncarnation;
    const { record } = control.checkpoint;
    return { incarnation, start: recordEnd, previous: record, redo, nextXid, nextXidEpoch, oldestXid, nextOid };
  } finally {
    reader.close();
  }
}

/** One attempt at recovery. */
class Recovery {
  private readonly options: RecoveryOptions;
  private readonly clock: () => number;
  private readonly reader: WalReader;
  private readonly pages: RedoPages;
  private readonly commitLog: CommitLog;
  private readonly created: PendingCreates = new PendingCreates();

  constructor(options: RecoveryOptions) {
    const { vfs, directory, control, pool, storage, compaction, timing = false } = options;
    this.options = options;
    this.clock = options.clock ?? (() => performance.now());
    this.reader = openReader(vfs, directory, control.current);
    const stats = new RedoStats();
    stats.timing = timing;
    this.pages = new RedoPages({ pool, storage, stats, ...(compaction === undefined ? {} : { compaction }) });
    this.commitLog = new CommitLog({
      vfs,
      directory: joinPath(directory, COMMIT_LOG_DIRECTORY),
      pageBytes: pool.geometry.size,
    });
    this.commitLog.recovering = true;
  }

  close(): void {
    this.reader.close();
    this.commitLog.close();
  }

  *steps(): Steps<RecoveryReport> {
    const { vfs, directory, control, pool, storage } = this.options;
    const { current } = control;
    const startPoint = readStartPoint(this.reader, directory, current);
    const startedMs = this.clock();
    const extent: WalExtent = yield* walExtentSteps(this.reader, directory, current);
    const verifySeconds = (this.clock() - startedMs) / 1000;
    const { data } = startPoint;
    const made = new Set(data.pendingCreates.map(({ locator }) => locator.relfilenode));
    refuseUnexplainedGaps(storage, this.reader, data.redo, (relfilenode) => made.has(relfilenode));
    pool.wal = walOnDisk(extent.end);
    if (current.state !== 'in crash recovery') control.update({ state: 'in crash recovery' });
    yield* syncDirectorySteps(vfs, directory);
    removeUnlogged(pool, storage);
    fillGaps(storage, this.options.onLog);
    const counters: RedoCounters = {
      nextXid: new NextXid(data.nextXid, data.nextXidEpoch),
      nextOid: data.nextOid,
      oldestXid: data.oldestXid,
    };
    for (const { xid, locator } of data.pendingCreates) this.created.add(xid, locator);
    const redone = yield* this.redo(startPoint, extent, counters);
    const filesRemoved = this.removeUnfinished();
    this.pages.missing.check();
    const unloggedReset = initUnlogged(pool, storage);
    this.commitLog.flush();
    const walIncarnation = control.current.walIncarnation + 1;
    control.update({ walIncarnation });
    const checkpoint = yield* this.checkpoint(extent, counters, walIncarnation);
    return this.report({ extent, verifySeconds, redone, filesRemoved, unloggedReset, checkpoint });
  }

  private *redo(startPoint: StartPoint, extent: WalExtent, counters: RedoCounters): Steps<Redone> {
    const { options, pages, commitLog, created, reader, clock } = this;
    const { redo } = startPoint.data;
    const managers = redoManagers({ pages, commitLog, created, counters });
    for (const manager of options.managers?.(pages) ?? []) managers.register(manager);
    const isRequired = extent.records > 1;
    if (isRequired) options.onLog?.(`redo starts at ${lsnText(extent.first)}`);
    const redone = yield* redoSteps({ reader, redo, extent, managers, nextXid: counters.nextXid, clock });
    if (isRequired) options.onLog?.(redoDoneText({ lastRecord: extent.last, usage: redone.usage }));
    else options.onLog?.('redo is not required');
    options.onLog?.(`the WAL ends at ${lsnText(extent.end)}: ${extent.endReason}`);
    return redone;
  }

  /** Files of relations whose transactions the crash ended: the WAL's changes of them are explained by that. */
  private removeUnfinished(): number {
    const unfinished = this.created.entries();
    for (const { locator } of unfinished) this.pages.removeRelation(locator);
    return unfinished.length;
  }

  private *checkpoint(extent: WalExtent, counters: RedoCounters, incarnation: number): Steps<CheckpointReport> {
    const { nextXid, nextOid, oldestXid } = counters;
    const start = walPageBoundary(extent.end);
    const checkpointer = this.options.start({
      incarnation,
      start,
      previous: extent.last,
      redo: start,
      nextXid: nextXid.xid,
      nextXidEpoch: nextXid.epoch,
      oldestXid,
      nextOid,
    });
    return yield* checkpointer.steps('end-of-recovery');
  }

  private report(done: {
    readonly extent: WalExtent;
    readonly verifySeconds: number;
    readonly redone: Redone;
    readonly filesRemoved: number;
    readonly unloggedReset: number;
    readonly checkpoint: CheckpointReport;
  }): RecoveryReport {
    const { extent, redone, checkpoint } = done;
    const { stats } = this.pages;
    const { records, bytes, images, imageBytes } = redone.counts.total();
    const shares = {
      compactionSeconds: stats.compactionMs / 1000,
      lookupSeconds: stats.lookupMs / 1000,
      openSeconds: stats.openMs / 1000,
    };
    return {
      redoStart: extent.first,
      lastRecord: extent.last,
      redoEnd: extent.end,
      isRequired: extent.records > 1,
      endReason: extent.endReason,
      incarnation: this.options.control.current.walIncarnation,
      records,
      bytes,
      images,
      imageBytes,
      byResourceManager: redone.byResourceManager,
      verifySeconds: done.verifySeconds,
      usage: redone.usage,
      shares: stats.timing ? shares : undefined,
      compactions: stats.compactions,
      filesRemoved: done.filesRemoved,
      unloggedReset: done.unloggedReset,
      checkpoint,
      checkpointSeconds: checkpoint.totalSeconds,
    };
  }
}

/** The WAL as the pool sees it during redo: all of it is on the disk, and no page may have an LSN beyond its end. */
function walOnDisk(end: Lsn): WalFlusher {
  return { insertedUpTo: end, flush: () => {} };
}

/**
 * Crash recovery: the WAL is read to its end, then applied, then a checkpoint begins the next incarnation.
 * @throws StorageError XX001 when the WAL cannot be what was written: nothing has been changed then. 53100 and the like
 *   when the disk refuses: the next attempt starts anew.
 */
export function* recoverSteps(options: RecoveryOptions): Steps<RecoveryReport> {
  checkOptions('recoverSteps', options, OPTIONS);
  const recovery = new Recovery(options);
  try {
    return yield* recovery.steps();
  } finally {
    recovery.close();
  }
}
