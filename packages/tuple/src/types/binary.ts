// bytea and uuid.

import { StorageError } from '@blockwright/base';
import { ByteSink } from '../byte-sink.ts';
import { type ColumnType, makeType, wrongKind } from '../column-type.ts';
import { compareBytes, utf8Append } from '../utf8.ts';

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Bytes as PostgreSQL prints them: `\x` and hexadecimal digits. */
export function hexText(bytes: Uint8Array): string {
  let text = '\\x';
  for (const byte of bytes) text += HEX[byte];
  return text;
}

function badBytea(message = 'invalid input syntax for type bytea'): StorageError {
  return new StorageError('22P02', message);
}

/** PostgreSQL: `byteain`, both the hex form and the escape form (`\ooo`, `\\`). */
function parseBytea(text: string): Uint8Array {
  if (text.startsWith('\\x')) {
    const digits = text.slice(2).replace(/[ \n\t\r]/g, '');
    const wrong = /[^0-9a-fA-F]/u.exec(digits);
    if (wrong !== null) throw badBytea(`invalid hexadecimal digit: "${wrong[0]}"`);
    if (digits.length % 2 !== 0) throw badBytea('invalid hexadecimal data: odd number of digits');
    const bytes = new Uint8Array(digits.length / 2);
    for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(digits.slice(i * 2, i * 2 + 2), 16);
    return bytes;
  }
  const sink = new ByteSink();
  // What is no escape, one backslash or three octal digits after one.
  const parts = /[^\\]+|\\(?:(\\)|([0-3][0-7]{2}))/y;
  for (let i = 0; i < text.length; i = parts.lastIndex) {
    parts.lastIndex = i;
    const part = parts.exec(text);
    if (part === null) throw badBytea();
    if (part[2] === undefined) utf8Append(sink, part[1] ?? part[0]);
    else sink.append(Uint8Array.of(Number.parseInt(part[2], 8)));
  }
  return sink.bytes.slice(0, sink.length);
}

const BYTEA: ColumnType<Uint8Array> = makeType<Uint8Array>({
  name: 'bytea',
  oid: 17,
  attlen: -1,
  attalign: 'i',
  toText: hexText,
  fromText: parseBytea,
  compare: compareBytes,
  codec: {
    vector: 'bytes',
    read: (u8, at, length) => u8.slice(at, at + length),
    append: (sink, value) => {
      if (!(value instanceof Uint8Array)) throw wrongKind('bytea', 'a Uint8Array', value);
      sink.append(value);
    },
  },
});

function uuidText(u8: Uint8Array, at: number): string {
  let text = '';
  for (let i = 0; i < 16; i++) text += (i === 4 || i === 6 || i === 8 || i === 10 ? '-' : '') + HEX[u8[at + i]];
  return text;
}

/** The 32 digits of a uuid: braces around it and a hyphen after every fourth digit are allowed. PostgreSQL: `uuid_in`. */
function uuidDigits(text: string): string {
  const inner = /^\{(.*)\}$/.exec(text)?.[1] ?? text;
  if (!/^(?:[0-9a-fA-F]{4}-?){7}[0-9a-fA-F]{4}$/.test(inner))
    throw new StorageError('22P02', `invalid input syntax for type uuid: "${text}"`);
  return inner.replaceAll('-', '').toLowerCase();
}

const UUID: ColumnType<string> = makeType<string>({
  name: 'uuid',
  oid: 2950,
  attlen: 16,
  attalign: 'c',
  toText: (value) => value,
  fromText: (text) => uuidDigits(text).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
  compare: (a, b) => {
    const [x, y] = [uuidDigits(a), uuidDigits(b)];
    return x < y ? -1 : x > y ? 1 : 0;
  },
  codec: {
    vector: 'bytes',
    read: uuidText,
    append: (sink, value) => {
      if (typeof value !== 'string') throw wrongKind('uuid', 'a string of hexadecimal digits', value);
      const digits = uuidDigits(value);
      sink.reserve(16);
      for (let i = 0; i < 32; i += 2) sink.bytes[sink.length++] = Number.parseInt(digits.slice(i, i + 2), 16);
    },
  },
});

/** bytea: a Uint8Array; text `\x00ff`. */
export const bytea = (): ColumnType<Uint8Array> => BYTEA;
/** uuid: 16 bytes; a string of lower-case digits with hyphens. */
export const uuid = (): ColumnType<string> => UUID;
