// One leaf of a bulk delete: which of its TIDs go, and the page without them. PostgreSQL: `btvacuumpage`, nbtree.c;
// `_bt_delitems_vacuum`, nbtpage.c.
import { PAGE_STANDARD } from '@blockwright/access';
import { type BufferId, type OffsetNumber, StorageError } from '@blockwright/base';
import {
  CompactionScratch,
  checkedItem,
  copyPage,
  itemPosition,
  lpLength,
  lpOffset,
  type PageMemory,
  pageIndexMultiDelete,
  pageIndexTupleOverwrite,
  pageMaxOffset,
  restoreTempPage,
  withPageContext,
} from '@blockwright/page';
import { indexTupleSize } from '@blockwright/tuple';
import { RM_BTREE } from '@blockwright/wal';
import { blockAtWord, tidCountOf, tidWordAfter, tidWordOf } from './deletion-list.ts';
import { BTP_HAS_GARBAGE, btFlags, firstDataKey, setBtCycleId, setBtFlags } from './page.ts';
import { updatePosting } from './posting.ts';
import { BLOCK_PAGE, VACUUM_BYTES, XLOG_BTREE_VACUUM } from './record-format.ts';
import { isPivot, isPosting, postingCount, postingOffset } from './tuples.ts';
import type { IsDead, VacuumState } from './vacuum-state.ts';
import { workspaceOf } from './workspace.ts';

const LEAST_TUPLE_BYTES = 8;
const TID_BYTES = 6;

/** Vacuums leaves, one after the other. */
export class LeafVacuum {
  /** Whether the page of the last call was changed. */
  changed = false;
  private readonly state: VacuumState;
  private readonly scratch: CompactionScratch;
  /** Offsets of items that go. */
  private readonly deleted: Uint16Array;
  private deletedCount = 0;
  /** Offsets of posting lists that lose some TIDs; where in `numbers` theirs begin. */
  private readonly updated: Uint16Array;
  private readonly starts: Uint16Array;
  private updatedCount = 0;
  /** Numbers of TIDs within their posting lists. */
  private readonly numbers: Uint16Array;
  private numberCount = 0;

  constructor(state: VacuumState) {
    const { geometry } = state.index;
    const most = geometry.size >>> 2; // more than a page has of items, or of TIDs
    this.state = state;
    this.scratch = new CompactionScratch(geometry);
    this.deleted = new Uint16Array(most);
    this.updated = new Uint16Array(most);
    this.starts = new Uint16Array(most + 1);
    this.numbers = new Uint16Array(most);
  }

  /**
   * Removes what is to go from a pinned leaf.
   * @returns the TIDs that are left; in a cleanup, which removes nothing, the items.
   * @throws StorageError XX001 or XX002 when the page is damaged, 53100 when the WAL has no room: nothing has changed.
   */
  vacuum(id: BufferId): number {
    const { index, isDead, stats } = this.state;
    const { pool, main, geometry: g } = index;
    const m = pool.memory(id);
    const base = pool.base(id);
    this.changed = false;
    const first = firstDataKey(m, base, g.size);
    if (isDead === undefined) return pageMaxOffset(m, base) - first + 1;
    try {
      const dead = this.collect(m, base, first, isDead);
      const live = this.live;
      if (dead > 0) {
        this.make(m, base);
        this.log(id);
        stats.tuplesRemoved += dead;
      }
      return live;
    } catch (error) {
      throw withPageContext(error, `block ${pool.block(id)} of ${main.name}`);
    }
  }

  /** TIDs that stay, of the page that was looked at last. */
  private live = 0;

