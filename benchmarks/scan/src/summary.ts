// What the numbers show, in words.
import { type Cell, significant } from '@blockwright/benchmark';
import { type BlockSize, formatBlockSize } from '@blockwright/geometry';
import { QUERY_TITLES, type Query, type Sampled } from './subject.ts';

/** One sentence that sums up, then one a query: the fastest and the slowest block size, or that no difference was seen. */
export function summarySentences(cells: readonly Cell[]): string[] {
  const ours = cells.filter(({ engine }) => engine === 'blockwright');
  const sentences: string[] = [];
  for (const query of Object.keys(QUERY_TITLES) as Query[]) {
    const own = ours.filter((cell) => cell.query === query);
    if (own.length > 1) sentences.push(compare(query, own));
  }
  const space = spaceSentence(ours);
  if (space !== undefined) sentences.push(space);
  const short = headline(ours);
  return short === undefined ? sentences : [short, ...sentences];
}

/** All of it in one sentence. */
function headline(cells: readonly Cell[]): string | undefined {
  const parts: string[] = [];
  const quiet: string[] = [];
  for (const query of Object.keys(QUERY_TITLES) as Query[]) {
    const sorted = cells.filter((cell) => cell.query === query).sort((a, b) => a.nsPerUnit - b.nsPerUnit);
    if (sorted.length < 2) continue;
    const [best, worst] = [sorted[0], sorted[sorted.length - 1]];
    if (overlap(best, worst)) quiet.push(QUERY_TITLES[query]);
    else parts.push(`${QUERY_TITLES[query]} by ${(worst.nsPerUnit / best.nsPerUnit).toFixed(2)} times`);
  }
  if (parts.length === 0 && quiet.length === 0) return undefined;
  if (parts.length === 0) return 'In short: no difference between the block sizes was seen in the time a row.';
  if (quiet.length > 0) parts.push(`${quiet.join(' and ')} not visibly`);
  return `In short: between its worst and its best value, the block size changes the time a row of ${parts.join(', ')}.`;
}

function compare(query: Query, cells: readonly Cell[]): string {
  const sorted = [...cells].sort((a, b) => a.nsPerUnit - b.nsPerUnit);
  const best = sorted[0];
  const worst = sorted[sorted.length - 1];
  const title = QUERY_TITLES[query];
  if (overlap(best, worst)) return `${title}: no difference seen between the block sizes.`;
  const alike = sorted.filter((cell) => cell !== best && overlap(best, cell)).map(sizeOf);
  const like = alike.length === 0 ? '' : ` (no difference seen to ${alike.join(', ')})`;
  const times = (worst.nsPerUnit / best.nsPerUnit).toFixed(2);
  return `${title}: fastest at ${sizeOf(best)}${like}, ${significant(best.nsPerUnit)} ns a row; ${sizeOf(worst)} takes ${times} times as long.`;
}

/** Whether the quartiles of two cells' times a row overlap. */
function overlap(a: Cell, b: Cell): boolean {
  return a.q1Ns / a.units <= b.q3Ns / b.units && b.q1Ns / b.units <= a.q3Ns / a.units;
}

function spaceSentence(cells: readonly Cell[]): string | undefined {
  const sizes = new Map(cells.map((cell) => [cell.blockSize, cell]));
  if (sizes.size < 2) return undefined;
  const sorted = [...sizes.values()].sort((a, b) => Number(a.bytes) - Number(b.bytes));
  const least = sorted[0];
  const most = sorted[sorted.length - 1];
  const more = ((Number(most.bytes) / Number(least.bytes) - 1) * 100).toFixed(1);
  return `Space: the table is smallest at ${sizeOf(least)}; ${sizeOf(most)} takes ${more} % more, since ${significant(Number(most.tailWaste))} of its ${most.blockSize} bytes a page are left over.`;
}

function sizeOf(cell: Cell): string {
  return formatBlockSize(cell.blockSize as BlockSize);
}

/** What asking the map costs an entry: the median difference, round by round, to the same scan that does not ask. */
export function mapCostNs(sampled: readonly Sampled[], query: Query, blockSize: number): number | undefined {
  const own = (of: Query): Sampled | undefined =>
    sampled.find(
      ({ query: one, subject }) => one === of && subject.blockSize === blockSize && subject.engine === 'blockwright',
    );
  const asked = own(query);
  const unasked = own('keys-unasked');
  if (asked === undefined || unasked === undefined) return undefined;
  const differences = asked.samplesNs
    .map((ns, i) => (ns - unasked.samplesNs[i]) / asked.cell.units)
    .sort((a, b) => a - b);
  return differences[differences.length >>> 1];
}

/** One sentence a block size. */
export function mapCostSentences(sampled: readonly Sampled[]): string[] {
  const sizes = [...new Set(sampled.map(({ subject }) => subject.blockSize))].sort((a, b) => a - b);
  return sizes.flatMap((size) => {
    const costs = (['keys-window', 'keys-multiplying', 'keys-dividing'] as const).flatMap((query) => {
      const ns = mapCostNs(sampled, query, size);
      return ns === undefined ? [] : [`${ns.toFixed(2)} ns an entry ${MAP_WAYS[query]}`];
    });
    return costs.length === 0 ? [] : [`The map at ${formatBlockSize(size as BlockSize)}: ${costs.join(', ')}.`];
  });
}

const MAP_WAYS = {
  'keys-window': 'by its window',
  'keys-multiplying': 'by a multiplying look-up',
  'keys-dividing': 'by a dividing one',
} as const;
