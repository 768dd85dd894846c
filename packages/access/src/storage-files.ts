// Files of relations come, go and shrink in step with the WAL and the pool. PostgreSQL: catalog/storage.c.
import { type BlockNumber, ForkNumber, StorageError, type Xid } from '@blockwright/base';
import type { BufferPool } from '@blockwright/bufmgr';
import type { BlockGeometry } from '@blockwright/geometry';
import { type PageMemory, pageIsNew } from '@blockwright/page';
import type { Fork, StoredRelation } from '@blockwright/smgr';
import { RM_SMGR } from '@blockwright/wal';
import type { Relation } from './relation.ts';

/** A fork was made. PostgreSQL: `XLOG_SMGR_CREATE`, storage_xlog.h. */
export const XLOG_SMGR_CREATE = 0x10;
/** A relation was cut. PostgreSQL: `XLOG_SMGR_TRUNCATE`, storage_xlog.h. */
export const XLOG_SMGR_TRUNCATE = 0x20;

const TRUNCATE_BYTES = 20;

const FORKS: readonly ForkNumber[] = [ForkNumber.main, ForkNumber.fsm, ForkNumber.vm, ForkNumber.init];

/** How a map follows its heap when that is cut. The package of the map makes one; redo uses it as well. */
export interface MapTruncation {
  readonly fork: ForkNumber;
  /** Blocks that the map keeps for a heap of so many. */
  blocksFor(g: BlockGeometry, heapBlocks: BlockNumber): BlockNumber;
  /** Whether the last of them speaks of heap blocks that go. */
  hasTail(g: BlockGeometry, heapBlocks: BlockNumber): boolean;
  /** Makes it forget them. */
  clearTail(m: PageMemory, base: number, g: BlockGeometry, heapBlocks: BlockNumber): void;
  /** The map was cut. */
  moved?(): void;
}

/**
 * Makes the files of a new relation: the main fork, and of an unlogged one the init fork. The record is durable before the
 * files are there, so that a crash leaves none that recovery does not know of.
 * @throws StorageError 58P02 when a file of that name is there; nothing was logged then.
 */
export function createRelationFiles(relation: Relation, xid: Xid): void {
  for (const fork of relation.unlogged ? [relation.main, relation.init] : [relation.main]) {
    if (fork.exists()) {
      throw new StorageError('58P02', `relation ${relation.name}: the file "${fork.segmentPath(0)}" exists already`);
    }
  }
  logCreation(relation, ForkNumber.main, xid);
  if (relation.unlogged) logCreation(relation, ForkNumber.init, xid);
  const { wal } = relation.log;
  if (wal !== undefined) wal.flush(wal.insertedUpTo);
  relation.main.create();
  if (relation.unlogged) relation.init.create();
}

/** Of an unlogged relation too: its files must be removed when the transaction does not commit. */
function logCreation(relation: Relation, fork: ForkNumber, xid: Xid): void {
  const { wal } = relation.log;
  const { locator } = relation.storage;
  if (wal === undefined || locator === undefined) return;
  wal.reserve(64);
  const { record } = wal;
  record.begin(RM_SMGR, XLOG_SMGR_CREATE);
  record.u32(locator.tablespace);
  record.u32(locator.database);
  record.u32(locator.relfilenode);
  record.u32(fork);
  wal.insert(xid);
}

/**
 * Cuts a relation to `blocks` blocks, and its maps with it. The record is durable before anything is cut; a failure after
 * that stops the engine, since pages of memory are gone whose files still have them. A map that no truncation speaks of is
 * removed of all its blocks, which costs time and no rows. PostgreSQL: `RelationTruncate`.
 * @throws StorageError 55006 when a page that goes is pinned, 53100 when there is no room for the record: nothing has
 * changed then. RangeError when the relation has fewer blocks.
 */
