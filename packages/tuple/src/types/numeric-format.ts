// numeric's bytes: base-10000 digits behind a short or a long header, both ways, exact.
//
//   short (weight -64..63, dscale 0..63)       long
//   +--------+--------+------+------+--        +--------+--------+--------+--------+------+--
//   | n_header        | d[0] | d[1] | …        | n_sign_dscale   | n_weight        | d[0] | …
//   +--------+--------+------+------+--        +--------+--------+--------+--------+------+--
//
//   | field         | bits          | meaning                                                       |
//   |---------------|---------------|---------------------------------------------------------------|
//   | n_header      | 15..14 = 10   | short form                                                    |
//   |               | 13            | negative                                                      |
//   |               | 12..7         | dscale: decimal digits shown after the point                  |
//   |               | 6 and 5..0    | weight: power of 10000 of d[0], two's complement in 7 bits    |
//   | n_sign_dscale | 15..14        | 00 positive, 01 negative, 11 special                          |
//   |               | 13..0         | dscale (long form)                                            |
//   |               | 15..12        | special: 1100 NaN, 1101 Infinity, 1111 -Infinity; nothing follows |
//   | n_weight      | int16         | weight (long form)                                            |
//   | d[i]          | uint16 0..9999| digit of weight `weight - i`; no leading or trailing zero digit |
//
// PostgreSQL: numeric.c (NumericShort, NumericLong, make_result).

import { StorageError } from '@blockwright/base';
import type { ByteSink } from '../byte-sink.ts';
import { badBytes } from '../errors.ts';

/** A numeric taken apart. `special` is '' for a finite value; then sign, weight, dscale and digits hold. */
export interface NumericParts {
  readonly special: '' | 'NaN' | 'Infinity' | '-Infinity';
  readonly negative: boolean;
  /** Power of 10000 of the first digit. */
  readonly weight: number;
  /** Decimal digits after the point, as shown. */
  readonly dscale: number;
  /** Base-10000 digits without leading and trailing zeros. */
  readonly digits: readonly number[];
}

export const NUMERIC_DSCALE_MAX = 0x3fff;
/** Most decimal digits before the point that the format is allowed to hold. */
export const NUMERIC_INTEGER_DIGITS_MAX = 131072;

const NO_DIGITS: readonly number[] = [];

export function specialParts(special: 'NaN' | 'Infinity' | '-Infinity'): NumericParts {
  return { special, negative: false, weight: 0, dscale: 0, digits: NO_DIGITS };
}

/**
 * Appends a numeric's payload (what follows the varlena header).
 * @throws StorageError 22003 when weight or scale pass the format's limits.
 */
export function appendNumeric(sink: ByteSink, parts: NumericParts): void {
  const { digits, weight, dscale } = parts;
  sink.reserve(4 + digits.length * 2);
  const bytes = sink.bytes;
  let at = sink.length;
  if (parts.special !== '') {
    bytes[at++] = 0;
    bytes[at++] = parts.special === 'NaN' ? 0xc0 : parts.special === 'Infinity' ? 0xd0 : 0xf0;
    sink.length = at;
    return;
  }
  if (dscale <= 63 && weight >= -64 && weight <= 63) {
    const header = 0x8000 | (parts.negative ? 0x2000 : 0) | (dscale << 7) | (weight & 0x7f);
    bytes[at++] = header;
    bytes[at++] = header >> 8;
  } else {
    if (dscale > NUMERIC_DSCALE_MAX || weight > 32767 || weight < -32768)
      throw new StorageError('22003', 'value overflows numeric format');
    const header = (parts.negative ? 0x4000 : 0) | dscale;
    bytes[at++] = header;
    bytes[at++] = header >> 8;
    bytes[at++] = weight;
    bytes[at++] = weight >> 8;
  }
  for (const digit of digits) {
    bytes[at++] = digit;
    bytes[at++] = digit >> 8;
  }
  sink.length = at;
}

/**
 * Takes a numeric's payload apart.
 * @throws StorageError XX001 when the bytes are no numeric.
 */
