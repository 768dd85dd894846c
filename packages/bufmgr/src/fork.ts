// What the pool asks of a relation fork (to be found by a number, to say its size, to read, write and grow by blocks) and
// of a WAL (to be durable up to a page's last change).
import type { BlockNumber, Lsn } from '@blockwright/base';

/**
 * A fork whose blocks the pool can hold. `Fork` of `@blockwright/smgr` is one. PostgreSQL: `SMgrRelation` and a fork
 * number, the front of its `BufferTag`.
 */
export interface BufferedFork {
  /** An int32 of at least 0 that no other fork of this process has, or ever had: pages are found by (id, block). */
  readonly id: number;
  /** What messages call it, such as `base/5/16384_vm`. */
  readonly name: string;
  /** Blocks that the fork has now. */
  blockCount(): number;
  /** Reads `count` blocks from `first` on into `dest`, from byte `at` of it. */
  read(first: BlockNumber, count: number, dest: Uint8Array, at: number): void;
  /** Writes `count` blocks that exist, from byte `at` of `src`. */
  write(first: BlockNumber, count: number, src: Uint8Array, at: number): void;
  /** Adds `count` blocks of zeros; `first` is the block count before. */
  zeroExtend(first: BlockNumber, count: number): void;
}

/** A WAL that is made durable before the pages that it speaks of are written. `WalWriter` of `@blockwright/wal` is one. */
export interface WalFlusher {
  /** The end of the last record: no page's LSN can be beyond it. */
  readonly insertedUpTo: Lsn;
  /** It is durable up to here; a large scan then leaves pages alone that would make it flush. */
  readonly flushedUpTo?: Lsn;
  /** Makes the WAL durable up to `upTo`; cheap when it is. Throws when it failed before. */
  flush(upTo: Lsn): void;
}
