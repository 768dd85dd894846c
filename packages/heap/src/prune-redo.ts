// A PRUNE record read back: for redo, and for describing it. PostgreSQL: `heap_xlog_prune_freeze`, heapam_xlog.c;
// `heap_xlog_deserialize_prune_and_freeze`, heapdesc.c.
import { REDO_MISSING, REDO_NEEDED, type RedoPages } from '@blockwright/access';
import {
  itemPosition,
  LP_NORMAL,
  linePointer,
  lpFlags,
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
import { cannotRedo } from './redo-error.ts';

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

  /** Reads where things are. @returns false when the record has no data: an image stands for it. */
  read(record: WalRecord): boolean {
    const index = record.indexOf(BLOCK_NEW);
    if (index < 0 || record.blockDataLength[index] === 0) return false;
    const flags = record.u8(record.dataAt + 1);
    let at = record.blockDataAt[index];
    this.planCount = 0;
    this.redirectedCount = 0;
    this.deadCount = 0;
    this.unusedCount = 0;
    if ((flags & XLHP_HAS_FREEZE_PLANS) !== 0) {
      this.planCount = record.u16(at);
      this.plansAt = at + 4;
      at = this.planAt(this.planCount);
    }
    if ((flags & XLHP_HAS_REDIRECTIONS) !== 0) {
      this.redirectedCount = record.u16(at);
      this.redirectedAt = at + 2;
      at += 2 + (this.redirectedCount << 2);
    }
    if ((flags & XLHP_HAS_DEAD_ITEMS) !== 0) {
      this.deadCount = record.u16(at);
      this.deadAt = at + 2;
      at += 2 + (this.deadCount << 1);
    }
    if ((flags & XLHP_HAS_NOW_UNUSED_ITEMS) !== 0) {
      this.unusedCount = record.u16(at);
      this.unusedAt = at + 2;
      at += 2 + (this.unusedCount << 1);
    }
    this.frozenAt = at;
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
    const index = record.indexOf(BLOCK_NEW);
    const found = pages.fetch(record, index);
    if (found === REDO_MISSING) return;
    const { buffer, memory: m, base } = pages;
    if (found === REDO_NEEDED && prune.read(record)) {
      this.linePointers(record, index, m, base);
      if (prune.prunes) this.compact(m, base, (record.u8(record.dataAt + 1) & XLHP_CLEANUP_LOCK) !== 0);
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

  private compact(m: PageMemory, base: number, moves: boolean): void {
    const { pool, stats, scratch, compaction } = this.pages;
    const started = stats.timing ? performance.now() : 0;
    if (moves) pageRepairFragmentation(m, base, pool.geometry, scratch, compaction);
    else pageTruncateLinePointerArray(m, base, pool.geometry);
    stats.compactions++;
    if (stats.timing) stats.compactionMs += performance.now() - started;
  }

  private freeze(record: WalRecord, index: number, m: PageMemory, base: number): void {
    const { prune } = this;
    let at = prune.frozenAt;
    const last = pageMaxOffset(m, base);
    for (let i = 0; i < prune.planCount; i++) {
      const plan = prune.planAt(i);
      const xmax = record.u32(plan);
      const infomask2 = record.u16(plan + 4);
      const infomask = record.u16(plan + 6);
      for (let left = record.u16(plan + 10); left > 0; left--) {
        const offset = record.u16(at);
        at += 2;
        if (offset < 1 || offset > last || lpFlags(linePointer(m, base, offset)) !== LP_NORMAL) {
          throw cannotRedo(record, index, `no tuple stands at offset ${offset}, which is to be frozen`);
        }
        freezeTuple(m, itemPosition(m, base, offset), xmax, infomask, infomask2);
      }
    }
  }
}
