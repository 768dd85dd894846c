export { narrowBenchmark } from './benchmark.ts';
