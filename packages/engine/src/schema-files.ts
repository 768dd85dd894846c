// What tables and indexes have in common when they come and go: names, numbers, files, and the table's use by others.
import { createRelationFiles } from '@blockwright/access';
import { type Oid, StorageError } from '@blockwright/base';
import type { CatalogEntry } from '@blockwright/catalog';
import { locatorOf } from './layout.ts';
import type { RelationFileEntry } from './relations.ts';
import type { DatabaseTransaction } from './transaction.ts';

/** Whether a table or an index has that name. */
export function isTaken(tx: DatabaseTransaction, name: string): boolean {
  return tx.schema.find(name) !== undefined || tx.schema.findIndex(name) !== undefined;
}

/** @throws StorageError 42P07 */
export function refuseTaken(tx: DatabaseTransaction, name: string): void {
  if (tx.schema.find(name) !== undefined) throw new StorageError('42P07', `table "${name}" already exists`);
  if (tx.schema.findIndex(name) !== undefined) throw new StorageError('42P07', `index "${name}" already exists`);
}

/** A number whose file name is free: that of a dropped table is not, until the next checkpoint. */
export function unusedOid(tx: DatabaseTransaction): Oid {
  const { oids } = tx.core.writing('create a table');
  const { storage } = tx.core.parts;
  for (;;) {
    const oid = oids.take();
    if (!storage.open(locatorOf(oid)).fork(0).exists()) return oid;
  }
}

/** Makes the files of a table or an index, which go when the transaction, or the savepoint, does not commit. */
export function makeFiles(tx: DatabaseTransaction, file: RelationFileEntry): void {
  const { inner, core } = tx;
  const locator = locatorOf(file.relfilenode);
  const xid = inner.writeXid();
  tx.changes++;
  inner.removeAtAbort(locator);
  core.writing('create a table').pendingCreates.add(xid, locator);
  createRelationFiles(core.parts.relations.handleOf(file), xid);
}

/**
 * Keeps everybody else from a table until the transaction ends.
 * @throws StorageError 55006 or 55P03 when anybody but this transaction uses it, or a scan of its own does, or a statement
 *   that is under way writes it. PostgreSQL: `CheckTableNotInUse`, tablecmds.c.
 */
export function exclude(tx: DatabaseTransaction, entry: CatalogEntry, doing: string): void {
  refuseWhileUsed(tx, entry, doing);
  tx.inner.writeXid();
  tx.core.locks.exclude(entry, tx, tx.inner.level, doing);
}

/** @throws StorageError as {@link exclude}, which notes what this only asks. */
export function refuseWhileUsed(tx: DatabaseTransaction, entry: CatalogEntry, doing: string): void {
  tx.core.locks.refuseUsed(entry, tx, doing);
  if (tx.writing.some(({ oid }) => oid === entry.oid)) {
    throw new StorageError(
      '55006',
      `table "${entry.name}" cannot be ${doing}: a statement of this transaction writes its rows`,
      { detail: 'The rows or changes that it was given come from a function, and that has asked for it.' },
    );
  }
  for (const scan of tx.core.scans) {
    if (scan.relfilenode !== entry.relfilenode) continue;
    throw new StorageError('55006', `table "${entry.name}" cannot be ${doing}: a scan of this transaction uses it`, {
      hint: 'Close the scan, and try again.',
    });
  }
}
