// Runs variants in interleaved rounds: every variant once a round, in an order drawn anew each round, so that what
// disturbs the machine for a while disturbs all of them alike and no variant always follows the same other.
import { setImmediate } from 'node:timers/promises';
import type { Progress } from '@blockwright/base';
import { type Cell, type CellValue, WrongAnswerError } from './report.ts';
import { quartiles } from './statistics.ts';

export interface Variant<Answer = unknown> {
  readonly name: string;
  /** Does the work once and gives its answer; a promise is waited for. */
  readonly run: () => Answer | Promise<Answer>;
  /** Not timed, before each sample, with its round counted from 0; −1 while warming up. */
  readonly before?: (round: number) => void | Promise<void>;
  /** Things handled by one run, such as rows. */
  readonly units: number;
  /** Sees the answer of every timed run, after the clock has stopped; throws {@link WrongAnswerError}. Called without `this`. */
  check(answer: Answer): void;
}

export interface RoundOptions {
  /** At least 9. */
  readonly rounds: number;
  /** A sample repeats the run until it would last about this long; its time is divided by the repetitions. */
  readonly sampleMs?: number;
  /** Each variant runs at least this long, and at least twice, before anything is timed. */
  readonly warmUpMs?: number;
  /** Seed of the order within rounds. */
  readonly seed: number;
  readonly signal?: AbortSignal;
  readonly progress?: (progress: Progress) => void;
  /** Names the work in progress reports. */
  readonly phase?: string;
  /** Nanoseconds from any origin: a test brings its own. */
  readonly clock?: () => number;
}

/** The times of one variant: sample i comes from round i. */
export interface Measured {
  readonly name: string;
  readonly units: number;
  /** Nanoseconds of one run, by round. */
  readonly samplesNs: readonly number[];
  readonly repetitions: number;
}

export const LEAST_ROUNDS = 9;
const MOST_REPETITIONS = 1_000_000;
const WARMING_UP = -1;

/** A check that compares with a known answer. */
export function expectAnswer<Answer>(name: string, expected: Answer): (answer: Answer) => void {
  return (answer) => {
    if (!Object.is(answer, expected)) {
      throw new WrongAnswerError(`${name} computed ${String(answer)} where ${String(expected)} is right`);
    }
  };
}

/**
 * Measures the variants in interleaved rounds. The answer of every run is kept until the clock has stopped and is then
 * checked: no run can be optimised away, and no time is believed whose answer was wrong.
 * @throws RangeError for fewer than 9 rounds or no variants; {@link WrongAnswerError} from a check.
 */
export async function measureRounds(variants: readonly Variant[], options: RoundOptions): Promise<Measured[]> {
  const { rounds, seed, signal, progress, phase = 'measuring', clock = systemClock } = options;
  if (!Number.isInteger(rounds) || rounds < LEAST_ROUNDS) {
    throw new RangeError(`a benchmark takes at least ${LEAST_ROUNDS} rounds, not ${String(rounds)}`);
  }
  if (variants.length === 0) throw new RangeError('a benchmark needs a variant to measure');
  const total = variants.length * rounds;
  const repetitions: number[] = [];
  for (const variant of variants) {
    progress?.({ phase: 'warming up', done: 0, total, unit: 'samples' });
    repetitions.push(await warmUp(variant, options.warmUpMs ?? 50, options.sampleMs ?? 0, clock, signal));
  }
  const samples: number[][] = variants.map(() => []);
  const order = variants.map((_, index) => index);
  const random = seededRandom(seed);
  let done = 0;
  for (let round = 0; round < rounds; round++) {
    shuffle(order, random);
    for (const index of order) {
      const variant = variants[index] as Variant;
      (samples[index] as number[]).push(await sample(variant, round, repetitions[index] as number, clock));
      progress?.({ phase, done: ++done, total, unit: 'samples' });
      await setImmediate(); // lets a signal arrive
      signal?.throwIfAborted();
    }
  }
  return variants.map(({ name, units }, index) => ({
    name,
    units,
    samplesNs: samples[index] as number[],
    repetitions: repetitions[index] as number,
  }));
}

/** Nanoseconds of one thing handled, by round: what two variants that handle different numbers of them are compared by. */
export function perUnit({ samplesNs, units }: Measured): number[] {
  return samplesNs.map((ns) => ns / units);
}

/** A cell of the report from a variant's samples; the columns override and add. */
export function cellOf(
  measured: Measured,
  columns: { blockSize: number | null; engine: string; query?: string; variant?: string } & Record<string, CellValue>,
): Cell {
  const { q1, median, q3 } = quartiles(measured.samplesNs);
  return {
    medianNs: median,
    q1Ns: q1,
    q3Ns: q3,
    rounds: measured.samplesNs.length,
    units: measured.units,
    nsPerUnit: median / measured.units,
    ...columns,
  };
}

async function warmUp(
  variant: Variant,
  warmUpMs: number,
  sampleMs: number,
  clock: () => number,
  signal: AbortSignal | undefined,
): Promise<number> {
  const start = clock();
  let fastestNs = Infinity;
  let runs = 0;
  while (runs < 2 || clock() - start < warmUpMs * 1e6) {
    const ns = await sample(variant, WARMING_UP, 1, clock);
    fastestNs = Math.min(fastestNs, ns);
    if (++runs % 16 === 0 || ns > 1e6) await setImmediate();
    signal?.throwIfAborted();
  }
  const wanted = Math.ceil((sampleMs * 1e6) / Math.max(fastestNs, 1));
  return Math.min(Math.max(wanted, 1), MOST_REPETITIONS);
}

/** Nanoseconds of one run, over `repetitions` of them. */
async function sample(variant: Variant, round: number, repetitions: number, clock: () => number): Promise<number> {
  const { run, before, check } = variant;
  if (before !== undefined) await before(round);
  const answers = new Array<unknown>(repetitions);
  const start = clock();
  for (let i = 0; i < repetitions; i++) {
    const answer = run();
    answers[i] = answer instanceof Promise ? await answer : answer;
  }
  const elapsed = clock() - start;
  for (const answer of answers) check(answer);
  return elapsed / repetitions;
}

function systemClock(): number {
  return performance.now() * 1e6;
}

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Puts `items` into a random order, in place (Fisher and Yates). */
export function shuffle<Item>(items: Item[], random: () => number): void {
  for (let i = items.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    const swapped = items[i] as Item;
    items[i] = items[j] as Item;
    items[j] = swapped;
  }
}
