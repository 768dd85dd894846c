// The buffer pool: pages of relation forks in memory, found by (fork, block), held by pins, replaced by a clock sweep.
import { type BlockNumber, type BufferId, MAX_BLOCK_NUMBER, runSync, type Steps } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { PageFault, type PageMemory } from '@blockwright/page';
import { dataBeyondEnd, type LivePin, noUnpinnedBuffers, stillPinned, tooManyBlocks } from './errors.ts';
import type { BufferedFork, WalFlusher } from './fork.ts';
import {
  BufferFrames,
  MAX_CHUNK_BYTES,
  MAX_USAGE,
  NO_BUFFER,
  STATE_DIRTY,
  STATE_VALID,
  USAGE_MASK,
  WORD_BLOCK,
  WORD_FORK,
  WORD_PINS,
  WORD_STATE,
} from './frames.ts';
import { type BufferPoolOptions, checkPoolOptions } from './options.ts';
import { PagePoison } from './poison.ts';
import { ReadIn } from './read-in.ts';
import { BULK_READ_RING_BYTES, BULK_WRITE_RING_BYTES, BufferRing } from './ring.ts';
import { BufferStats } from './stats.ts';
import { BufferTable } from './table.ts';
import { type PoolParts, RUN_BYTES, WriteBack } from './write-back.ts';

/** The most buffers that one call takes at once; no fewer than the blocks of a run at 1 kB. */
const MOST_CLAIMED = 256;

/** Pages in memory. One thread owns a pool. PostgreSQL: bufmgr.c. */
export class BufferPool implements Disposable {
  readonly geometry: BlockGeometry;
  /** How many blocks the pool holds. */
  readonly buffers: number;
  readonly stats: BufferStats = new BufferStats();
  private readonly frames: BufferFrames;
  private readonly words: Int32Array;
  private readonly table: BufferTable;
  private readonly forks = new Map<number, BufferedFork>();
  private readonly poison: PagePoison | undefined;
  /** Whether what is lent is overwritten once it is given back: whoever lends parts of pages on does so too. */
  readonly debugPoison: boolean;
  private readonly writer: WriteBack;
  private readonly reader: ReadIn;
  /** The most blocks of one read. */
  private readonly runBlocks: number;
  private readonly claimed: Int32Array = new Int32Array(MOST_CLAIMED);
  private latest: BufferedFork | undefined = undefined;
  private scratch: Uint8Array | undefined = undefined;
  private closed = false;

  /**
   * @throws RangeError when `buffers` is below 16 or beyond what this machine can hold; TypeError for an unknown option.
   */
  constructor(options: BufferPoolOptions) {
    checkPoolOptions(options);
    const { geometry, buffers, chunkBytes = MAX_CHUNK_BYTES } = options;
    this.geometry = geometry;
    this.buffers = buffers;
    this.frames = new BufferFrames(geometry, buffers, chunkBytes);
    this.words = this.frames.words;
    this.table = new BufferTable(this.words, buffers);
    this.debugPoison = options.debugPoison ?? false;
    this.poison = options.debugPoison === true ? new PagePoison(this.frames) : undefined;
    this.runBlocks = RUN_BYTES >>> geometry.shift;
    const parts: PoolParts = {
      frames: this.frames,
      table: this.table,
      forks: this.forks,
      stats: this.stats,
      poison: this.poison,
      scratch: () => (this.scratch ??= new Uint8Array(RUN_BYTES)),
    };
    this.writer = new WriteBack(parts, options.writeChecksums ?? true);
    this.writer.wal = options.wal;
    this.reader = new ReadIn(parts, options.verifyChecksums ?? true, options.onWarning);
  }

  /**
   * Says which WAL is flushed before pages are written; `undefined` for none, as during redo, whose WAL is on disk.
   */
  set wal(wal: WalFlusher | undefined) {
    this.writer.wal = wal;
  }

  get wal(): WalFlusher | undefined {
    return this.writer.wal;
  }

