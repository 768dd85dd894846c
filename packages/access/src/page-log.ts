// One call changes a page. Whoever changes pages pins them, says what it is about to do (`begin`: from here on nothing
// can fail), changes them, registers each (`page`) with what redo needs, and ends the change (`finish`): the record is in
// the WAL, and every page has its LSN and is dirty. PostgreSQL: xloginsert.c, and the critical sections around its use.
import {
  type BlockNumber,
  type BufferId,
  checkOptions,
  ForkNumber,
  formatLsn,
  fromWords,
  highWord,
  isStorageError,
  type Lsn,
  lowWord,
  lsnText,
  type RelationLocator,
  StorageError,
  type Xid,
} from '@blockwright/base';
import type { BufferPool } from '@blockwright/bufmgr';
import type { BlockGeometry } from '@blockwright/geometry';
import { type PageMemory, pageIsNew, pageLower, pageLsnHigh, pageLsnLow, pageSetLsn } from '@blockwright/page';
import type { Fork } from '@blockwright/smgr';
import { RM_XLOG, type WalWriter } from '@blockwright/wal';
import {
  holeLength,
  PAGE_FORCE_IMAGE,
  PAGE_KEEP_DATA,
  PAGE_NO_IMAGE,
  PAGE_STANDARD,
  PAGE_WILL_INIT,
} from './page-image.ts';
import type { Relation } from './relation.ts';

/** An image of a page whose hint bits were set. PostgreSQL: `XLOG_FPI_FOR_HINT`, pg_control.h. */
export const XLOG_FPI_FOR_HINT = 0xa0;
/** Images of pages, and nothing else. PostgreSQL: `XLOG_FPI`. */
export const XLOG_FPI = 0xb0;

/** The most pages of one record. PostgreSQL: `XLR_MAX_BLOCK_ID` + 1. */
export const MOST_PAGES = 33;

/** Record header, and the header of the longest main data. */
const RECORD_BYTES = 24 + 5;
/** Headers of a block reference with an image. */
const REFERENCE_BYTES = 4 + 5 + 12 + 4;

export interface PageLogOptions {
  readonly geometry: BlockGeometry;
  /** Without one, nothing is logged: pages only become dirty. */
  readonly wal?: WalWriter | undefined;
  /** Whether hint bits need an image: pages have checksums, and a torn page would be a wrong one. */
  readonly hintImages: boolean;
  /** Whether a page's first change after {@link PageLog.redoPoint} is logged as an image. Default true. */
  readonly fullPageImages?: boolean;
  /** Told of pages that changed and whose LSN the WAL had not reached. */
  readonly onWarning?: ((message: string) => void) | undefined;
}

/** After a full disk, so many pages with hints are let go before the WAL is asked for room again, which costs time. */
const HINTS_SKIPPED = 1000;

/** How pages are changed and logged: one an engine. */
export class PageLog {
  readonly wal: WalWriter | undefined;
  /** Where redo would start: a page whose LSN is not beyond it is logged whole when it changes. Set by a checkpoint. */
  redoPoint: Lsn = 0;
  /** Redo is going on: no hint is kept. */
  recovering = false;
  private readonly geometry: BlockGeometry;
  private readonly blockShift: number;
  private readonly hintImages: boolean;
  private readonly fullPageImages: boolean;
  private readonly buffers: Int32Array = new Int32Array(MOST_PAGES);
  private count = 0;
  private open = false;
  private logged = false;
  private pool: BufferPool | undefined = undefined;
  private failure: unknown = undefined;
  private hintsToSkip = 0;
  private readonly onWarning: ((message: string) => void) | undefined;
  /** What to warn of when the change has ended. */
  private warning = '';

  constructor(options: PageLogOptions) {
    checkOptions('PageLog', options, ['geometry', 'wal', 'hintImages', 'fullPageImages', 'onWarning']);
    this.wal = options.wal;
    this.geometry = options.geometry;
    this.blockShift = options.geometry.shift;
    this.hintImages = options.hintImages;
    this.fullPageImages = options.fullPageImages ?? true;
    this.onWarning = options.onWarning;
  }

