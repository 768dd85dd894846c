// The xids in progress, oldest first: an array of int32 words that a snapshot copies a piece of. They come in order, for
// each is the newest when it is handed out; they go in any. PostgreSQL: `ProcGlobal->xids` and the caches of subxids.
import type { Xid } from '@blockwright/base';

const NONE = new Int32Array(0);

export class RunningXids {
  private words: Int32Array = new Int32Array(16);
  private count: number = 0;

  get length(): number {
    return this.count;
  }

  /** The oldest one, as an int32; there must be one. */
  get oldest(): number {
    return this.words[0];
  }

  /** Adds the newest xid. */
  add(xid: Xid): void {
    if (this.count === this.words.length) {
      const longer = new Int32Array(this.words.length << 1);
      longer.set(this.words);
      this.words = longer;
    }
    this.words[this.count++] = xid;
  }

  /** Removes one xid, which is there. */
  remove(xid: Xid): void {
    const at = this.search(xid | 0);
    this.words.copyWithin(at, at + 1, this.count);
    this.count--;
  }

  /** Removes all those that `stays` says no to: less work than one at a time when many go. */
  removeMany(stays: (xid: Xid) => boolean): void {
    const { words, count } = this;
    let kept = 0;
    for (let i = 0; i < count; i++) {
      const word = words[i];
      if (stays(word >>> 0)) words[kept++] = word;
    }
    this.count = kept;
    if (words.length > 1024 && kept << 2 < words.length) this.words = words.slice(0, words.length >>> 1);
  }

  /** A copy of those before `xmax`, oldest first, as int32 words. */
  before(xmax: Xid): Int32Array {
    const end = this.search(xmax | 0);
    return end === 0 ? NONE : this.words.slice(0, end);
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
