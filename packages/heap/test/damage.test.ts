// Damaged pages: an error that names relation, block and offset, and never a row that is not there.
import { isStorageError } from '@blockwright/base';
import { BLOCK_SIZES } from '@blockwright/geometry';
import {
  LP_DEAD,
  LP_NORMAL,
  LP_REDIRECT,
  linePointer,
  lpOffset,
  makeLinePointer,
  setLinePointer,
} from '@blockwright/page';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BulkLoader, frozenEncoder, HeapScan, heapCount, hintedEncoder } from '../src/index.ts';
import { type Bench, DESCRIPTOR, makeBench } from './bench.ts';

const ROWS = 7;

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

function change(bench: Bench, edit: (m: Parameters<typeof linePointer>[0], base: number) => void): void {
  const id = bench.pool.pin(bench.relation.main, 0);
  edit(bench.pool.memory(id), bench.pool.base(id));
  bench.pool.markDirty(id);
  bench.pool.unpin(id);
}

function scanRows(bench: Bench, unknown?: 'error' | 'skip' | 'include'): number {
  const scan = new HeapScan(bench.relation, DESCRIPTOR, { columns: [0, 5], unknown });
  let rows = 0;
  for (let batch = scan.next(); batch !== undefined; batch = scan.next()) rows += batch.length;
  return rows;
}

describe.each(BLOCK_SIZES)('at %i-byte blocks', (size) => {
  it.each([
    ['before the line pointers end', 8, 40],
    ['past the end of the page', size - 8, 40],
    ['misaligned', size - 60, 40],
    ['shorter than a tuple header', size - 64, 22],
  ])('names block and offset of a line pointer %s', (_, offset, length) => {
    const bench = loaded(size);
    change(bench, (m, base) => setLinePointer(m, base, 3, makeLinePointer(offset, LP_NORMAL, length)));
    expect(() => scanRows(bench)).toThrow(
      expect.objectContaining({ code: 'XX001', message: expect.stringContaining('relation "t", block 0, offset 3') }),
    );
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

  it('decides about rows of unknown fate as asked, and counts them', () => {
    const bench = loaded(size, false);
    change(bench, (m, base) => {
      const tuple = base + lpOffset(linePointer(m, base, 2));
      m.u16[(tuple + 20) >> 1] &= ~0x0300; // no hint about xmin
    });
    expect(() => scanRows(bench)).toThrow(
      expect.objectContaining({ code: '0A000', message: expect.stringContaining('block 0, offset 2') }),
    );
    expect(() => heapCount(bench.relation)).toThrow(
      expect.objectContaining({ code: '0A000', message: expect.stringContaining('block 0') }),
    );
    expect(scanRows(bench, 'skip')).toBe(ROWS - 1);
    expect(scanRows(bench, 'include')).toBe(ROWS);
    expect(heapCount(bench.relation, { unknown: 'skip' })).toMatchObject({ rows: ROWS - 1, unknown: 1 });
    expect(heapCount(bench.relation, { unknown: 'include' })).toMatchObject({ rows: ROWS, unknown: 1 });
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
