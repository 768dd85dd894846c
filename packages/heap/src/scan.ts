// The sequential scan, in batches: the visible tuples of a page at once, then their columns into typed vectors. A batch
// gathers pages until it holds enough rows, so that small pages cost no more a row than large ones.

import type { Relation } from '@blockwright/access';
import { type BlockNumber, type BufferId, isStorageError } from '@blockwright/base';
import type { BufferRing } from '@blockwright/bufmgr';
import { type PageMemory, pagePruneXid } from '@blockwright/page';
import type { Snapshot } from '@blockwright/transam';
import {
  BatchDecoder,
  type FetchToast,
  type TupleDescriptor,
  type Vector,
  type VectorOptions,
} from '@blockwright/tuple';
import { HeapBatch } from './batch.ts';
import { collectVisible, PageTuples } from './collect.ts';
import { inTuple } from './errors.ts';
import { HintSink } from './hints.ts';
import { poisonBatch } from './poison.ts';
import { heapPagePruneOpt } from './prune.ts';
import { collectForSnapshot } from './snapshot-loops.ts';
import { collectIfKnown, type UnknownPolicy } from './unknown-fate.ts';
import { READ_AHEAD_BYTES, ringFor } from './whole-table.ts';

/** Rows after which a batch is lent; it holds up to one page's more. */
const BATCH_ROWS = 1024;

export interface HeapScanOptions extends VectorOptions {
  /** Fetches values stored out of line; without it they are an error. */
  readonly fetchToast?: FetchToast;
  /** Columns to decode, as indexes into the descriptor, in the order wanted. */
  readonly columns: readonly number[];
  /** First block, 0 by default. */
  readonly from?: BlockNumber;
  /** Block after the last one; the relation's end when the scan begins by default. */
  readonly to?: BlockNumber;
  /** Who looks: the rows that it sees are given. It must stay unreleased until the scan is closed. */
  readonly snapshot?: Snapshot;
  /**
   * What to do with tuples of which nothing that is read says whether they are visible; `error` by default. Without a
   * snapshot that is what their own header does not say; with one, what the commit log should know and cannot tell.
   */
  readonly unknown?: UnknownPolicy;
}

/** A sequential scan over a heap's visible rows. PostgreSQL: `heap_getnextslot` in page-at-a-time mode, heapam.c. */
export class HeapScan implements Disposable {
  /** Pages read so far. */
  pages = 0;
  private readonly relation: Relation;
  private readonly decoder: BatchDecoder;
  private readonly batch: HeapBatch;
  private readonly tuples: PageTuples;
  private readonly snapshot: Snapshot | undefined;
  private readonly hints: HintSink;
  private readonly unknownPolicy: UnknownPolicy;
  private readonly ring: BufferRing | undefined;
  private readonly end: BlockNumber;
  private readonly readAheadBlocks: number;
  private readonly fullAt: number;
  private nextBlock: BlockNumber;
  private readUntil: BlockNumber;
  private closed = false;

  constructor(relation: Relation, descriptor: TupleDescriptor, options: HeapScanOptions) {
    const { geometry } = relation;
    this.relation = relation;
    this.decoder = BatchDecoder.for(descriptor, options.columns, {
      charCodes: options.charCodes,
      fetchToast: options.fetchToast,
    });
    const capacity = BATCH_ROWS + geometry.maxHeapTuplesPerPage;
    this.batch = new HeapBatch(capacity, this.decoder.createVectors(capacity));
    this.tuples = new PageTuples(geometry, this.batch.offsets);
    this.snapshot = options.snapshot;
    this.hints = HintSink.for(relation);
    this.unknownPolicy = options.unknown ?? 'error';
    const blocks = relation.blockCount();
    this.nextBlock = options.from ?? 0;
    this.end = Math.min(options.to ?? blocks, blocks);
    this.readUntil = this.nextBlock;
    this.readAheadBlocks = READ_AHEAD_BYTES >>> geometry.shift;
    this.fullAt = BATCH_ROWS;
    this.ring = ringFor(relation, blocks);
  }

  /** The vectors that every batch lends, one a column asked for. */
  get vectors(): readonly Vector[] {
    return this.batch.vectors;
  }

  /** Tuples met so far of which nothing that is read says whether they are visible. */
  get unknown(): number {
    return this.tuples.unknown;
  }

  /** With a snapshot: why the first of them could not be judged. */
  get unknownCause(): Error | undefined {
    return this.tuples.unknownCause;
  }

  /**
   * The next rows, or undefined at the end. No page stays pinned in between.
   * @throws StorageError XX001 for a damaged page or tuple, naming relation, block and offset.
   */
  next(): HeapBatch | undefined {
    if (this.closed) return undefined;
    const batch = this.batch;
    if (this.relation.pool.debugPoison) poisonBatch(batch);
    batch.clear();
    while (batch.length < this.fullAt && this.nextBlock < this.end) {
      this.readPage(this.nextBlock, batch);
      this.nextBlock++;
      this.pages++;
    }
    if (batch.length > 0) return batch;
    this.closed = true;
    return undefined;
  }

  private readPage(block: BlockNumber, batch: HeapBatch): void {
    const { pool, main, geometry, name } = this.relation;
    if (block >= this.readUntil) {
      // No Math.min: over doubles its machine code holds a division, which makes the NaN that it might have to return.
      const left = this.end - block;
      const count = left < this.readAheadBlocks ? left : this.readAheadBlocks;
      pool.readAhead(main, block, count, this.ring);
      this.readUntil = block + count;
    }
    const id: BufferId = pool.pin(main, block, this.ring);
    try {
      const m = pool.memory(id);
      const base = pool.base(id);
      const tuples = this.tuples;
      const at = batch.length;
      tuples.offsetsAt = at;
      const count =
        this.snapshot === undefined
          ? collectVisible(m, base, geometry.size, block, name, this.unknownPolicy, tuples)
          : this.collect(m, base, block, id, this.snapshot);
      if (count === 0) return;
      this.decoder.decode(m, tuples.positions, tuples.lengths, count, batch.vectors, at);
      batch.addPage(block, count);
    } catch (error) {
      throw this.located(error, block);
    } finally {
      pool.unpin(id);
    }
  }

  /** The tuples of the page that the snapshot sees, after pruning it if that is due; hint bits that were set are kept. */
  private collect(m: PageMemory, base: number, block: BlockNumber, id: BufferId, snapshot: Snapshot): number {
    const { relation, hints } = this;
    if (hints.writable && pagePruneXid(m, base) !== 0) heapPagePruneOpt(relation, id, snapshot.transactions);
    const { name, geometry } = relation;
    let count: number;
    try {
      count = collectForSnapshot(m, base, geometry.size, block, name, snapshot, hints, this.tuples);
    } catch (error) {
      const policy = this.unknownPolicy;
      if (policy === 'error' || !isStorageError(error)) throw error;
      count = collectIfKnown(m, base, geometry.size, block, name, snapshot, hints, policy, this.tuples);
    }
    hints.flush(relation, id);
    return count;
  }

  private located(error: unknown, block: BlockNumber): unknown {
    const index = isStorageError(error) ? (error as { tupleIndex?: number }).tupleIndex : undefined;
    if (index === undefined || !isStorageError(error)) return error;
    return inTuple(error, this.relation.name, block, this.tuples.offsets[this.tuples.offsetsAt + index]);
  }

  /** Ends the scan; again is fine. */
  close(): void {
    if (this.relation.pool.debugPoison) poisonBatch(this.batch);
    this.closed = true;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
