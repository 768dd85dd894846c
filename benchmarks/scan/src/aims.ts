// The aims that the scan stands under: ratios to PostgreSQL in the same run at 8 kB, and the spread of Q1 over block
// sizes.
import { type Aim, aimAtLeast, aimAtMost, compareRounds } from '@blockwright/benchmark';
import { POSTGRES_BLOCK_SIZE, type Query, type Sampled } from './subject.ts';
import { mapCostNs } from './summary.ts';

/** Times as fast as PostgreSQL: what is aimed at, and further. */
const AIMS: Readonly<Partial<Record<Query, readonly [aim: number, stretch: number | undefined]>>> = {
  count: [15, undefined],
  judged: [2, 2.5],
  q6: [4, 6],
  q1: [15, 20],
  keys: [10, undefined],
  keysum: [10, undefined],
};
/** Below this, what PostgreSQL does once a query weighs too much. */
const LEAST_SCALE = 0.1;
const MOST_Q1_SPREAD = 1.5;
const MOST_MAP_NS = 1.5;

export function scanAims(sampled: readonly Sampled[], scale: number): Aim[] {
  const aims: Aim[] = [];
  for (const [query, [aim, stretch]] of Object.entries(AIMS) as [Query, readonly [number, number | undefined]][]) {
    const at8kB = sampled.filter((one) => one.query === query && one.subject.blockSize === POSTGRES_BLOCK_SIZE);
    const ours = at8kB.find(({ subject }) => subject.engine === 'blockwright');
    const theirs = at8kB.find(({ subject }) => subject.engine.startsWith('PostgreSQL'));
    if (ours === undefined) continue;
    const measured =
      theirs === undefined || scale < LEAST_SCALE ? null : compareRounds(theirs.samplesNs, ours.samplesNs);
    aims.push(aimAtLeast(`${query} at 8 kB, times PostgreSQL's speed`, aim, measured));
    if (stretch !== undefined)
      aims.push(aimAtLeast(`${query} at 8 kB, times PostgreSQL's speed (stretch)`, stretch, measured));
  }
  const mapCost = mapCostNs(sampled, 'keys-window', POSTGRES_BLOCK_SIZE);
  if (mapCost !== undefined) {
    aims.push(
      aimAtMost(
        'the map at 8 kB, ns an entry of a correlated index',
        MOST_MAP_NS,
        scale < LEAST_SCALE ? null : mapCost,
      ),
    );
  }
  const q1 = sampled
    .filter(({ query, subject }) => query === 'q1' && subject.engine === 'blockwright')
    .map(({ cell }) => cell.nsPerUnit);
  if (q1.length > 1)
    aims.push(
      aimAtMost('q1, slowest block size against the fastest', MOST_Q1_SPREAD, Math.max(...q1) / Math.min(...q1)),
    );
  return aims;
}
