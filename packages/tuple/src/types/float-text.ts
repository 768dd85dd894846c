// float4 and float8 as text: the fewest digits that read back as the same number, in PostgreSQL's layout.

import { StorageError } from '@blockwright/base';

const FORM = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

interface Decimal {
  /** Significant decimal digits, no leading or trailing zero. */
  readonly digits: string;
  /** Power of ten of the first digit. */
  readonly exponent: number;
}

/** A float8's text. PostgreSQL: `float8out` with extra_float_digits above 0. */
export function float8Text(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const magnitude = Math.abs(value);
  let decimal = decimalOf(magnitude.toExponential());
  // PostgreSQL takes no digits that lie exactly between two doubles, though rounding to even would read them back.
  // Below 2^53 such a midpoint has more digits than any shortest form.
  for (let precision = decimal.digits.length; magnitude >= 2 ** 53 && isMidpoint8(decimal, magnitude); precision++)
    decimal = readsBack(magnitude.toExponential(precision), magnitude) ?? decimal;
  return layOut(value < 0, decimal, 15);
}

function readsBack(text: string, magnitude: number): Decimal | undefined {
  return Number(text) === magnitude ? decimalOf(text) : undefined;
}

/** A float4's text. PostgreSQL: `float4out`. */
export function float4Text(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  return layOut(value < 0, shortest4(Math.abs(value)), 6);
}

function decimalOf(text: string): Decimal {
  const [mantissa, power] = Number(text) === 0 ? ['0', '0'] : exponential(text);
  return { digits: mantissa.replace(/0+$/, ''), exponent: Number(power) };
}

/** Digits without the point, and the power of ten of the first of them. */
function exponential(text: string): [string, string] {
  const e = text.indexOf('e');
  const mantissa = e < 0 ? text : text.slice(0, e);
  const digits = mantissa.replace('.', '');
  const lead = /^0*/.exec(digits)?.[0].length ?? 0;
  const point = mantissa.includes('.') ? mantissa.indexOf('.') : mantissa.length;
  return [digits.slice(lead), String((e < 0 ? 0 : Number(text.slice(e + 1))) + point - 1 - lead)];
}

