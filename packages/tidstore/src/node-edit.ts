// Changes of one node: a child more, a child less, and the same children in a node of the next kind up or down.
import { KEYS, keyByte, NODE_16, NODE_32, NODE_128, NODE_256, RANKS, rank, SLOTS, setKeyByte } from './node.ts';

const FIRST_SLOT: readonly number[] = SLOTS;
const EVERY_BYTE = 0x0101_0101;
const EVERY_BYTE_ABOVE_FIRST = 0x0101_0100;

/** Adds the child at key byte `byte`, which the node does not have and has room for; gives the index of its slot. */
export function insertChild(words: Int32Array, at: number, kind: number, byte: number, child: number): number {
  const count = words[at];
  words[at] = count + 1;
  if (kind === NODE_256) {
    setBit(words, at, byte);
    words[at + 9 + byte] = child;
    return at + 9 + byte;
  }
  const first = at + FIRST_SLOT[kind];
  let i = count;
  if (kind <= NODE_16) {
    while (i > 0 && keyByte(words, at, kind, i - 1) > byte) {
      setKeyByte(words, at, kind, i, keyByte(words, at, kind, i - 1));
      words[first + i] = words[first + i - 1];
      i--;
    }
    setKeyByte(words, at, kind, i, byte);
  } else {
    const place = rank(words, at, byte);
    for (; i > place; i--) words[first + i] = words[first + i - 1];
    setBit(words, at, byte);
    addToRanksAbove(words, at, byte, 1);
  }
  words[first + i] = child;
  return first + i;
}

/** Takes out the child at key byte `byte`, whose slot has index `slot`. */
export function removeChild(words: Int32Array, at: number, kind: number, byte: number, slot: number): void {
  const count = words[at] - 1;
  words[at] = count;
  if (kind === NODE_256) {
    clearBit(words, at, byte);
    words[slot] = 0;
    return;
  }
  const first = at + FIRST_SLOT[kind];
  for (let i = slot - first; i < count; i++) {
    words[first + i] = words[first + i + 1];
    if (kind <= NODE_16) setKeyByte(words, at, kind, i, keyByte(words, at, kind, i + 1));
  }
  if (kind > NODE_16) {
    clearBit(words, at, byte);
    addToRanksAbove(words, at, byte, -1);
  }
}

/** Writes the children of one node to another of kind `toKind`, which has room for them. */
export function copyChildren(
  from: Int32Array,
  fromAt: number,
  fromKind: number,
  to: Int32Array,
  toAt: number,
  toKind: number,
): void {
  const count = from[fromAt];
  to[toAt] = count;
  clearKeys(to, toAt, toKind);
  const fromSlots = fromAt + FIRST_SLOT[fromKind];
  const toSlots = toAt + FIRST_SLOT[toKind];
  if (fromKind <= NODE_16) {
    for (let i = 0; i < count; i++) {
      const byte = keyByte(from, fromAt, fromKind, i);
      if (toKind <= NODE_16) setKeyByte(to, toAt, toKind, i, byte);
      else setBit(to, toAt, byte);
      to[toSlots + i] = from[fromSlots + i];
    }
  } else {
    let i = 0;
    for (let w = 0; w < 8; w++) {
      let bits = from[fromAt + KEYS + w];
      if (toKind > NODE_16) to[toAt + KEYS + w] = bits;
      for (; bits !== 0; bits &= bits - 1) {
        const byte = (w << 5) + 31 - Math.clz32(bits & -bits);
        if (toKind <= NODE_16) setKeyByte(to, toAt, toKind, i, byte);
        to[toSlots + (toKind === NODE_256 ? byte : i)] = from[fromSlots + (fromKind === NODE_256 ? byte : i)];
        i++;
      }
    }
  }
  if (toKind === NODE_32 || toKind === NODE_128) computeRanks(to, toAt);
}

/** Makes a node without children of the memory at word `at`. */
export function clearNode(words: Int32Array, at: number, kind: number): void {
  words[at] = 0;
  clearKeys(words, at, kind);
}

/** No bits and no ranks, and in a node of 256 children no slot; key bytes beyond the count may be anything. */
function clearKeys(words: Int32Array, at: number, kind: number): void {
  if (kind <= NODE_16) return;
  if (kind === NODE_256) words.fill(0, at + KEYS, at + FIRST_SLOT[kind] + 256);
  else for (let i = KEYS; i < FIRST_SLOT[NODE_128]; i++) words[at + i] = 0;
}

function setBit(words: Int32Array, at: number, byte: number): void {
  words[at + KEYS + (byte >>> 5)] |= 1 << byte;
}

function clearBit(words: Int32Array, at: number, byte: number): void {
  words[at + KEYS + (byte >>> 5)] &= ~(1 << byte);
}

/** Adds `one` (1 or -1) to the rank of each word of bits after that of `byte`. No rank passes 128: nothing carries. */
function addToRanksAbove(words: Int32Array, at: number, byte: number, one: number): void {
  const w = byte >>> 5;
  const above = EVERY_BYTE_ABOVE_FIRST << ((w & 3) << 3);
  if (w < 4) {
    words[at + RANKS] += Math.imul(above, one);
    words[at + RANKS + 1] += Math.imul(EVERY_BYTE, one);
  } else {
    words[at + RANKS + 1] += Math.imul(above, one);
  }
}

function computeRanks(words: Int32Array, at: number): void {
  words[at + RANKS] = 0;
  words[at + RANKS + 1] = 0;
  let before = 0;
  for (let w = 1; w < 8; w++) {
    before += bitCount(words[at + KEYS + w - 1]);
    words[at + RANKS + (w >>> 2)] |= before << ((w & 3) << 3);
  }
}

/** How many bits of a word are set. */
export function bitCount(word: number): number {
  let x = word - ((word >>> 1) & 0x5555_5555);
  x = (x & 0x3333_3333) + ((x >>> 2) & 0x3333_3333);
  x = (x + (x >>> 4)) & 0x0f0f_0f0f;
  return Math.imul(x, EVERY_BYTE) >>> 24;
}
