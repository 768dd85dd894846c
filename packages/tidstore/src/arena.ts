// The memory of a tree: chunks of 32-bit words, from which nodes and bitmaps are cut and to which they go back. What was
// cut is named by its granule (two words), counted over all chunks, so that no object stands for it.
import { StorageError } from '@blockwright/base';

/** log2 of the words of a granule, the unit that is cut and counted. */
export const GRANULE_SHIFT = 1;
/** log2 of the granules an arena can have: a node's reference has three more bits for its kind. */
const MAX_GRANULES_SHIFT = 29;
/** The most granules that one cut can have: a bitmap of every offset of a 32 kB block, or a node of 256 children. */
const MAX_CUT = 133;
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
    this.bytesInUse = this.freed.byteLength + first.byteLength;
  }

  /**
   * Makes sure that the next cuts, `granules` together, need no new memory: so that a change that has begun cannot fail.
   * True when the first chunk was moved by it.
   * @throws StorageError 54000 beyond 4 GiB, RangeError when the process has no memory; then nothing has changed.
   */
  reserve(granules: number): boolean {
    if (this.end - this.next >= granules) return false;
    const { chunks, chunkShift } = this;
    const whole = 1 << chunkShift;
    if (this.end < whole) return this.growFirst(granules);
    if (this.claimed << chunkShift > this.end) return false; // a spare chunk is reserved already
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

  /** Whether another chunk would be one too many. */
  get isAtLimit(): boolean {
    return this.claimed >= 1 << (MAX_GRANULES_SHIFT - this.chunkShift);
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
      const { chunkShift, chunkMask } = this;
      this.freed[granules] = this.chunks[again >>> chunkShift][(again & chunkMask) << GRANULE_SHIFT];
      return again;
    }
    let at = this.next;
    if (at + granules > this.end) {
      at = this.end; // the spare chunk's first: a cut lies in one chunk
      this.end = at + this.chunkMask + 1;
    }
    this.next = at + granules;
    return at;
  }

  /** Takes back what {@link cut} gave for as many granules. */
  giveBack(at: number, granules: number): void {
    const { chunkShift, chunkMask } = this;
    this.chunks[at >>> chunkShift][(at & chunkMask) << GRANULE_SHIFT] = this.freed[granules];
    this.freed[granules] = at;
  }
}
