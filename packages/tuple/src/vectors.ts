// Columns of a batch as typed arrays.
//
//   | kind   | types                              | what it holds                                                    |
//   |--------|------------------------------------|------------------------------------------------------------------|
//   | int    | bool, int2, int4, date, oid, xid   | Int32Array; date: days from 2000-01-01, its infinities the ends  |
//   | int8   | int8, timestamptz                  | low and high words; timestamptz: microseconds from 2000-01-01    |
//   | float  | float4, float8                     | Float64Array                                                     |
//   | scaled | numeric of 15 digits or fewer      | Float64Array: value times 10^scale, exact; NaN as NaN            |
//   | text   | other numeric                      | bytes of its text: starts[row] to starts[row + 1] of data        |
//   | bytes  | text, char, varchar, bytea, uuid   | its bytes: starts[row] to starts[row + 1] of data                |
//   | char   | char(1), when asked for            | Int32Array: the code point of the one character                  |

import type { ColumnType, VectorKind } from './column-type.ts';
import type { TupleDescriptor } from './descriptor.ts';
import { scaledText } from './types/numeric-scaled.ts';
import { utf8Decode } from './utf8.ts';

interface Nulls {
  /** One byte a row, 1 where the value is null; undefined while the column has no null. A null's value is 0 or empty. */
  nulls: Uint8Array | undefined;
}
export interface IntVector extends Nulls {
  readonly kind: 'int';
  readonly values: Int32Array;
}
export interface CharVector extends Nulls {
  readonly kind: 'char';
  readonly values: Int32Array;
}
export interface FloatVector extends Nulls {
  readonly kind: 'float';
  readonly values: Float64Array;
}
export interface Int8Vector extends Nulls {
  readonly kind: 'int8';
  readonly lo: Uint32Array;
  readonly hi: Int32Array;
}
export interface ScaledVector extends Nulls {
  readonly kind: 'scaled';
  readonly values: Float64Array;
  readonly scale: number;
}
export interface TextVector extends Nulls {
  readonly kind: 'text';
  /** rows + 1 entries. */
  readonly starts: Int32Array;
  /** Replaced by a larger one when a batch needs it: read it anew after each decode. */
  data: Uint8Array;
}
export interface BytesVector extends Nulls {
  readonly kind: 'bytes';
  /** rows + 1 entries. */
  readonly starts: Int32Array;
  /** Replaced by a larger one when a batch needs it: read it anew after each decode. */
  data: Uint8Array;
}
/** One column of a batch. */
export type Vector = IntVector | CharVector | FloatVector | Int8Vector | ScaledVector | TextVector | BytesVector;

export interface VectorOptions {
  /** char(1) columns as code points ({@link CharVector}) instead of bytes: quicker to make and to group by. */
  readonly charCodes?: boolean;
}

const DATA_BYTES_A_ROW = 16;

/** Whether a column of this type becomes a {@link CharVector} when `charCodes` is asked for. */
export function isOneCharacter(type: ColumnType): boolean {
  return type.codec.padded && type.codec.characters === 1;
}

/** The kind of vector that a column of this type is decoded to. */
export function vectorKind(type: ColumnType, options: VectorOptions): VectorKind {
  return options.charCodes === true && isOneCharacter(type) ? 'char' : type.codec.vector;
}

/** Empty vectors for `columns` (indexes) of a table, for `capacity` rows. */
export function createVectors(
  descriptor: TupleDescriptor,
  columns: readonly number[],
  capacity: number,
  options: VectorOptions = {},
): Vector[] {
  if (!Number.isInteger(capacity) || capacity < 1) throw new RangeError(`a capacity of ${capacity} rows`);
  return columns.map((index) => {
    const column = descriptor.columns[index];
    if (column === undefined) throw new RangeError(`there is no column ${index}`);
    return createVector(column.type, capacity, options);
  });
}

/** An empty vector for one column. */
export function createVector(type: ColumnType, capacity: number, options: VectorOptions = {}): Vector {
  const nulls = type.isNullable ? new Uint8Array(capacity) : undefined;
  const { vector, scale } = type.codec;
  if (options.charCodes === true && isOneCharacter(type))
    return { kind: 'char', values: new Int32Array(capacity), nulls };
  switch (vector) {
    case 'int':
      return { kind: 'int', values: new Int32Array(capacity), nulls };
    case 'float':
      return { kind: 'float', values: new Float64Array(capacity), nulls };
    case 'int8':
      return { kind: 'int8', lo: new Uint32Array(capacity), hi: new Int32Array(capacity), nulls };
    case 'scaled':
      return { kind: 'scaled', values: new Float64Array(capacity), scale, nulls };
    case 'text':
    case 'bytes':
      return {
        kind: vector,
        starts: new Int32Array(capacity + 1),
        data: new Uint8Array(Math.max(64, capacity * DATA_BYTES_A_ROW)),
        nulls,
      };
  }
}

/** Rows that a vector can hold. */
export function vectorCapacity(vector: Vector): number {
  switch (vector.kind) {
    case 'int8':
      return vector.lo.length;
    case 'text':
    case 'bytes':
      return vector.starts.length - 1;
    default:
      return vector.values.length;
  }
}

/** Marks a row null; the vector's value of the row is set by the caller. */
export function setNull(vector: Vector, row: number): void {
  let { nulls } = vector;
  if (nulls === undefined) {
    // A null in a column declared NOT NULL: the tuple is older than the column.
    nulls = new Uint8Array(vectorCapacity(vector));
    vector.nulls = nulls;
  }
  nulls[row] = 1;
}

/** Makes room for `more` bytes after the first `used` of `data`. */
export function growData(vector: TextVector | BytesVector, used: number, more: number): void {
  if (used + more <= vector.data.length) return;
  const grown = new Uint8Array(Math.max(used + more, vector.data.length * 2));
  grown.set(vector.data.subarray(0, used));
  vector.data = grown;
}

/** The value of a row, as rows hold it: bigint, string, Uint8Array (a copy), null, … */
export function vectorValue<V>(type: ColumnType<V>, vector: Vector, row: number): V | null {
  if (vector.nulls !== undefined && vector.nulls[row] !== 0) return null;
  switch (vector.kind) {
    case 'int':
      return type.codec.ofInt(vector.values[row]);
    case 'char':
      return String.fromCodePoint(vector.values[row]) as V;
    case 'float':
      return vector.values[row] as V;
    case 'int8':
      return type.codec.ofWords(vector.lo[row], vector.hi[row]);
    case 'scaled':
      return scaledText(vector.values[row], vector.scale) as V;
    case 'text':
      return utf8Decode(vector.data, vector.starts[row], vector.starts[row + 1] - vector.starts[row]) as V;
    case 'bytes':
      return type.codec.read(vector.data, vector.starts[row], vector.starts[row + 1] - vector.starts[row]);
  }
}
