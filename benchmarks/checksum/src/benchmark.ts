// `bench checksum`: what it costs to compute the checksums of pages.
import { type Benchmark, type BenchmarkOutcome, defineBenchmark } from '@blockwright/benchmark';
import { BLOCK_SIZES, formatBlockSize, parseBlockSize } from '@blockwright/geometry';
import { measureDirectory } from './directory.ts';
import { measureKernels } from './kernels.ts';

const twoDigits = (value: unknown): string => Number(value).toFixed(2);

export const checksumBenchmark: Benchmark = defineBenchmark({
  name: 'checksum',
  summary: 'page checksums in TypeScript and by SIMD; check of a directory beside pg_checksums',
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
    parts: {
      type: 'list',
      default: ['kernels', 'directory'],
      choices: ['kernels', 'directory'],
      help: 'what to measure',
      placeholder: 'PARTS',
    },
    directory: {
      type: 'string',
      default: undefined,
      help: 'verify this data directory, of a server that is stopped, and make none',
      placeholder: 'DIR',
    },
    gigabytes: {
      type: 'number',
      default: 1,
      help: 'GiB of the table in the directory that is made',
      min: 0.001,
      max: 1024,
    },
    pgBin: { type: 'string', default: undefined, help: "folder of PostgreSQL's programs", placeholder: 'DIR' },
    seed: { type: 'number', default: 1, help: 'seed of pages and order', min: 0, max: 2 ** 32 - 1, integer: true },
  },
  columns: [
    { key: 'place', title: 'pages in' },
    { key: 'blockSize', title: 'block', format: (size) => formatBlockSize(parseBlockSize(Number(size))) },
    { key: 'variant', title: 'variant' },
    { key: 'bytesPerNs', title: 'GB/s', format: twoDigits },
    { key: 'ratio', title: 'of the first', format: twoDigits },
    { key: 'ratioLow', title: 'from', format: twoDigits },
    { key: 'ratioHigh', title: 'to', format: twoDigits },
  ],
  run: async (options, context) => {
    const { blockSizes, rounds, cacheBytes, memoryBytes, parts, directory, gigabytes, pgBin, seed } = options;
    const outcomes: BenchmarkOutcome[] = [];
    if (parts.includes('kernels')) {
      const sizes = blockSizes.map((text) => parseBlockSize(text));
      outcomes.push(await measureKernels({ sizes, rounds, cacheBytes, memoryBytes, seed }, context));
    }
    if (parts.includes('directory')) {
      const bytes = Math.ceil(gigabytes * 2 ** 30);
      outcomes.push(await measureDirectory({ directory, bytes, pgBin, rounds, seed }, context));
    }
    return {
      settings: Object.assign({}, ...outcomes.map(({ settings }) => settings)) as Record<string, unknown>,
      results: outcomes.flatMap(({ results }) => results),
      aims: outcomes.flatMap(({ aims }) => aims),
      notes: outcomes.flatMap(({ notes }) => notes ?? []),
    };
  },
});
