// A table is generated a block of rows at a time, column by column: each column's draws are one tight loop with its seed
// in a register. These are the columns, and the loops that fill them.
import type { PickList } from './lists.ts';
import { POOL_BYTES } from './pool-text.ts';
import { drawn, MODULUS, nextSeed, Stream, type StreamStart } from './random.ts';
import type { TextPool } from './text-pool.ts';

/** What a column's values are, and how dbgen prints them. */
export const Format = {
  /** A whole number, kept and printed as it is. */
  integer: 0,
  /** Hundredths, printed with two decimals. */
  hundredths: 1,
  /** Hundredths of a whole number, printed without decimals. */
  wholeHundredths: 2,
  /** Days from 2000-01-01, printed as YYYY-MM-DD. */
  date: 3,
  /** Bytes of `data`. */
  string: 4,
} as const;
export type Format = (typeof Format)[keyof typeof Format];

/** Strings are copied eight bytes at a time: buffers have so many to spare. */
export const COPY_SLACK_BYTES = 8;

const NO_BYTES = new Uint8Array(0);

/** One column of a block of rows. One class for all, so that the loops over columns stay monomorphic. */
export class RawColumn {
  readonly format: Format;
  /** The numbers of a column of numbers. Doubles: keys pass 2^32 at large scales. */
  readonly values: Float64Array;
  /** Where each string of a column of strings begins in `data`, and its length in bytes. */
  readonly starts: Int32Array;
  readonly lengths: Int32Array;
  readonly data: Uint8Array;
  readonly view: DataView;

  constructor(format: Format, capacity: number, data: Uint8Array = NO_BYTES) {
    const isString = format === Format.string;
    this.format = format;
    this.values = new Float64Array(isString ? 0 : capacity);
    this.starts = new Int32Array(isString ? capacity : 0);
    this.lengths = new Int32Array(isString ? capacity : 0);
    this.data = data;
    this.view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  }

  static numbers(format: Format, capacity: number): RawColumn {
    return new RawColumn(format, capacity);
  }

  static picks(list: PickList, capacity: number): RawColumn {
    return new RawColumn(Format.string, capacity, list.data);
  }

  /** A column with bytes of its own: `width` for each row, each row's string at the start of its slot. */
  static slots(width: number, capacity: number): RawColumn {
    const column = new RawColumn(Format.string, capacity, new Uint8Array(width * capacity + COPY_SLACK_BYTES));
    for (let row = 0; row < capacity; row++) column.starts[row] = row * width;
    return column;
  }
}

/** What generates a table, a block of rows at a time. */
export interface RowSource {
  readonly columns: readonly RawColumn[];
  /** Generates the next rows, at most `maxRows` and the source's capacity; how many there are, 0 at the end. */
  fill(maxRows: number): number;
}

/** The largest number of rows that one unit of `from` and `to` makes: a source's capacity is at least this. */
export const MOST_ROWS_PER_UNIT = 7;

/** Numbers from `low` on, `range` of them; after each row, `gaps[row]` draws are passed over. */
export function fillNumbers(
  stream: Stream,
  rows: number,
  gaps: Uint8Array,
  low: number,
  range: number,
  values: Float64Array,
): void {
  let seed = stream.seed;
  for (let row = 0; row < rows; row++) {
    seed = nextSeed(seed);
    values[row] = low + Math.floor((seed / MODULUS) * range);
    for (let gap = gaps[row]; gap > 0; gap--) seed = nextSeed(seed);
  }
  stream.seed = seed;
}

/** As {@link fillNumbers}, but hundredths of them. */
export function fillHundredths(
  stream: Stream,
  rows: number,
  gaps: Uint8Array,
  low: number,
  range: number,
  values: Float64Array,
): void {
  fillNumbers(stream, rows, gaps, low, range, values);
  for (let row = 0; row < rows; row++) values[row] *= 100;
}

/** Picks of a list whose words weigh 1 each: of its first `choices`. */
export function fillPicks(
  stream: Stream,
  rows: number,
  gaps: Uint8Array,
  list: PickList,
  choices: number,
  column: RawColumn,
): void {
  const { starts, lengths } = column;
  let seed = stream.seed;
  for (let row = 0; row < rows; row++) {
    seed = nextSeed(seed);
    const pick = Math.floor((seed / MODULUS) * choices);
    starts[row] = list.starts[pick];
    lengths[row] = list.lengths[pick];
    for (let gap = gaps[row]; gap > 0; gap--) seed = nextSeed(seed);
  }
  stream.seed = seed;
}

/** A column's comments: parts of the text pool, of an average length. */
export class Comments {
  readonly column: RawColumn;
  private readonly stream: Stream;
  private readonly pool: TextPool;
  private readonly shortest: number;
  private readonly longest: number;
  private readonly places: Int32Array;
  /** Bytes of a slot: the longest comment's, rounded up to whole doubles. */
  private readonly stride: number;

