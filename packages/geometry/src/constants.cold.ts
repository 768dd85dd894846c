// Every constant that depends on the block size, computed once a size as PostgreSQL's headers define it. Divisions are
// allowed in this file only because it runs six times in a process's life.
import type { BlockSize } from './block-size.ts';

/** Bytes of a page before its line pointers. PostgreSQL: `SizeOfPageHeaderData`, bufpage.h. */
export const SIZE_OF_PAGE_HEADER = 24;
/** PostgreSQL: `SizeofHeapTupleHeader`, htup_details.h. */
const SIZE_OF_HEAP_TUPLE_HEADER = 23;
/** Bytes of a line pointer. PostgreSQL: `sizeof(ItemIdData)`, itemid.h. */
const SIZE_OF_ITEM_ID = 4;
/** Bits of the visibility map a heap block has. PostgreSQL: `BITS_PER_HEAPBLOCK`. */
const BITS_PER_HEAPBLOCK = 2;
/** Bytes of a segment file by default, the same at every block size. */
const SEGMENT_BYTES = 0x4000_0000;
/** The WAL page stays 8 kB at every block size. PostgreSQL: `XLOG_BLCKSZ`. */
export const XLOG_BLCKSZ = 8192;
/** Values that a free space map slot can have. PostgreSQL: `FSM_CATEGORIES`, freespace.c. */
const FSM_CATEGORIES = 256;

/** PostgreSQL: `SizeOfCommitTimestampEntry`, commit_ts.c. */
const SIZE_OF_COMMIT_TS_ENTRY = 10;
const SIZE_OF_TID = 6;
const SIZE_OF_INDEX_TUPLE_HEADER = 8;
const SIZE_OF_BTREE_SPECIAL = 16;
/** Column `chunk_id` and `chunk_seq` of a TOAST table's row. */
const SIZE_OF_CHUNK_KEY = 8;
const VARHDRSZ = 4;
/** `fp_next_slot`, which stands before the nodes of a free space map page. */
const SIZE_OF_FSM_HEADER = 4;
/** The cube root of the number of heap blocks, rounded up: with as many slots, three levels reach them all. freespace.c. */
const FSM_SLOTS_FOR_DEPTH_3 = 1626;
/** Members and flags of four transactions stand together. PostgreSQL: `MULTIXACT_MEMBERGROUP_SIZE`, multixact.c. */
const MULTIXACT_GROUP_BYTES = 20;

/** PostgreSQL: `MAXALIGN`, with MAXIMUM_ALIGNOF 8. */
const maxAlign = (n: number): number => (n + 7) & ~7;
const maxAlignDown = (n: number): number => n & ~7;

/** The constants of one block size, under PostgreSQL's names. Sizes are in bytes. */
export interface GeometryConstants {
  /** pg_config.h */
  readonly BLCKSZ: BlockSize;
  /** Blocks of a segment file. pg_config.h */
  readonly RELSEG_SIZE: number;
  /** off.h */
  readonly MaxOffsetNumber: number;
  /** htup_details.h */
  readonly MaxHeapTupleSize: number;
  /** htup_details.h */
  readonly MaxHeapTuplesPerPage: number;
  /** heaptoast.h */
  readonly TOAST_TUPLE_THRESHOLD: number;
  /** heaptoast.h */
  readonly TOAST_TUPLE_TARGET_MAIN: number;
  /** heaptoast.h */
  readonly TOAST_MAX_CHUNK_SIZE: number;
  /** large_object.h */
  readonly LOBLKSIZE: number;
  /** itup.h */
  readonly MaxIndexTuplesPerPage: number;
  /** nbtree.h */
  readonly MaxTIDsPerBTreePage: number;
  /**
   * nbtree.h. At 32 kB it is more than an index tuple's 13-bit size field can say (8191): there the field is the limit.
   */
  readonly BTMaxItemSize: number;
  /** Bytes of bits on a visibility map page. visibilitymap.c */
  readonly MAPSIZE: number;
  /** Heap blocks of a visibility map page. visibilitymap.c */
  readonly HEAPBLOCKS_PER_PAGE: number;
  /** fsm_internals.h */
  readonly NodesPerPage: number;
  /** fsm_internals.h */
  readonly NonLeafNodesPerPage: number;
  /** fsm_internals.h */
  readonly LeafNodesPerPage: number;
  /** fsm_internals.h */
  readonly SlotsPerFSMPage: number;
  /** Bytes of free space that one category stands for. freespace.c */
  readonly FSM_CAT_STEP: number;
  /** freespace.c */
  readonly MaxFSMRequestSize: number;
  /** Levels of the free space map. freespace.c */
  readonly FSM_TREE_DEPTH: number;
  /** freespace.c */
  readonly FSM_ROOT_LEVEL: number;
  /** clog.c */
  readonly CLOG_XACTS_PER_PAGE: number;
  /** subtrans.c */
  readonly SUBTRANS_XACTS_PER_PAGE: number;
  /** commit_ts.c */
  readonly COMMIT_TS_XACTS_PER_PAGE: number;
  /** multixact.c, up to PostgreSQL 18 */
  readonly MULTIXACT_OFFSETS_PER_PAGE: number;
  /** multixact.c */
  readonly MULTIXACT_MEMBERGROUPS_PER_PAGE: number;
  /** multixact.c */
  readonly MULTIXACT_MEMBERS_PER_PAGE: number;
}

