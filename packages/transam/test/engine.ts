// What the tests here work with: transactions over a commit log in memory, with or without a WAL.
import { isStorageError, type StorageError, type StorageErrorCode, type Xid } from '@blockwright/base';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { expect } from 'vitest';
import { CommitLog, Transactions, type TransactionsOptions, type TransactionWal } from '../src/index.ts';

export interface EngineOptions extends Partial<Omit<TransactionsOptions, 'commitLog' | 'wal'>> {
  readonly vfs?: MemoryVfs;
  readonly pageBytes?: number;
  readonly wal?: TransactionWal;
  /** Xids whose page of the commit log exists already. */
  readonly pagesAt?: readonly Xid[];
}

export interface TestEngine {
  readonly vfs: MemoryVfs;
  readonly commitLog: CommitLog;
  readonly transactions: Transactions;
}

export function engine(options: EngineOptions = {}): TestEngine {
  const { vfs = new MemoryVfs(), pageBytes = 8192, wal, pagesAt = [], ...rest } = options;
  if (!vfs.exists('/xact')) vfs.mkdir('/xact');
  const commitLog = new CommitLog({ vfs, directory: '/xact', pageBytes, wal });
  for (const xid of pagesAt) commitLog.zeroPage(Math.floor(xid / (pageBytes * 4)));
  const transactions = new Transactions({
    nextXid: 3,
    nextXidEpoch: 0,
    oldestXid: 3,
    ...rest,
    commitLog,
    wal,
  });
  return { vfs, commitLog, transactions };
}

/** The error that `what` throws, which must have this code. */
export function codeOf(what: () => unknown, code: StorageErrorCode): StorageError {
  try {
    what();
  } catch (error) {
    if (!isStorageError(error)) throw error;
    expect(error.code, error.message).toBe(code);
    return error;
  }
  throw new Error(`nothing was thrown, ${code} was expected`);
}
