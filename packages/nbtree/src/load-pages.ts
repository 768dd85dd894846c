// The pages of a tree built bottom-up from tuples in order, byte for byte those of PostgreSQL's nbtsort.c. On each level one
// page is being filled, and one more block is taken when it is full: its last item becomes the first of the next page
// and, truncated, its own high key, which with a link to the next page is an item of the level above.
//
// Until a page is full nobody knows whether it is the last of its level, which has no high key: the first line pointer
// is kept for one, and on the last page all line pointers move down by it at the end.
import type { BlockNumber, BufferId } from '@blockwright/base';
import type { BufferPool, BufferRing } from '@blockwright/bufmgr';
import type { BlockGeometry } from '@blockwright/geometry';
import {
  LP_NORMAL,
  linePointer,
  lpLength,
  lpOffset,
  makeLinePointer,
  type PageMemory,
  pageIndexTupleOverwrite,
  pageLower,
  pageMaxOffset,
  pageMemory,
  pageSetLower,
  pageSetUpper,
  pageUpper,
  setLinePointer,
} from '@blockwright/page';
import { INDEX_TUPLE_HEADER_BYTES, indexTupleSize, setIndexTupleInfo, type TupleMemory } from '@blockwright/tuple';
import type { BtreeIndex } from './btree.ts';
import { grownBySomebodyElse, noRoom, notEmpty } from './build-errors.ts';
import { initMetaPage } from './meta.ts';
import { BTP_LEAF, BTP_ROOT, btFlags, btInitPage, setBtFlags, setBtLevel, setBtNext, setBtPrev } from './page.ts';
import { PIVOT_TID_BYTES, truncatedPivot } from './truncate.ts';
import { copyTuple } from './tuple-arena.ts';
import { setDownlink, setPivot } from './tuples.ts';

/** Bytes by which the index grows at a time. */
const EXTEND_BYTES = 0x2_0000;
/** Percent of a page above the leaves that a build fills. PostgreSQL: `BTREE_NONLEAF_FILLFACTOR`. */
const UPPER_FILLFACTOR = 70;
/** Where the high key goes, and the first item of a page that has one. PostgreSQL: `P_HIKEY`, `P_FIRSTKEY`. */
const HIGH_KEY = 1;
const FIRST_ITEM = 2;
const META_BLOCK = 0;
const LINE_POINTER_BYTES = 4;

/** The page of a level that is being filled. */
interface Level {
  readonly level: number;
  /** Free bytes below which the page is full. PostgreSQL: `btps_full`. */
  readonly full: number;
  /** What stands in the level above for the page: its low key, no attribute at all on the first page of the level. */
  lowKey: PageMemory;
  /** Room for the low key of the page after it. */
  nextLowKey: PageMemory;
  above: Level | undefined;
  block: BlockNumber;
  id: BufferId;
  memory: PageMemory;
  base: number;
  lastOffset: number;
  /** Bytes of the last item that its truncation to a high key would save: its posting list. */
  lastExtra: number;
}

/** What was built. */
export interface LoadedTree {
  /** Blocks of the index, the meta page included. */
  readonly pages: number;
  /** Levels above the leaves. */
  readonly levels: number;
}

/**
 * Writes a tree into an index whose file is empty. PostgreSQL: `_bt_buildadd`, `_bt_uppershutdown`.
 * After {@link add} or {@link finish} threw, only {@link abandon} may be called.
 */
export class TreeLoader {
  private readonly index: BtreeIndex;
  private readonly geometry: BlockGeometry;
  private readonly pool: BufferPool;
  private readonly ring: BufferRing;
  private readonly maxItemSize: number;
  private readonly pivot: PageMemory;
  private leaf: Level | undefined = undefined;
  private blocks: BlockNumber = 0;
  private reservedUntil: BlockNumber = 0;

  /** @throws StorageError 55000 when the file is not empty. */
  constructor(index: BtreeIndex) {
    const { relation } = index;
    if (relation.blockCount() !== 0) throw notEmpty(relation.name);
    this.index = index;
    this.geometry = relation.geometry;
    this.pool = relation.pool;
    this.ring = relation.pool.bulkWriteRing();
    this.maxItemSize = index.maxItemSize;
    this.pivot = this.keyMemory();
    this.blocks = META_BLOCK + 1;
  }

  /**
   * Adds the next tuple in order, or a posting list.
   * @param length of at most the index's `maxItemSize`
   * @param extra bytes of it that are a posting list
   */
  add(m: TupleMemory, pos: number, length: number, extra: number): void {
    this.leaf ??= this.newLevel(0);
    this.addTo(this.leaf, m, pos, length, extra);
  }

