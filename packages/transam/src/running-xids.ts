// The xids in progress, oldest first: an array of int32 words of which snapshots borrow the beginning. They come in order,
// for each is the newest when it is handed out; they go in any. What is lent is never written over: it is left to those who
// have it, and a copy goes on. PostgreSQL: `ProcGlobal->xids` and the caches of subxids.
import type { Xid } from '@blockwright/base';

const NONE = new Int32Array(0);
const LEAST_WORDS = 16;

export class RunningXids {
  private words: Int32Array = new Int32Array(LEAST_WORDS);
  private count: number = 0;
  /** Words from the beginning that somebody may have; never more than `count`. */
  private lent: number = 0;

  get length(): number {
    return this.count;
  }

  /** The oldest one, as an int32; there must be one. */
  get oldest(): number {
    return this.words[0];
  }

  /** Adds the newest xid. */
  add(xid: Xid): void {
    if (this.count === this.words.length) this.copy();
    this.words[this.count++] = xid;
  }

  /** Removes one xid, which is there. */
  remove(xid: Xid): void {
    const at = this.search(xid | 0);
    if (at < this.lent) this.copy();
    this.words.copyWithin(at, at + 1, this.count);
    this.count--;
  }

  /** Removes all those that `stays` says no to: less work than one at a time when many go. */
  removeMany(stays: (xid: Xid) => boolean): void {
    if (this.lent > 0) this.copy();
    const { words, count } = this;
    let kept = 0;
    for (let i = 0; i < count; i++) {
      const word = words[i];
      if (stays(word >>> 0)) words[kept++] = word;
    }
    this.count = kept;
  }

  /** Lends those before `xmax`, oldest first, as int32 words: for reading, as long as one likes. */
  before(xmax: Xid): Int32Array {
    const end = this.search(xmax | 0);
    if (end === 0) return NONE;
    if (end > this.lent) this.lent = end;
    return this.words.subarray(0, end);
  }

  /** Goes on with a copy, with room for as many again. */
  private copy(): void {
    const { words, count } = this;
    this.words = new Int32Array(Math.max(LEAST_WORDS, count << 1));
    this.words.set(words.subarray(0, count));
    this.lent = 0;
  }

  /** Index of the first that is not older than `word`. */
  private search(word: number): number {
    const { words, count } = this;
    const from = words[0];
    const distance = (word - from) | 0;
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (((words[middle] - from) | 0) < distance) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
