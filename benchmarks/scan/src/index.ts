export { scanBenchmark } from './benchmark.ts';
