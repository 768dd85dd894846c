// Random column types with values of theirs, in the form in which rows hold them.
import fc from 'fast-check';
import * as t from '../src/index.ts';
import { DATE_MAX, DATE_MIN, dateText, timestamptzText } from '../src/types/datetime-text.ts';

export interface TypedValues {
  readonly type: t.ColumnType;
  readonly value: fc.Arbitrary<unknown>;
}

const string = fc.string({ unit: 'binary', maxLength: 160 }).map((s) => s.replaceAll('\0', ''));
const characters = (limit: number): fc.Arbitrary<string> =>
  fc
    .string({ unit: 'binary', maxLength: limit })
    .map((s) => Array.from(s.replaceAll('\0', '')).slice(0, limit).join(''));

const digits = fc.bigInt({ min: 0n, max: 10n ** 40n });

export function decimalText(integer: bigint, scale: number): string {
  const shown = String(integer < 0n ? -integer : integer).padStart(scale + 1, '0');
  const text = scale === 0 ? shown : `${shown.slice(0, -scale)}.${shown.slice(-scale)}`;
  return integer < 0n ? `-${text}` : text;
}

function numericValues(precision: number, scale: number): TypedValues {
  const limit = 10n ** BigInt(precision);
  const integer = fc.oneof(
    fc.bigInt({ min: 1n - limit, max: limit - 1n }),
    fc.bigInt({ min: -200n, max: 200n }).filter((i) => i > -limit && i < limit),
    digits.map((d) => (d * 10_000n) % limit),
  );
  return {
    type: t.numeric(precision, scale),
    value: fc.oneof(
      { weight: 20, arbitrary: integer.map((i) => decimalText(i, scale)) },
      { weight: 1, arbitrary: fc.constant('NaN') },
    ),
  };
}

const anyNumeric: TypedValues = {
  type: t.numeric(),
  value: fc.oneof(
    {
      weight: 10,
      arbitrary: fc.tuple(digits, fc.boolean(), fc.nat(90)).map(([d, minus, s]) => decimalText(minus ? -d : d, s)),
    },
    { weight: 1, arbitrary: fc.constantFrom('NaN', 'Infinity', '-Infinity', '0', '0.000') },
  ),
};

const date: TypedValues = {
  type: t.date(),
  value: fc.oneof(
    { weight: 10, arbitrary: fc.integer({ min: DATE_MIN, max: DATE_MAX }).map(dateText) },
    { weight: 10, arbitrary: fc.integer({ min: -20000, max: 20000 }).map(dateText) },
    { weight: 1, arbitrary: fc.constantFrom('infinity', '-infinity') },
  ),
};
const timestamptz: TypedValues = {
  type: t.timestamptz(),
  value: fc.oneof(
    { weight: 10, arbitrary: fc.bigInt({ min: -211813488000000000n, max: 9223371331199999999n }).map(timestamptzText) },
    { weight: 1, arbitrary: fc.constantFrom('infinity', '-infinity') },
  ),
};

export const TYPED_VALUES: readonly TypedValues[] = [
  { type: t.bool(), value: fc.boolean() },
  { type: t.int2(), value: fc.integer({ min: -32768, max: 32767 }) },
  { type: t.int4(), value: fc.integer() },
  { type: t.int8(), value: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }) },
  { type: t.float4(), value: fc.float() },
  { type: t.float8(), value: fc.double() },
  numericValues(15, 2),
  numericValues(15, 2),
  numericValues(9, 0),
  numericValues(12, 1),
  numericValues(15, 3),
  numericValues(10, 4),
  numericValues(15, 9),
  numericValues(15, 15),
  numericValues(30, 8),
  anyNumeric,
  date,
  timestamptz,
  { type: t.char(1), value: characters(1).map((s) => s.padEnd(1)) },
  { type: t.char(7), value: characters(7).map((s) => s + ' '.repeat(7 - Array.from(s).length)) },
  { type: t.varchar(9), value: characters(9) },
  { type: t.varchar(), value: string },
  { type: t.text(), value: string },
  { type: t.bytea(), value: fc.uint8Array({ maxLength: 200 }) },
  {
    type: t.uuid(),
    value: fc.uuid({ version: [1, 4, 7] }),
  },
  { type: t.oid(), value: fc.nat(0xffffffff) },
  { type: t.xid(), value: fc.nat(0xffffffff) },
  { type: t.name(), value: fc.string({ maxLength: 63 }).map((s) => s.replaceAll('\0', '')) },
  { type: t.quotedChar(), value: fc.constantFrom('', 'r', 'i', '\\377') },
];

export interface Table {
  readonly descriptor: t.TupleDescriptor;
  readonly rows: unknown[][];
  /** Some of the columns, in some order. */
  readonly chosen: number[];
}

/** A table of up to 12 columns, some dropped, some nullable, with a few rows, and a choice of its columns. */
export const tables: fc.Arbitrary<Table> = fc
  .array(
    fc.record({ typed: fc.constantFrom(...TYPED_VALUES), kind: fc.constantFrom('not null', 'nullable', 'dropped') }),
    {
      minLength: 1,
      maxLength: 12,
    },
  )
  .chain((columns) => {
    const descriptor = t.TupleDescriptor.of(
      columns.map(({ typed: { type }, kind }, i) =>
        kind === 'dropped'
          ? t.droppedColumn(i + 1, type.attlen, type.attalign)
          : { name: `c${i}`, type: kind === 'nullable' ? (type.nullable() as t.ColumnType) : type },
      ),
    );
    const row = fc.tuple(
      ...columns.map(({ typed: { value }, kind }) =>
        kind === 'dropped' ? fc.constant(null) : kind === 'nullable' ? fc.option(value, { freq: 4 }) : value,
      ),
    );
    const noNullRow = fc.tuple(
      ...columns.map(({ typed: { value }, kind }) => (kind === 'dropped' ? fc.constant(null) : value)),
    );
    return fc.record({
      descriptor: fc.constant(descriptor),
      rows: fc.array(fc.oneof(row, noNullRow), { minLength: 1, maxLength: 6 }),
      chosen: fc.shuffledSubarray(columns.map((_, i) => i)),
    });
  });

export interface Laid {
  readonly memory: t.TupleMemory;
  readonly positions: Int32Array;
  readonly lengths: Int32Array;
}

/** The rows as tuples one after the other, each at a multiple of 8, with room behind them. */
export function layOut(descriptor: t.TupleDescriptor, rows: readonly unknown[][], room = 8192): Laid {
  const bytes = new Uint8Array(rows.length * 8192 + room);
  const encoder = t.TupleEncoder.for(descriptor);
  const positions = new Int32Array(rows.length);
  const lengths = new Int32Array(rows.length);
  let at = 8;
  rows.forEach((row, i) => {
    positions[i] = at;
    lengths[i] = encoder.encode(row, bytes, at);
    at = (at + lengths[i] + 7) & ~7;
  });
  return { memory: t.tupleMemory(bytes.slice(0, at + room)), positions, lengths };
}
