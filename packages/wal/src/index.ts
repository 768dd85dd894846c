export { createWal } from './create.ts';
export type { WalMark } from './mark.ts';
export { walPageBoundary, walRecordStart } from './page-format.ts';
export { type IncarnationEnd, WalReader, type WalReaderOptions } from './reader.ts';
export { WalRecord } from './record.ts';
export { RecordBuilder } from './record-builder.ts';
export {
  type RecordDescriber,
  type ResourceManager,
  ResourceManagers,
  RM_BTREE,
  RM_CLOG,
  RM_HEAP,
  RM_HEAP2,
  RM_SMGR,
  RM_XACT,
  RM_XLOG,
} from './resource-manager.ts';
export { isSegmentSize } from './segments.ts';
export { surveyWal, type WalSurvey } from './survey.ts';
export { type WalStats, WalWriter, type WalWriterOptions } from './writer.ts';
