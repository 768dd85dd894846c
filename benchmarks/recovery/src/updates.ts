// The workload, and the crash: a table with fillfactor 85 whose rows are updated one a transaction, at random, by TID; and a
// copy of the data directory as it lies at the end, which is what a killed process leaves.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Progress } from '@blockwright/base';
import { seededRandom } from '@blockwright/benchmark';
import { Database, initdb, type Row, type TableDef, type Tid, table } from '@blockwright/engine';
import type { BlockSize } from '@blockwright/geometry';
import { type ColumnType, int4 } from '@blockwright/tuple';

export const FILLFACTOR = 85;
/** As narrow as rows are where compaction weighs most: 32 bytes and a line pointer. */
export const updatesTable: TableDef<{ id: ColumnType<number>; val: ColumnType<number> }> = table(
  'updates',
  { id: int4(), val: int4() },
  { fillfactor: FILLFACTOR },
);
type UpdateRow = Row<typeof updatesTable>;

const ROWS_A_STEP = 10_000;
const UPDATES_A_STEP = 4096;

export interface WorkloadOptions {
  readonly folder: string;
  readonly blockSize: BlockSize;
  readonly rows: number;
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
  readonly rows: number;
  /** Sum of `val` over all rows: one for each update. */
  readonly sum: number;
  /** Share of the updates that kept the row on its page. */
  readonly hotShare: number;
  /** Bytes of WAL that the updates wrote. */
  readonly walBytes: number;
  /** Of these, bytes of full-page images. */
  readonly imageBytes: number;
  /** Bytes of the table. */
  readonly tableBytes: number;
  remove(): void;
}

/** Runs the workload and leaves the directory as a crash would. */
export async function makeCrashedDirectory(options: WorkloadOptions): Promise<CrashedDirectory> {
  const { folder, blockSize, buffers, maxWal, walSegmentSize } = options;
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
      const tids = await insertRows(database, options);
      database.checkpoint();
      const before = walSizes(database);
      const hot = await updateRows(database, tids, options);
      const { bytes, imageBytes } = walSizes(database);
      const { bytes: tableBytes } = database.tables().find(({ name }) => name === updatesTable.name) as {
        bytes: number;
      };
      cpSync(running, path, { recursive: true, filter: (source) => !source.endsWith('.pid') });
      const walBytes = bytes - before.bytes;
      const { rows, updates } = options;
      const sizes = { walBytes, imageBytes: imageBytes - before.imageBytes, tableBytes };
      return { path, blockSize, rows, sum: updates, hotShare: hot / updates, ...sizes, remove };
    } finally {
      database.close();
      rmSync(running, { recursive: true, force: true, maxRetries: 10 });
    }
  } catch (error) {
    remove();
    throw error;
  }
}

function walSizes(database: Database): { readonly bytes: number; readonly imageBytes: number } {
  const { bytes = 0, imageBytes = 0 } = database.walStats ?? {};
  return { bytes, imageBytes };
}

async function insertRows(database: Database, { rows, signal, progress, blockSize }: WorkloadOptions): Promise<Tid[]> {
  database.createTable(updatesTable);
  const tids: Tid[] = [];
  for (let from = 0; from < rows; from += ROWS_A_STEP) {
    const step: UpdateRow[] = [];
    for (let id = from; id < Math.min(from + ROWS_A_STEP, rows); id++) step.push({ id, val: 0 });
    database.transaction((tx) => tx.insert(updatesTable, step, { tids }));
    progress({ phase: `inserting at ${blockSize}`, done: from, total: rows, unit: 'rows' });
    await setImmediate();
    signal.throwIfAborted();
  }
  return tids;
}

/** @returns how many of the updates were HOT. */
async function updateRows(database: Database, tids: Tid[], options: WorkloadOptions): Promise<number> {
  const { rows, updates, seed, signal, progress, blockSize } = options;
  const random = seededRandom(seed);
  let hot = 0;
  for (let done = 0; done < updates; done++) {
    const row = Math.floor(random() * rows);
    const { block, offset } = tids[row] as Tid;
    // The last one waits for the disk, and with it all before.
    const synchronousCommit = done === updates - 1;
    database.transaction(
      (tx) => {
        tx.update(updatesTable, block, offset, increment);
        if (tx.lastWasHot) hot++;
        else tids[row] = tx.lastTid;
      },
      { synchronousCommit },
    );
    if (done % UPDATES_A_STEP === 0) {
      progress({ phase: `updating at ${blockSize}`, done, total: updates, unit: 'updates' });
      await setImmediate();
      signal.throwIfAborted();
    }
  }
  return hot;
}

function increment({ val }: UpdateRow): Partial<UpdateRow> {
  return { val: val + 1 };
}
