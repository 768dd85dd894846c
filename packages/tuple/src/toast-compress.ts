// A tuple too long for its table's target, with its longest values compressed until it is short enough, as PostgreSQL
// does before it would move values out of line (which is not done here).
// PostgreSQL: heap_toast_insert_or_update, toast_compress_datum.

import { AT_NULL, AttributePlaces, locateAttributes } from './attributes.ts';
import { ByteSink } from './byte-sink.ts';
import type { TupleDescriptor } from './descriptor.ts';
import { pglzCompress } from './pglz-compress.ts';
import { VARATT_SHORT_DATA_MAX, VARHDRSZ } from './varlena.ts';

/** Values up to this many bytes, header included, are let alone: a pointer would not be shorter. */
const SMALLEST = 24;
/** Bytes before the stream of a compressed value: its varlena header, then its raw size and method. */
export const COMPRESSED_HEADER = 8;

/** The value compressed, or `undefined` when that would not be shorter. PostgreSQL: `toast_compress_datum`. */
export function compressValue(data: Uint8Array): Uint8Array | undefined {
  const stream = pglzCompress(data);
  return stream === undefined || stream.length + COMPRESSED_HEADER >= data.length - 2 ? undefined : stream;
}

/** An attribute in its present form. */
interface Piece {
  readonly attlen: number;
  readonly alignment: number;
  /** numeric is compressed last: its storage is MAIN, that of the other types EXTENDED. */
  readonly isMain: boolean;
  data: Uint8Array;
  form: 'plain' | 'compressed' | 'incompressible';
  rawSize: number;
}

/** The tuple of `length` bytes at the beginning of `bytes`, compressed; `undefined` when nothing of it could be. */
export function compressTuple(
  descriptor: TupleDescriptor,
  bytes: Uint8Array,
  length: number,
  target: number,
): ByteSink | undefined {
  const count = descriptor.columns.length;
  const places = new AttributePlaces(count);
  locateAttributes(descriptor, bytes, 0, length, count, places);
  const pieces: (Piece | undefined)[] = descriptor.columns.map(({ type }, i) =>
    places.forms[i] === AT_NULL
      ? undefined
      : {
          attlen: type.attlen,
          alignment: descriptor.alignments[i],
          isMain: type.name === 'numeric',
          data: bytes.slice(places.starts[i], places.starts[i] + places.sizes[i]),
          form: 'plain',
          rawSize: places.sizes[i],
        },
  );
  const hoff = bytes[22];
  let isChanged = false;
  for (const isMain of [false, true]) {
    while (dataSize(pieces) > target - hoff) {
      const piece = biggest(pieces, isMain);
      if (piece === undefined) break;
      const stream = compressValue(piece.data);
      if (stream === undefined) piece.form = 'incompressible';
      else {
        piece.data = stream;
        piece.form = 'compressed';
        isChanged = true;
      }
    }
  }
  return isChanged ? assemble(pieces, bytes.subarray(0, hoff)) : undefined;
}

function biggest(pieces: readonly (Piece | undefined)[], isMain: boolean): Piece | undefined {
  let best: Piece | undefined;
  let bestSize = SMALLEST;
  for (const piece of pieces) {
    if (piece === undefined || piece.attlen >= 0 || piece.form !== 'plain' || piece.isMain !== isMain) continue;
    if (piece.data.length + VARHDRSZ <= bestSize) continue;
    best = piece;
    bestSize = piece.data.length + VARHDRSZ;
  }
  return best;
}

/** PostgreSQL: heap_compute_data_size. */
function dataSize(pieces: readonly (Piece | undefined)[]): number {
  let at = 0;
  for (const piece of pieces) if (piece !== undefined) at = align(at, piece) + headerSize(piece) + piece.data.length;
  return at;
}

function headerSize({ attlen, form, data }: Piece): number {
  if (attlen >= 0) return 0;
  return form === 'compressed' ? COMPRESSED_HEADER : data.length <= VARATT_SHORT_DATA_MAX ? 1 : VARHDRSZ;
}

function align(at: number, piece: Piece): number {
  return headerSize(piece) === 1 ? at : (at + piece.alignment - 1) & -piece.alignment;
}

function assemble(pieces: readonly (Piece | undefined)[], header: Uint8Array): ByteSink {
  const sink = new ByteSink();
  sink.append(header);
  for (const piece of pieces) {
    if (piece === undefined) continue;
    const from = align(sink.length, piece);
    const size = headerSize(piece);
    sink.reserve(16 + piece.data.length);
    sink.bytes.fill(0, sink.length, from);
    sink.length = from + size;
    if (size === 1) sink.bytes[from] = ((piece.data.length + 1) << 1) | 1;
    else if (size > 1)
      putWord(sink.bytes, from, ((size + piece.data.length) << 2) | (size === COMPRESSED_HEADER ? 2 : 0));
    if (size === COMPRESSED_HEADER) putWord(sink.bytes, from + 4, piece.rawSize); // method 0: pglz
    sink.append(piece.data);
  }
  return sink;
}

function putWord(bytes: Uint8Array, at: number, word: number): void {
  for (let i = 0; i < 4; i++) bytes[at + i] = word >>> (i * 8);
}
