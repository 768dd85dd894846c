// The working memory of a compaction, and what its steps tell each other through it.
import type { BlockGeometry } from '@blockwright/geometry';

/** Values of one digit of a key of `sort`: 6 of the 12 bits that a position has. */
export const DIGITS = 64;
/** Room for the runs of a page, and one more. */
const RUNS = 16;

/**
 * Working memory of a compaction, for pages of one size or smaller: make one and keep it. What is in it is of no
 * interest after the call.
 */
export class CompactionScratch {
  /** The largest block size that this serves, in bytes. */
  readonly size: number;
  /** The line pointer of each item that stays, in the order of their numbers. */
  readonly linePointers: Uint32Array;
  /** Where on the page that line pointer is to stand: its offset number less 1. */
  readonly numbers: Uint16Array;
  /** 1 for each line pointer that goes, while they are listed; else 0. */
  readonly marks: Uint8Array;
  /** Keys to sort, and room to sort them. */
  readonly keys: Uint32Array;
  readonly otherKeys: Uint32Array;
  /** How often each value of each digit occurs in the keys. */
  readonly counts: Uint32Array;
  /** Two pages' room: items in their new places, and above it, from word `aside` on, items in their old ones. */
  readonly words: Uint32Array;
  readonly aside: number;

  /** Of each run of items: the word of its first line pointer; where it begins; its bytes, and how far they move. */
  readonly runs: Int32Array = new Int32Array(RUNS);
  readonly runHeads: Int32Array = new Int32Array(RUNS);
  readonly runBytes: Int32Array = new Int32Array(RUNS);
  readonly runMoves: Int32Array = new Int32Array(RUNS);

  // What the checking pass found out about the items.
  /** `pd_upper` as it was. */
  lowest = 0;
  /** How many of the first items lie where they belong already. */
  inPlace = 0;
  /** Byte of the page where the next one after those must end. */
  top = 0;
  /** Byte of the page where all of them together will begin. */
  newUpper = 0;
  /** Of the items not in place: how many do not abut the one before. */
  gaps = 0;
  /** Whether each item lies below the one before it, and none overlaps another. */
  isDescending = false;

  constructor(g: BlockGeometry) {
    const most = g.maxOffsetNumber;
    this.size = g.size;
    this.linePointers = new Uint32Array(most);
    this.numbers = new Uint16Array(most);
    this.marks = new Uint8Array(most);
    this.keys = new Uint32Array(most);
    this.otherKeys = new Uint32Array(most);
    this.counts = new Uint32Array(2 * DIGITS);
    this.words = new Uint32Array(g.size >>> 1);
    this.aside = g.size >>> 2;
  }
}
