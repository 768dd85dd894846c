// A bulk load in steps: frozen into files that the transaction has made itself, so that they go when it does not commit,
// and the table's indexes built from them; or as ordinary rows, logged, with their entries. PostgreSQL: COPY, with and
// without FREEZE.
import { checkFlag, checkOptions, type Steps, StorageError } from '@blockwright/base';
import type { CatalogEntry, IndexEntry } from '@blockwright/catalog';
import { BulkLoader, frozenEncoder, heapCount, MultiInserter } from '@blockwright/heap';
import type { Snapshot } from '@blockwright/transam';
import { type Vector, vectorCapacity } from '@blockwright/tuple';
import { inTable } from './rows.ts';
import { replaceFiles, replaceIndexFiles } from './schema.ts';
import { refuseWhileUsed } from './schema-files.ts';
import { fillIndex } from './schema-indexes.ts';
import type { DatabaseTransaction, LongWork } from './transaction.ts';

/** Column vectors of rows to load. */
export interface LoadBatch {
  readonly length: number;
  /** In the table's column order. */
  readonly columns: readonly Vector[];
}

export interface LoadOptions {
  /**
   * true, the default: rows are frozen and pages marked all-visible, as PostgreSQL's COPY FREEZE leaves them, in files
   * that are synced and not logged. false: ordinary rows of this transaction, logged, added to what the table holds.
   */
  readonly freeze?: boolean;
}

/** Takes rows until it is told that they are all. */
interface Loader {
  readonly rows: number;
  append(columns: readonly Vector[], length: number): void;
  finish(): void;
  /** Lets go of what it holds; the rows so far go with the transaction. */
  abandon(): void;
}

/** One load that is going on. */
export class TableLoad implements LongWork<number> {
  readonly what = 'a load';
  private readonly tx: DatabaseTransaction;
  private readonly batches: Iterable<LoadBatch>;
  private readonly entry: CatalogEntry;
  private readonly loader: Loader;
  /** Whether the indexes are built when the rows are in: else each row's entries are written with it. */
  private readonly buildsIndexes: boolean;
  private state: 'loading' | 'whole' | 'undone' = 'loading';

  /** @throws StorageError 55000 or 40001 when rows are to be frozen and the table has some; 55006 when somebody uses it. */
  constructor(tx: DatabaseTransaction, entry: CatalogEntry, options: LoadOptions, batches: Iterable<LoadBatch>) {
    this.tx = tx;
    this.batches = batches;
    this.buildsIndexes = options.freeze !== false;
    if (options.freeze === false) {
      this.entry = entry;
      tx.changes++;
      const { relations, upkeep } = tx.core.parts;
      const { descriptor, indexes } = entry;
      const writer = relations.writerOf(entry);
      this.loader = new MultiInserter(relations.handleOf(entry), descriptor, relations.mapOf(entry), tx.inner, {
        onPages: () => upkeep.tickByVolume(),
        onRow:
          indexes.length === 0
            ? undefined
            : (m, pos, length, block, offset) => writer.entriesOf(tx.inner, m, pos, length, block, offset),
      });
    } else {
      refuseWhileUsed(tx, entry, 'loaded');
      this.entry = ownEmptyTable(tx, entry);
      tx.changes++;
      const { relations, geometry } = tx.core.parts;
      const relation = relations.handleOf(this.entry);
      this.loader = new BulkLoader(relation, frozenEncoder(entry.descriptor, geometry), relations.mapOf(this.entry));
    }
  }

  /** Whether every row is in. */
  get isWhole(): boolean {
    return this.state === 'whole';
  }

  /** Of frozen rows: entries come when all are in. */
  fills(index: IndexEntry): boolean {
    return this.buildsIndexes && this.entry.indexes.some(({ oid }) => oid === index.oid);
  }

  /** Loads the batches; gives the number of rows. When it fails or is returned from early, {@link undo} has been called. */
  *run(): Steps<number> {
    const { loader, entry, batches } = this;
    try {
      for (const batch of batches) {
        this.refuseWhenUndone();
        checkBatch(entry, batch);
        loader.append(batch.columns, batch.length);
        yield { phase: `loading ${entry.name}`, done: loader.rows, total: 0, unit: 'rows' };
      }
      this.refuseWhenUndone();
      loader.finish();
      if (this.buildsIndexes) yield* this.buildIndexes();
      this.state = 'whole';
      return loader.rows;
    } catch (error) {
      throw inTable(error, entry.name);
    } finally {
      this.undo();
    }
  }

