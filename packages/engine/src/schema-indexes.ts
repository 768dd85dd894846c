// Indexes come and go within a transaction, with their tables or by themselves: catalog rows, files and locks together.
// PostgreSQL: catalog/index.c, commands/indexcmds.c.
import { type Steps, StorageError } from '@blockwright/base';
import {
  type CatalogEntry,
  FIRST_NORMAL_OID,
  type FoundIndex,
  type IndexEntry,
  indexDescriptor,
} from '@blockwright/catalog';
import { btreeBuild, btreeBuildEmpty } from '@blockwright/nbtree';
import { chosenName, type IndexSpec } from './index-options.ts';
import { locatorOf, TEMPORARY_DIRECTORY } from './layout.ts';
import { exclude, isTaken, makeFiles, refuseTaken, unusedOid } from './schema-files.ts';
import { type IndexInfo, indexInfo } from './table-info.ts';
import type { DatabaseTransaction, LongWork } from './transaction.ts';

/**
 * Makes an index and its file, in which nothing is yet, not even a first page: {@link fillIndex} comes next. Gives its
 * table with it.
 * @throws StorageError 42P07 when the name is taken, 55P03 when another open transaction has taken or freed it.
 */
export function addIndex(tx: DatabaseTransaction, table: CatalogEntry, spec: IndexSpec): CatalogEntry {
  const { name: given, columns, suffix: _, ...rest } = spec;
  const name = given ?? chosenName(table, spec, (name) => isTaken(tx, name));
  refuseTaken(tx, name);
  tx.inner.writeXid();
  const oid = unusedOid(tx);
  tx.core.locks.takeName(name, tx, tx.inner.level);
  const descriptor = indexDescriptor(table.descriptor, columns);
  const { persistence } = table;
  const shape = { ...rest, oid, name, relfilenode: oid, table: table.oid, columns, descriptor, persistence };
  makeFiles(tx, shape);
  const made = tx.core.catalogWriter.addIndex(tx.inner, table, shape);
  tx.schema.note(tx.inner.level, made.name, made, tx.schema.madeBy(made.name));
  return made;
}

/** Fills the file of a new index of a table in which there are no rows. */
export function fillEmptyIndex(tx: DatabaseTransaction, table: CatalogEntry, index: IndexEntry): void {
  const { btree } = tx.core.parts.relations.indexOf(table, index);
  btree.create();
  if (index.persistence === 'u') btreeBuildEmpty(btree);
}

/**
 * Fills the file of a new index from its table's rows. Nothing of it is in the WAL: it is written and synced before the
 * commit. PostgreSQL: `smgrDoPendingSyncs`, storage.c.
 * @throws StorageError 23505 when two rows have the key of a unique index, 54000 for a key that is too long, 40001 when a
 *   repeatable-read transaction sees rows of which the index would know newer versions only.
 */
export function* fillIndex(tx: DatabaseTransaction, table: CatalogEntry, index: IndexEntry): Steps<void> {
  const { relations, vfs, directory, maintenanceBytes } = tx.core.parts;
  const { btree, former } = relations.indexOf(table, index);
  const access = relations.accessOf(table);
  yield* btreeBuild(btree, tx.inner, {
    former,
    maintenanceWorkMem: maintenanceBytes,
    vfs,
    tempDirectory: `${directory}/${TEMPORARY_DIRECTORY}`,
  });
  if (index.persistence === 'u') btreeBuildEmpty(btree);
  if (access.leftOut > 0 && tx.inner.isolation === 'repeatable read') throw rowsAreNewer(table.name);
  const { relation } = btree;
  tx.inner.onEnd({
    beforeCommit() {
      relation.flush();
      relation.main.sync();
    },
  });
}

/** The creation of one index that is going on. */
export class IndexCreation implements LongWork<IndexInfo> {
  readonly what = 'the creation of an index';
  isWhole = false;
  private readonly tx: DatabaseTransaction;
  private readonly table: CatalogEntry;
  private readonly index: IndexEntry;
  private wasUndone = false;

  /**
   * @throws StorageError as {@link addIndex}; 42501 for a catalog; 55006 or 55P03 when somebody else uses the table.
   */
  constructor(tx: DatabaseTransaction, table: CatalogEntry, spec: IndexSpec) {
    refuseCatalog(table);
    exclude(tx, table, 'indexed');
    this.tx = tx;
    this.table = addIndex(tx, table, spec);
    this.index = this.table.indexes[this.table.indexes.length - 1];
  }

  fills({ oid }: IndexEntry): boolean {
    return oid === this.index.oid;
  }

  /** @throws StorageError as {@link fillIndex}. */
  *run(): Steps<IndexInfo> {
    const { tx, table, index } = this;
    if (tx.core.parts.relations.handleOf(table).blockCount() === 0) fillEmptyIndex(tx, table, index);
    else {
      const steps = fillIndex(tx, table, index);
      try {
        for (let step = steps.next(); step.done !== true; step = steps.next()) {
          yield step.value;
          if (this.wasUndone) throw new StorageError('57014', 'the index was not created: its transaction was ended');
        }
      } finally {
        steps.return();
      }
    }
    this.isWhole = true;
    return indexInfo(tx.core, table, index);
  }

  undo(): void {
    this.wasUndone = true;
  }
}

/** @throws StorageError 42501 for an index of a catalog, 55006 or 55P03 when somebody else uses its table. */
export function dropIndex(tx: DatabaseTransaction, { table, index }: FoundIndex): void {
  refuseCatalog(table);
  exclude(tx, table, `stripped of index "${index.name}"`);
  tx.core.locks.takeName(index.name, tx, tx.inner.level);
  tx.changes++;
  tx.inner.removeAtCommit(locatorOf(index.relfilenode));
  const left = tx.core.catalogWriter.dropIndex(tx.inner, table, index);
  tx.schema.note(tx.inner.level, left.name, left, tx.schema.madeBy(left.name));
}

function refuseCatalog({ oid, name }: CatalogEntry): void {
  if (oid >= FIRST_NORMAL_OID) return;
  throw new StorageError('42501', `table "${name}" is a catalog: its indexes cannot be changed`);
}

function rowsAreNewer(table: string): StorageError {
  return new StorageError('40001', `table "${table}" cannot be indexed: rows have changed since the snapshot`, {
    detail: 'The index would lead to their newer versions only.',
    hint: 'Roll back and run the whole transaction again.',
  });
}
