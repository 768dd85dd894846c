// pg_attribute's arrays of one element: of every kind of element, and none that is damaged is believed. What real servers
// wrote is judged by the golden tests and the live server.
import { type AttAlign, type ColumnType, int2, int4, int8, numeric, text, uuid } from '@blockwright/tuple';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { missingValue } from '../src/missing-value.ts';

/** Such an array as construct_array makes it, without its varlena header. */
function arrayOf(elementType: number, data: Uint8Array, attlen: number, attalign: AttAlign): Uint8Array {
  const align = { c: 1, s: 2, i: 4, d: 8 }[attalign];
  const header = attlen < 0 ? 4 : 0;
  const from = Math.ceil(24 / align) * align - 4;
  const bytes = new Uint8Array(from + header + data.length);
  const view = new DataView(bytes.buffer);
  [1, 0, elementType, 1, 1].forEach((word, i) => view.setInt32(i * 4, word, true));
  if (attlen < 0) view.setUint32(from, (4 + data.length) << 2, true);
  bytes.set(data, from + header);
  return bytes;
}

const TYPES: readonly ColumnType[] = [int2(), int4(), int8(), uuid(), text(), numeric()];

describe('a missing value', () => {
  it('is the data of the one element, of any type', () => {
    fc.assert(
      fc.property(fc.constantFrom(...TYPES), fc.uint8Array({ maxLength: 300 }), (type, bytes) => {
        const data = type.attlen < 0 ? bytes : Uint8Array.from({ length: type.attlen }, (_, i) => bytes[i] ?? i);
        const array = arrayOf(type.oid, data, type.attlen, type.attalign);
        expect(missingValue(array, type.oid, type.attlen, type.attalign)).toEqual(data);
        const within = new Uint8Array(array.length + 7);
        within.set(array, 5);
        const view = within.subarray(5, 5 + array.length);
        expect(missingValue(view, type.oid, type.attlen, type.attalign)).toEqual(data);
      }),
    );
  });

  it('may have a header of one byte', () => {
    const bytes = new Uint8Array(23);
    new DataView(bytes.buffer).setInt32(0, 1, true);
    bytes.set([25, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 7, 104, 105], 8);
    expect(missingValue(bytes, 25, -1, 'i')).toEqual(new Uint8Array([104, 105]));
  });

  it.each([
    ['of another type', (b: DataView) => b.setInt32(8, 23, true)],
    ['of two dimensions', (b: DataView) => b.setInt32(0, 2, true)],
    ['of no dimension', (b: DataView) => b.setInt32(0, 0, true)],
    ['of two elements', (b: DataView) => b.setInt32(12, 2, true)],
    ['with nulls', (b: DataView) => b.setInt32(4, 32, true)],
    ['longer than the array', (b: DataView) => b.setUint32(20, 200 << 2, true)],
    ['shorter than its header', (b: DataView) => b.setUint32(20, 3 << 2, true)],
    ['compressed', (b: DataView) => b.setUint32(20, (9 << 2) | 2, true)],
  ])('%s is damage', (_, change) => {
    const array = arrayOf(25, new TextEncoder().encode('hello'), -1, 'i');
    expect(missingValue(array, 25, -1, 'i')).toHaveLength(5);
    change(new DataView(array.buffer));
    expect(() => missingValue(array, 25, -1, 'i')).toThrow(expect.objectContaining({ code: 'XX001' }));
  });

  it('of any bytes is a value or an error, never another', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 60 }),
        fc.constantFrom(...TYPES),
        fc.boolean(),
        (bytes, type, plausible) => {
          if (plausible && bytes.length >= 20) {
            [1, 0, type.oid, 1].forEach((word, i) => new DataView(bytes.buffer).setInt32(i * 4, word, true));
          }
          try {
            expect(missingValue(bytes, type.oid, type.attlen, type.attalign).length).toBeLessThanOrEqual(bytes.length);
          } catch (error) {
            expect(error).toMatchObject({ code: 'XX001' });
          }
        },
      ),
      { numRuns: 2000 },
    );
  });
});
