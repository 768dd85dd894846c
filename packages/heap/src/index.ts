export type { HeapBatch } from './batch.ts';
// The inner loops are here for who reads their machine code (tests/machine-code); a user wants HeapScan and heapCount.
export { collectVisible, countJudged, countNormalLinePointers, PageTuples } from './collect.ts';
export { type HeapCount, type HeapCountOptions, heapCount } from './count.ts';
export { type HeapFetchOptions, heapFetch } from './fetch.ts';
export { HintSink, NO_HINTS } from './hints.ts';
export { heapHotSearch, hotSearchPage } from './hot-search.ts';
export { IndexedColumns } from './indexed-columns.ts';
export { HeapInserter } from './insert.ts';
export { linePointerCount } from './line-pointers.ts';
export { BulkLoader, type BulkLoadOptions } from './load.ts';
export { heapMarkAllVisible } from './mark-all-visible.ts';
export { maskHeapPage, maskReplayedHeapPage } from './mask.ts';
export { type MultiInsertCalls, MultiInserter } from './multi-insert.ts';
export { type HeapPageStats, heapPageStats } from './page-stats.ts';
export { poisonBatch } from './poison.ts';
export { heapPagePruneOpt, heapPrunePage, type PruneOptions } from './prune.ts';
export type { PruneState } from './prune-state.ts';
export { heapRecords } from './records.ts';
export { heapResourceManagers } from './redo.ts';
export { HeapScan, type HeapScanOptions } from './scan.ts';
export { collectForSnapshot, countForSnapshot } from './snapshot-loops.ts';
export { frozenEncoder, hintedEncoder } from './stamp.ts';
export { HeapTableAccess } from './table-access.ts';
export type { UnknownPolicy } from './unknown-fate.ts';
export { INVISIBLE, judgeByHints, UNKNOWN, VISIBLE } from './visibility.ts';
export { tupleUpdateXid } from './visibility-multi.ts';
export { satisfiesMvcc } from './visibility-mvcc.ts';
export {
  satisfiesUpdate,
  TM_BEING_MODIFIED,
  TM_DELETED,
  TM_INVISIBLE,
  TM_OK,
  TM_SELF_MODIFIED,
  TM_UPDATED,
} from './visibility-update.ts';
export {
  HEAPTUPLE_DEAD,
  HEAPTUPLE_DELETE_IN_PROGRESS,
  HEAPTUPLE_INSERT_IN_PROGRESS,
  HEAPTUPLE_LIVE,
  HEAPTUPLE_RECENTLY_DEAD,
  satisfiesVacuum,
} from './visibility-vacuum.ts';
export { HeapWriter, type HeapWriterOptions } from './writer.ts';
