// Another call brings a page for redo: pinned, made or lengthened if need be, restored when the record holds its image,
// and judged by its LSN. PostgreSQL: `XLogReadBufferForRedoExtended`, xlogutils.c.
import { type BlockNumber, type BufferId, ForkNumber, type RelationLocator } from '@blockwright/base';
import type { BufferPool } from '@blockwright/bufmgr';
import {
  type Compaction,
  CompactionScratch,
  type PageMemory,
  pageIsNew,
  pageLsnHigh,
  pageLsnLow,
  pageMemory,
  pageSetLsn,
} from '@blockwright/page';
import type { Fork, StorageManager, StoredRelation } from '@blockwright/smgr';
import type { WalRecord } from '@blockwright/wal';
import { MissingPages } from './missing-pages.ts';
import { RedoStats } from './redo-stats.ts';
import { dropBuffers } from './storage-files.ts';

/** The page is there, and older than the record: it is to be changed. */
export const REDO_NEEDED = 0;
/** The change is on the page already. */
export const REDO_DONE = 1;
/** The record's image replaced the page: the change is in it. */
export const REDO_RESTORED = 2;
/** The page is not there, or all zero. It is not pinned. */
export const REDO_MISSING = 3;

export interface RedoPagesOptions {
  readonly pool: BufferPool;
  readonly storage: StorageManager;
  readonly stats?: RedoStats;
  /** How pages are compacted; `adaptive` when not given. */
  readonly compaction?: Compaction;
}

/** Pages for redo: one a redo, after `StorageManager.fillGaps`. */
export class RedoPages {
  readonly pool: BufferPool;
  readonly storage: StorageManager;
  readonly stats: RedoStats;
  readonly compaction: Compaction;
  readonly scratch: CompactionScratch;
  /** Pages that were not there. */
  readonly missing: MissingPages = new MissingPages();
  /** The page that was asked for last: pinned until {@link release}. -1 after `REDO_MISSING`. */
  buffer: BufferId = -1;
  memory: PageMemory = pageMemory(new ArrayBuffer(8));
  base = 0;
  private readonly relations: Map<number, StoredRelation> = new Map();
  private latest: StoredRelation | undefined = undefined;
  private readonly size: number;

  constructor(options: RedoPagesOptions) {
    this.pool = options.pool;
    this.storage = options.storage;
    this.stats = options.stats ?? new RedoStats();
    this.compaction = options.compaction ?? 'adaptive';
    this.size = options.pool.geometry.size;
    this.scratch = new CompactionScratch(options.pool.geometry);
  }

  /**
   * Brings the page of the record's block reference `index` (not its id). Pages of maps are made when they are not there,
   * and read as zeros when they are damaged.
   * @returns one of `REDO_*`; the page is pinned unless it is `REDO_MISSING`.
   */
  fetch(record: WalRecord, index: number): number {
    this.stats.pages++;
    if (record.hasImage[index] !== 0) return this.restore(record, index);
    const fork = this.fork(record, index);
    const block = record.block[index];
    if (fork.forkNumber === ForkNumber.fsm || fork.forkNumber === ForkNumber.vm) {
      this.ensure(fork, block);
      this.pin(fork, block, true);
      return this.judge(record);
    }
    if (!this.has(fork, block)) return this.miss(record, index, false);
    this.pin(fork, block, false);
    if (!pageIsNew(this.memory, this.base)) return this.judge(record);
    this.pool.unpin(this.buffer);
    return this.miss(record, index, true);
  }

  /**
   * Brings the page of a block reference that redo makes anew: all zero and not read, in a file that is made and
   * lengthened if need be.
   * @returns `REDO_NEEDED`; `REDO_RESTORED` when the record has an image of it after all.
   */
  init(record: WalRecord, index: number): number {
    this.stats.pages++;
    if (record.hasImage[index] !== 0) return this.restore(record, index);
    this.zeroed(record, index);
    return REDO_NEEDED;
  }

  /** The page was changed as the record says. */
  changed(buffer: BufferId, record: WalRecord): void {
    const m = this.pool.memory(buffer);
    const base = this.pool.base(buffer);
    if (!pageIsNew(m, base)) pageSetLsn(m, base, record.endHigh, record.endLow);
    this.pool.markDirty(buffer);
  }

  /** Gives a page back. */
  release(buffer: BufferId): void {
    this.pool.unpin(buffer);
  }

