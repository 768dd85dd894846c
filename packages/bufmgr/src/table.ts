// From (fork id, block) to the buffer that holds the page: open addressing with linear probing over one typed array.
// A slot is a buffer's number plus one, 0 when empty; the keys are the descriptors' own words. The table has at least
// twice as many slots as there are buffers, and an entry that goes is closed up by moving later ones back, so a probe
// stays a few steps long for ever. PostgreSQL: buf_table.c.
import type { BlockNumber, BufferId } from '@blockwright/base';
import { WORD_BLOCK, WORD_FORK } from './frames.ts';

/** The look-up table of a pool. */
export class BufferTable {
  private readonly words: Int32Array;
  private readonly slots: Int32Array;
  private readonly shift: number;
  private readonly mask: number;

  /** @param words the descriptors, whose fork and block words are this table's keys */
  constructor(words: Int32Array, buffers: number) {
    const bits = 33 - Math.clz32(buffers - 1);
    this.words = words;
    this.slots = new Int32Array(1 << bits);
    this.shift = 32 - bits;
    this.mask = this.slots.length - 1;
  }

  /** The buffer that holds a page, or -1. */
  find(forkId: number, block: BlockNumber): BufferId {
    const slots = this.slots;
    const words = this.words;
    const mask = this.mask;
    const key = block | 0;
    // Fibonacci hashing: consecutive blocks fall far apart, so two forks' runs do not pile up on each other.
    let slot = Math.imul(key ^ Math.imul(forkId, 0x85eb_ca6b), 0x9e37_79b1) >>> this.shift;
    for (;;) {
      const entry = slots[slot];
      if (entry === 0) return -1;
      const at = (entry - 1) << 2;
      if (words[at + WORD_BLOCK] === key && words[at + WORD_FORK] === forkId) return entry - 1;
      slot = (slot + 1) & mask;
    }
  }

  /** Enters a buffer under the key in its descriptor, which must not be there yet. */
  insert(id: BufferId): void {
    let slot = this.home(id);
    while (this.slots[slot] !== 0) slot = (slot + 1) & this.mask;
    this.slots[slot] = id + 1;
  }

  /** Takes a buffer out, which must be there, before its descriptor changes. */
  remove(id: BufferId): void {
    const { slots, mask } = this;
    let hole = this.home(id);
    while (slots[hole] !== id + 1) hole = (hole + 1) & mask;
    for (let slot = (hole + 1) & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
      // An entry may fill the hole if the hole is on its way from where it belongs to where it is.
      const probed = (slot - this.home(slots[slot] - 1)) & mask;
      if (probed >= ((slot - hole) & mask)) {
        slots[hole] = slots[slot];
        hole = slot;
      }
    }
    slots[hole] = 0;
  }

  private home(id: BufferId): number {
    const at = id << 2;
    const key = this.words[at + WORD_BLOCK];
    return Math.imul(key ^ Math.imul(this.words[at + WORD_FORK], 0x85eb_ca6b), 0x9e37_79b1) >>> this.shift;
  }
}
