// The visibility map of one heap: get, set, clear, count, truncate. It reads and writes map pages only; that a bit may
// be set at all (the heap page's PD_ALL_VISIBLE is set first, and cleared together with the bit) is the caller's duty.
import { type BlockNumber, type BufferId, INVALID_BLOCK_NUMBER, isStorageError } from '@blockwright/base';
import type { BufferedFork, BufferPool } from '@blockwright/bufmgr';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { pageInit, pageIsNew } from '@blockwright/page';
import { VisibilityCursor } from './cursor.ts';
import {
  countFrozen,
  countVisible,
  VISIBILITYMAP_ALL_FROZEN,
  VISIBILITYMAP_ALL_VISIBLE,
  VISIBILITYMAP_VALID_BITS,
} from './format.ts';

/** A fork that can hold a map. `Fork` of `@blockwright/smgr` is one. */
export interface VisibilityFork extends BufferedFork {
  exists(): boolean;
  create(): void;
  truncate(blocks: BlockNumber): void;
}

/** What was met while reading a map. */
export interface VisibilityMapStats {
  /** Looks beyond the map's end, which give 0: ordinary for a heap that was never vacuumed or bulk loaded. */
  missingPages: number;
}

/** How many heap blocks have which bit. */
export interface VisibilityCount {
  readonly allVisible: number;
  readonly allFrozen: number;
}

/** The map of one heap. PostgreSQL: visibilitymap.c. */
export class VisibilityMap {
  readonly pool: BufferPool;
  readonly fork: VisibilityFork;
  readonly geometry: BlockGeometry;
  readonly stats: VisibilityMapStats = { missingPages: 0 };
  /**
   * Goes up when the map's end moves, so that cursors look again.
   * @internal
   */
  moves = 0;

  constructor(options: { readonly pool: BufferPool; readonly fork: VisibilityFork }) {
    this.pool = options.pool;
    this.fork = options.fork;
    this.geometry = options.pool.geometry;
  }

  /** The bits of heap block `b`; 0 beyond the map's end, and where its page is damaged. */
  status(b: BlockNumber): number {
    const id = this.pinForReading(this.geometry.vmBlockOf(b));
    if (id < 0) return 0;
    const bits = this.pool.memory(id).u8[this.byteOf(id, b)] >>> this.geometry.vmShiftOf(b);
    this.pool.unpin(id);
    return bits & VISIBILITYMAP_VALID_BITS;
  }

  /**
   * Sets bits of heap block `b`, making map pages as needed. The caller has set PD_ALL_VISIBLE on the heap page and
   * marked it dirty, and knows that every tuple there is visible to all (and frozen). PostgreSQL: `visibilitymap_set`.
   * @param bits `VISIBILITYMAP_ALL_VISIBLE`, with or without `VISIBILITYMAP_ALL_FROZEN`
   * @throws RangeError for any other bits.
   */
  set(b: BlockNumber, bits: number): void {
    if (bits !== VISIBILITYMAP_ALL_VISIBLE && bits !== VISIBILITYMAP_VALID_BITS) {
      throw new RangeError(`cannot set visibility bits ${String(bits)}: all-visible (1), or all-frozen with it (3)`);
    }
    const id = this.pinForChange(this.geometry.vmBlockOf(b));
    try {
      const { u8 } = this.pool.memory(id);
      const at = this.byteOf(id, b);
      const byte = u8[at] | (bits << this.geometry.vmShiftOf(b));
      if (byte === u8[at]) return;
      u8[at] = byte;
      this.pool.markDirty(id);
    } finally {
      this.pool.unpin(id);
    }
  }

  /**
   * Clears bits of heap block `b`. Where the map has no page nothing happens. PostgreSQL: `visibilitymap_clear`.
   * @param bits `VISIBILITYMAP_ALL_FROZEN` alone, or both
   * @returns whether one of them was set.
   * @throws RangeError for any other bits: all-frozen never stays without all-visible.
   */
  clear(b: BlockNumber, bits: number): boolean {
    if (bits !== VISIBILITYMAP_ALL_FROZEN && bits !== VISIBILITYMAP_VALID_BITS) {
      throw new RangeError(`cannot clear visibility bits ${String(bits)}: all-frozen (2), or both (3)`);
    }
    const id = this.pinForReading(this.geometry.vmBlockOf(b));
    if (id < 0) return false;
    try {
      const { u8 } = this.pool.memory(id);
      const at = this.byteOf(id, b);
      const byte = u8[at] & ~(bits << this.geometry.vmShiftOf(b));
      if (byte === u8[at]) return false;
      u8[at] = byte;
      this.pool.markDirty(id);
      return true;
    } finally {
      this.pool.unpin(id);
    }
  }

