// numeric against plain BigInt arithmetic: rounding, overflow, order, the stored form.

import { isStorageError } from '@blockwright/base';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteSink } from '../src/byte-sink.ts';
import { BatchDecoder, numeric, type ScaledVector, TupleDescriptor, TupleEncoder, tupleMemory } from '../src/index.ts';
import { appendNumeric, compareNumeric, numericText, readNumeric, readScaled } from '../src/types/numeric-format.ts';
import { readScaledQuick, scaledOfText, scaledText, writeScaled } from '../src/types/numeric-scaled.ts';
import { parseNumeric } from '../src/types/numeric-text.ts';
import { decimalText } from './arbitraries.ts';

interface Decimal {
  /** The value is integer / 10^scale. */
  readonly integer: bigint;
  readonly scale: number;
}
const decimals: fc.Arbitrary<Decimal> = fc.record({
  integer: fc.oneof(
    fc.bigInt({ min: -(10n ** 45n), max: 10n ** 45n }),
    fc.bigInt({ min: -100000n, max: 100000n }),
    fc.tuple(fc.bigInt({ min: -9999n, max: 9999n }), fc.nat(40)).map(([d, zeros]) => d * 10n ** BigInt(zeros)),
  ),
  scale: fc.nat(60),
});
const text = ({ integer, scale }: Decimal): string => decimalText(integer, scale);

/** Half away from zero, by division. */
function rounded({ integer, scale }: Decimal, to: number): bigint {
  const drop = scale - to;
  if (drop <= 0) return integer * 10n ** BigInt(-drop);
  const unit = 10n ** BigInt(drop);
  const magnitude = integer < 0n ? -integer : integer;
  const up = (magnitude + unit / 2n) / unit;
  return integer < 0n ? -up : up;
}

function stored(value: string): Uint8Array {
  const sink = new ByteSink();
  appendNumeric(sink, parseNumeric(value, undefined));
  return sink.bytes.slice(0, sink.length);
}

describe('numeric', () => {
  test('a column rounds half away from zero and refuses what has too many digits', () => {
    fc.assert(
      fc.property(
        decimals,
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: -12, max: 45 }),
        (d, precision, scale) => {
          const integer = rounded(d, scale);
          const fits = (integer < 0n ? -integer : integer) < 10n ** BigInt(precision);
          const type = numeric(precision, scale);
          if (fits) {
            const shown = scale >= 0 ? decimalText(integer, scale) : String(integer * 10n ** BigInt(-scale));
            expect(type.fromText(text(d))).toBe(shown === '-0' ? '0' : shown.replace(/^-(0(\.0*)?)$/, '$1'));
          } else {
            const error = caught(() => type.fromText(text(d)));
            expect(isStorageError(error) && error.code).toBe('22003');
          }
        },
      ),
      { numRuns: 600 },
    );
  });

  test('an exponent moves the point', () => {
    fc.assert(
      fc.property(decimals, fc.integer({ min: -40, max: 40 }), (d, exponent) => {
        const scale = d.scale - exponent;
        const moved = scale >= 0 ? d : { integer: d.integer * 10n ** BigInt(-scale), scale: 0 };
        expect(numeric().fromText(`${text(d)}e${exponent}`)).toBe(
          numeric().fromText(text({ integer: moved.integer, scale: Math.max(0, scale) })),
        );
      }),
    );
  });

  test('the order is that of the values, whatever their scales', () => {
    fc.assert(
      fc.property(decimals, decimals, fc.nat(20), (a, b, more) => {
        const scale = Math.max(a.scale, b.scale);
        const [x, y] = [rounded(a, scale), rounded(b, scale)];
        expect(numeric().compare(text(a), text(b))).toBe(x < y ? -1 : x > y ? 1 : 0);
        const longer = { integer: a.integer * 10n ** BigInt(more), scale: a.scale + more };
        expect(numeric().compare(text(a), text(longer))).toBe(0);
      }),
      { numRuns: 400 },
    );
    const order = ['-Infinity', '-1e30', '-1', '-0.5', '0', '0.5', '1', '10000', '1e30', 'Infinity', 'NaN'];
    for (let i = 0; i < order.length; i++)
      for (let j = 0; j < order.length; j++) expect(numeric().compare(order[i], order[j])).toBe(Math.sign(i - j));
  });

  test('the stored form has no leading or trailing zero digit, is short when it can be, and reads back', () => {
    fc.assert(
      fc.property(decimals, fc.constantFrom('', 'e70', 'e-70', 'e300', 'e-300'), (d, exponent) => {
        const value = numeric().fromText(text(d) + exponent);
        const bytes = stored(value);
        const parts = readNumeric(bytes, 0, bytes.length);
        expect(numericText(parts)).toBe(value);
        if (parts.digits.length > 0) expect(parts.digits[0] !== 0 && parts.digits.at(-1) !== 0).toBe(true);
        const canBeShort = parts.dscale <= 63 && parts.weight >= -64 && parts.weight <= 63;
        expect((bytes[1] & 0x80) !== 0).toBe(canBeShort);
        expect(bytes.length).toBe((canBeShort ? 2 : 4) + parts.digits.length * 2);
        expect(compareNumeric(parts, parseNumeric(value, undefined))).toBe(0);
      }),
      { numRuns: 400 },
    );
  });

  test('bytes that are no numeric are refused', () => {
    for (const bytes of [
      [],
      [0],
      [0, 0xc0, 0],
      [0, 0xe0],
      [1, 0xc0, 1, 0],
      [0, 0],
      [0x81, 0x80, 0x10, 0x27],
      [0, 0, 0, 0, 0x10, 0x27],
    ]) {
      const error = caught(() => readNumeric(Uint8Array.from(bytes), 0, bytes.length));
      expect([bytes, isStorageError(error) && error.code]).toEqual([bytes, 'XX001']);
    }
  });
});

