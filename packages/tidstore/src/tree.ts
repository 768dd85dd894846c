// An adaptive radix tree: 64-bit keys to 32-bit values, one byte of the key a level, nodes that fit their children.
// PostgreSQL: radixtree.h.
import { checkOptions } from '@blockwright/base';
import { Arena, checkMaxBytes, GRANULE_SHIFT } from './arena.ts';
import {
  CAPACITY,
  GRANULES,
  hasChild,
  KEYS,
  KIND_MASK,
  KIND_SHIFT,
  NODE_4,
  NODE_128,
  NODE_256,
  SLOTS,
  slotIndex,
} from './node.ts';
import { clearNode, copyChildren, insertChild, removeChild } from './node-edit.ts';
import { RadixCursor } from './tree-cursor.ts';

/** What a tree is made of. PostgreSQL: `RT_STATS`, radixtree.h. */
export interface RadixStats {
  /** Keys in the tree. */
  readonly numKeys: number;
  /** Levels less one; 0 for an empty tree. */
  readonly height: number;
  /** Nodes with room for 4 children. */
  readonly n4: number;
  /** Nodes with room for 16 children. */
  readonly n16: number;
  /** Nodes with room for 32 children. */
  readonly n32: number;
  /** Nodes with room for 128 children. */
  readonly n128: number;
  /** Nodes with room for 256 children. */
  readonly n256: number;
}

/** Granules that one change may cut: a path of nodes of 4 up and down, a node that grew, and what the store adds. */
const RESERVE = 16 * 3 + 133 + 133;
/** Granules that a delete may cut: a node of 256 that becomes one of 128. */
const SHRINK_RESERVE: number = GRANULES[NODE_128];
/** Children at or below which a node takes the next kind down: some below that one's room, so that a key that comes and
 * goes does not rebuild the node each time. */
const SHRINK_AT: readonly number[] = [0, 0, 3, 12, 24, 96];
const NO_PREFIX = -1;
const slotOf = slotIndex;
const K256 = NODE_256;
const S256 = SLOTS[NODE_256];
const KEYS_AT = KEYS;
const KIND = KIND_MASK;
const SHIFT = KIND_SHIFT;
const G = GRANULE_SHIFT;

/** The levels that a key needs, as the shift of its highest: 0 for keys below 256, 56 for the largest. */
function shiftFor(high: number, low: number): number {
  return high !== 0 ? 32 + ((31 - Math.clz32(high)) & ~7) : (31 - Math.clz32(low | 1)) & ~7;
}

/** Whether a key with that high word is one of a tree whose top level has that shift, 32 or more. */
function fits(keyHigh: number, shift: number): boolean {
  return shift === 56 || keyHigh >>> (shift - 24) === 0;
}

function checkWord(value: number, what: string): void {
  if (value >>> 0 !== value) throw new RangeError(`${what} ${String(value)} is not an integer from 0 to 4294967295`);
}

/**
 * Unsigned 64-bit keys, each as two words, to unsigned 32-bit values, in key order. The tree grows and shrinks with what
 * it holds: each node between room for 4 and for 256 children, and as many levels as the highest key has bytes.
 * PostgreSQL: radixtree.h.
 */
export class RadixTree {
  /** @internal */
  readonly arena: Arena;
  private readonly chunks: Int32Array[];
  private readonly chunkShift: number;
  private readonly chunkMask: number;
  /** Reference to the top node, or 0. The first word of granule 0 holds it too, so that it stands in a slot as others do.
   * @internal */
  root = 0;
  /** The shift of the top level. @internal */
  rootShift = 0;
  /** Goes up with every change: a cursor compares. @internal */
  changes = 0;
  /** Where {@link place} found or made a slot. @internal */
  slotWords: Int32Array;
  /** Index of that slot in {@link slotWords}. @internal */
  slot = 0;
  /** The leaf of the last key placed: the key but for its last byte, and where its reference stands. */
  private lastHigh = 0;
  private lastPrefix = NO_PREFIX;
  private lastHolder: Int32Array;
  private lastHolderSlot = 0;
  /** The leaf of the last key found, with the key but for its last byte. */
  private leafWords: Int32Array;
  private leafAt = 0;
  private leafKind = 0;
  private leafHigh = 0;
  private leafPrefix = NO_PREFIX;
  private keys = 0;
  private readonly kinds = new Int32Array(6);
  private readonly path = new Int32Array(8);

