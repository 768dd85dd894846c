// One case: both stores loaded into fresh memory and again, checked, and searched, each in interleaved rounds.
import {
  type BenchmarkContext,
  type Measured,
  measureRounds,
  type Variant,
  WrongAnswerError,
} from '@blockwright/benchmark';
import type { BlockGeometry } from '@blockwright/geometry';
import { type RadixStats, RadixTidStore, SortedArrayTidStore } from '@blockwright/tidstore';
import { type Case, TID_BYTES } from './cases.ts';
import { checkContents, checkLoaded } from './checks.ts';
import { collectGarbage } from './garbage.ts';
import { loadArray, loadRadix, readTids, searchArray, searchRadix, searchRemembering } from './loops.ts';
import { Population } from './population.ts';
import { RememberingArray } from './remembering-array.ts';
import { type SearchName, Stretches } from './stretches.ts';

export interface Settings {
  readonly rounds: number;
  /** TIDs searched in one round. */
  readonly searched: number;
  readonly seed: number;
}

/** The samples of both stores, by round. */
export interface Pair {
  readonly radix: Measured;
  readonly array: Measured;
}

export interface SearchMeasurement extends Pair {
  readonly search: SearchName;
  /** The loop that reads the TIDs and searches nothing. */
  readonly reading: Measured;
  /** In order only: the array that remembers, which is no store. */
  readonly remembering?: Measured;
  /** TIDs searched in one round. */
  readonly searched: number;
  /** Neighbours, of all in the last round, of which the second is the larger TID: a share. */
  readonly ascending: number;
}

export interface CaseMeasurement {
  readonly case: Case;
  readonly keys: number;
  readonly tids: number;
  readonly radixBytes: number;
  readonly arrayBytes: number;
  readonly nodes: RadixStats;
  /** Into new stores, which are made within the time. */
  readonly load: Pair;
  /** Into the same stores, cleared within the time: no memory is new. */
  readonly reload: Pair;
  readonly searches: readonly SearchMeasurement[];
}

interface Stores {
  radix: RadixTidStore;
  array: SortedArrayTidStore;
}

/**
 * Never collected: when the last store of a kind is, V8 throws away all code that was compiled for it, and the next one
 * would be loaded by slow code.
 */
const TRAINED: { stores?: Stores; remembering?: RememberingArray } = {};

type Measure = (phase: string, variants: readonly Variant[], sampleMs: number) => Promise<Measured[]>;

/** Arrays up to this size are left to the garbage collector's own pace. */
const LARGE_BYTES = 2 ** 20;
/** Shorter runs are repeated within their sample. */
const SAMPLE_MS = 1;

/** Everything about one case, for the searches asked for. */
export async function measureCase(
  one: Case,
  g: BlockGeometry,
  searches: readonly SearchName[],
  settings: Settings,
  context: BenchmarkContext,
): Promise<CaseMeasurement> {
  const population = new Population(g, { ...one, seed: settings.seed });
  const measure: Measure = (phase, variants, sampleMs) => {
    const { rounds, seed } = settings;
    const { signal, progress } = context;
    const named = `${one.name}: ${phase}`;
    return measureRounds(variants, { rounds, seed, sampleMs, warmUpMs: 0, signal, progress, phase: named });
  };
  TRAINED.stores = trainLoads(g, population);
  TRAINED.remembering = new RememberingArray(TRAINED.stores.array, g.maxOffsetNumber);
  const { stores, load } = await measureLoads(g, population, measure);
  const reload = pairOf(await measure('loading again', reloadVariants(stores, population), SAMPLE_MS));
  await checkContents('radix tree', stores.radix, population, context.signal);
  await checkContents('sorted array', stores.array, population, context.signal);
  const measured: SearchMeasurement[] = [];
  const all = { ...stores, remembering: new RememberingArray(stores.array, g.maxOffsetNumber) };
  for (const search of searches) {
    const stretches = new Stretches(search, population, settings.searched, settings.rounds, settings.seed);
    trainSearches(all, stretches);
    const [radix, array, reading, remembering] = await measure(search, searchVariants(all, stretches), SAMPLE_MS);
    const ascending = stretches.ascending / Math.max(1, stretches.length - 1);
    const beside = remembering === undefined ? {} : { remembering };
    measured.push({ search, radix, array, reading, searched: stretches.length, ascending, ...beside });
  }
  return {
    case: one,
    keys: stores.radix.blockCount,
    tids: population.tidCount,
    radixBytes: stores.radix.memoryBytes,
    arrayBytes: stores.array.memoryBytes,
    nodes: stores.radix.stats(),
    load,
    reload,
    searches: measured,
  };
}

const newArray = (g: BlockGeometry, tids: number): SortedArrayTidStore =>
  new SortedArrayTidStore(g, { maxBytes: tids * TID_BYTES });

const pairOf = ([radix, array]: readonly Measured[]): Pair => ({ radix, array });

