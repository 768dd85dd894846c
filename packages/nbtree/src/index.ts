// Every export of the package, by hand.

export { BtreeIndex, type BtreeOptions, maxItemSizeOf } from './btree.ts';
export { type BuildOptions, type BuildResult, btreeBuild } from './build.ts';
export { btreeBulkDelete, btreeVacuumCleanup } from './bulk-delete.ts';
export { compareKey, compareToTuple } from './compare.ts';
export { btreeBuildEmpty } from './init-fork.ts';
export { btreeInsert } from './insert.ts';
export { BtreeLookup } from './lookup.ts';
export { maskBtreePage } from './mask.ts';
export {
  BTREE_MAGIC,
  BTREE_METAPAGE,
  BTREE_VERSION,
  initMetaPage,
  type MetaData,
  metaMagic,
  readMeta,
} from './meta.ts';
export {
  BTP_DELETED,
  BTP_HALF_DEAD,
  BTP_HAS_FULLXID,
  BTP_HAS_GARBAGE,
  BTP_INCOMPLETE_SPLIT,
  BTP_LEAF,
  BTP_META,
  BTP_ROOT,
  BTP_SPLIT_END,
  btCycleId,
  btFlags,
  btIgnore,
  btIncompleteSplit,
  btIsDeleted,
  btIsHalfDead,
  btIsLeaf,
  btIsLeftmost,
  btIsRightmost,
  btLevel,
  btNext,
  btPrev,
  btSafeXid,
  firstDataKey,
  P_NONE,
  SIZE_OF_BTREE_SPECIAL,
} from './page.ts';
export { btreeRecords } from './records.ts';
export { btreeResourceManager } from './redo.ts';
export { BtreeScan, type ScanOptions, type ScanRange } from './scan.ts';
export type { SearchBound } from './scan-boundary.ts';
export { binarySearch, checkPage, DescentStack, descend, descendToEnd, moveRight } from './search.ts';
export { SearchKey } from './search-key.ts';
export {
  compareTids,
  downlink,
  heapTidAt,
  isPivot,
  isPosting,
  maxHeapTidAt,
  nthTidAt,
  pivotHasTid,
  postingCount,
  postingOffset,
  tidBlock,
  tidOffset,
  tupleNatts,
} from './tuples.ts';
export { type BulkDeleteStats, newBulkDeleteStats } from './vacuum-state.ts';
