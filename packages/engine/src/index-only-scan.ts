// A scan whose rows come from the index alone, since it holds every column asked for.
import { poisonBatch } from '@blockwright/heap';
import type { BtreeScan } from '@blockwright/nbtree';
import { BatchDecoder, type ColumnType, type Vector } from '@blockwright/tuple';
import { IndexBatch } from './index-batch.ts';
import { type IndexSourceOptions, located } from './index-scan.ts';
import type { QueryIndex } from './query-index.ts';
import type { RowSource, ScanStats } from './scan.ts';
import { VisibleEntries } from './visible-entries.ts';

/** Rows after which a batch is lent; it holds up to one index page's more. */
const BATCH_ROWS = 1024;

/** Decodes the visible entries of an index scan, a leaf page at a time. */
export class IndexOnlySource implements RowSource {
  readonly unknown = 0;
  readonly types: readonly ColumnType<unknown>[];
  private readonly index: QueryIndex;
  private readonly visible: VisibleEntries;
  private readonly decoder: BatchDecoder;
  private readonly batch: IndexBatch;
  private readonly positions: Int32Array;
  private readonly lengths: Int32Array;
  private closed = false;

  /** @param columns of the index */
  constructor(index: QueryIndex, scan: BtreeScan, columns: readonly number[], options: IndexSourceOptions) {
    const { descriptor } = index.btree.format;
    const mostEntries = scan.blocks.length;
    const capacity = BATCH_ROWS + mostEntries;
    this.index = index;
    this.visible = new VisibleEntries(index, scan, options.snapshot);
    this.decoder = BatchDecoder.for(descriptor, columns, { charCodes: options.charCodes, layout: 'index' });
    this.types = columns.map((column) => descriptor.columns[column].type);
    this.batch = new IndexBatch(capacity, this.decoder.createVectors(capacity));
    this.positions = new Int32Array(mostEntries);
    this.lengths = new Int32Array(mostEntries);
  }

  get vectors(): readonly Vector[] {
    return this.batch.vectors;
  }

  get stats(): ScanStats {
    return this.visible.stats;
  }

  next(): IndexBatch | undefined {
    if (this.closed) return undefined;
    const { batch, visible, index } = this;
    if (index.heap.pool.debugPoison) poisonBatch(batch);
    batch.length = 0;
    try {
      while (batch.length < BATCH_ROWS) {
        const count = visible.nextPage();
        if (count < 0) break;
        if (count > 0) this.take(count);
      }
    } finally {
      visible.pause();
    }
    if (batch.length > 0) return batch;
    this.closed = true;
    return undefined;
  }

  close(): void {
    if (this.index.heap.pool.debugPoison) poisonBatch(this.batch);
    this.closed = true;
    this.visible.close();
  }

  /** Adds the visible entries of the page to the batch. */
  private take(count: number): void {
    const { batch, decoder, visible } = this;
    const { scan, isWhole } = visible;
    const at = batch.length;
    if (isWhole) {
      batch.blocks.set(scan.blocks.subarray(0, count), at);
      batch.offsets.set(scan.offsets.subarray(0, count), at);
    } else this.gather(count, at);
    const positions = isWhole ? scan.positions : this.positions;
    const lengths = isWhole ? scan.lengths : this.lengths;
    try {
      decoder.decode(scan.memory, positions, lengths, count, batch.vectors, at);
    } catch (error) {
      throw located(error, this.index, batch, at);
    }
    batch.length = at + count;
  }

  /** Puts the entries that were chosen where a page has all of its own. */
  private gather(count: number, at: number): void {
    const { batch, visible, positions, lengths } = this;
    const { scan, chosen } = visible;
    for (let i = 0; i < count; i++) {
      const item = chosen[i];
      positions[i] = scan.positions[item];
      lengths[i] = scan.lengths[item];
      batch.blocks[at + i] = scan.blocks[item];
      batch.offsets[at + i] = scan.offsets[item];
    }
  }
}
