export { checksumBenchmark } from './benchmark.ts';