/** Loads into fresh stores; gives the last ones. */
async function measureLoads(
  g: BlockGeometry,
  population: Population,
  measure: Measure,
): Promise<{ stores: Stores; load: Pair }> {
  const kept: Partial<Stores> = {};
  const units = population.tidCount;
  const isLarge = units * TID_BYTES > LARGE_BYTES;
  const load = await measure(
    'loading',
    [
      {
        name: 'radix tree',
        units,
        before: () => {
          delete kept.radix;
          if (isLarge) collectGarbage();
        },
        run: () => {
          kept.radix = new RadixTidStore(g);
          loadRadix(kept.radix, population, population.blockCount);
        },
        check: () => checkLoaded('radix tree', kept.radix as RadixTidStore, population),
      },
      {
        name: 'sorted array',
        units,
        before: () => {
          delete kept.array;
          if (isLarge) collectGarbage();
        },
        run: () => {
          kept.array = newArray(g, population.tidCount);
          loadArray(kept.array, population, population.blockCount);
        },
        check: () => checkLoaded('sorted array', kept.array as SortedArrayTidStore, population),
      },
    ],
    0,
  ); // never twice in a sample: the second one's memory would not be as fresh
  return { stores: kept as Stores, load: pairOf(load) };
}

function reloadVariants({ radix, array }: Stores, population: Population): Variant[] {
  const units = population.tidCount;
  return [
    {
      name: 'radix tree',
      units,
      run: () => {
        radix.clear();
        loadRadix(radix, population, population.blockCount);
      },
      check: () => checkLoaded('radix tree', radix, population),
    },
    {
      name: 'sorted array',
      units,
      run: () => {
        array.clear();
        loadArray(array, population, population.blockCount);
      },
      check: () => checkLoaded('sorted array', array, population),
    },
  ];
}

interface Searched extends Stores {
  readonly remembering: RememberingArray;
}

function searchVariants({ radix, array, remembering }: Searched, stretches: Stretches): Variant[] {
  const { blocks, offsets, length } = stretches;
  const before = (round: number): void => stretches.turnTo(round);
  const found = (name: string) => (hits: unknown) => {
    if (hits === length) return;
    throw new WrongAnswerError(`the ${name} found ${String(hits)} of ${length} TIDs in ${stretches.search}`);
  };
  const variants: Variant[] = [
    {
      name: 'radix tree',
      units: length,
      before,
      run: () => searchRadix(radix, blocks, offsets, 0, length),
      check: found('radix tree'),
    },
    {
      name: 'sorted array',
      units: length,
      before,
      run: () => searchArray(array, blocks, offsets, 0, length),
      check: found('sorted array'),
    },
    {
      name: 'reading TIDs',
      units: length,
      before,
      run: () => readTids(blocks, offsets, 0, length),
      check: (sum) => {
        if (sum !== stretches.sum)
          throw new WrongAnswerError(`the TIDs add up to ${String(sum)}, not ${stretches.sum}`);
      },
    },
  ];
  // Shuffled, hardly two TIDs in a row are of one block.
  if (stretches.search === 'seq-search') {
    variants.push({
      name: 'array that remembers',
      units: length,
      before,
      run: () => searchRemembering(remembering, blocks, offsets, 0, length),
      check: found('array that remembers'),
    });
  }
  return variants;
}

/** Calls of each loop before it is timed, over few TIDs: the compiler optimises the function and not one run of it. */
const TRAINING_CALLS = 400;
const TRAINING_LENGTH = 500;
/** TIDs that are loaded a few times more, so that a store has grown in all the ways that it can. */
const TRAINING_LOAD = 3_000_000;

/** Loads small stores often, and larger ones; gives the last ones. */
function trainLoads(g: BlockGeometry, population: Population): Stores {
  const { blockCount, tidsPerBlock } = population;
  const blocksOf = (tids: number): number => Math.min(blockCount, Math.ceil(tids / tidsPerBlock));
  const few = blocksOf(30 * TRAINING_LENGTH);
  const many = blocksOf(TRAINING_LOAD);
  const stores = { radix: new RadixTidStore(g), array: newArray(g, many * tidsPerBlock) };
  for (let i = 0; i < TRAINING_CALLS + 4; i++) {
    const blocks = i < TRAINING_CALLS ? few : many;
    stores.radix.clear();
    loadRadix(stores.radix, population, blocks);
    stores.array.clear();
    loadArray(stores.array, population, blocks);
  }
  return stores;
}

function trainSearches({ radix, array, remembering }: Searched, stretches: Stretches): void {
  stretches.turnTo(0);
  const { blocks, offsets, length } = stretches;
  const piece = Math.min(length, TRAINING_LENGTH);
  for (let i = 0; i < TRAINING_CALLS; i++) {
    const from = Math.floor((length - piece) * (i / TRAINING_CALLS));
    searchRadix(radix, blocks, offsets, from, from + piece);
    searchArray(array, blocks, offsets, from, from + piece);
    searchRemembering(remembering, blocks, offsets, from, from + piece);
    readTids(blocks, offsets, from, from + piece);
  }
}