  /**
   * `maxBytes` makes memory grow in steps that suit it; it is no limit.
   * @throws RangeError when it is not above 0, TypeError when it is no number, or for an option that is none.
   */
  constructor(options: { readonly maxBytes?: number } = {}) {
    checkOptions('RadixTree', options, ['maxBytes']);
    const { maxBytes = Infinity } = options;
    checkMaxBytes('RadixTree', maxBytes);
    this.arena = new Arena(maxBytes);
    this.chunks = this.arena.chunks;
    this.chunkShift = this.arena.chunkShift;
    this.chunkMask = this.arena.chunkMask;
    this.slotWords = this.chunks[0];
    this.lastHolder = this.slotWords;
    this.leafWords = this.slotWords;
  }

  /** Keys in the tree. */
  get numKeys(): number {
    return this.keys;
  }

  /** Bytes of all typed arrays of the tree, spare room included. */
  get memoryBytes(): number {
    return this.arena.bytes;
  }

  /** What the tree is made of. */
  stats(): RadixStats {
    const [, n4, n16, n32, n128, n256] = this.kinds;
    return { numKeys: this.keys, height: this.rootShift >>> 3, n4, n16, n32, n128, n256 };
  }

  /** Forgets all keys and keeps the memory, for those that come next. */
  clear(): void {
    this.arena.clear();
    this.root = 0;
    this.rootShift = 0;
    this.keys = 0;
    this.kinds.fill(0);
    this.changed();
  }

  /**
   * The value of a key, or undefined.
   * @throws RangeError when a word is no uint32.
   */
  get(keyHigh: number, keyLow: number): number | undefined {
    checkWord(keyHigh, 'key high word');
    checkWord(keyLow, 'key low word');
    const value = this.find(keyHigh, keyLow);
    if (value !== 0) return value >>> 0;
    return this.isZero(keyHigh, keyLow) ? 0 : undefined;
  }

  /**
   * Whether the tree has a key.
   * @throws RangeError when a word is no uint32.
   */
  has(keyHigh: number, keyLow: number): boolean {
    return this.get(keyHigh, keyLow) !== undefined;
  }

  /**
   * The value of a key as int32; 0 when there is none, or when it is 0. Whoever asks for one key after another stays in
   * one leaf for a while: the last one is remembered.
   * @internal
   */
  find(keyHigh: number, keyLow: number): number {
    if (keyLow >>> 8 !== this.leafPrefix || keyHigh !== this.leafHigh) {
      if (!this.findLeaf(keyHigh, keyLow)) return 0;
    }
    const byte = keyLow & 0xff;
    if (this.leafKind === K256) return this.leafWords[this.leafAt + S256 + byte];
    const slot = slotOf(this.leafWords, this.leafAt, this.leafKind, byte);
    return slot < 0 ? 0 : this.leafWords[slot];
  }

  /** Makes the leaf that a key would be in the one to look in; false when there is none. */
  private findLeaf(keyHigh: number, keyLow: number): boolean {
    let shift = this.rootShift;
    if (shift < 32 ? keyHigh !== 0 || (shift < 24 && keyLow >>> (shift + 8) !== 0) : !fits(keyHigh, shift)) {
      return false;
    }
    const { chunks, chunkShift, chunkMask } = this;
    let node = this.root;
    for (; shift !== 0 && node !== 0; shift -= 8) {
      const granule = node >>> SHIFT;
      const words = chunks[granule >>> chunkShift];
      const at = (granule & chunkMask) << G;
      const byte = ((shift < 32 ? keyLow : keyHigh) >>> shift) & 0xff;
      if ((node & KIND) === K256) {
        node = words[at + S256 + byte];
      } else {
        const slot = slotOf(words, at, node & KIND, byte);
        if (slot < 0) return false;
        node = words[slot];
      }
    }
    if (node === 0) return false;
    const granule = node >>> SHIFT;
    this.leafWords = chunks[granule >>> chunkShift];
    this.leafAt = (granule & chunkMask) << G;
    this.leafKind = node & KIND;
    this.leafPrefix = keyLow >>> 8;
    this.leafHigh = keyHigh;
    return true;
  }

