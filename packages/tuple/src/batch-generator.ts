// Batch decoders made from generated code, one a plan, kept; and what the code calls for all that is not in line.

import { generateBatchSource } from './decode-codegen.ts';
import { type DecodePlan, planKey } from './decode-plan.ts';
import { badBytes } from './errors.ts';
import type { TupleMemory } from './memory.ts';
import { int32At } from './types/integer.ts';
import { numericText, readNumeric, readScaled } from './types/numeric-format.ts';
import { utf8CodePoint } from './utf8.ts';
import { type BytesVector, growData, type TextVector, type Vector, vectorCapacity } from './vectors.ts';

/** Decodes tuples `from` to `count` - 1, or up to the first that it is not for; returns the index where it stopped. */
export type BatchLoop = (
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
    loops = new Function('helpers', generateBatchSource(plan))(HELPERS) as BatchLoops;
    made.set(key, loops);
  }
  return loops;
}

const POWERS: readonly number[] = Array.from({ length: 24 }, (_, i) => 10 ** i);

/**
 * A numeric's payload times 10^scale: signs and up to four digits here, the rest in {@link readScaled}. Only what is a
 * whole number for sure is computed here.
 */
function scaled(u8: Uint8Array, at: number, length: number, scale: number): number {
  const header = u8[at] | (u8[at + 1] << 8);
  const power = ((((header & 0x7f) << 25) >> 25) - ((length - 4) >> 1)) * 4 + scale;
  // Short form, one to four digits, the last of them whole: with up to 15 digits the sum is exact.
  if ((header & 0xc000) !== 0x8000 || length < 4 || length > 10 || (length & 1) !== 0 || power < 0 || power > 12)
    return readScaled(u8, at, length, scale);
  let value = 0;
  for (let p = at + 2; p < at + length; p += 2) {
    const digit = u8[p] | (u8[p + 1] << 8);
    if (digit > 9999) return readScaled(u8, at, length, scale);
    value = value * 10000 + digit;
  }
  value *= POWERS[power];
  if (value > Number.MAX_SAFE_INTEGER || value === 0) return readScaled(u8, at, length, scale);
  return (header & 0x2000) !== 0 ? -value : value;
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

const HELPERS = { scaled, text, codePoint, grow, skip, addNulls, bad };
