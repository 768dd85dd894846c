// The two compressions that PostgreSQL puts inside a varlena: pglz and LZ4 blocks. Decompression only; every length is
// checked against both ends before a byte is copied.

import { badBytes } from './errors.ts';

/** PostgreSQL: ToastCompressionId. */
export type CompressionMethod = 'pglz' | 'lz4';

/** No input byte of either format makes more output than this, so a larger claim is refused before memory is taken. */
const EXPANSION_MAX = 256;

/**
 * Decompresses exactly `rawSize` bytes out of `length` bytes at `at`.
 * @throws StorageError XX001 when the bytes are no such stream.
 */
export function decompress(
  method: CompressionMethod,
  u8: Uint8Array,
  at: number,
  length: number,
  rawSize: number,
): Uint8Array {
  if (rawSize > length * EXPANSION_MAX)
    throw badBytes(`compressed ${method} data of ${length} bytes claims to hold ${rawSize}`);
  const out = new Uint8Array(rawSize);
  const written = method === 'pglz' ? pglz(u8, at, at + length, out) : lz4(u8, at, at + length, out);
  if (written !== rawSize) throw badBytes(`compressed ${method} data is corrupt`);
  return out;
}

/**
 * pglz: a control byte, then eight items from its lowest bit on: 0 a literal byte, 1 a match of two or three bytes
 * (length - 3 in the low 4 bits, offset in the other 12; length 18 is followed by a byte to add).
 * Returns the bytes written, or -1. PostgreSQL: pg_lzcompress.c.
 */
function pglz(u8: Uint8Array, from: number, end: number, out: Uint8Array): number {
  let at = from;
  let to = 0;
  while (at < end && to < out.length) {
    let control = u8[at++] | 0x100;
    for (; control > 1 && at < end && to < out.length; control >>= 1) {
      if ((control & 1) === 0) {
        out[to++] = u8[at++];
        continue;
      }
      if (at + 2 > end) return -1;
      let length = (u8[at] & 0x0f) + 3;
      const offset = ((u8[at] & 0xf0) << 4) | u8[at + 1];
      at += 2;
      if (length === 18) {
        if (at >= end) return -1;
        length += u8[at++];
      }
      // PostgreSQL's compressor never writes a match past the end; its decompressor cuts one off, and so do we.
      if (offset === 0 || offset > to) return -1;
      const stop = Math.min(to + length, out.length);
      for (; to < stop; to++) out[to] = out[to - offset];
    }
  }
  return at === end ? to : -1;
}

/** An LZ4 block. Returns the bytes written, or -1. Format: lz4_Block_format.md. */
function lz4(u8: Uint8Array, from: number, end: number, out: Uint8Array): number {
  let at = from;
  let to = 0;
  while (at < end) {
    const token = u8[at++];
    let literals = token >> 4;
    if (literals === 15) {
      let more = 255;
      while (more === 255) {
        if (at >= end) return -1;
        more = u8[at++];
        literals += more;
      }
    }
    if (literals > end - at || literals > out.length - to) return -1;
    for (const stop = at + literals; at < stop; ) out[to++] = u8[at++];
    if (at === end) return to; // the last sequence has literals only
    if (end - at < 2) return -1;
    const offset = u8[at] | (u8[at + 1] << 8);
    at += 2;
    let length = (token & 15) + 4;
    if (length === 19) {
      let more = 255;
      while (more === 255) {
        if (at >= end) return -1;
        more = u8[at++];
        length += more;
      }
    }
    if (offset === 0 || offset > to || length > out.length - to) return -1;
    for (const stop = to + length; to < stop; to++) out[to] = out[to - offset];
  }
  return -1;
}