  /**
   * Holds block `b` of `f` in memory until {@link unpin}, reading it if need be.
   * @param ring of the scan or load that this is part of: its buffers are used again, and the rest of the pool stays.
   * @throws StorageError XX001 when the page is invalid; 53000 when every buffer is pinned; what the fork's read throws.
   */
  pin(f: BufferedFork, b: BlockNumber, ring?: BufferRing): BufferId {
    const id = this.table.find(f.id, b);
    if (id < 0) return this.pinMissing(f, b, ring, false);
    this.pinResident(id, ring);
    return id;
  }

  /**
   * As {@link pin}, but a damaged page reads as zeros: counted in `stats.zeroed`, reported once a fork through
   * `onWarning`, and not written back unless somebody changes it. For maps only, whose clear bits cost time and no
   * rows. PostgreSQL: `RBM_ZERO_ON_ERROR`.
   */
  pinZeroOnError(f: BufferedFork, b: BlockNumber, ring?: BufferRing): BufferId {
    const id = this.table.find(f.id, b);
    if (id < 0) return this.pinMissing(f, b, ring, true);
    this.pinResident(id, ring);
    return id;
  }

  /**
   * As {@link pin}, but the page is not read: its bytes are all zero, whatever they were. For a page that the caller
   * fills anew, and marks dirty. PostgreSQL: `RBM_ZERO_AND_LOCK`.
   * @param b a block that the fork has
   */
  pinZeroed(f: BufferedFork, b: BlockNumber, ring?: BufferRing): BufferId {
    let id = this.table.find(f.id, b);
    if (id >= 0) {
      this.pinResident(id, ring);
    } else {
      this.checkPin(f, b);
      id = this.claim(ring);
      if (id < 0) throw noUnpinnedBuffers(f, b, this.buffers);
      this.install(id, f, b, STATE_VALID + 1);
    }
    const base = this.frames.base(id);
    this.frames.memory(id).u8.fill(0, base, base + this.geometry.size);
    return id;
  }

  /**
   * Gives one pin back; the page's memory must not be touched any more. After {@link close} it does nothing, so that a
   * cursor closed late hides no other error.
   * @throws RangeError when the buffer is not pinned.
   */
  unpin(id: BufferId): void {
    const at = (id << 2) + WORD_PINS;
    const pins = this.words[at];
    if (!(pins > 0)) return this.unpinFailed(id);
    this.words[at] = pins - 1;
    if (this.poison !== undefined && pins === 1) this.poison.conceal(id);
  }

  /** The memory that a pinned page lies in; lent until its unpin. */
  memory(id: BufferId): PageMemory {
    return this.frames.memory(id);
  }

  /** The byte of {@link memory} at which a pinned page starts, below 2^30. */
  base(id: BufferId): number {
    return this.frames.base(id);
  }

  /** The block number of a pinned page. */
  block(id: BufferId): BlockNumber {
    return this.frames.block(id);
  }

  /** The fork of a pinned page. */
  fork(id: BufferId): BufferedFork {
    const f = this.forks.get(this.words[(id << 2) + WORD_FORK]);
    if (f === undefined) throw new RangeError(`buffer ${String(id)} holds no page`);
    return f;
  }

  /**
   * Says that a pinned page was changed and must be written before its buffer is used for another.
   * @throws RangeError when the buffer is not pinned.
   */
  markDirty(id: BufferId): void {
    const at = id << 2;
    if (!(this.words[at + WORD_PINS] > 0)) throw new RangeError(`buffer ${String(id)} is not pinned`);
    this.words[at + WORD_STATE] |= STATE_DIRTY;
  }

  /** Whether a pinned page was changed since it was last written. */
  isDirty(id: BufferId): boolean {
    return (this.words[(id << 2) + WORD_STATE] & STATE_DIRTY) !== 0;
  }

  /** How many pins a buffer has. */
  pinCount(id: BufferId): number {
    return this.words[(id << 2) + WORD_PINS];
  }

  /** Whether a page is in the pool now. */
  isResident(f: BufferedFork, b: BlockNumber): boolean {
    return this.table.find(f.id, b) >= 0;
  }

