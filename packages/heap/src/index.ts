export type { HeapBatch } from './batch.ts';
// The inner loops are here for who reads their machine code (tests/machine-code); a user wants HeapScan and heapCount.
export { collectVisible, countJudged, countNormalLinePointers, PageTuples, type UnknownPolicy } from './collect.ts';
export { type HeapCount, type HeapCountOptions, heapCount } from './count.ts';
export { heapFetch } from './fetch.ts';
export { HeapInserter } from './insert.ts';
export { linePointerCount } from './line-pointers.ts';
export { BulkLoader, type BulkLoadOptions } from './load.ts';
export { maskHeapPage } from './mask.ts';
export { type HeapPageStats, heapPageStats } from './page-stats.ts';
export { HeapScan, type HeapScanOptions } from './scan.ts';
export { frozenEncoder, hintedEncoder } from './stamp.ts';
export { INVISIBLE, judgeByHints, VISIBLE } from './visibility.ts';
