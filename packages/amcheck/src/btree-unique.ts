// Whether a unique index is: of the entries that share a key, one at most leads to a row that is visible. PostgreSQL:
// bt_entry_unique_check, verify_nbtree.c.
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import { type IndexTupleFormat, indexTupleSize, type TupleMemory, tupleMemory } from '@blockwright/tuple';
import type { BtreeReport } from './btree-report.ts';

const TUPLE_BYTES = 0x2000;

/** Told of the leaves' entries in order. */
export class UniqueKeys {
  private readonly format: IndexTupleFormat;
  private readonly nullsNotDistinct: boolean;
  private readonly report: BtreeReport;
  /** The key that the entries have had since it began. */
  private readonly key: TupleMemory = tupleMemory(new Uint8Array(TUPLE_BYTES));
  private hasKey = false;
  private counts = true;
  private rows = 0;
  private rowBlock = 0;
  private rowOffset = 0;

  constructor(format: IndexTupleFormat, nullsNotDistinct: boolean, report: BtreeReport) {
    this.format = format;
    this.nullsNotDistinct = nullsNotDistinct;
    this.report = report;
  }

  begin(): void {
    this.hasKey = false;
    this.rows = 0;
  }

  /** The tuple at `pos` comes next. @throws StorageError for a value that cannot be read. */
  beginTuple(m: TupleMemory, pos: number): void {
    const { format } = this;
    if (this.hasKey && format.compare(this.key, 0, m, pos, format.keyCount) === 0) return;
    this.begin();
    const size = indexTupleSize(m, pos);
    for (let i = 0; i < size; i++) this.key.u8[i] = m.u8[pos + i];
    this.hasKey = true;
    this.counts = this.nullsNotDistinct || !format.hasNull(m, pos, format.keyCount);
  }

  /** A visible row has the key. */
  row(heapBlock: BlockNumber, heapOffset: OffsetNumber, block: BlockNumber, offset: OffsetNumber): void {
    if (!this.counts) return;
    if (++this.rows === 2) {
      const message =
        `index uniqueness is violated: heap tuples (${this.rowBlock},${this.rowOffset}) and ` +
        `(${heapBlock},${heapOffset}) are both visible and have the same key`;
      this.report.error('unique.violated', block, offset, message);
    }
    this.rowBlock = heapBlock;
    this.rowOffset = heapOffset;
  }
}
