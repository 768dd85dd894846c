// `bench geometry`: what it costs that the block size is a run-time value.
import {
  aimAtMost,
  type Benchmark,
  type BenchmarkContext,
  type Cell,
  type Comparison,
  cellOf,
  compareRounds,
  comparisonText,
  defineBenchmark,
  type Measured,
  measureRounds,
  type Variant,
  WrongAnswerError,
} from '@blockwright/benchmark';
import { BufferPool } from '@blockwright/bufmgr';
import { BLOCK_SIZES, BlockGeometry, formatBlockSize, parseBlockSize } from '@blockwright/geometry';
import { VisibilityMap } from '@blockwright/visibilitymap';
import { ComputedMapFork } from './map-fork.ts';
import { makeWalk, type Surroundings, VARIANTS, type VariantName, type Walk } from './variants.ts';
import { mapMemory, randomTids, rightAnswer, sequentialTids, type Tids, type WalkName } from './walks.ts';

/** Run-time geometry may cost this much more than literal constants on the sequential walk. */
const AIM = 1.03;
/** A random walk takes another of these stretches of TIDs for each sample, so that it meets the map anew. */
const STRETCHES = 17;
/** Each variant is compiled this often, and its samples take the functions in turn: the compiler's luck evens out. */
const INSTANCES = 5;
const NAMES = Object.keys(VARIANTS) as VariantName[];

export const geometryBenchmark: Benchmark = defineBenchmark({
  name: 'geometry',
  summary: 'what a run-time block size costs in the loop of an index-only scan',
  options: {
    blockSizes: { type: 'list', default: BLOCK_SIZES.map(formatBlockSize), help: 'block sizes', placeholder: 'SIZES' },
    walks: { type: 'list', default: ['sequential', 'random'], help: 'walks', choices: ['sequential', 'random'] },
    rounds: { type: 'number', default: 61, help: 'interleaved rounds', min: 30, max: 10_000, integer: true },
    tids: {
      type: 'number',
      default: 250_000,
      help: 'TIDs of one sequential sample; a random one takes a quarter',
      min: 1000,
      max: 100_000_000,
      integer: true,
    },
    heapBlocks: {
      type: 'number',
      default: 2 ** 28,
      help: 'blocks of the table that is walked at random; its map has a quarter as many bytes',
      min: 1000,
      max: 2 ** 32 - 1,
      integer: true,
    },
    seed: { type: 'number', default: 1, help: 'seed of TIDs and order', min: 0, max: 2 ** 32 - 1, integer: true },
  },
  columns: [
    { key: 'walk', title: 'walk' },
    { key: 'blockSize', title: 'block', format: (size) => formatBlockSize(parseBlockSize(Number(size))) },
    { key: 'variant', title: 'variant' },
    { key: 'nsPerUnit', title: 'ns/TID', format: (ns) => Number(ns).toFixed(3) },
    { key: 'ratio', title: 'of literal', format: (ratio) => Number(ratio).toFixed(3) },
    { key: 'ratioLow', title: 'from', format: (ratio) => Number(ratio).toFixed(3) },
    { key: 'ratioHigh', title: 'to', format: (ratio) => Number(ratio).toFixed(3) },
  ],
  run: async (options, context, machine) => {
    const sizes = options.blockSizes.map((text) => parseBlockSize(text));
    const measurements: Measurement[] = [];
    for (const walk of options.walks as readonly WalkName[]) {
      for (const size of sizes) {
        context.log(`${walk} walk, ${formatBlockSize(size)}`);
        measurements.push(await measure(walk, BlockGeometry.of(size), options, context));
      }
    }
    const sequential = measurements.filter(({ walk }) => walk === 'sequential');
    return {
      settings: { variants: VARIANTS, mapBytes: Math.ceil(options.heapBlocks / 4) },
      results: measurements.flatMap(cells),
      aims: sequential.map(({ g, against }) =>
        aimAtMost(
          `run-time geometry over literal constants, sequential, ${formatBlockSize(g.size)}`,
          AIM,
          hardest(against),
        ),
      ),
      notes: [
        ...summary(sequential),
        ...measurements.map(sentence),
        ...cacheNote(options.heapBlocks, machine.lastLevelCacheBytes),
      ],
    };
  },
});