  /**
   * Begins a change of at most `pages` pinned pages, with at most `dataBytes` of data: takes room in the WAL for it, with
   * images of all. Nothing may have changed before; from here to {@link finish} nothing may throw.
   * @throws StorageError 53100 when the disk is full, 58030 when it failed: nothing has changed.
   */
  begin(relation: Relation, rmgr: number, info: number, pages: number, dataBytes: number): void {
    if (this.open) throw new TypeError('a change of pages has begun and was not finished');
    if (this.failure !== undefined) throw stopped(this.failure);
    this.pool = relation.pool;
    this.count = 0;
    const logged = relation.isLogged;
    this.logged = logged;
    if (logged) {
      const wal = this.wal as WalWriter;
      wal.reserve(RECORD_BYTES + pages * REFERENCE_BYTES + (pages << this.blockShift) + dataBytes);
      wal.record.begin(rmgr, info);
      this.hintsToSkip = 0;
    }
    this.open = true;
  }

  /**
   * Registers a page that was changed, and decides whether its image goes with the record; what is put next is its data.
   * @param flags `PAGE_*`
   */
  page(blockId: number, fork: Fork, buffer: BufferId, flags: number): void {
    this.buffers[this.count++] = buffer;
    if (!this.logged) return;
    const pool = this.pool as BufferPool;
    const { record } = this.wal as WalWriter;
    const locator = fork.relation.locator as RelationLocator;
    record.block(blockId, locator, fork.forkNumber, pool.block(buffer), (flags & PAGE_WILL_INIT) !== 0);
    const m = pool.memory(buffer);
    const base = pool.base(buffer);
    if ((flags & PAGE_FORCE_IMAGE) === 0) {
      if ((flags & (PAGE_NO_IMAGE | PAGE_WILL_INIT)) !== 0 || !this.fullPageImages) return;
      const lsn = pageLsn(m, base);
      if (lsn > this.redoPoint) {
        if (lsn <= (this.wal as WalWriter).insertedUpTo) return;
        this.noteFuture(m, base, fork, pool.block(buffer));
      }
    }
    this.image(m, base, flags);
  }

  /** Puts go to the record's own data again, as they do before the first page. */
  main(): void {
    if (this.logged) (this.wal as WalWriter).record.main();
  }

  u8(value: number): void {
    if (this.logged) (this.wal as WalWriter).record.u8(value);
  }

  u16(value: number): void {
    if (this.logged) (this.wal as WalWriter).record.u16(value);
  }

  u32(value: number): void {
    if (this.logged) (this.wal as WalWriter).record.u32(value);
  }

  bytes(source: Uint8Array, from: number, length: number): void {
    if (this.logged) (this.wal as WalWriter).record.bytes(source, from, length);
  }

  /**
   * Ends the change: the record is inserted, and every registered page has its LSN and is dirty.
   * @returns the LSN; 0 when the change was not logged: the pages are only dirty.
   */
  finish(xid: Xid): Lsn {
    const pool = this.pool as BufferPool;
    const { buffers, count } = this;
    this.open = false;
    let lsn = 0;
    if (this.logged) {
      lsn = this.insert(xid);
      const high = highWord(lsn);
      const low = lowWord(lsn);
      for (let i = 0; i < count; i++) stamp(pool.memory(buffers[i]), pool.base(buffers[i]), high, low);
    }
    for (let i = 0; i < count; i++) pool.markDirty(buffers[i]);
    if (this.warning !== '') this.warn();
    return lsn;
  }

  /** Why the engine has stopped, or `undefined`. */
  get failed(): unknown {
    return this.failure ?? this.wal?.failed;
  }

  /**
   * Something threw after a page had changed, or what the WAL says was not done: what is in memory is not to be
   * trusted, nothing more is logged, and no page is written. Recovery decides.
   */
  panic(cause: unknown): never {
    this.open = false;
    this.failure ??= cause; // the first one is the reason
    this.wal?.fail(this.failure);
    throw stopped(this.failure);
  }

