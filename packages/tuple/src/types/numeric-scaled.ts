// Scaled integers (a double that is the value times 10^scale) to numeric's digits and back, for columns of up to 15 digits.

import { StorageError } from '@blockwright/base';
import { readScaled } from './numeric-format.ts';

const digits = new Uint16Array(8);

/**
 * Writes the payload of a numeric that is `value` / 10^scale, with `scale` decimals shown, and returns the byte after it.
 * `value` is a whole number below 10^15 in magnitude, `scale` is 0 to 15, and `out` has 18 bytes of room at `at`.
 */
export function writeScaled(out: Uint8Array, at: number, value: number, scale: number): number {
  const magnitude = value < 0 ? -value : value;
  const unit = 10 ** scale;
  const whole = Math.floor(magnitude / unit);
  const groups = (scale + 3) >> 2;
  let rest = (magnitude - whole * unit) * 10 ** (groups * 4 - scale);
  // Fraction digits from the last, then whole digits from the last: digits[7] is the least significant.
  let i = 8;
  for (let g = 0; g < groups; g++) {
    const next = Math.floor(rest / 10000);
    digits[--i] = rest - next * 10000;
    rest = next;
  }
  for (rest = whole; rest > 0; ) {
    const next = Math.floor(rest / 10000);
    digits[--i] = rest - next * 10000;
    rest = next;
  }
  let weight = 7 - groups - i;
  let end = 8;
  while (end > i && digits[end - 1] === 0) end--;
  while (i < end && digits[i] === 0) {
    i++;
    weight--;
  }
  if (i === end) weight = 0;
  const header = 0x8000 | (value < 0 && i < end ? 0x2000 : 0) | (scale << 7) | (weight & 0x7f);
  out[at++] = header;
  out[at++] = header >> 8;
  for (; i < end; i++) {
    out[at++] = digits[i];
    out[at++] = digits[i] >> 8;
  }
  return at;
}

const POWERS: readonly number[] = Array.from({ length: 20 }, (_, i) => 10 ** i);

/**
 * A numeric's payload times 10^scale, for columns of at most 15 digits: up to four digits of the short form here, the
 * rest, and all that may be wrong, in {@link readScaled}.
 * @throws StorageError XX001 when the bytes are no numeric of such a column.
 */
export function readScaledQuick(u8: Uint8Array, at: number, length: number, scale: number): number {
  const header = u8[at] | (u8[at + 1] << 8);
  // Power of ten of the last digit, counted in units of the scale.
  const power = ((((header & 0x7f) << 25) >> 25) - ((length - 4) >> 1)) * 4 + scale;
  if ((header & 0xc000) !== 0x8000 || length < 4 || length > 10 || (length & 1) !== 0 || power < -3 || power > 12)
    return readScaled(u8, at, length, scale);
  let value = 0;
  let wrong = 0;
  const last = at + length - 2;
  for (let p = at + 2; p < last; p += 2) {
    const digit = u8[p] | (u8[p + 1] << 8);
    wrong |= 9999 - digit;
    value = value * 10000 + digit;
  }
  const digit = u8[last] | (u8[last + 1] << 8);
  wrong |= 9999 - digit;
  if (power >= 0) value = (value * 10000 + digit) * POWERS[power];
  else {
    const part = digit / POWERS[-power];
    if (Math.floor(part) !== part) wrong = -1;
    value = value * POWERS[4 + power] + part;
  }
  if (wrong < 0 || value > Number.MAX_SAFE_INTEGER || value === 0) return readScaled(u8, at, length, scale);
  return (header & 0x2000) !== 0 ? -value : value;
}

/** The scaled integer that a plain decimal text spells (sign, digits, point), or NaN when that needs the careful way. */
export function scaledOfText(text: string, scale: number): number {
  const length = text.length;
  if (length > 17) return Number.NaN;
  const isNegative = text.charCodeAt(0) === 0x2d;
  let value = 0;
  let point = -1;
  for (let i = isNegative ? 1 : 0; i < length; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    if (digit >= 0 && digit <= 9) value = value * 10 + digit;
    else if (digit === -2 && point < 0) point = i;
    else return Number.NaN;
  }
  const decimals = point < 0 ? 0 : length - 1 - point;
  if (decimals > scale || length - (isNegative ? 1 : 0) - (point < 0 ? 0 : 1) < 1) return Number.NaN;
  value *= POWERS[scale - decimals];
  return isNegative ? -value : value;
}

/** The text of a scaled integer: 1234 at scale 2 is `12.34`. NaN and infinities stay themselves. */
export function scaledText(value: number, scale: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (scale === 0) return String(value === 0 ? 0 : value);
  const digits = String(Math.abs(value)).padStart(scale + 1, '0');
  const point = digits.length - scale;
  const text = `${digits.slice(0, point)}.${digits.slice(point)}`;
  return value < 0 ? `-${text}` : text;
}

/** The error for a scaled integer that its column cannot hold. */
export function scaledOverflow(value: number, typeName: string): Error {
  if (Number.isFinite(value) && !Number.isInteger(value))
    return new TypeError(`${value} in a vector of scaled integers is no whole number`);
  return new StorageError('22003', 'numeric field overflow', {
    detail: `the scaled integer ${value} has more digits than ${typeName}`,
  });
}
