export { HeapBatch } from './batch.ts';
export {
  collectVisible,
  countJudged,
  countNormalLinePointers,
  linePointerCount,
  PageTuples,
  type UnknownPolicy,
} from './collect.ts';
export { type HeapCount, type HeapCountOptions, heapCount } from './count.ts';
export { heapFetch } from './fetch.ts';
export { HeapInserter } from './insert.ts';
export { BulkLoader, type BulkLoadOptions } from './load.ts';
export { maskHeapPage } from './mask.ts';
export { type HeapPageStats, heapPageStats } from './page-stats.ts';
export { HeapScan, type HeapScanOptions } from './scan.ts';
export { frozenEncoder, hintedEncoder } from './stamp.ts';
export { INVISIBLE, judgeByHints, UNKNOWN, VISIBLE } from './visibility.ts';
