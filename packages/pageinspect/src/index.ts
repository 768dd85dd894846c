export { type ByteSource, bytesSource, type DetectedBlockSize, detectBlockSize } from './block-size.ts';
export {
  type BtItemRecord,
  type BtMetaRecord,
  type BtPageStatsRecord,
  btMetaRecord,
  btPageItems,
  btPageStats,
} from './btree.ts';
export {
  type CompactionPreview,
  type CompactionRefusal,
  previewCompaction,
} from './compaction-preview.ts';
export {
  type HeapItemRecord,
  heapPageItems,
  type LinePointerRecord,
  linePointerRecord,
  linePointerRecords,
} from './heap-items.ts';
export { byteaHex } from './hex.ts';
export { heapTupleInfomaskFlags, type InfomaskFlags } from './infomask.ts';
export {
  type InspectedPage,
  type InspectOptions,
  type InspectRelationOptions,
  inspectPage,
  inspectRelation,
  tailBytes,
} from './inspect.ts';
export {
  type InspectLayoutOptions,
  inspectLayout,
  type PageLayout,
  type PageLayoutBytes,
  type PageRegion,
  type PageRegionKind,
  pageLayout,
} from './layout.ts';
export {
  type FreeSpaceRecord,
  freeSpaceRecords,
  fsmPageContents,
  type VisibilityRecord,
  visibilityMapRecords,
} from './map-pages.ts';
export { type PageHeaderRecord, pageHeaderRecord } from './page-header.ts';
export { btreePageHasItems, btreePageType, type PageKind, pageKind } from './page-kind.ts';
