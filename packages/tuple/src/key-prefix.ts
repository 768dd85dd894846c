// The first key of an index tuple as one double that sorts as the index does: what a sort compares before it looks at
// tuples. PostgreSQL's counterpart: abbreviated keys of sort support.

import { AttributeData } from './attributes.ts';
import type { ColumnType } from './column-type.ts';
import {
  KEY_BLANKS,
  KEY_BYTE,
  KEY_BYTES,
  KEY_CSTRING,
  KEY_FIXED,
  KEY_FLOAT4,
  KEY_FLOAT8,
  KEY_INT2,
  KEY_INT4,
  KEY_INT8,
  KEY_NUMERIC,
  KEY_UINT4,
  type PlannedKey,
} from './index-keys.ts';
import { afterCstring, varlenaData } from './key-bytes.ts';
import { dataOffset, presentBits } from './key-interpreter.ts';
import type { TupleMemory } from './memory.ts';
import { int16At, int32At } from './types/integer.ts';
import { readScaledQuick } from './types/numeric-scaled.ts';

/** Bytes of a string that a prefix holds: as many as 53 bits can. */
const PREFIX_BYTES = 6;
const HIGH_WORD = 4294967296;
const NULL_PREFIX: number = Number.MAX_VALUE;
/** Beyond all finite values of float4, numeric and scaled numeric. */
const NAN_PREFIX = 2 ** 1001;
const INFINITE_PREFIX = 2 ** 1000;
const BLANK = 0x20;

/** Whether equal prefixes mean equal first attributes. */
export function isPrefixWhole(type: ColumnType, { kind }: PlannedKey): boolean {
  switch (kind) {
    case KEY_INT8:
    case KEY_FLOAT8:
    case KEY_FIXED:
    case KEY_CSTRING:
      return false;
    case KEY_NUMERIC:
      return type.codec.vector === 'scaled';
    case KEY_BYTES:
    case KEY_BLANKS:
      // A character has four bytes at most, and none is zero.
      return type.codec.characters === 1;
    default:
      return true;
  }
}

const data: AttributeData = new AttributeData();
const words = new Int32Array(2);
const double = new Float64Array(words.buffer);
const single = new Float32Array(words.buffer);

/** The prefix of the tuple at `pos`; the type is the first column's. */
export function keyPrefix(type: ColumnType, key: PlannedKey, m: TupleMemory, pos: number): number {
  if ((presentBits(m, pos) & 1) === 0) return key.nullsFirst ? 0 - NULL_PREFIX : NULL_PREFIX;
  const prefix = ascending(type, key, m, pos + dataOffset(m, pos));
  return key.descending ? 0 - prefix : prefix;
}

function ascending(type: ColumnType, { kind, attlen }: PlannedKey, { u8 }: TupleMemory, at: number): number {
  switch (kind) {
    case KEY_BYTE:
      return u8[at];
    case KEY_INT2:
      return int16At(u8, at);
    case KEY_INT4:
      return int32At(u8, at);
    case KEY_UINT4:
      return int32At(u8, at) >>> 0;
    case KEY_INT8:
      return int32At(u8, at + 4) * HIGH_WORD + (int32At(u8, at) >>> 0);
    case KEY_FLOAT4:
      words[0] = int32At(u8, at);
      return floatPrefix(single[0], INFINITE_PREFIX, NAN_PREFIX);
    case KEY_FLOAT8:
      words[0] = int32At(u8, at);
      words[1] = int32At(u8, at + 4);
      return floatPrefix(double[0], NULL_PREFIX, NULL_PREFIX);
    case KEY_FIXED:
      return bytesPrefix(u8, at, attlen);
    case KEY_CSTRING:
      return bytesPrefix(u8, at, afterCstring(u8, at) - 1 - at);
    default:
      varlenaData(u8, at, data);
      return varlenaPrefix(type, kind);
  }
}

function varlenaPrefix(type: ColumnType, kind: number): number {
  if (kind === KEY_NUMERIC) return numericPrefix(type, data.u8, data.at, data.size);
  let { size } = data;
  if (kind === KEY_BLANKS) while (size > 0 && data.u8[data.at + size - 1] === BLANK) size--;
  return bytesPrefix(data.u8, data.at, size);
}

function floatPrefix(value: number, infinite: number, nan: number): number {
  if (value - value === 0) return value + 0; // -0 becomes 0
  return value > 0 ? infinite : value < 0 ? 0 - infinite : nan;
}

/** The first bytes as a number; zeros where there are fewer. */
function bytesPrefix(u8: Uint8Array, at: number, size: number): number {
  let value = 0;
  for (let i = 0; i < PREFIX_BYTES; i++) value = value * 256 + (i < size ? u8[at + i] : 0);
  return value;
}

function numericPrefix(type: ColumnType, u8: Uint8Array, at: number, size: number): number {
  const header = size < 2 ? 0 : u8[at] | (u8[at + 1] << 8);
  if ((header & 0xc000) === 0xc000) {
    const form = header & 0xf000;
    return form === 0xc000 ? NAN_PREFIX : form === 0xd000 ? INFINITE_PREFIX : 0 - INFINITE_PREFIX;
  }
  if (type.codec.vector === 'scaled') return readScaledQuick(u8, at, size, type.codec.scale) + 0;
  return leadingDigits(u8, at, size, header);
}

/** Weight, two digits and three decimal places of the third, as one whole number below 2^53. */
function leadingDigits(u8: Uint8Array, at: number, size: number, header: number): number {
  const isShort = (header & 0x8000) !== 0;
  const first = isShort ? 2 : 4;
  if (size < first + 2) return 0;
  const weight = isShort ? ((header & 0x7f) << 25) >> 25 : int16At(u8, at + 2);
  const digit = (i: number): number => (first + i * 2 < size ? int16At(u8, at + first + i * 2) : 0);
  const leading = (digit(0) * 10000 + digit(1)) * 1000 + Math.floor(digit(2) / 10);
  const magnitude = (weight + 0x8000) * 1e11 + leading;
  return (header & (isShort ? 0x2000 : 0x4000)) !== 0 ? 0 - magnitude : magnitude;
}
