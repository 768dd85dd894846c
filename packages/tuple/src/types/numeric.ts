// numeric, numeric(p), numeric(p, s): exact decimal numbers, as strings.

import { type ColumnType, makeType, wrongKind } from '../column-type.ts';
import { appendNumeric, compareNumeric, numericText, readNumeric } from './numeric-format.ts';
import { type NumericLimits, parseNumeric } from './numeric-text.ts';

/** Digits up to which a column's values times 10^scale are exact in a double. */
const SCALED_DIGITS_MAX = 15;

/** The text of a scaled integer: 1234 at scale 2 is `12.34`. NaN and infinities stay themselves. */
export function scaledText(value: number, scale: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (scale === 0) return String(value === 0 ? 0 : value);
  const digits = String(Math.abs(value)).padStart(scale + 1, '0');
  const text = `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  return value < 0 ? `-${text}` : text;
}

function inputText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  throw wrongKind('numeric', 'a string, a number or a bigint', value);
}

/**
 * numeric: without arguments of any size; with a precision (1 to 1000 digits) and a scale (-1000 to 1000, 0 if not
 * given) rounded to the scale and refused beyond the precision.
 * @throws RangeError when precision or scale are out of their range.
 */
export function numeric(precision?: number, scale = 0): ColumnType<string> {
  if (precision !== undefined && !(Number.isInteger(precision) && precision >= 1 && precision <= 1000))
    throw new RangeError(`NUMERIC precision ${precision} must be between 1 and 1000`);
  if (!(Number.isInteger(scale) && scale >= -1000 && scale <= 1000))
    throw new RangeError(`NUMERIC scale ${scale} must be between -1000 and 1000`);
  if (precision === undefined && scale !== 0) throw new RangeError('a numeric with a scale needs a precision');
  const limits: NumericLimits | undefined = precision === undefined ? undefined : { precision, scale };
  const isScaled =
    limits !== undefined && Math.max(precision as number, scale) + Math.max(0, -scale) <= SCALED_DIGITS_MAX;
  return makeType<string>({
    name: 'numeric',
    sqlName: limits === undefined ? 'numeric' : `numeric(${precision},${scale})`,
    oid: 1700,
    typmod: limits === undefined ? -1 : (((precision as number) << 16) | (scale & 0x7ff)) + 4,
    attlen: -1,
    attalign: 'i',
    toText: (value) => value,
    fromText: (text) => numericText(parseNumeric(text, limits)),
    compare: (a, b) => compareNumeric(parseNumeric(a, undefined), parseNumeric(b, undefined)),
    codec: {
      vector: isScaled ? 'scaled' : 'text',
      scale: isScaled ? Math.max(0, scale) : 0,
      read: (u8, at, length) => numericText(readNumeric(u8, at, length)),
      append: (sink, value) => appendNumeric(sink, parseNumeric(inputText(value), limits)),
    },
  });
}
