// What the encoder refuses, and what it does with vectors that are not quite right.

import { isStorageError } from '@blockwright/base';
import { describe, expect, test } from 'vitest';
import * as t from '../src/index.ts';

const out = new Uint8Array(4096);

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (isStorageError(error)) return error.code;
    return (error as Error).name;
  }
  return 'taken';
}

const one = (type: t.ColumnType): t.TupleEncoder => t.TupleEncoder.for(t.TupleDescriptor.of([{ name: 'x', type }]));

describe('a value', () => {
  test.each<[string, t.ColumnType, unknown, string]>([
    ['null where NOT NULL', t.int4(), null, '23502'],
    ['undefined where NOT NULL', t.int4(), undefined, '23502'],
    ['null where nullable', t.int4().nullable() as t.ColumnType, null, 'taken'],
    ['int2 too large', t.int2(), 32768, '22003'],
    ['int4 too small', t.int4(), -2147483649, '22003'],
    ['int8 too large', t.int8(), 2n ** 63n, '22003'],
    ['int8 as a safe number', t.int8(), 5, 'taken'],
    ['int8 as an unsafe number', t.int8(), 2 ** 60, 'TypeError'],
    ['int4 with a fraction', t.int4(), 1.5, 'TypeError'],
    ['int4 as a string', t.int4(), '1', 'TypeError'],
    ['bool as a number', t.bool(), 1, 'TypeError'],
    ['float4 too large', t.float4(), 1e39, '22003'],
    ['float4 too small', t.float4(), 1e-50, '22003'],
    ['numeric as a number', t.numeric(15, 2), 1.25, 'taken'],
    ['numeric as a bigint', t.numeric(15, 2), 125n, 'taken'],
    ['numeric too large', t.numeric(5, 2), '1000', '22003'],
    ['numeric as nonsense', t.numeric(5, 2), 'ten', '22P02'],
    ['numeric infinite in a column with precision', t.numeric(5, 2), 'Infinity', '22003'],
    ['char too long', t.char(2), 'abc', '22001'],
    ['char with blanks too many', t.char(2), 'ab   ', 'taken'],
    ['varchar of four characters in eight units', t.varchar(4), '😀😀😀😀', 'taken'],
    ['varchar too long', t.varchar(3), '😀😀😀😀', '22001'],
    ['text with NUL', t.text(), 'a\0b', '22021'],
    ['text with half a pair', t.text(), 'a\ud800', '22021'],
    ['date that does not exist', t.date(), '2023-02-29', '22008'],
    ['date as nonsense', t.date(), 'today-ish', '22007'],
    ['bytea as an array', t.bytea(), [1, 2], 'TypeError'],
    ['uuid as nonsense', t.uuid(), 'xyz', '22P02'],
    ['name too long', t.name(), 'n'.repeat(64), '22001'],
  ])('%s', (_, type, value, code) => {
    expect(codeOf(() => one(type).encode([value], out, 0))).toBe(code);
  });

  test('the error names the column and keeps the detail', () => {
    try {
      one(t.numeric(3, 1)).encode(['100'], out, 0);
      expect.fail('it was taken');
    } catch (error) {
      expect(error).toMatchObject({ message: 'column "x": numeric field overflow', code: '22003' });
      expect((error as { detail: string }).detail).toBe(
        'A field with precision 3, scale 1 must round to an absolute value less than 10^2.',
      );
    }
  });

  test('another number of values than columns is a TypeError', () => {
    expect(codeOf(() => one(t.int4()).encode([1, 2], out, 0))).toBe('TypeError');
    expect(codeOf(() => one(t.int4()).encodeVectors([], 0, out, 0))).toBe('TypeError');
  });
});

describe('a vector', () => {
  const scaled = (value: number, scale = 2): t.Vector => ({
    kind: 'scaled',
    values: Float64Array.of(value),
    scale,
    nulls: undefined,
  });
  const bytes = (text: string): t.Vector => {
    const data = new TextEncoder().encode(text);
    return { kind: 'bytes', starts: Int32Array.of(0, data.length), data, nulls: undefined };
  };
  const int: t.Vector = { kind: 'int', values: Int32Array.of(7), nulls: undefined };
  test.each<[string, t.ColumnType, t.Vector, string]>([
    ['scaled beyond the precision', t.numeric(5, 2), scaled(100000), '22003'],
    ['scaled with a fraction', t.numeric(5, 2), scaled(1.5), 'TypeError'],
    ['scaled infinite', t.numeric(5, 2), scaled(Number.POSITIVE_INFINITY), '22003'],
    ['scaled NaN', t.numeric(5, 2), scaled(Number.NaN), 'taken'],
    ['scaled with another scale', t.numeric(5, 1), scaled(5), 'TypeError'],
    ['int for numeric', t.numeric(5, 2), int, 'TypeError'],
    ['int for text', t.text(), int, 'TypeError'],
    ['bytes for int4', t.int4(), bytes('abcd'), 'TypeError'],
    ['char too long', t.char(2), bytes('abc'), '22001'],
    ['char with blanks too many', t.char(2), bytes('ab  '), 'taken'],
    ['varchar of two characters in eight bytes', t.varchar(2), bytes('😀😀'), 'taken'],
    ['varchar too long', t.varchar(1), bytes('😀😀'), '22001'],
    [
      'starts beyond the data',
      t.text(),
      { kind: 'bytes', starts: Int32Array.of(0, 9), data: new Uint8Array(3), nulls: undefined },
      'RangeError',
    ],
    ['a null where NOT NULL', t.int4(), { kind: 'int', values: Int32Array.of(0), nulls: Uint8Array.of(1) }, '23502'],
  ])('%s', (_, type, vector, code) => {
    for (const generateCode of [true, false]) {
      const encoder = t.TupleEncoder.for(t.TupleDescriptor.of([{ name: 'x', type }]), { generateCode });
      expect(codeOf(() => encoder.encodeVectors([vector], 0, out, 0))).toBe(code);
    }
  });

  test('char shorter than its length is filled up, in characters', () => {
    for (const generateCode of [true, false])
      for (const text of ['a', 'ä', '']) {
        const type = t.char(3);
        const encoder = t.TupleEncoder.for(t.TupleDescriptor.of([{ name: 'x', type }]), { generateCode });
        const length = encoder.encodeVectors([bytes(text)], 0, out, 0);
        const row = t.RowDecoder.for(encoder.descriptor).array(t.tupleMemory(out), 0, length);
        expect(row).toEqual([text.padEnd(3)]);
      }
  });
});

