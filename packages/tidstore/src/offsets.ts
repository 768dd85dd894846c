// The value of a block in the tree: one word that is a set of offsets, or that says where the set lies.
//
//   bits      31 ............................ 1   0
//             offset 31 ............ offset 1     1      every offset is 31 or below: a bitmap of them
//             0  second - 1 (13)  first - 1 (13)  1 0    one or two offsets; one stands twice
//             granule (30)                        0 0    a bitmap in the arena
//
//   a bitmap in the arena: one word, then as many words as it says
//             count (14)  words (9)  first word (8)      bit (o - 1) & 31 of word (o - 1) >>> 5 is offset o
//
// PostgreSQL: BlocktableEntry, tidstore.c, which has three offsets or a bitmap from offset 0 on.
import { type Arena, GRANULE_SHIFT } from './arena.ts';
import { bitCount } from './node-edit.ts';

const WORDS_SHIFT = 8;
const WORDS_MASK = 0x1ff;
const COUNT_SHIFT = 17;
const FIRST_MASK = 0xff;
const OFFSET_MASK = 0x1fff;
const SECOND_SHIFT = 15;
const G = GRANULE_SHIFT;

/** The value for one or two offsets. */
export function pairOf(first: number, second: number): number {
  return ((second - 1) << SECOND_SHIFT) | ((first - 1) << 2) | 2;
}

/** Cuts and writes a bitmap of `count` offsets that ascend; gives the value that refers to it. */
export function writeBitmap(arena: Arena, offsets: Uint16Array, count: number): number {
  const first = (offsets[0] - 1) >>> 5;
  const length = ((offsets[count - 1] - 1) >>> 5) - first + 1;
  const granule = arena.cut(granulesFor(length));
  const words = arena.chunks[granule >>> arena.chunkShift];
  const at = (granule & arena.chunkMask) << GRANULE_SHIFT;
  words[at] = (count << COUNT_SHIFT) | (length << WORDS_SHIFT) | first;
  let w = 0;
  let bits = 0;
  for (let i = 0; i < count; i++) {
    const o = offsets[i] - 1;
    const to = (o >>> 5) - first;
    while (w < to) {
      words[at + 1 + w++] = bits;
      bits = 0;
    }
    bits |= 1 << o;
  }
  words[at + 1 + w] = bits;
  return granule << 2;
}

function granulesFor(bitmapWords: number): number {
  return (bitmapWords + 2) >>> 1;
}

/** Gives the memory of a value back, if it has some. */
export function freeValue(arena: Arena, value: number): void {
  if (value === 0 || (value & 3) !== 0) return;
  const granule = value >>> 2;
  const header = arena.chunks[granule >>> arena.chunkShift][(granule & arena.chunkMask) << GRANULE_SHIFT];
  arena.giveBack(granule, granulesFor((header >>> WORDS_SHIFT) & WORDS_MASK));
}

/** How many offsets a value stands for. */
export function countOf(arena: Arena, value: number): number {
  if (value === 0) return 0;
  if ((value & 1) !== 0) return bitCount(value) - 1;
  if ((value & 2) !== 0) return ((value >>> 2) & OFFSET_MASK) === ((value >>> SECOND_SHIFT) & OFFSET_MASK) ? 1 : 2;
  const granule = value >>> 2;
  return arena.chunks[granule >>> arena.chunkShift][(granule & arena.chunkMask) << GRANULE_SHIFT] >>> COUNT_SHIFT;
}

/** Whether a value that is no bitmap of offsets up to 31 has offset `o`. */
export function hasOffset(arena: Arena, value: number, o: number): boolean {
  const bit = o - 1;
  if ((value & 2) !== 0)
    return ((value >>> 2) & OFFSET_MASK) === bit || ((value >>> SECOND_SHIFT) & OFFSET_MASK) === bit;
  const granule = value >>> 2;
  const words = arena.chunks[granule >>> arena.chunkShift];
  const at = (granule & arena.chunkMask) << G;
  const header = words[at];
  const w = (bit >>> 5) - (header & FIRST_MASK);
  return w >= 0 && w < ((header >>> WORDS_SHIFT) & WORDS_MASK) && ((words[at + 1 + w] >>> bit) & 1) !== 0;
}

/** Writes the offsets of a value to `to`, ascending; gives their count. */
export function readOffsets(arena: Arena, value: number, to: Uint16Array): number {
  if ((value & 1) !== 0) return readWord(value & ~1, 0, to, 0);
  if ((value & 2) !== 0) {
    to[0] = ((value >>> 2) & OFFSET_MASK) + 1;
    to[1] = ((value >>> SECOND_SHIFT) & OFFSET_MASK) + 1;
    return to[0] === to[1] ? 1 : 2;
  }
  const granule = value >>> 2;
  const words = arena.chunks[granule >>> arena.chunkShift];
  const at = (granule & arena.chunkMask) << GRANULE_SHIFT;
  const header = words[at];
  const length = (header >>> WORDS_SHIFT) & WORDS_MASK;
  const base = ((header & FIRST_MASK) << 5) + 1;
  let n = 0;
  for (let w = 0; w < length; w++) n = readWord(words[at + 1 + w], base + (w << 5), to, n);
  return n;
}

/** Writes `base` plus the number of each bit that is set; gives the new count. */
function readWord(word: number, base: number, to: Uint16Array, count: number): number {
  let bits = word;
  let n = count;
  while (bits !== 0) {
    to[n++] = base + 31 - Math.clz32(bits & -bits);
    bits &= bits - 1;
  }
  return n;
}
