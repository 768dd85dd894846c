// What a scan in an index's order lends: visible rows, column by column.
import type { Vector } from '@blockwright/tuple';
import type { RowBatch } from './scan.ts';

/** Rows, lent until the scan's next batch or its close. */
export class IndexBatch implements RowBatch {
  length = 0;
  /** The TID by which the index knows each row: where its HOT chain begins. */
  readonly blocks: Uint32Array;
  readonly offsets: Uint16Array;
  readonly vectors: readonly Vector[];

  constructor(capacity: number, vectors: readonly Vector[]) {
    this.blocks = new Uint32Array(capacity);
    this.offsets = new Uint16Array(capacity);
    this.vectors = vectors;
  }
}