interface Settings {
  readonly rounds: number;
  readonly tids: number;
  readonly heapBlocks: number;
  readonly seed: number;
}

interface Measurement {
  readonly walk: WalkName;
  readonly g: BlockGeometry;
  readonly measured: ReadonlyMap<VariantName, Measured>;
  /** The window at run time against the two variants with literal constants. */
  readonly against: { readonly literal: Comparison; readonly literalWindow: Comparison };
}

async function measure(
  walk: WalkName,
  g: BlockGeometry,
  settings: Settings,
  context: BenchmarkContext,
): Promise<Measurement> {
  const scene = makeScene(walk, g, settings);
  try {
    for (const variant of NAMES) optimise(scene, variant);
    const variants = NAMES.map((name, index) => sceneVariant(scene, name, index));
    const found = await measureRounds(variants, {
      rounds: settings.rounds,
      seed: settings.seed,
      warmUpMs: 60,
      signal: context.signal,
      progress: context.progress,
      phase: `${walk} ${formatBlockSize(g.size)}`,
    });
    const measured = new Map(NAMES.map((name, index) => [name, found[index] as Measured]));
    const window = samples(measured, 'window');
    return {
      walk,
      g,
      measured,
      against: {
        literal: compareRounds(window, samples(measured, 'literal')),
        literalWindow: compareRounds(window, samples(measured, 'literal window')),
      },
    };
  } finally {
    scene.close();
  }
}

interface Scene {
  readonly tids: Tids;
  /** A few of them from all over the walk, in its order. */
  readonly training: Tids;
  /** TIDs of one sample. */
  readonly length: number;
  /** Samples begin at a multiple of {@link length} below this many. */
  readonly stretches: number;
  /** By stretch. */
  readonly answers: readonly number[];
  /** {@link INSTANCES} of each variant. */
  readonly walks: ReadonlyMap<VariantName, readonly Walk[]>;
  readonly surroundings: Surroundings;
  close(): void;
}

/** @internal Tids, map and walks for one walk at one block size. */
export function makeScene(walk: WalkName, g: BlockGeometry, { tids: count, heapBlocks, seed }: Settings): Scene {
  const isRandom = walk === 'random';
  const stretches = isRandom ? STRETCHES : 1;
  const length = isRandom ? Math.ceil(count / 4) : count;
  const tids = isRandom ? randomTids(g, length * stretches, heapBlocks, seed) : sequentialTids(g, length, 0);
  const lastBlock = tids.blocks.reduce((most, block) => Math.max(most, block), 0);
  const pages = g.vmBlockOf(lastBlock) + 1;
  const map = mapMemory(g, 0, pages, seed);
  const pool = new BufferPool({ geometry: g, buffers: pages + 16, verifyChecksums: false });
  const cursor = new VisibilityMap({ pool, fork: new ComputedMapFork(g, pages) }).cursor();
  const surroundings = { map, geometry: g, cursor };
  const walks = new Map(
    NAMES.map((name) => [name, Array.from({ length: INSTANCES }, () => makeWalk(name, surroundings))]),
  );
  return {
    tids,
    training: spread(tids),
    length,
    stretches,
    answers: Array.from({ length: stretches }, (_, i) => rightAnswer(tids, i * length, (i + 1) * length)),
    walks,
    surroundings,
    close: () => {
      cursor.close();
      pool.abandon();
    },
  };
}

/** Every so-manieth TID: about a thousand, in the order of the walk. */
function spread({ blocks, offsets }: Tids): Tids {
  const step = Math.max(1, Math.floor(blocks.length / 1000));
  return {
    blocks: blocks.filter((_, i) => i % step === 0),
    offsets: offsets.filter((_, i) => i % step === 0),
  };
}

