import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareRounds, comparisonText, medianInterval, quartiles, quartilesOverlap } from '../src/index.ts';

const naiveMedian = (samples: number[]): number => {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};
const samplesArbitrary = fc.array(fc.double({ min: 1, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 60 });

describe('quartiles', () => {
  it('are those of a hand-worked sample, in any order', () => {
    expect(quartiles([7, 1, 3, 5, 9, 11, 13, 15])).toEqual({ q1: 4.5, median: 8, q3: 11.5 });
    expect(quartiles([4])).toEqual({ q1: 4, median: 4, q3: 4 });
  });
  it('keep the median of a naive model between them', () => {
    fc.assert(
      fc.property(samplesArbitrary, (samples) => {
        const { q1, median, q3 } = quartiles(samples);
        expect(median / naiveMedian(samples)).toBeCloseTo(1, 12);
        expect(q1).toBeLessThanOrEqual(median);
        expect(q3).toBeGreaterThanOrEqual(median);
      }),
    );
  });
  it('are refused without a sample', () => expect(() => quartiles([])).toThrow(RangeError));
  it('overlap when they touch', () => {
    const at = (q1: number, q3: number) => ({ q1, median: q1, q3 });
    expect(quartilesOverlap(at(1, 2), at(2, 3))).toBe(true);
    expect(quartilesOverlap(at(1, 2), at(2.1, 3))).toBe(false);
    expect(quartilesOverlap(at(2.1, 3), at(1, 2))).toBe(false);
    expect(quartilesOverlap(at(1, 9), at(2, 3))).toBe(true);
  });
});

describe('the interval of a median', () => {
  it('takes the order statistics that tables of the sign test give', () => {
    const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1);
    // n: rank of the lower end at 95 % (two-sided), from published tables of binomial confidence limits
    for (const [n, rank] of [
      [6, 1],
      [8, 1],
      [9, 2],
      [11, 2],
      [12, 3],
      [15, 4],
      [20, 6],
      [25, 8],
      [30, 10],
      [50, 18],
      [100, 40],
    ] as const) {
      const interval = medianInterval(upTo(n));
      expect([n, interval.low]).toEqual([n, rank]);
      expect(interval.high).toBe(n + 1 - rank);
      expect(interval.confidence).toBeGreaterThanOrEqual(0.95);
    }
  });
  it('says so when there are too few samples for the confidence asked for', () => {
    expect(medianInterval([1, 2, 3, 4, 5])).toMatchObject({ low: 1, high: 5, confidence: 0.9375 });
    expect(medianInterval([3])).toEqual({ median: 3, low: 3, high: 3, confidence: 0 });
  });
  it('covers the true median about as often as it says', () => {
    let state = 7;
    const random = () => (state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff) / 0x7fffffff;
    let covered = 0;
    for (let trial = 0; trial < 2000; trial++) {
      const { low, high } = medianInterval(Array.from({ length: 15 }, () => random() ** 3));
      if (low <= 0.125 && 0.125 <= high) covered++;
    }
    expect(covered / 2000).toBeGreaterThan(0.94);
    expect(covered / 2000).toBeLessThan(0.99);
  });
});

describe('comparing rounds', () => {
  it('pairs samples of the same round: a slow phase of the machine leaves the ratio', () => {
    const b = [10, 10, 90, 10, 10, 95, 10, 10, 10, 11];
    const a = b.map((ns) => ns * 1.5);
    const comparison = compareRounds(a, b);
    expect(comparison.ratio).toBeCloseTo(1.5, 12);
    expect(comparison.low).toBeCloseTo(1.5, 12);
    expect(comparison.high).toBeCloseTo(1.5, 12);
    expect(comparison.differenceSeen).toBe(true);
  });
  it('sees no difference where the quartiles overlap, and says so', () => {
    const comparison = compareRounds([10, 12, 11, 10, 12, 11, 10, 12, 11], [11, 10, 12, 11, 10, 12, 11, 10, 12]);
    expect(comparison.differenceSeen).toBe(false);
    expect(comparisonText(comparison)).toMatch(
      /^no difference seen \([\d.]+ times, [\d.]+ to [\d.]+; the quartiles overlap\)$/,
    );
    expect(comparisonText({ ratio: 2, low: 1.9, high: 2.1, confidence: 0.95, differenceSeen: true })).toBe(
      '2.000 times (1.900 to 2.100)',
    );
  });
  it('is not certain of a difference where the interval of the ratio holds 1, whatever the quartiles are', () => {
    const seen = { ratio: 1.5, low: 0.533, high: 21.662, confidence: 0.95, differenceSeen: true };
    const uncertain = 'no certain difference (1.500 times, but from 0.533 to 21.662: either may be faster)';
    expect(comparisonText(seen)).toBe(uncertain);
    for (const [low, high] of [
      [1, 1.6],
      [0.4, 1],
    ] as const) {
      expect(comparisonText({ ...seen, low, high })).toMatch(/^no certain difference/);
    }
    expect(comparisonText({ ...seen, low: 1.001 })).toBe('1.500 times (1.001 to 21.662)');
    expect(comparisonText({ ...seen, ratio: 0.5, low: 0.4, high: 0.999 })).toBe('0.500 times (0.400 to 0.999)');
    expect(comparisonText({ ...seen, differenceSeen: false })).toMatch(/^no difference seen/);
  });
  it('refuses samples of different rounds', () => expect(() => compareRounds([1, 2], [1])).toThrow(RangeError));
});
