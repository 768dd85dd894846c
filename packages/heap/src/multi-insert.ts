// Many rows of one transaction, a record a page: loads of tables that others can see, or that must be replayed.
// PostgreSQL: `heap_multi_insert`, heapam.c.
import { PAGE_STANDARD, PAGE_WILL_INIT, type Relation } from '@blockwright/access';
import type { BlockNumber, OffsetNumber, Xid } from '@blockwright/base';
import {
  type PageMemory,
  pageClearAllVisible,
  pageHeapFreeSpace,
  pageIsAllVisible,
  pageMaxOffset,
  pageMemory,
} from '@blockwright/page';
import type { Transaction } from '@blockwright/transam';
import {
  HEAP_TUPLE_HEADER_BYTES,
  setTupleCommandId,
  setTupleXmax,
  setTupleXmin,
  type TupleDescriptor,
  TupleEncoder,
  type Vector,
} from '@blockwright/tuple';
import { VISIBILITYMAP_VALID_BITS, type VisibilityMap } from '@blockwright/visibilitymap';
import { RM_HEAP2 } from '@blockwright/wal';
import { rowTooBig } from './errors.ts';
import { putHeader, putTuple } from './put-tuple.ts';
import {
  BLOCK_MAP,
  BLOCK_NEW,
  MULTI_INSERT_BYTES,
  MULTI_INSERT_TUPLE_BYTES,
  XLH_ALL_VISIBLE_CLEARED,
  XLH_INSERT_LAST_IN_MULTI,
  XLOG_HEAP_INIT_PAGE,
  XLOG_HEAP2_MULTI_INSERT,
} from './record-format.ts';
import { checkHeapPage, WriterParts } from './writer-parts.ts';

/** Bytes of tuples that are gathered before pages are looked for: two of the largest, at least. */
const BATCH_BYTES = 0x1_0000;
/** More than there can be: a tuple takes 24 bytes or more. */
const MOST_TUPLES = BATCH_BYTES >>> 4;

/** Called on the way; no page is pinned then. */
export interface MultiInsertCalls {
  /** Now and then, when rows have come to pages. */
  readonly onPages?: (() => void) | undefined;
  /** For each row that has come to a page: its tuple, lent, and its TID. */
  readonly onRow?:
    | ((m: PageMemory, pos: number, length: number, block: BlockNumber, offset: OffsetNumber) => void)
    | undefined;
}

/** Appends rows to a heap within a transaction. The same calls as `BulkLoader`; the rows are the transaction's own. */
export class MultiInserter {
  /** Rows on pages so far: after {@link finish}, all. */
  rows = 0;
  private readonly parts: WriterParts;
  private readonly encoder: TupleEncoder;
  private readonly transaction: Transaction;
  private readonly calls: MultiInsertCalls;
  private readonly batch: PageMemory = pageMemory(new ArrayBuffer(BATCH_BYTES));
  private readonly starts: Uint32Array = new Uint32Array(MOST_TUPLES);
  private readonly lengths: Uint32Array = new Uint32Array(MOST_TUPLES);
  private readonly offsets: Uint16Array;
  private count = 0;
  private used = 0;

  constructor(
    relation: Relation,
    descriptor: TupleDescriptor,
    map: VisibilityMap,
    transaction: Transaction,
    calls: MultiInsertCalls = {},
  ) {
    const toastTarget = relation.geometry.constants.TOAST_TUPLE_THRESHOLD;
    this.encoder = TupleEncoder.for(descriptor, { toastTarget });
    this.parts = new WriterParts(relation, this.encoder, map, relation.fillfactor);
    this.transaction = transaction;
    this.calls = calls;
    this.offsets = new Uint16Array(relation.geometry.maxHeapTuplesPerPage);
  }

  /**
   * Appends `count` rows of column vectors.
   * @throws StorageError 54000 when a row fits no page, 53100 when the disk is full, and the like: rows before it may be on
   * pages, and go with the transaction.
   */
  append(vectors: readonly Vector[], count: number): void {
    for (let row = 0; row < count; row++) {
      let length = this.encoder.encodeVectors(vectors, row, this.batch.u8, this.used);
      if (this.mustEmpty(length)) length = this.encoder.encodeVectors(vectors, row, this.batch.u8, 0);
      this.gather(length);
    }
  }

  /** Appends one row of values in the descriptor's order. Throws as {@link append}. */
  appendRow(values: readonly unknown[]): void {
    let length = this.encoder.encode(values, this.batch.u8, this.used);
    if (this.mustEmpty(length)) length = this.encoder.encode(values, this.batch.u8, 0);
    this.gather(length);
  }

  /** Puts what is gathered on pages. Throws as {@link append}. */
  finish(): void {
    this.empty();
  }

  /** Forgets what is gathered: for a load that failed. Rows on pages go with the transaction. */
  abandon(): void {
    this.count = 0;
    this.used = 0;
  }

  /** Whether the batch had no room for the row that was to be written into it; it is empty then. */
  private mustEmpty(length: number): boolean {
    const { geometry, name } = this.parts.relation;
    if (length > geometry.maxHeapTupleSize) throw rowTooBig(name, length, geometry.maxHeapTupleSize);
    if (this.used + length <= BATCH_BYTES) return false;
    this.empty();
    return true;
  }

