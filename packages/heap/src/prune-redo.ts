// A PRUNE record read back: for redo, and for describing it. PostgreSQL: `heap_xlog_prune_freeze`, heapam_xlog.c;
// `heap_xlog_deserialize_prune_and_freeze`, heapdesc.c.
import {
  cannotRedo,
  needBlockData,
  needData,
  needSaneBounds,
  REDO_MISSING,
  REDO_NEEDED,
  type RedoPages,
  redoBlock,
} from '@blockwright/access';
import { ForkNumber, isStorageError } from '@blockwright/base';
import {
  markLinePointerDead,
  markLinePointerRedirect,
  markLinePointerUnused,
  type PageMemory,
  pageMaxOffset,
  pageRepairFragmentation,
  pageTruncateLinePointerArray,
} from '@blockwright/page';
import type { WalRecord } from '@blockwright/wal';
import { freezeTuple } from './freeze.ts';
import {
  BLOCK_NEW,
  FREEZE_PLAN_BYTES,
  XLHP_CLEANUP_LOCK,
  XLHP_HAS_DEAD_ITEMS,
  XLHP_HAS_FREEZE_PLANS,
  XLHP_HAS_NOW_UNUSED_ITEMS,
  XLHP_HAS_REDIRECTIONS,
} from './record-format.ts';
import { redoPosition } from './redo-tuple.ts';

/** Reason and flags; the conflict horizon is not asked for in redo. */
const PRUNE_LEAST_BYTES = 2;

/** Where in a PRUNE record everything is; used again. */
export class PruneRecord {
  planCount = 0;
  plansAt = 0;
  redirectedCount = 0;
  redirectedAt = 0;
  deadCount = 0;
  deadAt = 0;
  unusedCount = 0;
  unusedAt = 0;
  frozenAt = 0;

  /**
   * Reads where things are. @returns false when the record has no data: an image stands for it.
   * @throws StorageError XX001 when the data is cut short.
   */
  read(record: WalRecord): boolean {
    const index = record.indexOf(BLOCK_NEW);
    if (index < 0 || record.blockDataLength[index] === 0) return false;
    const countAt = (place: number): number => {
      needBlockData(record, index, place + 2 - record.blockDataAt[index]);
      return record.u16(place);
    };
    const flags = record.u8(record.dataAt + 1);
    let at = record.blockDataAt[index];
    this.planCount = 0;
    this.redirectedCount = 0;
    this.deadCount = 0;
    this.unusedCount = 0;
    if ((flags & XLHP_HAS_FREEZE_PLANS) !== 0) {
      this.planCount = countAt(at);
      this.plansAt = at + 4;
      at = this.planAt(this.planCount);
    }
    if ((flags & XLHP_HAS_REDIRECTIONS) !== 0) {
      this.redirectedCount = countAt(at);
      this.redirectedAt = at + 2;
      at += 2 + (this.redirectedCount << 2);
    }
    if ((flags & XLHP_HAS_DEAD_ITEMS) !== 0) {
      this.deadCount = countAt(at);
      this.deadAt = at + 2;
      at += 2 + (this.deadCount << 1);
    }
    if ((flags & XLHP_HAS_NOW_UNUSED_ITEMS) !== 0) {
      this.unusedCount = countAt(at);
      this.unusedAt = at + 2;
      at += 2 + (this.unusedCount << 1);
    }
    this.frozenAt = at;
    needBlockData(record, index, at - record.blockDataAt[index]);
    return true;
  }

  /** Where plan `i` is. */
  planAt(i: number): number {
    return this.plansAt + (i << 3) + (i << 2);
  }

  get prunes(): boolean {
    return this.redirectedCount + this.deadCount + this.unusedCount !== 0;
  }
}

if (FREEZE_PLAN_BYTES !== 12) throw new TypeError('PruneRecord.planAt is for plans of 12 bytes');

/** Replays PRUNE records. */
export class PruneRedo {
  private readonly pages: RedoPages;
  private readonly prune: PruneRecord = new PruneRecord();

  constructor(pages: RedoPages) {
    this.pages = pages;
  }

  redo(record: WalRecord): void {
    const { pages, prune } = this;
    needData(record, PRUNE_LEAST_BYTES);
    const index = redoBlock(record, BLOCK_NEW, ForkNumber.main);
    const found = pages.fetch(record, index);
    if (found === REDO_MISSING) return;
    const { buffer, memory: m, base } = pages;
    if (found === REDO_NEEDED && prune.read(record)) {
      needSaneBounds(m, base, pages.pool.geometry, record, index);
      this.linePointers(record, index, m, base);
      if (prune.prunes) this.compact(record, index, m, base, (record.u8(record.dataAt + 1) & XLHP_CLEANUP_LOCK) !== 0);
      this.freeze(record, index, m, base);
      pages.changed(buffer, record);
    }
    pages.release(buffer);
  }

  private linePointers(record: WalRecord, index: number, m: PageMemory, base: number): void {
    const { prune } = this;
    const last = pageMaxOffset(m, base);
    const check = (offset: number): number => {
      if (offset >= 1 && offset <= last) return offset;
      throw cannotRedo(record, index, `it has ${last} line pointers, and number ${offset} is to be pruned`);
    };
    for (let i = 0; i < prune.redirectedCount; i++) {
      const at = prune.redirectedAt + (i << 2);
      markLinePointerRedirect(m, base, check(record.u16(at)), check(record.u16(at + 2)));
    }
    for (let i = 0; i < prune.deadCount; i++) markLinePointerDead(m, base, check(record.u16(prune.deadAt + (i << 1))));
    for (let i = 0; i < prune.unusedCount; i++) {
      markLinePointerUnused(m, base, check(record.u16(prune.unusedAt + (i << 1))));
    }
  }

  private compact(record: WalRecord, index: number, m: PageMemory, base: number, moves: boolean): void {
    const { pool, stats, scratch, compaction } = this.pages;
    const started = stats.timing ? performance.now() : 0;
    try {
      if (moves) pageRepairFragmentation(m, base, pool.geometry, scratch, compaction);
      else pageTruncateLinePointerArray(m, base, pool.geometry);
    } catch (error) {
      throw isStorageError(error) ? cannotRedo(record, index, error.message) : error;
    }
    stats.compactions++;
    if (stats.timing) stats.compactionMs += performance.now() - started;
  }

  private freeze(record: WalRecord, index: number, m: PageMemory, base: number): void {
    const { prune } = this;
    const { geometry } = this.pages.pool;
    const start = record.blockDataAt[index];
    let at = prune.frozenAt;
    for (let i = 0; i < prune.planCount; i++) {
      const plan = prune.planAt(i);
      const xmax = record.u32(plan);
      const infomask2 = record.u16(plan + 4);
      const infomask = record.u16(plan + 6);
      const count = record.u16(plan + 10);
      needBlockData(record, index, at - start + (count << 1));
      for (let left = count; left > 0; left--) {
        const position = redoPosition(m, base, geometry, record.u16(at), record, index);
        at += 2;
        freezeTuple(m, position, xmax, infomask, infomask2);
      }
    }
  }
}
