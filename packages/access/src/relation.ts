// The handle that heap, maps and indexes share: a stored relation, the pool that its pages go through, and its forks.
import { type BlockNumber, ForkNumber } from '@blockwright/base';
import type { BufferPool } from '@blockwright/bufmgr';
import type { BlockGeometry } from '@blockwright/geometry';
import type { Fork, StoredRelation } from '@blockwright/smgr';

/** What a {@link Relation} is made of. */
export interface RelationOptions {
  readonly pool: BufferPool;
  readonly storage: StoredRelation;
  /** What messages call it, such as `public.lineitem`; its path when not given. */
  readonly name?: string;
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

  constructor(options: RelationOptions) {
    const { pool, storage } = options;
    this.pool = pool;
    this.storage = storage;
    this.geometry = pool.geometry;
    this.name = options.name ?? storage.name;
    this.main = storage.fork(ForkNumber.main);
    this.fsm = storage.fork(ForkNumber.fsm);
    this.vm = storage.fork(ForkNumber.vm);
  }

  /** Blocks of the main fork. PostgreSQL: `RelationGetNumberOfBlocks`. */
  blockCount(): BlockNumber {
    return this.main.blockCount();
  }

  /** Writes the relation's dirty pages to its files. @returns the blocks written */
  flush(): number {
    const { pool } = this;
    return pool.flushFork(this.main) + pool.flushFork(this.fsm) + pool.flushFork(this.vm);
  }

  /**
   * Cuts the main fork to `blocks` blocks; pages beyond leave the pool unwritten. The maps are their packages' duty.
   * PostgreSQL: `RelationTruncate`.
   * @throws StorageError 55006 when such a page is pinned; nothing has changed then.
   */
  truncate(blocks: BlockNumber): void {
    this.pool.dropFork(this.main, blocks);
    this.main.truncate(blocks);
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
   * Removes the relation's files; its pages leave the pool unwritten, so none can reach a later file of that name.
   * @throws StorageError 55006 when one of its pages is pinned.
   */
  unlink(): void {
    this.forget();
    this.storage.unlink();
  }

  private forget(): void {
    for (const fork of [this.main, this.fsm, this.vm]) this.pool.dropFork(fork);
  }
}
