// What the measured cells say: cells for the report, aims, and sentences.
import {
  type Aim,
  aimAtLeast,
  aimAtMost,
  type Cell,
  type Comparison,
  cellOf,
  compareRounds,
  comparisonText,
  type Measured,
  quartiles,
} from '@blockwright/benchmark';
import { type BlockSize, formatBlockSize } from '@blockwright/geometry';
import { type Order, WIDTHS, type Width } from './page-set.ts';
import type { ScanOrder } from './scan.ts';
import { COMPARATOR } from './variants.ts';

/** `adaptive` may take this many times the faster of the others. */
export const LIMIT = 1.05;
/** `sort` must take this many times as long as `adaptive` on narrow pages that updates make. */
const NARROW_AIM = 1.5;
const NARROW: readonly Width[] = [16, 40];
/** The orders that updates make where `adaptive` is used, as the engine does. */
const MADE_BY_UPDATES: readonly Order[] = ['updates', 'batches'];

export interface CompactionCell {
  readonly size: BlockSize;
  readonly width: Width;
  readonly order: Order;
  readonly measured: readonly Measured[];
}

/** Where scanned pages lie. */
export type ScanPlace = 'scan in cache' | 'scan from memory';

export interface ScanCell {
  readonly what: ScanPlace;
  readonly size: BlockSize;
  readonly width: Width;
  readonly order: ScanOrder;
  readonly measured: readonly Measured[];
}

const samples = (cell: CompactionCell | ScanCell, variant: string): readonly number[] =>
  (cell.measured.find(({ name }) => name === variant) as Measured).samplesNs;

const over = (cell: CompactionCell | ScanCell, variant: string, other: string): Comparison =>
  compareRounds(samples(cell, variant), samples(cell, other));

const cellName = ({ size, width, order }: CompactionCell | ScanCell): string =>
  `${formatBlockSize(size)}, ${width} bytes, ${order}`;

/** How many times the faster of `sort` and `workspace` the strategy `adaptive` took. */
export function adaptiveAgainstBest(cell: CompactionCell): Comparison {
  const [sort, workspace] = [over(cell, 'adaptive', 'sort'), over(cell, 'adaptive', 'workspace')];
  return sort.ratio > workspace.ratio ? sort : workspace;
}

export function reportCells(compactions: readonly CompactionCell[], scans: readonly ScanCell[]): Cell[] {
  return [...compactions.map((cell) => ({ what: 'compaction', ...cell })), ...scans].flatMap((cell) =>
    cell.measured.map((variant) => {
      const { ratio, low, high, differenceSeen } = over(cell, variant.name, 'sort');
      return cellOf(variant, {
        blockSize: cell.size,
        engine: 'blockwright',
        variant: variant.name,
        what: cell.what,
        width: `${cell.width} B`,
        order: cell.order,
        isStrategy: variant.name !== COMPARATOR,
        ratio,
        ratioLow: low,
        ratioHigh: high,
        differenceSeen,
      });
    }),
  );
}

/** The cell with the largest figure. */
function hardest<Of>(
  cells: readonly Of[],
  figure: (cell: Of) => Comparison,
  sign: 1 | -1,
): [Of, Comparison] | undefined {
  let found: [Of, Comparison] | undefined;
  for (const cell of cells) {
    const comparison = figure(cell);
    if (found === undefined || sign * comparison.ratio > sign * found[1].ratio) found = [cell, comparison];
  }
  return found;
}

const sortOverAdaptive = (cell: CompactionCell): Comparison => over(cell, 'sort', 'adaptive');
const isNarrowUpdated = ({ width, order }: CompactionCell): boolean =>
  NARROW.includes(width) && MADE_BY_UPDATES.includes(order);

export function compactionAims(cells: readonly CompactionCell[]): Aim[] {
  const sizes = [...new Set(cells.map(({ size }) => size))];
  const narrow = sizes.flatMap((size) =>
    NARROW.map((width) => {
      const those = cells.filter((cell) => isNarrowUpdated(cell) && cell.size === size && cell.width === width);
      const name = `sort over adaptive, pages that updates make, ${formatBlockSize(size)}, ${width} bytes`;
      return aimAtLeast(name, NARROW_AIM, hardest(those, sortOverAdaptive, -1)?.[1] ?? null);
    }),
  );
  // Apart, for they are not alike: workspace leaves the same bytes as adaptive, sort leaves data in the order that it had.
  const slower = (['workspace', 'sort'] as const).flatMap((other) =>
    sizes.map((size) => {
      const those = cells.filter((cell) => cell.size === size);
      const name = `adaptive over ${other}, ${formatBlockSize(size)}, hardest cell`;
      return aimAtMost(name, LIMIT, hardest(those, (cell) => over(cell, 'adaptive', other), 1)?.[1] ?? null);
    }),
  );
  return [...narrow, ...slower];
}