  private *buildIndexes(): Steps<void> {
    for (const index of this.entry.indexes) {
      yield* fillIndex(this.tx, this.entry, index);
      this.refuseWhenUndone();
    }
  }

  /** Stops the load, unless every row is in. */
  undo(): void {
    if (this.state !== 'loading') return;
    this.state = 'undone';
    this.loader.abandon();
  }

  private refuseWhenUndone(): void {
    if (this.state === 'undone') throw new StorageError('57014', 'the load was stopped: its transaction was ended');
  }
}

/** Options that a load takes; those of running it in slices among them. */
export function checkLoadOptions(options: LoadOptions): void {
  checkOptions('load', options, ['freeze', 'signal', 'onProgress']);
  checkFlag('load', 'freeze', options.freeze);
}

/**
 * The table with files that this subtransaction made and nothing is in: nobody else can see rows there before its commit,
 * nor after its end without one. Before that commit they are written and synced, since nothing of them is in the WAL.
 * PostgreSQL: the conditions of COPY FREEZE, copyfrom.c; `smgrDoPendingSyncs`, storage.c.
 */
function ownEmptyTable(tx: DatabaseTransaction, entry: CatalogEntry): CatalogEntry {
  const { relations } = tx.core.parts;
  const relation = relations.handleOf(entry);
  const isEmpty = relation.blockCount() === 0;
  if (!isEmpty) refuseRows(tx, entry);
  const xid = tx.inner.writeXid();
  tx.core.locks.exclude(entry, tx, tx.inner.level, 'loaded');
  const isOwn = isEmpty && tx.schema.madeBy(entry.name) === xid;
  // An index's first page is in the WAL, and would come back over what is built: it gets another file in any case.
  const own = isOwn ? replaceIndexFiles(tx, entry) : replaceFiles(tx, entry);
  const loaded = relations.handleOf(own);
  tx.inner.onEnd({
    beforeCommit() {
      loaded.flush();
      for (const fork of [loaded.main, loaded.vm]) if (fork.exists()) fork.sync();
    },
  });
  return own;
}

/**
 * Refuses a table in which there are rows, for the statement or for those that come after it: a snapshot may be older than
 * the last commit. What other open transactions have written nobody sees yet, but they use the table.
 */
function refuseRows(tx: DatabaseTransaction, entry: CatalogEntry): void {
  const { inner } = tx;
  const now = rowsSeen(tx, entry, inner.latestSnapshot());
  const seen = inner.isolation === 'repeatable read' ? rowsSeen(tx, entry, inner.snapshot()) : now;
  if (now === 0 && seen === 0) return;
  if (now > 0 && seen > 0) {
    throw new StorageError('55000', `table "${entry.name}" is not empty: rows can be frozen only in a new table`, {
      hint: 'Load with freeze: false (--no-freeze), which adds to what is there.',
    });
  }
  const happened = now > 0 ? 'have come' : 'have gone';
  throw new StorageError('40001', `table "${entry.name}" cannot be loaded: rows ${happened} since the snapshot`, {
    detail: 'A load with frozen rows takes the place of all that the table holds.',
    hint: 'Roll back and run the whole transaction again.',
  });
}

function rowsSeen(tx: DatabaseTransaction, entry: CatalogEntry, snapshot: Snapshot): number {
  try {
    return heapCount(tx.core.parts.relations.handleOf(entry), { snapshot }).rows;
  } finally {
    snapshot.release();
  }
}

function checkBatch(entry: CatalogEntry, { length, columns }: LoadBatch): void {
  const names = entry.descriptor.columns.map((column) => column.name);
  if (columns.length !== names.length) {
    throw new TypeError(`table "${entry.name}" has ${names.length} columns, and the batch ${columns.length}`);
  }
  columns.forEach((vector, i) => {
    if (!(length >= 0 && length <= vectorCapacity(vector))) {
      throw new RangeError(
        `a batch of ${String(length)} rows for table "${entry.name}": the vector of column "${names[i]}" has room for ${vectorCapacity(vector)}`,
      );
    }
  });
}
