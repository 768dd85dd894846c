// Tables come, go and change files within a transaction: catalog rows, files and locks together. What is made goes when
// the transaction, or the savepoint, does not commit; what is dropped goes when it does. PostgreSQL: catalog/heap.c.
import { createRelationFiles } from '@blockwright/access';
import { type Oid, StorageError } from '@blockwright/base';
import { type CatalogEntry, FIRST_NORMAL_OID, type TableShape } from '@blockwright/catalog';
import { locatorOf } from './layout.ts';
import type { RelationFileEntry } from './relations.ts';
import type { TableDef } from './table.ts';
import type { DatabaseTransaction } from './transaction.ts';

const DEFAULT_FILLFACTOR = 100;

/** @throws StorageError 42P07 when the name is taken, 55P03 when another open transaction has taken or freed it. */
export function createTable(tx: DatabaseTransaction, definition: TableDef): void {
  const { name, descriptor, fillfactor = DEFAULT_FILLFACTOR, unlogged = false } = definition;
  if (tx.schema.find(name) !== undefined) throw new StorageError('42P07', `table "${name}" already exists`);
  tx.inner.writeXid();
  const oid = unusedOid(tx);
  tx.core.locks.takeName(name, tx, tx.inner.level);
  const persistence = unlogged ? 'u' : 'p';
  const shape: TableShape = { oid, name, relfilenode: oid, descriptor, persistence, fillfactor };
  makeFiles(tx, shape);
  note(tx, tx.core.catalogWriter.add(tx.inner, shape), tx.inner.xid);
}

/** @throws StorageError 42501 for a catalog, 55006 or 55P03 when somebody else uses the table. */
export function dropTable(tx: DatabaseTransaction, entry: CatalogEntry): void {
  const { oid, name, relfilenode } = entry;
  if (oid < FIRST_NORMAL_OID) throw new StorageError('42501', `table "${name}" is a catalog and cannot be dropped`);
  refuseWhileUsed(tx, entry, 'dropped');
  tx.inner.writeXid();
  tx.core.locks.takeName(name, tx, tx.inner.level);
  tx.core.locks.exclude(entry, tx, tx.inner.level, 'dropped');
  tx.changes++;
  tx.inner.removeAtCommit(locatorOf(relfilenode));
  tx.core.catalogWriter.drop(tx.inner, entry);
  tx.schema.note(tx.inner.level, name, undefined, 0);
}

/**
 * Gives a table a new, empty file in this transaction; the old one goes at its commit. PostgreSQL:
 * `RelationSetNewRelfilenumber`, relcache.c.
 */
export function replaceFiles(tx: DatabaseTransaction, entry: CatalogEntry): CatalogEntry {
  const relfilenode = unusedOid(tx);
  makeFiles(tx, { ...entry, relfilenode });
  tx.inner.removeAtCommit(locatorOf(entry.relfilenode));
  const moved = tx.core.catalogWriter.moveTo(tx.inner, entry, relfilenode);
  note(tx, moved, tx.inner.xid);
  return moved;
}

/** @throws StorageError 55006 or 55P03 when anybody but this transaction uses the table, or a scan of its own does. */
export function refuseWhileUsed(tx: DatabaseTransaction, entry: CatalogEntry, doing: string): void {
  tx.core.locks.refuseUsed(entry, tx, doing);
  for (const scan of tx.core.scans) {
    if (scan.relfilenode !== entry.relfilenode) continue;
    throw new StorageError('55006', `table "${entry.name}" cannot be ${doing}: a scan of this transaction uses it`, {
      hint: 'Close the scan, and try again.',
    });
  }
}

function note(tx: DatabaseTransaction, entry: CatalogEntry, madeBy: number): void {
  tx.schema.note(tx.inner.level, entry.name, entry, madeBy);
}

/** A number whose file name is free: that of a dropped table is not, until the next checkpoint. */
function unusedOid(tx: DatabaseTransaction): Oid {
  const { oids } = tx.core.writing('create a table');
  const { storage } = tx.core.parts;
  for (;;) {
    const oid = oids.take();
    if (!storage.open(locatorOf(oid)).fork(0).exists()) return oid;
  }
}

function makeFiles(tx: DatabaseTransaction, file: RelationFileEntry): void {
  const { inner, core } = tx;
  const locator = locatorOf(file.relfilenode);
  const xid = inner.writeXid();
  tx.changes++;
  inner.removeAtAbort(locator);
  core.writing('create a table').pendingCreates.add(xid, locator);
  createRelationFiles(core.parts.relations.handleOf(file), xid);
}
