// Redo of the heap's records. PostgreSQL: `heap_redo`, `heap2_redo`, heapam_xlog.c.
import {
  cannotRedo,
  malformed,
  needBlockData,
  needData,
  REDO_MISSING,
  REDO_NEEDED,
  type RedoPages,
  redoBlock,
} from '@blockwright/access';
import { type BlockNumber, ForkNumber, type OffsetNumber } from '@blockwright/base';
import {
  linePointer,
  lpLength,
  type PageMemory,
  pageClearAllVisible,
  pageInit,
  pageSetAllVisible,
  pageSetPrunable,
} from '@blockwright/page';
import {
  HEAP_HOT_UPDATED,
  HEAP_TUPLE_HEADER_BYTES,
  isXmaxLockOnly,
  setTupleCtid,
  setTupleInfomask2,
  tupleHoff,
  tupleInfomask,
  tupleInfomask2,
} from '@blockwright/tuple';
import {
  setVisibilityBits,
  VISIBILITYMAP_ALL_FROZEN,
  VISIBILITYMAP_ALL_VISIBLE,
  VISIBILITYMAP_VALID_BITS,
} from '@blockwright/visibilitymap';
import type { ResourceManager, WalRecord } from '@blockwright/wal';
import { PruneRedo } from './prune-redo.ts';
import {
  BLOCK_NEW,
  BLOCK_OLD,
  BLOCK_VISIBLE_HEAP,
  BLOCK_VISIBLE_MAP,
  DELETE_BYTES,
  INSERT_BYTES,
  LOCK_BYTES,
  MULTI_INSERT_BYTES,
  MULTI_INSERT_TUPLE_BYTES,
  TUPLE_HEADER_BYTES,
  UPDATE_BYTES,
  VISIBLE_BYTES,
  XLH_ALL_VISIBLE_CLEARED,
  XLH_INSERT_ALL_FROZEN_SET,
  XLH_LOCK_ALL_FROZEN_CLEARED,
  XLH_UPDATE_NEW_ALL_VISIBLE_CLEARED,
  XLH_UPDATE_PREFIX_FROM_OLD,
  XLH_UPDATE_SUFFIX_FROM_OLD,
  XLOG_HEAP_DELETE,
  XLOG_HEAP_HOT_UPDATE,
  XLOG_HEAP_INIT_PAGE,
  XLOG_HEAP_INSERT,
  XLOG_HEAP_LOCK,
  XLOG_HEAP_OPMASK,
  XLOG_HEAP_UPDATE,
  XLOG_HEAP2_MULTI_INSERT,
  XLOG_HEAP2_VISIBLE,
} from './record-format.ts';
import { heapRecords } from './records.ts';
import { clearMapBits } from './redo-map.ts';
import { afterHeader, copyOnPage, redoBytes, redoHeader, redoPosition, redoRoom, redoXmax } from './redo-tuple.ts';

/** The resource managers of RM_HEAP and RM_HEAP2, over the pages of one redo. */
export function heapResourceManagers(pages: RedoPages): ResourceManager[] {
  const redo = new HeapRedo(pages);
  const [heap, heap2] = heapRecords;
  return [
    { ...heap, redo: (record) => redo.heap(record) },
    { ...heap2, redo: (record) => redo.heap2(record) },
  ];
}

class HeapRedo {
  private readonly pages: RedoPages;
  private readonly prune: PruneRedo;

  constructor(pages: RedoPages) {
    this.pages = pages;
    this.prune = new PruneRedo(pages);
  }

  heap(record: WalRecord): void {
    switch (record.info & XLOG_HEAP_OPMASK) {
      case XLOG_HEAP_INSERT:
        return this.insert(record);
      case XLOG_HEAP_DELETE:
        return this.delete(record);
      case XLOG_HEAP_HOT_UPDATE:
        return this.update(record, true);
      case XLOG_HEAP_UPDATE:
        return this.update(record, false);
      case XLOG_HEAP_LOCK:
        return this.lock(record);
      default:
        throw unknownInfo(record);
    }
  }

