// One tuple into vectors, without generated code: the way for tuples that are not plain, and for hosts that refuse to
// generate code. Slower, and right in every case.

import {
  AT_NULL,
  AttributeData,
  AttributePlaces,
  atTuple,
  locateAttributes,
  locateIndexAttributes,
  plainData,
  type TupleLayout,
} from './attributes.ts';
import type { ColumnType } from './column-type.ts';
import type { TupleDescriptor } from './descriptor.ts';
import { badBytes } from './errors.ts';
import { int16At, int32At } from './types/integer.ts';
import { numericText, readNumeric, readScaled } from './types/numeric-format.ts';
import { utf8CodePoint } from './utf8.ts';
import type { FetchToast } from './varlena.ts';
import { growData, setNull, type Vector } from './vectors.ts';

/** Decodes tuples one at a time into the vectors of a fixed set of columns. */
export class BatchInterpreter {
  readonly #descriptor: TupleDescriptor;
  readonly #columns: readonly number[];
  readonly #types: readonly ColumnType[];
  readonly #attributes: number;
  readonly #locate: typeof locateAttributes;
  readonly #places: AttributePlaces;
  readonly #data: AttributeData = new AttributeData();

  constructor(descriptor: TupleDescriptor, columns: readonly number[], layout: TupleLayout) {
    this.#locate = layout === 'heap' ? locateAttributes : locateIndexAttributes;
    this.#descriptor = descriptor;
    this.#columns = columns;
    this.#types = columns.map((i) => descriptor.columns[i].type);
    this.#attributes = columns.length === 0 ? 0 : Math.max(...columns) + 1;
    this.#places = new AttributePlaces(this.#attributes);
  }

  /** The tuple of `length` bytes at `pos` becomes row `row` of `vectors`; `index` is its place in the batch. */
  decode(
    u8: Uint8Array,
    pos: number,
    length: number,
    vectors: readonly Vector[],
    row: number,
    index: number,
    fetch: FetchToast | undefined,
  ): void {
    const places = this.#places;
    let attribute = -1;
    try {
      this.#locate(this.#descriptor, u8, pos, length, this.#attributes, places);
      for (let k = 0; k < vectors.length; k++) {
        attribute = this.#columns[k];
        const isDropped = this.#descriptor.columns[attribute].isDropped;
        if (places.forms[attribute] === AT_NULL || isDropped) storeNull(vectors[k], row);
        else {
          const data = this.#data;
          plainData(this.#descriptor, u8, attribute, places, fetch, data);
          store(this.#types[k], vectors[k], row, data.u8, data.at, data.size);
        }
      }
    } catch (cause) {
      throw atTuple(cause, this.#descriptor, index, attribute);
    }
  }
}

function storeNull(vector: Vector, row: number): void {
  setNull(vector, row);
  switch (vector.kind) {
    case 'int8':
      vector.lo[row] = 0;
      vector.hi[row] = 0;
      break;
    case 'text':
    case 'bytes':
      vector.starts[row + 1] = vector.starts[row];
      break;
    default:
      vector.values[row] = 0;
  }
}

function store(type: ColumnType, vector: Vector, row: number, u8: Uint8Array, at: number, size: number): void {
  switch (vector.kind) {
    case 'int':
      vector.values[row] = type.attlen === 4 ? int32At(u8, at) : type.attlen === 2 ? int16At(u8, at) : u8[at];
      break;
    case 'char': {
      const code = utf8CodePoint(u8, at, size);
      if (code < 0) throw badBytes(`${size} bytes that are not the one character of ${type.sqlName}`);
      vector.values[row] = code;
      break;
    }
    case 'int8':
      vector.lo[row] = int32At(u8, at);
      vector.hi[row] = int32At(u8, at + 4);
      break;
    case 'float':
      vector.values[row] = type.codec.read(u8, at, size) as number;
      break;
    case 'scaled':
      vector.values[row] = readScaled(u8, at, size, vector.scale);
      break;
    case 'text':
      storeText(vector, row, numericText(readNumeric(u8, at, size)));
      break;
    case 'bytes': {
      const start = vector.starts[row];
      growData(vector, start, size);
      vector.data.set(u8.subarray(at, at + size), start);
      vector.starts[row + 1] = start + size;
    }
  }
}

function storeText(vector: Vector & { kind: 'text' }, row: number, text: string): void {
  const start = vector.starts[row];
  growData(vector, start, text.length);
  for (let i = 0; i < text.length; i++) vector.data[start + i] = text.charCodeAt(i);
  vector.starts[row + 1] = start + text.length;
}
