// Comparing two index tuples attribute by attribute, without generated code: for hosts that refuse it, and as the model
// that generated code is held against.

import { INDEX_NULL_MASK } from './index-header.ts';
import {
  KEY_BYTE,
  KEY_CSTRING,
  KEY_FIXED,
  KEY_FLOAT4,
  KEY_FLOAT8,
  KEY_INT2,
  KEY_INT4,
  KEY_INT8,
  KEY_UINT4,
  type PlannedKey,
} from './index-keys.ts';
import {
  afterCstring,
  afterVarlena,
  compareCstrings,
  compareFixed,
  compareFloat4,
  compareFloat8,
  compareVarlenas,
} from './key-bytes.ts';
import type { TupleMemory } from './memory.ts';
import { int16At, int32At } from './types/integer.ts';

/**
 * Compares the first `natts` key attributes of two index tuples. Returns 0 when all are equal, else the 1-based number of
 * the first that is not, negative where the first tuple comes before the second.
 */
export type CompareKeys = (am: TupleMemory, aPos: number, bm: TupleMemory, bPos: number, natts: number) => number;

/** The comparison of a plan, interpreted. */
export function interpretKeys(keys: readonly PlannedKey[]): CompareKeys {
  return (am, aPos, bm, bPos, natts) => {
    const aBits = presentBits(am, aPos);
    const bBits = presentBits(bm, bPos);
    let p = aPos + dataOffset(am, aPos);
    let q = bPos + dataOffset(bm, bPos);
    for (let i = 0; i < natts; i++) {
      const key = keys[i];
      const aIsNull = ((aBits >>> i) & 1) === 0;
      const bIsNull = ((bBits >>> i) & 1) === 0;
      if (aIsNull || bIsNull) {
        if (aIsNull && bIsNull) continue;
        return aIsNull === key.nullsFirst ? 0 - (i + 1) : i + 1;
      }
      if (key.attlen > 0) {
        p = (p + key.alignment - 1) & -key.alignment;
        q = (q + key.alignment - 1) & -key.alignment;
      }
      const order = compareAttribute(key, am.u8, p, bm.u8, q);
      if (order !== 0) return order < 0 === key.descending ? i + 1 : 0 - (i + 1);
      p = attributeAfter(key.attlen, am.u8, p);
      q = attributeAfter(key.attlen, bm.u8, q);
    }
    return 0;
  };
}

/** One bit an attribute, set where it is not null. */
export function presentBits(m: TupleMemory, pos: number): number {
  return (m.u16[(pos >>> 1) + 3] & INDEX_NULL_MASK) !== 0 ? m.u32[(pos >>> 2) + 2] | 0 : -1;
}

/** Bytes from `pos` to the data. */
export function dataOffset(m: TupleMemory, pos: number): number {
  return (m.u16[(pos >>> 1) + 3] & INDEX_NULL_MASK) !== 0 ? 16 : 8;
}

/** The byte after the attribute at `at`, which is aligned if it is of fixed width. */
export function attributeAfter(attlen: number, u8: Uint8Array, at: number): number {
  return attlen > 0 ? at + attlen : attlen === -1 ? afterVarlena(u8, at) : afterCstring(u8, at);
}

/** Order of two attributes that are not null, ascending. */
function compareAttribute({ kind, attlen }: PlannedKey, a: Uint8Array, p: number, b: Uint8Array, q: number): number {
  switch (kind) {
    case KEY_BYTE:
      return a[p] - b[q];
    case KEY_INT2:
      return order(int16At(a, p), int16At(b, q));
    case KEY_INT4:
      return order(int32At(a, p), int32At(b, q));
    case KEY_UINT4:
      return order(int32At(a, p) >>> 0, int32At(b, q) >>> 0);
    case KEY_INT8:
      return order(int32At(a, p + 4), int32At(b, q + 4)) || order(int32At(a, p) >>> 0, int32At(b, q) >>> 0);
    case KEY_FLOAT4:
      return compareFloat4(int32At(a, p), int32At(b, q));
    case KEY_FLOAT8:
      return compareFloat8(int32At(a, p), int32At(a, p + 4), int32At(b, q), int32At(b, q + 4));
    case KEY_FIXED:
      return compareFixed(a, p, b, q, attlen);
    case KEY_CSTRING:
      return compareCstrings(a, p, b, q);
    default:
      return compareVarlenas(kind, a, p, b, q);
  }
}

function order(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
