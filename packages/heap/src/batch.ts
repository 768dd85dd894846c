// What a scan lends: visible rows, column by column.
import type { Vector } from '@blockwright/tuple';

/** Visible rows, column by column. Lent: valid until the scan's next batch or its close. */
export class HeapBatch {
  /** Number of rows. */
  length = 0;
  /** Block of each row. */
  readonly blocks: Uint32Array;
  /** Line pointer of each row. */
  readonly offsets: Uint16Array;
  /** One vector a column asked for, in the order asked. */
  readonly vectors: readonly Vector[];

  constructor(capacity: number, vectors: readonly Vector[]) {
    this.blocks = new Uint32Array(capacity);
    this.offsets = new Uint16Array(capacity);
    this.vectors = vectors;
  }
}
