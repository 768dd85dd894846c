export {
  BLOCK_SIZES,
  type BlockSize,
  DEFAULT_BLOCK_SIZE,
  formatBlockSize,
  isBlockSize,
  parseBlockSize,
} from './block-size.ts';
export { type GeometryConstants, SIZE_OF_PAGE_HEADER, XLOG_BLCKSZ } from './constants.cold.ts';
export { BlockGeometry } from './geometry.ts';
