// What goes on beside the statements of users: checkpoints get their turn, and commits that did not wait for the disk get
// their sync. Nothing here throws: it runs after commits and in timers, where there is nobody to catch.
import { isStorageError } from '@blockwright/base';
import type { Checkpointer } from '@blockwright/recovery';
import type { WalWriter } from '@blockwright/wal';

/** How often a checkpoint that is due, or under way, gets its turn when nothing else happens. */
const TICK_MS = 200;
/** After so much WAL it gets one within statements and transactions, too. */
const TICK_WAL_BYTES = 0x8000;

export interface UpkeepOptions {
  /** Undefined when the directory is open read-only: then there is nothing to do. */
  readonly writing: { readonly wal: WalWriter; readonly checkpointer: Checkpointer } | undefined;
  /** Milliseconds between two looks for WAL that no sync covers; Infinity: none. */
  readonly walWriterDelayMs: number;
  readonly onWarning: ((message: string) => void) | undefined;
}

export class Upkeep {
  private readonly options: UpkeepOptions;
  private readonly timers: ReturnType<typeof setInterval>[] = [];
  /** Where the WAL has to be for {@link tickByVolume} to do something. */
  private tickAt = 0;
  private isSyncing = false;
  /** What the last sync failed with, so that it is told once. */
  private syncFailure = '';
  private isStopped = false;

  constructor(options: UpkeepOptions) {
    this.options = options;
  }

  /** Begins the timers; they keep no process alive. */
  start(): void {
    const { writing, walWriterDelayMs } = this.options;
    if (writing === undefined) return;
    this.timers.push(setInterval(() => this.tick(), TICK_MS));
    if (Number.isFinite(walWriterDelayMs)) this.timers.push(setInterval(() => void this.sync(), walWriterDelayMs));
    for (const timer of this.timers) timer.unref?.();
  }

  stop(): void {
    this.isStopped = true;
    for (const timer of this.timers) clearInterval(timer);
  }

  /** Lets a checkpoint begin or go on. Only between changes of pages. */
  tick(): void {
    const { writing, onWarning } = this.options;
    if (writing === undefined || this.isStopped) return;
    this.tickAt = writing.wal.insertedUpTo + TICK_WAL_BYTES;
    try {
      writing.checkpointer.tick();
    } catch (error) {
      onWarning?.(`a checkpoint failed: ${messageOf(error)}`);
    }
  }

  /** {@link tick}, when there is some WAL more than at the last one; costs a comparison otherwise. */
  tickByVolume(): void {
    const { writing } = this.options;
    if (writing !== undefined && writing.wal.insertedUpTo >= this.tickAt) this.tick();
  }

  /** Syncs, off the thread, what commits have written and did not wait for. PostgreSQL: the WAL writer, walwriter.c. */
  private async sync(): Promise<void> {
    const { wal } = this.options.writing as { wal: WalWriter };
    if (this.isSyncing || this.isStopped || wal.failed !== undefined || wal.flushedUpTo >= wal.insertedUpTo) return;
    this.isSyncing = true;
    try {
      await wal.flushAsync(wal.insertedUpTo);
      this.syncFailure = '';
    } catch (error) {
      this.noteSyncFailure(error);
    } finally {
      this.isSyncing = false;
    }
  }

  /** A full disk is tried again; anything else has stopped the WAL, and the next call of a user throws. */
  private noteSyncFailure(error: unknown): void {
    const message = messageOf(this.options.writing?.wal.failed ?? error);
    if (this.isStopped || this.syncFailure === message) return;
    this.syncFailure = message;
    const then = isStorageError(error) && error.code === '53100' ? 'it is tried again' : 'the engine has stopped';
    this.options.onWarning?.(`the WAL could not be made durable, ${then}: ${this.syncFailure}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
