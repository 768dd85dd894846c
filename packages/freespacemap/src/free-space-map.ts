// The free space map of a heap: a tree of pages, each a tree of slots, that finds a block with enough room. It is a
// hint: whatever it says is checked against the page itself, and what is wrong in it costs time only.
import type { Relation } from '@blockwright/access';
import type { BlockNumber, BufferId } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { pageInit, pageIsNew } from '@blockwright/page';
import { largestValue, restartSearch, searchSlot, setSlotValue, slotValue } from './fsm-page.ts';

/** Where no block was found. */
export const NO_BLOCK = -1;

/** Corrections of the upper levels before a search gives up. */
const MOST_RESTARTS = 10_000;
const LEAF_LEVEL = 0;

/** The free space map of one relation. PostgreSQL: freespace.c. */
export class FreeSpaceMap {
  private readonly relation: Relation;
  private readonly geometry: BlockGeometry;
  private readonly rootLevel: number;
  private readonly categoryShift: number;

  constructor(relation: Relation) {
    this.relation = relation;
    this.geometry = relation.geometry;
    this.rootLevel = relation.geometry.fsmTreeDepth - 1;
    this.categoryShift = relation.geometry.shift - 8; // 256 categories a block
  }

  /** A block that has `bytes` of room, as far as the map knows, or {@link NO_BLOCK}. PostgreSQL: `GetPageWithFreeSpace`. */
  find(bytes: number): BlockNumber {
    return this.search(this.categoryNeeded(bytes));
  }

  /** Notes the room that a block has. PostgreSQL: `RecordPageWithFreeSpace`. */
  record(block: BlockNumber, bytes: number): void {
    this.setAndSearch(this.geometry.fsmLeafOf(block), this.geometry.fsmSlotOf(block), this.categoryOf(bytes), 0);
  }

  /**
   * Notes that `block` has only `available` bytes, and finds another one with `needed`, near it if possible, or gives
   * {@link NO_BLOCK}. PostgreSQL: `RecordAndGetPageWithFreeSpace`.
   */
  recordAndFind(block: BlockNumber, available: number, needed: number): BlockNumber {
    const leaf = this.geometry.fsmLeafOf(block);
    const category = this.categoryNeeded(needed);
    const slot = this.setAndSearch(leaf, this.geometry.fsmSlotOf(block), this.categoryOf(available), category);
    if (slot >= 0) {
      const found = this.geometry.heapBlockOfFsm(leaf, slot);
      if (found < this.relation.blockCount()) return found;
    }
    return this.search(category);
  }

  /** Room that the map knows of in a block, in bytes, rounded down. PostgreSQL: `GetRecordedFreeSpace`. */
  recorded(block: BlockNumber): number {
    const { geometry } = this;
    const id = this.pin(LEAF_LEVEL, geometry.fsmLeafOf(block), false);
    if (id < 0) return 0;
    const { pool } = this.relation;
    const category = slotValue(pool.memory(id), pool.base(id), geometry, geometry.fsmSlotOf(block));
    pool.unpin(id);
    return category === 255 ? geometry.constants.MaxFSMRequestSize : category << this.categoryShift;
  }

  /**
   * Makes the upper levels say what the leaves do: searches begin at the root, and so find what was recorded since.
   * Searches begin at the map's first slot again. PostgreSQL: `FreeSpaceMapVacuum`.
   */
  vacuum(): void {
    if (this.relation.fsm.exists()) this.vacuumPage(this.rootLevel, 0);
  }

