// Rows to tuples: header, null bitmap, attributes at their alignment, varlena headers as short as PostgreSQL makes them.
// PostgreSQL: heap_form_tuple, heap_fill_tuple.

import { checkOptions, StorageError } from '@blockwright/base';
import { ByteSink } from './byte-sink.ts';
import type { Column, TupleDescriptor } from './descriptor.ts';
import { type EncodeRow, generateEncodeRow } from './encode-codegen.ts';
import {
  HEAP_HASNULL,
  HEAP_HASVARWIDTH,
  HEAP_NATTS_MASK,
  HEAP_TUPLE_HEADER_BYTES,
  HEAP_XMAX_INVALID,
  heapHeaderBytes,
} from './heap-header.ts';
import { compressTuple } from './toast-compress.ts';
import { VARHDRSZ } from './varlena.ts';
import { closeVarlena, VectorAppender } from './vector-append.ts';
import type { Vector } from './vectors.ts';

/** The transaction fields that the encoder writes into each tuple. */
export interface TupleHeader {
  /** t_xmin; 0 if not given. */
  readonly xmin?: number;
  /** t_xmax; 0 if not given. */
  readonly xmax?: number;
  /** t_cid; 0 if not given. */
  readonly commandId?: number;
  /** Visibility bits of t_infomask; HEAP_XMAX_INVALID if not given. The encoder adds HASNULL and HASVARWIDTH. */
  readonly infomask?: number;
  /** Flag bits of t_infomask2; 0 if not given. The encoder adds the number of attributes. */
  readonly infomask2?: number;
}

export interface TupleEncoderOptions {
  /**
   * Tuples longer than this many bytes have their longest values compressed (pglz), as PostgreSQL does above
   * TOAST_TUPLE_THRESHOLD, until they are no longer than it or nothing is left to compress. Never, if not given.
   */
  readonly toastTarget?: number;
  /** `false`: generate no code for rows of vectors. Generated if not given, where the host allows it. */
  readonly generateCode?: boolean;
}

/** Writes rows as heap tuples. One encoder serves one caller at a time: it keeps a scratch buffer. */
export class TupleEncoder {
  readonly descriptor: TupleDescriptor;
  readonly #columns: readonly Column[];
  readonly #alignments: Uint8Array;
  readonly #appenders: readonly VectorAppender[];
  readonly #sink: ByteSink = new ByteSink();
  readonly #header: Uint8Array = new Uint8Array(24);
  readonly #words: Int32Array;
  readonly #encodeRow: EncodeRow | undefined;
  #out: Uint8Array = new Uint8Array(0);
  #view: DataView = new DataView(this.#out.buffer);
  readonly #toastTarget: number;
  #infomask: number = HEAP_XMAX_INVALID;

  private constructor(descriptor: TupleDescriptor, options: TupleEncoderOptions) {
    checkOptions('TupleEncoder', options, ['toastTarget', 'generateCode']);
    this.#toastTarget = options.toastTarget ?? Number.POSITIVE_INFINITY;
    this.descriptor = descriptor;
    this.#columns = descriptor.columns;
    this.#alignments = descriptor.alignments;
    this.#appenders = descriptor.columns.map((column) => new VectorAppender(column.type));
    this.#words = new Int32Array(this.#header.buffer);
    this.#encodeRow = options.generateCode === false ? undefined : generateEncodeRow(descriptor);
    this.setHeader({});
  }

  /** A new encoder for a table's rows; t_ctid is left zero for who places the tuple. */
  static for(descriptor: TupleDescriptor, options: TupleEncoderOptions = {}): TupleEncoder {
    return new TupleEncoder(descriptor, options);
  }

  /** Sets what the headers of the tuples from now on say; what is not given goes back to its default. */
  setHeader(header: TupleHeader): void {
    this.#words[0] = header.xmin ?? 0;
    this.#words[1] = header.xmax ?? 0;
    this.#words[2] = header.commandId ?? 0;
    this.#infomask = (header.infomask ?? HEAP_XMAX_INVALID) & ~(HEAP_HASNULL | HEAP_HASVARWIDTH);
    const infomask2 = ((header.infomask2 ?? 0) & ~HEAP_NATTS_MASK) | this.#columns.length;
    this.#header[18] = infomask2;
    this.#header[19] = infomask2 >> 8;
    // What generated code writes as it is; the careful way sets these three bytes for each row.
    const infomask = this.#infomask | (this.descriptor.attlens.includes(-1) ? HEAP_HASVARWIDTH : 0);
    this.#header[20] = infomask;
    this.#header[21] = infomask >> 8;
    this.#header[22] = heapHeaderBytes(this.#columns.length, false);
  }

