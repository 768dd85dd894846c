// The parts of an open data directory, put together once: what the façade, its transactions and its loads work on.
import type { PageLog, PendingCreates, RemovedFiles } from '@blockwright/access';
import { nearestName, runSync, StorageError } from '@blockwright/base';
import type { BufferPool } from '@blockwright/bufmgr';
import { Catalog, type CatalogEntry, type CatalogTable, CatalogWriter, type IndexedWriter } from '@blockwright/catalog';
import type { ControlHolder } from '@blockwright/control';
import type { BlockGeometry } from '@blockwright/geometry';
import type { Checkpointer, ObjectIds } from '@blockwright/recovery';
import type { StorageManager } from '@blockwright/smgr';
import type { CommitLog, Snapshot, Transactions } from '@blockwright/transam';
import type { Vfs } from '@blockwright/vfs';
import type { WalWriter } from '@blockwright/wal';
import { FileAges } from './file-ages.ts';
import { indexScanOf } from './index-queries.ts';
import type { IndexScanOptions } from './index-range.ts';
import { OpenScan } from './open-scan.ts';
import type { Relations } from './relations.ts';
import { heapScanOf, type Scan, type ScanOptions } from './scan.ts';
import type { ColumnName, TableDef } from './table.ts';
import { TableIndexes } from './table-indexes.ts';
import { TableLocks } from './table-locks.ts';
import type { DatabaseTransaction } from './transaction.ts';
import type { Upkeep } from './upkeep.ts';

/** What can only be there when the directory is written. */
export interface WritingParts {
  readonly wal: WalWriter;
  readonly checkpointer: Checkpointer;
  readonly oids: ObjectIds;
  readonly removed: RemovedFiles;
  readonly pendingCreates: PendingCreates;
}

export interface CoreParts {
  readonly directory: string;
  readonly geometry: BlockGeometry;
  readonly control: ControlHolder;
  readonly pool: BufferPool;
  readonly storage: StorageManager;
  readonly log: PageLog;
  readonly commitLog: CommitLog;
  readonly transactions: Transactions;
  readonly relations: Relations;
  /** Undefined when the directory is open read-only. */
  readonly writing: WritingParts | undefined;
  readonly upkeep: Upkeep;
  readonly vfs: Vfs;
  /** Bytes that building an index may take before it sorts in files. */
  readonly maintenanceBytes: number;
  readonly onWarning: ((message: string) => void) | undefined;
}

/** One open data directory. */
export class Core {
  readonly parts: CoreParts;
  readonly catalog: Catalog;
  readonly catalogWriter: CatalogWriter;
  readonly locks: TableLocks = new TableLocks();
  readonly indexes: TableIndexes;
  /** Transactions that have not ended. */
  readonly open: Set<DatabaseTransaction> = new Set();
  /** Scans that have not ended, of transactions and outside of any. */
  readonly scans: Set<OpenScan> = new Set();
  /** Of the files that commits have made since the directory was opened. */
  readonly files: FileAges = new FileAges();
  /** Functions of `transactionAsync` that go on, their commits included. */
  readonly running: Set<Promise<unknown>> = new Set();
  /** Whether closing was asked for: no transaction begins any more. */
  closing = false;
  closed = false;
  /** Scans outside of transactions that nobody has any more, and nobody has closed. */
  private readonly droppedScans = new FinalizationRegistry<OpenScan>((scan) => this.endDropped(scan));

  /** @throws StorageError XX001 when the catalogs are damaged. */
  constructor(parts: CoreParts) {
    this.parts = parts;
    const { relations, transactions } = parts;
    this.indexes = new TableIndexes(relations, transactions);
    const snapshot = transactions.snapshot();
    try {
      this.catalog = Catalog.read(
        (relfilenode, name) => relations.handleOf({ relfilenode, name, persistence: 'p', fillfactor: 100 }),
        snapshot,
      );
    } finally {
      snapshot.release();
    }
    this.catalogWriter = new CatalogWriter((table) => this.catalogRowWriter(table));
  }

  /**
   * To be called first by whatever a user calls.
   * @throws StorageError 55000 when the directory was closed, 58030 when the engine has stopped.
   */
  check(): void {
    const { directory, log, storage } = this.parts;
    if (this.closed) throw new StorageError('55000', `data directory "${directory}" is closed`);
    if (log.failed !== undefined) throw stopped(directory, log.failed);
    storage.pending.refuseIfPoisoned();
  }

  /** Whether a disk that failed, or a change that could not be finished, has stopped the engine. */
  get hasStopped(): boolean {
    const { log, storage } = this.parts;
    return log.failed !== undefined || storage.pending.poisoned;
  }

  /** @throws StorageError 25006 when the directory is open read-only. */
  writing(what: string): WritingParts {
    const { writing, directory } = this.parts;
    if (writing !== undefined) return writing;
    throw new StorageError('25006', `cannot ${what}: data directory "${directory}" is open read-only`);
  }