  /**
   * Pins a page for the time of a call: the pin is given back whatever happens.
   * @returns what `use` returns; the page is lent for the call.
   */
  withPage<T>(f: BufferedFork, b: BlockNumber, use: (m: PageMemory, base: number) => T): T {
    const id = this.pin(f, b);
    try {
      return use(this.frames.memory(id), this.frames.base(id));
    } finally {
      this.unpin(id);
    }
  }

  /**
   * Adds `count` blocks of zeros to the file, and brings the first of them, as many as the ring or a quarter of the
   * pool allows, into the pool, dirty. PostgreSQL: `ExtendBufferedRelBy`.
   * @returns the first new block.
   * @throws StorageError 53100 when the disk is full, 53000 when every buffer is pinned, 54000 when the fork would pass
   * 4294967295 blocks; nothing has changed then.
   */
  extend(f: BufferedFork, count: number, ring?: BufferRing): BlockNumber {
    this.checkOpen();
    if (!Number.isInteger(count) || count < 1) throw new RangeError(`cannot extend by ${String(count)} blocks`);
    const first = f.blockCount();
    if (count > MAX_BLOCK_NUMBER + 1 - first) throw tooManyBlocks(f, first, count);
    const resident = Math.min(count, this.atOnce(ring), this.claimed.length);
    let got = 0;
    try {
      for (; got < resident; got++) {
        if (this.isResident(f, first + got)) throw dataBeyondEnd(f, first + got);
        const id = this.claim(ring);
        if (id < 0) break;
        this.claimed[got] = id;
      }
      if (got === 0) throw noUnpinnedBuffers(f, first, this.buffers);
      f.zeroExtend(first, count);
    } catch (error) {
      this.freeClaimed(got);
      throw error;
    }
    this.stats.extends += count;
    for (let i = 0; i < got; i++) {
      const id = this.claimed[i];
      const base = this.frames.base(id);
      this.frames.memory(id).u8.fill(0, base, base + this.geometry.size);
      this.install(id, f, first + i, STATE_VALID | STATE_DIRTY);
      this.unpin(id);
    }
    return first;
  }

  /**
   * Reads blocks before they are pinned: one read for each run of them that is not in the pool, cut down to what the
   * ring or a quarter of the pool, the fork's end, and the unpinned buffers allow. It is advice: a block that cannot be
   * read, or is invalid, stays out, and the pin that needs it says why.
   */
  readAhead(f: BufferedFork, first: BlockNumber, count: number, ring?: BufferRing): void {
    this.checkOpen();
    let b = first;
    let left = Math.min(count, this.atOnce(ring));
    // Looking up all pages of a warm run first lets the misses of the table and descriptors overlap: pinning one after
    // the other is twice as quick then (measured at 1 kB blocks). And no file is asked for its size.
    for (; left > 0 && this.table.find(f.id, b) >= 0; left--) b++;
    if (left === 0) return;
    left = Math.min(left, f.blockCount() - b);
    while (left > 0) {
      if (this.isResident(f, b)) {
        b++;
        left--;
        continue;
      }
      const got = this.readRun(f, b, Math.min(left, this.runBlocks), ring);
      if (got === 0) return;
      b += got;
      left -= got;
    }
  }

  /** The ring of a large scan: 256 kB, or an eighth of the pool if that is less. PostgreSQL: `BAS_BULKREAD`. */
  bulkReadRing(): BufferRing {
    return this.ring(BULK_READ_RING_BYTES, true);
  }

  /** The ring of a bulk load: 16 MB, or an eighth of the pool if that is less. PostgreSQL: `BAS_BULKWRITE`. */
  bulkWriteRing(): BufferRing {
    return this.ring(BULK_WRITE_RING_BYTES, false);
  }

  /** Writes the dirty pages of a fork in block order; they stay in the pool. Making them durable is the fork's `sync`. */
  flushFork(f: BufferedFork): number {
    this.checkOpen();
    return runSync(this.writer.flush(f.id));
  }

