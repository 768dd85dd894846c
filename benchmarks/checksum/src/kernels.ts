// The first part of `bench checksum`: the same pages through each way to compute their checksums, where they lie in the
// processor's caches, and where they do not.
import {
  type Aim,
  aimAtLeast,
  type BenchmarkContext,
  type BenchmarkOutcome,
  type Cell,
  type Comparison,
  cellOf,
  compareRounds,
  describeMachine,
  type MachineDescription,
  type Measured,
  measureRounds,
  seededRandom,
  type Variant,
  WrongAnswerError,
} from '@blockwright/benchmark';
import { BlockGeometry, type BlockSize, formatBlockSize } from '@blockwright/geometry';
import { checksumKernel } from '@blockwright/page';
import { secondOpinions } from './second-opinion.ts';
import { COPIED, IN_PLACE, makePages, type Pages, TYPESCRIPT, VARIANTS } from './variants.ts';

const AIM = 4;
/** Samples of data in cache repeat the pages for about so long. */
const SAMPLE_MS = 2;

export interface KernelSettings {
  /** Bytes. */
  readonly sizes: readonly BlockSize[];
  readonly rounds: number;
  /** Bytes of pages that stay in the caches near a core. */
  readonly cacheBytes: number;
  /** Bytes of pages that come from memory each time. */
  readonly memoryBytes: number;
  readonly seed: number;
}

/** Where the pages of a measurement lie. */
type Place = 'cache' | 'memory';

interface Measurement {
  readonly place: Place;
  readonly size: BlockSize;
  readonly measured: readonly Measured[];
}

/** Measures every variant at every size in both places. Without SIMD only the TypeScript is there to be measured. */
export async function measureKernels(
  settings: KernelSettings,
  context: BenchmarkContext,
  machine: MachineDescription = describeMachine(),
): Promise<BenchmarkOutcome> {
  const names = checksumKernel() === 'simd' ? Object.keys(VARIANTS) : [TYPESCRIPT];
  const measurements: Measurement[] = [];
  for (const place of ['cache', 'memory'] as const) {
    const pages = makePages(place === 'cache' ? settings.cacheBytes : settings.memoryBytes);
    fillRandomly(pages.ordinary.u32, settings.seed);
    for (const size of settings.sizes) {
      context.log(`checksums of pages of ${formatBlockSize(size)}, in ${place}`);
      measurements.push(await measure(place, BlockGeometry.of(size), pages, names, settings, context));
    }
  }
  return {
    settings: {
      kernel: checksumKernel(),
      variants: Object.fromEntries(names.map((name) => [name, VARIANTS[name]?.meaning])),
    },
    results: measurements.flatMap(cells),
    // A page is hashed right after it was read, or before it is written: it is in a cache.
    aims: measurements.filter(({ place }) => place === 'cache').map(aim),
    notes: [
      ...(['cache', 'memory'] as const).flatMap((place) =>
        sentence(
          place,
          measurements.filter((m) => m.place === place),
        ),
      ),
      placesNote(settings, machine.lastLevelCacheBytes),
    ],
  };
}

async function measure(
  place: Place,
  g: BlockGeometry,
  pages: Pages,
  names: readonly string[],
  { rounds, seed }: KernelSettings,
  { signal, progress }: BenchmarkContext,
): Promise<Measurement> {
  const right = secondOpinions(pages.ordinary.u8, g.size);
  const measured = await measureRounds(
    names.map((name) => variantOver(name, pages, g, right)),
    {
      rounds,
      seed,
      sampleMs: place === 'cache' ? SAMPLE_MS : 0,
      warmUpMs: 60,
      signal,
      progress,
      phase: `${place}, ${formatBlockSize(g.size)}`,
    },
  );
  return { place, size: g.size, measured };
}

function variantOver(name: string, pages: Pages, g: BlockGeometry, right: Uint32Array): Variant<Uint32Array> {
  const run = VARIANTS[name]?.run;
  if (run === undefined) throw new RangeError(`no variant ${name}`);
  const out = new Uint32Array(right.length);
  return {
    name,
    units: right.length << g.shift,
    before: () => {
      out.fill(0);
    },
    run: () => {
      run(pages, g, out);
      return out;
    },
    check: (sums) => {
      const wrong = sums.findIndex((sum, i) => sum !== right[i]);
      if (wrong >= 0) {
        throw new WrongAnswerError(
          `${name} gave page ${wrong} of ${formatBlockSize(g.size)} the checksum ${sums[wrong]} where ${right[wrong]} is right`,
        );
      }
    },
  };
}

function fillRandomly(words: Uint32Array, seed: number): void {
  const random = seededRandom(seed);
  let state = (random() * 2 ** 32) >>> 0 || 1;
  for (let i = 0; i < words.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state;
  }
}

/** How many times faster than the TypeScript; undefined when the variant was not measured. */
function speedUp({ measured }: Measurement, name: string): Comparison | undefined {
  const [typescript, variant] = [TYPESCRIPT, name].map((n) => measured.find((m) => m.name === n));
  if (typescript === undefined || variant === undefined) return undefined;
  return compareRounds(typescript.samplesNs, variant.samplesNs);
}

function cells(measurement: Measurement): Cell[] {
  const { place, size, measured } = measurement;
  return measured.map((variant) => {
    const { ratio, low, high, differenceSeen } = speedUp(measurement, variant.name) as Comparison;
    return cellOf(variant, {
      blockSize: size,
      engine: 'blockwright',
      variant: variant.name,
      place,
      bytesPerNs: variant.units / cellOf(variant, { blockSize: size, engine: 'blockwright' }).medianNs,
      ratio,
      ratioLow: low,
      ratioHigh: high,
      differenceSeen,
    });
  });
}

function aim(measurement: Measurement): Aim {
  const { place, size } = measurement;
  return aimAtLeast(
    `SIMD over TypeScript, ${formatBlockSize(size)}, pages in ${place}`,
    AIM,
    speedUp(measurement, IN_PLACE) ?? null,
  );
}

/** What the sizes say together about one place. */
function sentence(place: Place, measurements: readonly Measurement[]): string[] {
  const range = (name: string): string | undefined => {
    const ratios = measurements.flatMap((m) => speedUp(m, name)?.ratio ?? []).sort((a, b) => a - b);
    const [least, most] = [ratios[0], ratios[ratios.length - 1]];
    return least === undefined ? undefined : `${least.toFixed(1)} to ${(most as number).toFixed(1)} times`;
  };
  const [inPlace, copied] = [range(IN_PLACE), range(COPIED)];
  if (inPlace === undefined) return [];
  return [
    `Pages in ${place}: SIMD in place was ${inPlace} as fast as the TypeScript, by block size, and ${copied} where each page is copied first.`,
  ];
}

function placesNote({ cacheBytes, memoryBytes }: KernelSettings, lastLevel: number | null): string {
  const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(bytes < 2 ** 20 ? 2 : 0)} MB`;
  const known = lastLevel === null ? 'is not known' : `has ${megabytes(lastLevel)}`;
  return (
    `Pages in cache have ${megabytes(cacheBytes)} together, those in memory ${megabytes(memoryBytes)}; the last-level cache ${known}. ` +
    'In cache the arithmetic decides, in memory how fast one core is given its bytes.'
  );
}
