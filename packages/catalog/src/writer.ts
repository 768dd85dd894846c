// Changes of the catalogs by a transaction: rows of bw_class and bw_attribute, written as any other rows are. What becomes
// of them is the transaction's affair, and so is who sees the entry that each call gives.
import { type Oid, StorageError } from '@blockwright/base';
import type { HeapWriter } from '@blockwright/heap';
import type { Transaction } from '@blockwright/transam';
import { attributeRows, type CatalogEntry, type CatalogTid, classRow, type TableShape } from './entry.ts';
import { BW_ATTRIBUTE, BW_CLASS, type CatalogTable } from './tables.ts';

/** The writer of a catalog's rows, one for the directory. */
export type CatalogHeapWriter = (table: CatalogTable) => HeapWriter;

export class CatalogWriter {
  private readonly writerOf: CatalogHeapWriter;

  constructor(writerOf: CatalogHeapWriter) {
    this.writerOf = writerOf;
  }

  /** Writes a new table's rows. @throws StorageError 54000 when its name or a column's fits no page of this block size. */
  add(tx: Transaction, table: TableShape): CatalogEntry {
    const attributes = attributeRows(table).map((row) => this.insert(tx, BW_ATTRIBUTE, row));
    return { ...table, kind: 'r', row: this.insert(tx, BW_CLASS, classRow(table)), attributeRows: attributes };
  }

  /** Deletes a table's rows. */
  drop(tx: Transaction, entry: CatalogEntry): void {
    for (const tid of entry.attributeRows) this.delete(tx, BW_ATTRIBUTE, entry, tid);
    this.delete(tx, BW_CLASS, entry, entry.row);
  }

  /** Gives a table another file. PostgreSQL: `RelationSetNewRelfilenumber`, relcache.c. */
  moveTo(tx: Transaction, entry: CatalogEntry, relfilenode: Oid): CatalogEntry {
    const moved = { ...entry, relfilenode };
    const writer = this.writerOf(BW_CLASS);
    const snapshot = tx.snapshot();
    try {
      const { block, offset } = entry.row;
      refuseUnlessDone(writer.update(tx, block, offset, classRow(moved), snapshot, true), BW_CLASS, entry);
    } finally {
      snapshot.release();
    }
    return { ...moved, row: { block: writer.block, offset: writer.offset } };
  }

  private insert(tx: Transaction, catalog: CatalogTable, row: readonly unknown[]): CatalogTid {
    const writer = this.writerOf(catalog);
    writer.insert(tx, row);
    return { block: writer.block, offset: writer.offset };
  }

  private delete(tx: Transaction, catalog: CatalogTable, entry: CatalogEntry, tid: CatalogTid): void {
    const snapshot = tx.snapshot();
    try {
      refuseUnlessDone(this.writerOf(catalog).delete(tx, tid.block, tid.offset, snapshot), catalog, entry);
    } finally {
      snapshot.release();
    }
  }
}

/** Locks keep two transactions from one table: a row that another one changed means that the catalogs are not as read. */
function refuseUnlessDone(verdict: number, catalog: CatalogTable, entry: CatalogEntry): void {
  if (verdict === 0) return;
  throw new StorageError(
    'XX000',
    `the row of "${entry.name}" in ${catalog.name} was changed behind the catalogs' back`,
    {
      detail: `Its writer said ${verdict}.`,
    },
  );
}