  /** Writes all dirty pages, sorted by fork and block. @returns the blocks written */
  flushAll(): number {
    return runSync(this.flushSteps());
  }

  /** As {@link flushAll}, in steps. What becomes dirty meanwhile may be left. PostgreSQL: `CheckPointBuffers`. */
  flushSteps(): Steps<number> {
    this.checkOpen();
    return this.writer.flush(-1);
  }

  /**
   * Forgets a fork's pages from `fromBlock` on, changes and all: before its file is truncated, removed, or closed.
   * PostgreSQL: `DropRelationBuffers`.
   * @throws StorageError 55006 when one of them is pinned; none has been forgotten then.
   */
  dropFork(f: BufferedFork, fromBlock: BlockNumber = 0): void {
    if (this.closed || !this.forks.has(f.id)) return;
    const pins = this.livePins(f.id, fromBlock);
    if (pins.length > 0) throw stillPinned(`cannot drop the buffers of ${f.name}`, pins);
    const { words, frames } = this;
    // Backwards, so that the free list hands neighbours out in order.
    for (let id = frames.used - 1; id >= 0; id--) {
      const at = id << 2;
      if ((words[at + WORD_STATE] & STATE_VALID) === 0 || words[at + WORD_FORK] !== f.id) continue;
      if (words[at + WORD_BLOCK] >>> 0 < fromBlock) continue;
      this.poison?.forget(id, f.name);
      this.table.remove(id);
      frames.free(id);
    }
    if (fromBlock !== 0) return;
    this.forks.delete(f.id);
    this.latest = undefined;
  }

  /** The pages that are pinned now. */
  pinned(): readonly LivePin[] {
    return this.livePins(-1, 0);
  }

  /**
   * Writes all dirty pages and lets go of the memory. A second call does nothing.
   * @throws StorageError 55006 when a page is still pinned, naming each: the pool is closed all the same. What a
   * write throws: the pool is still open then.
   */
  close(): void {
    if (this.closed) return;
    const pins = this.pinned();
    this.flushAll();
    this.abandon();
    if (pins.length > 0) throw stillPinned('the buffer pool was closed', pins);
  }

