// Opening a data directory, in steps: the lock, the control file, recovery when it was not shut down, and the parts that
// stand on the WAL from there on. PostgreSQL: PostmasterMain, StartupXLOG.
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { PageLog, PendingCreates, RemovedFiles } from '@blockwright/access';
import { type RelationLocator, type Steps, StorageError } from '@blockwright/base';
import { BufferPool } from '@blockwright/bufmgr';
import { ControlHolder, checkDataDirectory } from '@blockwright/control';
import { BlockGeometry } from '@blockwright/geometry';
import {
  Checkpointer,
  cleanStart,
  ObjectIds,
  type RecoveryReport,
  recoverSteps,
  type WalState,
} from '@blockwright/recovery';
import { StorageManager } from '@blockwright/smgr';
import { CommitLog, Transactions } from '@blockwright/transam';
import type { Vfs } from '@blockwright/vfs';
import { WalWriter } from '@blockwright/wal';
import { Core, type CoreParts, type WritingParts } from './core.ts';
import { COMMIT_LOG_DIRECTORY, TEMPORARY_DIRECTORY, WAL_DIRECTORY } from './layout.ts';
import { DirectoryLock } from './lock.ts';
import type { OpenSettings } from './open-options.ts';
import { Relations } from './relations.ts';
import { Upkeep } from './upkeep.ts';

/** PostgreSQL: the least that `shared_buffers` can be, in blocks. */
const LEAST_BUFFERS = 16;

/** A directory that was opened. */
export interface Opened {
  readonly core: Core;
  readonly lock: DirectoryLock | undefined;
  /** What recovery did; undefined when the directory had been shut down. */
  readonly recovery: RecoveryReport | undefined;
}

/**
 * Opens a data directory; what fails leaves no lock and no open file.
 * @throws StorageError as `Database.open`.
 */
export function* openSteps(directory: string, settings: OpenSettings): Steps<Opened> {
  const { vfs, readOnly } = settings;
  const path = resolve(directory);
  checkDataDirectory(vfs, path);
  const lock = readOnly ? undefined : DirectoryLock.take(vfs, path, realPath(path));
  let opening: Opening | undefined;
  let isOpen = false;
  try {
    if (readOnly) DirectoryLock.refuseWhenHeld(vfs, path);
    const control = new ControlHolder(vfs, path);
    if (readOnly) refuseUnlessShutDown(path, control);
    opening = new Opening(path, settings, control);
    const { core, recovery } = yield* opening.steps();
    isOpen = true;
    return { core, lock, recovery };
  } finally {
    if (!isOpen) {
      opening?.abandon();
      lock?.release();
    }
  }
}

/** Puts the parts together, those that need no WAL first. */
class Opening {
  private readonly directory: string;
  private readonly settings: OpenSettings;
  private readonly control: ControlHolder;
  private readonly geometry: BlockGeometry;
  private readonly pool: BufferPool;
  private readonly storage: StorageManager;
  private parts: CoreParts | undefined = undefined;

  /** @throws RangeError for a pool larger than this machine can hold. */
  constructor(directory: string, settings: OpenSettings, control: ControlHolder) {
    this.directory = directory;
    this.settings = settings;
    this.control = control;
    const { blockSize, segmentBlocks, dataChecksums } = control.current;
    const { vfs, readOnly, sharedBytes, onWarning, debugPoison } = settings;
    this.geometry = BlockGeometry.of(blockSize);
    this.pool = new BufferPool({
      geometry: this.geometry,
      buffers: Math.max(Math.floor(sharedBytes / blockSize), LEAST_BUFFERS),
      verifyChecksums: dataChecksums,
      writeChecksums: dataChecksums,
      onWarning,
      debugPoison,
    });
    this.storage = new StorageManager({ vfs, directory, geometry: this.geometry, segmentBlocks, readOnly });
  }

  *steps(): Steps<{ core: Core; recovery: RecoveryReport | undefined }> {
    const { directory, settings, control, pool, storage } = this;
    const { vfs, readOnly, compaction, recoveryTiming, onLog } = settings;
    if (!readOnly) removeTemporaryFiles(vfs, `${directory}/${TEMPORARY_DIRECTORY}`);
    let recovery: RecoveryReport | undefined;
    if (control.current.state === 'shut down') {
      const state = cleanStart({ vfs, directory, control });
      if (readOnly) this.startReading(state);
      else {
        this.startWriting(state);
        control.update({ state: 'in production' });
      }
    } else {
      const start = (state: WalState): Checkpointer => this.startWriting(state).checkpointer;
      const timing = recoveryTiming;
      recovery = yield* recoverSteps({
        vfs,
        directory,
        control,
        pool,
        storage,
        start,
        compaction,
        timing,
        onLog,
      });
    }
    return { core: new Core(this.parts as CoreParts), recovery };
  }