  /** Whether a key for which {@link find} gave 0 is there, with the value 0. */
  private isZero(keyHigh: number, keyLow: number): boolean {
    let shift = this.rootShift;
    if (this.root === 0 || shiftFor(keyHigh, keyLow) > shift) return false;
    let child = this.root;
    for (;;) {
      const words = this.wordsOf(child);
      const at = this.atOf(child);
      const byte = ((shift < 32 ? keyLow : keyHigh) >>> shift) & 0xff;
      if (!hasChild(words, at, child & KIND_MASK, byte)) return false;
      if (shift === 0) return true;
      child = words[slotIndex(words, at, child & KIND_MASK, byte)];
      shift -= 8;
    }
  }

  /**
   * Sets the value of a key; true when the key was there and its value has been replaced.
   * @throws RangeError when a word or the value is no uint32, or the process has no memory. StorageError 54000 when the
   *   tree has 4 GiB. Then nothing has changed.
   */
  set(keyHigh: number, keyLow: number, value: number): boolean {
    checkWord(keyHigh, 'key high word');
    checkWord(keyLow, 'key low word');
    checkWord(value, 'value');
    const was = this.place(keyHigh, keyLow);
    this.slotWords[this.slot] = value;
    return was;
  }

  /**
   * Finds or makes the slot of a key and leaves it in {@link slotWords} and {@link slot}; true when the key was there.
   * A new slot holds 0. Memory for a bitmap is reserved too: what the caller cuts next does not fail.
   * @internal
   */
  place(keyHigh: number, keyLow: number): boolean {
    if (this.arena.reserve(RESERVE)) this.forgetLeaves();
    this.changes = (this.changes + 1) | 0;
    let holder = this.lastHolder;
    let slot = this.lastHolderSlot;
    if (keyLow >>> 8 !== this.lastPrefix || keyHigh !== this.lastHigh) {
      this.growUp(shiftFor(keyHigh, keyLow));
      holder = this.chunks[0];
      slot = 0;
      for (let shift = this.rootShift; shift > 0; shift -= 8) {
        const node = holder[slot];
        const words = this.wordsOf(node);
        const byte = ((shift < 32 ? keyLow : keyHigh) >>> shift) & 0xff;
        const below = slotIndex(words, this.atOf(node), node & KIND_MASK, byte);
        if (below < 0 || words[below] === 0) {
          this.addPath(holder, slot, byte, shift, keyHigh, keyLow);
          return false;
        }
        holder = words;
        slot = below;
      }
      this.lastPrefix = keyLow >>> 8;
      this.lastHigh = keyHigh;
      this.lastHolder = holder;
      this.lastHolderSlot = slot;
    }
    const leaf = holder[slot];
    if ((leaf & KIND) === K256) return this.placeInLeaf256(leaf, keyLow & 0xff);
    return this.placeInLeaf(holder, slot, keyLow & 0xff);
  }

  /** {@link place} in a leaf that has a slot for every key byte. */
  private placeInLeaf256(leaf: number, byte: number): boolean {
    const granule = leaf >>> SHIFT;
    const words = this.chunks[granule >>> this.chunkShift];
    const at = (granule & this.chunkMask) << G;
    const slot = at + S256 + byte;
    this.slotWords = words;
    this.slot = slot;
    if (words[slot] !== 0) return true;
    const bits = at + KEYS_AT + (byte >>> 5);
    const before = words[bits];
    const after = before | (1 << byte);
    if (after === before) return true;
    words[bits] = after;
    words[at]++;
    this.keys++;
    return false;
  }

