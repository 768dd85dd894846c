// Tables come, go and change files within a transaction, their indexes with them: catalog rows, files and locks together.
// What is made goes when the transaction, or the savepoint, does not commit; what is dropped goes when it does. PostgreSQL:
// catalog/heap.c.
import { StorageError } from '@blockwright/base';
import { type CatalogEntry, FIRST_NORMAL_OID, type TableShape } from '@blockwright/catalog';
import { keySpecOf } from './index-options.ts';
import { locatorOf } from './layout.ts';
import { exclude, makeFiles, refuseTaken, unusedOid } from './schema-files.ts';
import { addIndex, fillEmptyIndex } from './schema-indexes.ts';
import type { TableDef } from './table.ts';
import type { DatabaseTransaction } from './transaction.ts';

const DEFAULT_FILLFACTOR = 100;

/** @throws StorageError 42P07 when a name is taken, 55P03 when another open transaction has taken or freed it. */
export function createTable(tx: DatabaseTransaction, definition: TableDef): void {
  const { name, descriptor, fillfactor = DEFAULT_FILLFACTOR, unlogged = false, primaryKey, unique = [] } = definition;
  refuseTaken(tx, name);
  tx.inner.writeXid();
  const oid = unusedOid(tx);
  tx.core.locks.takeName(name, tx, tx.inner.level);
  const persistence = unlogged ? 'u' : 'p';
  const shape: TableShape = { oid, name, relfilenode: oid, descriptor, persistence, fillfactor };
  makeFiles(tx, shape);
  let entry = tx.core.catalogWriter.add(tx.inner, shape);
  tx.schema.note(tx.inner.level, name, entry, tx.inner.xid);
  if (primaryKey !== undefined) entry = addIndex(tx, entry, keySpecOf(entry, primaryKey, true));
  for (const key of unique) entry = addIndex(tx, entry, keySpecOf(entry, key, false));
  for (const index of entry.indexes) fillEmptyIndex(tx, entry, index);
}

/** @throws StorageError 42501 for a catalog, 55006 or 55P03 when somebody else uses the table. */
export function dropTable(tx: DatabaseTransaction, entry: CatalogEntry): void {
  const { oid, name, relfilenode, indexes } = entry;
  if (oid < FIRST_NORMAL_OID) throw new StorageError('42501', `table "${name}" is a catalog and cannot be dropped`);
  exclude(tx, entry, 'dropped');
  for (const { name } of [entry, ...indexes]) tx.core.locks.takeName(name, tx, tx.inner.level);
  tx.changes++;
  tx.inner.removeAtCommit(locatorOf(relfilenode));
  for (const index of indexes) tx.inner.removeAtCommit(locatorOf(index.relfilenode));
  tx.core.catalogWriter.drop(tx.inner, entry);
  tx.schema.note(tx.inner.level, name, undefined, 0);
}

/**
 * Gives a table and its indexes new, empty files in this transaction; the old ones go at its commit. PostgreSQL:
 * `RelationSetNewRelfilenumber`, relcache.c.
 */
export function replaceFiles(tx: DatabaseTransaction, entry: CatalogEntry): CatalogEntry {
  const table = replaceFile(tx, entry);
  const indexes = entry.indexes.map((index) => replaceFile(tx, index));
  const moved = tx.core.catalogWriter.moveTo(tx.inner, entry, { table, indexes });
  tx.schema.note(tx.inner.level, moved.name, moved, tx.inner.xid);
  return moved;
}

/** Gives a table's indexes new, empty files, without a first page; the table keeps its own. */
export function replaceIndexFiles(tx: DatabaseTransaction, entry: CatalogEntry): CatalogEntry {
  if (entry.indexes.length === 0) return entry;
  const indexes = entry.indexes.map((index) => replaceFile(tx, index));
  const moved = tx.core.catalogWriter.moveIndexes(tx.inner, entry, indexes);
  tx.schema.note(tx.inner.level, moved.name, moved, tx.schema.madeBy(moved.name));
  return moved;
}

function replaceFile(tx: DatabaseTransaction, file: CatalogEntry | CatalogEntry['indexes'][number]): number {
  const relfilenode = unusedOid(tx);
  makeFiles(tx, { ...file, relfilenode });
  tx.inner.removeAtCommit(locatorOf(file.relfilenode));
  return relfilenode;
}
