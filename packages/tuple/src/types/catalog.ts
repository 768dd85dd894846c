// The types by their numbers in PostgreSQL's catalogs, and the few types that only catalogs use.

import { StorageError } from '@blockwright/base';
import { type AttAlign, type ColumnType, makeType, wrongKind } from '../column-type.ts';
import { compareUtf8, utf8Append, utf8Decode } from '../utf8.ts';
import { bytea, hexText, uuid } from './binary.ts';
import { blankPadded, text, varchar } from './character.ts';
import { date, timestamptz } from './datetime.ts';
import { float4, float8 } from './float.ts';
import { appendWord, bool, compareNumbers, int2, int4, int8, int32At } from './integer.ts';
import { numeric } from './numeric.ts';

const NAME_BYTES = 64;
const ZERO: Uint8Array = new Uint8Array(1);

function unsignedType(typeName: string, oid: number): ColumnType<number> {
  return makeType<number>({
    name: typeName,
    oid,
    attlen: 4,
    attalign: 'i',
    toText: String,
    fromText: (given) => {
      if (!/^\s*\d+\s*$/.test(given))
        throw new StorageError('22P02', `invalid input syntax for type ${typeName}: "${given}"`);
      if (Number(given) > 0xffffffff)
        throw new StorageError('22003', `value "${given}" is out of range for type ${typeName}`);
      return Number(given);
    },
    compare: compareNumbers,
    codec: {
      vector: 'int',
      read: (u8, at) => int32At(u8, at) >>> 0,
      append: (sink, value) => {
        if (typeof value !== 'number' || !Number.isInteger(value)) throw wrongKind(typeName, 'a whole number', value);
        if (value < 0 || value > 0xffffffff)
          throw new StorageError('22003', `value "${value}" is out of range for type ${typeName}`);
        appendWord(sink, value, 4);
      },
      ofInt: (word) => word >>> 0,
    },
  });
}

const NAME: ColumnType<string> = makeType<string>({
  name: 'name',
  oid: 19,
  attlen: NAME_BYTES,
  attalign: 'c',
  toText: (value) => value,
  fromText: (given) => given,
  compare: compareUtf8,
  codec: {
    vector: 'bytes',
    read: (u8, at, length) => {
      let end = at;
      while (end < at + length && u8[end] !== 0) end++;
      return utf8Decode(u8, at, end - at);
    },
    append: (sink, value) => {
      if (typeof value !== 'string') throw wrongKind('name', 'a string', value);
      const from = sink.length;
      utf8Append(sink, value);
      if (sink.length - from >= NAME_BYTES)
        throw new StorageError('22001', `value too long for type name: at most ${NAME_BYTES - 1} bytes`);
      sink.reserve(NAME_BYTES);
      sink.bytes.fill(0, sink.length, from + NAME_BYTES);
      sink.length = from + NAME_BYTES;
    },
  },
});

/** A name as an index keeps it: its bytes and a zero byte. PostgreSQL: cstring, the key type of `name_ops`. */
const CSTRING: ColumnType<string> = makeType<string>({
  name: 'cstring',
  oid: 2275,
  attlen: -2,
  attalign: 'c',
  toText: (value) => value,
  fromText: (given) => given,
  compare: compareUtf8,
  codec: {
    vector: 'bytes',
    read: utf8Decode,
    append: (sink, value) => {
      if (typeof value !== 'string') throw wrongKind('cstring', 'a string', value);
      utf8Append(sink, value);
      sink.append(ZERO);
    },
  },
});