export function geometryConstants(size: BlockSize): GeometryConstants {
  const pageBytes = size - SIZE_OF_PAGE_HEADER;
  const heapTuple = maximumBytesPerTuple(size, 1);
  const toastTarget = maximumBytesPerTuple(size, 4);
  const btreeRoom = size - maxAlign(SIZE_OF_PAGE_HEADER + 3 * SIZE_OF_ITEM_ID) - SIZE_OF_BTREE_SPECIAL;
  const nodes = pageBytes - SIZE_OF_FSM_HEADER;
  const nonLeafNodes = size / 2 - 1;
  const slots = nodes - nonLeafNodes;
  const fsmTreeDepth = slots >= FSM_SLOTS_FOR_DEPTH_3 ? 3 : 4;
  const multixactGroups = Math.floor(size / MULTIXACT_GROUP_BYTES);
  return {
    BLCKSZ: size,
    RELSEG_SIZE: SEGMENT_BYTES / size,
    MaxOffsetNumber: size / SIZE_OF_ITEM_ID,
    MaxHeapTupleSize: heapTuple,
    MaxHeapTuplesPerPage: Math.floor(pageBytes / (maxAlign(SIZE_OF_HEAP_TUPLE_HEADER) + SIZE_OF_ITEM_ID)),
    TOAST_TUPLE_THRESHOLD: toastTarget,
    TOAST_TUPLE_TARGET_MAIN: heapTuple,
    TOAST_MAX_CHUNK_SIZE: toastTarget - maxAlign(SIZE_OF_HEAP_TUPLE_HEADER) - SIZE_OF_CHUNK_KEY - VARHDRSZ,
    LOBLKSIZE: size / 4,
    MaxIndexTuplesPerPage: Math.floor(pageBytes / (maxAlign(SIZE_OF_INDEX_TUPLE_HEADER + 1) + SIZE_OF_ITEM_ID)),
    MaxTIDsPerBTreePage: Math.floor((pageBytes - SIZE_OF_BTREE_SPECIAL) / SIZE_OF_TID),
    BTMaxItemSize: maxAlignDown(Math.floor(btreeRoom / 3)) - maxAlign(SIZE_OF_TID),
    MAPSIZE: pageBytes,
    HEAPBLOCKS_PER_PAGE: pageBytes * (8 / BITS_PER_HEAPBLOCK),
    NodesPerPage: nodes,
    NonLeafNodesPerPage: nonLeafNodes,
    LeafNodesPerPage: slots,
    SlotsPerFSMPage: slots,
    FSM_CAT_STEP: size / FSM_CATEGORIES,
    MaxFSMRequestSize: heapTuple,
    FSM_TREE_DEPTH: fsmTreeDepth,
    FSM_ROOT_LEVEL: fsmTreeDepth - 1,
    CLOG_XACTS_PER_PAGE: size * 4,
    SUBTRANS_XACTS_PER_PAGE: size / 4,
    COMMIT_TS_XACTS_PER_PAGE: Math.floor(size / SIZE_OF_COMMIT_TS_ENTRY),
    MULTIXACT_OFFSETS_PER_PAGE: size / 4,
    MULTIXACT_MEMBERGROUPS_PER_PAGE: multixactGroups,
    MULTIXACT_MEMBERS_PER_PAGE: multixactGroups * 4,
  };
}

/** The largest tuple of which `count` fit on a page. PostgreSQL: `MaximumBytesPerTuple`, heaptoast.h. */
function maximumBytesPerTuple(size: BlockSize, count: number): number {
  return maxAlignDown(Math.floor((size - maxAlign(SIZE_OF_PAGE_HEADER + count * SIZE_OF_ITEM_ID)) / count));
}
