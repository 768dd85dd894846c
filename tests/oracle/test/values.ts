// Values of every type: the borders, and random ones from a seed.
import {
  bool,
  bytea,
  type ColumnType,
  char,
  date,
  float4,
  float8,
  int2,
  int4,
  int8,
  numeric,
  text,
  timestamptz,
  uuid,
  varchar,
} from '@blockwright/tuple';
import fc from 'fast-check';

export interface TypeCase {
  readonly type: ColumnType;
  /** Always written, besides a null. */
  readonly borders: readonly unknown[];
  readonly random: fc.Arbitrary<unknown>;
  /** Texts to read, good and bad, some of which nobody prints. */
  readonly texts: readonly string[];
  /** Spellings of numbers that PostgreSQL reads and we refuse: hexadecimal and binary digits, underscores among digits. */
  readonly refused?: readonly string[];
}

function typeCase<V>(type: ColumnType<V>, of: Omit<TypeCase, 'type'>): TypeCase {
  return { type: type.nullable() as ColumnType, ...of };
}

function decimal(integer: bigint, scale: number): string {
  const digits = String(integer < 0n ? -integer : integer).padStart(scale + 1, '0');
  const shown = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  return integer < 0n ? `-${shown}` : shown;
}

/** Decimals of `scale` places below 10^precision, those of few digits as likely as those of many. */
function decimals(precision: number, scale: number): fc.Arbitrary<string> {
  return fc
    .tuple(fc.integer({ min: 1, max: precision }), fc.bigInt({ min: 0n, max: 10n ** BigInt(precision) }), fc.boolean())
    .map(([digits, n, minus]) => decimal((n % 10n ** BigInt(digits)) * (minus ? -1n : 1n), scale));
}

const padded = (value: number, digits: number): string => String(value).padStart(digits, '0');

function dates(lastYear: number): fc.Arbitrary<string> {
  const day = fc.tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 28 }));
  return fc
    .tuple(fc.oneof(fc.integer({ min: -4711, max: lastYear }), fc.integer({ min: 1900, max: 2100 })), day)
    .map(([year, [month, dayOfMonth]]) => {
      const shown = `${padded(year <= 0 ? 1 - year : year, 4)}-${padded(month, 2)}-${padded(dayOfMonth, 2)}`;
      return year <= 0 ? `${shown} BC` : shown;
    });
}

const instants: fc.Arbitrary<string> = fc
  .tuple(dates(294275), fc.nat(86_399), fc.oneof(fc.constant(0), fc.nat(999_999)))
  .map(([day, second, micros]) => {
    const time = [Math.floor(second / 3600), Math.floor(second / 60) % 60, second % 60].map((n) => padded(n, 2));
    const fraction = micros === 0 ? '' : `.${padded(micros, 6).replace(/0+$/, '')}`;
    const isBC = day.endsWith(' BC');
    return `${isBC ? day.slice(0, -3) : day} ${time.join(':')}${fraction}+00${isBC ? ' BC' : ''}`;
  });

/** No NUL, which no text has, and no half of a surrogate pair. */
const characters = (most: number): fc.Arbitrary<string> =>
  fc
    .array(
      fc.oneof(
        fc.integer({ min: 0x20, max: 0x7e }),
        fc.integer({ min: 1, max: 0x2fff }),
        fc.constantFrom(0xffff, 0x10ffff, 0x1f600),
      ),
      { maxLength: most },
    )
    .map((codes) => String.fromCodePoint(...codes));

const INT_TEXTS = ['', ' 12 ', '+7', '-0', '1.0', '1e3', '1__0', 'x', '99999999999999999999'];
const FLOAT_TEXTS = ['', ' 1 ', '1e', '.5', '5.', '1e400', '1e-400', 'infinity', '-inf', 'nan', '1,5', '- 1'];
const NUMERIC_TEXTS = ['', ' 1 ', '1e2', '.5', '5.', '-.5', '00012.50', '1e-5', 'NaN', 'nan', 'Infinity', '--1'];
const CHARACTER_TEXTS = ['', ' ', 'a', 'abc', 'abc      ', 'abcdefghij', 'äöü€😀xyz', '  lead'];

