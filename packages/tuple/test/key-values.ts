// Types that can be keys of an index, with random values that often are nearly equal, and with their extremes.
import fc from 'fast-check';
import * as t from '../src/index.ts';
import { TYPED_VALUES, type TypedValues } from './arbitraries.ts';

/** Values at the ends of a type's range, and such as only a wrong order confuses. */
const EXTREMES: Readonly<Record<string, readonly unknown[]>> = {
  bool: [false, true],
  int2: [-32768, -1, 0, 1, 255, 256, 32767],
  int4: [-(2 ** 31), -65536, -1, 0, 1, 65535, 2 ** 31 - 1],
  int8: [-(2n ** 63n), -(2n ** 32n), -1n, 0n, 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n],
  float4: [-Infinity, -(2 ** 127), -1, -(2 ** -149), -0, 0, 2 ** -149, 1, 2 ** 127, Infinity, NaN],
  float8: [-Infinity, -Number.MAX_VALUE, -1, -5e-324, -0, 0, 5e-324, 1, 1 + 2 ** -52, Number.MAX_VALUE, Infinity, NaN],
  date: ['-infinity', '4713-01-01 BC', '1999-12-31', '2000-01-01', '2000-01-02', '5874897-12-31', 'infinity'],
  timestamptz: [
    '-infinity',
    '1999-12-31 23:59:59.999999+00',
    '2000-01-01 00:00:00+00',
    '2038-01-19 03:14:08+00',
    'infinity',
  ],
  text: [
    '',
    '\u0001',
    'a',
    'a ',
    'ab',
    'abcdef',
    'abcdefg',
    'abcdeg',
    'Z',
    'z',
    'é',
    '\uffff',
    '\u{10000}',
    'a'.repeat(500),
  ],
  varchar: ['', 'a', 'a ', 'a  ', 'b', 'ä'],
  char: [],
  bytea: ['', '00', '0000', '01', '6100', '61', 'ff', 'ff00'].map((hex) => Uint8Array.from(Buffer.from(hex, 'hex'))),
  uuid: ['0'.repeat(32), `${'0'.repeat(31)}1`, `1${'0'.repeat(31)}`, 'f'.repeat(32)],
  oid: [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1],
  name: ['', 'a', 'a'.repeat(63), 'a'.repeat(62), 'pg_class', 'é'],
  '"char"': ['', 'A', 'a', '\\200', '\\377'],
  numeric: ['0', '0.00', '-0.01', '0.01', '1', '-1', '9999', '10000', '-9999', '-10000', 'NaN'],
};
const WIDE_NUMERICS = [
  '1.0',
  '1.000000000000',
  '10000.0001',
  '10000.9999',
  '10001',
  '10000.00011',
  '99999999.9999',
  `1${'0'.repeat(300)}`,
  `-1${'0'.repeat(300)}`,
  `1${'0'.repeat(299)}.0`,
  `0.${'0'.repeat(300)}1`,
  `-0.${'0'.repeat(300)}1`,
  `1.${'0'.repeat(200)}1`,
  'Infinity',
  '-Infinity',
];

function extremesOf({ type }: TypedValues): readonly unknown[] {
  const common = EXTREMES[type.name];
  if (type.name === 'numeric')
    return type.typmod < 0 ? [...common, ...WIDE_NUMERICS] : common.map((v) => fitted(type, v));
  if (type.name === 'char') return ['', 'a', 'b', 'é'].map((v) => type.fromText(v));
  return common;
}

/** What a numeric column makes of a value, or 0 where it cannot hold it. */
function fitted(type: t.ColumnType, value: unknown): unknown {
  try {
    return type.fromText(String(value));
  } catch {
    return type.fromText('0');
  }
}

const similar = fc.stringMatching(/^(?:abcd|ab)?[abc\u0001é ]{0,7}$/);

export interface KeyType extends TypedValues {
  readonly extremes: readonly unknown[];
}

/** Every type that a key can have: what has no order is not among them. */
export const KEY_TYPES: readonly KeyType[] = TYPED_VALUES.filter(({ type }) => type.name !== 'xid').map((typed) => {
  const extremes = extremesOf(typed);
  const choices: fc.Arbitrary<unknown>[] = [typed.value, fc.constantFrom(...extremes)];
  if (typed.type.name === 'text' || typed.type.sqlName === 'character varying') choices.push(similar);
  if (typed.type.name === 'bytea')
    choices.push(fc.array(fc.constantFrom(0, 1, 255), { maxLength: 9 }).map((a) => Uint8Array.from(a)));
  if (typed.type.name === 'numeric') choices.push(fc.integer({ min: -30, max: 30 }).map((v) => fitted(typed.type, v)));
  return { type: typed.type, value: fc.oneof(...choices), extremes };
});

export const ASCENDING: t.KeyOrder = { descending: false, nullsFirst: false };

export const orders: fc.Arbitrary<t.KeyOrder> = fc.record({ descending: fc.boolean(), nullsFirst: fc.boolean() });

/** The tuple that the former made last, in memory of its own. */
export function kept(former: t.IndexTupleFormer): t.TupleMemory {
  return t.tupleMemory(former.memory.u8.slice(0, former.length));
}

/** A former for tuples of values, and of heap tuples with the same columns. */
export function formerOf(
  format: t.IndexTupleFormat,
  heap: t.TupleDescriptor,
  options: t.IndexTupleFormerOptions = {},
): t.IndexTupleFormer {
  return new t.IndexTupleFormer(
    format,
    heap,
    heap.columns.map((_, i) => i),
    options,
  );
}

/** Order of two values that can be null, as a key column of this order has it. */
export function modelOrder(type: t.ColumnType, { descending, nullsFirst }: t.KeyOrder, a: unknown, b: unknown): number {
  if (a === null || b === null) return a === b ? 0 : (a === null) === nullsFirst ? -1 : 1;
  const order = Math.sign(type.compare(a, b));
  return descending ? 0 - order : order;
}
