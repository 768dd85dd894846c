// Every export of the package, by hand.
export { BtreeIndex, type BtreeOptions, maxItemSizeOf } from './btree.ts';
export { compareKey, compareToTuple } from './compare.ts';
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
