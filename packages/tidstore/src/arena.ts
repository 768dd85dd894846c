// The memory of a tree: chunks of 32-bit words, from which nodes and bitmaps are cut and to which they go back. What was
// cut is named by its granule (two words), counted over all chunks, so that no object stands for it.
import { StorageError } from '@blockwright/base';

/** log2 of the words of a granule, the unit that is cut and counted. */
export const GRANULE_SHIFT = 1;
/** log2 of the granules an arena can have: a node's reference has three more bits for its kind. */
const MAX_GRANULES_SHIFT = 29;
/** The most granules that one cut can have: a bitmap of every offset of a 32 kB block, or a node of 256 children. */
const MAX_CUT = 133;
/** Freed pieces of {@link MAX_CUT} granules that are as good as fresh memory for any reservation: two cuts of any length
 * and sixteen of the smallest nodes. */
const PIECES_ENOUGH = 3;
/** Freed granules are put together when so many have been given back since: log2 of their least share of all. */
const MERGE_SHIFT = 2;
/** The most words that can be asked for at once of {@link Arena.reserve}: less than the smallest chunk has. */
const CHUNK_SHIFT_MIN = 11;
const CHUNK_SHIFT_MAX = 16;
const FIRST_CHUNK_WORDS = 512;

/**
 * log2 of the words of a chunk: 256 kB, or for a small memory limit 1/16 of that and 8 kB at least, as PostgreSQL's
 * TidStoreCreateLocal caps the blocks of its memory context.
 */
function chunkShiftFor(maxBytes: number): number {
  let shift = CHUNK_SHIFT_MAX;
  while (shift > CHUNK_SHIFT_MIN && maxBytes < (1 << shift) * 64) shift--;
  return shift;
}

/**
 * @throws TypeError when a `maxBytes` is no number, RangeError when it is not above 0; Infinity is: no limit.
 */
export function checkMaxBytes(what: string, maxBytes: unknown): asserts maxBytes is number {
  if (typeof maxBytes !== 'number') throw new TypeError(`${what}'s maxBytes is a number, not ${typeof maxBytes}`);
  if (!(maxBytes > 0)) throw new RangeError(`${what}'s maxBytes ${String(maxBytes)} is not above 0`);
}

/** Words cut from chunks. All chunks but the first are of one size; the first grows to it by doubling. */
export class Arena {
  /** The chunks, for whoever has a granule: `chunks[g >>> chunkShift]`, at word `(g & chunkMask) << GRANULE_SHIFT`. */
  readonly chunks: Int32Array[];
  readonly chunkShift: number;
  readonly chunkMask: number;
  /** Sum of the byte lengths of all its memory. */
  bytes = 0;
  /** The same without the chunks that wait, after {@link clear}, to be used again. */
  bytesInUse = 0;
  /** The next granule never cut, and the first beyond the chunk that it is in. */
  private next = 0;
  private end = 0;
  /** Chunks that are in use, or reserved. */
  private claimed = 1;
  /** By length in granules: the granule that was given back last, whose first word is the one before it; 0 for none. */
  private readonly freed = new Int32Array(MAX_CUT + 1);
  /** No freed piece is longer. */
  private longest = 0;
  /** Granules given back since freed pieces were last put together. */
  private freedSince = 0;

  constructor(maxBytes: number) {
    this.chunkShift = chunkShiftFor(maxBytes) - GRANULE_SHIFT;
    this.chunkMask = (1 << this.chunkShift) - 1;
    const first = new Int32Array(FIRST_CHUNK_WORDS);
    this.chunks = [first];
    this.bytes = this.freed.byteLength + first.byteLength;
    this.clear();
  }

  /** Forgets all that was cut, and keeps the chunks; granule 0 stays with the owner, who finds one word in it. */
  clear(): void {
    const [first] = this.chunks;
    first[0] = 0;
    this.next = 1;
    this.end = first.length >>> GRANULE_SHIFT;
    this.claimed = 1;
    this.freed.fill(0);
    this.longest = 0;
    this.freedSince = 0;
    this.bytesInUse = this.freed.byteLength + first.byteLength;
  }

  /**
   * Makes sure that the next cuts, `granules` together, need no new memory: so that a change that has begun cannot fail.
   * True when the first chunk was moved by it.
   * @throws StorageError 54000 beyond 4 GiB, RangeError when the process has no memory; then nothing has changed.
   */
  reserve(granules: number): boolean {
    return this.end - this.next < granules && this.reserveMore(granules);
  }