  /** {@link place} in the leaf whose reference stands at `slot` of `holder`. */
  private placeInLeaf(holder: Int32Array, slot: number, byte: number): boolean {
    const node = holder[slot];
    const words = this.wordsOf(node);
    const at = this.atOf(node);
    const kind = node & KIND_MASK;
    const found = slotIndex(words, at, kind, byte);
    if (found >= 0 && (words[found] !== 0 || hasChild(words, at, kind, byte))) {
      this.slotWords = words;
      this.slot = found;
      return true;
    }
    this.addChild(holder, slot, byte, 0);
    this.keys++;
    return false;
  }

  /** Adds the nodes below the one whose reference stands at `slot` of `holder`, down to a leaf with the key alone. */
  private addPath(
    holder: Int32Array,
    slot: number,
    byte: number,
    shift: number,
    keyHigh: number,
    keyLow: number,
  ): void {
    let child = this.newNode(NODE_4);
    const words = this.wordsOf(child);
    const leafSlot = insertChild(words, this.atOf(child), NODE_4, keyLow & 0xff, 0);
    for (let s = 8; s < shift; s += 8) {
      const above = this.newNode(NODE_4);
      insertChild(this.wordsOf(above), this.atOf(above), NODE_4, ((s < 32 ? keyLow : keyHigh) >>> s) & 0xff, child);
      child = above;
    }
    this.addChild(holder, slot, byte, child);
    this.slotWords = words;
    this.slot = leafSlot;
    this.lastPrefix = NO_PREFIX;
    this.keys++;
  }

  /** Adds a child to the node whose reference stands at `slot` of `holder`, in a larger node if it is full. */
  private addChild(holder: Int32Array, slot: number, byte: number, child: number): void {
    let node = holder[slot];
    if (this.wordsOf(node)[this.atOf(node)] === CAPACITY[node & KIND_MASK]) {
      node = this.rebuild(node, (node & KIND_MASK) + 1);
      holder[slot] = node;
      this.root = this.chunks[0][0];
    }
    this.slotWords = this.wordsOf(node);
    this.slot = insertChild(this.slotWords, this.atOf(node), node & KIND_MASK, byte, child);
  }

  /** Makes the tree as high as a key of that shift needs. */
  private growUp(shift: number): void {
    if (this.root === 0) {
      this.root = this.newNode(NODE_4);
      this.rootShift = shift;
    }
    while (this.rootShift < shift) {
      const above = this.newNode(NODE_4);
      insertChild(this.wordsOf(above), this.atOf(above), NODE_4, 0, this.root);
      this.root = above;
      this.rootShift += 8;
    }
    this.chunks[0][0] = this.root;
  }

  /**
   * Takes a key out; false when it was not there. Never fails for lack of memory: a node that a smaller one should replace
   * is then left as it is, until a later delete.
   * @throws RangeError when a word is no uint32.
   */
  delete(keyHigh: number, keyLow: number): boolean {
    checkWord(keyHigh, 'key high word');
    checkWord(keyLow, 'key low word');
    if (!this.findPath(keyHigh, keyLow)) return false;
    if (this.keys === 1) {
      this.clear();
      return true;
    }
    const mayShrink = this.arena.tryReserve(SHRINK_RESERVE);
    this.changed();
    this.keys--;
    let shift = 0;
    while (this.removeAt(shift, keyHigh, keyLow, mayShrink)) shift += 8;
    this.lower();
    return true;
  }

  /** Writes the nodes on the way to a key to {@link path}, the leaf first; false when the key is not there. */
  private findPath(keyHigh: number, keyLow: number): boolean {
    let shift = this.rootShift;
    if (this.root === 0 || shiftFor(keyHigh, keyLow) > shift) return false;
    let node = this.root;
    for (;;) {
      this.path[shift >>> 3] = node;
      const words = this.wordsOf(node);
      const at = this.atOf(node);
      const byte = ((shift < 32 ? keyLow : keyHigh) >>> shift) & 0xff;
      if (!hasChild(words, at, node & KIND_MASK, byte)) return false;
      if (shift === 0) return true;
      node = words[slotIndex(words, at, node & KIND_MASK, byte)];
      shift -= 8;
    }
  }

