// One entry of a vector as the next attribute of a tuple: the loader's way, without a value object in between.

import { StorageError } from '@blockwright/base';
import type { ByteSink } from './byte-sink.ts';
import { ALIGN_BYTES, type ColumnType } from './column-type.ts';
import { scaledOverflow, writeScaled } from './types/numeric-scaled.ts';
import { utf8CharacterCount, utf8Decode } from './utf8.ts';
import { VARATT_SHORT_DATA_MAX, VARHDRSZ } from './varlena.ts';
import { type BytesVector, type Vector, vectorValue } from './vectors.ts';

const BLANK = 0x20;
const doubles = new Float64Array(1);
const words = new Int32Array(doubles.buffer);

/** Appends entries of vectors that hold values of one type. */
export class VectorAppender {
  readonly #type: ColumnType;
  readonly #alignMask: number;
  readonly #attlen: number;
  readonly #characters: number;
  readonly #padded: boolean;
  /** Below it in magnitude are all scaled integers of the column. */
  readonly #limit: number;
  readonly #scale: number;

  constructor(type: ColumnType) {
    this.#type = type;
    this.#alignMask = ALIGN_BYTES[type.attalign] - 1;
    this.#attlen = type.attlen;
    this.#characters = type.codec.characters;
    this.#padded = type.codec.padded;
    this.#scale = type.codec.scale;
    this.#limit = type.codec.vector === 'scaled' ? 10 ** ((type.typmod - 4) >> 16) : 0;
  }

  /**
   * Appends the entry with padding and header.
   * @throws StorageError 22001, 22003 when the value does not fit; TypeError when the vector is of another kind.
   */
  append(sink: ByteSink, vector: Vector, row: number): void {
    switch (vector.kind) {
      case 'int':
        if (this.#attlen === 4) this.#appendWord(sink, vector.values[row]);
        else this.#appendValue(sink, vector, row);
        return;
      case 'int8':
        this.#appendWords(sink, vector.lo[row], vector.hi[row]);
        return;
      case 'scaled':
        this.#appendScaled(sink, vector.values[row], vector.scale);
        return;
      case 'bytes':
        if (this.#attlen < 0 && this.#type.codec.vector === 'bytes') this.#appendBytes(sink, vector, row);
        else this.#appendValue(sink, vector, row);
        return;
      case 'float':
        this.#appendFloat(sink, vector.values[row]);
        return;
      default:
        this.#appendValue(sink, vector, row);
    }
  }

  #expect(kind: string): void {
    if (this.#type.codec.vector !== kind) throw wrongVector(kind, this.#type);
  }

  #align(sink: ByteSink): number {
    sink.reserve(16);
    let at = sink.length;
    while ((at & this.#alignMask) !== 0) sink.bytes[at++] = 0;
    return at;
  }

  #appendWord(sink: ByteSink, word: number): void {
    this.#expect('int');
    const at = this.#align(sink);
    putWord(sink.bytes, at, word);
    sink.length = at + 4;
  }

  #appendWords(sink: ByteSink, low: number, high: number): void {
    this.#expect('int8');
    const at = this.#align(sink);
    putWord(sink.bytes, at, low);
    putWord(sink.bytes, at + 4, high);
    sink.length = at + 8;
  }

  #appendFloat(sink: ByteSink, value: number): void {
    this.#expect('float');
    if (this.#attlen === 4) {
      const before = this.#align(sink);
      sink.length = before;
      this.#type.codec.append(sink, value);
      return;
    }
    doubles[0] = Number.isNaN(value) ? Number.NaN : value;
    const at = this.#align(sink);
    putWord(sink.bytes, at, words[0]);
    putWord(sink.bytes, at + 4, words[1]);
    sink.length = at + 8;
  }

