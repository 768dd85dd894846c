// numeric's text taken in: grammar, rounding to a column's scale, overflow of its precision.

import { StorageError } from '@blockwright/base';
import { NUMERIC_DSCALE_MAX, NUMERIC_INTEGER_DIGITS_MAX, type NumericParts, specialParts } from './numeric-format.ts';

const FORM = /^([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d{1,10}))?$/;
const SPECIALS: Readonly<Record<string, 'NaN' | 'Infinity' | '-Infinity'>> = {
  nan: 'NaN',
  infinity: 'Infinity',
  inf: 'Infinity',
  '+infinity': 'Infinity',
  '+inf': 'Infinity',
  '-infinity': '-Infinity',
  '-inf': '-Infinity',
};

/** Precision and scale of a column; `undefined` for numeric without limits. Scale may be negative or exceed precision. */
export interface NumericLimits {
  readonly precision: number;
  readonly scale: number;
}

/**
 * Parses a numeric and fits it to a column.
 * @throws StorageError 22P02 when the text is no number, 22003 when it does not fit. PostgreSQL: `numeric_in`.
 */
export function parseNumeric(text: string, limits: NumericLimits | undefined): NumericParts {
  const trimmed = text.trim();
  const match = FORM.exec(trimmed);
  if (match === null) {
    const special = Object.hasOwn(SPECIALS, trimmed.toLowerCase()) ? SPECIALS[trimmed.toLowerCase()] : undefined;
    if (special === undefined)
      throw new StorageError('22P02', `invalid input syntax for type numeric: "${shorten(text)}"`);
    if (limits !== undefined && special !== 'NaN') throw fieldOverflow(limits, true);
    return specialParts(special);
  }
  const whole = match[2] ?? '';
  const fraction = match[3] ?? match[4] ?? '';
  const exponent = Number(match[5] ?? 0);
  const digits = (whole + fraction).replace(/^0+/, '');
  // Place of the decimal point, counted in digits from the first of `digits`.
  const point = whole.length + exponent - (whole.length + fraction.length - digits.length);
  const dscale = Math.max(0, fraction.length - exponent);
  if (digits !== '' && point > NUMERIC_INTEGER_DIGITS_MAX)
    throw new StorageError('22003', 'value overflows numeric format');
  if (limits === undefined) {
    if (dscale > NUMERIC_DSCALE_MAX) throw new StorageError('22003', 'value overflows numeric format');
    return assemble(match[1] === '-', digits, point, dscale);
  }
  const rounded = roundDigits(digits, point, limits.scale);
  if (rounded.digits !== '' && rounded.point > limits.precision - limits.scale) throw fieldOverflow(limits, false);
  return assemble(match[1] === '-', rounded.digits, rounded.point, Math.max(0, limits.scale));
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function fieldOverflow({ precision, scale }: NumericLimits, infinite: boolean): StorageError {
  const limit = precision - scale;
  return new StorageError('22003', 'numeric field overflow', {
    detail: infinite
      ? `A field with precision ${precision}, scale ${scale} cannot hold an infinite value.`
      : `A field with precision ${precision}, scale ${scale} must round to an absolute value less than ${limit === 0 ? '1' : `10^${limit}`}.`,
  });
}

/** Rounds half away from zero to `scale` digits after the point; leading zeros are cut again. */
function roundDigits(digits: string, point: number, scale: number): { digits: string; point: number } {
  const keep = point + scale;
  if (keep >= digits.length) return { digits, point };
  if (keep < 0) return { digits: '', point: 0 };
  const up = digits.charCodeAt(keep) >= 0x35;
  const kept = digits.slice(0, keep);
  if (!up) return { digits: kept, point };
  let i = keep - 1;
  while (i >= 0 && kept[i] === '9') i--;
  if (i < 0) return { digits: `1${'0'.repeat(keep)}`, point: point + 1 };
  return { digits: kept.slice(0, i) + String(Number(kept[i]) + 1) + '0'.repeat(keep - 1 - i), point };
}

/** Groups decimal digits by fours around the point, and cuts zero digits off both ends. */
function assemble(negative: boolean, decimal: string, point: number, dscale: number): NumericParts {
  if (/^0*$/.test(decimal)) return { special: '', negative: false, weight: 0, dscale, digits: [] };
  // A group ends at the point: pad on the left so that the first group is whole.
  const left = (((-point % 4) + 4) % 4) as number;
  const padded = '0'.repeat(left) + decimal;
  let weight = (point + left) / 4 - 1;
  const digits: number[] = [];
  for (let i = 0; i < padded.length; i += 4) digits.push(Number(padded.slice(i, i + 4).padEnd(4, '0')));
  let first = 0;
  while (digits[first] === 0) first++;
  weight -= first;
  let last = digits.length;
  while (digits[last - 1] === 0) last--;
  return { special: '', negative, weight, dscale, digits: digits.slice(first, last) };
}
