// The crash: a workload runs, one transaction after the other, and the data directory is copied as it lies at the end, which
// is what a killed process leaves.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Progress } from '@blockwright/base';
import { seededRandom } from '@blockwright/benchmark';
import { Database, initdb } from '@blockwright/engine';
import type { BlockSize } from '@blockwright/geometry';
import { type Workload, type WorkloadName, workloadOf } from './workload.ts';

const TRANSACTIONS_A_STEP = 4096;

export interface CrashOptions {
  readonly workload: WorkloadName;
  readonly folder: string;
  readonly blockSize: BlockSize;
  readonly rows: number;
  /** Transactions before the crash. */
  readonly updates: number;
  /** Size of the buffer pool, such as `32MB`. */
  readonly buffers: string;
  /** WAL after which a checkpoint begins, such as `1GB`. */
  readonly maxWal: string;
  /** Size of a WAL segment, such as `16MB`. */
  readonly walSegmentSize: string;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly progress: (progress: Progress) => void;
}

/** A data directory as a crash left it. */
export interface CrashedDirectory {
  readonly path: string;
  readonly blockSize: BlockSize;
  readonly workload: Workload;
  readonly transactions: number;
  /** Share of the updates that kept the row on its page. */
  readonly hotShare: number;
  /** Bytes of WAL that the transactions wrote. */
  readonly walBytes: number;
  /** Of these, bytes of full-page images. */
  readonly imageBytes: number;
  /** Bytes of the tables. */
  readonly tableBytes: number;
  remove(): void;
}

/** Runs the workload and leaves the directory as a crash would. */
export async function makeCrashedDirectory(options: CrashOptions): Promise<CrashedDirectory> {
  const { folder, blockSize, buffers, maxWal, walSegmentSize, rows, updates } = options;
  const scratch = mkdtempSync(join(folder, 'blockwright-recovery-'));
  const remove = (): void => rmSync(scratch, { recursive: true, force: true, maxRetries: 10 });
  const running = join(scratch, 'running');
  const path = join(scratch, 'crashed');
  try {
    initdb(running, { blockSize, walSegmentSize });
    const database = Database.open(running, {
      sharedBuffers: buffers,
      maxWalBytes: maxWal,
      checkpointTimeoutMs: Number.MAX_SAFE_INTEGER,
      synchronousCommit: false,
    });
    try {
      const workload = workloadOf(options.workload, rows);
      options.progress({ phase: `filling at ${blockSize}`, done: 0, total: rows, unit: 'rows' });
      workload.create(database);
      database.checkpoint();
      const before = walSizes(database);
      const hot = await runTransactions(database, workload, options);
      const { bytes, imageBytes } = walSizes(database);
      cpSync(running, path, { recursive: true, filter: (source) => !source.endsWith('.pid') });
      return {
        path,
        blockSize,
        workload,
        transactions: updates,
        hotShare: hot / (updates * workload.updatesEach),
        walBytes: bytes - before.bytes,
        imageBytes: imageBytes - before.imageBytes,
        tableBytes: bytesOf(database, workload.tables),
        remove,
      };
    } finally {
      database.close();
      rmSync(running, { recursive: true, force: true, maxRetries: 10 });
    }
  } catch (error) {
    remove();
    throw error;
  }
}

function bytesOf(database: Database, names: readonly string[]): number {
  return database.tables().reduce((sum, { name, bytes }) => (names.includes(name) ? sum + bytes : sum), 0);
}

function walSizes(database: Database): { readonly bytes: number; readonly imageBytes: number } {
  const { bytes = 0, imageBytes = 0 } = database.walStats ?? {};
  return { bytes, imageBytes };
}

/** @returns how many updates were HOT. */
async function runTransactions(database: Database, workload: Workload, options: CrashOptions): Promise<number> {
  const { updates, seed, signal, progress, blockSize } = options;
  const random = seededRandom(seed);
  let hot = 0;
  for (let done = 0; done < updates; done++) {
    // The last one waits for the disk, and with it all before.
    const synchronousCommit = done === updates - 1;
    hot += database.transaction((tx) => workload.step(tx, random), { synchronousCommit });
    if (done % TRANSACTIONS_A_STEP === 0) {
      progress({ phase: `updating at ${blockSize}`, done, total: updates, unit: 'transactions' });
      await setImmediate();
      signal.throwIfAborted();
    }
  }
  return hot;
}
