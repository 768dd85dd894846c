export { commitBenchmark } from './benchmark.ts';