  /** Completes the last page of each level and writes the meta page. */
  finish(): LoadedTree {
    let root: BlockNumber = 0;
    let levels = 0;
    for (let level = this.leaf; level !== undefined; level = level.above) {
      if (level.above === undefined) {
        const { memory, base } = level;
        setBtFlags(memory, base, this.geometry.size, btFlags(memory, base, this.geometry.size) | BTP_ROOT);
        root = level.block;
        levels = level.level;
      } else {
        this.linkAbove(level, level.block);
      }
      slideLeft(level.memory, level.base);
      this.release(level);
    }
    this.writeMeta(root, levels);
    this.giveBack();
    return { pages: this.blocks, levels };
  }

  /** Lets go of the pages that it holds and changes nothing else: for a build that failed, whose file the caller removes. */
  abandon(): void {
    for (let level = this.leaf; level !== undefined; level = level.above) {
      if (level.id >= 0) this.pool.unpin(level.id);
      level.id = -1;
    }
  }

  private addTo(level: Level, m: TupleMemory, pos: number, length: number, extra: number): void {
    const isLeaf = level.level === 0;
    const lastExtra = level.lastExtra;
    level.lastExtra = extra;
    let room = pageUpper(level.memory, level.base) - pageLower(level.memory, level.base) - LINE_POINTER_BYTES;
    if (room < 0) room = 0;
    // A leaf keeps room for the heap TID that its high key may need. The fillfactor is not for the first two items.
    if (
      room < (isLeaf ? length + PIVOT_TID_BYTES : length) ||
      (room + lastExtra < level.full && level.lastOffset > FIRST_ITEM)
    ) {
      this.turnPage(level, isLeaf);
    }
    const offset = level.lastOffset + 1;
    if (!isLeaf && offset === FIRST_ITEM) placeDownlink(level, m, pos);
    else place(level, m, pos, length, offset);
    level.lastOffset = offset;
  }

  /** Completes a page that is not the last of its level, and goes on with the next one. */
  private turnPage(level: Level, isLeaf: boolean): void {
    const { memory, base, lastOffset, id, block } = level;
    if (lastOffset <= FIRST_ITEM) throw noRoom(this.index.relation.name, block);
    const last = linePointer(memory, base, lastOffset);
    this.newPage(level);
    // Nothing throws until the old page is let go of: only the new one is known to abandon().
    if (isLeaf) place(level, memory, base + lpOffset(last), lpLength(last), FIRST_ITEM);
    else placeDownlink(level, memory, base + lpOffset(last));
    level.lastOffset = FIRST_ITEM;
    setLinePointer(memory, base, HIGH_KEY, last);
    setLinePointer(memory, base, lastOffset, 0);
    pageSetLower(memory, base, pageLower(memory, base) - LINE_POINTER_BYTES);
    if (isLeaf) this.truncateHighKey(memory, base, lastOffset - 1);
    const highKey = base + lpOffset(linePointer(memory, base, HIGH_KEY));
    copyTuple(memory, highKey, indexTupleSize(memory, highKey), level.nextLowKey, 0);
    setBtNext(memory, base, this.geometry.size, level.block);
    setBtPrev(level.memory, level.base, this.geometry.size, block);
    this.pool.markDirty(id);
    this.pool.unpin(id);

    this.linkAbove(level, block);
    const linked = level.lowKey;
    level.lowKey = level.nextLowKey;
    level.nextLowKey = linked;
  }

  /** The last item of a leaf, now its high key, keeps no more than tells it from the item before it. */
  private truncateHighKey(memory: PageMemory, base: number, lastLeft: number): void {
    const { index, pivot } = this;
    const left = base + lpOffset(linePointer(memory, base, lastLeft));
    const right = base + lpOffset(linePointer(memory, base, HIGH_KEY));
    const length = truncatedPivot(index.format, memory, left, memory, right, pivot, 0);
    pageIndexTupleOverwrite(memory, base, this.geometry, HIGH_KEY, pivot.u8, 0, length);
  }

  /** Adds a completed page to the level above, which there may not be yet. */
  private linkAbove(level: Level, block: BlockNumber): void {
    level.above ??= this.newLevel(level.level + 1);
    setDownlink(level.lowKey, 0, block);
    this.addTo(level.above, level.lowKey, 0, indexTupleSize(level.lowKey, 0), 0);
  }

