// Where a new tuple goes: to the page that took the last one, else where the free space map says, else to the end.
// PostgreSQL: `RelationGetBufferForTuple`, hio.c.
import type { Relation } from '@blockwright/access';
import { type BlockNumber, type BufferId, INVALID_BLOCK_NUMBER, StorageError } from '@blockwright/base';
import { FreeSpaceMap, NO_BLOCK } from '@blockwright/freespacemap';
import { type PageMemory, pageHeapFreeSpace, pageInit, pageIsNew } from '@blockwright/page';
import { spareBytes } from './fill.ts';

/** Finds pages for the tuples of one relation. */
export class Placement {
  /** The page that was found: pinned, with a header, with room for the tuple. */
  buffer: BufferId = -1;
  block: BlockNumber = INVALID_BLOCK_NUMBER;
  memory!: PageMemory;
  base = 0;
  private readonly relation: Relation;
  private readonly freeSpace: FreeSpaceMap;
  /** Bytes that the fillfactor keeps free. */
  readonly spare: number;
  /** A page with less free than this is not "nearly empty": there the fillfactor counts. */
  private readonly nearlyEmpty: number;
  private target: BlockNumber = NO_BLOCK;

  /** @param fillfactor of each page so many per cent are filled */
  constructor(relation: Relation, fillfactor: number) {
    const { geometry } = relation;
    this.relation = relation;
    this.freeSpace = new FreeSpaceMap(relation);
    this.spare = spareBytes(geometry, fillfactor);
    this.nearlyEmpty = geometry.maxHeapTupleSize - ((geometry.maxHeapTuplesPerPage >>> 3) << 2);
  }

  /**
   * Pins a page with room for a tuple of `length` bytes, which is one that a page can hold; the caller unpins
   * {@link buffer}. Nothing has changed but hints: a page that was new has a header, the map knows more.
   * @throws StorageError 53100 when the disk is full, 53000 when every buffer is pinned, and what reading a page throws.
   */
  find(length: number): void {
    const { pool, main } = this.relation;
    const needed = (length + 7) & ~7;
    const wanted = this.wantedFor(needed);
    if (this.target === NO_BLOCK) this.target = this.first(wanted);
    while (this.target !== NO_BLOCK) {
      const room = this.pin(this.target);
      if (room >= wanted) return;
      this.release();
      this.target = this.freeSpace.recordAndFind(this.target, room, wanted);
    }
    this.target = pool.extend(main, 1);
    if (this.pin(this.target) >= needed) return;
    this.release();
    throw new StorageError(
      'XX000',
      `relation "${this.relation.name}", block ${this.target}: a new page has no room for ${length} bytes`,
    );
  }

  /** Unpins the page. */
  release(): void {
    this.relation.pool.unpin(this.buffer);
    this.buffer = -1;
  }

  /** Bytes that the page must have free: room for the tuple, and what the fillfactor spares. */
  private wantedFor(needed: number): number {
    const wanted = needed + this.spare;
    if (wanted <= this.nearlyEmpty) return wanted;
    return needed > this.nearlyEmpty ? needed : this.nearlyEmpty;
  }

  private first(wanted: number): BlockNumber {
    const found = this.freeSpace.find(wanted);
    return found === NO_BLOCK ? this.relation.blockCount() - 1 : found; // -1, NO_BLOCK, for an empty heap
  }

  /** @returns the page's room. */
  private pin(block: BlockNumber): number {
    const { pool, main, geometry } = this.relation;
    const id = pool.pin(main, block);
    const m = pool.memory(id);
    const base = pool.base(id);
    if (pageIsNew(m, base)) {
      pageInit(m, base, geometry);
      pool.markDirty(id);
    }
    this.buffer = id;
    this.block = block;
    this.memory = m;
    this.base = base;
    return pageHeapFreeSpace(m, base, geometry);
  }
}
