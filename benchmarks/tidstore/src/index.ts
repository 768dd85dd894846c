export { tidstoreBenchmark } from './benchmark.ts';