  /** @returns how many TIDs go */
  private collect(m: PageMemory, base: number, first: number, isDead: IsDead): number {
    const { geometry: g } = this.state.index;
    const last = pageMaxOffset(m, base);
    this.deletedCount = 0;
    this.updatedCount = 0;
    this.numberCount = 0;
    this.live = 0;
    let dead = 0;
    for (let o = first; o <= last; o++) {
      const lp = checkedItem(m, base, g, o);
      const pos = base + lpOffset(lp);
      if (!isLeafTuple(m, pos, lpLength(lp))) throw notOne(o);
      const count = tidCountOf(m, pos);
      const goes = this.collectOf(m, tidWordOf(m, pos), count, isDead);
      this.live += count - goes;
      dead += goes;
      if (goes === 0) continue;
      if (goes < count) {
        this.updated[this.updatedCount] = o;
        this.starts[this.updatedCount++] = this.numberCount;
        this.numberCount += goes;
        this.starts[this.updatedCount] = this.numberCount;
      } else {
        this.deleted[this.deletedCount++] = o;
      }
    }
    return dead;
  }

  /** Notes the numbers of a tuple's TIDs that go, behind those that are kept. @returns how many */
  private collectOf(m: PageMemory, start: number, count: number, isDead: IsDead): number {
    const { numbers, numberCount } = this;
    const { u16 } = m;
    let goes = 0;
    for (let i = 0, word = start; i < count; i++, word = tidWordAfter(word, 1)) {
      if (isDead(blockAtWord(m, word), u16[word + 2])) numbers[numberCount + goes++] = i;
    }
    return goes;
  }

  /** Makes the page aside: whatever is damaged on it is found before it changes. */
  private make(m: PageMemory, base: number): void {
    const { state, updated, starts, numbers, deleted, deletedCount } = this;
    const { relation, geometry: g } = state.index;
    const { page } = state;
    const { tuple } = workspaceOf(g);
    copyPage(m, base, page, 0, g);
    for (let i = 0; i < this.updatedCount; i++) {
      const pos = itemPosition(m, base, updated[i]);
      const length = updatePosting(m, pos, numbers, starts[i], starts[i + 1] - starts[i], tuple, 0);
      pageIndexTupleOverwrite(page, 0, g, updated[i], tuple.u8, 0, length);
    }
    if (deletedCount > 0) pageIndexMultiDelete(page, 0, g, deleted, deletedCount, this.scratch, relation.compaction);
    setBtCycleId(page, 0, g.size, 0);
    setBtFlags(page, 0, g.size, btFlags(page, 0, g.size) & ~BTP_HAS_GARBAGE);
  }

  private log(id: BufferId): void {
    const { state, updated, starts, numbers, deleted, deletedCount, updatedCount } = this;
    const { relation, pool, main, geometry: g } = state.index;
    const { log } = relation;
    const words = deletedCount + (updatedCount << 1) + this.numberCount;
    log.begin(relation, RM_BTREE, XLOG_BTREE_VACUUM, 1, VACUUM_BYTES + (words << 1));
    try {
      restoreTempPage(state.page, pool.memory(id), pool.base(id), g);
      log.u16(deletedCount);
      log.u16(updatedCount);
      log.page(BLOCK_PAGE, main, id, PAGE_STANDARD);
      for (let i = 0; i < deletedCount; i++) log.u16(deleted[i]);
      for (let i = 0; i < updatedCount; i++) log.u16(updated[i]);
      for (let i = 0; i < updatedCount; i++) {
        log.u16(starts[i + 1] - starts[i]);
        for (let n = starts[i]; n < starts[i + 1]; n++) log.u16(numbers[n]);
      }
      log.finish(0);
    } catch (error) {
      log.panic(error);
    }
    this.changed = true;
  }
}

/** Whether a leaf's tuple and its TIDs lie within its item. */
function isLeafTuple(m: PageMemory, pos: number, length: number): boolean {
  if (length < LEAST_TUPLE_BYTES) return false;
  const size = indexTupleSize(m, pos);
  if (size < LEAST_TUPLE_BYTES || size > length || isPivot(m, pos)) return false;
  if (!isPosting(m, pos)) return true;
  const keyEnd = postingOffset(m, pos);
  return keyEnd >= LEAST_TUPLE_BYTES && (keyEnd & 7) === 0 && keyEnd + postingCount(m, pos) * TID_BYTES <= size;
}

function notOne(offset: OffsetNumber): StorageError {
  return new StorageError('XX002', `the item at offset ${offset} is no tuple of a leaf`, {
    hint: 'Run "blockwright check". Rebuild the index: drop it and create it again.',
  });
}
