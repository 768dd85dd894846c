// UTF-8 in and out, strict as PostgreSQL is: no lone surrogate, no zero byte, nothing ill-formed.

import { StorageError } from '@blockwright/base';
import type { ByteSink } from './byte-sink.ts';

interface Decoder {
  decode(bytes: Uint8Array): string;
}
// Declared here because the package type-checks without the DOM's and Node's types; every host has it.
const { TextDecoder } = globalThis as unknown as {
  TextDecoder: new (label: string, options: { fatal: boolean; ignoreBOM: boolean }) => Decoder;
};
const strict: Decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Up to here a loop over ASCII is quicker than a call of the decoder. */
const ASCII_LOOP_MAX = 64;

/**
 * The string of `length` bytes at `at`.
 * @throws StorageError 22021 when they are not UTF-8.
 */
export function utf8Decode(u8: Uint8Array, at: number, length: number): string {
  if (length <= ASCII_LOOP_MAX) {
    let text = '';
    let i = at;
    const end = at + length;
    for (; i + 8 <= end; i += 8) {
      const [a, b, c, d] = [u8[i], u8[i + 1], u8[i + 2], u8[i + 3]];
      const [e, f, g, h] = [u8[i + 4], u8[i + 5], u8[i + 6], u8[i + 7]];
      if ((a | b | c | d | e | f | g | h) >= 0x80) break;
      text += String.fromCharCode(a, b, c, d, e, f, g, h);
    }
    for (; i < end; i++) {
      const byte = u8[i];
      if (byte >= 0x80) break;
      text += String.fromCharCode(byte);
    }
    if (i === end) return text;
  }
  try {
    return strict.decode(u8.subarray(at, at + length));
  } catch (cause) {
    throw new StorageError('22021', 'invalid byte sequence for encoding "UTF8"', { cause });
  }
}

/**
 * Appends `text` as UTF-8.
 * @throws StorageError 22021 for a lone surrogate or a NUL character, which PostgreSQL cannot store.
 */
export function utf8Append(sink: ByteSink, text: string): void {
  const units = text.length;
  sink.reserve(units * 3);
  const bytes = sink.bytes;
  let at = sink.length;
  for (let i = 0; i < units; i++) {
    let code = text.charCodeAt(i);
    if (code < 0x80) {
      if (code === 0) throw new StorageError('22021', 'invalid byte sequence for encoding "UTF8": 0x00');
      bytes[at++] = code;
    } else if (code < 0x800) {
      bytes[at++] = 0xc0 | (code >> 6);
      bytes[at++] = 0x80 | (code & 0x3f);
    } else if ((code & 0xf800) !== 0xd800) {
      bytes[at++] = 0xe0 | (code >> 12);
      bytes[at++] = 0x80 | ((code >> 6) & 0x3f);
      bytes[at++] = 0x80 | (code & 0x3f);
    } else {
      const next = text.charCodeAt(i + 1);
      if (code >= 0xdc00 || (next & 0xfc00) !== 0xdc00)
        throw new StorageError('22021', `the string holds a lone surrogate, U+${code.toString(16).toUpperCase()}`);
      i++;
      code = 0x10000 + ((code & 0x3ff) << 10) + (next & 0x3ff);
      bytes[at++] = 0xf0 | (code >> 18);
      bytes[at++] = 0x80 | ((code >> 12) & 0x3f);
      bytes[at++] = 0x80 | ((code >> 6) & 0x3f);
      bytes[at++] = 0x80 | (code & 0x3f);
    }
  }
  sink.length = at;
}

/** Number of characters (code points) in `text`. */
export function characterCount(text: string): number {
  let count = 0;
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xfc00) !== 0xdc00) count++;
  return count;
}

/** Number of characters in UTF-8 bytes: those that are no continuation byte. */
export function utf8CharacterCount(u8: Uint8Array, at: number, length: number): number {
  let count = 0;
  for (let i = at; i < at + length; i++) if ((u8[i] & 0xc0) !== 0x80) count++;
  return count;
}

/** The one code point that `length` bytes at `at` spell, or -1 when they spell none, several, or nothing valid. */
export function utf8CodePoint(u8: Uint8Array, at: number, length: number): number {
  const lead = u8[at];
  if (length === 1) return lead < 0x80 ? lead : -1;
  if (length < 2 || length > 4) return -1;
  let code = length === 2 ? lead & 0x1f : length === 3 ? lead & 0x0f : lead & 0x07;
  const marker = length === 2 ? 0xc0 : length === 3 ? 0xe0 : 0xf0;
  if ((lead ^ code) !== marker) return -1;
  for (let i = 1; i < length; i++) {
    const byte = u8[at + i];
    if ((byte & 0xc0) !== 0x80) return -1;
    code = (code << 6) | (byte & 0x3f);
  }
  const least = length === 2 ? 0x80 : length === 3 ? 0x800 : 0x10000;
  return code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? -1 : code;
}

/**
 * Order of the UTF-8 bytes of two strings: code point order (PostgreSQL's C collation), where JavaScript's `<` compares
 * UTF-16 units.
 */
export function compareUtf8(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    let x = a.charCodeAt(i);
    let y = b.charCodeAt(i);
    if (x === y) continue;
    // Surrogates stand for code points above U+FFFF: lift them over U+E000 to U+FFFF.
    if (x >= 0xd800 && y >= 0xd800) {
      x = x >= 0xe000 ? x - 0x800 : x + 0x2000;
      y = y >= 0xe000 ? y - 0x800 : y + 0x2000;
    }
    return x < y ? -1 : 1;
  }
  return a.length === b.length ? 0 : a.length < b.length ? -1 : 1;
}

/** Order of two byte strings, as memcmp and then by length. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
  return a.length === b.length ? 0 : a.length < b.length ? -1 : 1;
}
