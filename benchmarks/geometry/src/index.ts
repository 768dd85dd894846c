export { geometryBenchmark } from './benchmark.ts';