  constructor(pool: TextPool, start: StreamStart, fromRow: number, average: number, capacity: number) {
    this.pool = pool;
    this.stream = new Stream(start, fromRow);
    this.shortest = Math.floor((4 * average) / 10);
    this.longest = Math.floor((16 * average) / 10);
    this.stride = Math.ceil(this.longest / 8) * 8;
    this.column = RawColumn.slots(this.stride, capacity);
    this.places = new Int32Array(capacity);
  }

  /** Two draws each: the place in the pool, then the length. */
  fill(rows: number, gaps: Uint8Array): void {
    const { places, shortest } = this;
    const { lengths } = this.column;
    const offsets = POOL_BYTES - this.longest + 1;
    const lengthRange = this.longest - shortest + 1;
    let seed = this.stream.seed;
    for (let row = 0; row < rows; row++) {
      seed = nextSeed(seed);
      places[row] = Math.floor((seed / MODULUS) * offsets);
      seed = nextSeed(seed);
      lengths[row] = shortest + Math.floor((seed / MODULUS) * lengthRange);
      for (let gap = 2 * gaps[row]; gap > 0; gap--) seed = nextSeed(seed);
    }
    this.stream.seed = seed;
    if (this.pool.complete) this.gather(rows);
    else this.readEach(rows);
  }

  /**
   * Copies from the pool in memory. Each place is a cache miss: in a loop of their own, with a fixed number of copies
   * and no branch, many of them are under way at once.
   */
  private gather(rows: number): void {
    const { places, stride } = this;
    const from = new DataView(this.pool.bytes.buffer);
    const to = this.column.view;
    for (let row = 0, at = 0; row < rows; row++, at += stride) {
      const place = places[row];
      for (let i = 0; i < stride; i += 8) to.setFloat64(at + i, from.getFloat64(place + i, true), true);
    }
  }

  private readEach(rows: number): void {
    const { places, stride, pool } = this;
    const { data, lengths } = this.column;
    for (let row = 0; row < rows; row++) pool.read(places[row], lengths[row], data, row * stride);
  }
}

/** The pick `pick` for one row: for columns whose picks follow from others. */
export function setPick(column: RawColumn, row: number, list: PickList, pick: number): void {
  column.starts[row] = list.starts[pick];
  column.lengths[row] = list.lengths[pick];
}

const ADDRESS_LETTERS = Uint8Array.from('0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,', (letter) =>
  letter.charCodeAt(0),
);
export const ADDRESS_WIDTH = 40;

/** Addresses: a length, then five letters a draw, taken from a negative number's low bits. */
export function fillAddresses(stream: Stream, rows: number, column: RawColumn): void {
  const data = column.data;
  for (let row = 0; row < rows; row++) {
    let seed = nextSeed(stream.seed);
    let draws = 1;
    const length = drawn(seed, 10, 31);
    const start = column.starts[row];
    for (let i = 0; i < length; i += 5) {
      seed = nextSeed(seed);
      draws++;
      let bits = Math.trunc((seed / MODULUS) * -2147483648) | 0;
      for (let letter = i; letter < i + 5 && letter < length; letter++) {
        data[start + letter] = ADDRESS_LETTERS[bits & 63];
        bits >>= 6;
      }
    }
    column.lengths[row] = length;
    for (; draws < stream.budget; draws++) seed = nextSeed(seed);
    stream.seed = seed;
  }
}

export const PHONE_WIDTH = 15;

/** Phone numbers: the nation's country code, and three draws. */
export function fillPhones(stream: Stream, rows: number, nations: Float64Array, column: RawColumn): void {
  const data = column.data;
  for (let row = 0; row < rows; row++) {
    const start = column.starts[row];
    const area = nextSeed(stream.seed);
    const exchange = nextSeed(area);
    const number = nextSeed(exchange);
    stream.seed = number;
    writeDigits(data, start, 10 + nations[row], 2);
    writeDigits(data, start + 3, drawn(area, 100, 900), 3);
    writeDigits(data, start + 7, drawn(exchange, 100, 900), 3);
    writeDigits(data, start + 11, drawn(number, 1000, 9000), 4);
    data[start + 2] = data[start + 6] = data[start + 10] = 0x2d;
    column.lengths[row] = PHONE_WIDTH;
  }
}

/** `prefix`, and the number with at least nine digits. */
export function setNumberedName(column: RawColumn, row: number, prefix: Uint8Array, number: number): void {
  const start = column.starts[row];
  for (let i = 0; i < prefix.length; i++) column.data[start + i] = prefix[i];
  let digits = 9;
  for (let limit = 1e9; number >= limit; limit *= 10) digits++;
  writeDigits(column.data, start + prefix.length, number, digits);
  column.lengths[row] = prefix.length + digits;
}

/** The last `count` decimal digits of `value`. */
function writeDigits(data: Uint8Array, at: number, value: number, count: number): void {
  let rest = value;
  for (let i = at + count - 1; i >= at; i--) {
    const tens = Math.floor(rest / 10);
    data[i] = 0x30 + rest - tens * 10;
    rest = tens;
  }
}

/** The ASCII bytes of `text`. */
export function asciiBytes(text: string): Uint8Array {
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}
