// The order of two attributes by their bytes: no value is made, nothing is allocated, unless one of them is compressed.

import { AttributeData } from './attributes.ts';
import { badBytes } from './errors.ts';
import { KEY_BLANKS, KEY_NUMERIC } from './index-keys.ts';
import { int32At } from './types/integer.ts';
import { inflate } from './varlena.ts';

const BLANK = 0x20;

/** As memcmp, then by length. */
export function compareByteRuns(a: Uint8Array, at: number, an: number, b: Uint8Array, bt: number, bn: number): number {
  const shared = an < bn ? an : bn;
  for (let i = 0; i < shared; i++) {
    const d = a[at + i] - b[bt + i];
    if (d !== 0) return d;
  }
  return an - bn;
}

/** The same without the blanks at the end. PostgreSQL: `bpcharcmp`. */
export function compareBlankPadded(
  a: Uint8Array,
  at: number,
  an: number,
  b: Uint8Array,
  bt: number,
  bn: number,
): number {
  while (an > 0 && a[at + an - 1] === BLANK) an--;
  while (bn > 0 && b[bt + bn - 1] === BLANK) bn--;
  return compareByteRuns(a, at, an, b, bt, bn);
}

/** `n` bytes, as memcmp. */
export function compareFixed(a: Uint8Array, at: number, b: Uint8Array, bt: number, n: number): number {
  for (let i = 0; i < n; i++) {
    const d = a[at + i] - b[bt + i];
    if (d !== 0) return d;
  }
  return 0;
}

/** Bytes up to a zero byte; the memory's end ends them, too. */
export function compareCstrings(a: Uint8Array, at: number, b: Uint8Array, bt: number): number {
  for (;;) {
    const x = a[at++];
    const y = b[bt++];
    if (x !== y) return (x ?? 0) - (y ?? 0);
    if (x === 0 || x === undefined) return 0;
  }
}

/** The byte after the zero byte of a cstring at `at`. */
export function afterCstring(u8: Uint8Array, at: number): number {
  while (at < u8.length && u8[at] !== 0) at++;
  return at + 1;
}

/** float4 by its word: NaN last, NaNs equal each other, -0 equals 0. PostgreSQL: `float4_cmp_internal`. */
export function compareFloat4(a: number, b: number): number {
  const x = orderOfFloat4(a | 0);
  const y = orderOfFloat4(b | 0);
  return x < y ? -1 : x > y ? 1 : 0;
}

function orderOfFloat4(word: number): number {
  const magnitude = word & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0x7fffffff;
  return word < 0 ? 0 - magnitude : magnitude;
}

/** float8 by its words, likewise. */
export function compareFloat8(aLow: number, aHigh: number, bLow: number, bHigh: number): number {
  const aMagnitude = aHigh & 0x7fffffff;
  const bMagnitude = bHigh & 0x7fffffff;
  const aIsNaN = aMagnitude > 0x7ff00000 || (aMagnitude === 0x7ff00000 && aLow !== 0);
  const bIsNaN = bMagnitude > 0x7ff00000 || (bMagnitude === 0x7ff00000 && bLow !== 0);
  if (aIsNaN || bIsNaN) return aIsNaN ? (bIsNaN ? 0 : 1) : -1;
  if ((aMagnitude | bMagnitude | aLow | bLow) === 0) return 0;
  if ((aHigh ^ bHigh) < 0) return aHigh < 0 ? -1 : 1;
  const x = aLow >>> 0;
  const y = bLow >>> 0;
  const d = aMagnitude !== bMagnitude ? (aMagnitude < bMagnitude ? -1 : 1) : x < y ? -1 : x > y ? 1 : 0;
  return aHigh < 0 ? 0 - d : d;
}

/** Order of the kinds of a numeric: -Infinity, negative, 0, positive, Infinity, NaN. */
function numericRank(header: number, digits: number): number {
  if ((header & 0xc000) === 0xc000) {
    const kind = header & 0xf000;
    return kind === 0xc000 ? 3 : kind === 0xd000 ? 2 : -2;
  }
  if (digits <= 0) return 0;
  return ((header & 0x8000) !== 0 ? header & 0x2000 : header & 0x4000) !== 0 ? -1 : 1;
}

