// Where rows go, and what is left when placing one fails.

import { truncateRelation } from '@blockwright/access';
import { FreeSpaceMap, setSlotValue } from '@blockwright/freespacemap';
import { BLOCK_SIZES } from '@blockwright/geometry';
import { pageInit, pageIsAllVisible, pageIsNew, pageMaxOffset } from '@blockwright/page';
import type { VisibilityMap } from '@blockwright/visibilitymap';
import { describe, expect, it } from 'vitest';
import { BulkLoader, frozenEncoder, HeapInserter, heapCount } from '../src/index.ts';
import { type Bench, DESCRIPTOR, makeBench, rowOf } from './bench.ts';

const SHORT = rowOf(48);

function inserterOf(bench: Bench, map: VisibilityMap = bench.map): HeapInserter {
  return new HeapInserter(bench.relation, frozenEncoder(DESCRIPTOR, bench.relation.geometry), map);
}

function loaderOf(bench: Bench): BulkLoader {
  return new BulkLoader(bench.relation, frozenEncoder(DESCRIPTOR, bench.relation.geometry), bench.map);
}

describe.each(BLOCK_SIZES)('at %i-byte blocks', (size) => {
  it('puts a short row back to an earlier page that the free space map knows, once the last page is full', () => {
    const bench = makeBench(size);
    const inserter = inserterOf(bench);
    const limit = bench.relation.geometry.maxHeapTupleSize;
    const blocks: number[] = [];
    for (const row of [SHORT, rowOf(limit), SHORT, rowOf(limit), SHORT]) {
      inserter.insert(row);
      blocks.push(inserter.block);
    }
    expect(blocks).toEqual([0, 1, 0, 2, 0]);
    expect(inserter.offset).toBe(3);
    bench.close();
  });

  it('begins where the free space map says, and without its advice at the last page', () => {
    const bench = makeBench(size);
    const { geometry, fsm } = bench.relation;
    const large = rowOf((geometry.maxHeapTupleSize >> 1) + 32);
    const first = inserterOf(bench);
    for (let i = 0; i < 3; i++) first.insert(large);
    expect(bench.relation.blockCount()).toBe(3);
    const second = inserterOf(bench);
    second.insert(SHORT);
    expect(second.block).toBe(2);
    // The upper levels, which VACUUM brings up to date, now say that block 1 has room.
    const map = new FreeSpaceMap(bench.relation);
    map.record(0, 0);
    expect(map.recorded(1)).toBeGreaterThan(48);
    for (let level = 1; level < geometry.fsmTreeDepth; level++) {
      const id = bench.pool.pin(fsm, geometry.fsmPhysicalOf(level, 0));
      const m = bench.pool.memory(id);
      const base = bench.pool.base(id);
      if (pageIsNew(m, base)) pageInit(m, base, geometry);
      setSlotValue(m, base, geometry, 0, 63);
      bench.pool.markDirty(id);
      bench.pool.unpin(id);
    }
    const third = inserterOf(bench);
    third.insert(SHORT);
    expect(third.block).toBe(1);
    bench.close();
  });

  it('writes what it inserted', () => {
    const bench = makeBench(size);
    const inserter = inserterOf(bench);
    inserter.insert(SHORT);
    bench.evict();
    inserter.insert(SHORT);
    bench.evict();
    expect(heapCount(bench.relation).rows).toBe(2);
    bench.close();
  });

  it('leaves the page as it was when the visibility map cannot be cleared', () => {
    const bench = makeBench(size);
    const loader = loaderOf(bench);
    loader.appendRow(SHORT);
    loader.finish();
    const failing = {
      pinToClear: () => {
        throw new Error('no map today');
      },
    } as unknown as VisibilityMap;
    expect(() => inserterOf(bench, failing).insert(SHORT)).toThrow('no map today');
    expect(bench.pool.withPage(bench.relation.main, 0, pageMaxOffset)).toBe(1);
    expect(bench.pool.withPage(bench.relation.main, 0, pageIsAllVisible)).toBe(true);
    expect(heapCount(bench.relation).rows).toBe(1);
    bench.close();
  });

  it('ends a bulk load when somebody else extends the table, without touching their blocks', () => {
    const bench = makeBench(size);
    const loader = loaderOf(bench);
    const large = rowOf(bench.relation.geometry.maxHeapTupleSize);
    loader.appendRow(large);
    const reserved = bench.relation.blockCount();
    bench.pool.extend(bench.relation.main, 1);
    for (let i = 1; i < reserved; i++) loader.appendRow(large);
    expect(() => loader.appendRow(large)).toThrow(
      expect.objectContaining({ code: '55006', message: expect.stringContaining('relation "t"') }),
    );
    loader.finish();
    expect(bench.relation.blockCount()).toBeGreaterThan(reserved);
    expect(heapCount(bench.relation).rows).toBe(reserved);
    bench.close();
  });

  it('abandons a bulk load: no page stays pinned, nothing else changes, and again is fine', () => {
    const bench = makeBench(size);
    const loader = loaderOf(bench);
    loader.abandon();
    loader.appendRow(SHORT);
    const blocks = bench.relation.blockCount();
    loader.abandon();
    loader.abandon();
    expect(bench.pool.pinned()).toEqual([]);
    expect(bench.relation.blockCount()).toBe(blocks);
    expect(bench.map.status(0)).toBe(0);
    loader.finish();
    expect(bench.relation.blockCount()).toBe(blocks);
    truncateRelation(bench.relation, 0);
    bench.close();
  });
});
