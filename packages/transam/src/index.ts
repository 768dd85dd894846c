// Every export of the package, by hand.
export {
  CommitLog,
  type CommitLogOptions,
  XID_ABORTED,
  XID_COMMITTED,
  XID_IN_PROGRESS,
  XID_SUB_COMMITTED,
} from './commit-log.ts';
export type { EndAction } from './end-actions.ts';
export { type MultiXactMember, type MultiXactStatus, MultiXacts, type MultiXactsOptions } from './multixacts.ts';
export { commitLogRecords, transactionRecords } from './records.ts';
export { type TransactionRedoOptions, transactionResourceManagers } from './redo.ts';
export { type RowLockMode, RowLocks, rowLockCovers, rowLocksConflict } from './row-locks.ts';
export { Snapshot } from './snapshot.ts';
export type { Isolation, Transaction, TransactionOptions, TransactionState } from './transaction.ts';
export type { TransactionWal } from './transaction-wal.ts';
export { type OfflineOptions, Transactions, type TransactionsOptions } from './transactions.ts';
export {
  fullXid,
  isNormalXid,
  nextXidAfter,
  xidFollows,
  xidFollowsOrEquals,
  xidPrecedes,
  xidPrecedesOrEquals,
} from './xids.ts';
