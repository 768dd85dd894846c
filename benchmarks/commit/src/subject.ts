// Our side: a data directory of its own with a table that takes one row a transaction.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Database, initdb, table } from '@blockwright/engine';
import type { BlockSize } from '@blockwright/geometry';
import { int4, text } from '@blockwright/tuple';

const commitsTable = table('commits', { id: int4(), payload: text() });

export interface SubjectOptions {
  /** Folder in which the directory is made: the disk that is measured. */
  readonly folder: string;
  readonly blockSize: BlockSize;
  /** Whether a commit waits for the disk. */
  readonly synchronous: boolean;
}

/** A database whose commits are counted. */
export interface CommitSubject {
  readonly blockSize: BlockSize;
  readonly synchronous: boolean;
  /** Inserts one row in a transaction of its own. */
  commit(id: number, payload: string): void;
  /** As {@link commit}, in a transaction that shares its sync with those that end at the same time. */
  commitInGroup(id: number, payload: string): Promise<void>;
  /** Rows that a new transaction sees. */
  rows(): number;
  /** Bytes of WAL so far. */
  walBytes(): number;
  /** Closes the database and removes its files. */
  remove(): void;
}

/** Makes a data directory and opens it. */
export function openSubject({ folder, blockSize, synchronous }: SubjectOptions): CommitSubject {
  const directory = mkdtempSync(join(folder, 'blockwright-commit-'));
  let database: Database | undefined;
  const remove = (): void => {
    try {
      database?.close();
    } finally {
      rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
    }
  };
  try {
    initdb(directory, { blockSize });
    const db = Database.open(directory, { synchronousCommit: synchronous });
    database = db;
    db.createTable(commitsTable);
    return {
      blockSize,
      synchronous,
      commit: (id, payload) => {
        db.transaction((tx) => tx.insert(commitsTable, [{ id, payload }]));
      },
      commitInGroup: async (id, payload) => {
        await db.transactionAsync((tx) => tx.insert(commitsTable, [{ id, payload }]));
      },
      rows: () => db.count(commitsTable).rows,
      walBytes: () => db.walStats?.bytes ?? 0,
      remove,
    };
  } catch (error) {
    remove();
    throw error;
  }
}
