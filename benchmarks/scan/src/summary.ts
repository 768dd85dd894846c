// What the numbers show, in words.
import type { Cell } from '@blockwright/benchmark';
import { type BlockSize, formatBlockSize } from '@blockwright/geometry';
import { QUERY_TITLES, type Query } from './queries-run.ts';

/** One sentence a query: the fastest and the slowest block size, or that no difference was seen. */
export function summarySentences(cells: readonly Cell[]): string[] {
  const sentences: string[] = [];
  for (const query of Object.keys(QUERY_TITLES) as Query[]) {
    const ours = cells.filter(
      (cell) => cell.query === query && cell.engine === 'blockwright' && cell.blockSize !== null,
    );
    if (ours.length > 1) sentences.push(compare(query, ours));
  }
  return sentences;
}

function compare(query: Query, cells: readonly Cell[]): string {
  const sorted = [...cells].sort((a, b) => a.nsPerUnit - b.nsPerUnit);
  const best = sorted[0] as Cell;
  const worst = sorted[sorted.length - 1] as Cell;
  const title = QUERY_TITLES[query];
  if (best.q3Ns * worst.units >= worst.q1Ns * best.units)
    return `${title}: no difference seen between the block sizes.`;
  const like = sorted.filter((cell) => cell !== best && cell.q1Ns * best.units <= best.q3Ns * cell.units);
  const alike = like.length === 0 ? '' : ` (no difference seen to ${like.map(sizeOf).join(', ')})`;
  return `${title}: fastest at ${sizeOf(best)}${alike}; ${sizeOf(worst)} takes ${(worst.nsPerUnit / best.nsPerUnit).toFixed(2)} times as long a row.`;
}

function sizeOf(cell: Cell): string {
  return formatBlockSize(cell.blockSize as BlockSize);
}
