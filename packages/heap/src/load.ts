// Bulk load: rows appended, page after page, to a table that nobody else can see yet. Pages are filled as PostgreSQL's
// COPY FREEZE fills them, and the visibility map and page flags are set as it goes.
import type { Relation } from '@blockwright/access';
import { type BlockNumber, type BufferId, StorageError } from '@blockwright/base';
import type { BufferRing } from '@blockwright/bufmgr';
import {
  PAI_IS_HEAP,
  type PageMemory,
  pageAddItem,
  pageHeapFreeSpace,
  pageInit,
  pageSetAllVisible,
} from '@blockwright/page';
import type { TupleEncoder, Vector } from '@blockwright/tuple';
import { VISIBILITYMAP_ALL_FROZEN, VISIBILITYMAP_ALL_VISIBLE, type VisibilityMap } from '@blockwright/visibilitymap';
import { grownBySomebodyElse, rowTooBig } from './errors.ts';
import { spareBytes } from './fill.ts';
import { stampTid } from './stamp.ts';

const ALL_VISIBLE_AND_FROZEN = VISIBILITYMAP_ALL_VISIBLE | VISIBILITYMAP_ALL_FROZEN;
/** Bytes by which the relation grows at a time. */
const EXTEND_BYTES = 0x2_0000;

export interface BulkLoadOptions {
  /** Set the visibility map and the pages' flags: only for rows that are frozen. True by default. */
  readonly allVisible?: boolean;
}

/** Appends rows to an empty heap. PostgreSQL: `heap_multi_insert` with `HEAP_INSERT_FROZEN`, heapam.c. */
export class BulkLoader {
  /** Rows appended so far. */
  rows = 0;
  private readonly relation: Relation;
  private readonly encoder: TupleEncoder;
  private readonly map: VisibilityMap | undefined;
  private readonly ring: BufferRing;
  private readonly scratch: Uint8Array;
  /** Bytes of each page that the fillfactor keeps free. */
  private readonly spare: number;
  private block: BlockNumber = -1;
  private reservedUntil: BlockNumber = 0;
  private id: BufferId = -1;
  private memory!: PageMemory;
  private base = 0;

  /** @throws StorageError 55000 when the heap is not empty. */
  constructor(relation: Relation, encoder: TupleEncoder, map: VisibilityMap, options: BulkLoadOptions = {}) {
    if (relation.blockCount() !== 0) {
      throw new StorageError(
        '55000',
        `relation "${relation.name}" is not empty: rows can be bulk-loaded only into a new table`,
      );
    }
    this.relation = relation;
    this.encoder = encoder;
    this.map = options.allVisible === false ? undefined : map;
    this.ring = relation.pool.bulkWriteRing();
    this.scratch = new Uint8Array(relation.geometry.size);
    this.spare = spareBytes(relation.geometry, relation.fillfactor);
  }

  /**
   * Appends `count` rows of column vectors.
   * @throws StorageError 54000 when a row fits no page; the rows before it are appended.
   */
  append(vectors: readonly Vector[], count: number): void {
    for (let row = 0; row < count; row++) this.place(this.encoder.encodeVectors(vectors, row, this.scratch, 0));
  }

  /** Appends one row of values in the descriptor's order. */
  appendRow(values: readonly unknown[]): void {
    this.place(this.encoder.encode(values, this.scratch, 0));
  }

  private place(length: number): void {
    const { geometry, name } = this.relation;
    if (length > geometry.maxHeapTupleSize) throw rowTooBig(name, length, geometry.maxHeapTupleSize);
    const needed = ((length + 7) & ~7) + this.spare;
    if (this.id < 0 || pageHeapFreeSpace(this.memory, this.base, geometry) < needed) this.turnPage();
    const offset = pageAddItem(this.memory, this.base, geometry, this.scratch, 0, length, 0, PAI_IS_HEAP);
    if (offset === 0)
      throw new StorageError(
        'XX000',
        `relation "${name}", block ${this.block}: an empty page has no room for ${length} bytes`,
      );
    stampTid(this.memory, this.base, this.block, offset);
    this.rows++;
  }

  private turnPage(): void {
    this.finishPage();
    const { pool, main, geometry } = this.relation;
    const block = this.block + 1;
    if (block >= this.reservedUntil) {
      const count = EXTEND_BYTES >>> geometry.shift;
      const first = pool.extend(main, count, this.ring);
      if (first !== block) throw grownBySomebodyElse(this.relation.name, block, first);
      this.reservedUntil = block + count;
    }
    this.id = pool.pin(main, block, this.ring);
    this.block = block;
    this.memory = pool.memory(this.id);
    this.base = pool.base(this.id);
    pageInit(this.memory, this.base, geometry);
  }

  private finishPage(): void {
    if (this.id < 0) return;
    const { pool } = this.relation;
    if (this.map !== undefined) pageSetAllVisible(this.memory, this.base);
    pool.markDirty(this.id);
    pool.unpin(this.id);
    this.id = -1;
    this.map?.set(this.block, ALL_VISIBLE_AND_FROZEN);
  }

  /**
   * Finishes the last page and gives back the blocks reserved beyond it. Must be called, unless the load failed: then
   * {@link abandon}.
   */
  finish(): void {
    this.finishPage();
    const { pool, main } = this.relation;
    const blocks = this.block + 1;
    if (this.reservedUntil > blocks) {
      pool.dropFork(main, blocks);
      main.truncate(blocks);
    }
    this.reservedUntil = blocks;
  }
  /**
   * Lets go of the page that it holds, and changes nothing else: for a load that failed, whose table the caller empties.
   * It throws nothing, so that the first error is the one that is seen. The loader is of no more use; again is fine.
   */
  abandon(): void {
    if (this.id >= 0) this.relation.pool.unpin(this.id);
    this.id = -1;
    this.reservedUntil = 0;
  }
}
