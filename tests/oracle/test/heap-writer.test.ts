// The heap's own updates against the model that a live PostgreSQL has been found to agree with, at every block size: the
// same updates leave the same line pointers, and the same bytes in the same places.
import { type HeapUpdateOptions, HeapUpdateRun, type HeapWorkload } from '@blockwright/benchmark-compactify';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { describe, expect, it } from 'vitest';
import { described, heapTuple } from './described-pages.ts';
import { WriterRun } from './writer-run.ts';

/** To repeat a run: `ORACLE_SEED=… vitest run test/heap-writer.test.ts`. */
const SEED = Number(process.env.ORACLE_SEED ?? Math.floor(Math.random() * 0x7fffffff));
const PAGES = 2;

describe.each(BLOCK_SIZES)(`rows updated on pages of %i bytes (seed ${SEED})`, (size) => {
  const geometry = BlockGeometry.of(size);
  const widths = size === 1024 ? [40, 72] : [40, 136, 200];
  const cases = widths.flatMap((width) => (['updates', 'batches'] as const).map((workload) => ({ width, workload })));

  it.each<{ width: number; workload: HeapWorkload }>(cases)(
    'lie where the model puts them: $width bytes, $workload',
    ({ width, workload }) => {
      const options: HeapUpdateOptions = { width, pages: PAGES, seed: SEED, workload };
      const run = new HeapUpdateRun(geometry, options);
      let compactions = 0;
      run.onCompaction = () => compactions++;
      const heap = new WriterRun(geometry, { width, rows: run.rows, xid: run.firstXid });
      for (let step = 0; step < 8; step++) {
        for (let block = 0; block < PAGES; block++) {
          const expected = described(run.memory, block * size, heapTuple(width));
          expect(described(heap.page(block), 0, heapTuple(width))).toEqual(expected);
        }
        const transactions = workload === 'updates' ? Math.min(run.rows, 200) : 2;
        for (let i = 0; i < transactions; i++) heap.update(run.transaction());
      }
      expect(compactions).toBeGreaterThan(4);
      expect(heap.relation.blockCount()).toBe(PAGES);
    },
  );
});

it('canary: the pages of another compaction strategy are told apart', () => {
  const geometry = BlockGeometry.of(8192);
  const run = new HeapUpdateRun(geometry, { width: 40, pages: 1, seed: SEED, workload: 'updates' });
  const heap = new WriterRun(geometry, { width: 40, rows: run.rows, xid: run.firstXid, how: 'sort' });
  for (let i = 0; i < 3 * run.rows; i++) heap.update(run.transaction());
  expect(described(heap.page(0), 0, heapTuple(40))).not.toEqual(described(run.memory, 0, heapTuple(40)));
});
