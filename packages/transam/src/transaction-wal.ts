// What transactions and the commit log need of a WAL: a part of WalWriter, so that a test can stand in for it.
import type { WalWriter } from '@blockwright/wal';

export type TransactionWal = Pick<
  WalWriter,
  | 'record'
  | 'insertedUpTo'
  | 'flushedUpTo'
  | 'failed'
  | 'reserve'
  | 'insert'
  | 'write'
  | 'flush'
  | 'flushAsync'
  | 'mark'
  | 'rewind'
  | 'fail'
>;
