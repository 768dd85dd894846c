// What an unlogged index is after a crash: its init fork, an empty index, which recovery copies in place of the main fork.
// PostgreSQL: `btbuildempty`, nbtree.c.
import { PAGE_FORCE_IMAGE, PAGE_STANDARD, Relation, XLOG_FPI } from '@blockwright/access';
import { RM_XLOG } from '@blockwright/wal';
import type { BtreeIndex } from './btree.ts';
import { initMetaPage } from './meta.ts';

/**
 * Gives the init fork of an unlogged index, which exists and has no blocks, its meta page. It is logged, as nothing else of
 * the index is: without it the index would not even be an empty one.
 * @throws StorageError 53100 when there is no room.
 */
export function btreeBuildEmpty(index: BtreeIndex): void {
  const { relation, pool, geometry, format } = index;
  const { storage, name, log, init } = relation;
  const logged = new Relation({ pool, storage, name, log });
  const id = pool.pin(init, pool.extend(init, 1));
  try {
    log.begin(logged, RM_XLOG, XLOG_FPI, 1, 0);
    try {
      initMetaPage(pool.memory(id), pool.base(id), geometry, 0, 0, format.allEqualImage);
      log.page(0, init, id, PAGE_FORCE_IMAGE | PAGE_STANDARD);
      log.finish(0);
    } catch (error) {
      log.panic(error);
    }
  } finally {
    pool.unpin(id);
  }
}
