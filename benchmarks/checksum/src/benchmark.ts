// `bench checksum`: what it costs to compute the checksums of pages.
import { type Benchmark, defineBenchmark } from '@blockwright/benchmark';
import { BLOCK_SIZES, formatBlockSize, parseBlockSize } from '@blockwright/geometry';
import { measureKernels } from './kernels.ts';

const twoDigits = (value: unknown): string => Number(value).toFixed(2);

export const checksumBenchmark: Benchmark = defineBenchmark({
  name: 'checksum',
  summary: 'page checksums in TypeScript and by SIMD',
  options: {
    blockSizes: { type: 'list', default: BLOCK_SIZES.map(formatBlockSize), help: 'block sizes', placeholder: 'SIZES' },
    rounds: { type: 'number', default: 21, help: 'interleaved rounds', min: 9, max: 10_000, integer: true },
    cacheBytes: {
      type: 'number',
      default: 2 ** 18,
      help: 'bytes of the pages that stay in cache',
      min: 2 ** 15,
      max: 2 ** 30,
      integer: true,
    },
    memoryBytes: {
      type: 'number',
      default: 2 ** 30,
      help: 'bytes of the pages that come from memory',
      min: 2 ** 15,
      max: 2 ** 30,
      integer: true,
    },
    seed: { type: 'number', default: 1, help: 'seed of pages and order', min: 0, max: 2 ** 32 - 1, integer: true },
  },
  columns: [
    { key: 'place', title: 'pages in' },
    { key: 'blockSize', title: 'block', format: (size) => formatBlockSize(parseBlockSize(Number(size))) },
    { key: 'variant', title: 'variant' },
    { key: 'bytesPerNs', title: 'GB/s', format: twoDigits },
    { key: 'ratio', title: 'of typescript', format: twoDigits },
    { key: 'ratioLow', title: 'from', format: twoDigits },
    { key: 'ratioHigh', title: 'to', format: twoDigits },
  ],
  run: async ({ blockSizes, rounds, cacheBytes, memoryBytes, seed }, context) => {
    const sizes = blockSizes.map((text) => parseBlockSize(text));
    const kernels = await measureKernels({ sizes, rounds, cacheBytes, memoryBytes, seed }, context);
    return kernels;
  },
});
