// Changes of the catalogs by a transaction: rows of bw_class, bw_attribute and bw_index, written as any other rows are,
// entries of the catalogs' indexes included. What becomes of them is the transaction's affair, and so is who sees the entry
// that each call gives.
import { type Oid, StorageError } from '@blockwright/base';
import type { Transaction } from '@blockwright/transam';
import { attributeRows, type CatalogEntry, type CatalogTid, classRow, type TableShape } from './entry.ts';
import { type IndexEntry, type IndexShape, indexClassRow, indexRow } from './index-entry.ts';
import type { IndexedWriter } from './indexed-writer.ts';
import { BW_ATTRIBUTE, BW_CLASS, BW_INDEX, type CatalogTable } from './tables.ts';

/** The writer of a catalog's rows, one for the directory. */
export type CatalogRowWriter = (table: CatalogTable) => IndexedWriter;

/** The file numbers that a table and its indexes get. */
export interface NewFiles {
  readonly table: Oid;
  /** One an index, in the entry's order. */
  readonly indexes: readonly Oid[];
}

export class CatalogWriter {
  private readonly writerOf: CatalogRowWriter;

  constructor(writerOf: CatalogRowWriter) {
    this.writerOf = writerOf;
  }

  /**
   * Writes a new table's rows; its indexes come after it.
   * @throws StorageError 54000 when its name or a column's fits no page of this block size.
   */
  add(tx: Transaction, table: TableShape): CatalogEntry {
    const attributes = attributeRows(table).map((row) => this.insert(tx, BW_ATTRIBUTE, row));
    return { ...table, row: this.insert(tx, BW_CLASS, classRow(table)), attributeRows: attributes, indexes: [] };
  }

  /** Writes a new index's rows; gives its table with it. Throws as {@link add}. */
  addIndex(tx: Transaction, table: CatalogEntry, shape: IndexShape): CatalogEntry {
    const index: IndexEntry = {
      ...shape,
      attributeRows: attributeRows(shape).map((row) => this.insert(tx, BW_ATTRIBUTE, row)),
      row: this.insert(tx, BW_CLASS, indexClassRow(shape)),
      indexRow: this.insert(tx, BW_INDEX, indexRow(shape)),
    };
    return { ...table, indexes: [...table.indexes, index] };
  }

  /** Deletes a table's rows, and those of its indexes. */
  drop(tx: Transaction, entry: CatalogEntry): void {
    for (const index of entry.indexes) this.deleteIndexRows(tx, index);
    for (const tid of entry.attributeRows) this.delete(tx, BW_ATTRIBUTE, entry, tid);
    this.delete(tx, BW_CLASS, entry, entry.row);
  }

  /** Deletes an index's rows; gives its table without it. */
  dropIndex(tx: Transaction, table: CatalogEntry, index: IndexEntry): CatalogEntry {
    this.deleteIndexRows(tx, index);
    return { ...table, indexes: table.indexes.filter((other) => other !== index) };
  }

  /** Gives a table and its indexes other files. PostgreSQL: `RelationSetNewRelfilenumber`, relcache.c. */
  moveTo(tx: Transaction, entry: CatalogEntry, files: NewFiles): CatalogEntry {
    const moved = { ...entry, relfilenode: files.table };
    const row = this.update(tx, entry, classRow(moved));
    return this.moveIndexes(tx, { ...moved, row }, files.indexes);
  }

  /** Gives a table's indexes other files. */
  moveIndexes(tx: Transaction, entry: CatalogEntry, files: readonly Oid[]): CatalogEntry {
    const indexes = entry.indexes.map((index, i) => {
      const moved = { ...index, relfilenode: files[i] };
      return { ...moved, row: this.update(tx, index, indexClassRow(moved)) };
    });
    return { ...entry, indexes };
  }

  private deleteIndexRows(tx: Transaction, index: IndexEntry): void {
    this.delete(tx, BW_INDEX, index, index.indexRow);
    for (const tid of index.attributeRows) this.delete(tx, BW_ATTRIBUTE, index, tid);
    this.delete(tx, BW_CLASS, index, index.row);
  }

  private insert(tx: Transaction, catalog: CatalogTable, row: readonly unknown[]): CatalogTid {
    const writer = this.writerOf(catalog);
    writer.insert(tx, row);
    return { block: writer.block, offset: writer.offset };
  }

  /** Another row of bw_class in place of a relation's; gives its TID. */
  private update(tx: Transaction, { name, row }: Named, values: readonly unknown[]): CatalogTid {
    const writer = this.writerOf(BW_CLASS);
    const snapshot = tx.snapshot();
    try {
      refuseUnlessDone(writer.update(tx, row.block, row.offset, values, snapshot), BW_CLASS, name);
    } finally {
      snapshot.release();
    }
    return { block: writer.block, offset: writer.offset };
  }

  private delete(tx: Transaction, catalog: CatalogTable, { name }: Named, tid: CatalogTid): void {
    const snapshot = tx.snapshot();
    try {
      refuseUnlessDone(this.writerOf(catalog).delete(tx, tid.block, tid.offset, snapshot), catalog, name);
    } finally {
      snapshot.release();
    }
  }
}

type Named = Pick<CatalogEntry, 'name' | 'row'>;

/** Locks keep two transactions from one table: a row that another one changed means that the catalogs are not as read. */
function refuseUnlessDone(verdict: number, catalog: CatalogTable, name: string): void {
  if (verdict === 0) return;
  throw new StorageError('XX000', `the row of "${name}" in ${catalog.name} was changed behind the catalogs' back`, {
    detail: `Its writer said ${verdict}.`,
  });
}
