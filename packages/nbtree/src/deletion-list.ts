// The TIDs of a leaf page that may go, in the page's order, and what is known of each. PostgreSQL: `TM_IndexDeleteOp`.
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import type { TupleMemory } from '@blockwright/tuple';
import { isPosting, postingCount, postingOffset } from './tuples.ts';

const TID_WORDS = 3;

/** TIDs and their items; one for pages of one size, used again. */
export class DeletionList {
  count = 0;
  readonly blocks: Uint32Array;
  readonly offsets: Uint16Array;
  /** Offset number of the item on the index page. */
  readonly items: Uint16Array;
  /** Number within the item's posting list, from 0. */
  readonly places: Uint16Array;
  /** 1: dead to everybody, so it goes. */
  readonly isDead: Uint8Array;
  /** 1: probably an old version of a row. PostgreSQL: `promising`. */
  readonly isPromising: Uint8Array;
  /** Bytes that its end would free. */
  readonly freeBytes: Uint16Array;
  /** Numbers of entries, in the order of TIDs: {@link sortByTid}. */
  readonly order: Uint16Array;
  // What the table is asked.
  readonly askedBlocks: Uint32Array;
  readonly askedOffsets: Uint16Array;
  readonly answers: Uint8Array;
  // What is deleted of the page: items, and TIDs of posting lists.
  readonly deleted: Uint16Array;
  readonly updated: Uint16Array;
  readonly updateStarts: Uint16Array;
  readonly updatePlaces: Uint16Array;

  constructor(g: BlockGeometry) {
    const most = g.size >>> 2; // a TID takes 6 bytes at least
    this.blocks = new Uint32Array(most);
    this.offsets = new Uint16Array(most);
    this.items = new Uint16Array(most);
    this.places = new Uint16Array(most);
    this.isDead = new Uint8Array(most);
    this.isPromising = new Uint8Array(most);
    this.freeBytes = new Uint16Array(most);
    this.order = new Uint16Array(most);
    this.askedBlocks = new Uint32Array(most);
    this.askedOffsets = new Uint16Array(most);
    this.answers = new Uint8Array(most);
    this.deleted = new Uint16Array(most);
    this.updated = new Uint16Array(most);
    this.updateStarts = new Uint16Array(most + 1);
    this.updatePlaces = new Uint16Array(most);
  }

  clear(): void {
    this.count = 0;
  }

  add(
    block: BlockNumber,
    offset: OffsetNumber,
    item: OffsetNumber,
    place: number,
    isDead: boolean,
    isPromising: boolean,
    freeBytes: number,
  ): void {
    const i = this.count++;
    this.blocks[i] = block;
    this.offsets[i] = offset;
    this.items[i] = item;
    this.places[i] = place;
    this.isDead[i] = isDead ? 1 : 0;
    this.isPromising[i] = isPromising ? 1 : 0;
    this.freeBytes[i] = freeBytes;
  }

  /** {@link order}: the entries by their TIDs. */
  sortByTid(): void {
    const { blocks, offsets, order, count } = this;
    for (let i = 0; i < count; i++) order[i] = i;
    order.subarray(0, count).sort((a, b) => blocks[a] - blocks[b] || offsets[a] - offsets[b]);
  }
}

/** How many TIDs the leaf tuple at `pos` has. */
export function tidCountOf(m: TupleMemory, pos: number): number {
  return isPosting(m, pos) ? postingCount(m, pos) : 1;
}

/** Index of the first 16-bit word of the leaf tuple's TIDs, which stand one behind the other. */
export function tidWordOf(m: TupleMemory, pos: number): number {
  return (isPosting(m, pos) ? pos + postingOffset(m, pos) : pos) >>> 1;
}

/** Block of the TID at the given word. */
export function blockAtWord(m: TupleMemory, word: number): BlockNumber {
  return ((m.u16[word] << 16) | m.u16[word + 1]) >>> 0;
}

/** Word of TID number `n` after the one at `word`. */
export function tidWordAfter(word: number, n: number): number {
  return word + n * TID_WORDS;
}
