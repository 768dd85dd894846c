// Posting lists: one key with the TIDs of several rows, in the order of TIDs. How one is made, how one loses TIDs, and how
// a TID is put into one: it takes the place of a higher one, and the highest leaves with the tuple that came.
// PostgreSQL: `_bt_form_posting`, `_bt_update_posting`, `_bt_swap_posting`, nbtdedup.c.
import { StorageError } from '@blockwright/base';
import {
  INDEX_AM_RESERVED_BIT,
  INDEX_SIZE_MASK,
  indexTupleInfo,
  indexTupleSize,
  setIndexTupleInfo,
  type TupleMemory,
} from '@blockwright/tuple';
import { copyWords } from './copy-tuple.ts';
import { isPosting, postingCount, postingOffset, setPosting } from './tuples.ts';

/** 16-bit words of a TID. */
const TID_WORDS = 3;

/**
 * Makes a tuple with the key of the plain or posting tuple at `pos` and `count` TIDs, which rise: 3 words each in `tids`,
 * as on disk. One TID makes a plain tuple.
 * @returns its length, a multiple of 8; it lies at byte `at` of `out`.
 */
export function formPosting(
  m: TupleMemory,
  pos: number,
  tids: Uint16Array,
  count: number,
  out: TupleMemory,
  at: number,
): number {
  const keySize = keySizeOf(m, pos);
  const length = startForm(m, pos, keySize, count, out, at);
  const words = out.u16;
  const first = (at + (count > 1 ? keySize : 0)) >>> 1;
  const end = count * TID_WORDS;
  for (let i = 0; i < end; i++) words[first + i] = tids[i];
  return length;
}

/**
 * Makes the posting tuple at `pos` without `count` of its TIDs, whose numbers, from 0 and rising, stand in `deleted` from
 * `from` on. One that is left makes a plain tuple.
 * @returns its length, a multiple of 8; it lies at byte `at` of `out`.
 */
export function updatePosting(
  m: TupleMemory,
  pos: number,
  deleted: Uint16Array,
  from: number,
  count: number,
  out: TupleMemory,
  at: number,
): number {
  const total = postingCount(m, pos);
  const keySize = postingOffset(m, pos);
  const left = total - count;
  const length = startForm(m, pos, keySize, left, out, at);
  const source = m.u16;
  const words = out.u16;
  let read = (pos + keySize) >>> 1;
  let write = (at + (left > 1 ? keySize : 0)) >>> 1;
  let next = from;
  const end = from + count;
  for (let i = 0; i < total; i++, read += TID_WORDS) {
    if (next < end && deleted[next] === i) {
      next++;
      continue;
    }
    words[write] = source[read];
    words[write + 1] = source[read + 1];
    words[write + 2] = source[read + 2];
    write += TID_WORDS;
  }
  return length;
}

/**
 * Puts the TID of the tuple at `newPos` in place `place` of the posting list at `pos`, the higher ones one place up: the
 * list with it is written to `out`, and the highest TID becomes that of the tuple at `newPos`, which is changed.
 * @returns the list's length, which is what it was.
 * @throws StorageError XX002 when the list has no such place, which is so when the tuple's TID is in the index already.
 */
export function swapPosting(
  newM: TupleMemory,
  newPos: number,
  m: TupleMemory,
  pos: number,
  place: number,
  out: TupleMemory,
  at: number,
): number {
  const count = isPosting(m, pos) ? postingCount(m, pos) : 1;
  if (!(place > 0 && place < count)) {
    throw new StorageError('XX002', `a posting list of ${count} TIDs cannot take another at place ${place}`);
  }
  const length = indexTupleSize(m, pos);
  copyWords(m, pos, out, at, length);
  const words = out.u16;
  const first = (at + postingOffset(m, pos)) >>> 1;
  const gap = first + place * TID_WORDS;
  const last = first + (count - 1) * TID_WORDS;
  const own = newPos >>> 1;
  const high = words[last];
  const middle = words[last + 1];
  const low = words[last + 2];
  words.copyWithin(gap + TID_WORDS, gap, last);
  words[gap] = newM.u16[own];
  words[gap + 1] = newM.u16[own + 1];
  words[gap + 2] = newM.u16[own + 2];
  newM.u16[own] = high;
  newM.u16[own + 1] = middle;
  newM.u16[own + 2] = low;
  return length;
}

/** Bytes of header and key. */
function keySizeOf(m: TupleMemory, pos: number): number {
  return isPosting(m, pos) ? postingOffset(m, pos) : indexTupleSize(m, pos);
}

/** Header and key; the TIDs, or the one TID in the header, are the caller's to write. */
function startForm(m: TupleMemory, pos: number, keySize: number, count: number, out: TupleMemory, at: number): number {
  const length = count > 1 ? (keySize + count * (TID_WORDS << 1) + 7) & ~7 : keySize;
  copyWords(m, pos, out, at, keySize);
  const info = (indexTupleInfo(m, pos) & ~(INDEX_SIZE_MASK | INDEX_AM_RESERVED_BIT)) | length;
  setIndexTupleInfo(out, at, info);
  if (count > 1) {
    setPosting(out, at, count, keySize);
    // What the TIDs leave of the last 8 bytes is zero.
    out.u32[((at + length) >>> 2) - 1] = 0;
    out.u32[((at + length) >>> 2) - 2] = 0;
  }
  return length;
}
