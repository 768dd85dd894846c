// What a scan lends: visible rows, column by column.
import type { BlockNumber } from '@blockwright/base';
import type { Vector } from '@blockwright/tuple';

/** Visible rows, column by column. Lent: valid until the scan's next batch or its close. */
export class HeapBatch {
  /** Number of rows. */
  length = 0;
  /** Line pointer of each row. */
  readonly offsets: Uint16Array;
  /** One vector a column asked for, in the order asked. */
  readonly vectors: readonly Vector[];
  /** The pages that the rows come from: block, and the row behind its last one. */
  private readonly pageBlocks: Uint32Array;
  private readonly pageEnds: Int32Array;
  private pages = 0;
  private filledPages = 0;
  private readonly rowBlocks: Uint32Array;

  constructor(capacity: number, vectors: readonly Vector[]) {
    this.offsets = new Uint16Array(capacity);
    this.vectors = vectors;
    this.pageBlocks = new Uint32Array(capacity);
    this.pageEnds = new Int32Array(capacity);
    this.rowBlocks = new Uint32Array(capacity);
  }

  /** Block of each row. Written out when it is first asked for: few who scan want it. */
  get blocks(): Uint32Array {
    for (; this.filledPages < this.pages; this.filledPages++) {
      const from = this.filledPages === 0 ? 0 : this.pageEnds[this.filledPages - 1];
      this.rowBlocks.fill(this.pageBlocks[this.filledPages], from, this.pageEnds[this.filledPages]);
    }
    return this.rowBlocks;
  }

  /** @internal Takes all rows out. */
  clear(): void {
    this.length = 0;
    this.pages = 0;
    this.filledPages = 0;
  }

  /** @internal Adds the rows of a page, at least one, whose offsets and columns are in already. */
  addPage(block: BlockNumber, rows: number): void {
    this.length += rows;
    this.pageBlocks[this.pages] = block;
    this.pageEnds[this.pages] = this.length;
    this.pages++;
  }
}
