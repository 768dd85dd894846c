// Index tuples decoded, by generated code and without, in batches and one by one: what was put in comes out.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BatchDecoder,
  type ColumnType,
  char,
  float8,
  IndexTupleFormat,
  IndexTupleFormer,
  int2,
  int4,
  int8,
  numeric,
  RowDecoder,
  TupleDescriptor,
  text,
  tupleMemory,
  vectorValue,
} from '../src/index.ts';
import { name } from '../src/types/catalog.ts';

const orNull = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> => fc.option(arbitrary, { freq: 3 });
const word = fc.string({ maxLength: 20, unit: 'grapheme' }).filter((value) => !value.includes('\0'));

const COLUMNS: readonly (readonly [ColumnType, fc.Arbitrary<unknown>])[] = [
  [int4() as ColumnType, fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })],
  [int2() as ColumnType, fc.integer({ min: -32768, max: 32767 })],
  [int8() as ColumnType, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })],
  [float8() as ColumnType, fc.double()],
  [numeric(12, 2) as ColumnType, fc.integer({ min: -99999, max: 99999 }).map((cents) => (cents / 100).toFixed(2))],
  [text() as ColumnType, word],
  [char(5) as ColumnType, fc.constantFrom('a    ', 'abcde', '     ', 'ä€   ')],
  [name() as ColumnType, fc.string({ maxLength: 60, unit: fc.constantFrom('a', 'b', '_') })],
];

const shapes = fc.array(fc.constantFrom(...COLUMNS.keys()), { minLength: 1, maxLength: 6 }).chain((kinds) =>
  fc.record({
    kinds: fc.constant(kinds),
    wanted: fc.subarray([...kinds.keys()]),
    rows: fc.array(fc.tuple(...kinds.map((kind) => orNull(COLUMNS[kind][1]))), { minLength: 1, maxLength: 30 }),
  }),
);

describe('index tuples', () => {
  it.each([true, false])('come out as they went in, generated code: %s', (generateCode) => {
    fc.assert(
      fc.property(shapes, ({ kinds, wanted, rows }) => {
        const table = TupleDescriptor.of(
          kinds.map((kind, i) => ({ name: `c${i}`, type: COLUMNS[kind][0].nullable() as ColumnType })),
        );
        const order = kinds.map(() => ({ descending: false, nullsFirst: false }));
        const format = IndexTupleFormat.of(table, order);
        const former = new IndexTupleFormer(
          format,
          table,
          kinds.map((_, i) => i),
        );
        const memory = tupleMemory(new Uint8Array(64 * 1024));
        const positions: number[] = [];
        const lengths: number[] = [];
        let at = 0;
        for (const row of rows) {
          const length = former.fromValues(row);
          memory.u8.set(former.memory.u8.subarray(0, length), at);
          positions.push(at);
          lengths.push(length);
          at += length + 24; // what follows a tuple is not its own: the TIDs of a posting list, or another's bytes
        }
        const expected = rows.map((row) => wanted.map((i) => row[i]));
        const { descriptor } = format;
        const batches = BatchDecoder.for(descriptor, wanted, { layout: 'index', generateCode });
        const vectors = batches.createVectors(rows.length);
        batches.decode(memory, positions, lengths, rows.length, vectors, 0);
        const types = wanted.map((i) => descriptor.columns[i].type);
        const decoded = rows.map((_, r) => wanted.map((_, k) => vectorValue(types[k], vectors[k], r)));
        expect(decoded).toEqual(expected);
        const single = RowDecoder.for(descriptor, wanted, { layout: 'index' });
        expect(rows.map((_, r) => single.array(memory, positions[r], lengths[r]))).toEqual(expected);
      }),
    );
  });

  it('are refused when their bytes cannot be right, and nothing else is read', () => {
    const descriptor = TupleDescriptor.of([{ name: 'c', type: text() as ColumnType }]);
    const decoder = BatchDecoder.for(descriptor, [0], { layout: 'index' });
    const memory = tupleMemory(new Uint8Array(64));
    memory.u16[3] = 16;
    memory.u8[8] = 0xff; // 127 bytes, where 8 are left
    const vectors = decoder.createVectors(1);
    expect(() => decoder.decode(memory, [0], [16], 1, vectors, 0)).toThrow('attribute 1 ("c"): it claims 127 bytes');
    expect(() => decoder.decode(memory, [0], [4], 1, vectors, 0)).toThrow('shorter than its header');
    memory.u16[3] = 0x8000 | 8;
    expect(() => decoder.decode(memory, [0], [8], 1, vectors, 0)).toThrow('beyond the tuple');
  });
});
