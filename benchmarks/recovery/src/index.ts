export { recoveryBenchmark } from './benchmark.ts';
