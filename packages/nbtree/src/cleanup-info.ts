// What the meta page knows for the next vacuum: how many deleted pages this one had to leave, since somebody could still
// reach them. PostgreSQL: `_bt_vacuum_needs_cleanup`, `_bt_set_cleanup_info`, nbtpage.c.
import { PAGE_STANDARD, PAGE_WILL_INIT } from '@blockwright/access';
import { RM_BTREE } from '@blockwright/wal';
import type { BtreeIndex } from './btree.ts';
import { BTREE_METAPAGE, readMeta, writeMeta } from './meta.ts';
import { putMetadata } from './new-root.ts';
import { CLEANUP_BLOCK_META, METADATA_BYTES, XLOG_BTREE_META_CLEANUP } from './record-format.ts';

/** One page in so many that was left is worth a scan. */
const PAGES_FOR_ONE_LEFT = 20;

/** Whether pages that a vacuum left are more than a twentieth of the index: a scan of it may free them. */
export function needsCleanup(index: BtreeIndex): boolean {
  const { pool, main } = index;
  const left = pool.withPage(main, BTREE_METAPAGE, (m, base) => readMeta(m, base).lastCleanupNumDelpages);
  return left > 0 && left * PAGES_FOR_ONE_LEFT > main.blockCount();
}

/** Notes how many deleted pages are left. @throws StorageError 53100 when the WAL has no room. */
export function setCleanupInfo(index: BtreeIndex, deletedPages: number): void {
  const { relation, pool, main } = index;
  const { log } = relation;
  const id = pool.pin(main, BTREE_METAPAGE);
  try {
    const m = pool.memory(id);
    const base = pool.base(id);
    const before = readMeta(m, base);
    if (before.lastCleanupNumDelpages === deletedPages) return;
    const data = { ...before, lastCleanupNumDelpages: deletedPages, lastCleanupNumHeapTuples: -1 };
    log.begin(relation, RM_BTREE, XLOG_BTREE_META_CLEANUP, 1, METADATA_BYTES);
    try {
      writeMeta(m, base, data);
      log.page(CLEANUP_BLOCK_META, main, id, PAGE_WILL_INIT | PAGE_STANDARD);
      putMetadata(index, data);
      log.finish(0);
    } catch (error) {
      log.panic(error);
    }
    index.forgetMeta();
  } finally {
    pool.unpin(id);
  }
}
