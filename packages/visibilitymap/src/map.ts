// The visibility map of one heap: get, set, clear, count, truncate. It reads and writes map pages only; that a bit may
// be set at all (the heap page's PD_ALL_VISIBLE is set first, and cleared together with the bit) is the caller's duty.
import type { MapTruncation } from '@blockwright/access';
import { type BlockNumber, type BufferId, INVALID_BLOCK_NUMBER, isStorageError } from '@blockwright/base';
import type { BufferedFork, BufferPool } from '@blockwright/bufmgr';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { pageInit, pageIsNew } from '@blockwright/page';
import {
  checkClearBits,
  checkSetBits,
  clearVisibilityBits,
  setVisibilityBits,
  visibilityTruncation,
} from './change.ts';
import { VisibilityCursor } from './cursor.ts';
import { countFrozen, countVisible, VISIBILITYMAP_VALID_BITS } from './format.ts';

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
    checkSetBits(bits);
    const id = this.pinForChange(this.geometry.vmBlockOf(b));
    try {
      if (this.setPinned(id, b, bits)) this.pool.markDirty(id);
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
    checkClearBits(bits);
    const id = this.pinToClear(b, bits);
    if (id < 0) return false;
    try {
      this.clearPinned(id, b, bits);
      this.pool.markDirty(id);
      return true;
    } finally {
      this.pool.unpin(id);
    }
  }

  /**
   * Pins the map page of heap block `b` for {@link clearPinned}, when one of `bits` is set there: so that the caller can
   * register it with the change of the heap page. -1 when the map has no such page, or the bits are clear already: then
   * there is nothing to clear, and nothing to log.
   */
  pinToClear(b: BlockNumber, bits: number = VISIBILITYMAP_VALID_BITS): BufferId {
    const id = this.pinForReading(this.geometry.vmBlockOf(b));
    if (id < 0) return -1;
    const { u8 } = this.pool.memory(id);
    if (((u8[this.byteOf(id, b)] >>> this.geometry.vmShiftOf(b)) & bits) !== 0) return id;
    this.pool.unpin(id);
    return -1;
  }

  /** Pins the map page of heap block `b` for {@link setPinned}, making pages as needed: before the change begins. */
  pinToSet(b: BlockNumber): BufferId {
    return this.pinForChange(this.geometry.vmBlockOf(b));
  }

  /**
   * Clears bits of heap block `b` on its pinned map page, as part of a change that the caller logs: the page is not
   * marked dirty here. @returns whether one of them was set
   */
  clearPinned(id: BufferId, b: BlockNumber, bits: number): boolean {
    return clearVisibilityBits(this.pool.memory(id), this.pool.base(id), this.geometry, b, bits);
  }

  /** Sets bits of heap block `b` on its pinned map page: as {@link clearPinned}. @returns whether one was clear */
  setPinned(id: BufferId, b: BlockNumber, bits: number): boolean {
    return setVisibilityBits(this.pool.memory(id), this.pool.base(id), this.geometry, b, bits);
  }

  /** How the map is cut with its heap, for `truncateRelation`: cursors learn of it. */
  get truncation(): MapTruncation {
    return { ...visibilityTruncation, moved: () => void this.moves++ };
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
    const keep = visibilityTruncation.blocksFor(geometry, heapBlocks);
    if (keep > blocks) return;
    if (visibilityTruncation.hasTail(geometry, heapBlocks)) this.clearTail(keep - 1, heapBlocks);
    if (keep === blocks) return;
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
    visibilityTruncation.clearTail(pool.memory(id), pool.base(id), geometry, heapBlocks);
    pool.markDirty(id);
    pool.unpin(id);
  }

  private byteOf(id: BufferId, b: BlockNumber): number {
    return this.pool.base(id) + SIZE_OF_PAGE_HEADER + this.geometry.vmByteOf(b);
  }
}
