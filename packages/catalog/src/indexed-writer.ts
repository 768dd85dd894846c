// Writes rows of a table and their entries in its indexes: after an insert one in each; after an update none when it was
// HOT, else one in each. PostgreSQL: `ExecInsertIndexTuples`, execIndexing.c.
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import { type HeapWriter, IndexedColumns, TM_OK } from '@blockwright/heap';
import { btreeInsert } from '@blockwright/nbtree';
import type { Snapshot, Transaction } from '@blockwright/transam';
import type { TupleDescriptor, TupleMemory } from '@blockwright/tuple';
import type { IndexShape } from './index-entry.ts';
import type { OpenIndex } from './open-index.ts';

export class IndexedWriter {
  readonly heap: HeapWriter;
  readonly indexes: readonly OpenIndex<IndexShape>[];
  private readonly columns: IndexedColumns;

  constructor(heap: HeapWriter, descriptor: TupleDescriptor, indexes: readonly OpenIndex<IndexShape>[]) {
    this.heap = heap;
    this.indexes = indexes;
    this.columns = new IndexedColumns(
      descriptor,
      indexes.map(({ entry }) => entry.columns),
      indexes.filter(({ entry }) => entry.isUnique).map(({ entry }) => entry.columns.slice(0, entry.keys.length)),
    );
  }

  /** Where the row, or version, is that was written last. */
  get block(): BlockNumber {
    return this.heap.block;
  }

  get offset(): OffsetNumber {
    return this.heap.offset;
  }

  /** Inserts a row and its entries. @throws StorageError as {@link HeapWriter.insert} and {@link insertEntries}. */
  insert(tx: Transaction, values: readonly unknown[]): void {
    this.heap.insert(tx, values);
    this.insertEntries(tx);
  }

  /** Updates a row, its entries included. Returns and throws as {@link updateRow} and {@link updateEntries}. */
  update(
    tx: Transaction,
    block: BlockNumber,
    offset: OffsetNumber,
    values: readonly unknown[],
    snapshot: Snapshot,
  ): number {
    const verdict = this.updateRow(tx, block, offset, values, snapshot);
    if (verdict === TM_OK) this.updateEntries(tx);
    return verdict;
  }

  /** Deletes a row; its entries stay until vacuum. Returns and throws as {@link HeapWriter.delete}. */
  delete(tx: Transaction, block: BlockNumber, offset: OffsetNumber, snapshot: Snapshot): number {
    return this.heap.delete(tx, block, offset, snapshot);
  }

  /**
   * Writes the entries of the row that was inserted last.
   * @throws StorageError 23505 when its key is taken, 55P03 when another open transaction decides that, 54000 when an entry
   *   is too long, 53100 and the like: the row is there, and some of its entries may be.
   */
  insertEntries(tx: Transaction): void {
    const { heap } = this;
    if (this.indexes.length !== 0) this.entriesOf(tx, heap.tuple, 0, heap.length, heap.block, heap.offset);
  }

  /** Writes the entries of the row at (block, offset), whose tuple lies at `pos`. Throws as {@link insertEntries}. */
  entriesOf(
    tx: Transaction,
    m: TupleMemory,
    pos: number,
    length: number,
    block: BlockNumber,
    offset: OffsetNumber,
  ): void {
    const { indexes } = this;
    for (let i = 0; i < indexes.length; i++) {
      const { former, btree } = indexes[i];
      const bytes = former.fromHeap(m, pos, length, block, offset);
      btreeInsert(btree, tx, former.memory, 0, bytes, false);
    }
  }

  /**
   * Writes a newer version of a row, and no entries: HOT when no indexed column changes, and without the key's lock when no
   * column of a unique key does. Returns and throws as {@link HeapWriter.update}.
   */
  updateRow(
    tx: Transaction,
    block: BlockNumber,
    offset: OffsetNumber,
    values: readonly unknown[],
    snapshot: Snapshot,
  ): number {
    return this.heap.updateIndexed(tx, block, offset, values, snapshot, this.columns);
  }

  /** Writes the entries of the version that {@link updateRow} wrote last: none when it was HOT. Throws as {@link insertEntries}. */
  updateEntries(tx: Transaction): void {
    const { heap, indexes, columns } = this;
    if (heap.wasHot) return;
    const { block, offset } = heap;
    for (let i = 0; i < indexes.length; i++) {
      const { former, btree } = indexes[i];
      const length = former.fromHeap(heap.tuple, 0, heap.length, block, offset);
      btreeInsert(btree, tx, former.memory, 0, length, columns.changes[i] === 0);
    }
  }
}
