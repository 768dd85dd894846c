// Every export of the package, by hand.

export { bootstrapWal } from './bootstrap.ts';
export { type CheckpointKind, type CheckpointReport, checkpointText } from './checkpoint-report.ts';
export { Checkpointer, type CheckpointerOptions, type CheckpointParts } from './checkpointer.ts';
export { allRecordDescribers } from './managers.ts';
export { ObjectIds } from './object-ids.ts';
export { cleanStart, type RecoveryOptions, recoverSteps, type StartOptions, type WalState } from './recover.ts';
export {
  type RecordCounts,
  type RecoveryReport,
  type RedoShares,
  type ResourceManagerCounts,
  type ResourceUsage,
  redoDoneText,
  usageText,
} from './report.ts';
export {
  type CheckpointData,
  checkpointOf,
  isCheckpoint,
  XLOG_CHECKPOINT_ONLINE,
  XLOG_CHECKPOINT_SHUTDOWN,
  XLOG_END_OF_RECOVERY,
  XLOG_NEXTOID,
  XLOG_NOOP,
  xlogRecords,
} from './xlog-records.ts';
