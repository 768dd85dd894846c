// One tuple into the heap, and its record. PostgreSQL: `heap_insert`, heapam.c.
import { PAGE_STANDARD, PAGE_WILL_INIT } from '@blockwright/access';
import type { Xid } from '@blockwright/base';
import { pageClearAllVisible, pageIsAllVisible } from '@blockwright/page';
import { VISIBILITYMAP_VALID_BITS, type VisibilityMap } from '@blockwright/visibilitymap';
import { RM_HEAP } from '@blockwright/wal';
import { putTuple, putWhole, startsPage } from './put-tuple.ts';
import {
  BLOCK_MAP,
  BLOCK_NEW,
  INSERT_BYTES,
  TUPLE_HEADER_BYTES,
  XLH_ALL_VISIBLE_CLEARED,
  XLOG_HEAP_INIT_PAGE,
  XLOG_HEAP_INSERT,
} from './record-format.ts';
import { checkHeapPage, type WriterParts } from './writer-parts.ts';

/**
 * Places the tuple that {@link WriterParts.encode} made, `length` bytes, and logs it as `xid`'s.
 * @throws what {@link Placement.find} throws, XX001 for a damaged page, 53100 when the WAL has no room: no page holds the
 * row then.
 */
export function insertRow(parts: WriterParts, length: number, xid: Xid): void {
  const { relation, map, placement } = parts;
  const { pool, main, vm, geometry, log } = relation;
  placement.find(length);
  let mapId = -1;
  try {
    const { memory: m, base, block, buffer } = placement;
    checkHeapPage(m, base, parts, block);
    const wasAllVisible = pageIsAllVisible(m, base);
    if (wasAllVisible && map !== undefined) mapId = map.pinToClear(block);
    const isFirst = startsPage(m, base);
    const info = isFirst ? XLOG_HEAP_INSERT | XLOG_HEAP_INIT_PAGE : XLOG_HEAP_INSERT;
    log.begin(relation, RM_HEAP, info, 2, INSERT_BYTES + TUPLE_HEADER_BYTES + length);
    try {
      const offset = putTuple(m, base, geometry, parts.tuple, 0, length, block);
      pageClearAllVisible(m, base);
      log.u16(offset);
      log.u8(wasAllVisible ? XLH_ALL_VISIBLE_CLEARED : 0);
      log.page(BLOCK_NEW, main, buffer, isFirst ? PAGE_WILL_INIT : PAGE_STANDARD);
      putWhole(log, parts.tuple, length);
      if (mapId >= 0) {
        (map as VisibilityMap).clearPinned(mapId, block, VISIBILITYMAP_VALID_BITS);
        log.page(BLOCK_MAP, vm, mapId, 0);
      }
      log.finish(xid);
      parts.block = block;
      parts.offset = offset;
    } catch (error) {
      log.panic(error);
    }
  } finally {
    if (mapId >= 0) pool.unpin(mapId);
    placement.release();
  }
}
