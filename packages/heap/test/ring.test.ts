// Reading a whole table leaves the pool to others: a table larger than a quarter of it goes through a ring.
import type { Relation } from '@blockwright/access';
import { BLOCK_SIZES, BlockGeometry, type BlockSize } from '@blockwright/geometry';
import { describe, expect, it } from 'vitest';
import { BulkLoader, frozenEncoder, HeapScan, heapCount, heapPageStats } from '../src/index.ts';
import { type Bench, DESCRIPTOR, makeBench, rowOf } from './bench.ts';

const BUFFERS = 64;
const HOT_PAGES = 8;

/** A heap of so many blocks, one row in each, of which none is in the pool. */
function heapOf(size: BlockSize, blocks: number): Bench {
  const bench = makeBench(size, BUFFERS);
  const loader = new BulkLoader(bench.relation, frozenEncoder(DESCRIPTOR, bench.relation.geometry), bench.map);
  const row = rowOf(BlockGeometry.of(size).maxHeapTupleSize);
  for (let i = 0; i < blocks; i++) loader.appendRow(row);
  loader.finish();
  expect(bench.relation.blockCount()).toBe(blocks);
  bench.evict();
  return bench;
}

function resident(bench: Bench, relation: Relation): number {
  let pages = 0;
  for (let block = 0; block < relation.blockCount(); block++) {
    if (bench.pool.isResident(relation.main, block)) pages++;
  }
  return pages;
}

const READERS: [string, (bench: Bench) => number][] = [
  [
    'scan',
    ({ relation }) => {
      const scan = new HeapScan(relation, DESCRIPTOR, { columns: [0] });
      let rows = 0;
      for (let batch = scan.next(); batch !== undefined; batch = scan.next()) rows += batch.length;
      return rows;
    },
  ],
  ['count', ({ relation }) => heapCount(relation).rows],
  ['count by map', ({ relation, map }) => heapCount(relation, { map }).rows],
  ['page statistics', ({ relation }) => heapPageStats(relation).pages],
];

describe.each(READERS)('a %s', (what, read) => {
  it.each(BLOCK_SIZES)('of a table larger than the pool leaves hot pages of another in it, at %i bytes', (size) => {
    const bench = heapOf(size, 4 * BUFFERS);
    const hot = bench.other();
    bench.pool.extend(hot.main, HOT_PAGES);
    for (let block = 0; block < HOT_PAGES; block++) {
      for (let i = 0; i < 2; i++) bench.pool.unpin(bench.pool.pin(hot.main, block));
    }
    expect(read(bench)).toBe(4 * BUFFERS);
    expect(resident(bench, hot)).toBe(HOT_PAGES);
    expect(resident(bench, bench.relation)).toBeLessThanOrEqual(BUFFERS >> 3);
    bench.close();
  });

  it('of a table of a quarter of the pool keeps it there, and of one block more does not', () => {
    const last = what === 'page statistics' ? 1 : 0; // they leave out the last page
    const quarter = heapOf(1024, BUFFERS >> 2);
    read(quarter);
    expect(resident(quarter, quarter.relation)).toBe((BUFFERS >> 2) - last);
    quarter.close();
    const more = heapOf(1024, (BUFFERS >> 2) + 1);
    read(more);
    expect(resident(more, more.relation)).toBe(BUFFERS >> 3);
    more.close();
  });
});