test('headers say what setHeader was given, and the encoder what it found', () => {
  const descriptor = t.TupleDescriptor.of([
    { name: 'a', type: t.int4().nullable() as t.ColumnType },
    { name: 'b', type: t.text().nullable() as t.ColumnType },
  ]);
  const m = t.tupleMemory(out);
  const encoder = t.TupleEncoder.for(descriptor);
  const masks = (values: unknown[]): number[] => {
    encoder.encode(values, out, 0);
    return [t.tupleInfomask(m, 0), t.tupleInfomask2(m, 0), t.tupleHoff(m, 0)];
  };
  expect(masks([1, 'x'])).toEqual([t.HEAP_XMAX_INVALID | t.HEAP_HASVARWIDTH, 2, 24]);
  encoder.setHeader({
    xmin: 2,
    xmax: 0xffffffff,
    commandId: 9,
    infomask: t.HEAP_XMIN_FROZEN | t.HEAP_XMAX_INVALID,
    infomask2: t.HEAP_ONLY_TUPLE,
  });
  expect(masks([null, 'x'])).toEqual([0x0b00 | t.HEAP_HASNULL | t.HEAP_HASVARWIDTH, 0x8002, 24]);
  expect(masks([1, null])).toEqual([0x0b00 | t.HEAP_HASNULL, 0x8002, 24]);
  expect([t.tupleXmin(m, 0), t.tupleXmax(m, 0), t.tupleCommandId(m, 0)]).toEqual([2, 0xffffffff, 9]);
  expect([t.tupleCtidBlock(m, 0), t.tupleCtidOffset(m, 0)]).toEqual([0, 0]);
});

describe('descriptors and decoders', () => {
  const descriptor = t.TupleDescriptor.of([
    { name: 'quantity', type: t.int8() },
    { name: 'price', type: t.numeric(9, 2) },
  ]);

  test('a misspelt name is told what was probably meant', () => {
    expect(() => descriptor.indexOf('quantty')).toThrow('there is no column "quantty"; did you mean "quantity"?');
    expect(() => t.RowDecoder.for(descriptor, [2])).toThrow(RangeError);
    expect(() => t.RowDecoder.for(descriptor, [0], { int9: 'number' } as t.RowDecoderOptions)).toThrow(
      /did you mean "int8"/,
    );
    expect(() => t.TupleDescriptor.of([...descriptor.columns, ...descriptor.columns])).toThrow(
      /"quantity" is there twice/,
    );
    expect(() => t.TupleDescriptor.of(new Array(1601).fill({ name: 'x', type: t.bool() }))).toThrow(/at most 1600/);
  });

  test('int8 as number, and a RangeError when it is not safe', () => {
    const m = t.tupleMemory(out);
    const numbers = t.RowDecoder.for(descriptor, [0], { int8: 'number' });
    const encoder = t.TupleEncoder.for(descriptor);
    expect(numbers.array(m, 0, encoder.encode([2n ** 53n - 1n, '0'], out, 0))).toEqual([2 ** 53 - 1]);
    const length = encoder.encode([2n ** 53n, '0'], out, 0);
    expect(() => numbers.array(m, 0, length)).toThrow(RangeError);
  });

  test('vectors that do not fit the decoder are refused', () => {
    const decoder = t.BatchDecoder.for(descriptor);
    const m = t.tupleMemory(out);
    const length = t.TupleEncoder.for(descriptor).encode([1n, '2'], out, 0);
    const decode = (vectors: t.Vector[], at: number) => () => decoder.decode(m, [0], [length], 1, vectors, at);
    expect(decode(decoder.createVectors(2), 2)).toThrow(RangeError);
    expect(decode(decoder.createVectors(2), -1)).toThrow(RangeError);
    expect(decode(decoder.createVectors(2).reverse(), 0)).toThrow(TypeError);
    expect(decode(decoder.createVectors(2).slice(1), 0)).toThrow(TypeError);
    const vectors = decoder.createVectors(2);
    decode(vectors, 1)();
    vectors[1] = t.createVector(t.numeric(9, 3), 2);
    expect(decode(vectors, 1)).toThrow(TypeError);
  });

  test('types refuse parameters that PostgreSQL refuses', () => {
    for (const make of [
      () => t.numeric(0),
      () => t.numeric(1001),
      () => t.numeric(5, 1001),
      () => t.char(0),
      () => t.varchar(10485761),
      () => t.opaque(0, 'c'),
    ])
      expect(make).toThrow(RangeError);
    expect(() => t.int4().toText(null as unknown as number)).toThrow(TypeError);
  });
});