  /** The relation of a block reference, its files opened when they are first used. */
  relation(record: WalRecord, index: number): StoredRelation {
    const relfilenode = record.relfilenode[index];
    let relation = this.latest;
    if (relation !== undefined && isOf(relation, record, index)) return relation;
    relation = this.relations.get(relfilenode);
    if (relation === undefined || !isOf(relation, record, index)) {
      const started = this.stats.timing ? performance.now() : 0;
      const tablespace = record.tablespace[index];
      relation = this.storage.open({ tablespace, database: record.database[index], relfilenode });
      this.relations.set(relfilenode, relation);
      if (this.stats.timing) this.stats.openMs += performance.now() - started;
    }
    this.latest = relation;
    return relation;
  }

  /**
   * A record says that the relation was removed: its pages, its files and what was missed of it are forgotten.
   * PostgreSQL: `DropRelationFiles`, md.c.
   */
  removeRelation(locator: RelationLocator): void {
    const relation = this.storage.open(locator);
    dropBuffers(this.pool, relation);
    relation.unlink();
    relation.close();
    this.missing.forgetRelation(locator);
  }

  /** Puts the record's image in the page's place; what was there is not read. PostgreSQL: `RestoreBlockImage`. */
  private restore(record: WalRecord, index: number): number {
    this.zeroed(record, index);
    const { u8 } = this.memory;
    const { base } = this;
    const from = record.imageAt[index];
    const hole = record.holeLength[index];
    const before = hole === 0 ? this.size : record.holeOffset[index];
    u8.set(record.bytes.subarray(from, from + before), base);
    if (hole !== 0) u8.set(record.bytes.subarray(from + before, from + this.size - hole), base + before + hole);
    this.changed(this.buffer, record);
    this.stats.restored++;
    return REDO_RESTORED;
  }

  private zeroed(record: WalRecord, index: number): void {
    const fork = this.fork(record, index);
    const block = record.block[index];
    this.ensure(fork, block);
    const started = this.stats.timing ? performance.now() : 0;
    this.lend(this.pool.pinZeroed(fork, block));
    if (this.stats.timing) this.stats.lookupMs += performance.now() - started;
  }

  private pin(fork: Fork, block: BlockNumber, zeroOnError: boolean): void {
    const started = this.stats.timing ? performance.now() : 0;
    this.lend(zeroOnError ? this.pool.pinZeroOnError(fork, block) : this.pool.pin(fork, block));
    if (this.stats.timing) this.stats.lookupMs += performance.now() - started;
  }

  private lend(buffer: BufferId): void {
    this.buffer = buffer;
    this.memory = this.pool.memory(buffer);
    this.base = this.pool.base(buffer);
  }

  /** By the page's LSN: words compared as unsigned, so that a nonsense LSN is a late one and nothing else. */
  private judge(record: WalRecord): number {
    const high = pageLsnHigh(this.memory, this.base);
    const endHigh = record.endHigh >>> 0;
    if (high < endHigh) return REDO_NEEDED;
    if (high === endHigh && pageLsnLow(this.memory, this.base) < record.endLow >>> 0) return REDO_NEEDED;
    this.stats.done++;
    return REDO_DONE;
  }

  private miss(record: WalRecord, index: number, zero: boolean): number {
    const tablespace = record.tablespace[index];
    const locator = { tablespace, database: record.database[index], relfilenode: record.relfilenode[index] };
    this.missing.note(locator, record.fork[index] as ForkNumber, record.block[index], zero, record.lsn);
    this.stats.missing++;
    this.buffer = -1;
    return REDO_MISSING;
  }

  private fork(record: WalRecord, index: number): Fork {
    return this.relation(record, index).fork(record.fork[index] as ForkNumber);
  }

  private has(fork: Fork, block: BlockNumber): boolean {
    if (!this.stats.timing) return fork.hasBlockInRedo(block);
    const started = performance.now();
    const has = fork.hasBlockInRedo(block);
    this.stats.openMs += performance.now() - started;
    return has;
  }

  private ensure(fork: Fork, block: BlockNumber): void {
    if (!this.stats.timing) return fork.ensureBlocks(block + 1);
    const started = performance.now();
    fork.ensureBlocks(block + 1);
    this.stats.openMs += performance.now() - started;
  }
}

function isOf(relation: StoredRelation, record: WalRecord, index: number): boolean {
  const { locator } = relation;
  return (
    locator !== undefined &&
    locator.relfilenode === record.relfilenode[index] &&
    locator.database === record.database[index] &&
    locator.tablespace === record.tablespace[index] &&
    !relation.closed
  );
}
