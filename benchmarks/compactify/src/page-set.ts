// Pages to be compacted, all of one size and one width of items, with what must come out of each.
import { seededRandom, shuffle } from '@blockwright/benchmark';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import {
  type Compaction,
  copyPage,
  LP_NORMAL,
  makeLinePointer,
  markItemDead,
  markLinePointerUnused,
  type PageMemory,
  pageInit,
  pageMemory,
  pageSetHasFreeLines,
  pageSetLower,
  pageSetUpper,
  pageSpecial,
  setLinePointer,
} from '@blockwright/page';
import { HeapUpdateRun, type HeapWorkload } from './heap-updates.ts';
import { INDEX_WIDTH, IndexUpdateRun, markedEntries, SPECIAL_BYTES } from './index-updates.ts';
import { compactPlainly, type DataOrder } from './model.ts';

/**
 * How the data of a page lies against its line pointers. The last three are pages that updates made: one row a
 * transaction, many rows a transaction, and one row a transaction when every compaction before was by `sort`.
 */
export const ORDERS = ['sorted', 'reversed', 'shuffled', 'updates', 'batches', 'aged'] as const;
export type Order = (typeof ORDERS)[number];

/** Bytes of an item: 16 are an index's entries, the others a heap's tuples, header included. */
export const WIDTHS = [16, 40, 136, 200] as const;
export type Width = (typeof WIDTHS)[number];

export const isIndexWidth = (width: Width): boolean => width === INDEX_WIDTH;

/** One item of this many is dead on a page that no workload made. */
export const ONE_DEAD_OF = 3;

export interface PageSet {
  readonly geometry: BlockGeometry;
  readonly width: Width;
  readonly order: Order;
  readonly pages: number;
  /** The pages before compaction, one after another. */
  readonly pristine: PageMemory;
  /** By page: the line pointers to delete, on an index's pages. */
  readonly doomed: readonly Uint16Array[] | undefined;
}

/** Whether pages of this width can come in this order: to an index's page it is all one how many rows a transaction has. */
export function hasOrder(width: Width, order: Order): boolean {
  return !isIndexWidth(width) || order !== 'batches';
}

export function makePageSet(g: BlockGeometry, width: Width, order: Order, pages: number, seed: number): PageSet {
  const pristine =
    order === 'sorted' || order === 'reversed' || order === 'shuffled'
      ? laidOutPages(g, width, order, pages, seed)
      : capturedPages(g, width, order, pages, seed);
  const doomed = isIndexWidth(width)
    ? Array.from({ length: pages }, (_, page) => markedEntries(pristine, page * g.size))
    : undefined;
  return { geometry: g, width, order, pages, pristine, doomed };
}

/** What the set's pages must be after a compaction that leaves items in this order. */
export function compactedPlainly(
  { geometry: { size }, pages, pristine, doomed }: PageSet,
  order: DataOrder,
): PageMemory {
  const memory = pageMemory(pristine.u8.slice().buffer);
  for (let page = 0; page < pages; page++) compactPlainly(memory, page * size, size, order, doomed?.[page]);
  return memory;
}

/** Full pages with one item of three dead at random, their data in the order asked for. */
function laidOutPages(g: BlockGeometry, width: Width, order: Order, pages: number, seed: number): PageMemory {
  const m = pageMemory(new ArrayBuffer(pages * g.size));
  const random = seededRandom(seed);
  const specialBytes = isIndexWidth(width) ? SPECIAL_BYTES : 0;
  const count = Math.floor((g.size - SIZE_OF_PAGE_HEADER - specialBytes) / (width + 4));
  for (let page = 0; page < pages; page++) {
    const base = page * g.size;
    pageInit(m, base, g, specialBytes);
    const offsets = Array.from({ length: count }, (_, i) => i + 1);
    const dead = [...offsets];
    shuffle(dead, random);
    if (order === 'reversed') offsets.reverse();
    else if (order === 'shuffled') shuffle(offsets, random);
    let upper = pageSpecial(m, base);
    for (const o of offsets) {
      upper -= width;
      setLinePointer(m, base, o, makeLinePointer(upper, LP_NORMAL, width));
      for (let at = 0; at < width; at += 4) m.u32[(base + upper + at) >>> 2] = random() * 2 ** 32;
    }
    pageSetLower(m, base, SIZE_OF_PAGE_HEADER + count * 4);
    pageSetUpper(m, base, upper);
    for (const o of dead.slice(0, Math.floor(count / ONE_DEAD_OF))) {
      if (isIndexWidth(width)) markItemDead(m, base, o);
      else markLinePointerUnused(m, base, o);
    }
    if (!isIndexWidth(width)) pageSetHasFreeLines(m, base);
  }
  return m;
}

/** Each row is updated about this often before the first page is captured. */
const LAPS = 3;

/**
 * Pages that updates made, each as it was just before one of its compactions, once every row has been updated about
 * three times.
 */
export function capturedPages(
  g: BlockGeometry,
  width: Width,
  order: 'updates' | 'batches' | 'aged',
  pages: number,
  seed: number,
): PageMemory {
  const how = order === 'aged' ? 'sort' : 'adaptive';
  if (isIndexWidth(width)) return capturedIndexPages(g, pages, seed, how);
  return capturedHeapPages(g, width, order === 'batches' ? 'batches' : 'updates', pages, seed, how);
}

function capturedHeapPages(
  g: BlockGeometry,
  width: Width,
  workload: HeapWorkload,
  pages: number,
  seed: number,
  how: Compaction,
): PageMemory {
  const captured = pageMemory(new ArrayBuffer(pages * g.size));
  const run = new HeapUpdateRun(g, { width, pages, seed, workload, how });
  for (let updates = 0; updates < LAPS * run.rows; ) updates += run.transaction().length;
  const waiting = new Set(Array.from({ length: pages }, (_, block) => block));
  run.onCompaction = (block) => {
    if (waiting.delete(block)) copyPage(run.memory, block * g.size, captured, block * g.size, g);
  };
  while (waiting.size > 0) run.transaction();
  return captured;
}

/** One page is captured again and again: half of its entries are others each time. */
function capturedIndexPages(g: BlockGeometry, pages: number, seed: number, how: Compaction): PageMemory {
  const captured = pageMemory(new ArrayBuffer(pages * g.size));
  const run = new IndexUpdateRun(g, { seed, how });
  let compactions = -2 * LAPS; // a compaction comes after half as many updates as there are rows
  run.onCompaction = () => {
    if (compactions >= 0 && compactions < pages) copyPage(run.memory, 0, captured, compactions * g.size, g);
    compactions++;
  };
  while (compactions < pages) run.update();
  return captured;
}
