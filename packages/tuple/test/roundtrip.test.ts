// Whatever the table: what is encoded comes out again, by rows and by batches, by generated code and without.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteSink } from '../src/byte-sink.ts';
import * as t from '../src/index.ts';
import { layOut, TYPED_VALUES, tables } from './arbitraries.ts';

function batchRows(decoder: t.BatchDecoder, laid: ReturnType<typeof layOut>): unknown[][] {
  const count = laid.positions.length;
  const vectors = decoder.createVectors(count + 3);
  for (const vector of vectors) if ('starts' in vector) vector.starts[2] = 5; // text of earlier rows is kept
  decoder.decode(laid.memory, laid.positions, laid.lengths, count, vectors, 2);
  return Array.from({ length: count }, (_, row) =>
    vectors.map((vector, k) => t.vectorValue(decoder.descriptor.columns[decoder.columns[k]].type, vector, row + 2)),
  );
}

describe('a table of random columns', () => {
  test('its rows come out of rows and batches as they went in', () => {
    fc.assert(
      fc.property(tables, fc.boolean(), fc.constantFrom(0, 8192), ({ descriptor, rows, chosen }, charCodes, room) => {
        const laid = layOut(descriptor, rows, room);
        const wanted = rows.map((row) => chosen.map((i) => row[i]));
        const single = t.RowDecoder.for(descriptor, chosen);
        const byRow = rows.map((_, i) => single.array(laid.memory, laid.positions[i], laid.lengths[i]));
        expect(byRow).toEqual(wanted);
        for (const generateCode of [true, false])
          expect(batchRows(t.BatchDecoder.for(descriptor, chosen, { charCodes, generateCode }), laid)).toEqual(wanted);
      }),
      { numRuns: 400 },
    );
  });

  test('vectors encode to the bytes that the values encode to', () => {
    fc.assert(
      fc.property(tables, fc.boolean(), fc.boolean(), ({ descriptor, rows }, charCodes, generateCode) => {
        const laid = layOut(descriptor, rows);
        const all = descriptor.columns.map((_, i) => i);
        const decoder = t.BatchDecoder.for(descriptor, all, { charCodes });
        const vectors = decoder.createVectors(rows.length);
        decoder.decode(laid.memory, laid.positions, laid.lengths, rows.length, vectors, 0);
        const encoder = t.TupleEncoder.for(descriptor, { generateCode });
        for (let i = 0; i < rows.length; i++) {
          const out = new Uint8Array(8192).fill(0xa5);
          const length = encoder.encodeVectors(vectors, i, out, 16);
          const original = laid.memory.u8.subarray(laid.positions[i], laid.positions[i] + laid.lengths[i]);
          expect(Buffer.from(out.subarray(16, 16 + length)).toString('hex')).toBe(
            Buffer.from(original).toString('hex'),
          );
        }
      }),
      { numRuns: 300 },
    );
  });

  test('a tuple with fewer attributes than the table has nulls for the rest, between others that have all', () => {
    fc.assert(
      fc.property(tables, fc.array(fc.nat(12), { minLength: 6, maxLength: 6 }), ({ descriptor, rows }, keep) => {
        const all = descriptor.columns.map((_, i) => i);
        const stored = rows.map((_, i) => Math.min(keep[i], descriptor.columns.length));
        const laid = layOut(descriptor, rows);
        rows.forEach((row, r) => {
          const older = t.TupleDescriptor.of(descriptor.columns.slice(0, stored[r]));
          const encoder = t.TupleEncoder.for(older);
          laid.memory.u8.fill(0, laid.positions[r], laid.positions[r] + laid.lengths[r]);
          laid.lengths[r] = encoder.encode(row.slice(0, stored[r]), laid.memory.u8, laid.positions[r]);
        });
        const wanted = rows.map((row, r) => row.map((value, i) => (i < stored[r] ? value : null)));
        for (const generateCode of [true, false])
          expect(batchRows(t.BatchDecoder.for(descriptor, all, { generateCode }), laid)).toEqual(wanted);
      }),
      { numRuns: 200 },
    );
  });

  test('a tuple older than columns with missing values has those, and nulls for columns without', () => {
    const withMissing = fc.tuple(tables, fc.array(fc.nat(12), { minLength: 6, maxLength: 6 }), fc.boolean());
    fc.assert(
      fc.property(withMissing, ([{ descriptor, rows, chosen }, keep, charCodes]) => {
        const [missingRow] = rows;
        const dataOf = (type: t.ColumnType, value: unknown): Uint8Array | undefined => {
          if (value === null) return undefined;
          const sink = new ByteSink();
          type.codec.append(sink, value);
          return sink.bytes.slice(0, sink.length);
        };
        const columns = descriptor.columns.map((c, i) => ({ ...c, missing: dataOf(c.type, missingRow[i]) }));
        const extended = t.TupleDescriptor.of(columns);
        const stored = rows.map((_, i) => Math.min(keep[i], columns.length));
        const laid = layOut(descriptor, rows);
        rows.forEach((row, r) => {
          const older = t.TupleDescriptor.of(descriptor.columns.slice(0, stored[r]));
          laid.memory.u8.fill(0, laid.positions[r], laid.positions[r] + laid.lengths[r]);
          const encoder = t.TupleEncoder.for(older);
          laid.lengths[r] = encoder.encode(row.slice(0, stored[r]), laid.memory.u8, laid.positions[r]);
        });
        const twice = [...chosen, ...chosen];
        const wanted = rows.map((row, r) => twice.map((i) => (i < stored[r] ? row[i] : missingRow[i])));
        const single = t.RowDecoder.for(extended, twice);
        expect(rows.map((_, i) => single.array(laid.memory, laid.positions[i], laid.lengths[i]))).toEqual(wanted);
        for (const generateCode of [true, false])
          expect(batchRows(t.BatchDecoder.for(extended, twice, { charCodes, generateCode }), laid)).toEqual(wanted);
      }),
      { numRuns: 200 },
    );
  });

  test('a missing value of another width than its column is refused', () => {
    const missing = new Uint8Array(3);
    expect(() => t.TupleDescriptor.of([{ name: 'a', type: t.int4(), missing }])).toThrow(RangeError);
    expect(t.TupleDescriptor.of([{ name: 'a', type: t.text(), missing }]).columns[0].missing).toBe(missing);
  });

  test('when there is no room the length is told and nothing after the room is touched', () => {
    fc.assert(
      fc.property(tables, fc.nat(100), ({ descriptor, rows }, less) => {
        const encoder = t.TupleEncoder.for(descriptor);
        const out = new Uint8Array(8192);
        const length = encoder.encode(rows[0], out, 0);
        const small = new Uint8Array(Math.max(0, length - less));
        expect(encoder.encode(rows[0], small, 0)).toBe(length);
        if (less === 0) expect(small).toEqual(out.subarray(0, length));
      }),
      { numRuns: 100 },
    );
  });
});

describe.each(TYPED_VALUES.map(({ type, value }) => [type.sqlName, type, value] as const))('%s', (_, type, values) => {
  test('text and back is the value', () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(type.fromText(type.toText(value))).toEqual(value);
      }),
      { numRuns: 60 },
    );
  });

  test('its order is total, and equals only what is equal', () => {
    fc.assert(
      fc.property(values, values, values, (a, b, c) => {
        const order = Math.sign(type.compare(a, b));
        expect(Math.sign(type.compare(b, a))).toBe(0 - order);
        expect(type.compare(a, a)).toBe(0);
        const [x, y, z] = [a, b, c].sort((p, q) => type.compare(p, q));
        expect(type.compare(x, y)).toBeLessThanOrEqual(0);
        expect(type.compare(y, z)).toBeLessThanOrEqual(0);
        expect(type.compare(x, z)).toBeLessThanOrEqual(0);
        const nullable = type.nullable() as t.ColumnType;
        expect([nullable.compare(a, null), nullable.compare(null, a), nullable.compare(null, null)]).toEqual([
          -1, 1, 0,
        ]);
      }),
      { numRuns: 60 },
    );
  });
});