  heap2(record: WalRecord): void {
    switch (record.info & XLOG_HEAP_OPMASK) {
      case XLOG_HEAP2_VISIBLE:
        return this.visible(record);
      case XLOG_HEAP2_MULTI_INSERT:
        return this.multiInsert(record);
      case 0x10:
      case 0x20:
      case 0x30:
        return this.prune.redo(record);
      default:
        throw unknownInfo(record);
    }
  }

  /** The page of the new tuple: made anew if it held nothing else. @returns as `RedoPages.fetch` */
  private newPage(record: WalRecord, index: number): number {
    const { pages } = this;
    if ((record.info & XLOG_HEAP_INIT_PAGE) === 0) return pages.fetch(record, index);
    const found = pages.init(record, index);
    if (found === REDO_NEEDED) pageInit(pages.memory, pages.base, pages.pool.geometry);
    return found;
  }

  private insert(record: WalRecord): void {
    const { pages } = this;
    needData(record, INSERT_BYTES);
    const offset = record.u16(record.dataAt);
    const clears = (record.u8(record.dataAt + 2) & XLH_ALL_VISIBLE_CLEARED) !== 0;
    const index = redoBlock(record, BLOCK_NEW, ForkNumber.main);
    const block = record.block[index];
    if (clears) clearMapBits(pages, record, block, block, VISIBILITYMAP_VALID_BITS);
    const found = this.newPage(record, index);
    if (found === REDO_MISSING) return;
    const { buffer, memory: m, base } = pages;
    if (found === REDO_NEEDED) {
      needBlockData(record, index, TUPLE_HEADER_BYTES);
      const from = record.blockDataAt[index];
      const bytes = record.blockDataLength[index] - TUPLE_HEADER_BYTES;
      const length = HEAP_TUPLE_HEADER_BYTES + bytes;
      const pos = redoRoom(m, base, pages.pool.geometry, offset, length, record, index);
      redoHeader(m, pos, record, from, record.xid, 0, block, offset);
      redoBytes(m, afterHeader(pos), record, from + TUPLE_HEADER_BYTES, bytes);
      if (clears) pageClearAllVisible(m, base);
      pages.changed(buffer, record);
    }
    pages.release(buffer);
  }

  private delete(record: WalRecord): void {
    const { pages } = this;
    needData(record, DELETE_BYTES);
    const { dataAt } = record;
    const offset = record.u16(dataAt + 4);
    const clears = (record.u8(dataAt + 7) & XLH_ALL_VISIBLE_CLEARED) !== 0;
    const index = redoBlock(record, BLOCK_NEW, ForkNumber.main);
    const block = record.block[index];
    if (clears) clearMapBits(pages, record, block, block, VISIBILITYMAP_VALID_BITS);
    const found = pages.fetch(record, index);
    if (found === REDO_MISSING) return;
    const { buffer, memory: m, base } = pages;
    if (found === REDO_NEEDED) {
      const pos = redoPosition(m, base, pages.pool.geometry, offset, record, index);
      redoXmax(m, pos, record.u32(dataAt), record.u8(dataAt + 6));
      setTupleInfomask2(m, pos, tupleInfomask2(m, pos) & ~HEAP_HOT_UPDATED);
      setTupleCtid(m, pos, block, offset);
      pageSetPrunable(m, base, record.xid);
      if (clears) pageClearAllVisible(m, base);
      pages.changed(buffer, record);
    }
    pages.release(buffer);
  }