  /**
   * Writes a row, one value a column in attribute order (a dropped column's is ignored), at byte `at` of `out`.
   * Returns the tuple's bytes; when that is more than `out` has room for, nothing was written.
   * @throws StorageError 23502 for a null in a NOT NULL column; 22001, 22003, 22007, 22008, 22021, 22P02 for a value that
   *   does not fit; TypeError for a value of another kind, or another number of values.
   */
  encode(values: readonly unknown[], out: Uint8Array, at: number): number {
    const columns = this.#columns;
    if (values.length !== columns.length)
      throw new TypeError(`the table has ${columns.length} columns and the row ${values.length} values`);
    let hasNulls = false;
    for (let i = 0; i < columns.length; i++) if (isNull(columns[i], values[i])) hasNulls = true;
    const sink = this.#begin(hasNulls);
    let varwidth = 0;
    for (let i = 0; i < columns.length; i++) {
      const column = columns[i];
      if (isNull(column, values[i])) continue;
      if (hasNulls) setBit(sink.bytes, i);
      const { attlen } = column.type;
      if (attlen < 0) {
        const from = sink.length;
        sink.reserve(VARHDRSZ + 8);
        sink.length = from + 1;
        this.#append(i, values[i]);
        closeVarlena(sink, from, this.#alignments[i]);
        varwidth = HEAP_HASVARWIDTH;
      } else {
        alignSink(sink, this.#alignments[i]);
        this.#append(i, values[i]);
      }
    }
    return this.#finish(hasNulls, varwidth, out, at);
  }

  /**
   * Writes row `row` of column vectors, one a column in attribute order; otherwise as {@link TupleEncoder.encode}.
   * Bytes of text are taken as they are: they have to be UTF-8, and only their number is checked. When there was no
   * room, or a value was refused, the bytes of `out` from `at` on may have been written to.
   */
  encodeVectors(vectors: readonly Vector[], row: number, out: Uint8Array, at: number): number {
    const appenders = this.#appenders;
    const count = appenders.length;
    if (vectors.length !== count)
      throw new TypeError(`the table has ${count} columns and the row ${vectors.length} vectors`);
    if (this.#encodeRow !== undefined) {
      if (this.#out !== out) {
        this.#out = out;
        this.#view = new DataView(out.buffer, out.byteOffset, out.length);
      }
      const length = this.#encodeRow(vectors, row, out, this.#view, at, out.length - at, this.#words) - at;
      if (length > 0 && length <= this.#toastTarget) return length;
    }
    let hasNulls = false;
    for (let i = 0; i < count; i++) {
      const { nulls } = vectors[i];
      if ((nulls !== undefined && nulls[row] !== 0) || this.#columns[i].isDropped) {
        isNull(this.#columns[i], null);
        hasNulls = true;
      }
    }
    const sink = this.#begin(hasNulls);
    let varwidth = 0;
    for (let i = 0; i < count; i++) {
      const vector = vectors[i];
      if (hasNulls) {
        if (this.#columns[i].isDropped || (vector.nulls !== undefined && vector.nulls[row] !== 0)) continue;
        setBit(sink.bytes, i);
      }
      appenders[i].append(sink, vector, row);
      if (this.#columns[i].type.attlen < 0) varwidth = HEAP_HASVARWIDTH;
    }
    return this.#finish(hasNulls, varwidth, out, at);
  }

  #begin(hasNulls: boolean): ByteSink {
    const sink = this.#sink;
    const hoff = heapHeaderBytes(this.#columns.length, hasNulls);
    sink.length = 0;
    sink.reserve(hoff + 8);
    sink.bytes.set(this.#header);
    if (hoff > 24) sink.bytes.fill(0, HEAP_TUPLE_HEADER_BYTES, hoff);
    sink.bytes[22] = hoff;
    sink.length = hoff;
    return sink;
  }

  #append(i: number, value: unknown): void {
    try {
      this.#columns[i].type.codec.append(this.#sink, value);
    } catch (cause) {
      throw inColumn(cause, this.#columns[i].name);
    }
  }

  #finish(hasNulls: boolean, varwidth: number, out: Uint8Array, at: number): number {
    let { bytes, length } = this.#sink;
    const infomask = this.#infomask | (hasNulls ? HEAP_HASNULL : 0) | varwidth;
    bytes[20] = infomask;
    bytes[21] = infomask >> 8;
    if (length > this.#toastTarget) {
      const shorter = compressTuple(this.descriptor, bytes, length, this.#toastTarget);
      if (shorter !== undefined) ({ bytes, length } = shorter);
    }
    if (length <= out.length - at) out.set(bytes.subarray(0, length), at);
    return length;
  }
}

function setBit(bytes: Uint8Array, attribute: number): void {
  bytes[HEAP_TUPLE_HEADER_BYTES + (attribute >> 3)] |= 1 << (attribute & 7);
}

function isNull(column: Column, value: unknown): boolean {
  if (column.isDropped) return true;
  if (value !== null && value !== undefined) return false;
  if (!column.type.isNullable)
    throw new StorageError('23502', `null value in column "${column.name}" violates not-null constraint`);
  return true;
}

/** The error of a value, with its column's name. */
export function inColumn(cause: unknown, name: string): unknown {
  if (cause instanceof StorageError)
    return new StorageError(cause.code, `column "${name}": ${cause.message}`, {
      detail: cause.detail,
      hint: cause.hint,
      cause,
    });
  return cause instanceof TypeError ? new TypeError(`column "${name}": ${cause.message}`, { cause }) : cause;
}

/** Zero bytes up to the alignment. */
function alignSink(sink: ByteSink, alignment: number): void {
  sink.reserve(8);
  while ((sink.length & (alignment - 1)) !== 0) sink.bytes[sink.length++] = 0;
}
