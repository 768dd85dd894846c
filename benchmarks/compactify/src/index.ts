// Every export of the package, by hand.
export { compactifyBenchmark } from './benchmark.ts';
export { FILLFACTOR, type HeapUpdateOptions, HeapUpdateRun, type HeapWorkload } from './heap-updates.ts';
export { type IndexUpdateOptions, IndexUpdateRun, type KeyChange } from './index-updates.ts';
