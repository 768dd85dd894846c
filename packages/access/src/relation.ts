// The handle that heap, maps and indexes share: a stored relation, the pool that its pages go through, its forks, and how
// its changes are logged.
import { type BlockNumber, ForkNumber } from '@blockwright/base';
import type { BufferPool } from '@blockwright/bufmgr';
import type { BlockGeometry } from '@blockwright/geometry';
import type { Compaction } from '@blockwright/page';
import type { Fork, StoredRelation } from '@blockwright/smgr';
import { PageLog } from './page-log.ts';

/** What a {@link Relation} is made of. */
export interface RelationOptions {
  readonly pool: BufferPool;
  readonly storage: StoredRelation;
  /** What messages call it, such as `public.lineitem`; its path when not given. */
  readonly name?: string;
  /** How its pages are changed and logged; without one, nothing is logged. */
  readonly log?: PageLog | undefined;
  /** Its changes are not logged: after a crash it is empty. PostgreSQL: `RELPERSISTENCE_UNLOGGED`. */
  readonly unlogged?: boolean;
  /** How its pages are compacted; `adaptive` when not given. */
  readonly compaction?: Compaction;
  /** How full, in percent, inserts make a page, 10 to 100; 100 when not given. PostgreSQL: `RelationGetFillFactor`. */
  readonly fillfactor?: number;
}

/** An open relation. PostgreSQL: `Relation`, rel.h. */
export class Relation {
  readonly pool: BufferPool;
  readonly storage: StoredRelation;
  readonly geometry: BlockGeometry;
  readonly name: string;
  readonly main: Fork;
  readonly fsm: Fork;
  readonly vm: Fork;
  /** What an unlogged relation is after a crash. */
  readonly init: Fork;
  readonly log: PageLog;
  /** Whether it is unlogged by its own nature. */
  readonly unlogged: boolean;
  /** Whether its changes go into a WAL. */
  readonly isLogged: boolean;
  readonly compaction: Compaction;
  readonly fillfactor: number;

  /** @throws RangeError when `fillfactor` is no integer from 10 to 100. */
  constructor(options: RelationOptions) {
    const { pool, storage } = options;
    this.pool = pool;
    this.storage = storage;
    this.geometry = pool.geometry;
    this.name = options.name ?? storage.name;
    this.main = storage.fork(ForkNumber.main);
    this.fsm = storage.fork(ForkNumber.fsm);
    this.vm = storage.fork(ForkNumber.vm);
    this.init = storage.fork(ForkNumber.init);
    this.log = options.log ?? new PageLog({ geometry: pool.geometry, hintImages: false });
    this.unlogged = options.unlogged ?? false;
    this.isLogged = !this.unlogged && this.log.wal !== undefined;
    this.compaction = options.compaction ?? 'adaptive';
    this.fillfactor = options.fillfactor ?? 100;
    if (!Number.isInteger(this.fillfactor) || this.fillfactor < 10 || this.fillfactor > 100) {
      throw new RangeError(`fillfactor ${String(this.fillfactor)} is not an integer from 10 to 100`);
    }
  }

  /** Blocks of the main fork. PostgreSQL: `RelationGetNumberOfBlocks`. */
  blockCount(): BlockNumber {
    return this.main.blockCount();
  }

  /** Writes the relation's dirty pages to its files. @returns the blocks written */
  flush(): number {
    const { pool } = this;
    let written = 0;
    for (const fork of this.forks()) written += pool.flushFork(fork);
    return written;
  }

  /**
   * Writes what is dirty, takes the relation's pages out of the pool, and closes its files.
   * @throws StorageError 55006 when one of its pages is pinned; it is still open then.
   */
  close(): void {
    this.flush();
    this.forget();
    this.storage.close();
  }

  /**
   * Removes the relation's files at once; its pages leave the pool unwritten, so none can reach a later file of that
   * name. Not for a relation that a WAL knows: see `RemovedFiles`.
   * @throws StorageError 55006 when one of its pages is pinned.
   */
  unlink(): void {
    this.forget();
    this.storage.unlink();
  }

  private forget(): void {
    for (const fork of this.forks()) this.pool.dropFork(fork);
  }

  private forks(): readonly Fork[] {
    return [this.main, this.fsm, this.vm, this.init];
  }
}