  private newLevel(number: number): Level {
    const { geometry, index } = this;
    const level: Level = {
      level: number,
      full: spareBytes(geometry, number > 0 ? UPPER_FILLFACTOR : index.relation.fillfactor),
      lowKey: this.keyMemory(),
      nextLowKey: this.keyMemory(),
      above: undefined,
      block: 0,
      id: -1,
      memory: this.pivot,
      base: 0,
      lastOffset: HIGH_KEY,
      lastExtra: 0,
    };
    setIndexTupleInfo(level.lowKey, 0, INDEX_TUPLE_HEADER_BYTES);
    setPivot(level.lowKey, 0, 0, false);
    this.newPage(level);
    return level;
  }

  /** Takes the next block for a level; its first line pointer looks used. */
  private newPage(level: Level): void {
    const { pool, geometry, ring } = this;
    const { main } = this.index.relation;
    const block = this.nextBlock();
    const id = pool.pin(main, block, ring);
    const memory = pool.memory(id);
    const base = pool.base(id);
    btInitPage(memory, base, geometry);
    setBtLevel(memory, base, geometry.size, level.level);
    setBtFlags(memory, base, geometry.size, level.level === 0 ? BTP_LEAF : 0);
    pageSetLower(memory, base, pageLower(memory, base) + LINE_POINTER_BYTES);
    level.block = block;
    level.id = id;
    level.memory = memory;
    level.base = base;
  }

  private nextBlock(): BlockNumber {
    if (this.blocks >= this.reservedUntil) {
      const { main, name } = this.index.relation;
      const count = EXTEND_BYTES >>> this.geometry.shift;
      const first = this.pool.extend(main, count, this.ring);
      if (first !== this.reservedUntil) throw grownBySomebodyElse(name, this.reservedUntil, first);
      this.reservedUntil += count;
    }
    return this.blocks++;
  }

  private release(level: Level): void {
    this.pool.markDirty(level.id);
    this.pool.unpin(level.id);
    level.id = -1;
  }

  private writeMeta(root: BlockNumber, levels: number): void {
    const { pool, geometry, index } = this;
    const { main } = index.relation;
    if (this.reservedUntil === 0) this.reservedUntil = pool.extend(main, 1, this.ring) + 1;
    const id = pool.pinZeroed(main, META_BLOCK, this.ring);
    initMetaPage(pool.memory(id), pool.base(id), geometry, root, levels, index.format.allEqualImage);
    pool.markDirty(id);
    pool.unpin(id);
  }

  /** Gives back the blocks that were taken and not used. */
  private giveBack(): void {
    const { main } = this.index.relation;
    if (this.reservedUntil > this.blocks) {
      this.pool.dropFork(main, this.blocks);
      main.truncate(this.blocks);
    }
    this.reservedUntil = this.blocks;
  }

  private keyMemory(): PageMemory {
    return pageMemory(new ArrayBuffer(this.maxItemSize + PIVOT_TID_BYTES));
  }
}

/** Adds an item as line pointer `offset`, the next one, where the caller has seen that there is room. */
function place(level: Level, m: TupleMemory, pos: number, length: number, offset: number): void {
  const { memory, base } = level;
  const upper = pageUpper(memory, base) - length;
  setLinePointer(memory, base, offset, makeLinePointer(upper, LP_NORMAL, length));
  pageSetLower(memory, base, pageLower(memory, base) + LINE_POINTER_BYTES);
  pageSetUpper(memory, base, upper);
  copyTuple(m, pos, length, memory, base + upper);
}

/** Adds the first item of a page above the leaves: of the tuple only where it leads to, no key. */
function placeDownlink(level: Level, m: TupleMemory, pos: number): void {
  place(level, m, pos, INDEX_TUPLE_HEADER_BYTES, FIRST_ITEM);
  const { memory, base } = level;
  const at = base + pageUpper(memory, base);
  setIndexTupleInfo(memory, at, INDEX_TUPLE_HEADER_BYTES);
  setPivot(memory, at, 0, false);
}

/** A page that has turned out to be the last of its level has no high key. PostgreSQL: `_bt_slideleft`. */
function slideLeft(m: PageMemory, base: number): void {
  const last = pageMaxOffset(m, base);
  for (let o = FIRST_ITEM; o <= last; o++) setLinePointer(m, base, o - 1, linePointer(m, base, o));
  pageSetLower(m, base, pageLower(m, base) - LINE_POINTER_BYTES);
}

/** Bytes that a fillfactor keeps free. PostgreSQL: `RelationGetTargetPageFreeSpace`. */
function spareBytes(g: BlockGeometry, fillfactor: number): number {
  // A hundredth, rounded down, without a division: half a byte more is far from the next whole number.
  return ((((100 - fillfactor) << g.shift) + 0.5) * 0.01) | 0;
}
