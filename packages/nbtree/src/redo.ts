// Redo of a B-tree's records. PostgreSQL: `btree_redo`, nbtxlog.c.
import {
  cannotRedo,
  malformed,
  needData,
  REDO_MISSING,
  REDO_NEEDED,
  type RedoPages,
  redoBlock,
  refusedBy,
} from '@blockwright/access';
import type { StorageError } from '@blockwright/base';
import {
  type PageMemory,
  PageMemoryViews,
  pageAddItem,
  pageMaxOffset,
  pageReserveItem,
  pageUpper,
  tempPage,
} from '@blockwright/page';
import { INDEX_SIZE_MASK } from '@blockwright/tuple';
import type { ResourceManager, WalRecord } from '@blockwright/wal';
import { BTP_LEAF, BTP_ROOT, btInitPage, setBtFlags, setBtLevel } from './page.ts';
import { swapPosting } from './posting.ts';
import {
  CLEANUP_BLOCK_META,
  INSERT_BLOCK_CHILD,
  INSERT_BLOCK_META,
  INSERT_BLOCK_PAGE,
  INSERT_BYTES,
  NEWROOT_BLOCK_CHILD,
  NEWROOT_BLOCK_META,
  NEWROOT_BLOCK_ROOT,
  NEWROOT_BYTES,
  POSTING_OFFSET_BYTES,
  XLOG_BTREE_DEDUP,
  XLOG_BTREE_DELETE,
  XLOG_BTREE_INSERT_LEAF,
  XLOG_BTREE_INSERT_META,
  XLOG_BTREE_INSERT_POST,
  XLOG_BTREE_INSERT_UPPER,
  XLOG_BTREE_MARK_PAGE_HALFDEAD,
  XLOG_BTREE_META_CLEANUP,
  XLOG_BTREE_NEWROOT,
  XLOG_BTREE_OPMASK,
  XLOG_BTREE_REUSE_PAGE,
  XLOG_BTREE_SPLIT_L,
  XLOG_BTREE_SPLIT_R,
  XLOG_BTREE_UNLINK_PAGE,
  XLOG_BTREE_UNLINK_PAGE_META,
  XLOG_BTREE_VACUUM,
} from './record-format.ts';
import { btreeRecords } from './records.ts';
import { redoDedup, redoDelete, redoVacuum } from './redo-deletes.ts';
import {
  clearIncompleteSplit,
  needBtreePage,
  needMetadata,
  needPosting,
  redoPosition,
  redoTupleLength,
  restoreMeta,
  restoreTuples,
} from './redo-page.ts';
import { SplitRedo } from './redo-split.ts';
import { redoMarkHalfDead, redoUnlink } from './redo-unlink.ts';

/** The resource manager of RM_BTREE, over the pages of one redo. */
export function btreeResourceManager(pages: RedoPages): ResourceManager {
  const redo = new BtreeRedo(pages);
  return { ...btreeRecords, redo: (record) => redo.redo(record) };
}

/** What several kinds of records have in common in redo. */
export interface RedoPart {
  readonly pages: RedoPages;
  /** Memory for a page that is made aside. */
  readonly page: PageMemory;
  /** Memory for a tuple of the record, which does not lie there as on a page. */
  readonly tuple: PageMemory;
  /** Memory for a posting list that is made aside. */
  readonly list: PageMemory;
  /** The child's split is complete with this record. */
  completeSplit(record: WalRecord, index: number): void;
  /** The meta page is made anew. */
  meta(record: WalRecord, index: number): void;
}

class BtreeRedo implements RedoPart {
  readonly pages: RedoPages;
  readonly page: PageMemory;
  readonly tuple: PageMemory;
  readonly list: PageMemory;
  private readonly split: SplitRedo;

  constructor(pages: RedoPages) {
    this.pages = pages;
    this.page = tempPage(pages.pool.geometry);
    this.tuple = new PageMemoryViews(new ArrayBuffer(INDEX_SIZE_MASK + 1));
    this.list = new PageMemoryViews(new ArrayBuffer(INDEX_SIZE_MASK + 1));
    this.split = new SplitRedo(this);
  }

  redo(record: WalRecord): void {
    switch (record.info & XLOG_BTREE_OPMASK) {
      case XLOG_BTREE_INSERT_LEAF:
        return this.insert(record, true, false, false);
      case XLOG_BTREE_INSERT_UPPER:
        return this.insert(record, false, false, false);
      case XLOG_BTREE_INSERT_META:
        return this.insert(record, false, true, false);
      case XLOG_BTREE_INSERT_POST:
        return this.insert(record, true, false, true);
      case XLOG_BTREE_SPLIT_L:
        return this.split.redo(record, true);
      case XLOG_BTREE_SPLIT_R:
        return this.split.redo(record, false);
      case XLOG_BTREE_DEDUP:
        return redoDedup(this, record);
      case XLOG_BTREE_DELETE:
        return redoDelete(this, record);
      case XLOG_BTREE_VACUUM:
        return redoVacuum(this, record);
      case XLOG_BTREE_UNLINK_PAGE:
        return redoUnlink(this, record, false);
      case XLOG_BTREE_UNLINK_PAGE_META:
        return redoUnlink(this, record, true);
      case XLOG_BTREE_NEWROOT:
        return this.newRoot(record);
      case XLOG_BTREE_MARK_PAGE_HALFDEAD:
        return redoMarkHalfDead(this, record);
      case XLOG_BTREE_META_CLEANUP:
        return this.metaCleanup(record);
      case XLOG_BTREE_REUSE_PAGE:
        return; // for readers on a standby, of which there are none
      default:
        throw malformed(record, `B-trees have no record of kind 0x${(record.info & XLOG_BTREE_OPMASK).toString(16)}`);
    }
  }

