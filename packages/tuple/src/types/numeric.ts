// numeric, numeric(p), numeric(p, s): exact decimal numbers, as strings.

import { type ColumnType, makeType, wrongKind } from '../column-type.ts';
import { appendNumeric, compareNumeric, numericText, readNumeric } from './numeric-format.ts';
import { readScaledQuick, scaledOfText, scaledText, writeScaled } from './numeric-scaled.ts';
import { type NumericLimits, parseNumeric } from './numeric-text.ts';

/** Digits up to which a column's values times 10^scale are exact in a double. */
const SCALED_DIGITS_MAX = 15;

function inputText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  throw wrongKind('numeric', 'a string, a number or a bigint', value);
}

/** Whether a payload is of the short form and shows just `scale` decimals, as values of the column do. */
function hasScale(u8: Uint8Array, at: number, length: number, scale: number): boolean {
  return length >= 2 && ((u8[at] | (u8[at + 1] << 8)) & 0xdf80) === (0x8000 | (scale << 7));
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
  const limit = isScaled ? 10 ** (precision as number) : 0;
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
      read: (u8, at, length) =>
        isScaled && hasScale(u8, at, length, scale)
          ? scaledText(readScaledQuick(u8, at, length, scale), scale)
          : numericText(readNumeric(u8, at, length)),
      append: (sink, value) => {
        if (isScaled && scale >= 0 && typeof value === 'string') {
          const scaled = scaledOfText(value, scale);
          if (scaled > -limit && scaled < limit) {
            sink.reserve(24);
            sink.length = writeScaled(sink.bytes, sink.length, scaled, scale);
            return;
          }
        }
        appendNumeric(sink, parseNumeric(inputText(value), limits));
      },
    },
  });
}
