export {
  checkSource,
  PAI_ALLOW_FAR_OFFSET,
  PAI_IS_HEAP,
  PAI_OVERWRITE,
  pageAddItem,
  pageReserveItem,
} from './add.ts';
export {
  blockOfChecksum,
  checksumKernel,
  checksumOfHash,
  pageChecksum,
  pageHash,
  pageHashes,
  pageHashPortable,
  pageSetChecksum,
} from './checksum.ts';
export { CompactionScratch } from './compaction/scratch.ts';
export { COMPACTIONS, type Compaction } from './compaction.ts';
export { withPageContext } from './context.ts';
export { findPageFaults, type PageCheckOptions } from './findings.ts';
export {
  pageExactFreeSpace,
  pageFreeSpace,
  pageFreeSpaceForMultipleTuples,
  pageHeapFreeSpace,
} from './free-space.ts';
export {
  checkPageBounds,
  PAGE_LAYOUT_VERSION,
  PD_ALL_VISIBLE,
  PD_HAS_FREE_LINES,
  PD_PAGE_FULL,
  PD_VALID_FLAG_BITS,
  pageBoundsAreSane,
  pageClearAllVisible,
  pageClearFull,
  pageClearHasFreeLines,
  pageFlags,
  pageHasFreeLines,
  pageInit,
  pageIsAllVisible,
  pageIsEmpty,
  pageIsFull,
  pageIsNew,
  pageIsZero,
  pageLayoutVersion,
  pageLower,
  pageLsnHigh,
  pageLsnLow,
  pageMaxOffset,
  pagePruneXid,
  pageSetAllVisible,
  pageSetFlags,
  pageSetFull,
  pageSetHasFreeLines,
  pageSetLower,
  pageSetLsn,
  pageSetPrunable,
  pageSetPruneXid,
  pageSetUpper,
  pageSizeOf,
  pageSizeWord,
  pageSpecial,
  pageSpecialBytes,
  pageStoreChecksum,
  pageStoredChecksum,
  pageUpper,
} from './header.ts';
export {
  pageIndexMultiDelete,
  pageIndexTupleDelete,
  pageIndexTupleDeleteNoCompact,
  pageIndexTupleOverwrite,
} from './index-items.ts';
export { type ChecksumKernel, kernelInstance } from './kernel.ts';
export {
  checkedItem,
  itemIsInBounds,
  itemPosition,
  LP_DEAD,
  LP_NORMAL,
  LP_REDIRECT,
  LP_UNUSED,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  makeLinePointer,
  markItemDead,
  markLinePointerDead,
  markLinePointerRedirect,
  markLinePointerUnused,
  setLinePointer,
} from './line-pointer.ts';
export { kernelMemory, type PageMemory, PageMemoryViews, pageMemory } from './memory.ts';
export {
  type LinePointerState,
  Page,
  type PageHeader,
  type PageItem,
  type PageOptions,
} from './page.ts';
export { pageRepairFragmentation, pageTruncateLinePointerArray } from './repair.ts';
export { copyPage, restoreTempPage, tempPage, tempPageCopy, tempPageCopySpecial } from './temp-page.ts';
export { describePageFault, PageFault, pageVerify, pageVerifyHeader } from './verify.ts';
