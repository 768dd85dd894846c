// CRC-32 with zlib's polynomial, two ways: node:zlib's for long spans, tables for short ones, where a call out of
// JavaScript costs more than the work. All values are int32, the bits of the uint32 that zlib shows.
import { crc32 as zlibCrc32 } from 'node:zlib';

/** x^32 + … + 1, bit-reversed: zlib's, PNG's, Ethernet's. PostgreSQL's records use CRC-32C. */
const POLYNOMIAL = 0xedb88320 | 0;

/** From this length on zlib is asked. Measured by scripts/measure.ts: the two are equal from 400 to 550 bytes. */
const ZLIB_FROM = 480;

/** Eight tables of 256: table k holds what a byte does to the CRC with k more bytes behind it. */
const TABLES: Int32Array = makeTables();

function makeTables(): Int32Array {
  const tables = new Int32Array(8 << 8);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (POLYNOMIAL & -(crc & 1));
    tables[byte] = crc;
  }
  for (let i = 256; i < tables.length; i++) {
    const before = tables[i - 256];
    tables[i] = (before >>> 8) ^ tables[before & 255];
  }
  return tables;
}

/**
 * CRC-32 of `length` bytes from `at`, continuing `start`: the CRC of what came before, or a salt.
 * `view` looks at the same bytes as `bytes`, from the same first one.
 */
export function crc32(bytes: Uint8Array, view: DataView, at: number, length: number, start: number): number {
  if (length < ZLIB_FROM) return crc32ByTables(view, at, length, start);
  return crc32ByZlib(bytes, at, length, start);
}

/** As {@link crc32}, always by zlib. */
export function crc32ByZlib(bytes: Uint8Array, at: number, length: number, start: number): number {
  return zlibCrc32(bytes.subarray(at, at + length), start >>> 0) | 0;
}

/** As {@link crc32}, always by tables: eight bytes a step. */
export function crc32ByTables(view: DataView, at: number, length: number, start: number): number {
  const tables = TABLES;
  const end = at + length;
  const eights = end - 7;
  let crc = ~start;
  let p = at;
  for (; p < eights; p += 8) {
    const low = view.getInt32(p, true) ^ crc;
    const high = view.getInt32(p + 4, true);
    crc =
      tables[1792 + (low & 255)] ^
      tables[1536 + ((low >>> 8) & 255)] ^
      tables[1280 + ((low >>> 16) & 255)] ^
      tables[1024 + (low >>> 24)] ^
      tables[768 + (high & 255)] ^
      tables[512 + ((high >>> 8) & 255)] ^
      tables[256 + ((high >>> 16) & 255)] ^
      tables[high >>> 24];
  }
  for (; p < end; p++) crc = (crc >>> 8) ^ tables[(crc ^ view.getUint8(p)) & 255];
  return ~crc;
}