  #appendScaled(sink: ByteSink, value: number, scale: number): void {
    this.#expect('scaled');
    if (scale !== this.#scale) throw new TypeError(`a vector of scale ${scale} for a column of ${this.#type.sqlName}`);
    sink.reserve(20);
    const from = sink.length;
    let end: number;
    if (value > -this.#limit && value < this.#limit && Math.floor(value) === value) {
      end = writeScaled(sink.bytes, from + 1, value, scale);
    } else {
      if (!Number.isNaN(value)) throw scaledOverflow(value, this.#type.sqlName);
      sink.bytes[from + 1] = 0;
      sink.bytes[from + 2] = 0xc0;
      end = from + 3;
    }
    sink.bytes[from] = ((end - from) << 1) | 1;
    sink.length = end;
  }

  #appendBytes(sink: ByteSink, vector: BytesVector, row: number): void {
    const start = vector.starts[row];
    let size = vector.starts[row + 1] - start;
    const source = vector.data;
    if (size < 0 || start < 0 || start + size > source.length)
      throw new RangeError(`row ${row} of the vector begins at ${start} and has ${size} bytes of ${source.length}`);
    const limit = this.#characters;
    let padding = 0;
    if (limit !== 0 && (size > limit || this.#padded)) {
      const characters = utf8CharacterCount(source, start, size);
      if (characters > limit) size -= this.#blanksToCut(source, start, size, characters - limit);
      else if (this.#padded) padding = limit - characters;
    }
    const total = size + padding;
    sink.reserve(total + VARHDRSZ + 8);
    const { bytes } = sink;
    let at = sink.length;
    if (total <= VARATT_SHORT_DATA_MAX) bytes[at++] = ((total + 1) << 1) | 1;
    else {
      while ((at & this.#alignMask) !== 0) bytes[at++] = 0;
      putWord(bytes, at, (total + VARHDRSZ) << 2);
      at += VARHDRSZ;
    }
    if (size > 64) {
      bytes.set(source.subarray(start, start + size), at);
      at += size;
    } else for (let i = start; i < start + size; i++) bytes[at++] = source[i];
    for (; padding > 0; padding--) bytes[at++] = BLANK;
    sink.length = at;
  }

  #blanksToCut(source: Uint8Array, start: number, size: number, excess: number): number {
    for (let i = start + size - excess; i < start + size; i++)
      if (source[i] !== BLANK) {
        const { sqlName } = this.#type;
        throw new StorageError('22001', `value too long for type ${sqlName}`);
      }
    return excess;
  }

  /** Whatever is rare: through the value. */
  #appendValue(sink: ByteSink, vector: Vector, row: number): void {
    const wanted = this.#type.codec.vector;
    if (vector.kind !== wanted && !(vector.kind === 'char' && this.#padded && this.#characters === 1))
      throw wrongVector(vector.kind, this.#type);
    const value =
      vector.kind === 'text'
        ? utf8Decode(vector.data, vector.starts[row], vector.starts[row + 1] - vector.starts[row])
        : vectorValue(this.#type, vector, row);
    if (this.#attlen >= 0) {
      sink.length = this.#align(sink);
      this.#type.codec.append(sink, value);
      return;
    }
    const from = sink.length;
    sink.reserve(16);
    sink.length = from + 1;
    this.#type.codec.append(sink, value);
    closeVarlena(sink, from, this.#alignMask + 1);
  }
}

function wrongVector(kind: string, type: ColumnType): TypeError {
  return new TypeError(`a vector of kind ${kind} for a column of ${type.sqlName}, which takes ${type.codec.vector}`);
}

function putWord(bytes: Uint8Array, at: number, word: number): void {
  bytes[at] = word;
  bytes[at + 1] = word >> 8;
  bytes[at + 2] = word >> 16;
  bytes[at + 3] = word >> 24;
}

/** Puts the header before data that was appended from `from` + 1 on; moves it when a 4-byte header is due. */
export function closeVarlena(sink: ByteSink, from: number, alignment: number): void {
  const size = sink.length - from - 1;
  if (size <= VARATT_SHORT_DATA_MAX) {
    sink.bytes[from] = ((size + 1) << 1) | 1;
    return;
  }
  const header = (from + alignment - 1) & -alignment;
  sink.reserve(VARHDRSZ + 8);
  const { bytes } = sink;
  bytes.copyWithin(header + VARHDRSZ, from + 1, from + 1 + size);
  bytes.fill(0, from, header);
  putWord(bytes, header, (size + VARHDRSZ) << 2);
  sink.length = header + VARHDRSZ + size;
}
