// bool, int2, int4, int8: little-endian integers of 1, 2, 4 and 8 bytes.

import { StorageError } from '@blockwright/base';
import type { ByteSink } from '../byte-sink.ts';
import { type ColumnType, makeType, wrongKind } from '../column-type.ts';

export function int32At(u8: Uint8Array, at: number): number {
  return u8[at] | (u8[at + 1] << 8) | (u8[at + 2] << 16) | (u8[at + 3] << 24);
}

export function int16At(u8: Uint8Array, at: number): number {
  return ((u8[at] | (u8[at + 1] << 8)) << 16) >> 16;
}

/** Appends the `bytes` low bytes of `word`. */
export function appendWord(sink: ByteSink, word: number, bytes: number): void {
  sink.reserve(bytes);
  for (let i = 0; i < bytes; i++) sink.bytes[sink.length++] = word >> (i * 8);
}

export function compareNumbers(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function compareBigints(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const wide = new BigInt64Array(1);
const wideWords = new Int32Array(wide.buffer);

/** The signed 64-bit integer of two words. */
export function bigintOfWords(low: number, high: number): bigint {
  wideWords[0] = low;
  wideWords[1] = high;
  return wide[0];
}

/** Appends a signed 64-bit integer. */
export function appendBigint(sink: ByteSink, value: bigint): void {
  wide[0] = value;
  appendWord(sink, wideWords[0], 4);
  appendWord(sink, wideWords[1], 4);
}

function parseInteger(text: string, type: string): bigint {
  const trimmed = text.trim();
  if (!/^[+-]?\d+$/.test(trimmed)) throw new StorageError('22P02', `invalid input syntax for type ${type}: "${text}"`);
  // A hundred digits are out of range of everything: do not parse a megabyte to learn it.
  return trimmed.length > 100 && /^[+-]?0*[1-9]\d{60}/.test(trimmed) ? 1n << 200n : BigInt(trimmed.replace(/^\+/, ''));
}

function smallInteger(name: string, shown: string, oid: number, attlen: 2 | 4): ColumnType<number> {
  const limit = 2 ** (attlen * 8 - 1);
  const outOfRange = (value: unknown): StorageError =>
    new StorageError('22003', `value "${String(value)}" is out of range for type ${shown}`);
  return makeType<number>({
    name,
    oid,
    attlen,
    attalign: attlen === 2 ? 's' : 'i',
    toText: String,
    fromText: (text) => {
      const value = parseInteger(text, shown);
      if (value < BigInt(-limit) || value >= BigInt(limit)) throw outOfRange(text);
      return Number(value);
    },
    compare: compareNumbers,
    codec: {
      vector: 'int',
      read: (u8, at) => (attlen === 2 ? int16At(u8, at) : int32At(u8, at)),
      append: (sink, value) => {
        if (typeof value !== 'number' || !Number.isInteger(value)) throw wrongKind(name, 'a whole number', value);
        if (value < -limit || value >= limit) throw outOfRange(value);
        appendWord(sink, value, attlen);
      },
      ofInt: (word) => word,
    },
  });
}

const BOOL: ColumnType<boolean> = makeType<boolean>({
  name: 'bool',
  oid: 16,
  attlen: 1,
  attalign: 'c',
  toText: (value) => (value ? 't' : 'f'),
  fromText: (text) => {
    const word = text.trim().toLowerCase();
    if (word === '1' || word === 'on' || (word !== '' && ('true'.startsWith(word) || 'yes'.startsWith(word))))
      return true;
    if (
      word === '0' ||
      word === 'of' ||
      word === 'off' ||
      (word !== '' && ('false'.startsWith(word) || 'no'.startsWith(word)))
    )
      return false;
    throw new StorageError('22P02', `invalid input syntax for type boolean: "${text}"`);
  },
  compare: (a, b) => compareNumbers(Number(a), Number(b)),
  codec: {
    vector: 'int',
    read: (u8, at) => u8[at] !== 0,
    append: (sink, value) => {
      if (typeof value !== 'boolean') throw wrongKind('bool', 'a boolean', value);
      appendWord(sink, value ? 1 : 0, 1);
    },
    ofInt: (word) => word !== 0,
  },
});

const INT2: ColumnType<number> = smallInteger('int2', 'smallint', 21, 2);
const INT4: ColumnType<number> = smallInteger('int4', 'integer', 23, 4);
const INT8: ColumnType<bigint> = makeType<bigint>({
  name: 'int8',
  oid: 20,
  attlen: 8,
  attalign: 'd',
  toText: String,
  fromText: (text) => {
    const value = parseInteger(text, 'bigint');
    if (BigInt.asIntN(64, value) !== value)
      throw new StorageError('22003', `value "${text}" is out of range for type bigint`);
    return value;
  },
  compare: compareBigints,
  codec: {
    vector: 'int8',
    read: (u8, at) => bigintOfWords(int32At(u8, at), int32At(u8, at + 4)),
    append: (sink, value) => {
      if (typeof value !== 'bigint' && !Number.isSafeInteger(value))
        throw wrongKind('int8', 'a bigint or a safe whole number', value);
      const big = BigInt(value as bigint | number);
      if (BigInt.asIntN(64, big) !== big)
        throw new StorageError('22003', `value "${big}" is out of range for type bigint`);
      appendBigint(sink, big);
    },
    ofWords: bigintOfWords,
  },
});

/** bool: one byte; true, false; text `t`, `f`. */
export const bool = (): ColumnType<boolean> => BOOL;
/** int2: a whole number of 16 bits. */
export const int2 = (): ColumnType<number> => INT2;
/** int4: a whole number of 32 bits. */
export const int4 = (): ColumnType<number> => INT4;
/** int8: a bigint of 64 bits; a safe number is taken too. */
export const int8 = (): ColumnType<bigint> => INT8;