export function readNumeric(u8: Uint8Array, at: number, length: number): NumericParts {
  if (length < 2 || (length & 1) !== 0) throw badBytes(`a numeric of ${length} bytes`);
  const header = u8[at] | (u8[at + 1] << 8);
  let negative: boolean;
  let weight: number;
  let dscale: number;
  let first = at + 2;
  if ((header & 0xc000) === 0xc000) {
    const kind = header & 0xf000;
    if (length !== 2 || kind === 0xe000) throw badBytes(`a special numeric with header 0x${header.toString(16)}`);
    return specialParts(kind === 0xc000 ? 'NaN' : kind === 0xd000 ? 'Infinity' : '-Infinity');
  }
  if ((header & 0x8000) !== 0) {
    negative = (header & 0x2000) !== 0;
    dscale = (header >> 7) & 0x3f;
    weight = ((header & 0x7f) << 25) >> 25;
  } else {
    if (length < 4) throw badBytes(`a numeric of long form in ${length} bytes`);
    negative = (header & 0x4000) !== 0;
    dscale = header & 0x3fff;
    weight = ((u8[at + 2] | (u8[at + 3] << 8)) << 16) >> 16;
    first = at + 4;
  }
  const digits: number[] = [];
  for (let p = first; p < at + length; p += 2) {
    const digit = u8[p] | (u8[p + 1] << 8);
    if (digit > 9999) throw badBytes(`a numeric digit of ${digit}, above 9999`);
    digits.push(digit);
  }
  return { special: '', negative, weight, dscale, digits };
}

/** The value times 10^scale as an exact double, for columns of at most 15 digits. NaN and infinities stay themselves. */
export function readScaled(u8: Uint8Array, at: number, length: number, scale: number): number {
  const parts = readNumeric(u8, at, length);
  if (parts.special !== '') return Number(parts.special);
  const { digits, weight } = parts;
  let total = 0;
  for (let i = 0; i < digits.length; i++) {
    const power = (weight - i) * 4 + scale;
    const digit = digits[i];
    if (digit === 0) continue;
    if (power >= 0) total += power > 15 ? Number.POSITIVE_INFINITY : digit * 10 ** power;
    else {
      const part = power > -5 ? digit / 10 ** -power : 0.5;
      if (!Number.isInteger(part)) throw badBytes(`a numeric with more than the ${scale} decimals of its column`);
      total += part;
    }
  }
  if (total > Number.MAX_SAFE_INTEGER) throw badBytes('a numeric with more digits than its column has');
  return parts.negative && total !== 0 ? -total : total;
}

/** A numeric's text, as PostgreSQL prints it. PostgreSQL: `numeric_out`. */
export function numericText(parts: NumericParts): string {
  if (parts.special !== '') return parts.special;
  const { digits, weight, dscale } = parts;
  let text = '';
  for (let i = 0; i <= weight; i++) {
    const digit = i < digits.length ? digits[i] : 0;
    text += text === '' ? (digit === 0 ? '' : String(digit)) : String(digit).padStart(4, '0');
  }
  if (text === '') text = '0';
  if (dscale > 0) {
    let fraction = '';
    for (let power = -1; fraction.length < dscale; power--) {
      const i = weight - power;
      fraction += String(i >= 0 && i < digits.length ? digits[i] : 0).padStart(4, '0');
    }
    text += `.${fraction.slice(0, dscale)}`;
  }
  return parts.negative ? `-${text}` : text;
}

/** Order of two numerics by value: -Infinity first, then the finite, Infinity, NaN. PostgreSQL: `cmp_numerics`. */
export function compareNumeric(a: NumericParts, b: NumericParts): number {
  const rankA = rank(a);
  const rankB = rank(b);
  if (rankA !== rankB) return rankA < rankB ? -1 : 1;
  if (a.special !== '') return 0;
  const magnitude = compareMagnitude(a, b);
  return rankA < 0 ? 0 - magnitude : magnitude;
}

function rank(parts: NumericParts): number {
  if (parts.special !== '') return parts.special === 'NaN' ? 3 : parts.special === 'Infinity' ? 2 : -2;
  return parts.digits.length === 0 ? 0 : parts.negative ? -1 : 1;
}

function compareMagnitude(a: NumericParts, b: NumericParts): number {
  if (a.weight !== b.weight && a.digits.length > 0 && b.digits.length > 0) return a.weight < b.weight ? -1 : 1;
  const most = Math.max(a.digits.length, b.digits.length);
  for (let i = 0; i < most; i++) {
    const x = i < a.digits.length ? a.digits[i] : 0;
    const y = i < b.digits.length ? b.digits[i] : 0;
    if (x !== y) return x < y ? -1 : 1;
  }
  return 0;
}
