// float4, float8: IEEE numbers, ordered as PostgreSQL orders them.

import { StorageError } from '@blockwright/base';
import { type ColumnType, makeType, wrongKind } from '../column-type.ts';
import { float4Text, float8Text, parseFloat4, parseFloat8 } from './float-text.ts';
import { appendWord, int32At } from './integer.ts';

const words = new Uint32Array(2);
const double = new Float64Array(words.buffer);
const single = new Float32Array(words.buffer);

/** NaN equals NaN and is larger than all else; -0 equals 0. PostgreSQL: `float8_cmp_internal`. */
function compareFloats(a: number, b: number): number {
  if (a < b) return -1;
  if (a > b) return 1;
  if (a === b) return 0;
  return Number.isNaN(a) ? (Number.isNaN(b) ? 0 : 1) : -1;
}

const FLOAT4: ColumnType<number> = makeType<number>({
  name: 'float4',
  oid: 700,
  attlen: 4,
  attalign: 'i',
  toText: (value) => float4Text(Math.fround(value)),
  fromText: parseFloat4,
  compare: compareFloats,
  codec: {
    vector: 'float',
    read: (u8, at) => {
      words[0] = int32At(u8, at);
      return single[0];
    },
    append: (sink, value) => {
      if (typeof value !== 'number') throw wrongKind('float4', 'a number', value);
      single[0] = value;
      if (Number.isFinite(value) && (!Number.isFinite(single[0]) || (single[0] === 0 && value !== 0)))
        throw new StorageError('22003', `"${value}" is out of range for type real`);
      // PostgreSQL's own NaN is the positive quiet one.
      appendWord(sink, Number.isNaN(value) ? 0x7fc00000 : words[0], 4);
    },
  },
});

const FLOAT8: ColumnType<number> = makeType<number>({
  name: 'float8',
  oid: 701,
  attlen: 8,
  attalign: 'd',
  toText: float8Text,
  fromText: parseFloat8,
  compare: compareFloats,
  codec: {
    vector: 'float',
    read: (u8, at) => {
      words[0] = int32At(u8, at);
      words[1] = int32At(u8, at + 4);
      return double[0];
    },
    append: (sink, value) => {
      if (typeof value !== 'number') throw wrongKind('float8', 'a number', value);
      double[0] = Number.isNaN(value) ? Number.NaN : value;
      appendWord(sink, words[0], 4);
      appendWord(sink, words[1], 4);
    },
  },
});

/** float4: a number rounded to single precision. */
export const float4 = (): ColumnType<number> => FLOAT4;
/** float8: a number. */
export const float8 = (): ColumnType<number> => FLOAT8;
