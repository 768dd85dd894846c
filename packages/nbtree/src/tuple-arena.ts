// Where a build keeps the tuples that it sorts: chunks of memory, one tuple after the other, none across two chunks. A
// tuple's place is one unsigned number: the chunk, and the eighth byte in it.
import { pageMemory } from '@blockwright/page';
import { indexTupleSize, type TupleMemory } from '@blockwright/tuple';

const CHUNK_SHIFT = 20;
const CHUNK_BYTES = 0x10_0000;
/** A place is the chunk's number above this many bits. */
const PLACE_SHIFT = CHUNK_SHIFT - 3;
const PLACE_MASK = (1 << PLACE_SHIFT) - 1;

/** Tuples side by side, found again by their places. */
export class TupleArena {
  /** Bytes of the tuples in it. */
  bytes = 0;
  private readonly chunks: TupleMemory[] = [];
  /** Byte after the last tuple of each chunk but the one that is being filled. */
  private readonly ends: number[] = [];
  private chunk: TupleMemory;
  private number = 0;
  private end = 0;

  constructor() {
    this.chunk = pageMemory(new ArrayBuffer(CHUNK_BYTES));
    this.chunks.push(this.chunk);
  }

  /**
   * Copies a tuple, bit `flag` of its t_info set.
   * @param length a multiple of 8, no more than an index tuple can have
   * @returns its place
   */
  add(m: TupleMemory, pos: number, length: number, flag: number): number {
    if (this.end + length > CHUNK_BYTES) this.nextChunk();
    const { chunk, end } = this;
    copyTuple(m, pos, length, chunk, end);
    if (flag !== 0) chunk.u16[(end >>> 1) + 3] |= flag;
    this.end = end + length;
    this.bytes += length;
    return ((this.number << PLACE_SHIFT) | (end >>> 3)) >>> 0;
  }

  /** The memory that the tuple at `place` lies in. */
  memory(place: number): TupleMemory {
    return this.chunks[place >>> PLACE_SHIFT];
  }

  /** The tuple's byte position in that memory. */
  position(place: number): number {
    return (place & PLACE_MASK) << 3;
  }

  /** The places of all tuples, in the order in which they were added. */
  places(count: number): Uint32Array {
    const places = new Uint32Array(count);
    let at = 0;
    for (let number = 0; number <= this.number; number++) {
      const chunk = this.chunks[number];
      const end = number === this.number ? this.end : this.ends[number];
      for (let pos = 0; pos < end; pos += indexTupleSize(chunk, pos)) {
        places[at++] = ((number << PLACE_SHIFT) | (pos >>> 3)) >>> 0;
      }
    }
    return places;
  }

  /** Forgets all tuples, and keeps the memory. */
  clear(): void {
    this.number = 0;
    this.chunk = this.chunks[0];
    this.end = 0;
    this.bytes = 0;
  }

  private nextChunk(): void {
    this.ends[this.number] = this.end;
    this.number++;
    if (this.number === this.chunks.length) this.chunks.push(pageMemory(new ArrayBuffer(CHUNK_BYTES)));
    this.chunk = this.chunks[this.number];
    this.end = 0;
  }
}

/** Below this, a loop over words is quicker than the view that `set` needs. */
const SHORT_COPY_BYTES = 64;

/** Copies a tuple of a multiple of 8 bytes between positions that are multiples of 8. */
export function copyTuple(from: TupleMemory, pos: number, length: number, to: TupleMemory, at: number): void {
  if (length > SHORT_COPY_BYTES) {
    to.u8.set(from.u8.subarray(pos, pos + length), at);
    return;
  }
  const source = from.u32;
  const target = to.u32;
  let s = pos >>> 2;
  let t = at >>> 2;
  for (const end = (pos + length) >>> 2; s < end; s++, t++) target[t] = source[s];
}
