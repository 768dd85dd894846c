// The nodes of the tree, in words of an arena: five kinds, by how many children they have room for. A child's slot holds
// a reference to the node below, or in a leaf the value. Keys are one byte a level.
//
//   words     0       1             (9)       then
//   node 4    count | 4 key bytes             | 4 slots       keys ascending, as the slots
//   node 16   count | 16 key bytes            | 16 slots      likewise
//   node 32   count | 256 bits    | 8 ranks   | 32 slots      slots in key order: where is told by the bits below
//   node 128  count | 256 bits    | 8 ranks   | 128 slots     likewise
//   node 256  count | 256 bits                | 256 slots     one a key byte; 0 where there is none
//
//   field     words  what
//   count     1      children
//   bits      8      bit b of all: whether there is a child at key byte b
//   ranks     2      8 bytes: children in the words of bits before
//
//   kind      1 = 4   2 = 16  3 = 32  4 = 128  5 = 256
//   words     6       22      44      140      266
//
// A reference is the granule times 8, plus the kind: so that a node's kind is known before its memory is touched.
// PostgreSQL: RT_NODE_4 to RT_NODE_256, radixtree.h.

export const NODE_4 = 1;
export const NODE_16 = 2;
export const NODE_32 = 3;
export const NODE_128 = 4;
export const NODE_256 = 5;

/** Bits of a reference that hold the kind. */
export const KIND_SHIFT = 3;
export const KIND_MASK = 7;

/** Room for children, by kind. */
export const CAPACITY: readonly number[] = [0, 4, 16, 32, 128, 256];
/** Granules of a node, by kind. */
export const GRANULES: readonly number[] = [0, 3, 11, 22, 70, 133];
/** Word of the first slot, by kind. */
export const SLOTS: readonly number[] = [0, 2, 5, 11, 11, 9];
/** Word of the key bytes, or of the bits. */
export const KEYS = 1;
/** Word of the ranks. */
export const RANKS = 9;

/**
 * Index in `words` of the slot for key byte `byte` of the node at word `at`, or -1 when it has no such child. For a node
 * of 256 children there is always a slot: {@link hasChild} tells a value 0 from none.
 */
export function slotIndex(words: Int32Array, at: number, kind: number, byte: number): number {
  if (kind === NODE_256) return at + 9 + byte;
  if (kind < NODE_32) return kind === NODE_4 ? search4(words, at, byte) : search16(words, at, byte);
  return searchRanked(words, at, byte);
}

/**
 * Four key bytes in one word: those equal to `byte` become 0, and the lowest byte that is 0 is the lowest whose top bit
 * is left after the subtraction borrows. Key bytes beyond the count may be anything; the true one stands before them.
 */
function search4(words: Int32Array, at: number, byte: number): number {
  const x = words[at + 1] ^ Math.imul(byte, 0x0101_0101);
  const zeros = (x - 0x0101_0101) & ~x & 0x8080_8080;
  if (zeros === 0) return -1;
  const i = (31 - Math.clz32(zeros & -zeros)) >>> 3;
  return i < words[at] ? at + 2 + i : -1;
}

/**
 * The same for four words at once, without a branch. Key byte i stands in byte i >>> 2 of word i & 3, so that the lowest
 * bit of the words put together is the first key that is equal.
 */
function search16(words: Int32Array, at: number, byte: number): number {
  const pattern = Math.imul(byte, 0x0101_0101);
  const a = words[at + 1] ^ pattern;
  const b = words[at + 2] ^ pattern;
  const c = words[at + 3] ^ pattern;
  const d = words[at + 4] ^ pattern;
  const zeros =
    (((a - 0x0101_0101) & ~a & 0x8080_8080) >>> 3) |
    (((b - 0x0101_0101) & ~b & 0x8080_8080) >>> 2) |
    (((c - 0x0101_0101) & ~c & 0x8080_8080) >>> 1) |
    ((d - 0x0101_0101) & ~d & 0x8080_8080);
  if (zeros === 0) return -1;
  const bit = 31 - Math.clz32(zeros & -zeros);
  const i = ((bit >>> 3) << 2) + (bit & 3);
  return i < words[at] ? at + 5 + i : -1;
}

function searchRanked(words: Int32Array, at: number, byte: number): number {
  const bits = words[at + 1 + (byte >>> 5)];
  if (((bits >>> byte) & 1) === 0) return -1;
  return at + 11 + rank(words, at, byte);
}

/** How many children of a ranked node have a key byte below `byte`. */
export function rank(words: Int32Array, at: number, byte: number): number {
  const w = byte >>> 5;
  const before = (words[at + 9 + (w >>> 2)] >>> ((w & 3) << 3)) & 0xff;
  let x = words[at + 1 + w] & ~(-1 << byte);
  x -= (x >>> 1) & 0x5555_5555;
  x = (x & 0x3333_3333) + ((x >>> 2) & 0x3333_3333);
  x = (x + (x >>> 4)) & 0x0f0f_0f0f;
  return before + (Math.imul(x, 0x0101_0101) >>> 24);
}

/** Whether the node has a child at key byte `byte`. */
export function hasChild(words: Int32Array, at: number, kind: number, byte: number): boolean {
  if (kind >= NODE_32) return ((words[at + 1 + (byte >>> 5)] >>> byte) & 1) !== 0;
  return slotIndex(words, at, kind, byte) >= 0;
}

/** The lowest key byte from `from` on that has a child, or -1. */
export function nextByte(words: Int32Array, at: number, kind: number, from: number): number {
  if (from > 255) return -1;
  if (kind < NODE_32) {
    const count = words[at];
    for (let i = 0; i < count; i++) {
      const byte = keyByte(words, at, kind, i);
      if (byte >= from) return byte;
    }
    return -1;
  }
  let w = from >>> 5;
  let bits = words[at + 1 + w] & (-1 << from);
  while (bits === 0) {
    if (++w === 8) return -1;
    bits = words[at + 1 + w];
  }
  return (w << 5) + 31 - Math.clz32(bits & -bits);
}

/** Key byte `i` of a node of 4 or 16 children. */
export function keyByte(words: Int32Array, at: number, kind: number, i: number): number {
  return kind === NODE_4 ? (words[at + 1] >>> (i << 3)) & 0xff : (words[at + 1 + (i & 3)] >>> ((i >>> 2) << 3)) & 0xff;
}

/** Sets key byte `i` of a node of 4 or 16 children. */
export function setKeyByte(words: Int32Array, at: number, kind: number, i: number, byte: number): void {
  const shift = (kind === NODE_4 ? i : i >>> 2) << 3;
  const w = kind === NODE_4 ? at + 1 : at + 1 + (i & 3);
  words[w] = (words[w] & ~(0xff << shift)) | (byte << shift);
}