function layOut(negative: boolean, { digits, exponent }: Decimal, fixedBelow: number): string {
  const sign = negative ? '-' : '';
  if (exponent < -4 || exponent >= fixedBelow) {
    const power = String(Math.abs(exponent)).padStart(2, '0');
    const rest = digits.length > 1 ? `.${digits.slice(1)}` : '';
    return `${sign}${digits[0]}${rest}e${exponent < 0 ? '-' : '+'}${power}`;
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  if (digits.length <= exponent + 1) return sign + digits.padEnd(exponent + 1, '0');
  return `${sign}${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`;
}

/** Whether the decimal (a whole number) lies exactly between `value` (at least 2^53, so whole too) and a neighbour. */
function isMidpoint8({ digits, exponent }: Decimal, value: number): boolean {
  if (exponent - digits.length + 1 < 0) return false;
  const gap = BigInt(digits) * 10n ** BigInt(exponent - digits.length + 1) - BigInt(value);
  if (gap === 0n) return false;
  const bits = new BigUint64Array(new Float64Array([value]).buffer);
  bits[0] += gap > 0n ? 1n : -1n;
  const neighbour = new Float64Array(bits.buffer)[0];
  if (neighbour === Number.POSITIVE_INFINITY) return false;
  return gap * 2n === BigInt(neighbour) - BigInt(value);
}

const word = new Uint32Array(1);
const single = new Float32Array(word.buffer);

function neighbour4(value: number, step: number): number {
  single[0] = value;
  word[0] += step;
  return single[0];
}

function shortest4(value: number): Decimal {
  const above = neighbour4(value, 1);
  const upper = above === Number.POSITIVE_INFINITY ? value + (value - neighbour4(value, -1)) / 2 : (value + above) / 2;
  const lower = (value + neighbour4(value, -1)) / 2; // exact in a double, as is upper
  for (let precision = 1; precision < 9; precision++) {
    const decimal = nearestInside(value, lower, upper, precision);
    if (decimal !== undefined) return decimal;
  }
  return decimalOf(value.toPrecision(9));
}

/** The decimal of `precision` digits nearest to `value`, if it (or the one above it) lies strictly inside the bounds. */
function nearestInside(value: number, lower: number, upper: number, precision: number): Decimal | undefined {
  const text = evenExponential(value, precision - 1);
  if (strictlyInside(text, lower, upper)) return decimalOf(text);
  // Below a power of two the interval is half as wide as above it: the nearest may fall out and the next one up not.
  const [digits, power] = exponential(text);
  const next = `${BigInt(digits) + 1n}e${Number(power) - precision + 1}`;
  return strictlyInside(next, lower, upper) ? decimalOf(Number(next).toExponential(precision - 1)) : undefined;
}

/** As toExponential, but a value right between two decimals goes to the even one, not to the larger. */
function evenExponential(value: number, fractionDigits: number): string {
  const text = value.toExponential(fractionDigits);
  const [digits, power] = exponential(text);
  if ('02468'.includes(digits.at(-1) as string)) return text;
  const below = `${BigInt(digits) - 1n}e${Number(power) - fractionDigits}`;
  const between = `${BigInt(digits) * 10n - 5n}e${Number(power) - fractionDigits - 1}`;
  return compareDecimal(between, value) === 0 ? below : text;
}

function strictlyInside(text: string, lower: number, upper: number): boolean {
  const read = Number(text);
  if (read < lower || read > upper) return false;
  if (read > lower && read < upper) return true;
  return compareDecimal(text, read) === (read === lower ? 1 : -1) && lower !== upper;
}

/** Sign of (the decimal `text`) - (the double `value`), exactly. Both are positive. */
function compareDecimal(text: string, value: number): number {
  const [digits, power] = exponential(text);
  const tens = Number(power) - digits.length + 1;
  let left = BigInt(digits);
  let exponent2 = 0;
  let mantissa = value;
  while (!Number.isInteger(mantissa)) {
    mantissa *= 2;
    exponent2++;
  }
  let right = BigInt(mantissa);
  left <<= BigInt(exponent2);
  if (tens >= 0) left *= 10n ** BigInt(tens);
  else right *= 10n ** BigInt(-tens);
  return left < right ? -1 : left > right ? 1 : 0;
}

function parse(text: string, type: string): { value: number; trimmed: string; finite: boolean } {
  const trimmed = text.trim();
  if (FORM.test(trimmed)) return { value: Number(trimmed), trimmed, finite: true };
  const special = /^([+-]?)(?:(nan)|inf(?:inity)?)$/i.exec(trimmed);
  if (special === null) throw new StorageError('22P02', `invalid input syntax for type ${type}: "${text}"`);
  const value = special[2] !== undefined ? Number.NaN : special[1] === '-' ? -Infinity : Infinity;
  return { value, trimmed, finite: false };
}

/**
 * Reads a float8.
 * @throws StorageError 22P02 when the text is no number, 22003 when it is too large or too small. PostgreSQL: `float8in`.
 */
export function parseFloat8(text: string): number {
  const { value, trimmed, finite } = parse(text, 'double precision');
  if (finite && (!Number.isFinite(value) || (value === 0 && /[1-9]/.test(trimmed.replace(/[eE].*/, '')))))
    throw new StorageError('22003', `"${text}" is out of range for type double precision`);
  return value;
}

/**
 * Reads a float4, rounded once.
 * @throws StorageError as {@link parseFloat8}. PostgreSQL: `float4in`.
 */
export function parseFloat4(text: string): number {
  const { value, trimmed, finite } = parse(text, 'real');
  if (!finite) return value;
  let rounded = Math.fround(value);
  const magnitude = Math.abs(value);
  if (Number.isFinite(rounded) && magnitude > 0 && Math.abs(rounded) !== magnitude) {
    // Halfway between two float4 as a double, perhaps not so as a decimal: decide by the decimal.
    const near = Math.abs(rounded);
    const other = neighbour4(near, magnitude > near ? 1 : -1);
    if (magnitude === (near + other) / 2) {
      const side = compareDecimal(trimmed.replace(/^[+-]/, ''), magnitude);
      if (side !== 0) rounded = Math.sign(value) * (side > 0 ? Math.max(near, other) : Math.min(near, other));
    }
  }
  if (!Number.isFinite(rounded) || (rounded === 0 && /[1-9]/.test(trimmed.replace(/[eE].*/, ''))))
    throw new StorageError('22003', `"${text}" is out of range for type real`);
  return rounded;
}