  /** How many bits of each kind are set. PostgreSQL: `visibilitymap_count`. */
  count(): VisibilityCount {
    const blocks = this.blockCount();
    const { pool, geometry } = this;
    let allVisible = 0;
    let allFrozen = 0;
    for (let mapBlock = 0; mapBlock < blocks; mapBlock++) {
      const id = pool.pinZeroOnError(this.fork, mapBlock);
      const m = pool.memory(id);
      const from = (pool.base(id) + SIZE_OF_PAGE_HEADER) >>> 2;
      const to = (pool.base(id) + geometry.size) >>> 2;
      allVisible += countVisible(m, from, to);
      allFrozen += countFrozen(m, from, to);
      pool.unpin(id);
    }
    return { allVisible, allFrozen };
  }

  /**
   * Cuts the map to what a heap of `heapBlocks` blocks needs, and clears what the last page says of blocks beyond, so
   * that a heap that grows again finds no stale bit. A map that is shorter already stays. PostgreSQL:
   * `visibilitymap_prepare_truncate`.
   * @throws StorageError 55006 when a cursor stands on a page that goes.
   */
  truncate(heapBlocks: BlockNumber): void {
    const blocks = this.blockCount();
    const { geometry, pool, fork } = this;
    let keep = geometry.vmBlockOf(heapBlocks);
    if (keep >= blocks) return;
    if (heapBlocks !== geometry.firstHeapBlockOf(keep)) {
      this.clearTail(keep, heapBlocks);
      keep++;
    }
    if (keep >= blocks) return;
    pool.dropFork(fork, keep);
    this.moves++;
    fork.truncate(keep);
  }

  /** A cursor for many look-ups in a row; to be closed. */
  cursor(): VisibilityCursor {
    return new VisibilityCursor(this);
  }

  /** Blocks of the map's fork, 0 when there is none. */
  blockCount(): BlockNumber {
    return this.fork.exists() ? this.fork.blockCount() : 0;
  }

  /**
   * Map pages that can be read: those of the fork, or, when a hole in its files hides how many it has, all; the pool
   * reads each page that is not there as zeros.
   * @internal
   */
  readableBlocks(): BlockNumber {
    try {
      return this.blockCount();
    } catch (error) {
      if (isStorageError(error) && (error.code === 'XX001' || error.code === '58P01')) return INVALID_BLOCK_NUMBER;
      throw error;
    }
  }

  private pinForReading(mapBlock: BlockNumber): BufferId {
    const { pool, fork } = this;
    // A page in the pool is one of the fork's: then the file need not be asked for its size.
    if (pool.isResident(fork, mapBlock) || mapBlock < this.readableBlocks()) return pool.pinZeroOnError(fork, mapBlock);
    this.stats.missingPages++;
    return -1;
  }

  /** Pins a page of the map that has a header, adding pages if need be. PostgreSQL: `vm_readbuf`. */
  private pinForChange(mapBlock: BlockNumber): BufferId {
    const { pool, fork } = this;
    if (!pool.isResident(fork, mapBlock)) this.lengthen(mapBlock + 1);
    const id = pool.pinZeroOnError(fork, mapBlock);
    const m = pool.memory(id);
    const base = pool.base(id);
    if (!pageIsNew(m, base)) return id;
    try {
      // The zeros may stand for a page that its files do not have: that is for reading only.
      this.lengthen(mapBlock + 1);
    } catch (error) {
      pool.unpin(id);
      throw error;
    }
    pageInit(m, base, this.geometry);
    pool.markDirty(id);
    return id;
  }

  /** Makes sure that the map has so many pages. PostgreSQL: `vm_extend`. */
  private lengthen(blocks: number): void {
    const { pool, fork } = this;
    if (!fork.exists()) fork.create();
    const before = fork.blockCount();
    if (before >= blocks) return;
    // Pages skipped over stay new, all zero, until something is set on them.
    pool.extend(fork, blocks - before);
    this.moves++;
  }

  private clearTail(mapBlock: BlockNumber, heapBlocks: BlockNumber): void {
    const { pool, geometry } = this;
    const id = pool.pinZeroOnError(this.fork, mapBlock);
    const { u8 } = pool.memory(id);
    const at = this.byteOf(id, heapBlocks);
    u8[at] &= (1 << geometry.vmShiftOf(heapBlocks)) - 1;
    u8.fill(0, at + 1, pool.base(id) + geometry.size);
    pool.markDirty(id);
    pool.unpin(id);
  }

  private byteOf(id: BufferId, b: BlockNumber): number {
    return this.pool.base(id) + SIZE_OF_PAGE_HEADER + this.geometry.vmByteOf(b);
  }
}
