// Insertion of single rows outside transactions: their headers say what the encoder was told, frozen as a rule. For
// bootstrap, and for tables that nobody else can see yet.
import type { Relation } from '@blockwright/access';
import { type BlockNumber, FROZEN_XID, type OffsetNumber } from '@blockwright/base';
import type { TupleEncoder } from '@blockwright/tuple';
import type { VisibilityMap } from '@blockwright/visibilitymap';
import { DEFAULT_FILLFACTOR } from './fill.ts';
import { insertRow } from './insert-row.ts';
import { WriterParts } from './writer-parts.ts';

/** Inserts rows into a heap, one at a time. PostgreSQL: `heap_insert`, heapam.c; `RelationGetBufferForTuple`, hio.c. */
export class HeapInserter {
  private readonly parts: WriterParts;

  /** `map`: the relation's visibility map, whose bits an insertion into a marked page clears. */
  constructor(relation: Relation, encoder: TupleEncoder, map?: VisibilityMap) {
    this.parts = new WriterParts(relation, encoder, map, DEFAULT_FILLFACTOR);
  }

  /** Where the last row went. */
  get block(): BlockNumber {
    return this.parts.block;
  }

  get offset(): OffsetNumber {
    return this.parts.offset;
  }

  /**
   * Inserts a row of values in the descriptor's order.
   * @throws StorageError 54000 when it fits no page, 23502 for a null in a NOT NULL column; what the pool, the WAL or a
   * map throws: no page holds the row then.
   */
  insert(values: readonly unknown[]): void {
    const length = this.parts.encode(values);
    // Replay gives the row the record's xid; frozen rows are nobody's.
    insertRow(this.parts, length, FROZEN_XID);
  }
}
