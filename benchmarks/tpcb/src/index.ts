export { tpcbBenchmark } from './benchmark.ts';
