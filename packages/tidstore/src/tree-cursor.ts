// Walks a tree in key order.
import { KIND_MASK, nextByte, slotIndex } from './node.ts';
import type { RadixTree } from './tree.ts';

/** Key after key of one tree, from the lowest. PostgreSQL: `RT_ITERATE_NEXT`. */
export class RadixCursor {
  /** Bits 32 and above of the current key. */
  keyHigh = 0;
  /** Bits 0 to 31 of the current key. */
  keyLow = 0;
  /** The current value. */
  value = 0;
  private readonly tree: RadixTree;
  private readonly changes: number;
  /** By level: the node that the walk is in, and the key byte to look at next. */
  private readonly nodes = new Int32Array(8);
  private readonly bytes = new Int32Array(8);
  private shift: number;

  /** @internal */
  constructor(tree: RadixTree) {
    this.tree = tree;
    this.changes = tree.changes;
    this.shift = tree.root === 0 ? -8 : tree.rootShift;
    this.nodes[tree.rootShift >>> 3] = tree.root;
  }

  /**
   * Goes to the next key; false when there is none.
   * @throws TypeError when the tree has changed since the cursor was made.
   */
  next(): boolean {
    const { tree } = this;
    if (tree.changes !== this.changes) {
      throw new TypeError('the tree has changed under a cursor: make a new one after a change');
    }
    let { shift } = this;
    if (shift < 0) return false;
    for (;;) {
      const level = shift >>> 3;
      const node = this.nodes[level];
      const words = tree.wordsOf(node);
      const at = tree.atOf(node);
      const byte = nextByte(words, at, node & KIND_MASK, this.bytes[level]);
      if (byte < 0) {
        if (shift === tree.rootShift) {
          this.shift = -8;
          return false;
        }
        shift += 8;
        continue;
      }
      this.bytes[level] = byte + 1;
      const mask = ~(0xff << shift);
      const key = byte << shift;
      if (shift < 32) this.keyLow = ((this.keyLow & mask) | key) >>> 0;
      else this.keyHigh = ((this.keyHigh & mask) | key) >>> 0;
      const child = words[slotIndex(words, at, node & KIND_MASK, byte)];
      if (shift === 0) {
        this.value = child >>> 0;
        this.shift = 0;
        return true;
      }
      shift -= 8;
      this.nodes[shift >>> 3] = child;
      this.bytes[shift >>> 3] = 0;
    }
  }
}
