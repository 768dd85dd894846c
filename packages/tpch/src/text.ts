// Rows as dbgen prints them into its .tbl files: a `|` after every field, the last too, and a line feed. Nothing is
// quoted, padded or trimmed.
import { Format, type RawColumn } from './columns.ts';
import type { TpchTableName } from './scale.ts';
import { type GenerateOptions, rowSource } from './tables.ts';

const ROWS = 1024;
const CHUNK_BYTES = 1 << 17;
/** More than the longest row. */
const ROW_BYTES = 1024;
const BAR = 0x7c;
const LINE_FEED = 0x0a;

export interface TextOptions extends GenerateOptions {
  /** Whether the `|` after the last field is left out, as PostgreSQL's COPY needs it. By default it stands. */
  readonly trailingBar?: boolean;
}

/**
 * The text of a table at a scale, in chunks of whole rows. A chunk is lent: the next one is written over it.
 * @throws RangeError for a scale or range out of bounds.
 * @throws TypeError for an unknown table or option.
 */
export function tableText(table: TpchTableName, scale: number, options: TextOptions): Iterable<Uint8Array> {
  rowSource(table, scale, options, ROWS, ['trailingBar']); // checked now and not at the first chunk
  return { [Symbol.iterator]: () => generate(table, scale, options) };
}

function* generate(table: TpchTableName, scale: number, options: TextOptions): Generator<Uint8Array, void, void> {
  const source = rowSource(table, scale, options, ROWS, ['trailingBar']);
  const trailingBar = options.trailingBar ?? true;
  const writer = new RowWriter(source.columns, trailingBar);
  for (;;) {
    const rows = source.fill(ROWS);
    if (rows === 0) break;
    for (let row = 0; row < rows; row++) {
      writer.write(row);
      if (writer.at > CHUNK_BYTES) {
        yield writer.bytes.subarray(0, writer.at);
        writer.at = 0;
      }
    }
  }
  if (writer.at > 0) yield writer.bytes.subarray(0, writer.at);
}

class RowWriter {
  readonly bytes: Uint8Array = new Uint8Array(CHUNK_BYTES + ROW_BYTES);
  at = 0;
  private readonly view: DataView = new DataView(this.bytes.buffer);
  private readonly columns: readonly RawColumn[];
  private readonly trailingBar: boolean;

  constructor(columns: readonly RawColumn[], trailingBar: boolean) {
    this.columns = columns;
    this.trailingBar = trailingBar;
  }

  write(row: number): void {
    const { columns, bytes, view } = this;
    let at = this.at;
    for (let i = 0; i < columns.length; i++) {
      const column = columns[i];
      if (column.format === Format.string) {
        at = writeString(view, at, column.view, column.starts[row], column.lengths[row]);
      } else if (column.format === Format.date) {
        at = writeDate(view, at, column.values[row]);
      } else {
        at = writeNumber(bytes, at, column.values[row], column.format);
      }
      bytes[at++] = BAR;
    }
    if (!this.trailingBar) at--;
    bytes[at++] = LINE_FEED;
    this.at = at;
  }
}

/** Eight bytes at a time; those too many are overwritten by what comes next. */
function writeString(to: DataView, at: number, from: DataView, start: number, length: number): number {
  for (let i = 0; i < length; i += 8) to.setFloat64(at + i, from.getFloat64(start + i, true), true);
  return at + length;
}

function writeNumber(bytes: Uint8Array, at: number, value: number, format: Format): number {
  if (format === Format.integer) return writeInteger(bytes, at, value);
  if (format === Format.wholeHundredths) return writeInteger(bytes, at, value / 100);
  if (value < 0) {
    bytes[at++] = 0x2d;
    return writeHundredths(bytes, at, -value);
  }
  return writeHundredths(bytes, at, value);
}

/** `value` has 31 bits. */
function writeHundredths(bytes: Uint8Array, at: number, value: number): number {
  const hundredths = value | 0;
  const whole = (hundredths / 100) | 0;
  const rest = hundredths - whole * 100;
  const tenths = (rest / 10) | 0;
  const end = writeInteger(bytes, at, whole);
  bytes[end] = 0x2e;
  bytes[end + 1] = 0x30 + tenths;
  bytes[end + 2] = 0x30 + rest - tenths * 10;
  return end + 3;
}

function writeInteger(bytes: Uint8Array, at: number, value: number): number {
  if (value >= 1e9) {
    // Two halves, each of 32-bit arithmetic.
    const high = Math.floor(value / 1e9);
    const middle = writeInteger(bytes, at, high);
    writeDigits(bytes, middle, (value - high * 1e9) | 0, 9);
    return middle + 9;
  }
  const small = value | 0;
  let digits = 1;
  for (let limit = 10; small >= limit; limit *= 10) digits++;
  writeDigits(bytes, at, small, digits);
  return at + digits;
}

function writeDigits(bytes: Uint8Array, at: number, value: number, digits: number): void {
  let rest = value;
  for (let i = at + digits - 1; i >= at; i--) {
    const tens = (rest / 10) | 0;
    bytes[i] = 0x30 + rest - tens * 10;
    rest = tens;
  }
}

const FIRST_DAY = -2922;
const DATE_BYTES = 10;
/** A date's ten bytes take up two doubles, to be copied as such. */
const DATE_STRIDE = 16;
const DATES: DataView = allDates();

/** Every day of the seven years 1992 to 1998, printed. */
function allDates(): DataView {
  const days = 2557;
  const dates = new DataView(new ArrayBuffer(days * DATE_STRIDE));
  for (let day = 0; day < days; day++) {
    const text = new Date(Date.UTC(1992, 0, 1 + day)).toISOString();
    for (let i = 0; i < DATE_BYTES; i++) dates.setUint8(day * DATE_STRIDE + i, text.charCodeAt(i));
  }
  return dates;
}

function writeDate(to: DataView, at: number, day: number): number {
  return writeString(to, at, DATES, (day - FIRST_DAY) * DATE_STRIDE, DATE_BYTES);
}
