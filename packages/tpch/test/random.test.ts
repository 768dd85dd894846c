import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drawn, MODULUS, multiplySeed, nextSeed, STREAMS, seedPower, skipDraws } from '../src/random.ts';

const M = BigInt(MODULUS);
const seeds = fc.integer({ min: 1, max: MODULUS - 1 });

describe('random', () => {
  it('gives the known seeds and quantities of the first three lines', () => {
    let seed: number = STREAMS.l_quantity[0];
    const seen: number[] = [];
    const quantities: number[] = [];
    for (let i = 0; i < 3; i++) {
      seed = nextSeed(seed);
      seen.push(seed);
      quantities.push(drawn(seed, 1, 50));
    }
    expect(seen).toEqual([730058666, 1521924151, 301486440]);
    expect(quantities).toEqual([17, 36, 8]);
  });

  it('steps as plain arithmetic does', () => {
    const check = (seed: number) => {
      expect(nextSeed(seed)).toBe(Number((BigInt(seed) * 16807n) % M));
    };
    for (const seed of [1, 2, 65535, 65536, 127773, 127774, MODULUS - 2, MODULUS - 1]) check(seed);
    fc.assert(fc.property(seeds, check), { numRuns: 2000 });
  });

  it('multiplies as plain arithmetic does', () => {
    fc.assert(
      fc.property(seeds, seeds, (a, b) => {
        expect(multiplySeed(a, b)).toBe(Number((BigInt(a) * BigInt(b)) % M));
      }),
      { numRuns: 2000 },
    );
    expect(multiplySeed(MODULUS - 1, MODULUS - 1)).toBe(1);
  });

  it('jumps to where stepping leads', () => {
    fc.assert(
      fc.property(seeds, fc.nat({ max: 500 }), (seed, draws) => {
        let stepped = seed;
        for (let i = 0; i < draws; i++) stepped = nextSeed(stepped);
        expect(skipDraws(seed, draws)).toBe(stepped);
      }),
    );
  });

  it('adds jumps up, far beyond 32 bits', () => {
    const far = fc.nat({ max: 2 ** 40 });
    fc.assert(
      fc.property(seeds, far, far, (seed, a, b) => {
        expect(skipDraws(skipDraws(seed, a), b)).toBe(skipDraws(seed, a + b));
      }),
    );
    expect(seedPower(MODULUS - 1)).toBe(1); // the period
    expect(seedPower((MODULUS - 1) / 2)).not.toBe(1);
  });
});
