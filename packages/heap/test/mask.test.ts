// The mask: two pages with the same rows, written by different transactions, become the same bytes; what is a row's own
// stays.
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import {
  PAI_IS_HEAP,
  type PageMemory,
  PD_VALID_FLAG_BITS,
  pageAddItem,
  pageInit,
  pageMemory,
  pageSetChecksum,
  pageSetFlags,
  pageSetLsn,
  pageSetPruneXid,
} from '@blockwright/page';
import {
  int4,
  setTupleCommandId,
  setTupleXmax,
  TupleDescriptor,
  TupleEncoder,
  text,
  tupleMemory,
} from '@blockwright/tuple';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maskHeapPage } from '../src/index.ts';

const DESCRIPTOR = TupleDescriptor.of([
  { name: 'id', type: int4() },
  { name: 'note', type: text().nullable() },
]);

interface Writer {
  readonly xmin: number;
  readonly xmax: number;
  readonly hints: number;
  readonly lsn: number;
  readonly flags: number;
}

const writer: fc.Arbitrary<Writer> = fc.record({
  xmin: fc.nat(0xffffffff),
  xmax: fc.nat(0xffffffff),
  hints: fc.nat(0xfff).map((bits) => bits << 4),
  lsn: fc.nat(0xffffffff),
  flags: fc.nat(PD_VALID_FLAG_BITS),
});

function written(g: BlockGeometry, rows: readonly (readonly [number, string | null])[], by: Writer): PageMemory {
  const m = pageMemory(new ArrayBuffer(2 * g.size));
  const base = g.size; // not the first page of its memory
  pageInit(m, base, g);
  const encoder = TupleEncoder.for(DESCRIPTOR);
  encoder.setHeader({ xmin: by.xmin, infomask: by.hints });
  const tuple = new Uint8Array(g.size);
  for (const row of rows) {
    const length = encoder.encode(row, tuple, 0);
    setTupleXmax(tupleMemory(tuple), 0, by.xmax);
    setTupleCommandId(tupleMemory(tuple), 0, by.lsn);
    pageAddItem(m, base, g, tuple, 0, length, 0, PAI_IS_HEAP);
  }
  pageSetLsn(m, base, by.lsn, by.lsn);
  pageSetFlags(m, base, by.flags);
  pageSetPruneXid(m, base, by.xmax);
  pageSetChecksum(m, base, g, by.flags);
  return m;
}

function masked(m: PageMemory, g: BlockGeometry): Uint8Array {
  const copy = pageMemory(m.u8.slice().buffer);
  maskHeapPage(copy, g.size, g);
  return copy.u8;
}

const rowsOf = fc.array(fc.tuple(fc.integer(), fc.option(fc.string({ maxLength: 20 }))), {
  minLength: 1,
  maxLength: 8,
});

describe.each(BLOCK_SIZES)('a masked page of %i bytes', (size) => {
  const g = BlockGeometry.of(size);

  it('is the same whoever wrote its rows, and masking again changes nothing', () => {
    fc.assert(
      fc.property(rowsOf, writer, writer, (rows, one, other) => {
        const first = masked(written(g, rows, one), g);
        expect(Buffer.compare(first, masked(written(g, rows, other), g))).toBe(0);
        expect(Buffer.compare(masked(pageMemory(first.slice().buffer), g), first)).toBe(0);
      }),
      { numRuns: 50 },
    );
  });

  it('differs when a row does', () => {
    fc.assert(
      fc.property(rowsOf, writer, (rows, by) => {
        const [[id, note], ...rest] = rows;
        const changed = [[id ^ 1, note] as const, ...rest];
        expect(Buffer.compare(masked(written(g, rows, by), g), masked(written(g, changed, by), g))).not.toBe(0);
      }),
      { numRuns: 50 },
    );
  });

  it('leaves a page of zeros alone, refuses bounds that cannot be, and passes over an item outside of the page', () => {
    const m = pageMemory(new ArrayBuffer(size));
    maskHeapPage(m, 0, g);
    expect(m.u8.every((byte) => byte === 0)).toBe(true);
    m.u16[7] = 3; // pd_upper
    expect(() => maskHeapPage(m, 0, g)).toThrow(expect.objectContaining({ code: 'XX001' }));
    pageInit(m, 0, g);
    m.u16[6] = 28; // pd_lower: one line pointer
    m.u32[6] = (size - 8) | (1 << 15) | (64 << 17); // whose item ends behind the page
    const before = m.u8.slice();
    maskHeapPage(m, 0, g);
    expect(Buffer.compare(m.u8, before)).toBe(0);
  });
});