  /** A scan of what `snapshot` sees, for `owner`'s statement; it gives the snapshot back when it ends. */
  scan<Table extends TableDef, Name extends ColumnName<Table>>(
    entry: CatalogEntry,
    options: ScanOptions<Name> | IndexScanOptions<Table, Name>,
    snapshot: Snapshot,
    owner: DatabaseTransaction | undefined,
  ): Scan<Table, Name> {
    const open = new OpenScan(snapshot, entry, owner, owner?.inner.level ?? 0, (ended) => {
      if (this.scans.delete(ended) && owner === undefined) this.locks.release(ended);
    });
    try {
      const scan =
        options.index === undefined
          ? heapScanOf<Table, Name>(this.parts.relations.handleOf(entry), entry.descriptor, options, open)
          : indexScanOf(this.indexes.indexOf(entry, options.index), options, open);
      if (owner === undefined) {
        this.locks.share(entry, open, 0);
        this.droppedScans.register(scan, open);
      }
      this.scans.add(open);
      return scan;
    } catch (error) {
      snapshot.release();
      throw error;
    }
  }

  /** Ends the scans of a transaction, which is about to end, or those of a savepoint and deeper, which is rolled back. */
  closeScansOf(owner: DatabaseTransaction, why: string, level = 0): void {
    for (const scan of [...this.scans]) if (scan.owner === owner && scan.level >= level) scan.stop(why);
  }

  /** A savepoint has ended well: its scans, and the tables it uses, belong to the one around it. */
  savepointReleased(tx: DatabaseTransaction, level: number): void {
    for (const scan of this.scans) if (scan.owner === tx && scan.level >= level) scan.level = level - 1;
    this.locks.releaseSavepoint(tx, level);
  }

  /** Gives back what a scan holds that was dropped open: it would keep old rows from being pruned for ever. */
  endDropped(scan: OpenScan): void {
    if (!this.scans.has(scan)) return;
    scan.release();
    this.parts.onWarning?.(
      `a scan of table "${scan.table}" was neither read to its end nor closed: what it held was given back when nobody had it any more`,
    );
  }

  /** Lets a checkpoint begin or go on; called when a transaction has ended. Throws nothing. */
  tick(): void {
    this.parts.upkeep.tick();
  }

  /** Commits that wait for the disk: what they wait for. */
  readonly committing: Map<DatabaseTransaction, Promise<unknown>> = new Map();

  /** @throws StorageError 55006 while a commit waits for the disk, unless the engine has stopped. */
  refuseWhileCommitting(): void {
    const { size } = this.committing;
    if (size === 0 || this.hasStopped) return;
    throw new StorageError('55006', `${size} ${size === 1 ? 'commit waits' : 'commits wait'} for the disk`, {
      hint: 'Await them, or call closeAsync.',
    });
  }

  /** What closing waits for: functions of `transactionAsync`, and commits that wait for the disk. */
  goingOn(): Promise<unknown>[] {
    return [...this.running, ...this.committing.values()];
  }

  /**
   * Ends everything that is going on, and closes the files: after a checkpoint, unless nothing is written or the engine has
   * stopped. When it throws, all is closed none the less, and the directory counts as crashed.
   */
  shutDown(): void {
    for (const tx of [...this.open]) tx.rollbackToClose();
    for (const scan of [...this.scans]) scan.stop('the database was closed');
    this.closed = true;
    this.parts.upkeep.stop();
    const { writing, pool, storage, commitLog } = this.parts;
    try {
      if (writing !== undefined && !this.hasStopped) runSync(writing.checkpointer.steps('shutdown'));
    } finally {
      writing?.wal.close();
      commitLog.close();
      pool.abandon();
      storage.close();
    }
  }

  private catalogRowWriter(table: CatalogTable): IndexedWriter {
    return this.parts.relations.writerOf(this.catalog.find(table.name) as CatalogEntry);
  }
}

/** @throws StorageError 42P01 for a name that stands for no table, with the one that was probably meant. */
export function unknownTable(name: string, entries: readonly CatalogEntry[]): StorageError | TypeError {
  if (typeof name !== 'string') {
    return new TypeError('a table is asked for by its definition, as table(…) makes it and db.table(name) gives it');
  }
  const nearest = nearestName(
    name,
    entries.map((known) => known.name),
  );
  return new StorageError('42P01', `table "${name}" does not exist`, {
    hint: nearest === undefined ? undefined : `Perhaps "${nearest}" was meant.`,
  });
}

/** @throws StorageError 42704 for a name that stands for no index, with the one that was probably meant. */
export function unknownIndex(name: string, entries: readonly CatalogEntry[]): StorageError | TypeError {
  if (typeof name !== 'string') return new TypeError(`an index is named by a string, not ${String(name)}`);
  const nearest = nearestName(
    name,
    entries.flatMap(({ indexes }) => indexes.map((index) => index.name)),
  );
  return new StorageError('42704', `index "${name}" does not exist`, {
    hint: nearest === undefined ? undefined : `Perhaps "${nearest}" was meant.`,
  });
}

function stopped(directory: string, cause: unknown): StorageError {
  return new StorageError('58030', `the engine has stopped: data directory "${directory}" is not used any more`, {
    detail: cause instanceof Error ? cause.message : String(cause),
    hint: 'Close the data directory and open it again: what reached the disk is decided then.',
    cause,
  });
}
