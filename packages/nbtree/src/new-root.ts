// A new level: the root was split, so the tree gets a root above it, with a downlink to either half.
// PostgreSQL: `_bt_newlevel`, nbtinsert.c.
import { PAGE_STANDARD, PAGE_WILL_INIT } from '@blockwright/access';
import { type BlockNumber, type BufferId, StorageError } from '@blockwright/base';
import { copyPage, itemPosition, type PageMemory, pageAddItem, pageSpecial, pageUpper } from '@blockwright/page';
import { indexTupleSize, setIndexTupleInfo, setIndexTupleTid } from '@blockwright/tuple';
import { RM_BTREE } from '@blockwright/wal';
import type { BtreeIndex } from './btree.ts';
import { copyTuple } from './copy-tuple.ts';
import { allocatePage } from './free-pages.ts';
import { BTREE_METAPAGE, type MetaData, readMeta, writeMeta } from './meta.ts';
import { BTP_ROOT, btInitPage, btLevel, setBtFlags, setBtLevel } from './page.ts';
import {
  METADATA_BYTES,
  NEWROOT_BLOCK_CHILD,
  NEWROOT_BLOCK_META,
  NEWROOT_BLOCK_ROOT,
  NEWROOT_BYTES,
  XLOG_BTREE_NEWROOT,
} from './record-format.ts';
import { clearIncomplete } from './split.ts';
import { setDownlink, setPivot } from './tuples.ts';
import { workspaceOf } from './workspace.ts';

/** Bytes of a tuple without attributes. */
const MINUS_INFINITY_BYTES = 8;

/**
 * Makes the root above the two halves of the old one, and leads the meta page to it. Both stay pinned.
 * @throws StorageError 53100 when there is no room: nothing has changed, and the split is still incomplete.
 */
export function makeNewRoot(index: BtreeIndex, left: BufferId, right: BufferId): void {
  const { pool, geometry: g, main, relation } = index;
  const { size } = g;
  const { log } = relation;
  const leftM = pool.memory(left);
  const leftBase = pool.base(left);
  const level = btLevel(leftM, leftBase, size) + 1;
  const page = buildRoot(index, left, right, level);
  let meta = -1;
  let root = -1;
  try {
    root = allocatePage(index);
    meta = pool.pin(main, BTREE_METAPAGE);
    const block = pool.block(root);
    const data = {
      ...readMeta(pool.memory(meta), pool.base(meta)),
      root: block,
      level,
      fastroot: block,
      fastlevel: level,
    };
    const upper = pageUpper(page, 0);
    const bytes = pageSpecial(page, 0) - upper;
    log.begin(relation, RM_BTREE, XLOG_BTREE_NEWROOT, 3, NEWROOT_BYTES + METADATA_BYTES + bytes);
    try {
      copyPage(page, 0, pool.memory(root), pool.base(root), g);
      clearIncomplete(leftM, leftBase, size);
      writeMeta(pool.memory(meta), pool.base(meta), data);
      log.u32(block);
      log.u32(level);
      log.page(NEWROOT_BLOCK_ROOT, main, root, PAGE_WILL_INIT);
      log.bytes(page.u8, upper, bytes);
      log.page(NEWROOT_BLOCK_CHILD, main, left, PAGE_STANDARD);
      log.page(NEWROOT_BLOCK_META, main, meta, PAGE_WILL_INIT | PAGE_STANDARD);
      putMetadata(index, data);
      log.finish(0);
    } catch (error) {
      log.panic(error);
    }
    index.forgetMeta();
  } finally {
    if (meta >= 0) pool.unpin(meta);
    if (root >= 0) pool.unpin(root);
  }
}

/** The root aside: the left half for all keys below the right one's, which the left one's high key says. */
function buildRoot(index: BtreeIndex, left: BufferId, right: BufferId, level: number): PageMemory {
  const { pool, geometry: g, relation } = index;
  const { leftPage: page, tuple } = workspaceOf(g);
  btInitPage(page, 0, g);
  setBtFlags(page, 0, g.size, BTP_ROOT);
  setBtLevel(page, 0, g.size, level);
  setIndexTupleInfo(tuple, 0, MINUS_INFINITY_BYTES);
  setIndexTupleTid(tuple, 0, pool.block(left), 0);
  setPivot(tuple, 0, 0, false);
  pageAddItem(page, 0, g, tuple.u8, 0, MINUS_INFINITY_BYTES, 1);
  const m = pool.memory(left);
  const length = copyTuple(m, itemPosition(m, pool.base(left), 1), tuple, 0);
  setDownlink(tuple, 0, pool.block(right));
  if (pageAddItem(page, 0, g, tuple.u8, 0, length, 2) !== 0) return page;
  const block: BlockNumber = pool.block(left);
  throw new StorageError('XX002', `the high key of block ${block} of index "${relation.name}" fits no page`, {
    detail: `It has ${indexTupleSize(tuple, 0)} bytes.`,
    hint: 'Rebuild the index: drop it and create it again.',
  });
}

/** The metadata, as a record has it. PostgreSQL: `xl_btree_metadata`. */
export function putMetadata(index: BtreeIndex, data: MetaData): void {
  const { log } = index.relation;
  log.u32(data.version);
  log.u32(data.root);
  log.u32(data.level);
  log.u32(data.fastroot);
  log.u32(data.fastlevel);
  log.u32(data.lastCleanupNumDelpages);
  log.u32(data.allequalimage ? 1 : 0);
}
