// Index tuples formed from heap tuples, or from values. PostgreSQL: index_form_tuple, heap_fill_tuple.

import { type BlockNumber, checkOptions, type OffsetNumber, StorageError } from '@blockwright/base';
import { AT_NULL, AttributePlaces, locateAttributes } from './attributes.ts';
import type { TupleDescriptor } from './descriptor.ts';
import type { IndexTupleFormat } from './index-format.ts';
import { type TupleMemory, tupleMemory } from './memory.ts';
import type { FetchToast } from './varlena.ts';

export interface IndexTupleFormerOptions {
  /**
   * Values of more bytes than this, header included, are compressed (pglz) when that makes them shorter. PostgreSQL's
   * TOAST_INDEX_TARGET: the largest heap tuple's bytes / 16, so it depends on the block size. Never, if not given.
   */
  readonly toastTarget?: number;
  /** Fetches out-of-line values; without it they are StorageError 0A000. */
  readonly fetchToast?: FetchToast;
}

/** Forms index tuples, one at a time, at byte 0 of a memory of its own. One former serves one caller at a time. */
export class IndexTupleFormer {
  readonly format: IndexTupleFormat;
  readonly #heap: TupleDescriptor;
  readonly #columns: readonly number[];
  readonly #places: AttributePlaces;
  readonly #options: IndexTupleFormerOptions;
  #memory: TupleMemory;
  #length = 0;

  /**
   * @param columns the heap column (0-based) of each index column.
   * @throws RangeError for a column that the heap does not have, that is dropped, or of another type than the index's.
   */
  constructor(
    format: IndexTupleFormat,
    heap: TupleDescriptor,
    columns: readonly number[],
    options: IndexTupleFormerOptions = {},
  ) {
    checkOptions('IndexTupleFormer', options, ['toastTarget', 'fetchToast']);
    this.format = format;
    this.#heap = heap;
    this.#columns = [...columns];
    this.#options = options;
    this.#places = new AttributePlaces(Math.max(...columns) + 1);
    this.#memory = tupleMemory(new Uint8Array(1024));
  }

  /** Where the tuple lies, at byte 0. It is replaced when a tuple needs more room: read it again after each call. */
  get memory(): TupleMemory {
    return this.#memory;
  }

  /** Bytes of the last tuple, a multiple of 8. */
  get length(): number {
    return this.#length;
  }

  /**
   * Forms the tuple of the heap tuple of `length` bytes at `pos`, with the TID (block, offset). Returns its length.
   * @throws StorageError XX001 for bytes that are no tuple of the heap; 0A000 for an out-of-line value without
   *   fetchToast; 54000 when the tuple would be longer than 8191 bytes.
   */
  fromHeap(m: TupleMemory, pos: number, length: number, block: BlockNumber, offset: OffsetNumber): number {
    locateAttributes(this.#heap, m.u8, pos, length, this.#columns.length, this.#places);
    void AT_NULL;
    void block;
    void offset;
    throw new StorageError('0A000', 'not yet', {});
  }

  /**
   * Forms a tuple of the first `values.length` columns, with the TID 0. Returns its length. As a search key it may be
   * longer than 8191 bytes: t_info then says 8191.
   * @throws StorageError 22001, 22003, … or TypeError as {@link TupleEncoder.encode} does for a value that its column
   *   cannot hold.
   */
  fromValues(values: readonly unknown[]): number {
    void values;
    void this.#options;
    throw new StorageError('0A000', 'not yet', {});
  }

  /**
   * The same for a search: values need not fit the columns' lengths, precisions and scales, so that one that no row can
   * have finds nothing, rather than what it would be rounded to.
   */
  fromSearchValues(values: readonly unknown[]): number {
    return this.fromValues(values);
  }
}
