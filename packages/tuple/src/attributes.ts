// The careful walk over one tuple: where each attribute lies, with every length held against the tuple's end. Generated
// decoders fall back to it for all that is not plain, and it alone says what is wrong with a tuple.

import { isStorageError } from '@blockwright/base';
import type { TupleDescriptor } from './descriptor.ts';
import { badBytes, TupleError } from './errors.ts';
import { HEAP_HASNULL, HEAP_NATTS_MASK, HEAP_TUPLE_HEADER_BYTES, heapHeaderBytes } from './heap-header.ts';
import { INDEX_NULL_MASK, INDEX_TUPLE_HEADER_BYTES, indexTupleDataOffset } from './index-header.ts';
import { int32At } from './types/integer.ts';
import { detoast, type FetchToast, inflate, TOAST_POINTER_BYTES, VARTAG_ONDISK } from './varlena.ts';

/** Whose header a tuple has: the header says where nulls are and where the data begins. */
export type TupleLayout = 'heap' | 'index';

export const AT_NULL = 0;
export const AT_PLAIN = 1;
export const AT_COMPRESSED = 2;
export const AT_EXTERNAL = 3;
/** The tuple is older than the column, which was added with a default. */
const AT_MISSING = 4;

/** Where the attributes of one tuple lie; reused from tuple to tuple. */
export class AttributePlaces {
  /** AT_NULL, AT_PLAIN, AT_COMPRESSED, AT_EXTERNAL or AT_MISSING. */
  readonly forms: Uint8Array;
  /** Byte of the data, after a varlena header (of a TOAST pointer: the pointer's first byte). */
  readonly starts: Int32Array;
  readonly sizes: Int32Array;
  constructor(attributes: number) {
    this.forms = new Uint8Array(attributes);
    this.starts = new Int32Array(attributes);
    this.sizes = new Int32Array(attributes);
  }
}

/**
 * Finds the first `wanted` attributes of the tuple of `length` bytes at `pos`. Those that the tuple does not store are
 * null, or what their column says is missing. Returns the byte after the last of them.
 * @throws StorageError XX001, without the place of the tuple: see {@link atTuple}.
 */
export function locateAttributes(
  descriptor: TupleDescriptor,
  u8: Uint8Array,
  pos: number,
  length: number,
  wanted: number,
  places: AttributePlaces,
): number {
  if (!(pos >= 0) || !(length >= HEAP_TUPLE_HEADER_BYTES) || pos + length > u8.length)
    throw badBytes(`a tuple of ${length} bytes, shorter than its header`);
  const natts = (u8[pos + 18] | (u8[pos + 19] << 8)) & HEAP_NATTS_MASK;
  const hasNulls = (u8[pos + 20] & HEAP_HASNULL) !== 0;
  const hoff = u8[pos + 22];
  const { attlens } = descriptor;
  if (natts > attlens.length) throw badBytes(`the tuple has ${natts} attributes where the table has ${attlens.length}`);
  if (hoff !== heapHeaderBytes(natts, hasNulls))
    throw badBytes(`data begins at offset ${hoff} where ${heapHeaderBytes(natts, hasNulls)} is due (t_hoff)`);
  if (hoff > length) throw badBytes(`data begins at offset ${hoff}, beyond the tuple's ${length} bytes (t_hoff)`);
  const bitmap = hasNulls ? pos + HEAP_TUPLE_HEADER_BYTES : -1;
  return locate(descriptor, u8, pos, pos + hoff, pos + length, natts, bitmap, wanted, places);
}

/**
 * The same of an index tuple, which has every attribute: one of a leaf page, or a posting list, whose TIDs follow the data.
 * @throws StorageError XX001, without the place of the tuple: see {@link atTuple}.
 */
export function locateIndexAttributes(
  descriptor: TupleDescriptor,
  u8: Uint8Array,
  pos: number,
  length: number,
  wanted: number,
  places: AttributePlaces,
): number {
  if (!(pos >= 0) || !(length >= INDEX_TUPLE_HEADER_BYTES) || pos + length > u8.length)
    throw badBytes(`an index tuple of ${length} bytes, shorter than its header`);
  const info = u8[pos + 6] | (u8[pos + 7] << 8);
  const data = indexTupleDataOffset(info);
  if (data > length) throw badBytes(`data begins at offset ${data}, beyond the tuple's ${length} bytes`);
  const bitmap = (info & INDEX_NULL_MASK) !== 0 ? pos + INDEX_TUPLE_HEADER_BYTES : -1;
  const natts = descriptor.attlens.length;
  return locate(descriptor, u8, pos, pos + data, pos + length, natts, bitmap, wanted, places);
}

/** @param bitmap where the null bitmap begins; -1 when there is none */
function locate(
  descriptor: TupleDescriptor,
  u8: Uint8Array,
  pos: number,
  from: number,
  end: number,
  natts: number,
  bitmap: number,
  wanted: number,
  places: AttributePlaces,
): number {
  const { attlens, alignments } = descriptor;
  let at = from;
  for (let i = 0; i < wanted; i++) {
    if (i >= natts || (bitmap >= 0 && (u8[bitmap + (i >> 3)] & (1 << (i & 7))) === 0)) {
      places.forms[i] = i >= natts && descriptor.columns[i].missing !== undefined ? AT_MISSING : AT_NULL;
      places.starts[i] = at;
      places.sizes[i] = 0;
      continue;
    }
    const attlen = attlens[i];
    if (attlen >= 0) at = locateFixed(i, attlen, pos + align(at - pos, alignments[i]), end, places);
    else if (attlen === -1) at = locateVarlena(i, u8, pos, at, alignments[i], end, places);
    else at = locateCstring(i, u8, at, end, places);
  }
  return at;
}