  /** Closes every file and writes nothing. */
  abandon(): void {
    this.parts?.writing?.wal.close();
    this.parts?.commitLog.close();
    this.pool.abandon();
    this.storage.close();
  }

  private startReading(state: WalState): void {
    const { geometry } = this;
    const log = new PageLog({ geometry, hintImages: false });
    const commitLog = this.commitLog(undefined);
    this.together(log, commitLog, new Transactions({ commitLog, ...state }), undefined);
  }

  private startWriting(state: WalState): WritingParts {
    const { directory, settings, control, geometry, pool, storage } = this;
    const { vfs, onWarning, onLog } = settings;
    const { walSegmentSize, systemIdentifier, dataChecksums } = control.current;
    const wal = new WalWriter({
      vfs,
      directory: `${directory}/${WAL_DIRECTORY}`,
      segmentSize: walSegmentSize,
      systemIdentifier,
      incarnation: state.incarnation,
      start: state.start,
      previous: state.previous,
      bufferBytes: settings.walBufferBytes,
    });
    pool.wal = wal;
    const log = new PageLog({
      geometry,
      wal,
      hintImages: dataChecksums,
      fullPageImages: settings.fullPageImages,
      onWarning,
    });
    log.redoPoint = state.redo;
    const commitLog = this.commitLog(wal);
    const removed = new RemovedFiles({ pool, storage, onWarning });
    const pendingCreates = new PendingCreates();
    const transactions = new Transactions({
      wal,
      commitLog,
      nextXid: state.nextXid,
      nextXidEpoch: state.nextXidEpoch,
      oldestXid: state.oldestXid,
      synchronousCommit: settings.synchronousCommit,
      removeFiles: (files) => this.removeFiles(files, removed),
      recorded: (xids) => pendingCreates.forget(xids),
      ended: (xids) => pendingCreates.forget(xids),
      onWarning: (message) => onWarning?.(message),
    });
    const oids = new ObjectIds(wal, state.nextOid);
    const checkpointer = new Checkpointer({
      wal,
      log,
      pool,
      storage,
      commitLog,
      transactions,
      control,
      oids,
      removed,
      pendingCreates,
      checkpointTimeoutMs: settings.checkpointTimeoutMs,
      maxWalBytes: settings.maxWalBytes,
      onLog,
    });
    const writing: WritingParts = { wal, checkpointer, oids, removed, pendingCreates };
    this.together(log, commitLog, transactions, writing);
    return writing;
  }

  private commitLog(wal: WalWriter | undefined): CommitLog {
    const { directory, settings, geometry } = this;
    const { vfs, readOnly } = settings;
    return new CommitLog({
      vfs,
      directory: `${directory}/${COMMIT_LOG_DIRECTORY}`,
      pageBytes: geometry.size,
      readOnly,
      wal,
    });
  }

  private together(
    log: PageLog,
    commitLog: CommitLog,
    transactions: Transactions,
    writing: WritingParts | undefined,
  ): void {
    const { directory, geometry, control, pool, storage, settings } = this;
    const { vfs, maintenanceBytes, compaction, onWarning, walWriterDelayMs } = settings;
    const relations = new Relations({ pool, storage, log, transactions, compaction });
    this.parts = {
      directory,
      geometry,
      control,
      pool,
      storage,
      log,
      commitLog,
      transactions,
      relations,
      writing,
      upkeep: new Upkeep({ writing, walWriterDelayMs, onWarning }),
      vfs,
      maintenanceBytes,
      onWarning,
    };
  }

  /** Files of tables that were dropped, or made and not kept: nobody uses them now, and their handles go first. */
  private removeFiles(files: readonly RelationLocator[], removed: RemovedFiles): void {
    for (const locator of files) {
      this.parts?.relations.forget(locator.relfilenode);
      removed.remove(locator);
    }
  }
}

/** What a process that crashed has left. */
function removeTemporaryFiles(vfs: Vfs, directory: string): void {
  if (vfs.stat(directory)?.isDirectory !== true) return;
  for (const name of vfs.readdir(directory)) vfs.unlink(`${directory}/${name}`);
}

function refuseUnlessShutDown(directory: string, control: ControlHolder): void {
  const { state } = control.current;
  if (state === 'shut down') return;
  throw new StorageError('55000', `data directory "${directory}" was not shut down cleanly`, {
    detail: `Its state is "${state}".`,
    hint: `Recover it first: "blockwright recover -D ${directory}", or open it for writing.`,
  });
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // not of this file system: a simulated disk has no links
  }
}
