// Index tuples compared by their bytes, generated code and interpreted, against the order of the values they hold.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as t from '../src/index.ts';
import { planImages, planKeys } from '../src/index-keys.ts';
import { generateKeysSource } from '../src/key-codegen.ts';
import { ASCENDING, formerOf, KEY_TYPES, kept, modelOrder, orders } from './key-values.ts';

const generated = [true, false] as const;
const label = ({ type }: { type: t.ColumnType }, i: number): string => `${type.sqlName} (${i})`;

/** Every pair of the values, compared as a single key of this order in every way there is. */
function checkPairs(type: t.ColumnType, order: t.KeyOrder, values: readonly unknown[]): void {
  const descriptor = t.TupleDescriptor.of([{ name: 'k', type: type.nullable() as t.ColumnType }]);
  const formats = generated.map((generateCode) => t.IndexTupleFormat.of(descriptor, [order], { generateCode }));
  expect(formats.map((f) => f.isGenerated)).toEqual([true, false]);
  const former = formerOf(formats[0], descriptor);
  const tuples = values.map((v) => {
    former.fromValues([v]);
    return kept(former);
  });
  const prefixes = tuples.map((m) => formats[0].prefix(m, 0));
  const stored = values.map((v) => (v === null ? null : type.fromText(type.toText(v))));
  for (let i = 0; i < values.length; i++) {
    expect(Number.isFinite(prefixes[i])).toBe(true);
    for (let j = 0; j < values.length; j++) {
      const wanted = modelOrder(type, order, stored[i], stored[j]);
      const isSame = Buffer.compare(tuples[i].u8, tuples[j].u8) === 0;
      for (const format of formats) {
        expect(Math.sign(format.compare(tuples[i], 0, tuples[j], 0, 1))).toBe(wanted);
        expect(format.firstDifferent(tuples[i], 0, tuples[j], 0, 1)).toBe(wanted === 0 ? 2 : 1);
        expect(format.firstDifferentImage(tuples[i], 0, tuples[j], 0, 1)).toBe(isSame ? 2 : 1);
        expect(format.compare(tuples[i], 0, tuples[j], 0, 0)).toBe(0);
        if (format.allEqualImage) expect(wanted === 0).toBe(isSame);
      }
      if (prefixes[i] !== prefixes[j]) expect(wanted).toBe(prefixes[i] < prefixes[j] ? -1 : 1);
      else if (formats[0].prefixIsWhole) expect(wanted).toBe(0);
    }
  }
}

describe.each(KEY_TYPES.map((typed, i) => [label(typed, i), typed] as const))('%s', (_, { type, value, extremes }) => {
  test('two keys compare as their values do, whatever the direction', () => {
    fc.assert(
      fc.property(fc.array(fc.option(value, { freq: 8 }), { minLength: 2, maxLength: 6 }), orders, (values, order) =>
        checkPairs(type, order, values),
      ),
      { numRuns: 60 },
    );
  });

  test('and so do all pairs of its extremes', () => {
    for (const descending of [false, true])
      checkPairs(type, { descending, nullsFirst: descending }, [...extremes, null]);
  });
});

interface Shape {
  readonly descriptor: t.TupleDescriptor;
  readonly keys: t.KeyOrder[];
  readonly rows: unknown[][];
}

/** Some key columns and some included ones; rows that often begin alike. */
const shapes: fc.Arbitrary<Shape> = fc
  .array(fc.tuple(fc.constantFrom(...KEY_TYPES), orders), { minLength: 1, maxLength: 6 })
  .chain((columns) => {
    const row = fc.tuple(...columns.map(([{ value }]) => fc.option(value, { freq: 5 })));
    const alike = fc
      .tuple(row, row, row, fc.nat(columns.length), fc.nat(columns.length))
      .map(([a, b, c, m, n]) => [a, a.map((v, i) => (i < m ? v : b[i])), a.map((v, i) => (i < n ? v : c[i]))]);
    return fc.record({
      descriptor: fc.constant(
        t.TupleDescriptor.of(
          columns.map(([{ type }], i) => ({ name: `c${i}`, type: type.nullable() as t.ColumnType })),
        ),
      ),
      keys: fc.integer({ min: 1, max: columns.length }).map((n) => columns.slice(0, n).map(([, order]) => order)),
      rows: alike,
    });
  });