  /**
   * Hint bits of a pinned page were set: it becomes dirty, and if that is its first change after the redo point and pages
   * have checksums, its image goes into the WAL first. PostgreSQL: `MarkBufferDirtyHint`, bufmgr.c.
   * @returns false when the hints are not kept, and the page is as dirty as it was: during recovery, when the disk is full,
   * and when the WAL has not reached the page's LSN.
   */
  hint(relation: Relation, fork: Fork, buffer: BufferId): boolean {
    if (this.recovering) return false;
    const { pool } = relation;
    const isDirty = pool.isDirty(buffer);
    const lsn = pageLsn(pool.memory(buffer), pool.base(buffer));
    // A page by which a file was made longer is dirty, and no record has it yet.
    if (isDirty && lsn !== 0) return true;
    if (this.hintImages && this.fullPageImages && relation.isLogged) {
      if (lsn <= this.redoPoint) {
        if (!this.logHint(pool, fork, buffer)) return isDirty;
      } else if (lsn > (this.wal as WalWriter).insertedUpTo) {
        return false;
      }
    }
    pool.markDirty(buffer);
    return true;
  }

  /**
   * The WAL has not reached the page's LSN: redo would take the page for newer than the change, so it is logged whole, and
   * has an LSN of ours from now on. The page may be another data directory's: that is to be known.
   */
  private noteFuture(m: PageMemory, base: number, fork: Fork, block: BlockNumber): void {
    const lsn = formatLsn(pageLsnHigh(m, base), pageLsnLow(m, base));
    const end = lsnText((this.wal as WalWriter).insertedUpTo);
    this.warning = `block ${block} of ${fork.name} had LSN ${lsn}, which the WAL had not reached: it ended at ${end}`;
  }

  private warn(): void {
    const { warning } = this;
    this.warning = '';
    this.onWarning?.(warning);
  }

  private insert(xid: Xid): Lsn {
    try {
      return (this.wal as WalWriter).insert(xid);
    } catch (error) {
      return this.panic(error); // more was put than was announced: the pages are changed already
    }
  }

  private image(m: PageMemory, base: number, flags: number): void {
    const { record } = this.wal as WalWriter;
    const hole = (flags & PAGE_STANDARD) === 0 ? 0 : holeLength(m, base, this.geometry);
    const holeOffset = hole === 0 ? 0 : pageLower(m, base);
    record.image(m.u8, base, this.geometry.size, holeOffset, hole, (flags & PAGE_KEEP_DATA) !== 0);
  }

  private logHint(pool: BufferPool, fork: Fork, buffer: BufferId): boolean {
    if (this.open) throw new TypeError('a change of pages has begun: hints are set before it or after');
    if (this.hintsToSkip > 0) {
      this.hintsToSkip--;
      return false;
    }
    const wal = this.wal as WalWriter;
    try {
      wal.reserve(RECORD_BYTES + REFERENCE_BYTES + this.geometry.size);
    } catch (error) {
      if (!isStorageError(error) || error.code !== '53100') throw error;
      this.hintsToSkip = HINTS_SKIPPED;
      return false;
    }
    const m = pool.memory(buffer);
    const base = pool.base(buffer);
    wal.record.begin(RM_XLOG, XLOG_FPI_FOR_HINT);
    wal.record.block(0, fork.relation.locator as RelationLocator, fork.forkNumber, pool.block(buffer), false);
    this.image(m, base, fork.forkNumber === ForkNumber.main ? PAGE_STANDARD : 0);
    const lsn = wal.insert(0);
    stamp(m, base, highWord(lsn), lowWord(lsn));
    return true;
  }
}

/** A page's LSN as one number: 53 bits tell those of this WAL apart from nonsense. */
function pageLsn(m: PageMemory, base: number): Lsn {
  return fromWords(pageLsnHigh(m, base), pageLsnLow(m, base));
}

/** A page that is still all zero keeps no LSN: it would be one no more. */
function stamp(m: PageMemory, base: number, high: number, low: number): void {
  if (!pageIsNew(m, base)) pageSetLsn(m, base, high, low);
}

function stopped(cause: unknown): StorageError {
  const known = isStorageError(cause);
  return new StorageError(known ? cause.code : 'XX000', `the engine has stopped: ${reason(cause)}`, {
    detail: known ? cause.detail : undefined,
    hint: 'Close the data directory and open it again: recovery decides what is in it.',
    cause,
  });
}

function reason(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