describe('scaled integers', () => {
  const columns = fc.tuple(fc.integer({ min: 1, max: 15 }), fc.nat(15)).chain(([precision, scale]) =>
    fc.tuple(
      fc.constant(precision),
      fc.constant(Math.min(scale, 15)),
      fc
        .oneof(
          fc.maxSafeNat(),
          fc.nat(100_000),
          fc.nat(9999).map((n) => n * 10_000),
        )
        .map((n) => n % 10 ** precision),
      fc.boolean(),
    ),
  );

  test('are written as the numeric of their text, and read back', () => {
    fc.assert(
      fc.property(columns, ([, scale, magnitude, isNegative]) => {
        const value = isNegative ? 0 - magnitude : magnitude;
        const shown = decimalText(BigInt(value), scale);
        expect(scaledText(value, scale)).toBe(shown);
        const out = new Uint8Array(40).fill(0xee);
        const end = writeScaled(out, 3, value, scale);
        expect(out.slice(3, end)).toEqual(stored(shown));
        expect(out[end]).toBe(0xee);
        expect(readScaled(out, 3, end - 3, scale)).toBe(value);
        expect(readScaledQuick(out, 3, end - 3, scale)).toBe(value);
        if (shown.length <= 17) expect(scaledOfText(shown, scale)).toBe(isNegative && value === 0 ? 0 : value);
      }),
      { numRuns: 1000 },
    );
  });

  test('every two-decimal value of up to two digits', () => {
    const out = new Uint8Array(24);
    for (let value = -20_000; value <= 1_000_000; value += value < 20_000 ? 1 : 97) {
      const end = writeScaled(out, 0, value, 2);
      if (readScaledQuick(out, 0, end, 2) !== value) expect.fail(`${value} came back otherwise`);
    }
  });

  test('generated code decodes every fraction at every scale that it has in line', () => {
    for (let scale = 0; scale <= 4; scale++) {
      const type = numeric(12, scale);
      const descriptor = TupleDescriptor.of([{ name: 'x', type }]);
      const wanted: number[] = [];
      for (const whole of [0, 7, 10_000, 10_007, 99_999_999])
        for (let fraction = 0; fraction < 10 ** scale; fraction++) wanted.push(whole * 10 ** scale + fraction);
      const values = Float64Array.from(wanted);
      const bytes = new Uint8Array(wanted.length * 40 + 1024);
      const encoder = TupleEncoder.for(descriptor);
      const lengths = wanted.map((_, i) =>
        encoder.encodeVectors([{ kind: 'scaled', values, scale, nulls: undefined }], i, bytes, i * 40),
      );
      const decoder = BatchDecoder.for(descriptor);
      const vectors = decoder.createVectors(wanted.length);
      decoder.decode(
        tupleMemory(bytes),
        wanted.map((_, i) => i * 40),
        lengths,
        wanted.length,
        vectors,
        0,
      );
      expect(Buffer.from((vectors[0] as ScaledVector).values.buffer).equals(Buffer.from(values.buffer))).toBe(true);
    }
  });

  test('more decimals than the column has, or more digits, are refused', () => {
    const wrong = [
      ['0.001', 2],
      ['1234.5678', 2],
      ['9007199254740993', 0],
      ['123456789012345678', 2],
    ] as const;
    for (const [value, scale] of wrong) {
      const bytes = stored(value);
      for (const read of [readScaled, readScaledQuick]) {
        const error = caught(() => read(bytes, 0, bytes.length, scale));
        expect([value, isStorageError(error) && error.code]).toEqual([value, 'XX001']);
      }
    }
  });

  test('a text that is not plain is left to the careful way', () => {
    for (const odd of ['', '-', '.', '1.2.3', '1e5', ' 1', '+1', 'NaN', '1.234', '12345678901234567890', '--1', '1-'])
      expect([odd, scaledOfText(odd, 2)]).toEqual([odd, Number.NaN]);
    expect([scaledOfText('5.', 2), scaledOfText('.5', 2), scaledOfText('-7', 2)]).toEqual([500, 50, -700]);
  });
});

function caught(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}
