import { refuseBigEndianHost } from './endian.ts';

refuseBigEndianHost();

export { refuseBigEndianHost } from './endian.ts';
export {
  checkFlag,
  checkOptions,
  isStorageError,
  nearestName,
  StorageError,
  type StorageErrorCode,
  type StorageErrorOptions,
} from './errors.ts';
export type { Finding, FindingSink, Severity } from './findings.ts';
export {
  type BlockNumber,
  BOOTSTRAP_XID,
  type BufferId,
  blockNumber,
  FIRST_NORMAL_XID,
  FIRST_OFFSET_NUMBER,
  FROZEN_XID,
  INVALID_BLOCK_NUMBER,
  INVALID_LSN,
  INVALID_OFFSET_NUMBER,
  INVALID_XID,
  type Lsn,
  MAX_BLOCK_NUMBER,
  type OffsetNumber,
  type Oid,
  offsetNumber,
  uint32,
  type Xid,
} from './flavor.ts';
export {
  DEFAULT_TABLESPACE,
  FORK_NAMES,
  type ForkName,
  ForkNumber,
  forkSuffix,
  GLOBAL_TABLESPACE,
  type RelationLocator,
  relationPath,
} from './locator.ts';
export { type Progress, type RunOptions, run, runSync, type Steps } from './steps.ts';
export { formatLsn, fromWords, highWord, lowWord, lsnText, parseLsn } from './words.ts';
