// Damaged pages: an error that names relation, block and offset, and never a row that is not there.
import { isStorageError } from '@blockwright/base';
import { BLOCK_SIZES } from '@blockwright/geometry';
import {
  LP_DEAD,
  LP_NORMAL,
  LP_REDIRECT,
  linePointer,
  lpLength,
  lpOffset,
  makeLinePointer,
  type PageMemory,
  pageClearAllVisible,
  setLinePointer,
} from '@blockwright/page';
import { RowDecoder } from '@blockwright/tuple';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BulkLoader, frozenEncoder, HeapScan, heapCount, heapFetch, hintedEncoder } from '../src/index.ts';
import { type Bench, DESCRIPTOR, makeBench } from './bench.ts';

const ROWS = 8; // even, so that their line pointers end where a tuple may begin
const DECODER = RowDecoder.for(DESCRIPTOR);

function loaded(size: (typeof BLOCK_SIZES)[number], frozen = true): Bench {
  const bench = makeBench(size);
  const encoder = frozen
    ? frozenEncoder(DESCRIPTOR, bench.relation.geometry)
    : hintedEncoder(DESCRIPTOR, bench.relation.geometry);
  const loader = new BulkLoader(bench.relation, encoder, bench.map, { allVisible: frozen });
  for (let i = 0; i < ROWS; i++) loader.appendRow([BigInt(i), i, '1.25', 'A', 'note', 'body', null]);
  loader.finish();
  return bench;
}

function change(bench: Bench, edit: (m: PageMemory, base: number) => void): void {
  const id = bench.pool.pin(bench.relation.main, 0);
  edit(bench.pool.memory(id), bench.pool.base(id));
  bench.pool.markDirty(id);
  bench.pool.unpin(id);
}

/** Hint bits of a tuple whose inserting transaction is known to have failed. */
function abortInserter(m: PageMemory, tuple: number): void {
  m.u16[(tuple + 20) >> 1] = (m.u16[(tuple + 20) >> 1] & ~0x0100) | 0x0200;
}

function scanRows(bench: Bench, unknown?: 'error' | 'skip' | 'include'): number {
  const scan = new HeapScan(bench.relation, DESCRIPTOR, { columns: [0, 5], unknown });
  let rows = 0;
  for (let batch = scan.next(); batch !== undefined; batch = scan.next()) rows += batch.length;
  return rows;
}

