export {
  BLOCK_SIZES,
  type BlockSize,
  DEFAULT_BLOCK_SIZE,
  formatBlockSize,
  isBlockSize,
  parseBlockSize,
} from './block-size.ts';
export {
  BITS_PER_HEAPBLOCK,
  FSM_CATEGORIES,
  type GeometryConstants,
  MAXALIGN_BYTES,
  SEGMENT_BYTES,
  SIZE_OF_HEAP_TUPLE_HEADER,
  SIZE_OF_ITEM_ID,
  SIZE_OF_PAGE_HEADER,
  XLOG_BLCKSZ,
} from './constants.cold.ts';
export { BlockGeometry } from './geometry.ts';
