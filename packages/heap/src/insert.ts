// Insertion of single rows: into the page that took the last one, else where the free space map says, else at the end.
import type { Relation } from '@blockwright/access';
import { type BlockNumber, INVALID_BLOCK_NUMBER, type OffsetNumber, StorageError } from '@blockwright/base';
import { FreeSpaceMap, NO_BLOCK } from '@blockwright/freespacemap';
import {
  PAI_IS_HEAP,
  pageAddItem,
  pageClearAllVisible,
  pageHeapFreeSpace,
  pageInit,
  pageIsAllVisible,
  pageIsNew,
} from '@blockwright/page';
import type { TupleEncoder } from '@blockwright/tuple';
import { VISIBILITYMAP_ALL_FROZEN, VISIBILITYMAP_ALL_VISIBLE, type VisibilityMap } from '@blockwright/visibilitymap';
import { rowTooBig } from './errors.ts';
import { stampTid } from './stamp.ts';

/** Inserts rows into a heap, one at a time. PostgreSQL: `heap_insert`, heapam.c; `RelationGetBufferForTuple`, hio.c. */
export class HeapInserter {
  /** Where the last row went. */
  block: BlockNumber = INVALID_BLOCK_NUMBER;
  offset: OffsetNumber = 0;
  private readonly relation: Relation;
  private readonly encoder: TupleEncoder;
  private readonly map: VisibilityMap | undefined;
  private readonly freeSpace: FreeSpaceMap;
  private readonly scratch: Uint8Array;
  private readonly target = { block: NO_BLOCK, room: 0 };

  /** `map`: the relation's visibility map, whose bits an insertion into a marked page clears. */
  constructor(relation: Relation, encoder: TupleEncoder, map?: VisibilityMap) {
    this.relation = relation;
    this.encoder = encoder;
    this.map = map;
    this.freeSpace = new FreeSpaceMap(relation);
    this.scratch = new Uint8Array(relation.geometry.size);
  }

  /**
   * Inserts a row of values in the descriptor's order.
   * @throws StorageError 54000 when it fits no page, 23502 for a null in a NOT NULL column; what the pool or a map throws:
   * no page holds the row then.
   */
  insert(values: readonly unknown[]): void {
    const { geometry, name, pool, main } = this.relation;
    const length = this.encoder.encode(values, this.scratch, 0);
    if (length > geometry.maxHeapTupleSize) throw rowTooBig(name, length, geometry.maxHeapTupleSize);
    const needed = (length + 7) & ~7;
    const { target } = this;
    if (target.block === NO_BLOCK) target.block = this.firstTarget(needed);
    while (target.block !== NO_BLOCK) {
      if (this.tryPage(target.block, length, needed)) return;
      target.block = this.freeSpace.recordAndFind(target.block, target.room, needed);
    }
    target.block = pool.extend(main, 1);
    if (!this.tryPage(target.block, length, needed)) {
      throw new StorageError(
        'XX000',
        `relation "${name}", block ${target.block}: a new page has no room for ${length} bytes`,
      );
    }
  }

  private firstTarget(needed: number): BlockNumber {
    const found = this.freeSpace.find(needed);
    return found === NO_BLOCK ? this.relation.blockCount() - 1 : found; // -1, NO_BLOCK, for an empty heap
  }

  private tryPage(block: BlockNumber, length: number, needed: number): boolean {
    const { pool, main, geometry } = this.relation;
    const id = pool.pin(main, block);
    try {
      const m = pool.memory(id);
      const base = pool.base(id);
      if (pageIsNew(m, base)) pageInit(m, base, geometry);
      this.target.room = pageHeapFreeSpace(m, base, geometry);
      if (this.target.room < needed) return false;
      // The map first: it may fail, and then the page is as it was. A map that says less than its page is no lie.
      if (pageIsAllVisible(m, base)) this.map?.clear(block, VISIBILITYMAP_ALL_VISIBLE | VISIBILITYMAP_ALL_FROZEN);
      const offset = pageAddItem(m, base, geometry, this.scratch, 0, length, 0, PAI_IS_HEAP);
      if (offset === 0) return false;
      pool.markDirty(id);
      stampTid(m, base, block, offset);
      pageClearAllVisible(m, base);
      this.block = block;
      this.offset = offset;
      return true;
    } finally {
      pool.unpin(id);
    }
  }
}
