// Index tuples formed from heap tuples, or from values. PostgreSQL: index_form_tuple, heap_fill_tuple.

import { type BlockNumber, checkOptions, type OffsetNumber, StorageError } from '@blockwright/base';
import {
  AT_COMPRESSED,
  AT_EXTERNAL,
  AT_NULL,
  AT_PLAIN,
  AttributePlaces,
  atTuple,
  locateAttributes,
} from './attributes.ts';
import { ByteSink } from './byte-sink.ts';
import type { ColumnType } from './column-type.ts';
import type { TupleDescriptor } from './descriptor.ts';
import { inColumn } from './encoder.ts';
import type { IndexTupleFormat } from './index-format.ts';
import { INDEX_NULL_MASK, INDEX_SIZE_MASK, INDEX_TUPLE_HEADER_BYTES, INDEX_VAR_MASK } from './index-header.ts';
import { type TupleMemory, tupleMemory } from './memory.ts';
import { COMPRESSED_HEADER, compressValue } from './toast-compress.ts';
import { blankPadded, varchar } from './types/character.ts';
import { numeric } from './types/numeric.ts';
import { type FetchToast, fetchStored, VARATT_SHORT_DATA_MAX, VARHDRSZ } from './varlena.ts';

export interface IndexTupleFormerOptions {
  /**
   * Values of more bytes than this, header included, are compressed (pglz) when that makes them shorter. PostgreSQL's
   * TOAST_INDEX_TARGET: the largest heap tuple's bytes / 16, so it depends on the block size. Never, if not given.
   */
  readonly toastTarget?: number;
  /** Fetches out-of-line values; without it they are StorageError 0A000. */
  readonly fetchToast?: FetchToast;
}

const DATA_AFTER_BITMAP = 16;
/** From this many bytes on a view and one copy are quicker than a loop. */
const LONG_COPY = 200;
const BITS_NONE = 0;

/** Forms index tuples, one at a time, at byte 0 of a memory of its own. One former serves one caller at a time. */
export class IndexTupleFormer {
  readonly format: IndexTupleFormat;
  readonly #heap: TupleDescriptor;
  /** Of each index column: the heap's column, its width here, its alignment less 1, and whether it is a name cut short. */
  readonly #sources: Int32Array;
  readonly #attlens: Int32Array;
  readonly #alignMasks: Int32Array;
  readonly #isCutName: Uint8Array;
  readonly #wanted: number;
  readonly #places: AttributePlaces;
  readonly #sink: ByteSink = new ByteSink();
  readonly #searchTypes: readonly ColumnType[];
  readonly #toastTarget: number;
  readonly #fetch: FetchToast | undefined;
  #memory: TupleMemory = tupleMemory(new Uint8Array(1024));
  #out: Uint8Array = this.#memory.u8;
  #length = 0;

  /**
   * @param columns the heap column (0-based) of each index column.
   * @throws RangeError for another number of columns than the index has, for one that the heap does not have or has
   *   dropped, or that is of another width than the index's.
   */
  constructor(
    format: IndexTupleFormat,
    heap: TupleDescriptor,
    columns: readonly number[],
    options: IndexTupleFormerOptions = {},
  ) {
    checkOptions('IndexTupleFormer', options, ['toastTarget', 'fetchToast']);
    checkColumns(format.descriptor, heap, columns);
    const { attlens, alignments } = format.descriptor;
    this.format = format;
    this.#heap = heap;
    this.#sources = Int32Array.from(columns);
    this.#attlens = Int32Array.from(attlens);
    this.#alignMasks = Int32Array.from(alignments, (alignment) => alignment - 1);
    this.#isCutName = Uint8Array.from(columns, (column, i) => (attlens[i] === -2 && heap.attlens[column] > 0 ? 1 : 0));
    this.#wanted = Math.max(...columns) + 1;
    this.#places = new AttributePlaces(this.#wanted);
    this.#searchTypes = format.descriptor.columns.map(({ type }) => withoutLimits(type));
    this.#toastTarget = options.toastTarget ?? Number.POSITIVE_INFINITY;
    this.#fetch = options.fetchToast;
  }

  /** Where the tuple lies, at byte 0. It is replaced when a tuple needs more room: read it again after each call. */
  get memory(): TupleMemory {
    return this.#memory;
  }

  /** Bytes of the last tuple, a multiple of 8. */
  get length(): number {
    return this.#length;
  }

