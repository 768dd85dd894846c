// `bench tidstore`: the radix-tree TID store beside the sorted array that it replaced, as the two functions of the
// discussion's test extension measured them (bench_seq_search and bench_shuffle_search).
import { type Benchmark, defineBenchmark, LEAST_ROUNDS } from '@blockwright/benchmark';
import { BlockGeometry, DEFAULT_BLOCK_SIZE, formatBlockSize, parseBlockSize } from '@blockwright/geometry';
import { casesOf } from './cases.ts';
import { type CaseMeasurement, measureCase } from './measure.ts';
import { aimsOf, COLUMNS, cellsOf, notesOf } from './report.ts';
import type { SearchName } from './stretches.ts';

/** TIDs to search in one round of a case that is to be brief. */
const BRIEF_SEARCHED = 1_000_000;
const SEARCHES: readonly SearchName[] = ['seq-search', 'shuffle-search'];

export const tidstoreBenchmark: Benchmark = defineBenchmark({
  name: 'tidstore',
  summary: 'memory, load and search of the radix-tree TID store, beside the sorted array',
  options: {
    search: {
      type: 'string',
      default: undefined,
      help: 'look up the loaded TIDs in order, or shuffled; both if left out',
      choices: SEARCHES,
      positional: true,
    },
    minBlock: {
      type: 'number',
      default: undefined,
      help: 'first block to load, 0 if not given; four cases or five are run if nothing is said about blocks and TIDs',
      min: 0,
      max: 2 ** 32 - 2,
      integer: true,
    },
    maxBlock: {
      type: 'number',
      default: undefined,
      help: 'first block not to load, 1000000 if not given',
      min: 1,
      max: 2 ** 32 - 1,
      integer: true,
    },
    tidsPerBlock: {
      type: 'number',
      default: undefined,
      help: 'TIDs to load of each block, 30 if not given',
      min: 1,
      integer: true,
    },
    stride: {
      type: 'number',
      default: undefined,
      help: 'load every n-th block only',
      min: 1,
      max: 2 ** 32 - 1,
      integer: true,
    },
    offsets: {
      type: 'string',
      default: undefined,
      help: "the first offsets of a block, or drawn from a heap page's; dense if not given",
      choices: ['dense', 'spread'],
    },
    blockSize: {
      type: 'string',
      default: formatBlockSize(DEFAULT_BLOCK_SIZE),
      help: 'block size: how many offsets there can be',
      placeholder: 'SIZE',
    },
    searched: {
      type: 'number',
      default: 2_000_000,
      help: 'TIDs to search in one round; times are scaled to all',
      min: 1,
      integer: true,
    },
    whole: { type: 'boolean', default: false, help: 'search all TIDs in each round' },
    rounds: { type: 'number', default: 11, help: 'interleaved rounds', min: 9, max: 10_000, integer: true },
    seed: {
      type: 'number',
      default: 1,
      help: 'seed of shuffling, of spread offsets and of the order of variants',
      min: 0,
      max: 2 ** 32 - 1,
      integer: true,
    },
  },
  columns: COLUMNS,
  run: async (options, context, machine) => {
    const g = BlockGeometry.of(parseBlockSize(options.blockSize));
    const cases = casesOf(options, g, machine);
    const searches = options.search === undefined ? SEARCHES : [options.search as SearchName];
    const settings = { ...options, searched: options.whole ? Infinity : options.searched };
    const measurements: CaseMeasurement[] = [];
    const brief = {
      rounds: LEAST_ROUNDS,
      ...(options.whole ? {} : { searched: Math.min(options.searched, BRIEF_SEARCHED) }),
    };
    for (const one of cases) {
      context.log(`${one.name}: ${searches.join(', ')}`);
      const used = one.isBrief === true ? { ...settings, ...brief } : settings;
      measurements.push(await measureCase(one, g, searches, used, context));
    }
    return {
      settings: { cases },
      results: measurements.flatMap((measurement) => cellsOf(measurement, g)),
      aims: aimsOf(measurements),
      notes: notesOf(measurements, machine),
    };
  },
});
