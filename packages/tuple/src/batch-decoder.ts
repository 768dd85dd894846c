// Tuples of a page to column vectors.

import { checkOptions, isStorageError } from '@blockwright/base';
import { type TupleLayout } from './attributes.ts';
import { type BatchLoops, generateBatchLoops } from './batch-generator.ts';
import { BatchInterpreter } from './batch-interpreter.ts';
import { planDecoding } from './decode-plan.ts';
import type { TupleDescriptor } from './descriptor.ts';
import { TupleError } from './errors.ts';
import type { TupleMemory } from './memory.ts';
import type { FetchToast } from './varlena.ts';
import { createVectors, type Vector, type VectorOptions, vectorCapacity, vectorKind } from './vectors.ts';

export interface BatchDecoderOptions extends VectorOptions {
  /** Fetches out-of-line values; without it they are StorageError 0A000. */
  readonly fetchToast?: FetchToast;
  /** `false`: interpret, generate no code. Generated if not given, interpreted where the host refuses that. */
  readonly generateCode?: boolean;
  /** What the tuples are: `heap` (the default), or `index`: then the descriptor is the index's, `format.descriptor`. */
  readonly layout?: TupleLayout;
}

/** Decodes many tuples at a time into vectors of the chosen columns. */
export class BatchDecoder {
  readonly descriptor: TupleDescriptor;
  /** Indexes of the columns, in the order of the vectors. */
  readonly columns: readonly number[];
  readonly #interpreter: BatchInterpreter;
  readonly #options: BatchDecoderOptions;
  readonly #loops: BatchLoops | undefined;
  #known: readonly Vector[] = [];
  #capacity: number = Number.POSITIVE_INFINITY;
  #viewed: Uint8Array | undefined;
  #view: DataView = new DataView(new ArrayBuffer(0));

  private constructor(descriptor: TupleDescriptor, columns: readonly number[], options: BatchDecoderOptions) {
    this.descriptor = descriptor;
    this.columns = columns;
    this.#interpreter = new BatchInterpreter(descriptor, columns, options.layout ?? 'heap');
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
    checkOptions('BatchDecoder', options, ['charCodes', 'fetchToast', 'generateCode', 'layout']);
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
    if (!this.#knows(vectors)) this.#check(vectors);
    if (!(at >= 0 && at + count <= this.#capacity))
      throw new RangeError(`${count} rows from ${at} on do not fit vectors of ${this.#capacity}`);
    if (this.columns.length === 0) return;
    const loops = this.#loops;
    if (loops === undefined) {
      for (const vector of vectors) vector.nulls?.fill(0, at, at + count);
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

  /** Whether these very vectors were checked before: their kinds and capacities do not change. */
  #knows(vectors: readonly Vector[]): boolean {
    const known = this.#known;
    if (vectors.length !== known.length) return false;
    for (let k = 0; k < known.length; k++) if (vectors[k] !== known[k]) return false;
    return true;
  }

  #check(vectors: readonly Vector[]): void {
    if (vectors.length !== this.columns.length)
      throw new TypeError(`the decoder has ${this.columns.length} columns and got ${vectors.length} vectors`);
    vectors.forEach((vector, k) => {
      const { type, name } = this.descriptor.columns[this.columns[k]];
      const wanted = vectorKind(type, this.#options);
      if (vector.kind !== wanted || (vector.kind === 'scaled' && vector.scale !== type.codec.scale))
        throw new TypeError(
          `column "${name}" is decoded to a vector of kind ${wanted}, not to this one (${vector.kind})`,
        );
    });
    this.#known = [...vectors];
    this.#capacity = Math.min(...vectors.map(vectorCapacity));
  }

  #run(
    { plain, general, isBackward }: BatchLoops,
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
    const view = this.#view;
    if (isBackward) {
      let left = plain(m, view, positions, lengths, 0, count, vectors, at);
      while (left > 0) {
        left = general(m, view, positions, lengths, 0, left, vectors, at);
        if (left === 0) break;
        left--;
        this.#interpret(m, positions, lengths, left, left + 1, vectors, at);
      }
      return;
    }
    let done = plain(m, view, positions, lengths, 0, count, vectors, at);
    while (done < count) {
      done = general(m, view, positions, lengths, done, count, vectors, at);
      if (done === count) break;
      this.#interpret(m, positions, lengths, done, done + 1, vectors, at);
      done++;
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