  /** Takes the child out of the node of {@link path} at that level; true when the node is empty now, and gone. */
  private removeAt(shift: number, keyHigh: number, keyLow: number, mayShrink: boolean): boolean {
    const node = this.path[shift >>> 3];
    const words = this.wordsOf(node);
    const at = this.atOf(node);
    const kind = node & KIND_MASK;
    const byte = ((shift < 32 ? keyLow : keyHigh) >>> shift) & 0xff;
    removeChild(words, at, kind, byte, slotIndex(words, at, kind, byte));
    if (words[at] === 0) {
      this.freeNode(node);
      return true;
    }
    if (mayShrink && words[at] <= SHRINK_AT[kind])
      this.replaceNode(this.rebuild(node, kind - 1), shift, keyHigh, keyLow);
    return false;
  }

  /** Puts another node in the place of that of {@link path} at that level. */
  private replaceNode(node: number, shift: number, keyHigh: number, keyLow: number): void {
    if (shift === this.rootShift) {
      this.root = node;
      this.chunks[0][0] = node;
      return;
    }
    const s = shift + 8;
    const above = this.path[s >>> 3];
    const words = this.wordsOf(above);
    const byte = ((s < 32 ? keyLow : keyHigh) >>> s) & 0xff;
    words[slotIndex(words, this.atOf(above), above & KIND_MASK, byte)] = node;
  }

  /** Takes away top levels that lead to one node only, for keys that begin with a byte 0. */
  private lower(): void {
    while (this.rootShift > 0) {
      const words = this.wordsOf(this.root);
      const at = this.atOf(this.root);
      if (words[at] !== 1 || !hasChild(words, at, this.root & KIND_MASK, 0)) break;
      const below = words[slotIndex(words, at, this.root & KIND_MASK, 0)];
      this.freeNode(this.root);
      this.root = below;
      this.rootShift -= 8;
    }
    this.chunks[0][0] = this.root;
  }

  /**
   * The keys and values in key order. Any change of the tree ends it: the next step throws.
   * PostgreSQL: `RT_BEGIN_ITERATE`.
   */
  cursor(): RadixCursor {
    return new RadixCursor(this);
  }

  /** A node without children. */
  private newNode(kind: number): number {
    const node = (this.arena.cut(GRANULES[kind]) << KIND_SHIFT) | kind;
    clearNode(this.wordsOf(node), this.atOf(node), kind);
    this.kinds[kind]++;
    return node;
  }

  /** The same children in a node of another kind. */
  private rebuild(node: number, kind: number): number {
    const to = (this.arena.cut(GRANULES[kind]) << KIND_SHIFT) | kind;
    this.kinds[kind]++;
    copyChildren(this.wordsOf(node), this.atOf(node), node & KIND_MASK, this.wordsOf(to), this.atOf(to), kind);
    this.freeNode(node);
    return to;
  }

  private freeNode(node: number): void {
    this.kinds[node & KIND_MASK]--;
    this.leafPrefix = NO_PREFIX;
    this.arena.giveBack(node >>> KIND_SHIFT, GRANULES[node & KIND_MASK]);
  }

  private changed(): void {
    this.changes = (this.changes + 1) | 0;
    this.forgetLeaves();
  }

  /** What is remembered of words is forgotten with them, else a chunk that the arena let go would be kept by it. */
  private forgetLeaves(): void {
    this.lastPrefix = NO_PREFIX;
    this.leafPrefix = NO_PREFIX;
    const [first] = this.chunks;
    this.lastHolder = first;
    this.leafWords = first;
    this.slotWords = first;
  }

  /** @internal */
  wordsOf(node: number): Int32Array {
    return this.chunks[(node >>> KIND_SHIFT) >>> this.chunkShift];
  }

  /** @internal */
  atOf(node: number): number {
    return ((node >>> KIND_SHIFT) & this.chunkMask) << GRANULE_SHIFT;
  }
}
