// Tuples of a page to column vectors.

import { checkOptions, isStorageError } from '@blockwright/base';
import { type BatchLoops, generateBatchLoops } from './batch-generator.ts';
import { BatchInterpreter } from './batch-interpreter.ts';
import { planDecoding } from './decode-plan.ts';
import type { TupleDescriptor } from './descriptor.ts';
import { TupleError } from './errors.ts';
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
  readonly #loops: BatchLoops | undefined;
  #viewed: Uint8Array | undefined;
  #view: DataView = new DataView(new ArrayBuffer(0));

  private constructor(descriptor: TupleDescriptor, columns: readonly number[], options: BatchDecoderOptions) {
    this.descriptor = descriptor;
    this.columns = columns;
    this.#interpreter = new BatchInterpreter(descriptor, columns);
    this.#options = options;
    this.#loops = options.generateCode === false ? undefined : generated(descriptor, columns, options);
  }

  /** Whether code was generated for this decoder; the same values come out without. */
  get isGenerated(): boolean {
    return this.#loops !== undefined;
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
    const loops = this.#loops;
    if (loops === undefined) {
      this.#interpret(m, positions, lengths, 0, count, vectors, at);
      return;
    }
    try {
      this.#run(loops, m, positions, lengths, count, vectors, at);
    } catch (error) {
      // Generated code does not know where it failed: the interpreter comes to the same end and says it.
      if (error instanceof TupleError || !isStorageError(error)) throw error;
      this.#interpret(m, positions, lengths, 0, count, vectors, at);
    }
  }

  #run(
    { plain, general }: BatchLoops,
    m: TupleMemory,
    positions: ArrayLike<number>,
    lengths: ArrayLike<number>,
    count: number,
    vectors: readonly Vector[],
    at: number,
  ): void {
    const { u8 } = m;
    if (this.#viewed !== u8) {
      this.#viewed = u8;
      this.#view = new DataView(u8.buffer, u8.byteOffset, u8.length);
    }
    let i = plain(m, this.#view, positions, lengths, 0, count, vectors, at);
    while (i < count) {
      const stopped = general(m, this.#view, positions, lengths, i, count, vectors, at);
      if (stopped < count) this.#interpret(m, positions, lengths, stopped, stopped + 1, vectors, at);
      i = stopped + 1;
    }
  }

  #interpret(
    m: TupleMemory,
    positions: ArrayLike<number>,
    lengths: ArrayLike<number>,
    from: number,
    to: number,
    vectors: readonly Vector[],
    at: number,
  ): void {
    for (let i = from; i < to; i++)
      this.#interpreter.decode(m.u8, positions[i], lengths[i], vectors, at + i, i, this.#options.fetchToast);
  }
}

function generated(
  descriptor: TupleDescriptor,
  columns: readonly number[],
  options: BatchDecoderOptions,
): BatchLoops | undefined {
  const plan = planDecoding(descriptor, columns, options);
  if (plan === undefined) return undefined;
  try {
    return generateBatchLoops(plan);
  } catch (error) {
    // A content security policy, or node --disallow-code-generation-from-strings.
    if (error instanceof EvalError) return undefined;
    throw error;
  }
}