  /** Apart, so that what is asked before every change is short enough to be inlined. */
  private reserveMore(granules: number): boolean {
    const { chunks, chunkShift } = this;
    const whole = 1 << chunkShift;
    const isSmall = this.end < whole;
    if (!isSmall && this.claimed << chunkShift > this.end) return false; // a spare chunk is reserved already
    if (this.isFreedEnough() || (this.mergeFreed() && this.isFreedEnough())) return false;
    if (isSmall) return this.growFirst(granules);
    if (this.claimed >= 1 << (MAX_GRANULES_SHIFT - chunkShift)) {
      throw new StorageError('54000', 'a radix tree cannot have more than 4 GiB of memory', {
        detail: `Its nodes and values have ${String(this.bytes)} bytes.`,
        hint: 'Give the TID store a lower maxBytes, and empty it when it is full.',
      });
    }
    if (this.claimed === chunks.length) {
      const chunk = new Int32Array(whole << GRANULE_SHIFT);
      chunks.push(chunk);
      this.bytes += chunk.byteLength;
    }
    this.bytesInUse += chunks[this.claimed].byteLength;
    this.claimed++;
    return false;
  }

  /** {@link reserve} for a change that can be left out: false when there is no memory. */
  tryReserve(granules: number): boolean {
    try {
      this.reserve(granules);
      return true;
    } catch {
      return false;
    }
  }

  /** Whether another chunk would be one too many. */
  get isAtLimit(): boolean {
    return this.claimed >= 1 << (MAX_GRANULES_SHIFT - this.chunkShift);
  }

  /** Whether the cuts of any reservation can be made of freed pieces. */
  private isFreedEnough(): boolean {
    let piece = this.freed[MAX_CUT];
    for (let i = 1; i < PIECES_ENOUGH && piece !== 0; i++) piece = this.afterFreed(piece);
    return piece !== 0;
  }

  /** The freed piece of the same length that was given back before this one; 0 for none. */
  private afterFreed(at: number): number {
    return this.chunks[at >>> this.chunkShift][(at & this.chunkMask) << GRANULE_SHIFT];
  }

  /**
   * Puts freed pieces together that lie side by side, if a quarter of all has been given back since the last time: what
   * it costs is then little for each of those. Takes 1/64 of the arena's memory while it works; false when it did nothing.
   */
  private mergeFreed(): boolean {
    const { freed, end, chunkMask } = this;
    if (this.freedSince < end >>> MERGE_SHIFT) return false;
    let isFree: Uint32Array;
    try {
      isFree = new Uint32Array((end + 31) >>> 5);
    } catch {
      return false;
    }
    for (let granules = 1; granules <= MAX_CUT; granules++) {
      for (let at = freed[granules]; at !== 0; at = this.afterFreed(at)) {
        for (let g = at; g < at + granules; g++) isFree[g >>> 5] |= 1 << g;
      }
    }
    freed.fill(0);
    this.longest = 0;
    let length = 0;
    // downwards, so that the lowest pieces are used again first; granule 0 is never free
    for (let g = end - 1; g >= 0; g--) {
      const free = (isFree[g >>> 5] >>> g) & 1;
      length += free;
      if (length !== 0 && (free === 0 || length === MAX_CUT || (g & chunkMask) === 0)) {
        this.putFreed(g + 1 - free, length);
        length = 0;
      }
    }
    this.freedSince = 0;
    return true;
  }

  private growFirst(granules: number): boolean {
    const whole = 1 << this.chunkShift;
    let size = this.end;
    while (size < whole && size - this.next < granules) size <<= 1;
    const chunk = new Int32Array(size << GRANULE_SHIFT);
    chunk.set(this.chunks[0]);
    const more = chunk.byteLength - this.chunks[0].byteLength;
    this.bytes += more;
    this.bytesInUse += more;
    this.chunks[0] = chunk;
    this.end = size;
    // grown to its full size, it may still be too small for what is asked
    if (size - this.next < granules) this.reserve(granules);
    return true;
  }

  /** Cuts `granules`, all words zero or left from an earlier use. {@link reserve} must have been asked. */
  cut(granules: number): number {
    const again = this.freed[granules];
    if (again !== 0) {
      this.freed[granules] = this.afterFreed(again);
      return again;
    }
    return granules < this.longest ? this.cutOfLonger(granules) : this.cutFresh(granules);
  }

  /** Of the shortest freed piece that is longer; the rest stays freed. */
  private cutOfLonger(granules: number): number {
    const { freed, longest } = this;
    for (let length = granules + 1; length <= longest; length++) {
      const at = freed[length];
      if (at === 0) continue;
      freed[length] = this.afterFreed(at);
      this.putFreed(at + granules, length - granules);
      return at;
    }
    this.longest = granules; // as was just seen
    return this.cutFresh(granules);
  }

  private cutFresh(granules: number): number {
    let at = this.next;
    if (at + granules > this.end) {
      if (at < this.end) this.putFreed(at, this.end - at);
      at = this.end; // the spare chunk's first: a cut lies in one chunk
      this.end = at + this.chunkMask + 1;
    }
    this.next = at + granules;
    return at;
  }

  /** Takes back what {@link cut} gave for as many granules. */
  giveBack(at: number, granules: number): void {
    this.freedSince += granules;
    this.putFreed(at, granules);
  }

  private putFreed(at: number, granules: number): void {
    const { chunkShift, chunkMask } = this;
    this.chunks[at >>> chunkShift][(at & chunkMask) << GRANULE_SHIFT] = this.freed[granules];
    this.freed[granules] = at;
    if (granules > this.longest) this.longest = granules;
  }
}