/**
 * Calls a walk often enough, over few TIDs, that the compiler optimises the function itself and not one run of its loop,
 * and over TIDs from all over the walk, so that it has seen every path before it is measured.
 */
function optimise({ training, walks }: Scene, name: VariantName): void {
  const length = training.blocks.length;
  for (const walk of walks.get(name) as readonly Walk[]) {
    for (let i = 0; i < 600; i++) walk(training, 0, length);
  }
}

function sceneVariant({ tids, length, stretches, answers, walks }: Scene, name: VariantName, index: number): Variant {
  const instances = walks.get(name) as readonly Walk[];
  let sample = 0;
  let stretch = 0;
  let walk = instances[0] as Walk;
  return {
    name,
    units: length,
    before: () => {
      walk = instances[sample % instances.length] as Walk;
      // No two variants of a round meet the same stretch: the second would find its map bytes cached.
      stretch = (sample * NAMES.length + index) % stretches;
      sample++;
    },
    run: () => walk(tids, stretch * length, (stretch + 1) * length),
    check: (answer: unknown) => {
      if (answer !== answers[stretch]) {
        throw new WrongAnswerError(`${name} computed ${String(answer)} where ${String(answers[stretch])} is right`);
      }
    },
  };
}

const samples = (measured: ReadonlyMap<VariantName, Measured>, name: VariantName): readonly number[] =>
  (measured.get(name) as Measured).samplesNs;

/** The comparison with whichever literal variant was faster. */
const hardest = ({ literal, literalWindow }: Measurement['against']): Comparison =>
  literal.ratio > literalWindow.ratio ? literal : literalWindow;

function cells({ walk, g, measured }: Measurement): Cell[] {
  return [...measured.values()].map((variant) => {
    const { ratio, low, high, differenceSeen } = compareRounds(variant.samplesNs, samples(measured, 'literal'));
    return cellOf(variant, {
      blockSize: g.size,
      engine: 'blockwright',
      variant: variant.name,
      walk,
      ratio,
      ratioLow: low,
      ratioHigh: high,
      differenceSeen,
    });
  });
}

/** What the sequential walks say together. */
function summary(sequential: readonly Measurement[]): string[] {
  if (sequential.length === 0) return [];
  const ratios = sequential.map(({ against }) => against.literalWindow.ratio);
  const apart = sequential.filter(({ against }) => against.literalWindow.differenceSeen).length;
  const [least, most] = [Math.min(...ratios).toFixed(3), Math.max(...ratios).toFixed(3)];
  const times = least === most ? `${least} times` : `${least} to ${most} times`;
  return [
    `In the sequential loop of an index-only scan, the run-time geometry took ${times} the time of the same loop with literal constants; a difference was seen at ${apart} of ${sequential.length} block sizes.`,
  ];
}

function sentence({ walk, g, measured, against }: Measurement): string {
  const over = (name: VariantName): string =>
    comparisonText(compareRounds(samples(measured, name), samples(measured, 'literal')));
  return (
    `${formatBlockSize(g.size)}, ${walk}: the window read at run time over the same with literals, ` +
    `${comparisonText(against.literalWindow)}; over literal division, ${comparisonText(against.literal)}. ` +
    `Over literal division: the cursor asked once a run, ${over('cursor, runs')}; asked for each TID, ${over('cursor')}; ` +
    `folding each time, ${over('fold')}; multiplying by the block size, ${over('multiplication')}; ` +
    `run-time division, ${over('division')}.`
  );
}

function cacheNote(heapBlocks: number, cacheBytes: number | null): string[] {
  const mapMegabytes = Math.ceil(heapBlocks / 4 / 2 ** 20);
  const cache = cacheBytes === null ? 'not known' : `${Math.round(cacheBytes / 2 ** 20)} MB`;
  return [
    `The map of the random walk has ${mapMegabytes} MB; the last-level cache, as the system tells it: ${cache}. The sequential walk reads its TIDs in a row and stays on one map page for long, so the caches hold what it needs: memory would only hide the arithmetic that this benchmark is about.`,
  ];
}
