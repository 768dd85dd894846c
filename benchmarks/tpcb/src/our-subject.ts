// Our side: a data directory of its own, in which each client is an asynchronous session.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isStorageError } from '@blockwright/base';
import {
  createTpcb,
  runTpcb,
  sumTpcb,
  type TpcbSize,
  type TpcbTables,
  tpcbTables,
} from '@blockwright/benchmark-workloads';
import { Database, initdb } from '@blockwright/engine';
import type { BlockSize } from '@blockwright/geometry';
import { Conflict, type TpcbSubject } from './subject.ts';

export interface SubjectOptions {
  readonly folder: string;
  readonly synchronous: boolean;
  readonly clients: number;
  readonly size: TpcbSize;
  /** Size of the buffer pool, such as `128MB`. */
  readonly buffers: string;
}

/** Makes a data directory, fills it, and opens it. */
export async function openOurs(options: SubjectOptions, blockSize: BlockSize): Promise<TpcbSubject> {
  const { folder, synchronous, clients, size, buffers } = options;
  const directory = mkdtempSync(join(folder, 'blockwright-tpcb-'));
  let database: Database | undefined;
  const close = (): void => {
    try {
      database?.close();
    } finally {
      rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
    }
  };
  try {
    initdb(directory, { blockSize });
    const db = Database.open(directory, { sharedBuffers: buffers, synchronousCommit: synchronous });
    database = db;
    const tables = tpcbTables();
    createTpcb(db, tables, size);
    db.checkpoint();
    return {
      engine: 'blockwright',
      blockSize,
      isPeer: false,
      synchronous,
      settings: { sharedBuffers: buffers, synchronousCommit: synchronous },
      clients,
      attempt: (_client, parameters) => attempt(db, tables, parameters),
      sums: () => sumTpcb(db, tables),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

async function attempt(db: Database, tables: TpcbTables, parameters: Parameters<typeof runTpcb>[2]): Promise<number> {
  try {
    const { balance } = await db.transactionAsync((tx) => runTpcb(tx, tables, parameters));
    return balance;
  } catch (error) {
    if (isStorageError(error) && (error.code === '55P03' || error.code === '40001')) throw new Conflict();
    throw error;
  }
}
