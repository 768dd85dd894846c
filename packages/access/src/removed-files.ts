// Files of relations that a transaction dropped, or made and did not keep. All but the first segment of the main fork go
// at once; that one stays, empty, until the next checkpoint: so the number is not given to another relation whose
// files a replay of the removal would take for the old ones. PostgreSQL: mdunlink, md.c, and `SyncPostCheckpoint`, sync.c.
import { isStorageError, type RelationLocator } from '@blockwright/base';
import type { BufferPool } from '@blockwright/bufmgr';
import type { StorageManager } from '@blockwright/smgr';
import { dropBuffers } from './storage-files.ts';

export interface RemovedFilesOptions {
  readonly pool: BufferPool;
  readonly storage: StorageManager;
  /** Told of files that could not be removed, and of when they are tried again. */
  readonly onWarning?: ((message: string) => void) | undefined;
}

/** Removes files after the transaction has ended, when nothing can be refused any more. */
export class RemovedFiles {
  private readonly pool: BufferPool;
  private readonly storage: StorageManager;
  private readonly onWarning: ((message: string) => void) | undefined;
  /** Main forks left empty since the last checkpoint began, and before that. */
  private waiting: RelationLocator[] = [];
  private old: RelationLocator[] = [];

  constructor(options: RemovedFilesOptions) {
    this.pool = options.pool;
    this.storage = options.storage;
    this.onWarning = options.onWarning;
  }

  /** How many relations still have an empty file. */
  get count(): number {
    return this.waiting.length + this.old.length;
  }

  /**
   * The relation is gone: its pages leave the pool unwritten, its handle is closed, its files are removed but one. What
   * cannot be removed is warned of, and tried again after the next checkpoint.
   */
  remove(locator: RelationLocator): void {
    this.waiting.push(locator);
    this.attempt(locator, (relation) => relation.empty());
  }

  /** A checkpoint has its redo point: what is removed from now on waits for the next one. */
  beforeCheckpoint(): void {
    this.old.push(...this.waiting);
    this.waiting = [];
  }

  /**
   * That checkpoint is durable but for the control file: the names can go, and are synced before it says so. A crash in
   * between replays the removal; one afterwards would leave them for ever.
   */
  afterCheckpoint(): void {
    const gone = this.old;
    this.old = [];
    for (const locator of gone) {
      if (!this.attempt(locator, (relation) => relation.unlink())) this.waiting.push(locator);
    }
  }

  private attempt(locator: RelationLocator, how: (relation: ReturnType<StorageManager['open']>) => void): boolean {
    const relation = this.storage.open(locator);
    try {
      dropBuffers(this.pool, relation);
      how(relation);
      relation.close();
      return true;
    } catch (error) {
      if (!isStorageError(error)) throw error;
      this.onWarning?.(
        `could not remove ${relation.name}, it is tried again after the next checkpoint: ${error.message}`,
      );
      return false;
    }
  }
}
