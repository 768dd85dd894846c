// A scan in an index's order whose rows come from the table: an index that does not hold every column asked for.
import { isStorageError, StorageError } from '@blockwright/base';
import { HeapTableAccess, poisonBatch } from '@blockwright/heap';
import type { BtreeScan } from '@blockwright/nbtree';
import type { PageMemory } from '@blockwright/page';
import type { Snapshot } from '@blockwright/transam';
import { BatchDecoder, type ColumnType, type FetchToast, type Vector, type VectorOptions } from '@blockwright/tuple';
import { IndexBatch } from './index-batch.ts';
import type { QueryIndex } from './query-index.ts';
import type { RowSource, ScanStats } from './scan.ts';

/** Rows of the first batch, so that whoever wants a few does not wait for many; each further one has twice as many. */
const FIRST_ROWS = 32;
const MOST_ROWS = 1024;

export interface IndexSourceOptions extends VectorOptions {
  readonly snapshot: Snapshot;
  readonly fetchToast?: FetchToast | undefined;
}

/**
 * Fetches the rows of an index scan. Entries on one block of the table that follow each other are decoded together, while
 * its page is pinned; nothing stays pinned between two batches.
 */
export class IndexHeapSource implements RowSource {
  readonly unknown = 0;
  readonly types: readonly ColumnType<unknown>[];
  private readonly index: QueryIndex;
  private readonly scan: BtreeScan;
  private readonly snapshot: Snapshot;
  private readonly access: HeapTableAccess;
  private readonly decoder: BatchDecoder;
  private readonly batch: IndexBatch;
  private readonly positions = new Int32Array(MOST_ROWS);
  private readonly lengths = new Int32Array(MOST_ROWS);
  /** Of the index page that was read last: how many entries, and the next to be fetched. */
  private count = 0;
  private item = 0;
  private rows = FIRST_ROWS;
  private heapFetches = 0;
  private entries = 0;
  private killed = 0;
  private closed = false;

  constructor(index: QueryIndex, scan: BtreeScan, columns: readonly number[], options: IndexSourceOptions) {
    const { charCodes, fetchToast, snapshot } = options;
    this.index = index;
    this.scan = scan;
    this.snapshot = snapshot;
    this.access = new HeapTableAccess(index.heap, index.transactions);
    this.decoder = BatchDecoder.for(index.descriptor, columns, { charCodes, fetchToast });
    this.types = columns.map((column) => index.descriptor.columns[column].type);
    this.batch = new IndexBatch(MOST_ROWS, this.decoder.createVectors(MOST_ROWS));
  }

  get vectors(): readonly Vector[] {
    return this.batch.vectors;
  }

  get stats(): ScanStats {
    const { scan, entries, heapFetches, killed } = this;
    return { indexPages: scan.pages, entries, heapFetches, killed };
  }

  next(): IndexBatch | undefined {
    if (this.closed) return undefined;
    const { batch, index } = this;
    if (index.heap.pool.debugPoison) poisonBatch(batch);
    batch.length = 0;
    try {
      while (batch.length < this.rows) {
        if (this.item === this.count && !this.readPage()) break;
        this.fetchItems();
      }
    } finally {
      this.access.release();
      this.scan.flushKilled();
    }
    if (this.rows < MOST_ROWS) this.rows *= 2;
    if (batch.length > 0) return batch;
    this.closed = true;
    return undefined;
  }

  close(): void {
    if (this.index.heap.pool.debugPoison) poisonBatch(this.batch);
    this.closed = true;
    this.scan.close();
  }

  private readPage(): boolean {
    this.scan.flushKilled();
    this.count = this.scan.nextPage();
    this.item = 0;
    this.entries += this.count;
    return this.count > 0;
  }

  /** Fetches the entries of the page in turn until it has no more, or the batch is full; decodes them block by block. */
  private fetchItems(): void {
    const { scan, access, batch, snapshot, positions, lengths, count, rows } = this;
    const { blocks, offsets } = scan;
    const mayKill = !this.index.btree.relation.storage.readOnly;
    const at = batch.length;
    let item = this.item;
    let run = 0;
    let runBlock = -1;
    let decoded = at;
    for (; item < count && decoded + run < rows; item++) {
      const block = blocks[item];
      if (block !== runBlock) {
        this.decode(run, decoded);
        decoded += run;
        run = 0;
        runBlock = block;
      }
      this.heapFetches++;
      if (access.fetch(block, offsets[item], snapshot) === 0) {
        if (access.allDead && mayKill) {
          scan.kill(item);
          this.killed++;
        }
        continue;
      }
      positions[run] = access.position;
      lengths[run] = access.length;
      batch.blocks[decoded + run] = block;
      batch.offsets[decoded + run] = offsets[item];
      run++;
    }
    this.decode(run, decoded);
    this.item = item;
    batch.length = decoded + run;
  }

  private decode(count: number, at: number): void {
    if (count === 0) return;
    const { access, batch, positions, lengths } = this;
    try {
      this.decoder.decode(access.memory as PageMemory, positions, lengths, count, batch.vectors, at);
    } catch (error) {
      throw located(error, this.index, batch, at);
    }
  }
}

/** Says which row it was whose bytes cannot be right. */
export function located(error: unknown, { name, table }: QueryIndex, batch: IndexBatch, at: number): unknown {
  const row = isStorageError(error) ? (error as { tupleIndex?: number }).tupleIndex : undefined;
  if (row === undefined || !isStorageError(error)) return error;
  const { code, message, detail, hint } = error;
  const where = `index "${name}", entry of table "${table}", block ${batch.blocks[at + row]}, offset ${batch.offsets[at + row]}`;
  return new StorageError(code, `${where}: ${message}`, { detail, hint, cause: error });
}
