// The bytes of a file in memory, in chunks: what was never written is zero and takes no memory, and a copy costs nothing
// until one of the two is changed.
import { highWord, lowWord } from '@blockwright/base';

const CHUNK_SHIFT = 12;
const CHUNK_BYTES = 1 << CHUNK_SHIFT;
const CHUNK_MASK = CHUNK_BYTES - 1;
const CHUNKS_A_WORD = 1 << (32 - CHUNK_SHIFT);
const ZEROS = new Uint8Array(CHUNK_BYTES);

/** Number of the chunk that holds byte `position`, a safe integer. */
function chunkOf(position: number): number {
  return highWord(position) * CHUNKS_A_WORD + (lowWord(position) >>> CHUNK_SHIFT);
}

/** The bytes of a file at one moment: never changed. */
export interface SharedBytes {
  readonly size: number;
  readonly chunks: ReadonlyMap<number, Uint8Array>;
}

/** Bytes that can be read, written, cut and shared. */
export class SparseBytes {
  size: number = 0;
  private map: Map<number, Uint8Array> = new Map();
  /** Whether `map` belongs to somebody else too. */
  private isMapShared: boolean = false;
  /** Chunks made, changed or removed since the bytes were last shared; the others belong to somebody else too. */
  private changedChunks: Set<number> = new Set();

  /** Bytes that begin as others are. */
  static from(shared: SharedBytes): SparseBytes {
    const bytes = new SparseBytes();
    bytes.size = shared.size;
    bytes.map = shared.chunks as Map<number, Uint8Array>;
    bytes.isMapShared = true;
    return bytes;
  }

  /** The bytes as they are now. */
  share(): SharedBytes {
    this.isMapShared = true;
    this.changedChunks = new Set();
    return { size: this.size, chunks: this.map };
  }

  /** Numbers of the chunks that {@link share} has not seen yet. */
  get changed(): ReadonlySet<number> {
    return this.changedChunks;
  }

  /** Whether nothing but zeros was ever written. */
  get isAllZero(): boolean {
    return this.map.size === 0;
  }

  read(dest: Uint8Array, at: number, length: number, position: number): number {
    const count = Math.max(0, Math.min(length, this.size - position));
    for (let done = 0; done < count; ) {
      const within = lowWord(position + done) & CHUNK_MASK;
      const part = Math.min(count - done, CHUNK_BYTES - within);
      const chunk = this.map.get(chunkOf(position + done));
      if (chunk === undefined) dest.fill(0, at + done, at + done + part);
      else dest.set(chunk.subarray(within, within + part), at + done);
      done += part;
    }
    return count;
  }

  write(src: Uint8Array, at: number, length: number, position: number): void {
    for (let done = 0; done < length; ) {
      const within = lowWord(position + done) & CHUNK_MASK;
      const part = Math.min(length - done, CHUNK_BYTES - within);
      this.writeChunk(src.subarray(at + done, at + done + part), chunkOf(position + done), within);
      done += part;
    }
    this.size = Math.max(this.size, position + length);
  }

  /** Writes zeros. */
  clear(length: number, position: number): void {
    for (let done = 0; done < length; ) {
      const within = lowWord(position + done) & CHUNK_MASK;
      const part = Math.min(length - done, CHUNK_BYTES - within);
      this.writeChunk(ZEROS.subarray(0, part), chunkOf(position + done), within);
      done += part;
    }
    this.size = Math.max(this.size, position + length);
  }

  truncate(size: number): void {
    if (size < this.size) {
      const last = chunkOf(size);
      const within = lowWord(size) & CHUNK_MASK;
      for (const number of [...this.map.keys()]) {
        if (number > last || (number === last && within === 0)) this.put(number, undefined);
      }
      if (this.map.has(last)) this.ownChunk(last).fill(0, within);
    }
    this.size = size;
  }

  /** Makes chunks those of other bytes again, up to the end. */
  takeBack(numbers: Iterable<number>, from: SharedBytes): void {
    for (const number of numbers) {
      const chunk = from.chunks.get(number);
      this.put(number, chunk?.slice());
    }
    this.changedChunks = new Set(); // what was taken back is nothing new
    const { size } = this;
    this.size = Number.MAX_SAFE_INTEGER;
    this.truncate(size);
  }

  private writeChunk(part: Uint8Array, number: number, within: number): void {
    if (!this.map.has(number) && isZero(part)) {
      this.changedChunks.add(number); // it may have been removed since
      return;
    }
    this.ownChunk(number).set(part, within);
  }

  /** A chunk that may be changed, made when absent. */
  private ownChunk(number: number): Uint8Array {
    let chunk = this.map.get(number);
    if (chunk === undefined || !this.changedChunks.has(number)) {
      chunk = chunk === undefined ? new Uint8Array(CHUNK_BYTES) : chunk.slice();
      this.put(number, chunk);
    }
    return chunk;
  }

  private put(number: number, chunk: Uint8Array | undefined): void {
    if (this.isMapShared) {
      this.map = new Map(this.map);
      this.isMapShared = false;
    }
    if (chunk === undefined) this.map.delete(number);
    else this.map.set(number, chunk);
    this.changedChunks.add(number);
  }
}

/** `older`, with some chunks, and the size, as `newer` has them. */
export function mergeChunks(older: SharedBytes, newer: SharedBytes, numbers: Iterable<number>): SharedBytes {
  const chunks = new Map(older.chunks);
  for (const number of numbers) {
    const chunk = newer.chunks.get(number);
    if (chunk === undefined) chunks.delete(number);
    else chunks.set(number, chunk);
  }
  const merged = SparseBytes.from({ size: older.size, chunks });
  merged.truncate(newer.size);
  return merged.share();
}

/** Whether all bytes are zero. */
export function isZero(bytes: Uint8Array): boolean {
  for (let done = 0; done < bytes.length; done += CHUNK_BYTES) {
    const part = bytes.subarray(done, done + CHUNK_BYTES);
    if (part[0] !== 0 || Buffer.compare(part, ZEROS.subarray(0, part.length)) !== 0) return false;
  }
  return true;
}
