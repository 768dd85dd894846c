import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  cellOf,
  expectAnswer,
  measureRounds,
  type RoundOptions,
  seededRandom,
  shuffle,
  type Variant,
  WrongAnswerError,
} from '../src/index.ts';

/** A clock that only moves when a variant says so. */
function fakeBench(costs: Record<string, (round: number) => number>) {
  let now = 0;
  const log: string[] = [];
  const runs: Record<string, number> = {};
  const variants: Variant[] = Object.entries(costs).map(([name, cost]) => ({
    name,
    units: 10,
    run: () => {
      runs[name] = (runs[name] ?? 0) + 1;
      log.push(name);
      now += cost(runs[name] as number);
      return name.length;
    },
    check: expectAnswer(name, name.length),
  }));
  return { variants, log, runs, clock: () => now };
}
const quick = { warmUpMs: 0, seed: 1 } satisfies Partial<RoundOptions>;

describe('measureRounds', () => {
  it('runs every variant once a round, in changing order, and pairs samples by round', async () => {
    const bench = fakeBench({ a: () => 100, bb: () => 200, ccc: () => 300 });
    const measured = await measureRounds(bench.variants, { ...quick, rounds: 12, clock: bench.clock });
    const timed = bench.log.slice(6); // two warm-up runs each
    const orders = Array.from({ length: 12 }, (_, round) => timed.slice(round * 3, round * 3 + 3));
    for (const order of orders) expect([...order].sort()).toEqual(['a', 'bb', 'ccc']);
    expect(new Set(orders.map((order) => order.join(' '))).size).toBeGreaterThan(2);
    expect(measured.map(({ name, samplesNs }) => [name, samplesNs])).toEqual([
      ['a', Array(12).fill(100)],
      ['bb', Array(12).fill(200)],
      ['ccc', Array(12).fill(300)],
    ]);
  });

  it('tells what is done before a sample which round it is, so that variants can share what they handle', async () => {
    const bench = fakeBench({ a: () => 1, bb: () => 1 });
    const rounds: number[][] = [[], []];
    const variants = bench.variants.map((variant, i) => ({
      ...variant,
      before: (round: number) => void rounds[i]!.push(round),
    }));
    await measureRounds(variants, { ...quick, rounds: 9, clock: bench.clock });
    const expected = [-1, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    expect(rounds).toEqual([expected, expected]);
  });

  it('draws the same orders from the same seed', async () => {
    const logs = [];
    for (const seed of [5, 5, 6]) {
      const bench = fakeBench({ a: () => 1, bb: () => 1, ccc: () => 1 });
      await measureRounds(bench.variants, { ...quick, rounds: 9, seed, clock: bench.clock });
      logs.push(bench.log.join(' '));
    }
    expect(logs[0]).toBe(logs[1]);
    expect(logs[0]).not.toBe(logs[2]);
  });

  it('repeats a short run until a sample is long enough, and divides', async () => {
    const bench = fakeBench({ short: () => 1000, longer: () => 700_000 });
    const measured = await measureRounds(bench.variants, { ...quick, rounds: 9, sampleMs: 1, clock: bench.clock });
    expect(measured.map((m) => m.repetitions)).toEqual([1000, 2]);
    expect(measured.map((m) => m.samplesNs[0])).toEqual([1000, 700_000]);
  });

  it('leaves the warm-up out of the samples', async () => {
    const bench = fakeBench({ a: (run) => (run <= 3 ? 50_000_000 : 7) });
    const [measured] = await measureRounds(bench.variants, { ...quick, warmUpMs: 120, rounds: 9, clock: bench.clock });
    expect(measured?.samplesNs).toEqual(Array(9).fill(7));
  });

  it('checks the answer of every run, repetitions included', async () => {
    let runs = 0;
    const variant: Variant = {
      name: 'sum',
      units: 1,
      run: () => (++runs === 40 ? 41 : 42),
      check: expectAnswer('sum', 42),
    };
    let now = 0;
    const clock = () => (now += 100); // a run takes 100 ns: ten repetitions make a microsecond
    await expect(measureRounds([variant], { ...quick, rounds: 9, sampleMs: 0.001, clock })).rejects.toThrow(
      new WrongAnswerError('sum computed 41 where 42 is right'),
    );
    expect(runs).toBeLessThan(60);
  });

  it('waits for promises, with before() outside the clock', async () => {
    let now = 0;
    const variant: Variant = {
      name: 'peer',
      units: 1,
      before: async () => void (now += 1e9),
      run: async () => {
        await Promise.resolve();
        now += 5;
        return 'x';
      },
      check: expectAnswer('peer', 'x'),
    };
    const [measured] = await measureRounds([variant], { ...quick, rounds: 9, clock: () => now });
    expect(measured?.samplesNs).toEqual(Array(9).fill(5));
  });

  it('stops at the next sample when the signal fires', async () => {
    const bench = fakeBench({ a: () => 1 });
    const controller = new AbortController();
    const progress = () => {
      if (bench.log.length === 5) controller.abort(new Error('stop'));
    };
    const run = measureRounds(bench.variants, {
      ...quick,
      rounds: 1000,
      clock: bench.clock,
      signal: controller.signal,
      progress,
    });
    await expect(run).rejects.toThrow('stop');
    expect(bench.log.length).toBe(5);
  });

  it('reports every sample as progress', async () => {
    const bench = fakeBench({ a: () => 1, bb: () => 1 });
    const seen: number[] = [];
    await measureRounds(bench.variants, {
      ...quick,
      rounds: 9,
      clock: bench.clock,
      phase: 'scanning',
      progress: ({ phase, done, total }) => {
        if (phase === 'scanning') seen.push(done / total);
      },
    });
    expect(seen.length).toBe(18);
    expect(seen.at(-1)).toBe(1);
  });

  it('refuses too few rounds and no variants', async () => {
    const bench = fakeBench({ a: () => 1 });
    await expect(measureRounds(bench.variants, { ...quick, rounds: 8 })).rejects.toThrow('at least 9 rounds, not 8');
    await expect(measureRounds([], { ...quick, rounds: 9 })).rejects.toThrow(RangeError);
  });
});

describe('cellOf', () => {
  it('has the median, the quartiles and the time a unit', () => {
    const samplesNs = [10, 20, 30, 40, 50, 60, 70, 80, 90];
    expect(
      cellOf(
        { name: 'x', units: 5, samplesNs, repetitions: 1 },
        { blockSize: 8192, engine: 'blockwright', variant: 'x', pages: 3 },
      ),
    ).toEqual({
      blockSize: 8192,
      engine: 'blockwright',
      variant: 'x',
      pages: 3,
      medianNs: 50,
      q1Ns: 30,
      q3Ns: 70,
      rounds: 9,
      units: 5,
      nsPerUnit: 10,
    });
  });
});

describe('shuffle', () => {
  it('keeps every item', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.integer(), (items, seed) => {
        const shuffled = [...items];
        shuffle(shuffled, seededRandom(seed));
        expect(shuffled.sort((a, b) => a - b)).toEqual([...items].sort((a, b) => a - b));
      }),
    );
  });
  it('gives every order of three about as often', () => {
    const random = seededRandom(3);
    const counts = new Map<string, number>();
    for (let i = 0; i < 6000; i++) {
      const items = [1, 2, 3];
      shuffle(items, random);
      counts.set(items.join(''), (counts.get(items.join('')) ?? 0) + 1);
    }
    expect(counts.size).toBe(6);
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });
});
