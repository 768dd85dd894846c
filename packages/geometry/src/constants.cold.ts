// Every constant that depends on the block size, computed once a size as PostgreSQL's headers define it. Divisions are
// allowed in this file only because it runs six times in a process's life.
import type { BlockSize } from './block-size.ts';

/** MAXIMUM_ALIGNOF of every platform that this project runs on. */
export const MAXALIGN_BYTES = 8;
/** Bytes of a page before its line pointers. PostgreSQL: `SizeOfPageHeaderData`, bufpage.h. */
export const SIZE_OF_PAGE_HEADER = 24;
/** PostgreSQL: `SizeofHeapTupleHeader`, htup_details.h. */
export const SIZE_OF_HEAP_TUPLE_HEADER = 23;
/** Bytes of a line pointer. PostgreSQL: `sizeof(ItemIdData)`, itemid.h. */
export const SIZE_OF_ITEM_ID = 4;
/** Bits of the visibility map a heap block has. PostgreSQL: `BITS_PER_HEAPBLOCK`. */
export const BITS_PER_HEAPBLOCK = 2;
/** Bytes of a segment file by default, the same at every block size. */
export const SEGMENT_BYTES = 0x4000_0000;
/** The WAL page stays 8 kB at every block size. PostgreSQL: `XLOG_BLCKSZ`. */
export const XLOG_BLCKSZ = 8192;
/** Values that a free space map slot can have. PostgreSQL: `FSM_CATEGORIES`, freespace.c. */
export const FSM_CATEGORIES = 256;

const SIZE_OF_TID = 6;
const SIZE_OF_INDEX_TUPLE_HEADER = 8;
const SIZE_OF_BTREE_SPECIAL = 16;
const VARHDRSZ = 4;
/** An index tuple's size has 13 bits, and a pivot needs room for a heap TID: PostgreSQL itself does not check this. */
const LARGEST_INDEX_TUPLE_FIELD = 8176;

const maxAlign = (n: number): number => (n + 7) & ~7;
const maxAlignDown = (n: number): number => n & ~7;

/** The constants of one block size, under PostgreSQL's names. */
export interface GeometryConstants {
  readonly BLCKSZ: BlockSize;
  readonly RELSEG_SIZE: number;
  readonly MaxOffsetNumber: number;
  readonly MaxHeapTupleSize: number;
  readonly MaxHeapTuplesPerPage: number;
  readonly MaxIndexTuplesPerPage: number;
  readonly MaxTIDsPerBTreePage: number;
  readonly BTMaxItemSize: number;
  readonly TOAST_TUPLE_THRESHOLD: number;
  readonly TOAST_MAX_CHUNK_SIZE: number;
  readonly MAPSIZE: number;
  readonly HEAPBLOCKS_PER_PAGE: number;
  readonly FSM_CAT_STEP: number;
  readonly MaxFSMRequestSize: number;
  readonly NodesPerPage: number;
  readonly NonLeafNodesPerPage: number;
  readonly SlotsPerFSMPage: number;
  readonly FSM_TREE_DEPTH: number;
  readonly CLOG_XACTS_PER_PAGE: number;
  readonly SUBTRANS_XACTS_PER_PAGE: number;
  readonly MULTIXACT_OFFSETS_PER_PAGE: number;
  readonly MULTIXACT_MEMBERS_PER_PAGE: number;
}

export function geometryConstants(size: BlockSize): GeometryConstants {
  const tupleTarget = maxAlignDown(Math.floor((size - maxAlign(SIZE_OF_PAGE_HEADER + 4 * SIZE_OF_ITEM_ID)) / 4));
  const btreeItem =
    maxAlignDown(Math.floor((size - maxAlign(SIZE_OF_PAGE_HEADER + 3 * SIZE_OF_ITEM_ID) - SIZE_OF_BTREE_SPECIAL) / 3)) -
    maxAlign(SIZE_OF_TID);
  const nodes = size - SIZE_OF_PAGE_HEADER - 4;
  const nonLeafNodes = size / 2 - 1;
  const slots = nodes - nonLeafNodes;
  const heapTuple = size - maxAlign(SIZE_OF_PAGE_HEADER + SIZE_OF_ITEM_ID);
  return {
    BLCKSZ: size,
    RELSEG_SIZE: SEGMENT_BYTES / size,
    MaxOffsetNumber: size / SIZE_OF_ITEM_ID,
    MaxHeapTupleSize: heapTuple,
    MaxHeapTuplesPerPage: Math.floor(
      (size - SIZE_OF_PAGE_HEADER) / (maxAlign(SIZE_OF_HEAP_TUPLE_HEADER) + SIZE_OF_ITEM_ID),
    ),
    MaxIndexTuplesPerPage: Math.floor(
      (size - SIZE_OF_PAGE_HEADER) / (maxAlign(SIZE_OF_INDEX_TUPLE_HEADER + 1) + SIZE_OF_ITEM_ID),
    ),
    MaxTIDsPerBTreePage: Math.floor((size - SIZE_OF_PAGE_HEADER - SIZE_OF_BTREE_SPECIAL) / SIZE_OF_TID),
    BTMaxItemSize: Math.min(btreeItem, LARGEST_INDEX_TUPLE_FIELD),
    TOAST_TUPLE_THRESHOLD: tupleTarget,
    TOAST_MAX_CHUNK_SIZE: tupleTarget - maxAlign(SIZE_OF_HEAP_TUPLE_HEADER) - 4 - 4 - VARHDRSZ,
    MAPSIZE: size - SIZE_OF_PAGE_HEADER,
    HEAPBLOCKS_PER_PAGE: (size - SIZE_OF_PAGE_HEADER) * (8 / BITS_PER_HEAPBLOCK),
    FSM_CAT_STEP: size / FSM_CATEGORIES,
    MaxFSMRequestSize: heapTuple,
    NodesPerPage: nodes,
    NonLeafNodesPerPage: nonLeafNodes,
    SlotsPerFSMPage: slots,
    // Deep enough for 2^32 - 1 heap blocks: freespace.c compares with the cube root, 1626.
    FSM_TREE_DEPTH: slots >= 1626 ? 3 : 4,
    CLOG_XACTS_PER_PAGE: size * 4,
    SUBTRANS_XACTS_PER_PAGE: size / 4,
    MULTIXACT_OFFSETS_PER_PAGE: size / 4,
    MULTIXACT_MEMBERS_PER_PAGE: Math.floor(size / 20) * 4,
  };
}