  private lock(record: WalRecord): void {
    const { pages } = this;
    needData(record, LOCK_BYTES);
    const { dataAt } = record;
    const offset = record.u16(dataAt + 4);
    const index = redoBlock(record, BLOCK_NEW, ForkNumber.main);
    const block = record.block[index];
    if ((record.u8(dataAt + 7) & XLH_LOCK_ALL_FROZEN_CLEARED) !== 0) {
      clearMapBits(pages, record, block, block, VISIBILITYMAP_ALL_FROZEN);
    }
    const found = pages.fetch(record, index);
    if (found === REDO_MISSING) return;
    const { buffer, memory: m, base } = pages;
    if (found === REDO_NEEDED) {
      const pos = redoPosition(m, base, pages.pool.geometry, offset, record, index);
      redoXmax(m, pos, record.u32(dataAt), record.u8(dataAt + 6));
      if (isXmaxLockOnly(tupleInfomask(m, pos))) {
        setTupleInfomask2(m, pos, tupleInfomask2(m, pos) & ~HEAP_HOT_UPDATED);
        setTupleCtid(m, pos, block, offset);
      }
      pages.changed(buffer, record);
    }
    pages.release(buffer);
  }

  private update(record: WalRecord, isHot: boolean): void {
    const { pages } = this;
    needData(record, UPDATE_BYTES);
    const { dataAt } = record;
    const flags = record.u8(dataAt + 7);
    const newIndex = redoBlock(record, BLOCK_NEW, ForkNumber.main);
    const otherIndex = record.indexOf(BLOCK_OLD) < 0 ? -1 : redoBlock(record, BLOCK_OLD, ForkNumber.main);
    const oldIndex = otherIndex < 0 ? newIndex : otherIndex;
    if ((flags & (XLH_ALL_VISIBLE_CLEARED | XLH_UPDATE_NEW_ALL_VISIBLE_CLEARED)) !== 0) {
      const oldBlock = record.block[(flags & XLH_ALL_VISIBLE_CLEARED) === 0 ? newIndex : oldIndex];
      const newBlock = record.block[(flags & XLH_UPDATE_NEW_ALL_VISIBLE_CLEARED) === 0 ? oldIndex : newIndex];
      clearMapBits(pages, record, oldBlock, newBlock, VISIBILITYMAP_VALID_BITS);
    }
    if (otherIndex < 0) this.updateOnPage(record, newIndex, flags, isHot);
    else this.updateToPage(record, newIndex, oldIndex, flags);
  }

  private updateOnPage(record: WalRecord, index: number, flags: number, isHot: boolean): void {
    const { pages } = this;
    const found = pages.fetch(record, index);
    if (found === REDO_MISSING) return;
    const { buffer, memory: m, base } = pages;
    if (found === REDO_NEEDED) {
      const block = record.block[index];
      const oldPos = redoPosition(m, base, pages.pool.geometry, record.u16(record.dataAt + 4), record, index);
      this.putNew(record, index, m, base, flags, oldPos);
      leaveOld(m, base, oldPos, record, block, isHot);
      if ((flags & XLH_ALL_VISIBLE_CLEARED) !== 0) pageClearAllVisible(m, base);
      pages.changed(buffer, record);
    }
    pages.release(buffer);
  }

  private updateToPage(record: WalRecord, newIndex: number, oldIndex: number, flags: number): void {
    const { pages } = this;
    const oldFound = pages.fetch(record, oldIndex);
    if (oldFound === REDO_NEEDED) {
      const { memory: m, base } = pages;
      const oldPos = redoPosition(m, base, pages.pool.geometry, record.u16(record.dataAt + 4), record, oldIndex);
      leaveOld(m, base, oldPos, record, record.block[newIndex], false);
      if ((flags & XLH_ALL_VISIBLE_CLEARED) !== 0) pageClearAllVisible(m, base);
      pages.changed(pages.buffer, record);
    }
    if (oldFound !== REDO_MISSING) pages.release(pages.buffer);
    const newFound = this.newPage(record, newIndex);
    if (newFound === REDO_MISSING) return;
    const { buffer, memory: m, base } = pages;
    if (newFound === REDO_NEEDED) {
      this.putNew(record, newIndex, m, base, flags, -1);
      if ((flags & XLH_UPDATE_NEW_ALL_VISIBLE_CLEARED) !== 0) pageClearAllVisible(m, base);
      pages.changed(buffer, record);
    }
    pages.release(buffer);
  }