export const TYPE_CASES: readonly TypeCase[] = [
  typeCase(bool(), {
    borders: [true, false],
    random: fc.boolean(),
    texts: ['t', 'f', 'yes', 'no', 'on', 'off', 'of', 'o', '1', '0', ' TRUE ', 'tru', '', '2', 'truee'],
  }),
  typeCase(int2(), {
    borders: [-32768, -1, 0, 1, 32767],
    random: fc.integer({ min: -32768, max: 32767 }),
    texts: [...INT_TEXTS, '32767', '32768', '-32768', '-32769'],
    refused: ['0x1F', '0b101', '0o17', '1_000'],
  }),
  typeCase(int4(), {
    borders: [-2147483648, -1, 0, 2147483647],
    random: fc.integer(),
    texts: [...INT_TEXTS, '2147483647', '2147483648', '-2147483648', '-2147483649'],
    refused: ['0x1F', '0b101', '0o17', '1_000'],
  }),
  typeCase(int8(), {
    borders: [-(2n ** 63n), -1n, 0n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n + 1n, 2n ** 63n - 1n],
    random: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    texts: [...INT_TEXTS, '9223372036854775807', '9223372036854775808', '-9223372036854775808'],
    refused: ['0x1F', '0b101', '0o17', '1_000'],
  }),
  typeCase(float4(), {
    borders: [
      0,
      -0,
      NaN,
      Infinity,
      -Infinity,
      Math.fround(1e-45),
      1.1754943508222875e-38,
      3.4028234663852886e38,
      16777216,
      0.5,
    ],
    random: fc.float({ noNaN: false }),
    texts: [...FLOAT_TEXTS, '0.1', '3.4028236e38', '1e-46', '16777217', '1.00000001'],
    refused: ['0x10'],
  }),
  typeCase(float8(), {
    borders: [0, -0, NaN, Infinity, -Infinity, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 2 ** 53, 0.1],
    random: fc.oneof(fc.double(), fc.integer(), fc.double({ min: -1e7, max: 1e7 })),
    texts: [...FLOAT_TEXTS, '0.1', '1e15', '1e16', '123456789012345678', '1e-5', '0.0001', '9007199254740993'],
    refused: ['0x10'],
  }),
  typeCase(numeric(15, 2), {
    borders: ['0.00', '-0.01', '0.01', '9999999999999.99', '-9999999999999.99', '10000.00', '9999.99', 'NaN'],
    random: decimals(15, 2),
    texts: [...NUMERIC_TEXTS, '9999999999999.994', '9999999999999.995', '1.005', '-1.005', '1e13', '12.345678'],
  }),
  typeCase(numeric(40, 20), {
    borders: ['0.00000000000000000000', '-0.00000000000000000001', '99999999999999999999.99999999999999999999', 'NaN'],
    random: decimals(40, 20),
    texts: [...NUMERIC_TEXTS, '1e20', '0.000000000000000000005', '0.000000000000000000004'],
  }),
  typeCase(numeric(3, -2), {
    borders: ['0', '100', '-99900'],
    random: fc.constantFrom('1200', '-700', '0'),
    texts: ['149', '150', '-150', '99949', '99950', '50'],
  }),
  typeCase(numeric(3, 6), {
    borders: ['0.000000', '0.000999', '-0.000001'],
    random: fc.constantFrom('0.000120', '-0.000500'),
    texts: ['0.0009994', '0.0009995', '0.001'],
  }),
  typeCase(numeric(), {
    borders: [
      '0',
      '0.0',
      '-0.0000001',
      '100000',
      'NaN',
      'Infinity',
      '-Infinity',
      `1${'0'.repeat(131071)}`,
      `0.${'0'.repeat(16382)}1`,
      `${'9'.repeat(1500)}.${'8'.repeat(1500)}`,
    ],
    random: fc
      .tuple(decimals(60, 0), fc.integer({ min: 0, max: 70 }))
      .map(([integer, scale]) => decimal(BigInt(integer), scale)),
    texts: [
      ...NUMERIC_TEXTS,
      '-0',
      '0e10',
      '1e131071',
      '1e131072',
      '1e-16383',
      '1e-16384',
      '12e-3',
      '+inf',
      '-infinity',
    ],
    refused: ['0x1F', '1_0.5'],
  }),
  typeCase(date(), {
    borders: [
      '4714-11-24 BC',
      '0001-12-31 BC',
      '0001-01-01',
      '1999-12-31',
      '2000-01-01',
      '2000-02-29',
      '1900-03-01',
      '9999-12-31',
      '10000-01-01',
      '5874897-12-31',
      'infinity',
      '-infinity',
    ],
    random: dates(5874896),
    texts: [
      '2000-02-30',
      '1900-02-29',
      '2000-13-01',
      '2000-00-10',
      '0000-01-01',
      '4714-11-23 BC',
      '5874898-01-01',
      ' 2000-01-01 ',
      '2000-1-2',
      '',
      'x',
      'INFINITY',
      '2000-01-01 BC',
    ],
  }),
  typeCase(timestamptz(), {
    borders: [
      '4714-11-24 00:00:00+00 BC',
      '0001-12-31 23:59:59.999999+00 BC',
      '1999-12-31 23:59:59.999999+00',
      '2000-01-01 00:00:00+00',
      '1970-01-01 00:00:00.000001+00',
      '294276-12-31 23:59:59.999999+00',
      'infinity',
      '-infinity',
    ],
    random: instants,
    texts: [
      '2000-01-01 00:00:00+01',
      '2000-01-01 00:00:00-03:30',
      '2000-01-01 24:00:00+00',
      '2000-01-01 23:59:60+00',
      '2000-01-01 25:00:00+00',
      '2000-01-01 00:00:00.1234567+00',
      '2000-01-01 00:00:00.9999999+00',
      '2000-01-01',
      '2000-01-01T10:00:00Z',
      '294277-01-01 00:00:00+00',
      '4714-11-23 23:59:59+00 BC',
      '2000-02-30 00:00:00+00',
      '',
      'x',
    ],
  }),
  typeCase(char(1), {
    borders: ['a', ' ', 'ä', '😀'],
    random: characters(1).map((s) => s.padEnd(1)),
    texts: CHARACTER_TEXTS,
  }),
  typeCase(char(7), {
    borders: ['       ', 'abc    ', 'äöü€😀xy', ' lead  '],
    random: characters(7).map((s) => s + ' '.repeat(7 - [...s].length)),
    texts: CHARACTER_TEXTS,
  }),
  typeCase(varchar(9), {
    borders: ['', '         ', 'abcdefghi', '€€€€€€€€€'],
    random: characters(9),
    texts: CHARACTER_TEXTS,
  }),
  typeCase(text(), {
    borders: [
      '',
      ' ',
      'x'.repeat(126),
      'x'.repeat(127),
      'x'.repeat(1900),
      'abc'.repeat(2500),
      'é'.repeat(63),
      '\\',
      "'",
    ],
    random: characters(150),
    texts: CHARACTER_TEXTS,
  }),
  typeCase(bytea(), {
    borders: [new Uint8Array(), new Uint8Array(126), new Uint8Array(127), new Uint8Array(7000), Uint8Array.of(0, 255)],
    random: fc.uint8Array({ maxLength: 150 }),
    texts: ['', '\\x', '\\x00FF', '\\x 00 ff', '\\x0', '\\xzz', 'abc', '\\\\', '\\001\\377', '\\400', '\\0', 'a\\'],
  }),
  typeCase(uuid(), {
    borders: ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
    random: fc.uuid(),
    texts: [
      'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11',
      '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}',
      'a0eebc999c0b4ef8bb6d6bb9bd380a11',
      'a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11',
      'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1',
      'x',
      '',
    ],
  }),
];
