// An open index: what its entry says, its tree, and what makes its tuples from the table's.
import type { Relation, TableAccess } from '@blockwright/access';
import { BtreeIndex } from '@blockwright/nbtree';
import type { Snapshot, Transaction, Transactions } from '@blockwright/transam';
import { IndexTupleFormat, IndexTupleFormer, type TupleDescriptor } from '@blockwright/tuple';
import type { IndexEntry, IndexShape } from './index-entry.ts';

/** What an index needs to know of its table. */
export interface IndexedTable {
  readonly descriptor: TupleDescriptor;
  /** How the index sees the table's rows; none while nobody asks: when it is built, or only read. */
  readonly access?: TableAccess<Transaction, Snapshot> | undefined;
}

export class OpenIndex<Entry extends IndexShape = IndexEntry> {
  readonly entry: Entry;
  readonly format: IndexTupleFormat;
  readonly btree: BtreeIndex;
  /** For writers. */
  readonly former: IndexTupleFormer;

  constructor(entry: Entry, relation: Relation, table: IndexedTable, transactions: Transactions | undefined) {
    const { descriptor, keys, columns, isUnique, nullsNotDistinct, deduplicate } = entry;
    this.entry = entry;
    this.format = IndexTupleFormat.of(descriptor, keys);
    this.former = new IndexTupleFormer(this.format, table.descriptor, columns, {
      toastTarget: relation.geometry.maxHeapTupleSize >>> 4, // PostgreSQL: `TOAST_INDEX_TARGET`
    });
    this.btree = new BtreeIndex({
      relation,
      format: this.format,
      isUnique,
      nullsNotDistinct,
      deduplicate,
      table: table.access,
      transactions,
    });
  }
}
