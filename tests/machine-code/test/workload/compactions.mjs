// Compactions of pages whose items lie in the order of their line pointers, and of pages whose items do not, short and
// long: by each strategy, and each step of them.
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import * as page from '@blockwright/page';

// Not exported by the package: they are files beside its entry.
const entry = import.meta.resolve('@blockwright/page');
const [survey, sort, move, runs, compaction] = await Promise.all(
  ['compaction/survey.js', 'compaction/sort.js', 'compaction/move.js', 'compaction/runs.js', 'compaction.js'].map(
    (file) => import(new URL(file, entry).href),
  ),
);

const geometries = BLOCK_SIZES.map((size) => BlockGeometry.of(size));
const scratches = geometries.map((g) => new page.CompactionScratch(g));
const HEADER_BYTES = 24;

/** An updated page: one item lies below all others, not where its line pointer stands, and one is gone. */
function updatedPageOf(n) {
  const moved = (i, count) => (i < count >>> 2 ? i : i === count >>> 2 ? count - 1 : i - 1);
  return pageOf(n, (i, count) => i === count >>> 1, moved);
}

/** A page of another size, length of items and order each round, every third line pointer unused. */
function pageOf(n, isUnusedAt = (i) => i % 3 === 1, placeOf = undefined) {
  const g = geometries[n % geometries.length];
  const memory = page.pageMemory(new ArrayBuffer(g.size));
  page.pageInit(memory, 0, g);
  const length = [16, 40, 136, 200][n & 3];
  let count = 0;
  while (HEADER_BYTES + (count + 1) * (length + 4) <= g.size) count++;
  const half = count >>> 1;
  for (let i = 0; i < count; i++) {
    const isUnused = isUnusedAt(i, count);
    const place = placeOf?.(i, count) ?? [i, count - 1 - i, i < half ? i + count - half : i - half][n % 3];
    const lp = page.makeLinePointer(g.size - (place + 1) * length, page.LP_NORMAL, length);
    page.setLinePointer(memory, 0, i + 1, isUnused ? 0 : lp);
  }
  page.pageSetLower(memory, 0, HEADER_BYTES + count * 4);
  page.pageSetUpper(memory, 0, g.size - count * length);
  return { m: memory, g, scratch: scratches[n % geometries.length], count };
}

const start = HEADER_BYTES >>> 2;
/** The same with its items listed and checked. */
function listedPage(n, how) {
  const { m, g, scratch, count } = pageOf(n);
  const items = survey.listItems(m.u32, start, start + count, scratch) & survey.COUNT_MASK;
  if (!compaction.checkItems(m, 0, scratch, items, how)) throw new Error('a sound page was refused');
  return { m, g, scratch, items };
}
const howOf = (n) => page.COMPACTIONS[n % page.COMPACTIONS.length];
const doomedOf = (count) => Uint16Array.from({ length: count >>> 2 }, (_, i) => i * 3 + 1);

const free = (module, name, call) => ({ id: name, fn: module[name], call });

/** @type {import('./trace.mjs').Target[]} */
export const compactionTargets = [
  free(page, 'pageRepairFragmentation', (n) => {
    const { m, g, scratch } = pageOf(n);
    page.pageRepairFragmentation(m, 0, g, scratch, howOf(n));
  }),
  free(page, 'pageIndexMultiDelete', (n) => {
    const { m, g, scratch, count } = pageOf(n);
    const doomed = doomedOf(count);
    page.pageIndexMultiDelete(m, 0, g, doomed, doomed.length, scratch, howOf(n));
  }),
  free(survey, 'listItems', (n) => {
    const { m, scratch, count } = pageOf(n);
    survey.listItems(m.u32, start, start + count, scratch);
  }),
  free(survey, 'listKeptItems', (n) => {
    const { m, g, scratch, count } = pageOf(n);
    const doomed = doomedOf(count);
    survey.listKeptItems(m.u32, start, start + count, doomed, doomed.length, HEADER_BYTES, g.size, scratch);
  }),
  free(survey, 'surveyItems', (n) => {
    const { scratch, items, g } = listedPage(n, 'workspace');
    survey.surveyItems(scratch, items, HEADER_BYTES, g.size);
  }),
  free(runs, 'surveyRuns', (n) => {
    const { m, scratch, count, g } = updatedPageOf(n);
    runs.surveyRuns(m.u32, start, start + count, scratch, HEADER_BYTES, g.size);
  }),
  free(runs, 'moveRuns', (n) => {
    const { m, scratch, count, g } = updatedPageOf(n);
    const found = runs.surveyRuns(m.u32, start, start + count, scratch, HEADER_BYTES, g.size) & runs.RUNS_MASK;
    if (found === 0 || found > 8) throw new Error(`an updated page has ${found} runs`);
    runs.moveRuns(m.u32, 0, start, scratch, found, g.size);
  }),
  free(sort, 'sortItems', (n) => {
    const { scratch, items, g } = listedPage(n, 'workspace');
    sort.sortItems(scratch, items, HEADER_BYTES, g.size);
  }),
  free(sort, 'moveSorted', (n) => {
    const { m, scratch, items, g } = listedPage(n, 'sort');
    sort.moveSorted(m.u32, 0, scratch, items, g.size);
  }),
  free(move, 'moveThroughScratch', (n) => {
    const { m, scratch, items, g } = listedPage(n, 'workspace');
    move.moveThroughScratch(m.u32, 0, scratch, 0, items, g.size, g.size);
  }),
  free(move, 'moveInPlace', (n) => {
    const { m, scratch, items } = listedPage(3 * n, 'adaptive'); // in the order of line pointers
    move.moveInPlace(m.u32, 0, scratch, items);
  }),
  free(move, 'moveUp', (n) => move.moveUp(pageOf(n).m.u32, 64, 66 + 2 * (n & 15), 4)),
  free(compaction, 'moveItems', (n) => {
    const how = howOf(n);
    const { m, scratch, items } = listedPage(n, how);
    compaction.moveItems(m, 0, scratch, items, how);
  }),
];
