// Tuples of a page to column vectors.

import { checkOptions } from '@blockwright/base';
import { BatchInterpreter } from './batch-interpreter.ts';
import type { TupleDescriptor } from './descriptor.ts';
import type { TupleMemory } from './memory.ts';
import type { FetchToast } from './varlena.ts';
import { createVectors, type Vector, type VectorOptions, vectorCapacity } from './vectors.ts';

export interface BatchDecoderOptions extends VectorOptions {
  /** Fetches out-of-line values; without it they are StorageError 0A000. */
  readonly fetchToast?: FetchToast;
  /** `false`: interpret, generate no code. Generated if not given, interpreted where the host refuses that. */
  readonly generateCode?: boolean;
}

/** Decodes many tuples at a time into vectors of the chosen columns. */
export class BatchDecoder {
  readonly descriptor: TupleDescriptor;
  /** Indexes of the columns, in the order of the vectors. */
  readonly columns: readonly number[];
  readonly #interpreter: BatchInterpreter;
  readonly #options: BatchDecoderOptions;

  private constructor(descriptor: TupleDescriptor, columns: readonly number[], options: BatchDecoderOptions) {
    this.descriptor = descriptor;
    this.columns = columns;
    this.#interpreter = new BatchInterpreter(descriptor, columns);
    this.#options = options;
  }

  /** A decoder of `columns` (indexes; all that are not dropped, if not given). */
  static for(
    descriptor: TupleDescriptor,
    columns?: readonly number[],
    options: BatchDecoderOptions = {},
  ): BatchDecoder {
    checkOptions('BatchDecoder', options, ['charCodes', 'fetchToast', 'generateCode']);
    const chosen = columns ?? descriptor.liveColumns();
    for (const i of chosen) if (descriptor.columns[i] === undefined) throw new RangeError(`there is no column ${i}`);
    return new BatchDecoder(descriptor, [...chosen], options);
  }

  /** Vectors that fit this decoder. */
  createVectors(capacity: number): Vector[] {
    return createVectors(this.descriptor, this.columns, capacity, this.#options);
  }

  /**
   * Decodes the tuples of `lengths[i]` bytes at `positions[i]` of `m`, i < count, to the rows from `at` on of `vectors`.
   * Text of earlier rows is kept: starts[at] says where the new text begins.
   * @throws StorageError XX001 (a TupleError, with tupleIndex) when a tuple's bytes cannot be right; 0A000 for an
   *   out-of-line value without a hook; RangeError when the vectors are too small.
   */
  decode(
    m: TupleMemory,
    positions: ArrayLike<number>,
    lengths: ArrayLike<number>,
    count: number,
    vectors: readonly Vector[],
    at: number,
  ): void {
    if (vectors.length !== this.columns.length)
      throw new TypeError(`the decoder has ${this.columns.length} columns and got ${vectors.length} vectors`);
    for (const vector of vectors) {
      if (at + count > vectorCapacity(vector))
        throw new RangeError(`${count} rows from ${at} on do not fit a vector of ${vectorCapacity(vector)}`);
      vector.nulls?.fill(0, at, at + count);
    }
    for (let i = 0; i < count; i++)
      this.#interpreter.decode(m.u8, positions[i], lengths[i], vectors, at + i, i, this.#options.fetchToast);
  }
}