  /**
   * Forms the tuple of the heap tuple of `length` bytes at `pos`, with the TID (block, offset). Returns its length.
   * @throws StorageError XX001 for bytes that are no tuple of the heap; 0A000 for an out-of-line value without
   *   fetchToast; 54000 when the tuple would be longer than 8191 bytes.
   */
  fromHeap(m: TupleMemory, pos: number, length: number, block: BlockNumber, offset: OffsetNumber): number {
    const { u8 } = m;
    const sources = this.#sources;
    const { forms } = this.#places;
    let attribute = -1;
    try {
      locateAttributes(this.#heap, u8, pos, length, this.#wanted, this.#places);
      let present = BITS_NONE;
      let hasNull = false;
      for (let i = 0; i < sources.length; i++)
        if (forms[sources[i]] === AT_NULL) hasNull = true;
        else present |= 1 << i;
      let at = this.#begin(hasNull, present);
      for (let i = 0; i < sources.length; i++) {
        attribute = sources[i];
        if (forms[attribute] !== AT_NULL) at = this.#copy(i, u8, at);
      }
      attribute = -1;
      this.#finish(at, hasNull, present);
    } catch (cause) {
      throw atTuple(cause, this.#heap, 0, attribute);
    }
    if (this.#length > INDEX_SIZE_MASK)
      throw new StorageError('54000', `index row requires ${this.#length} bytes, maximum size is ${INDEX_SIZE_MASK}`);
    const { u16 } = this.#memory;
    u16[0] = block >>> 16;
    u16[1] = block;
    u16[2] = offset;
    return this.#length;
  }

  /**
   * Forms a tuple of the first `values.length` columns, with the TID 0. Returns its length. As a search key it may be
   * longer than 8191 bytes: t_info then says 8191.
   * @throws StorageError 22001, 22003, 23502, … or TypeError as {@link TupleEncoder.encode} does for a value that its
   *   column cannot hold; TypeError for more values than columns.
   */
  fromValues(values: readonly unknown[]): number {
    const { columns } = this.format.descriptor;
    values.forEach((value, i) => {
      if (i < columns.length && isMissing(value) && !columns[i].type.isNullable)
        throw new StorageError('23502', `null value in column "${columns[i].name}" violates not-null constraint`);
    });
    return this.#encode(values, (i) => columns[i].type);
  }

  /**
   * The same for a search: values may be null, and need not fit the columns' lengths, precisions and scales, so that one
   * that no row can have finds nothing, rather than what it would be rounded to.
   */
  fromSearchValues(values: readonly unknown[]): number {
    return this.#encode(values, (i) => this.#searchTypes[i]);
  }

  #encode(values: readonly unknown[], typeOf: (i: number) => ColumnType): number {
    const { columns } = this.format.descriptor;
    const count = values.length;
    if (count > columns.length)
      throw new TypeError(`the index has ${columns.length} columns, and got ${count} values for them`);
    let present = BITS_NONE;
    for (let i = 0; i < count; i++) if (!isMissing(values[i])) present |= 1 << i;
    const hasNull = values.some(isMissing);
    let at = this.#begin(hasNull, present);
    const sink = this.#sink;
    for (let i = 0; i < count; i++) {
      if (isMissing(values[i])) continue;
      sink.length = 0;
      try {
        typeOf(i).codec.append(sink, values[i]);
      } catch (cause) {
        throw inColumn(cause, columns[i].name);
      }
      at =
        this.#attlens[i] === -1
          ? this.#putVarlena(i, sink.bytes, 0, sink.length, at, sink.length > VARATT_SHORT_DATA_MAX)
          : this.#putPlain(i, sink.bytes, 0, sink.length, at);
    }
    this.#finish(at, hasNull, present);
    this.#memory.u16.fill(0, 0, 3);
    return this.#length;
  }

  /** Header and bitmap; returns where the data begins. */
  #begin(hasNull: boolean, present: number): number {
    if (!hasNull) return INDEX_TUPLE_HEADER_BYTES;
    const { u32 } = this.#memory;
    u32[2] = present;
    u32[3] = 0;
    return DATA_AFTER_BITMAP;
  }

  /** Zeros up to a multiple of 8, and t_info. */
  #finish(end: number, hasNull: boolean, present: number): void {
    const length = (end + 7) & -8;
    this.#room(length);
    for (let at = end; at < length; at++) this.#out[at] = 0;
    let info = (length > INDEX_SIZE_MASK ? INDEX_SIZE_MASK : length) | (hasNull ? INDEX_NULL_MASK : 0);
    const attlens = this.#attlens;
    for (let i = 0; i < attlens.length; i++) if (attlens[i] < 0 && ((present >>> i) & 1) !== 0) info |= INDEX_VAR_MASK;
    this.#memory.u16[3] = info;
    this.#length = length;
  }