export function truncateRelation(
  relation: Relation,
  blocks: BlockNumber,
  maps: readonly MapTruncation[] = [],
  xid: Xid = 0,
): void {
  const { pool, log, main, geometry } = relation;
  const end = main.blockCount();
  if (!Number.isInteger(blocks) || blocks < 0 || blocks > end) {
    throw new RangeError(`cannot truncate ${relation.name} to ${String(blocks)} blocks, it has ${end}`);
  }
  if (blocks === end) return;
  const cuts = [relation.fsm, relation.vm]
    .filter((fork) => fork.exists())
    .map((fork) => new Cut(fork, geometry, blocks, maps));
  for (const cut of cuts) refusePinned(pool, cut.fork, cut.keep);
  refusePinned(pool, main, blocks);
  const tails = cuts.filter((cut) => cut.hasTail);
  const buffers = tails.map((cut) => pool.pinZeroOnError(cut.fork, cut.keep - 1));
  try {
    log.begin(relation, RM_SMGR, XLOG_SMGR_TRUNCATE, tails.length, TRUNCATE_BYTES);
    try {
      putTruncate(relation, blocks);
      tails.forEach((cut, i) => {
        cut.clearTail(pool.memory(buffers[i]), pool.base(buffers[i]));
        log.page(i, cut.fork, buffers[i], 0);
      });
      const lsn = log.finish(xid);
      if (lsn !== 0) log.wal?.flush(lsn);
      for (const id of buffers) pool.unpin(id);
      buffers.length = 0;
      for (const cut of cuts) cut.apply(pool);
      cutFork(pool, main, blocks);
    } catch (error) {
      log.panic(error);
    }
  } finally {
    for (const id of buffers) pool.unpin(id);
  }
}

/** One map of a relation that is cut. */
class Cut {
  readonly fork: Fork;
  /** Blocks that stay. */
  readonly keep: BlockNumber;
  readonly hasTail: boolean;
  private readonly geometry: BlockGeometry;
  private readonly heapBlocks: BlockNumber;
  private readonly map: MapTruncation | undefined;

  constructor(fork: Fork, geometry: BlockGeometry, heapBlocks: BlockNumber, maps: readonly MapTruncation[]) {
    const map = maps.find((one) => one.fork === fork.forkNumber);
    const blocks = fork.blockCount();
    const wanted = map?.blocksFor(geometry, heapBlocks) ?? 0;
    this.fork = fork;
    this.geometry = geometry;
    this.heapBlocks = heapBlocks;
    this.map = map;
    this.keep = wanted < blocks ? wanted : blocks;
    // A map that ends before says nothing of the blocks that go.
    this.hasTail = map !== undefined && wanted > 0 && wanted <= blocks && map.hasTail(geometry, heapBlocks);
  }

  clearTail(m: PageMemory, base: number): void {
    if (!pageIsNew(m, base)) this.map?.clearTail(m, base, this.geometry, this.heapBlocks);
  }

  apply(pool: BufferPool): void {
    cutFork(pool, this.fork, this.keep);
    this.map?.moved?.();
  }
}

function putTruncate(relation: Relation, blocks: BlockNumber): void {
  const { log, storage } = relation;
  const { locator } = storage;
  if (locator === undefined) return; // read only, and never cut
  log.u32(locator.tablespace);
  log.u32(locator.database);
  log.u32(locator.relfilenode);
  log.u32(blocks);
  log.u32(0); // PostgreSQL has flags here, which say which forks are cut: all of ours are
}

/** Pages from `blocks` on leave the pool, then the file. */
function cutFork(pool: BufferPool, fork: Fork, blocks: BlockNumber): void {
  pool.dropFork(fork, blocks);
  if (fork.blockCount() > blocks) fork.truncate(blocks);
}

function refusePinned(pool: BufferPool, fork: Fork, from: BlockNumber): void {
  const pinned = pool.pinned().find((pin) => pin.fork === fork.name && pin.block >= from);
  if (pinned === undefined) return;
  throw new StorageError(
    '55006',
    `cannot truncate ${fork.name} to ${from} blocks while block ${pinned.block} is pinned`,
    {
      hint: 'Close scans and cursors first.',
    },
  );
}

/** Takes a relation's pages out of the pool, changes and all. @throws StorageError 55006 when one is pinned */
export function dropBuffers(pool: BufferPool, relation: StoredRelation): void {
  for (const fork of FORKS) pool.dropFork(relation.fork(fork));
}
