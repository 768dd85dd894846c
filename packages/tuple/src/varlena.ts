// The header of a variable-width attribute ("varlena"), and what stands behind one that is not plain.
//
//   | first byte  | form                    | total size                                      | alignment  |
//   |-------------|-------------------------|-------------------------------------------------|------------|
//   | xxxxxxx1    | short: 1-byte header    | upper 7 bits, header included (1 to 127)        | none       |
//   | 00000001    | pointer (TOAST)         | 2 header bytes (01, tag 18) and 16 of pointer   | none       |
//   | xxxxxx00    | 4-byte header           | upper 30 bits of a uint32, header included      | attalign   |
//   | xxxxxx10    | 4-byte, compressed      | the same; then a uint32: raw size, method       | attalign   |
//
// A zero byte where an attribute is due is padding before a 4-byte header. PostgreSQL: varatt.h.

import { StorageError } from '@blockwright/base';
import { type CompressionMethod, decompress } from './compression.ts';
import { badBytes } from './errors.ts';
import { int32At } from './types/integer.ts';

export const VARHDRSZ = 4;
/** Longest data that gets a 1-byte header. PostgreSQL: VARATT_SHORT_MAX less the header. */
export const VARATT_SHORT_DATA_MAX = 126;
/** Bytes of a TOAST pointer with its two header bytes. */
export const TOAST_POINTER_BYTES = 18;
export const VARTAG_ONDISK = 18;

const SIZE_MASK = 0x3fffffff;

/** Where an out-of-line value lies. PostgreSQL: varatt_external. */
export interface ToastPointer {
  /** va_valueid: chunk_id in the TOAST table. */
  readonly valueId: number;
  /** va_toastrelid: OID of the TOAST table. */
  readonly toastRelationId: number;
  /** Bytes of the value itself. */
  readonly rawSize: number;
  /** Bytes that the chunks hold together. */
  readonly externalSize: number;
  /** How the chunks' bytes are compressed; the decoder undoes it. */
  readonly compression: CompressionMethod | undefined;
}

/** Fetches the chunks of an out-of-line value, put together, as stored: {@link ToastPointer.externalSize} bytes. */
export type FetchToast = (pointer: ToastPointer) => Uint8Array;

function methodOf(bits: number): CompressionMethod {
  if (bits > 1) throw badBytes(`a compression method numbered ${bits}`);
  return bits === 0 ? 'pglz' : 'lz4';
}

/** Reads the pointer of {@link TOAST_POINTER_BYTES} bytes at `at`. */
export function readToastPointer(u8: Uint8Array, at: number): ToastPointer {
  const rawSize = int32At(u8, at + 2) - VARHDRSZ;
  const info = int32At(u8, at + 6);
  const externalSize = info & SIZE_MASK;
  if (rawSize < 0 || externalSize > rawSize) throw badBytes(`a TOAST pointer to ${externalSize} bytes for ${rawSize}`);
  return {
    valueId: int32At(u8, at + 10) >>> 0,
    toastRelationId: int32At(u8, at + 14) >>> 0,
    rawSize,
    externalSize,
    compression: externalSize < rawSize ? methodOf(info >>> 30) : undefined,
  };
}

/** The data of a compressed varlena: `length` bytes at `at`, after the 4-byte header. */
export function inflate(u8: Uint8Array, at: number, length: number): Uint8Array {
  if (length < 4) throw badBytes(`a compressed value of ${length} bytes`);
  const info = int32At(u8, at);
  return decompress(methodOf(info >>> 30), u8, at + 4, length - 4, info & SIZE_MASK);
}

/** What a TOAST pointer stands for, as its chunks hold it: still compressed where the pointer says so. */
export interface StoredValue {
  readonly pointer: ToastPointer;
  readonly bytes: Uint8Array;
}

/**
 * Fetches what the TOAST pointer at `at` points to.
 * @throws StorageError 0A000 without `fetch`; XX001 when what it brings does not fit the pointer.
 */
export function fetchStored(u8: Uint8Array, at: number, fetch: FetchToast | undefined): StoredValue {
  const pointer = readToastPointer(u8, at);
  if (fetch === undefined)
    throw new StorageError('0A000', 'the value is stored out of line (TOAST), which is not read here', {
      detail: `chunk_id ${pointer.valueId} of the TOAST table with OID ${pointer.toastRelationId}`,
      hint: 'Give the decoder a fetchToast function.',
    });
  const bytes = fetch(pointer);
  if (bytes.length !== pointer.externalSize)
    throw badBytes(`an out-of-line value of ${bytes.length} bytes where its pointer says ${pointer.externalSize}`);
  return { pointer, bytes };
}

/** The data behind a TOAST pointer, decompressed; throws as {@link fetchStored} does. */
export function detoast(u8: Uint8Array, at: number, fetch: FetchToast | undefined): Uint8Array {
  const { pointer, bytes } = fetchStored(u8, at, fetch);
  const data = pointer.compression === undefined ? bytes : inflate(bytes, 0, bytes.length);
  if (data.length !== pointer.rawSize)
    throw badBytes(`an out-of-line value that holds ${data.length} bytes where its pointer says ${pointer.rawSize}`);
  return data;
}