  /** Lets go of the memory and writes nothing: after a failed sync, when only recovery may decide. */
  abandon(): void {
    this.closed = true;
    const { words, frames, table } = this;
    // One by one: a table made for many buffers, few of which were used, is mostly memory that was never touched.
    for (let id = 0; id < frames.used; id++) if ((words[(id << 2) + WORD_STATE] & STATE_VALID) !== 0) table.remove(id);
    this.poison?.clear();
    frames.release();
    this.forks.clear();
    this.latest = undefined;
    this.scratch = undefined;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  private pinResident(id: BufferId, ring: BufferRing | undefined): void {
    const { words } = this;
    const at = id << 2;
    const pins = words[at + WORD_PINS];
    words[at + WORD_PINS] = pins + 1;
    this.stats.hits++;
    if (pins !== 0) return;
    const usage = words[at + WORD_STATE] & USAGE_MASK;
    if (usage < (ring === undefined ? MAX_USAGE : 1)) words[at + WORD_STATE]++;
    if (this.poison !== undefined) this.poison.reveal(id, this.fork(id).name);
  }

  private pinMissing(f: BufferedFork, b: BlockNumber, ring: BufferRing | undefined, zeroOnError: boolean): BufferId {
    this.checkPin(f, b);
    const id = this.claim(ring);
    if (id < 0) throw noUnpinnedBuffers(f, b, this.buffers);
    try {
      this.reader.read(f, b, id, zeroOnError);
    } catch (error) {
      this.frames.free(id);
      throw error;
    }
    this.stats.misses++;
    this.install(id, f, b, STATE_VALID + 1);
    return id;
  }

  /** A buffer that holds no page, pinned once so that nobody else takes it; -1 when all are pinned. */
  private claim(ring: BufferRing | undefined): BufferId {
    const { frames, words } = this;
    let id = ring === undefined ? NO_BUFFER : ring.next(frames);
    if (id !== NO_BUFFER && ring?.rejects === true && this.writer.waitsForWal(id)) id = NO_BUFFER;
    if (id === NO_BUFFER) {
      id = frames.takeFree();
      if (id === NO_BUFFER) id = frames.sweep();
      if (id === NO_BUFFER) return NO_BUFFER;
      ring?.replace(id);
    }
    const at = id << 2;
    if ((words[at + WORD_STATE] & STATE_VALID) !== 0) {
      if ((words[at + WORD_STATE] & STATE_DIRTY) !== 0) this.writer.writeVictim(id);
      if (this.poison !== undefined) this.poison.forget(id, this.fork(id).name);
      this.table.remove(id);
      this.stats.evictions++;
    }
    words[at + WORD_STATE] = 0;
    words[at + WORD_PINS] = 1;
    return id;
  }

  private install(id: BufferId, f: BufferedFork, b: BlockNumber, state: number): void {
    const at = id << 2;
    this.words[at + WORD_FORK] = f.id;
    this.words[at + WORD_BLOCK] = b;
    this.words[at + WORD_STATE] = state;
    this.table.insert(id);
    if (this.latest === f) return;
    this.forks.set(f.id, f);
    this.latest = f;
  }

  /** Reads blocks from `first` on until one is in the pool. @returns how many, 0 when no buffer is to be had */
  private readRun(f: BufferedFork, first: BlockNumber, most: number, ring: BufferRing | undefined): number {
    const { claimed, frames, reader } = this;
    let got = 0;
    let worked = false;
    try {
      while (got < most && !this.isResident(f, first + got)) {
        const id = this.claim(ring);
        if (id < 0) break;
        claimed[got++] = id;
      }
      worked = got > 0 && reader.readRun(f, first, claimed, got);
    } finally {
      if (!worked) this.freeClaimed(got);
    }
    if (!worked) return got;
    for (let i = 0; i < got; i++) {
      const id = claimed[i];
      if (reader.fault(first + i, id) === PageFault.none) {
        this.install(id, f, first + i, STATE_VALID);
        this.unpin(id);
      } else {
        frames.free(id);
      }
    }
    return got;
  }

  /** Backwards, so that the free list hands them out side by side again. */
  private freeClaimed(count: number): void {
    for (let i = count - 1; i >= 0; i--) this.frames.free(this.claimed[i]);
  }

  /** How many blocks may come into the pool at once without pushing each other out. */
  private atOnce(ring: BufferRing | undefined): number {
    return ring === undefined ? this.buffers >>> 2 : ring.size;
  }

  private ring(bytes: number, rejects: boolean): BufferRing {
    return new BufferRing(Math.min(bytes >>> this.geometry.shift, this.buffers >>> 3), rejects);
  }

  private livePins(forkId: number, fromBlock: BlockNumber): LivePin[] {
    const { words, frames } = this;
    const pins: LivePin[] = [];
    for (let id = 0; id < frames.used; id++) {
      const at = id << 2;
      if (words[at + WORD_PINS] === 0 || (words[at + WORD_STATE] & STATE_VALID) === 0) continue;
      if (forkId >= 0 && (words[at + WORD_FORK] !== forkId || frames.block(id) < fromBlock)) continue;
      pins.push({ fork: this.fork(id).name, block: frames.block(id), pins: words[at + WORD_PINS] });
    }
    return pins;
  }

  private unpinFailed(id: BufferId): void {
    if (!this.closed) throw new RangeError(`buffer ${String(id)} is not pinned`);
  }

  private checkPin(f: BufferedFork, b: BlockNumber): void {
    this.checkOpen();
    if (Number.isInteger(b) && b >= 0 && b <= MAX_BLOCK_NUMBER) return;
    throw new RangeError(`${String(b)} is not a block number of ${f.name}`);
  }

  private checkOpen(): void {
    if (this.closed) throw new TypeError('the buffer pool is closed');
  }
}
