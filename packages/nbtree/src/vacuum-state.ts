// What a bulk delete counts, and what it carries from page to page. PostgreSQL: `IndexBulkDeleteResult`, genam.h;
// `BTVacState`, nbtree.h.
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import type { BufferRing } from '@blockwright/bufmgr';
import { type PageMemory, tempPage } from '@blockwright/page';
import type { BtreeIndex } from './btree.ts';
import { nextFullXid, recordFreePage, recyclingHorizon } from './free-pages.ts';
import { DescentStack } from './search.ts';
import { SearchKey } from './search-key.ts';

/** What a vacuum of an index has done. One object serves all bulk deletes of one vacuum, and its cleanup. */
export interface BulkDeleteStats {
  /** Pages of the index at the end, the meta page with them. */
  numPages: number;
  /** TIDs left. */
  numIndexTuples: number;
  /** {@link numIndexTuples} counts items, and a posting list as one. */
  estimatedCount: boolean;
  /** TIDs removed. */
  tuplesRemoved: number;
  /** Pages that this vacuum deleted. */
  pagesNewlyDeleted: number;
  /** Pages that are deleted, by whomever; pages never used among them. */
  pagesDeleted: number;
  /** Of those, the ones that can be used again. */
  pagesFree: number;
  /** What does not fit together in the index: such pages stay as they are. `check` says more. */
  readonly warnings: string[];
}

export function newBulkDeleteStats(): BulkDeleteStats {
  return {
    numPages: 0,
    numIndexTuples: 0,
    estimatedCount: false,
    tuplesRemoved: 0,
    pagesNewlyDeleted: 0,
    pagesDeleted: 0,
    pagesFree: 0,
    warnings: [],
  };
}

/** Whether the row at a TID is to go. */
export type IsDead = (block: BlockNumber, offset: OffsetNumber) => boolean;

/** One scan of an index for a vacuum. */
export class VacuumState {
  readonly index: BtreeIndex;
  readonly stats: BulkDeleteStats;
  /** Without it no entry goes: a cleanup alone. */
  readonly isDead: IsDead | undefined;
  /** 0 in a cleanup. */
  readonly cycle: number;
  readonly ring: BufferRing;
  readonly stack: DescentStack = new DescentStack();
  readonly key: SearchKey = new SearchKey();
  /** A page that is made aside. */
  readonly page: PageMemory;
  /** Of the page that was deleted last: its right sibling has no tuples. */
  rightIsEmpty = false;
  private readonly deleted: { readonly block: BlockNumber; readonly safeXid: number }[] = [];

  constructor(index: BtreeIndex, stats: BulkDeleteStats, isDead: IsDead | undefined, cycle: number) {
    this.index = index;
    this.stats = stats;
    this.isDead = isDead;
    this.cycle = cycle;
    this.ring = index.pool.bulkReadRing();
    this.page = tempPage(index.geometry);
  }

  /** The next full xid, with which a page is deleted now. */
  safeXid(): number {
    return nextFullXid(this.index);
  }

  /**
   * A page was deleted. One behind the scan's position will be counted as deleted when the scan comes there.
   * PostgreSQL: `_bt_pendingfsm_add`.
   */
  noteDeleted(block: BlockNumber, safeXid: number, scanBlock: BlockNumber): void {
    this.stats.pagesNewlyDeleted++;
    if (block <= scanBlock) this.stats.pagesDeleted++;
    this.deleted.push({ block, safeXid });
  }

  /** Records those of the pages deleted that can be used again by now. PostgreSQL: `_bt_pendingfsm_finalize`. */
  recordDeleted(): void {
    if (this.deleted.length === 0) return;
    const horizon = recyclingHorizon(this.index);
    for (const { block, safeXid } of this.deleted) {
      if (safeXid >= horizon) return; // later ones have none that is older
      recordFreePage(this.index, block);
      this.stats.pagesFree++;
    }
  }

  warn(what: string): void {
    this.stats.warnings.push(`index "${this.index.relation.name}": ${what}`);
  }
}