test('several columns: the first that differs decides, and generated code and interpreter agree', () => {
  fc.assert(
    fc.property(shapes, fc.constantFrom(undefined, 24, 62), ({ descriptor, keys, rows }, toastTarget) => {
      const formats = generated.map((generateCode) => t.IndexTupleFormat.of(descriptor, keys, { generateCode }));
      const plain = formerOf(formats[0], descriptor);
      const tight = formerOf(formats[0], descriptor, { toastTarget });
      const tuples = rows.map((row) => {
        plain.fromValues(row);
        return kept(plain);
      });
      // The other side may be compressed: the same order.
      const others = rows.map((row) => {
        tight.fromValues(row);
        return kept(tight);
      });
      const { columns } = descriptor;
      const stored = rows.map((row) =>
        row.map((v, i) => (v === null ? null : columns[i].type.fromText(columns[i].type.toText(v)))),
      );
      rows.forEach((_, i) => {
        rows.forEach((__, j) => {
          for (let natts = 0; natts <= keys.length; natts++) {
            let wanted = 0;
            let image = natts + 1;
            for (let k = natts - 1; k >= 0; k--) {
              wanted = modelOrder(columns[k].type, keys[k], stored[i][k], stored[j][k]) * (k + 1) || wanted;
              if (!isSameImage(plain, columns.length, k, rows[i][k], rows[j][k])) image = k + 1;
            }
            for (const format of formats) {
              expect(format.compare(tuples[i], 0, others[j], 0, natts)).toBe(wanted);
              expect(format.compare(others[i], 0, tuples[j], 0, natts)).toBe(wanted);
              expect(format.firstDifferent(tuples[i], 0, others[j], 0, natts)).toBe(Math.abs(wanted) || natts + 1);
              expect(format.firstDifferentImage(tuples[i], 0, others[j], 0, natts)).toBe(image);
            }
          }
        });
      });
    }),
    { numRuns: 150 },
  );
});

/** Whether two values of column `k` are stored alike. */
function isSameImage(former: t.IndexTupleFormer, count: number, k: number, a: unknown, b: unknown): boolean {
  if (a === null || b === null) return a === b;
  const images = [a, b].map((value) => {
    former.fromValues(Array.from({ length: count }, (_, i) => (i === k ? value : null)));
    return kept(former).u8;
  });
  return Buffer.compare(images[0], images[1]) === 0;
}

test('nulls, and the ends and masks of the first attributes, are those of a tuple that has only them', () => {
  fc.assert(
    fc.property(shapes, ({ descriptor, keys, rows }) => {
      const format = t.IndexTupleFormat.of(descriptor, keys);
      const former = formerOf(format, descriptor, { toastTarget: 62 });
      for (const row of rows) {
        former.fromValues(row);
        const whole = kept(former);
        for (let natts = 0; natts <= row.length; natts++) {
          former.fromValues(row.slice(0, natts));
          const cut = kept(former);
          const info = t.indexTupleInfo(cut, 0);
          expect(format.hasNull(whole, 0, natts)).toBe(row.slice(0, natts).includes(null));
          expect(format.attributeMask(whole, 0, natts)).toBe(info & (t.INDEX_NULL_MASK | t.INDEX_VAR_MASK));
          const from = t.indexTupleDataOffset(t.indexTupleInfo(whole, 0));
          const to = t.indexTupleDataOffset(info);
          const bytes = format.attributeEnd(whole, 0, natts) - from;
          expect((to + bytes + 7) & ~7).toBe(cut.u8.length);
          expect(cut.u8.slice(to, to + bytes)).toEqual(whole.u8.slice(from, from + bytes));
        }
      }
    }),
    { numRuns: 100 },
  );
});

function single(type: t.ColumnType, bytes: number[]): t.TupleMemory {
  const length = (8 + bytes.length + 7) & ~7;
  const m = t.tupleMemory(new Uint8Array(length));
  m.u8.set(bytes, 8);
  t.setIndexTupleInfo(m, 0, length | (type.attlen < 0 ? t.INDEX_VAR_MASK : 0));
  return m;
}

function compareBytes(type: t.ColumnType, a: number[], b: number[]): number[] {
  const descriptor = t.TupleDescriptor.of([{ name: 'k', type }]);
  return generated.map((generateCode) =>
    Math.sign(
      t.IndexTupleFormat.of(descriptor, [ASCENDING], { generateCode }).compare(
        single(type, a),
        0,
        single(type, b),
        0,
        1,
      ),
    ),
  );
}

const varlena = (...data: number[]): number[] => [((data.length + 1) << 1) | 1, ...data];