  #room(needed: number): void {
    if (needed <= this.#out.length) return;
    const grown = new Uint8Array((needed + needed + 7) & -8);
    grown.set(this.#out);
    this.#out = grown;
    this.#memory = tupleMemory(grown);
  }

  /** Copies index column `i` of the located heap tuple to `at`; returns the byte after it. */
  #copy(i: number, u8: Uint8Array, at: number): number {
    const column = this.#sources[i];
    const places = this.#places;
    const form = places.forms[column];
    const start = places.starts[column];
    const size = places.sizes[column];
    const isVarlena = this.#attlens[i] === -1;
    if (form === AT_PLAIN)
      return isVarlena
        ? // The byte before the data is odd in a 1-byte header, and the high one of a size in a 4-byte header.
          this.#putVarlena(i, u8, start, size, at, (u8[start - 1] & 1) === 0)
        : this.#putPlain(i, u8, start, size, at);
    if (form === AT_COMPRESSED) return this.#putLong(i, u8, start, size, at, 2);
    if (form === AT_EXTERNAL) {
      const { pointer, bytes } = fetchStored(u8, start, this.#fetch);
      return pointer.compression === undefined
        ? this.#putVarlena(i, bytes, 0, bytes.length, at, true)
        : this.#putLong(i, bytes, 0, bytes.length, at, 2);
    }
    const missing = this.#heap.columns[column].missing as Uint8Array;
    return isVarlena
      ? this.#putVarlena(i, missing, 0, missing.length, at, true)
      : this.#putPlain(i, missing, 0, missing.length, at);
  }

  /** A fixed-width attribute, or a cstring (of a name: up to its first zero byte). */
  #putPlain(i: number, from: Uint8Array, start: number, size: number, at: number): number {
    let to = this.#align(i, at);
    this.#room(to + size + 8);
    const out = this.#out;
    if (this.#isCutName[i] === 0) {
      for (let p = start; p < start + size; p++) out[to++] = from[p];
      return to;
    }
    for (let p = start; p < start + size && from[p] !== 0; p++) out[to++] = from[p];
    out[to++] = 0;
    return to;
  }

  /** A varlena that is plain. `isLong`: it comes with a 4-byte header, and so may be compressed, or get a 1-byte one. */
  #putVarlena(i: number, from: Uint8Array, start: number, size: number, at: number, isLong: boolean): number {
    if (isLong && size + VARHDRSZ > this.#toastTarget) {
      const stream = compressValue(from.subarray(start, start + size));
      if (stream !== undefined) return this.#putCompressed(i, stream, size, at);
    }
    if (size > VARATT_SHORT_DATA_MAX) return this.#putLong(i, from, start, size, at, 0);
    this.#room(at + size + 1 + 8);
    const out = this.#out;
    out[at] = ((size + 1) << 1) | 1;
    for (let p = start, to = at + 1; p < start + size; p++) out[to++] = from[p];
    return at + 1 + size;
  }

  /** Bytes behind a 4-byte header with these low bits. */
  #putLong(i: number, from: Uint8Array, start: number, size: number, at: number, bits: number): number {
    const header = this.#align(i, at);
    const to = header + VARHDRSZ;
    this.#room(to + size + 8);
    this.#memory.u32[header >>> 2] = ((size + VARHDRSZ) << 2) | bits;
    const out = this.#out;
    if (size >= LONG_COPY) out.set(from.subarray(start, start + size), to);
    else for (let p = 0; p < size; p++) out[to + p] = from[start + p];
    return to + size;
  }

  #putCompressed(i: number, stream: Uint8Array, rawSize: number, at: number): number {
    const header = this.#align(i, at);
    const end = header + COMPRESSED_HEADER + stream.length;
    this.#room(end + 8);
    this.#memory.u32[header >>> 2] = ((COMPRESSED_HEADER + stream.length) << 2) | 2;
    this.#memory.u32[(header >>> 2) + 1] = rawSize; // method 0: pglz
    this.#out.set(stream, header + COMPRESSED_HEADER);
    return end;
  }

  /** Zero bytes up to the alignment. */
  #align(i: number, at: number): number {
    const to = (at + this.#alignMasks[i]) & ~this.#alignMasks[i];
    if (to === at) return at;
    this.#room(to + 8);
    for (let p = at; p < to; p++) this.#out[p] = 0;
    return to;
  }
}

function isMissing(value: unknown): boolean {
  return value === null || value === undefined;
}

function checkColumns(index: TupleDescriptor, heap: TupleDescriptor, columns: readonly number[]): void {
  if (columns.length !== index.columns.length)
    throw new RangeError(`the index has ${index.columns.length} columns, not ${columns.length}`);
  columns.forEach((column, i) => {
    const source = heap.columns[column];
    if (source === undefined || source.isDropped)
      throw new RangeError(`the table has no column ${column}, or it is dropped`);
    const isName = index.attlens[i] === -2 && source.type.name === 'name';
    if (!isName && source.type.attlen !== index.attlens[i])
      throw new RangeError(`column "${source.name}" is no ${index.columns[i].type.sqlName}, as the index has it`);
  });
}

/** The type without length, precision and scale. */
function withoutLimits(type: ColumnType): ColumnType {
  switch (type.name) {
    case 'numeric':
      return numeric() as ColumnType;
    case 'char':
      return blankPadded(0) as ColumnType;
    case 'varchar':
      return varchar() as ColumnType;
    default:
      return type;
  }
}