  /** The new version, of which the old one at `oldPos` of the same page may have the first and the last bytes. */
  private putNew(record: WalRecord, index: number, m: PageMemory, base: number, flags: number, oldPos: number): void {
    const { dataAt } = record;
    const lengths =
      ((flags & XLH_UPDATE_PREFIX_FROM_OLD) === 0 ? 0 : 2) + ((flags & XLH_UPDATE_SUFFIX_FROM_OLD) === 0 ? 0 : 2);
    needBlockData(record, index, lengths + TUPLE_HEADER_BYTES);
    let at = record.blockDataAt[index];
    const end = at + record.blockDataLength[index];
    let prefix = 0;
    let suffix = 0;
    if ((flags & XLH_UPDATE_PREFIX_FROM_OLD) !== 0) {
      prefix = record.u16(at);
      at += 2;
    }
    if ((flags & XLH_UPDATE_SUFFIX_FROM_OLD) !== 0) {
      suffix = record.u16(at);
      at += 2;
    }
    if (prefix + suffix !== 0 && oldPos < 0) throw cannotRedo(record, index, 'the old version lies on another page');
    const offset: OffsetNumber = record.u16(dataAt + 12);
    const headerAt = at;
    at += TUPLE_HEADER_BYTES;
    const given = end - at;
    const length = HEAP_TUPLE_HEADER_BYTES + prefix + given + suffix;
    const hoff = record.u8(headerAt + 4);
    const bitmap = hoff - HEAP_TUPLE_HEADER_BYTES;
    // Before room is made the old tuple's end is known by its line pointer; making room moves nothing.
    let oldEnd = 0;
    if (prefix + suffix !== 0) {
      const oldLength = tupleLength(m, base, record.u16(dataAt + 4));
      oldEnd = oldPos + oldLength;
      const oldBytes = oldLength - tupleHoff(m, oldPos);
      if (prefix > oldBytes || suffix > oldBytes || bitmap < 0 || bitmap > given) {
        throw cannotRedo(record, index, 'the old version has not the bytes that the new one is to share with it');
      }
    }
    const pos = redoRoom(m, base, this.pages.pool.geometry, offset, length, record, index);
    redoHeader(m, pos, record, headerAt, record.xid, record.u32(dataAt + 8), record.block[index], offset);
    let to = afterHeader(pos);
    if (prefix === 0) {
      redoBytes(m, to, record, at, given);
      to += given;
    } else {
      redoBytes(m, to, record, at, bitmap);
      to += bitmap;
      copyOnPage(m, to, oldPos + tupleHoff(m, oldPos), prefix);
      to += prefix;
      redoBytes(m, to, record, at + bitmap, given - bitmap);
      to += given - bitmap;
    }
    if (suffix !== 0) copyOnPage(m, to, oldEnd - suffix, suffix);
  }