describe.each(BLOCK_SIZES)('at %i-byte blocks', (size) => {
  const third = { code: 'XX001', message: expect.stringContaining('relation "t", block 0, offset 3') };

  it.each([
    ['among the line pointers', 24, 40],
    ['on the last line pointer', 24 + ((4 * ROWS - 1) & ~7), 40],
    ['past the end of the page', size - 8, 40],
    ['one step past the end of the page', size - 40, 41],
    ['misaligned', size - 60, 40],
    ['shorter than a tuple header', size - 64, 22],
    ['of no length', size - 64, 0],
  ])(
    'names block and offset of a line pointer %s, by scan, count and fetch, marked page or not',
    (_, offset, length) => {
      for (const frozen of [true, false]) {
        const bench = loaded(size, frozen);
        change(bench, (m, base) => setLinePointer(m, base, 3, makeLinePointer(offset, LP_NORMAL, length)));
        expect(() => scanRows(bench)).toThrow(expect.objectContaining(third));
        expect(() => heapCount(bench.relation)).toThrow(expect.objectContaining(third));
        expect(() => heapFetch(bench.relation, DECODER, 0, 3)).toThrow(expect.objectContaining(third));
        expect(heapFetch(bench.relation, DECODER, 0, 2)).toMatchObject({ id: 1n });
        bench.close();
      }
    },
  );

  it('takes a tuple right behind the line pointers for one', () => {
    const bench = loaded(size);
    const first = 24 + ((4 * ROWS + 7) & ~7);
    change(bench, (m, base) => {
      const lp = linePointer(m, base, 3);
      m.u8.copyWithin(base + first, base + lpOffset(lp), base + lpOffset(lp) + lpLength(lp));
      setLinePointer(m, base, 3, makeLinePointer(first, LP_NORMAL, lpLength(lp)));
    });
    expect(scanRows(bench)).toBe(ROWS);
    expect(heapCount(bench.relation).rows).toBe(ROWS);
    expect(heapFetch(bench.relation, DECODER, 0, 3)).toMatchObject({ id: 2n });
    bench.close();
  });

  it('counts line pointers and looks at no tuple where the map vouches for a page', () => {
    const bench = loaded(size);
    change(bench, (m, base) => {
      setLinePointer(m, base, 3, makeLinePointer(24, LP_NORMAL, 40));
      abortInserter(m, base + lpOffset(linePointer(m, base, 5)));
    });
    expect(heapCount(bench.relation, { map: bench.map })).toEqual({ rows: ROWS, pages: 1, pagesByMap: 1, unknown: 0 });
    bench.close();
  });

  it('judges every tuple without the map, whatever the page says; scan and fetch believe the page', () => {
    const bench = loaded(size);
    change(bench, (m, base) => abortInserter(m, base + lpOffset(linePointer(m, base, 5))));
    expect(heapCount(bench.relation)).toEqual({ rows: ROWS - 1, pages: 1, pagesByMap: 0, unknown: 0 });
    expect(scanRows(bench)).toBe(ROWS);
    expect(heapFetch(bench.relation, DECODER, 0, 5)).toMatchObject({ id: 4n });
    change(bench, pageClearAllVisible);
    expect(scanRows(bench)).toBe(ROWS - 1);
    expect(heapFetch(bench.relation, DECODER, 0, 5)).toBeUndefined();
    bench.close();
  });

  it.each([0, 24, size - 8, size - 16, 65528])('refuses a page whose special area begins at byte %i', (special) => {
    const bench = loaded(size);
    change(bench, (m, base) => {
      m.u16[(base + 16) >> 1] = special;
    });
    const refusal = { code: 'XX001', message: 'block 0 of relation "t": not a plain heap page' };
    expect(() => scanRows(bench)).toThrow(expect.objectContaining(refusal));
    expect(() => heapCount(bench.relation)).toThrow(expect.objectContaining(refusal));
    expect(() => heapCount(bench.relation, { map: bench.map })).toThrow(expect.objectContaining(refusal));
    expect(() => heapFetch(bench.relation, DECODER, 0, 1)).toThrow(expect.objectContaining(refusal));
    bench.close();
  });

  it('takes a page of zeros for an empty one', () => {
    const bench = loaded(size);
    change(bench, (m, base) => m.u8.fill(0, base, base + size));
    expect(scanRows(bench)).toBe(0);
    expect(heapCount(bench.relation).rows).toBe(0);
    expect(heapFetch(bench.relation, DECODER, 0, 1)).toBeUndefined();
    bench.close();
  });

  it('names block and offset of a tuple that the decoder refuses', () => {
    const bench = loaded(size);
    change(bench, (m, base) => {
      m.u8[base + lpOffset(linePointer(m, base, 4)) + 22] = 255; // t_hoff
    });
    expect(() => scanRows(bench)).toThrow(
      expect.objectContaining({ code: 'XX001', message: expect.stringContaining('relation "t", block 0, offset 4') }),
    );
    bench.close();
  });

  it.each([LP_REDIRECT, LP_DEAD, 0])('passes over line pointers in state %i', (flags) => {
    const bench = loaded(size);
    change(bench, (m, base) => setLinePointer(m, base, 2, makeLinePointer(flags === LP_REDIRECT ? 1 : 0, flags, 0)));
    expect(scanRows(bench)).toBe(ROWS - 1);
    expect(heapCount(bench.relation, { map: bench.map }).rows).toBe(ROWS - 1);
    expect(heapCount(bench.relation).rows).toBe(ROWS - 1);
    bench.close();
  });

  it('refuses a page whose line pointers would pass its end', () => {
    const bench = loaded(size);
    change(bench, (m, base) => {
      m.u16[(base + 12) >> 1] = size + 4;
    });
    expect(() => scanRows(bench)).toThrow(expect.objectContaining({ code: 'XX001' }));
    expect(() => heapCount(bench.relation)).toThrow(expect.objectContaining({ code: 'XX001' }));
    bench.close();
  });

  it('refuses a page with more tuples than a heap page can hold', () => {
    const bench = loaded(size);
    change(bench, (m, base) => {
      const most = bench.relation.geometry.maxHeapTuplesPerPage;
      const lp = linePointer(m, base, 1);
      for (let o = 1; o <= most + 1; o++) setLinePointer(m, base, o, lp);
      m.u16[(base + 12) >> 1] = 24 + 4 * (most + 1);
    });
    expect(() => scanRows(bench)).toThrow(
      expect.objectContaining({ code: 'XX001', message: expect.stringMatching(/block 0: more than \d+ tuples/) }),
    );
    bench.close();
  });

  it('decides about rows of unknown fate as asked, and counts them', () => {
    const bench = loaded(size, false);
    change(bench, (m, base) => {
      for (const offset of [2, 6]) {
        const tuple = base + lpOffset(linePointer(m, base, offset));
        m.u16[(tuple + 20) >> 1] &= ~0x0b00; // no hint about xmin or xmax
        m.u32[tuple >> 2] = 4_000_000_000 + offset;
        m.u32[(tuple + 4) >> 2] = 77 + offset;
      }
    });
    const refusal = {
      code: '0A000',
      message: expect.stringContaining('relation "t", block 0, offset 2'),
      detail: expect.stringContaining('xmin 4000000002, xmax 79'),
    };
    expect(() => scanRows(bench)).toThrow(expect.objectContaining(refusal));
    expect(() => heapCount(bench.relation)).toThrow(expect.objectContaining(refusal));
    expect(() => heapFetch(bench.relation, DECODER, 0, 2)).toThrow(expect.objectContaining(refusal));
    expect(scanRows(bench, 'skip')).toBe(ROWS - 2);
    expect(scanRows(bench, 'include')).toBe(ROWS);
    expect(heapCount(bench.relation, { unknown: 'skip' })).toMatchObject({ rows: ROWS - 2, unknown: 2 });
    expect(heapCount(bench.relation, { unknown: 'include' })).toMatchObject({ rows: ROWS, unknown: 2 });
    expect(heapFetch(bench.relation, DECODER, 0, 2, { unknown: 'skip' })).toBeUndefined();
    expect(heapFetch(bench.relation, DECODER, 0, 2, { unknown: 'include' })).toMatchObject({ id: 1n });
    bench.close();
  });

  it('ends every scan of random bytes in rows or a StorageError, with no pin left', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 64, maxLength: 64 }), fc.nat(size - 64), (bytes, at) => {
        const bench = loaded(size);
        change(bench, (m, base) => m.u8.set(bytes, base + at));
        try {
          expect(scanRows(bench, 'skip')).toBeLessThanOrEqual(size);
        } catch (error) {
          expect(isStorageError(error)).toBe(true);
        }
        bench.pool.close(); // refuses when a pin is left
      }),
      { numRuns: 60 },
    );
  });
});
