// The downlinks of one level, from left to right: which pages they lead to, from where, and the key that ends each of these
// pages: what their high keys must be, byte for byte.
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import type { PageMemory } from '@blockwright/page';
import { indexTupleSize } from '@blockwright/tuple';

/** The child is the last one: it has no high key. */
export const NO_KEY = 0;
/** What ends the child cannot be told. */
export const UNKNOWN_KEY = 1;
const FIRST_KEY = 8;

/** Grows by pushes; positions of keys are bytes of {@link Downlinks.memory}. */
export class Downlinks {
  count = 0;
  children: Uint32Array = new Uint32Array(64);
  parents: Uint32Array = new Uint32Array(64);
  offsets: Uint16Array = new Uint16Array(64);
  /** NO_KEY, UNKNOWN_KEY, or where the key stands. */
  keys: Float64Array = new Float64Array(64);
  u8: Uint8Array = new Uint8Array(1024);
  private used = FIRST_KEY;

  push(child: BlockNumber, parent: BlockNumber, offset: OffsetNumber, key: number): void {
    const { count } = this;
    if (count === this.children.length) {
      this.children = grown(this.children, new Uint32Array(count << 1));
      this.parents = grown(this.parents, new Uint32Array(count << 1));
      this.offsets = grown(this.offsets, new Uint16Array(count << 1));
      this.keys = grown(this.keys, new Float64Array(count << 1));
    }
    this.children[count] = child;
    this.parents[count] = parent;
    this.offsets[count] = offset;
    this.keys[count] = key;
    this.count++;
  }

  /** Keeps the tuple at `pos`; gives where. */
  addKey(m: PageMemory, pos: number): number {
    const size = indexTupleSize(m, pos);
    const at = this.used;
    if (at + size > this.u8.length) {
      let length = this.u8.length;
      while (length < at + size) length += length;
      this.u8 = grown(this.u8, new Uint8Array(length));
    }
    for (let i = 0; i < size; i++) this.u8[at + i] = m.u8[pos + i];
    this.used = at + size;
    return at;
  }

  /** Whether the tuple at `pos` has the key's bytes, downlinks aside. PostgreSQL: `bt_pivot_tuple_identical`. */
  isKey(key: number, m: PageMemory, pos: number): boolean {
    const size = indexTupleSize(m, pos);
    const { u8, used } = this;
    if (key + size > used) return false;
    for (let i = DOWNLINK_BYTES; i < size; i++) if (u8[key + i] !== m.u8[pos + i]) return false;
    return true;
  }
}

const DOWNLINK_BYTES = 4;

function grown<Numbers extends { set(from: Numbers): void }>(from: Numbers, to: Numbers): Numbers {
  to.set(from);
  return to;
}
