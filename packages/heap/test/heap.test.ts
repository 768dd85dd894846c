// The heap against a plain array of rows: what goes in by load or insert comes out by scan, fetch and count, at every
// block size, and the map and page flags say the truth.
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { pageIsAllVisible } from '@blockwright/page';
import { type IntVector, RowDecoder, vectorValue } from '@blockwright/tuple';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BulkLoader,
  frozenEncoder,
  HeapInserter,
  HeapScan,
  heapCount,
  heapFetch,
  hintedEncoder,
} from '../src/index.ts';
import { type Bench, DESCRIPTOR, makeBench, noise, rowOf } from './bench.ts';

type RowValues = unknown[];

const row: fc.Arbitrary<RowValues> = fc.tuple(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.option(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
  fc.option(fc.integer({ min: -999_999_999, max: 999_999_999 }).map((cents) => (cents / 100).toFixed(2))),
  fc.constantFrom('A', 'N', 'ä', '€', ' '),
  fc.option(fc.string({ maxLength: 40, unit: 'grapheme-ascii' })),
  fc.string({ maxLength: 200, unit: 'grapheme-ascii' }),
  fc.option(fc.uint8Array({ maxLength: 300 })),
);

const columns = DESCRIPTOR.columns.map((_, index) => index);

function scanAll(bench: Bench): { rows: RowValues[]; tids: [number, number][] } {
  const scan = new HeapScan(bench.relation, DESCRIPTOR, { columns });
  const rows: RowValues[] = [];
  const tids: [number, number][] = [];
  for (let batch = scan.next(); batch !== undefined; batch = scan.next()) {
    for (let i = 0; i < batch.length; i++) {
      rows.push(columns.map((c) => vectorValue(DESCRIPTOR.columns[c].type, batch.vectors[c], i)));
      tids.push([batch.blocks[i], batch.offsets[i]]);
    }
  }
  return { rows, tids };
}

describe.each(BLOCK_SIZES)('a heap of %i-byte blocks', (size) => {
  it('gives back the rows that were loaded, in order, on marked pages', () => {
    fc.assert(
      fc.property(fc.array(row, { maxLength: 60 }), fc.boolean(), (rows, frozen) => {
        const bench = makeBench(size);
        const encoder = frozen
          ? frozenEncoder(DESCRIPTOR, bench.relation.geometry)
          : hintedEncoder(DESCRIPTOR, bench.relation.geometry);
        const loader = new BulkLoader(bench.relation, encoder, bench.map, { allVisible: frozen });
        for (const values of rows) loader.appendRow(values);
        loader.finish();
        expect(scanAll(bench).rows).toEqual(rows);
        expect(heapCount(bench.relation, { map: bench.map }).rows).toBe(rows.length);
        expect(heapCount(bench.relation)).toMatchObject({ rows: rows.length, pagesByMap: 0 });
        const blocks = bench.relation.blockCount();
        expect(bench.map.count()).toEqual({ allVisible: frozen ? blocks : 0, allFrozen: frozen ? blocks : 0 });
        expect(heapCount(bench.relation, { map: bench.map }).pagesByMap).toBe(frozen ? blocks : 0);
        for (let block = 0; block < blocks; block++) {
          expect(bench.pool.withPage(bench.relation.main, block, pageIsAllVisible)).toBe(frozen);
        }
        bench.close();
      }),
      { numRuns: 30 },
    );
  });

  it('gives back the rows that were inserted, by scan and by TID, and clears the marks of pages it changes', () => {
    fc.assert(
      fc.property(fc.array(row, { maxLength: 20 }), fc.array(row, { maxLength: 60 }), (loaded, inserted) => {
        const bench = makeBench(size);
        const loader = new BulkLoader(bench.relation, frozenEncoder(DESCRIPTOR, bench.relation.geometry), bench.map);
        for (const values of loaded) loader.appendRow(values);
        loader.finish();
        const inserter = new HeapInserter(
          bench.relation,
          frozenEncoder(DESCRIPTOR, bench.relation.geometry),
          bench.map,
        );
        const model = new Map<string, RowValues>();
        const touched = new Set<number>();
        for (const values of inserted) {
          inserter.insert(values);
          model.set(`${inserter.block},${inserter.offset}`, values);
          touched.add(inserter.block);
        }
        const seen = scanAll(bench);
        expect(seen.rows.length).toBe(loaded.length + inserted.length);
        seen.tids.forEach(([block, offset], i) => {
          const expected = model.get(`${block},${offset}`);
          if (expected !== undefined) expect(seen.rows[i]).toEqual(expected);
        });
        const decoder = RowDecoder.for(DESCRIPTOR);
        for (const [tid, values] of model) {
          const [block, offset] = tid.split(',').map(Number);
          const found = heapFetch(bench.relation, decoder, block, offset);
          expect(found === undefined ? undefined : Object.values(found)).toEqual(values);
        }
        for (let block = 0; block < bench.relation.blockCount(); block++) {
          const marked = bench.pool.withPage(bench.relation.main, block, pageIsAllVisible);
          expect(marked).toBe(!touched.has(block));
          expect(bench.map.status(block)).toBe(marked ? 3 : 0);
        }
        bench.close();
      }),
      { numRuns: 20 },
    );
  });

  it('loads column vectors to the same bytes as rows', () => {
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 40 }), (rows) => {
        const byRow = makeBench(size);
        const { geometry } = byRow.relation;
        const loader = new BulkLoader(byRow.relation, frozenEncoder(DESCRIPTOR, geometry), byRow.map);
        for (const values of rows) loader.appendRow(values);
        loader.finish();
        const byVector = makeBench(size);
        const vectorLoader = new BulkLoader(byVector.relation, frozenEncoder(DESCRIPTOR, geometry), byVector.map);
        const scan = new HeapScan(byRow.relation, DESCRIPTOR, { columns });
        for (let batch = scan.next(); batch !== undefined; batch = scan.next())
          vectorLoader.append(batch.vectors, batch.length);
        vectorLoader.finish();
        expect(byVector.relation.blockCount()).toBe(byRow.relation.blockCount());
        for (let block = 0; block < byRow.relation.blockCount(); block++)
          expect(pageBytes(byVector, block)).toEqual(pageBytes(byRow, block));
        byRow.close();
        byVector.close();
      }),
      { numRuns: 10 },
    );
  });

  it('refuses a row that fits no page, naming size and limit, and keeps what it has', () => {
    const bench = makeBench(size);
    const inserter = new HeapInserter(bench.relation, frozenEncoder(DESCRIPTOR, bench.relation.geometry), bench.map);
    const fits: RowValues = [1n, null, null, 'A', null, 'x', null];
    inserter.insert(fits);
    const limit = BlockGeometry.of(size).maxHeapTupleSize;
    expect(() => inserter.insert([2n, null, null, 'A', null, noise(size), null])).toThrow(
      expect.objectContaining({ code: '54000', message: expect.stringContaining(`the largest is ${limit}`) }),
    );
    expect(scanAll(bench).rows).toEqual([fits]);
    bench.close();
  });

  it('fills an empty page with the largest row that fits', () => {
    const bench = makeBench(size);
    const inserter = new HeapInserter(bench.relation, frozenEncoder(DESCRIPTOR, bench.relation.geometry), bench.map);
    const limit = BlockGeometry.of(size).maxHeapTupleSize;
    const values: RowValues = rowOf(limit);
    inserter.insert(values);
    inserter.insert(values);
    expect(bench.relation.blockCount()).toBe(2);
    expect(scanAll(bench).rows).toEqual([values, values]);
    bench.close();
  });

  it('overwrites a batch that was given back, when asked to', () => {
    const bench = makeBench(size, 64, true);
    const loader = new BulkLoader(bench.relation, frozenEncoder(DESCRIPTOR, bench.relation.geometry), bench.map);
    for (let i = 0; i < 10; i++) loader.appendRow([7n, i, '1.00', 'A', i === 0 ? null : 'note', 'body', null]);
    loader.finish();
    const scan = new HeapScan(bench.relation, DESCRIPTOR, { columns: [1, 5, 4] });
    const batch = scan.next();
    const [numbers, texts, notes] = batch?.vectors ?? [];
    expect([...(notes.nulls?.subarray(0, 3) ?? [])]).toEqual([1, 0, 0]);
    expect(vectorValue(DESCRIPTOR.columns[1].type, numbers, 3)).toBe(3);
    expect(vectorValue(DESCRIPTOR.columns[5].type, texts, 3)).toBe('body');
    expect(scan.next()).toBeUndefined();
    expect((numbers as IntVector).values[3]).toBe(0x5a5a5a5a);
    expect([...(notes.nulls?.subarray(0, 3) ?? [])]).toEqual([0x5a, 0x5a, 0x5a]);
    expect(vectorValue(DESCRIPTOR.columns[5].type, texts, 3)).toBe('ZZZZ');
    bench.close();
  });

  it('refuses a bulk load into a table that has rows', () => {
    const bench = makeBench(size);
    new HeapInserter(bench.relation, frozenEncoder(DESCRIPTOR, bench.relation.geometry), bench.map).insert([
      1n,
      null,
      null,
      'A',
      null,
      '',
      null,
    ]);
    expect(() => new BulkLoader(bench.relation, frozenEncoder(DESCRIPTOR, bench.relation.geometry), bench.map)).toThrow(
      expect.objectContaining({ code: '55000' }),
    );
    bench.close();
  });

  it('finds nothing at a TID that holds nothing', () => {
    const bench = makeBench(size);
    const decoder = RowDecoder.for(DESCRIPTOR);
    expect(heapFetch(bench.relation, decoder, 0, 1)).toBeUndefined();
    new HeapInserter(bench.relation, frozenEncoder(DESCRIPTOR, bench.relation.geometry), bench.map).insert([
      1n,
      null,
      null,
      'A',
      null,
      '',
      null,
    ]);
    for (const [block, offset] of [
      [0, 2],
      [0, 65535],
      [0, 0],
      [1, 1],
      [2 ** 31, 1],
      [2 ** 32 - 2, 1],
    ]) {
      expect(heapFetch(bench.relation, decoder, block, offset)).toBeUndefined();
    }
    bench.close();
  });
});

function pageBytes(bench: Bench, block: number): number[] {
  const size = bench.relation.geometry.size;
  return bench.pool.withPage(bench.relation.main, block, (m, base) => [...m.u8.subarray(base, base + size)]);
}