describe('bytes that no encoder here writes', () => {
  test('a numeric in long form, with leading and trailing zero digits, is its value', () => {
    const one = varlena(0x00, 0x80, 1, 0); // short form, weight 0
    const long = varlena(0x02, 0x00, 0, 0, 1, 0); // dscale 2
    const padded = varlena(0x00, 0x00, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0); // weight 2: 0, 0, 1, 0
    const more = varlena(0x00, 0x00, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    const zeros = varlena(0x00, 0x40, 0, 0, 0, 0);
    const none = varlena(0x00, 0x80);
    for (const [a, b, wanted] of [
      [one, long, 0],
      [one, padded, 0],
      [padded, more, -1],
      [more, one, 1],
      [none, one, -1],
      [zeros, one, -1],
    ] as const)
      expect(compareBytes(t.numeric() as t.ColumnType, [...a], [...b])).toEqual([wanted, wanted]);
  });

  test('all NaNs are equal', () => {
    const quiet = [0, 0, 0, 0, 0, 0, 0xf8, 0x7f];
    const negative = [1, 0, 0, 0, 0, 0, 0xf0, 0xff];
    const infinity = [0, 0, 0, 0, 0, 0, 0xf0, 0x7f];
    expect(compareBytes(t.float8() as t.ColumnType, quiet, negative)).toEqual([0, 0]);
    expect(compareBytes(t.float8() as t.ColumnType, infinity, negative)).toEqual([-1, -1]);
    expect(compareBytes(t.float4() as t.ColumnType, [0, 0, 0xc0, 0x7f], [1, 0, 0x80, 0xff])).toEqual([0, 0]);
    expect(compareBytes(t.float4() as t.ColumnType, [1, 0, 0x80, 0xff], [0, 0, 0x80, 0x7f])).toEqual([1, 1]);
  });

  test('a value compressed with LZ4, and one with a 4-byte header where 1 byte would do', () => {
    const data = Array.from({ length: 20 }, (_, i) => 65 + i);
    const block = [0xf0, 5, ...data]; // 15 + 5 literals
    const word = (n: number): number[] => [n & 255, (n >> 8) & 255, (n >> 16) & 255, (n >>> 24) & 255];
    const lz4 = [...word(((8 + block.length) << 2) | 2), ...word((20 | (1 << 30)) >>> 0), ...block];
    const long = [...word((4 + 20) << 2), ...data];
    const less = varlena(...data.slice(0, 19));
    for (const form of [lz4, long, varlena(...data)])
      for (const other of [lz4, long, varlena(...data)]) {
        expect(compareBytes(t.text() as t.ColumnType, form, other)).toEqual([0, 0]);
        expect(compareBytes(t.text() as t.ColumnType, less, other)).toEqual([-1, -1]);
      }
  });

  test.each([
    ['a pointer', [1, 18, 0, 0]],
    ['a size beyond the memory', [0xf0, 0xff, 0xff, 0]],
    ['a size below its header', [4, 0, 0, 0]],
  ])('%s is an error', (_, bytes) => {
    expect(() => compareBytes(t.text() as t.ColumnType, bytes, varlena(65))).toThrowError(
      expect.objectContaining({ code: 'XX001' }),
    );
  });

  test('blanks at the end of char(n) do not count, and its bytes differ', () => {
    const type = t.char(3) as t.ColumnType;
    const descriptor = t.TupleDescriptor.of([{ name: 'k', type }]);
    const format = t.IndexTupleFormat.of(descriptor, [ASCENDING]);
    const [a, b] = [single(type, varlena(65)), single(type, varlena(65, 32, 32))];
    expect(format.compare(a, 0, b, 0, 1)).toBe(0);
    expect(format.firstDifferentImage(a, 0, b, 0, 1)).toBe(1);
  });
});

test('equal is identical for all types but numeric and the floats, and not with included columns', () => {
  for (const { type } of KEY_TYPES) {
    const columns = [
      { name: 'a', type: t.int4() as t.ColumnType },
      { name: 'b', type },
    ];
    const descriptor = t.TupleDescriptor.of(columns);
    const isIdentical = !['numeric', 'float4', 'float8'].includes(type.name);
    expect(t.IndexTupleFormat.of(descriptor, [ASCENDING, ASCENDING]).allEqualImage).toBe(isIdentical);
    expect(t.IndexTupleFormat.of(descriptor, [ASCENDING]).allEqualImage).toBe(false);
  }
});

describe('columns', () => {
  const int4 = t.int4() as t.ColumnType;
  test('a key of type name is stored as a cstring, an included one as it is', () => {
    const name = t.name().nullable() as t.ColumnType;
    const columns = [name, name].map((type, i) => ({ name: `n${i}`, type }));
    const { descriptor } = t.IndexTupleFormat.of(t.TupleDescriptor.of(columns), [ASCENDING]);
    expect(descriptor.columns.map(({ type }) => [type.name, type.attlen, type.isNullable])).toEqual([
      ['cstring', -2, true],
      ['name', 64, true],
    ]);
  });

  test('what has no order can be included, but be no key', () => {
    const columns = t.TupleDescriptor.of([
      { name: 'a', type: int4 },
      { name: 'x', type: t.xid() as t.ColumnType },
    ]);
    expect(t.IndexTupleFormat.of(columns, [ASCENDING]).columnCount).toBe(2);
    expect(() => t.IndexTupleFormat.of(columns, [ASCENDING, ASCENDING])).toThrowError(
      expect.objectContaining({ code: '42704', message: 'column "x" has a type without an order, xid' }),
    );
  });

  test('too many, too few, dropped', () => {
    const many = (n: number): t.TupleDescriptor =>
      t.TupleDescriptor.of(Array.from({ length: n }, (_, i) => ({ name: `c${i}`, type: int4 })));
    expect(t.IndexTupleFormat.of(many(32), [ASCENDING]).columnCount).toBe(32);
    expect(() => t.IndexTupleFormat.of(many(33), [ASCENDING])).toThrowError(expect.objectContaining({ code: '54000' }));
    expect(() => t.IndexTupleFormat.of(many(2), [])).toThrow(RangeError);
    expect(() => t.IndexTupleFormat.of(many(1), [ASCENDING, ASCENDING])).toThrow(RangeError);
    const dropped = t.TupleDescriptor.of([t.droppedColumn(1, 4, 'i')]);
    expect(() => t.IndexTupleFormat.of(dropped, [ASCENDING])).toThrow(RangeError);
  });

  test('32 key columns, nulls among them', () => {
    const descriptor = t.TupleDescriptor.of(
      Array.from({ length: 32 }, (_, i) => ({ name: `c${i}`, type: int4.nullable() as t.ColumnType })),
    );
    for (const generateCode of generated) {
      const format = t.IndexTupleFormat.of(
        descriptor,
        descriptor.columns.map(() => ASCENDING),
        { generateCode },
      );
      const former = formerOf(format, descriptor);
      const row = Array.from({ length: 32 }, (_, i) => (i === 3 ? null : i));
      former.fromValues(row);
      const a = kept(former);
      former.fromValues(row.with(31, null));
      expect(format.compare(a, 0, former.memory, 0, 32)).toBe(-32);
      expect(format.compare(a, 0, former.memory, 0, 31)).toBe(0);
      expect([3, 4, 32].map((n) => format.hasNull(a, 0, n))).toEqual([false, true, true]);
    }
  });
});

test('the text of a key is as PostgreSQL words it', () => {
  const descriptor = t.TupleDescriptor.of(
    ['id', 'Name', 'order', 'value', 'say "x"', 'short', 'n'].map((name, i) => ({
      name,
      type: [t.int8(), t.text(), t.date(), t.numeric(6, 2), t.bytea(), t.char(3), t.name()][
        i
      ].nullable() as t.ColumnType,
    })),
  );
  const format = t.IndexTupleFormat.of(
    descriptor,
    Array.from({ length: 7 }, () => ASCENDING),
  );
  const former = formerOf(format, descriptor, { toastTarget: 62 });
  former.fromValues([7n, null, '1999-12-31', '1.5', Uint8Array.of(1, 255), 'a', 'pg_am']);
  expect(format.toText(former.memory, 0, 1)).toBe('(id)=(7)');
  expect(format.toText(former.memory, 0, 7)).toBe(
    String.raw`(id, "Name", "order", value, "say ""x""", short, n)=(7, null, 1999-12-31, 1.50, \x01ff, a  , pg_am)`,
  );
  former.fromValues([7n, 'long'.repeat(100)]);
  expect(t.indexTupleSize(former.memory, 0)).toBeLessThan(100);
  expect(format.toText(former.memory, 0, 2)).toBe(`(id, "Name")=(7, ${'long'.repeat(100)})`);
});

test('generated code is made of numbers, and one plan is compiled once', () => {
  for (const { type } of KEY_TYPES) {
    const named = (name: string): t.TupleDescriptor => t.TupleDescriptor.of([{ name, type }]);
    const [a, b] = ['k', '"; globalThis.hacked = 1; //'].map((name) => t.IndexTupleFormat.of(named(name), [ASCENDING]));
    expect(a.compare).toBe(b.compare);
    const plan = planKeys(a.descriptor, [ASCENDING]);
    for (const source of [generateKeysSource(plan), generateKeysSource(planImages(plan))])
      expect(source).toMatch(/^[\w\s'{}()[\],;:.=<>&|^!?+*~-]*$/);
  }
});