  private gather(length: number): void {
    const { u8 } = this.batch;
    const start = this.used;
    const end = start + length;
    this.used = (end + 7) & ~7;
    for (let i = end; i < this.used; i++) u8[i] = 0;
    this.starts[this.count] = start;
    this.lengths[this.count++] = length;
  }

  private empty(): void {
    if (this.count === 0) return;
    const xid = this.transaction.writeXid();
    const { commandId } = this.transaction;
    for (let i = 0; i < this.count; i++) {
      const start = this.starts[i];
      setTupleXmin(this.batch, start, xid);
      setTupleXmax(this.batch, start, 0);
      setTupleCommandId(this.batch, start, commandId);
    }
    for (let done = 0; done < this.count; ) {
      const placed = this.fillPage(done, xid);
      if (this.calls.onRow !== undefined) this.tellRows(done, placed, this.calls.onRow);
      done += placed;
      this.rows += placed;
    }
    this.abandon();
    this.calls.onPages?.();
  }

  private tellRows(first: number, placed: number, tell: NonNullable<MultiInsertCalls['onRow']>): void {
    const { batch, starts, lengths, offsets, parts } = this;
    const { block } = parts.placement;
    for (let i = 0; i < placed; i++) tell(batch, starts[first + i], lengths[first + i], block, offsets[i]);
  }

  /** As many tuples from number `first` on as one page takes. @returns how many */
  private fillPage(first: number, xid: Xid): number {
    const { parts, offsets } = this;
    const { relation, map, placement } = parts;
    const { pool, geometry, log } = relation;
    placement.find(this.lengths[first]);
    let mapId = -1;
    try {
      const { memory: m, base, block } = placement;
      checkHeapPage(m, base, parts, block);
      const wasAllVisible = pageIsAllVisible(m, base);
      if (wasAllVisible && map !== undefined) mapId = map.pinToClear(block);
      const isFirst = pageMaxOffset(m, base) === 0;
      const info = isFirst ? XLOG_HEAP2_MULTI_INSERT | XLOG_HEAP_INIT_PAGE : XLOG_HEAP2_MULTI_INSERT;
      const perTuple = MULTI_INSERT_TUPLE_BYTES + 1 + 2;
      log.begin(relation, RM_HEAP2, info, 2, MULTI_INSERT_BYTES + offsets.length * perTuple + geometry.size);
      try {
        const placed = this.putOnPage(first);
        pageClearAllVisible(m, base);
        const flags = wasAllVisible ? XLH_ALL_VISIBLE_CLEARED : 0;
        this.putRecord(first, placed, isFirst, flags, mapId);
        log.finish(xid);
        this.forgetLocks(placed, block);
        return placed;
      } catch (error) {
        return log.panic(error);
      }
    } finally {
      if (mapId >= 0) pool.unpin(mapId);
      placement.release();
    }
  }

  /** Locks of what stood at the same TIDs once. */
  private forgetLocks(placed: number, block: BlockNumber): void {
    const { locks } = this.transaction.transactions;
    if (locks.isEmpty) return;
    for (let i = 0; i < placed; i++) locks.forget(this.parts.locator, block, this.offsets[i]);
  }

  private putOnPage(first: number): number {
    const { batch, starts, lengths, offsets } = this;
    const { relation, placement } = this.parts;
    const { geometry } = relation;
    const { memory: m, base, block, spare } = placement;
    let placed = 0;
    do {
      const i = first + placed;
      offsets[placed++] = putTuple(m, base, geometry, batch, starts[i], lengths[i], block);
    } while (
      first + placed < this.count &&
      pageHeapFreeSpace(m, base, geometry) >= ((lengths[first + placed] + 7) & ~7) + spare
    );
    return placed;
  }

  private putRecord(first: number, placed: number, isFirst: boolean, flags: number, mapId: number): void {
    const { batch, starts, lengths, offsets } = this;
    const { relation, map, placement } = this.parts;
    const { log, main, vm } = relation;
    log.u8(first + placed === this.count ? flags | XLH_INSERT_LAST_IN_MULTI : flags);
    log.u8(0);
    log.u16(placed);
    if (!isFirst) for (let i = 0; i < placed; i++) log.u16(offsets[i]);
    log.page(BLOCK_NEW, main, placement.buffer, isFirst ? PAGE_WILL_INIT : PAGE_STANDARD);
    let length = 0;
    for (let i = first; i < first + placed; i++) {
      if ((length & 1) !== 0) log.u8(0);
      const bytes = lengths[i] - HEAP_TUPLE_HEADER_BYTES;
      log.u16(bytes);
      putHeader(log, batch, starts[i]);
      log.bytes(batch.u8, starts[i] + HEAP_TUPLE_HEADER_BYTES, bytes);
      length += (length & 1) + MULTI_INSERT_TUPLE_BYTES + bytes;
    }
    if (mapId < 0) return;
    (map as VisibilityMap).clearPinned(mapId, placement.block, VISIBILITYMAP_VALID_BITS);
    log.page(BLOCK_MAP, vm, mapId, 0);
  }
}