  private insert(record: WalRecord, isLeaf: boolean, isMeta: boolean, isPosting: boolean): void {
    const { pages } = this;
    needData(record, INSERT_BYTES);
    const index = redoBlock(record, INSERT_BLOCK_PAGE);
    const childIndex = isLeaf ? -1 : redoBlock(record, INSERT_BLOCK_CHILD);
    const metaIndex = isMeta ? redoBlock(record, INSERT_BLOCK_META) : -1;
    if (metaIndex >= 0) needMetadata(record, metaIndex);
    if (childIndex >= 0) this.completeSplit(record, childIndex);
    const found = pages.fetch(record, index);
    if (found !== REDO_MISSING) {
      const { buffer } = pages;
      if (found === REDO_NEEDED) {
        this.insertOnPage(record, index, pages.memory, pages.base, isPosting);
        pages.changed(buffer, record);
      }
      pages.release(buffer);
    }
    if (metaIndex >= 0) this.meta(record, metaIndex);
  }

  private insertOnPage(record: WalRecord, index: number, m: PageMemory, base: number, isPosting: boolean): void {
    const g = this.pages.pool.geometry;
    const offset = record.u16(record.dataAt);
    const start = record.blockDataAt[index];
    const from = isPosting ? start + POSTING_OFFSET_BYTES : start;
    const length = redoTupleLength(record, index, from);
    needBtreePage(m, base, g, record, index);
    const next = pageMaxOffset(m, base) + 1;
    if (offset < 1 || offset > next) {
      throw cannotRedo(record, index, `offset ${offset} is not one from 1 to ${next}`);
    }
    if (!isPosting) {
      if (pageAddItem(m, base, g, record.bytes, from, length, offset) === 0) throw noRoom(record, index, length);
      return;
    }
    const { tuple, list } = this;
    const posting = redoPosition(m, base, offset - 1, record, index);
    needPosting(m, posting, record, index);
    tuple.u8.set(record.bytes.subarray(from, from + length));
    const postingLength = this.swap(record, index, m, posting, record.u16(start));
    if (pageReserveItem(m, base, g, length, offset) === 0) throw noRoom(record, index, length);
    m.u8.set(list.u8.subarray(0, postingLength), posting);
    m.u8.set(tuple.u8.subarray(0, length), base + pageUpper(m, base));
  }

  /** The posting list with the TID of the tuple in {@link tuple}, which gets its highest one, in {@link list}. */
  private swap(record: WalRecord, index: number, m: PageMemory, posting: number, place: number): number {
    try {
      return swapPosting(this.tuple, 0, m, posting, place, this.list, 0);
    } catch (error) {
      throw refusedBy(error, record, index);
    }
  }

  private newRoot(record: WalRecord): void {
    const { pages } = this;
    const g = pages.pool.geometry;
    needData(record, NEWROOT_BYTES);
    const level = record.u32(record.dataAt + 4);
    const index = redoBlock(record, NEWROOT_BLOCK_ROOT);
    const childIndex = level === 0 ? -1 : redoBlock(record, NEWROOT_BLOCK_CHILD);
    const metaIndex = redoBlock(record, NEWROOT_BLOCK_META);
    needMetadata(record, metaIndex);
    const found = pages.init(record, index);
    const { buffer } = pages;
    if (found === REDO_NEEDED) {
      const { memory: m, base } = pages;
      btInitPage(m, base, g);
      setBtFlags(m, base, g.size, level === 0 ? BTP_ROOT | BTP_LEAF : BTP_ROOT);
      setBtLevel(m, base, g.size, level);
      if (level > 0) restoreTuples(m, base, pages, record, index);
      pages.changed(buffer, record);
    }
    pages.release(buffer);
    if (childIndex >= 0) this.completeSplit(record, childIndex);
    this.meta(record, metaIndex);
  }

  private metaCleanup(record: WalRecord): void {
    const index = redoBlock(record, CLEANUP_BLOCK_META);
    needMetadata(record, index);
    this.meta(record, index);
  }

  completeSplit(record: WalRecord, index: number): void {
    const { pages } = this;
    const found = pages.fetch(record, index);
    if (found === REDO_MISSING) return;
    const { buffer, memory: m, base } = pages;
    if (found === REDO_NEEDED) {
      needBtreePage(m, base, pages.pool.geometry, record, index);
      clearIncompleteSplit(m, base, pages.pool.geometry);
      pages.changed(buffer, record);
    }
    pages.release(buffer);
  }

  meta(record: WalRecord, index: number): void {
    const { pages } = this;
    const found = pages.init(record, index);
    const { buffer } = pages;
    if (found === REDO_NEEDED) {
      restoreMeta(pages.memory, pages.base, pages.pool.geometry, record, index);
      pages.changed(buffer, record);
    }
    pages.release(buffer);
  }
}

function noRoom(record: WalRecord, index: number, bytes: number): StorageError {
  return cannotRedo(record, index, `there is no room for ${bytes} bytes`);
}
