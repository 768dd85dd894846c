export { AttributePlaces, atTuple, locateAttributes, type TupleLayout } from './attributes.ts';
export { BatchDecoder, type BatchDecoderOptions } from './batch-decoder.ts';
export type { ByteSink } from './byte-sink.ts';
export type { AttAlign, Codec, ColumnType, VectorKind } from './column-type.ts';
export { type CompressionMethod, decompress } from './compression.ts';
export { type Column, type ColumnDefinition, droppedColumn, TupleDescriptor } from './descriptor.ts';
export { TupleEncoder, type TupleEncoderOptions, type TupleHeader } from './encoder.ts';
export { TupleError, type TupleErrorPlace } from './errors.ts';
export {
  HEAP_COMBOCID,
  HEAP_HASEXTERNAL,
  HEAP_HASNULL,
  HEAP_HASOID_OLD,
  HEAP_HASVARWIDTH,
  HEAP_HOT_UPDATED,
  HEAP_KEYS_UPDATED,
  HEAP_LOCK_MASK,
  HEAP_MOVED,
  HEAP_MOVED_IN,
  HEAP_MOVED_OFF,
  HEAP_NATTS_MASK,
  HEAP_ONLY_TUPLE,
  HEAP_TUPLE_HEADER_BYTES,
  HEAP_UPDATED,
  HEAP_XACT_MASK,
  HEAP_XMAX_BITS,
  HEAP_XMAX_COMMITTED,
  HEAP_XMAX_EXCL_LOCK,
  HEAP_XMAX_INVALID,
  HEAP_XMAX_IS_MULTI,
  HEAP_XMAX_KEYSHR_LOCK,
  HEAP_XMAX_LOCK_ONLY,
  HEAP_XMAX_SHR_LOCK,
  HEAP_XMIN_COMMITTED,
  HEAP_XMIN_FROZEN,
  HEAP_XMIN_INVALID,
  HEAP2_XACT_MASK,
  heapHeaderBytes,
  isHeapOnly,
  isHotUpdated,
  isXmaxLockOnly,
  isXminFrozen,
  MAX_HEAP_ATTRIBUTES,
  MAX_TUPLE_ATTRIBUTES,
  nullBitmapBytes,
  setTupleCommandId,
  setTupleCtid,
  setTupleInfomask,
  setTupleInfomask2,
  setTupleXmax,
  setTupleXmin,
  tupleCommandId,
  tupleCtidBlock,
  tupleCtidOffset,
  tupleHoff,
  tupleInfomask,
  tupleInfomask2,
  tupleNatts,
  tupleXmax,
  tupleXmin,
} from './heap-header.ts';
export { IndexTupleFormat, type IndexTupleFormatOptions } from './index-format.ts';
export { IndexTupleFormer, type IndexTupleFormerOptions } from './index-former.ts';
export {
  INDEX_AM_RESERVED_BIT,
  INDEX_MAX_KEYS,
  INDEX_NULL_MASK,
  INDEX_SIZE_MASK,
  INDEX_TUPLE_HEADER_BYTES,
  INDEX_VAR_MASK,
  indexTupleBlock,
  indexTupleDataOffset,
  indexTupleInfo,
  indexTupleOffset,
  indexTupleSize,
  setIndexTupleInfo,
  setIndexTupleTid,
} from './index-header.ts';
export type { KeyOrder } from './index-keys.ts';
export type { CompareKeys } from './key-interpreter.ts';
export { type TupleMemory, tupleMemory } from './memory.ts';
export { pglzCompress } from './pglz-compress.ts';
export { RowDecoder, type RowDecoderOptions } from './row-decoder.ts';
export { bytea, uuid } from './types/binary.ts';
export { columnTypeOf, cstring, name, oid, opaque, quotedChar, xid } from './types/catalog.ts';
export { char, text, varchar } from './types/character.ts';
export { date, timestamptz } from './types/datetime.ts';
export { float4, float8 } from './types/float.ts';
export { bool, int2, int4, int8 } from './types/integer.ts';
export { type TypeInWords, typeInWords } from './types/named.ts';
export { numeric } from './types/numeric.ts';
export {
  type FetchToast,
  readToastPointer,
  TOAST_POINTER_BYTES,
  type ToastPointer,
  VARATT_SHORT_DATA_MAX,
  VARHDRSZ,
  VARTAG_ONDISK,
} from './varlena.ts';
export {
  type BytesVector,
  type CharVector,
  createVector,
  createVectors,
  type FloatVector,
  type Int8Vector,
  type IntVector,
  type ScaledVector,
  type TextVector,
  type Vector,
  type VectorOptions,
  vectorCapacity,
  vectorValue,
} from './vectors.ts';
