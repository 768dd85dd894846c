// Every entry of one whole key, one TID after the other, without an allocation: what a look-up by a unique key needs.
import type { BlockNumber, BufferId, OffsetNumber } from '@blockwright/base';
import {
  LP_DEAD,
  linePointer,
  lpFlags,
  lpOffset,
  markItemDead,
  type PageMemory,
  pageMaxOffset,
} from '@blockwright/page';
import type { TupleMemory } from '@blockwright/tuple';
import type { BtreeIndex } from './btree.ts';
import { compareToTuple } from './compare.ts';
import { BTP_HAS_GARBAGE, btFlags, btIgnore, btIsRightmost, firstDataKey, setBtFlags } from './page.ts';
import { binarySearch, DescentStack, descend, stepRight } from './search.ts';
import { SearchKey } from './search-key.ts';
import { heapTidAt, isPosting, postingCount, tidBlock, tidOffset } from './tuples.ts';

/** Bytes of a TID. */
const TID_BYTES = 6;
const HIGH_KEY: OffsetNumber = 1;

/**
 * Goes through the entries of a key: {@link start}, {@link next} until it gives false, {@link end} in any case. A leaf page
 * is pinned in between. One for one user, used again and again.
 */
export class BtreeLookup {
  /** The TID that {@link next} came to. */
  block: BlockNumber = 0;
  offset: OffsetNumber = 0;
  private readonly index: BtreeIndex;
  private readonly key: SearchKey = new SearchKey();
  private readonly stack: DescentStack = new DescentStack();
  private buffer: BufferId = -1;
  private memory!: PageMemory;
  private base = 0;
  /** The item that {@link next} came to, and the last one of the page. */
  private item: OffsetNumber = 0;
  private last: OffsetNumber = 0;
  /** Of that item: the byte of the TID come to, TIDs after it, TIDs in all, and those called dead. */
  private at = 0;
  private left = 0;
  private tids = 0;
  private deadTids = 0;
  private hasKilled = false;
  private steps = 0;

  constructor(index: BtreeIndex) {
    this.index = index;
  }

  /**
   * Begins at the first entry of the key at `pos`, an index tuple of all key columns, none of them null.
   * @throws StorageError XX002 for a damaged tree.
   */
  start(m: TupleMemory, pos: number): void {
    const { index, key } = this;
    this.end();
    key.memory = m;
    key.pos = pos;
    key.natts = index.format.keyCount;
    this.left = 0;
    this.steps = 0;
    const id = descend(index, key, this.stack, false);
    if (id < 0) return; // nothing was ever inserted
    this.setPage(id);
    this.item = binarySearch(index, key, this.memory, this.base, index.pool.block(id)) - 1;
  }

  /** Comes to the next TID of the key: false when there is none. */
  next(): boolean {
    if (this.left > 0) {
      this.left--;
      this.setTid(this.at + TID_BYTES);
      return true;
    }
    while (this.buffer >= 0) {
      const { index, key, memory: m, base, last } = this;
      while (this.item < last) {
        const lp = linePointer(m, base, ++this.item);
        if (lpFlags(lp) === LP_DEAD) continue;
        const pos = base + lpOffset(lp);
        if (compareToTuple(index, key, m, pos) !== 0) return false;
        this.setItem(pos);
        return true;
      }
      if (!this.goRight()) return false;
    }
    return false;
  }

  /** The row of the TID come to is dead to everybody: once all rows of an entry are, it is marked so, which is a hint. */
  dead(): void {
    this.deadTids++;
    const { relation, geometry } = this.index;
    if (this.deadTids !== this.tids || relation.storage.readOnly || relation.log.recovering) return;
    const { memory: m, base } = this;
    markItemDead(m, base, this.item);
    setBtFlags(m, base, geometry.size, btFlags(m, base, geometry.size) | BTP_HAS_GARBAGE);
    this.hasKilled = true;
  }

  /** Gives the page back; again is fine. */
  end(): void {
    const { buffer } = this;
    if (buffer < 0) return;
    this.flush();
    this.buffer = -1;
    this.index.pool.unpin(buffer);
  }

  private setPage(id: BufferId): void {
    const { pool } = this.index;
    this.buffer = id;
    this.memory = pool.memory(id);
    this.base = pool.base(id);
    this.last = pageMaxOffset(this.memory, this.base);
  }

  private setItem(pos: number): void {
    const m = this.memory;
    this.tids = isPosting(m, pos) ? postingCount(m, pos) : 1;
    this.left = this.tids - 1;
    this.deadTids = 0;
    this.setTid(heapTidAt(m, pos));
  }

  private setTid(at: number): void {
    const m = this.memory;
    this.at = at;
    this.block = tidBlock(m, at);
    this.offset = tidOffset(m, at);
  }

  /** To the next page in use, unless the high key says that there is none of the key. */
  private goRight(): boolean {
    const { index, key } = this;
    const { size } = index.geometry;
    for (;;) {
      const { memory: m, base } = this;
      if (btIsRightmost(m, base, size)) return false;
      if (
        !btIgnore(m, base, size) &&
        compareToTuple(index, key, m, base + lpOffset(linePointer(m, base, HIGH_KEY))) !== 0
      ) {
        return false;
      }
      this.flush();
      this.setPage(stepRight(index, this.buffer, this.steps++));
      if (btIgnore(this.memory, this.base, size)) continue;
      this.item = firstDataKey(this.memory, this.base, size) - 1;
      return true;
    }
  }

  private flush(): void {
    if (!this.hasKilled) return;
    this.hasKilled = false;
    const { relation } = this.index;
    relation.log.hint(relation, relation.main, this.buffer);
  }
}