/** Bytes up to a zero byte, which is not part of the value. */
function locateCstring(i: number, u8: Uint8Array, at: number, end: number, places: AttributePlaces): number {
  let zero = at;
  while (zero < end && u8[zero] !== 0) zero++;
  if (zero >= end) throw attributeError(i, 'it has no zero byte at its end');
  place(i, AT_PLAIN, at, zero - at, end, places);
  return zero + 1;
}

function align(offset: number, alignment: number): number {
  return (offset + alignment - 1) & -alignment;
}

function locateFixed(i: number, attlen: number, at: number, end: number, places: AttributePlaces): number {
  if (at + attlen > end) throw attributeError(i, `${attlen} bytes are due and ${Math.max(0, end - at)} are left`);
  places.forms[i] = AT_PLAIN;
  places.starts[i] = at;
  places.sizes[i] = attlen;
  return at + attlen;
}

function locateVarlena(
  i: number,
  u8: Uint8Array,
  pos: number,
  from: number,
  alignment: number,
  end: number,
  places: AttributePlaces,
): number {
  if (from >= end) throw attributeError(i, 'the tuple ends before it');
  const first = u8[from];
  if (first === 1) {
    if (from + 2 > end || u8[from + 1] !== VARTAG_ONDISK)
      throw attributeError(i, from + 2 > end ? 'the tuple ends in it' : `a pointer with tag ${u8[from + 1]}`);
    return place(i, AT_EXTERNAL, from, TOAST_POINTER_BYTES, end, places);
  }
  if ((first & 1) !== 0) {
    place(i, AT_PLAIN, from, first >> 1, end, places);
    places.starts[i] += 1;
    places.sizes[i] -= 1;
    return from + (first >> 1);
  }
  const at = pos + align(from - pos, alignment);
  if (at !== from && first !== 0) throw attributeError(i, `a byte of ${first} where padding is due`);
  if (at + 4 > end) throw attributeError(i, 'the tuple ends in its header');
  const word = int32At(u8, at);
  const size = word >>> 2;
  if ((word & 1) !== 0 || size < 4) throw attributeError(i, `a varlena header of 0x${(word >>> 0).toString(16)}`);
  place(i, (word & 2) !== 0 ? AT_COMPRESSED : AT_PLAIN, at, size, end, places);
  places.starts[i] += 4;
  places.sizes[i] -= 4;
  return at + size;
}

function place(i: number, form: number, at: number, size: number, end: number, places: AttributePlaces): number {
  if (size > end - at) throw attributeError(i, `it claims ${size} bytes and ${end - at} are left`);
  places.forms[i] = form;
  places.starts[i] = at;
  places.sizes[i] = size;
  return at + size;
}

class AttributeFault extends Error {
  readonly attribute: number;
  constructor(attribute: number, message: string) {
    super(message);
    this.attribute = attribute;
  }
}

function attributeError(attribute: number, message: string): AttributeFault {
  return new AttributeFault(attribute, message);
}

/** The data of one attribute; reused from attribute to attribute. */
export class AttributeData {
  u8: Uint8Array = new Uint8Array(0);
  at = 0;
  size = 0;
}

/**
 * Finds the data of attribute `i`, which is not null: decompressed, fetched or taken from the column's missing value as
 * need be; plain data is `u8` itself.
 */
export function plainData(
  descriptor: TupleDescriptor,
  u8: Uint8Array,
  i: number,
  places: AttributePlaces,
  fetch: FetchToast | undefined,
  data: AttributeData,
): void {
  const form = places.forms[i];
  const start = places.starts[i];
  if (form === AT_PLAIN) {
    data.u8 = u8;
    data.at = start;
    data.size = places.sizes[i];
    return;
  }
  if (form === AT_COMPRESSED) data.u8 = inflate(u8, start, places.sizes[i]);
  else if (form === AT_EXTERNAL) data.u8 = detoast(u8, start, fetch);
  else data.u8 = descriptor.columns[i].missing as Uint8Array;
  data.at = 0;
  data.size = data.u8.length;
}

/**
 * The error that says where `cause` happened: tuple `tupleIndex` of the batch, attribute `attribute` (0-based, or -1
 * when `cause` knows better or the header is at fault). What is no fault of the data comes back as it is.
 */
export function atTuple(cause: unknown, descriptor: TupleDescriptor, tupleIndex: number, attribute: number): unknown {
  if (cause instanceof TupleError) return cause;
  const index = cause instanceof AttributeFault ? cause.attribute : attribute;
  if (!(cause instanceof AttributeFault) && !isStorageError(cause)) return cause;
  const column = descriptor.columns[index];
  const where = column === undefined ? 'tuple header' : `attribute ${index + 1} ("${column.name}")`;
  const code = isStorageError(cause) ? cause.code : 'XX001';
  const options = isStorageError(cause) ? { detail: cause.detail, hint: cause.hint, cause } : {};
  return new TupleError(code, `${where}: ${cause.message}`, { tupleIndex, attributeNumber: index + 1 }, options);
}
