// Batch decoders made from generated code, one a plan, kept; and what the code calls for all that is not in line.

import { generateBatchSource, isBackward } from './decode-codegen.ts';
import { type DecodePlan, planKey } from './decode-plan.ts';
import { badBytes } from './errors.ts';
import type { TupleMemory } from './memory.ts';
import { int32At } from './types/integer.ts';
import { numericText, readNumeric } from './types/numeric-format.ts';
import { readScaledQuick } from './types/numeric-scaled.ts';
import { utf8CodePoint } from './utf8.ts';
import { type BytesVector, growData, type TextVector, type Vector, vectorCapacity } from './vectors.ts';

/**
 * Decodes tuples `from` to `count` - 1 until one comes that it is not for. Running forward, it returns the index of that
 * one (`count` at the end); running backward, one more than its index (`from` at the end).
 */
type BatchLoop = (
  m: TupleMemory,
  view: DataView,
  positions: ArrayLike<number>,
  lengths: ArrayLike<number>,
  from: number,
  count: number,
  vectors: readonly Vector[],
  at: number,
) => number;

export interface BatchLoops {
  /** For tuples without nulls. */
  readonly plain: BatchLoop;
  /** For tuples with or without nulls. */
  readonly general: BatchLoop;
  readonly isBackward: boolean;
}

const made = new Map<string, BatchLoops>();

/**
 * The loops for a plan.
 * @throws EvalError where the host refuses to generate code.
 */
export function generateBatchLoops(plan: DecodePlan): BatchLoops {
  const key = planKey(plan);
  let loops = made.get(key);
  if (loops === undefined) {
    const generated = new Function('helpers', generateBatchSource(plan))(HELPERS) as Omit<BatchLoops, 'isBackward'>;
    loops = { ...generated, isBackward: isBackward(plan) };
    made.set(key, loops);
  }
  return loops;
}

function text(vector: TextVector, row: number, u8: Uint8Array, at: number, length: number): void {
  const digits = numericText(readNumeric(u8, at, length));
  const start = vector.starts[row];
  growData(vector, start, digits.length);
  for (let i = 0; i < digits.length; i++) vector.data[start + i] = digits.charCodeAt(i);
  vector.starts[row + 1] = start + digits.length;
}

function codePoint(u8: Uint8Array, at: number, length: number): number {
  const code = utf8CodePoint(u8, at, length);
  if (code < 0) throw badBytes(`${length} bytes that are not one character`);
  return code;
}

function grow(vector: BytesVector, used: number, more: number): Uint8Array {
  growData(vector, used, more);
  return vector.data;
}

/** The byte after an unwanted attribute with a 4-byte header or a pointer; -1 when that cannot be right. */
function skip(u8: Uint8Array, pos: number, q: number, alignment: number, end: number): number {
  if (u8[q] === 1) return u8[q + 1] === 18 ? q + 18 : -1;
  const at = pos + ((q - pos + alignment - 1) & -alignment);
  if (at !== q && u8[q] !== 0) return -1;
  if (at + 4 > end) return -1;
  const word = int32At(u8, at);
  const size = word >>> 2;
  return (word & 1) !== 0 || size < 4 || size > end - at ? -1 : at + size;
}

function addNulls(vector: Vector): Uint8Array {
  const none = new Uint8Array(vectorCapacity(vector));
  vector.nulls = none;
  return none;
}

function bad(): never {
  throw badBytes('a numeric with a digit above 9999 or more decimals than its column');
}

const HELPERS = { scaled: readScaledQuick, text, codePoint, grow, skip, addNulls, bad };