  private visible(record: WalRecord): void {
    const { pages } = this;
    needData(record, VISIBLE_BYTES);
    const bits = record.u8(record.dataAt + 4) & VISIBILITYMAP_VALID_BITS;
    const heapIndex = redoBlock(record, BLOCK_VISIBLE_HEAP, ForkNumber.main);
    const block = record.block[heapIndex];
    const mapIndex = redoBlock(record, BLOCK_VISIBLE_MAP, ForkNumber.vm);
    const { geometry } = pages.pool;
    if ((bits & VISIBILITYMAP_ALL_VISIBLE) === 0) throw malformed(record, `it is to set the bits ${bits} of a map`);
    if (geometry.vmBlockOf(block) !== record.block[mapIndex]) {
      throw malformed(record, `block ${record.block[mapIndex]} of a map has no bits of block ${block}`);
    }
    // The page first: a map may say less than its page, never more.
    const heapFound = pages.fetch(record, heapIndex);
    if (heapFound === REDO_NEEDED) {
      pageSetAllVisible(pages.memory, pages.base);
      pages.changed(pages.buffer, record);
    }
    if (heapFound !== REDO_MISSING) pages.release(pages.buffer);
    const found = pages.fetch(record, mapIndex);
    if (found === REDO_MISSING) return;
    const { buffer } = pages;
    if (found === REDO_NEEDED) {
      setVisibilityBits(pages.memory, pages.base, geometry, block, bits);
      pages.changed(buffer, record);
    }
    pages.release(buffer);
  }

  private multiInsert(record: WalRecord): void {
    const { pages } = this;
    const { dataAt } = record;
    needData(record, MULTI_INSERT_BYTES);
    const flags = record.u8(dataAt);
    const count = record.u16(dataAt + 2);
    const isInit = (record.info & XLOG_HEAP_INIT_PAGE) !== 0;
    if (!isInit) needData(record, MULTI_INSERT_BYTES + (count << 1));
    const index = redoBlock(record, BLOCK_NEW, ForkNumber.main);
    const block = record.block[index];
    const clears = (flags & XLH_ALL_VISIBLE_CLEARED) !== 0;
    if (clears) clearMapBits(pages, record, block, block, VISIBILITYMAP_VALID_BITS);
    const found = this.newPage(record, index);
    if (found === REDO_MISSING) return;
    const { buffer, memory: m, base } = pages;
    if (found === REDO_NEEDED) {
      const start = record.blockDataAt[index];
      let at = start;
      for (let i = 0; i < count; i++) {
        at += (at - start) & 1;
        needBlockData(record, index, at - start + MULTI_INSERT_TUPLE_BYTES);
        const offset = isInit ? i + 1 : record.u16(dataAt + MULTI_INSERT_BYTES + (i << 1));
        const bytes = record.u16(at);
        needBlockData(record, index, at - start + MULTI_INSERT_TUPLE_BYTES + bytes);
        const length = HEAP_TUPLE_HEADER_BYTES + bytes;
        const pos = redoRoom(m, base, pages.pool.geometry, offset, length, record, index);
        redoHeader(m, pos, record, at + 2, record.xid, 0, block, offset);
        redoBytes(m, afterHeader(pos), record, at + MULTI_INSERT_TUPLE_BYTES, bytes);
        at += MULTI_INSERT_TUPLE_BYTES + bytes;
      }
      if (clears) pageClearAllVisible(m, base);
      if ((flags & XLH_INSERT_ALL_FROZEN_SET) !== 0) pageSetAllVisible(m, base);
      pages.changed(buffer, record);
    }
    pages.release(buffer);
  }
}

/** The old version's header: it leads to the new one. */
function leaveOld(
  m: PageMemory,
  base: number,
  pos: number,
  record: WalRecord,
  newBlock: BlockNumber,
  isHot: boolean,
): void {
  const { dataAt } = record;
  redoXmax(m, pos, record.u32(dataAt), record.u8(dataAt + 6));
  const infomask2 = tupleInfomask2(m, pos);
  setTupleInfomask2(m, pos, isHot ? infomask2 | HEAP_HOT_UPDATED : infomask2 & ~HEAP_HOT_UPDATED);
  setTupleCtid(m, pos, newBlock, record.u16(dataAt + 12));
  pageSetPrunable(m, base, record.xid);
}

function tupleLength(m: PageMemory, base: number, offset: OffsetNumber): number {
  return lpLength(linePointer(m, base, offset));
}

function unknownInfo(record: WalRecord): Error {
  return cannotRedo(record, 0, `no heap record has the info bits 0x${record.info.toString(16)}`);
}