/** "char": one byte as a string; the empty string is byte 0, bytes above 127 are `\ooo`. PostgreSQL: `charout`. */
function oneByteText(byte: number): string {
  if (byte === 0) return '';
  return byte < 0x80 ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, '0')}`;
}

function oneByteOf(given: string): number {
  if (/^\\[0-3][0-7]{2}$/.test(given)) return Number.parseInt(given.slice(1), 8);
  if (given.length > 1 || given > '\u007f') throw new StorageError('22001', 'value too long for type "char": one byte');
  return given === '' ? 0 : given.charCodeAt(0);
}

const QUOTED_CHAR: ColumnType<string> = makeType<string>({
  name: '"char"',
  oid: 18,
  attlen: 1,
  attalign: 'c',
  toText: (value) => value,
  fromText: (given) => oneByteText(oneByteOf(given)),
  compare: (a, b) => compareNumbers(oneByteOf(a), oneByteOf(b)),
  codec: {
    vector: 'int',
    read: (u8, at) => oneByteText(u8[at]),
    append: (sink, value) => {
      if (typeof value !== 'string') throw wrongKind('"char"', 'a string', value);
      appendWord(sink, oneByteOf(value), 1);
    },
    ofInt: (word) => oneByteText(word & 0xff),
  },
});

const OID: ColumnType<number> = unsignedType('oid', 26);
const XID: ColumnType<number> = unsignedType('xid', 28);

/** name: up to 63 bytes in 64, zero-filled. */
export const name = (): ColumnType<string> => NAME;
/** cstring: a name in an index, its bytes and a zero byte; no type of a table's column. */
export const cstring = (): ColumnType<string> => CSTRING;
/** oid: an unsigned number of 32 bits. */
export const oid = (): ColumnType<number> => OID;
/** xid: a transaction number of 32 bits. */
export const xid = (): ColumnType<number> => XID;
/** "char": one byte, as PostgreSQL's catalogs use it for codes such as relkind. */
export const quotedChar = (): ColumnType<string> => QUOTED_CHAR;

/**
 * A column whose type this package does not know, or that was dropped: its bytes are stepped over, and handed out as a
 * Uint8Array when asked for.
 * @throws RangeError for a width that is neither -1 nor 1 to 32767.
 */
export function opaque(attlen: number, attalign: AttAlign, oidNumber = 0, typmod = -1): ColumnType<Uint8Array> {
  if (attlen !== -1 && !(Number.isInteger(attlen) && attlen >= 1 && attlen <= 32767))
    throw new RangeError(`a column's width is -1 or 1 to 32767 bytes, not ${attlen}`);
  return makeType<Uint8Array>({
    name: 'opaque',
    oid: oidNumber,
    typmod,
    attlen,
    attalign,
    toText: hexText,
    fromText: (given) => bytea().fromText(given),
    compare: (a, b) => bytea().compare(a, b),
    codec: {
      vector: 'bytes',
      read: (u8, at, length) => u8.slice(at, at + length),
      append: (sink, value) => {
        if (!(value instanceof Uint8Array) || (attlen > 0 && value.length !== attlen))
          throw wrongKind('opaque', attlen > 0 ? `a Uint8Array of ${attlen} bytes` : 'a Uint8Array', value);
        sink.append(value);
      },
    },
  });
}

function numericOfTypmod(typmod: number): ColumnType<string> {
  if (typmod < 4) return numeric();
  const packed = typmod - 4;
  return numeric((packed >> 16) & 0xffff, ((packed & 0x7ff) ^ 1024) - 1024);
}

const BY_OID: ReadonlyMap<number, (typmod: number) => ColumnType> = new Map<number, (typmod: number) => ColumnType>([
  [16, bool],
  [17, bytea],
  [18, quotedChar],
  [19, name],
  [20, int8],
  [21, int2],
  [23, int4],
  [25, text],
  [26, oid],
  [28, xid],
  [700, float4],
  [701, float8],
  [1042, (typmod) => blankPadded(Math.max(0, typmod - 4))],
  [1043, (typmod) => (typmod > 4 ? varchar(typmod - 4) : varchar())],
  [1082, date],
  [1184, timestamptz],
  [1700, numericOfTypmod],
  [2275, cstring],
  [2950, uuid],
]);

/**
 * The type that pg_attribute's atttypid and atttypmod stand for; `undefined` when this package does not know it
 * (use {@link opaque} with attlen and attalign).
 */
export function columnTypeOf(typeOid: number, typmod: number, nullable: boolean): ColumnType | undefined {
  const type = BY_OID.get(typeOid)?.(typmod);
  return nullable ? (type?.nullable() as ColumnType | undefined) : type;
}
