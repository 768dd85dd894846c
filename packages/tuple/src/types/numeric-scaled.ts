// Scaled integers (a double that is the value times 10^scale) to numeric's digits: the way in for batches.

import { StorageError } from '@blockwright/base';

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

/** The error for a scaled integer that its column cannot hold. */
export function scaledOverflow(value: number, typeName: string): Error {
  if (Number.isFinite(value) && !Number.isInteger(value))
    return new TypeError(`${value} in a vector of scaled integers is no whole number`);
  return new StorageError('22003', 'numeric field overflow', {
    detail: `the scaled integer ${value} has more digits than ${typeName}`,
  });
}
