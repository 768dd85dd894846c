export { type MissingPage, MissingPages } from './missing-pages.ts';
export {
  PAGE_FORCE_IMAGE,
  PAGE_KEEP_DATA,
  PAGE_NO_IMAGE,
  PAGE_STANDARD,
  PAGE_WILL_INIT,
} from './page-image.ts';
export { MOST_PAGES, PageLog, type PageLogOptions, XLOG_FPI, XLOG_FPI_FOR_HINT } from './page-log.ts';
export { type PendingCreate, PendingCreates } from './pending-creates.ts';
export {
  cannotRedo,
  malformed,
  needBlockData,
  needData,
  needSaneBounds,
  redoBlock,
  redoBlockIfAny,
  refusedBy,
} from './redo-error.ts';
export {
  REDO_DONE,
  REDO_MISSING,
  REDO_NEEDED,
  REDO_RESTORED,
  RedoPages,
  type RedoPagesOptions,
} from './redo-pages.ts';
export { RedoStats } from './redo-stats.ts';
export { Relation, type RelationOptions } from './relation.ts';
export { RemovedFiles, type RemovedFilesOptions } from './removed-files.ts';
export {
  createRelationFiles,
  type MapTruncation,
  truncateRelation,
  XLOG_SMGR_CREATE,
  XLOG_SMGR_TRUNCATE,
} from './storage-files.ts';
export { storageRecords, storageResourceManager } from './storage-records.ts';
export {
  TABLE_ABSENT,
  TABLE_DEAD,
  TABLE_IN_PROGRESS,
  TABLE_LIVE,
  type TableAccess,
  type UseTableTuple,
} from './table-access.ts';
export { withBlock } from './with-block.ts';
