export { indexBenchmark } from './benchmark.ts';