export function compactionNotes(cells: readonly CompactionCell[]): string[] {
  const notes: string[] = [];
  const narrow = hardest(cells.filter(isNarrowUpdated), sortOverAdaptive, -1);
  if (narrow !== undefined) {
    const easiest = hardest(cells.filter(isNarrowUpdated), sortOverAdaptive, 1) as [CompactionCell, Comparison];
    notes.push(
      `On narrow pages that updates make, sort over adaptive: at the hardest cell (${cellName(narrow[0])}) ${comparisonText(narrow[1])}, at the easiest (${cellName(easiest[0])}) ${comparisonText(easiest[1])}.`,
    );
  }
  const slowest = hardest(cells, adaptiveAgainstBest, 1);
  if (slowest !== undefined) {
    notes.push(
      `Adaptive over the faster of sort and workspace, at the hardest of ${cells.length} cells (${cellName(slowest[0])}): ${comparisonText(slowest[1])}; ${aboveLimit(cells, 'workspace')}, ${aboveLimit(cells, 'sort')}, which closes gaps and puts nothing in order. A cell above ${LIMIT} was measured again in four times the rounds, and that is what counts.`,
    );
  }
  const worlds = ownWorlds(cells);
  if (worlds.length > 0) {
    const ratios = worlds.map(({ ratio }) => ratio).sort((a, b) => a - b);
    notes.push(
      `Pages differ by the strategy that compacted them before. Each on the pages that it made itself (sort on "aged", adaptive on "updates"), sort took ${range(ratios)} times as long as adaptive, by the medians.`,
    );
  }
  if (cells.length > 0) {
    const ratios = cells.map((cell) => over(cell, COMPARATOR, 'sort').ratio).sort((a, b) => a - b);
    notes.push(
      `${COMPARATOR} is no strategy: Array.prototype.sort over objects with a comparator, which checks nothing, took ${range(ratios)} times as long as sort.`,
    );
  }
  return notes;
}

/** In how many cells `adaptive` is slower than it may be against one of the others, and of which widths. */
function aboveLimit(cells: readonly CompactionCell[], other: 'sort' | 'workspace'): string {
  const above = cells.filter((cell) => over(cell, 'adaptive', other).ratio > LIMIT);
  const widths = WIDTHS.map((width) => ({ width, count: above.filter((cell) => cell.width === width).length }));
  const parts = widths.filter(({ count }) => count > 0).map(({ width, count }) => `${count} of ${width} bytes`);
  return `above ${LIMIT} lie ${above.length}${parts.length === 0 ? '' : ` (${parts.join(', ')})`} against ${other}`;
}

/** `sort` on the pages of a run that it compacted, over `adaptive` on those of the same run that it compacted. */
function ownWorlds(cells: readonly CompactionCell[]): { cell: CompactionCell; ratio: number }[] {
  return cells
    .filter(({ order }) => order === 'updates')
    .flatMap((cell) => {
      const aged = cells.find(
        ({ size, width, order }) => size === cell.size && width === cell.width && order === 'aged',
      );
      if (aged === undefined) return [];
      return [{ cell, ratio: quartiles(samples(aged, 'sort')).median / quartiles(samples(cell, 'adaptive')).median }];
    });
}

/** What line-pointer order is worth to a scan, for each place where the pages lie. */
export function scanNotes(scans: readonly ScanCell[]): string[] {
  return (['scan in cache', 'scan from memory'] as const).flatMap((what) => {
    const cells = scans.filter((cell) => cell.what === what);
    if (cells.length === 0) return [];
    const comparisons = cells.map((cell) => ({ cell, comparison: over(cell, 'sort', 'adaptive') }));
    const faster = comparisons.filter(({ comparison: { differenceSeen, ratio } }) => differenceSeen && ratio > 1);
    const slower = comparisons.filter(({ comparison: { differenceSeen, ratio } }) => differenceSeen && ratio < 1);
    const without = cells.length - faster.length - slower.length;
    const parts = [
      `line-pointer order was faster in ${faster.length} of ${cells.length} cells${listed(faster)}`,
      `slower in ${slower.length}${listed(slower)}`,
      `no difference seen in ${without}`,
    ];
    return [
      `Does line-pointer order help a ${what}? Time on pages that sort left over pages that adaptive left: ${parts.join('; ')}.`,
    ];
  });
}

function listed(found: readonly { cell: ScanCell; comparison: Comparison }[]): string {
  if (found.length === 0) return '';
  const ratios = found.map(({ comparison }) => comparison.ratio).sort((a, b) => a - b);
  const most = found.reduce((a, b) =>
    Math.abs(Math.log(b.comparison.ratio)) > Math.abs(Math.log(a.comparison.ratio)) ? b : a,
  );
  return ` (${range(ratios)} times; most at ${cellName(most.cell)})`;
}

/** Of rising ratios, the ends. */
function range(ratios: readonly number[]): string {
  const [least, most] = [(ratios[0] as number).toFixed(2), (ratios.at(-1) as number).toFixed(2)];
  return least === most ? least : `${least} to ${most}`;
}