/** Numerics by value, whatever their scales and forms. PostgreSQL: `cmp_numerics`. */
export function compareNumerics(a: Uint8Array, at: number, an: number, b: Uint8Array, bt: number, bn: number): number {
  if (an < 2 || bn < 2) throw badBytes(`a numeric of ${an < 2 ? an : bn} bytes`);
  const aHeader = a[at] | (a[at + 1] << 8);
  const bHeader = b[bt] | (b[bt + 1] << 8);
  const aFirst = (aHeader & 0x8000) !== 0 ? 2 : 4;
  const bFirst = (bHeader & 0x8000) !== 0 ? 2 : 4;
  const aDigits = (an - aFirst) >> 1;
  const bDigits = (bn - bFirst) >> 1;
  const rank = numericRank(aHeader, aDigits);
  const other = numericRank(bHeader, bDigits);
  if (rank !== other) return rank < other ? -1 : 1;
  if (rank !== 1 && rank !== -1) return 0;
  const aWeight = numericWeight(a, at, aHeader);
  const bWeight = numericWeight(b, bt, bHeader);
  const d = compareMagnitudes(a, at + aFirst, aDigits, aWeight, b, bt + bFirst, bDigits, bWeight);
  return rank < 0 ? 0 - d : d;
}

function numericWeight(u8: Uint8Array, at: number, header: number): number {
  return (header & 0x8000) !== 0 ? ((header & 0x7f) << 25) >> 25 : ((u8[at + 2] | (u8[at + 3] << 8)) << 16) >> 16;
}

/** Digits by their weights: leading zeros, which PostgreSQL does not store but allows for, do not count. */
function compareMagnitudes(
  a: Uint8Array,
  aFrom: number,
  aDigits: number,
  aWeight: number,
  b: Uint8Array,
  bFrom: number,
  bDigits: number,
  bWeight: number,
): number {
  let i = 0;
  let j = 0;
  for (; aWeight > bWeight && i < aDigits; i++, aWeight--) if (digitAt(a, aFrom, i) !== 0) return 1;
  for (; bWeight > aWeight && j < bDigits; j++, bWeight--) if (digitAt(b, bFrom, j) !== 0) return -1;
  if (aWeight === bWeight)
    for (; i < aDigits && j < bDigits; i++, j++) {
      const d = digitAt(a, aFrom, i) - digitAt(b, bFrom, j);
      if (d !== 0) return d;
    }
  for (; i < aDigits; i++) if (digitAt(a, aFrom, i) !== 0) return 1;
  for (; j < bDigits; j++) if (digitAt(b, bFrom, j) !== 0) return -1;
  return 0;
}

function digitAt(u8: Uint8Array, from: number, i: number): number {
  return u8[from + i * 2] | (u8[from + i * 2 + 1] << 8);
}

/** Compares plain varlena data by kind. */
function compareData(
  kind: number,
  a: Uint8Array,
  at: number,
  an: number,
  b: Uint8Array,
  bt: number,
  bn: number,
): number {
  if (kind === KEY_NUMERIC) return compareNumerics(a, at, an, b, bt, bn);
  return kind === KEY_BLANKS ? compareBlankPadded(a, at, an, b, bt, bn) : compareByteRuns(a, at, an, b, bt, bn);
}

const left: AttributeData = new AttributeData();
const right: AttributeData = new AttributeData();

/**
 * Compares two varlenas with headers of any form, at `at` and `bt` (before padding). A compressed one is decompressed.
 * @throws StorageError XX001 for a header that cannot be right.
 */
export function compareVarlenas(kind: number, a: Uint8Array, at: number, b: Uint8Array, bt: number): number {
  varlenaData(a, at, left);
  varlenaData(b, bt, right);
  return compareData(kind, left.u8, left.at, left.size, right.u8, right.at, right.size);
}

/** Finds the data of the varlena at `at`; decompressed if need be. */
export function varlenaData(u8: Uint8Array, at: number, data: AttributeData): void {
  const first = u8[at];
  data.u8 = u8;
  if ((first & 1) !== 0) {
    if (first === 1) throw badBytes('a pointer to an out-of-line value in an index tuple');
    data.at = at + 1;
    data.size = (first >>> 1) - 1;
    return;
  }
  const start = (at + 3) & -4;
  const word = int32At(u8, start);
  const size = (word >>> 2) - 4;
  if ((word & 1) !== 0 || size < 0 || size > u8.length - start)
    throw badBytes(`a varlena header of 0x${(word >>> 0).toString(16)}`);
  data.at = start + 4;
  data.size = size;
  if ((word & 2) === 0) return;
  data.u8 = inflate(u8, start + 4, size);
  data.at = 0;
  data.size = data.u8.length;
}

/** The byte after the varlena at `at` (before padding). */
export function afterVarlena(u8: Uint8Array, at: number): number {
  const first = u8[at];
  if ((first & 1) !== 0) return at + (first >>> 1);
  const start = (at + 3) & -4;
  return start + (int32At(u8, start) >>> 2);
}
