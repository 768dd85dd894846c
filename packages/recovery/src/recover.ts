// Opening a data directory: from its control file to a WAL that can be written, through redo when it was not shut down.
import type { Lsn, Oid, Steps, Xid } from '@blockwright/base';
import type { BufferPool } from '@blockwright/bufmgr';
import type { ControlHolder } from '@blockwright/control';
import type { StorageManager } from '@blockwright/smgr';
import type { Vfs } from '@blockwright/vfs';
import type { Checkpointer } from './checkpointer.ts';
import type { RecoveryReport } from './report.ts';
import type { WalGate } from './wal-gate.ts';

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
  /** What the pool was made with as its WAL. */
  readonly gate: WalGate;
  /**
   * Makes the WAL writer and what stands on it, attaches it to the gate, and returns the checkpointer, when redo is done:
   * the end-of-recovery checkpoint follows.
   */
  readonly start: (state: WalState) => Checkpointer;
  /** Whether to measure where the time goes: slower by a few percent. */
  readonly timing?: boolean;
  /** Gets what PostgreSQL writes to its log. */
  readonly onLog?: (line: string) => void;
}

/**
 * Where a directory that was shut down goes on.
 * @throws StorageError XX001 when its last checkpoint cannot be read.
 */
export function cleanStart(_options: StartOptions): WalState {
  throw new Error('not yet');
}

/**
 * Crash recovery. Again and again until it succeeds, through whatever crashes there are in between.
 * @throws StorageError XX001 when the WAL is not what it must be; nothing of the WAL was written then.
 */
// biome-ignore lint/correctness/useYield: its body follows
export function* recoverSteps(_options: RecoveryOptions): Steps<RecoveryReport> {
  throw new Error('not yet');
}