  /** @returns the largest value of the page, -1 when it does not exist. PostgreSQL: `fsm_vacuum_page`. */
  private vacuumPage(level: number, page: number): number {
    const { geometry, relation } = this;
    const { pool } = relation;
    const id = this.pin(level, page, false);
    if (id < 0) return -1;
    const m = pool.memory(id);
    const base = pool.base(id);
    try {
      // Of two siblings the second one lies behind all that is below the first: after one that is missing, none is there.
      for (let slot = 0, ended = false; level > LEAF_LEVEL && slot < geometry.slotsPerFsmPage; slot++) {
        const below: number = ended ? -1 : this.vacuumPage(level - 1, geometry.heapBlockOfFsm(page, slot));
        ended = below < 0;
        if (setSlotValue(m, base, geometry, slot, ended ? 0 : below)) relation.log.hint(relation, relation.fsm, id);
      }
      restartSearch(m, base);
      return largestValue(m, base);
    } finally {
      pool.unpin(id);
    }
  }

  private categoryOf(available: number): number {
    if (available >= this.geometry.constants.MaxFSMRequestSize) return 255;
    return Math.min(available >>> this.categoryShift, 254);
  }

  private categoryNeeded(bytes: number): number {
    if (bytes === 0) return 1;
    return Math.min((bytes + (1 << this.categoryShift) - 1) >>> this.categoryShift, 255);
  }

  /** Descends from the root; where an upper page promised more than its child has, it is corrected and asked again. */
  private search(category: number): BlockNumber {
    const { geometry } = this;
    const { pool } = this.relation;
    let level = this.rootLevel;
    let page = 0;
    for (let restarts = 0; restarts < MOST_RESTARTS; ) {
      const id = this.pin(level, page, false);
      let slot = -1;
      let largest = 0;
      if (id >= 0) {
        slot = searchSlot(pool.memory(id), pool.base(id), geometry, category, level === LEAF_LEVEL);
        if (slot < 0) largest = largestValue(pool.memory(id), pool.base(id));
        pool.unpin(id);
      }
      if (slot >= 0) {
        const below = geometry.heapBlockOfFsm(page, slot);
        if (level > LEAF_LEVEL) {
          level--;
          page = below;
          continue;
        }
        if (below < this.relation.blockCount()) return below;
        this.setAndSearch(page, slot, 0, 0); // past the relation's end: forgotten
      } else {
        if (level === this.rootLevel) return NO_BLOCK;
        this.set(level + 1, geometry.fsmLeafOf(page), geometry.fsmSlotOf(page), largest);
      }
      restarts++;
      level = this.rootLevel;
      page = 0;
    }
    return NO_BLOCK;
  }

  private setAndSearch(leaf: number, slot: number, value: number, least: number): number {
    const { pool } = this.relation;
    const id = this.set(LEAF_LEVEL, leaf, slot, value, true);
    const found = least === 0 ? -1 : searchSlot(pool.memory(id), pool.base(id), this.geometry, least, true);
    pool.unpin(id);
    return found;
  }

  private set(level: number, page: number, slot: number, value: number, keepPinned = false): BufferId {
    const { relation } = this;
    const { pool } = relation;
    const id = this.pin(level, page, true);
    if (setSlotValue(pool.memory(id), pool.base(id), this.geometry, slot, value)) {
      // Not logged: what a crash loses costs time only. But a torn page would be damage, so the first change after a
      // checkpoint carries its image.
      relation.log.hint(relation, relation.fsm, id);
    }
    if (!keepPinned) pool.unpin(id);
    return id;
  }

  /** The pinned page; -1 when it is not there and is not to be made. PostgreSQL: `fsm_readbuf`. */
  private pin(level: number, page: number, make: boolean): BufferId {
    const { pool, fsm } = this.relation;
    const { geometry } = this;
    const block = geometry.fsmPhysicalOf(level, page);
    const blocks = fsm.exists() ? fsm.blockCount() : 0;
    if (block >= blocks) {
      if (!make) return -1;
      if (!fsm.exists()) fsm.create();
      pool.extend(fsm, block + 1 - blocks);
    }
    const id = pool.pinZeroOnError(fsm, block);
    const m = pool.memory(id);
    const base = pool.base(id);
    if (pageIsNew(m, base)) pageInit(m, base, geometry);
    return id;
  }
}
