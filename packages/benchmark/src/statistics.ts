// Medians and quartiles of samples, and ratios of two variants that ran in the same rounds.
import { binomialDistribution, quantileSorted } from 'simple-statistics';

export interface Quartiles {
  readonly q1: number;
  readonly median: number;
  readonly q3: number;
}

/** @throws RangeError when there is no sample. */
export function quartiles(samples: readonly number[]): Quartiles {
  if (samples.length === 0) throw new RangeError('quartiles of no samples');
  const sorted = ascending(samples);
  return {
    q1: quantileSorted(sorted, 0.25),
    median: quantileSorted(sorted, 0.5),
    q3: quantileSorted(sorted, 0.75),
  };
}

/** Whether the ranges from first to third quartile touch: then no difference was seen. */
export function quartilesOverlap(a: Quartiles, b: Quartiles): boolean {
  return a.q1 <= b.q3 && b.q1 <= a.q3;
}

export interface MedianInterval {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  /** Probability that the true median lies between {@link low} and {@link high}; below what was asked for when there are too few samples. */
  readonly confidence: number;
}

/**
 * The median with an interval between two order statistics: exact for any distribution, since the number of samples
 * below the true median is binomial. At least 6 samples make 95 %.
 * @throws RangeError when there is no sample.
 */
export function medianInterval(samples: readonly number[], confidence: number = 0.95): MedianInterval {
  const n = samples.length;
  if (n === 0) throw new RangeError('median of no samples');
  const sorted = ascending(samples);
  const below = binomialDistribution(n, 0.5) as number[]; // below[k]: k samples lie below the true median
  let rank = 0; // how many samples are left out at each end
  let outside = below[0] as number;
  let inside = 1 - 2 * outside;
  while (2 * (rank + 1) < n - 1) {
    const next = outside + (below[rank + 1] as number);
    if (1 - 2 * next < confidence) break;
    outside = next;
    inside = 1 - 2 * next;
    rank++;
  }
  return {
    median: quantileSorted(sorted, 0.5),
    low: sorted[rank] as number,
    high: sorted[n - 1 - rank] as number,
    confidence: Math.max(0, inside),
  };
}

export interface Comparison {
  /** Median over the rounds of a's time divided by b's time in the same round. */
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  readonly confidence: number;
  /** Whether the quartiles of the two variants' times are apart. */
  readonly differenceSeen: boolean;
}

/**
 * How many times the time of `b` the variant `a` took. Sample i of both must come from the same round: what slows the
 * machine for a while slows both, and leaves the ratio.
 * @throws RangeError when there are no samples, or not as many of one as of the other.
 */
export function compareRounds(a: readonly number[], b: readonly number[], confidence: number = 0.95): Comparison {
  if (a.length !== b.length) throw new RangeError(`${a.length} rounds cannot be compared with ${b.length}`);
  const interval = medianInterval(
    a.map((value, round) => value / (b[round] as number)),
    confidence,
  );
  return {
    ratio: interval.median,
    low: interval.low,
    high: interval.high,
    confidence: interval.confidence,
    differenceSeen: !quartilesOverlap(quartiles(a), quartiles(b)),
  };
}

/**
 * In words: `1.250 times (1.210 to 1.300)`; or that no difference was seen, or that one was seen and is not certain, since
 * the ratio's interval holds 1; with the same numbers.
 */
export function comparisonText(comparison: Comparison): string {
  const { ratio, low, high, differenceSeen } = comparison;
  const range = `${low.toFixed(3)} to ${high.toFixed(3)}`;
  if (!differenceSeen) return `no difference seen (${ratio.toFixed(3)} times, ${range}; the quartiles overlap)`;
  if (low <= 1 && high >= 1)
    return `no certain difference (${ratio.toFixed(3)} times, but from ${range}: either may be faster)`;
  return `${ratio.toFixed(3)} times (${range})`;
}

function ascending(samples: readonly number[]): number[] {
  return [...samples].sort((a, b) => a - b);
}
