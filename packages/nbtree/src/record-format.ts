// The WAL records of a B-tree, field by field. PostgreSQL 18: nbtxlog.h, whose kinds, block ids and layouts these are, gaps
// included. Tuples lie as on a page, each MAXALIGNed; "high key" is the left page's new one.
//
//   record             main data                                                   blocks, and their data
//   INSERT_LEAF        offnum u16                                                  0 page: the tuple
//   INSERT_UPPER       offnum u16                                                  0 page: the tuple; 1 the child whose split
//                                                                                    is complete with it
//   INSERT_META        offnum u16                                                  0 and 1 as before, 2 meta page: metadata
//   INSERT_POST        offnum u16, of the tuple after the posting list             0 page: postingoff u16, the tuple as it
//                                                                                    came (its TID is swapped with one of
//                                                                                    the posting list at offnum - 1)
//   SPLIT_L, SPLIT_R   level u32, firstrightoff u16, newitemoff u16,               0 left page: the tuple as it came (L, or
//                      postingoff u16 (0 unless a posting list that stays on         if postingoff), high key; 1 right page,
//                      the left page is split)                                       new: its tuples, last one first;
//                                                                                    2 the page to its right, if any;
//                                                                                    3 the child, above the leaves
//   DEDUP              nintervals u16                                              0 page: baseoff u16, nitems u16 each
//   DELETE             conflict horizon u32, ndeleted u16, nupdated u16,           0 page: offsets deleted, offsets of posting
//                      isCatalogRel u8                                               lists updated, and for each of these
//                                                                                    ndeletedtids u16 and their numbers u16,
//                                                                                    from 0
//   VACUUM             ndeleted u16, nupdated u16                                  0 page: as DELETE
//   MARK_PAGE_HALFDEAD poffset u16, 2 of nothing, leafblk u32, leftblk u32,        0 leaf, made anew; 1 parent of the topmost
//                      rightblk u32, topparent u32                                   page that goes
//   UNLINK_PAGE        leftsib u32, rightsib u32, level u32, 4 of nothing,         0 page, made anew; 1 left sibling, if any;
//   UNLINK_PAGE_META   safexid u64, leafleftsib u32, leafrightsib u32,             2 right sibling; 3 leaf, made anew, if it is
//                      leaftopparent u32                                             another page; 4 meta page: metadata
//   NEWROOT            rootblk u32, level u32                                      0 root, made anew: its tuples, last one
//                                                                                    first; 1 left child; 2 meta page: metadata
//   REUSE_PAGE         tablespace, database, relfilenode u32, block u32,           none
//                      conflict horizon u64, isCatalogRel u8
//   META_CLEANUP                                                                   0 meta page: metadata
//
//   metadata: version u32, root u32, level u32, fastroot u32, fastlevel u32, last_cleanup_num_delpages u32,
//             allequalimage u8, 3 of nothing. The meta page is made anew with it.

// xl_info of RM_BTREE.
export const XLOG_BTREE_INSERT_LEAF = 0x00;
export const XLOG_BTREE_INSERT_UPPER = 0x10;
export const XLOG_BTREE_INSERT_META = 0x20;
export const XLOG_BTREE_SPLIT_L = 0x30;
export const XLOG_BTREE_SPLIT_R = 0x40;
export const XLOG_BTREE_INSERT_POST = 0x50;
export const XLOG_BTREE_DEDUP = 0x60;
export const XLOG_BTREE_DELETE = 0x70;
export const XLOG_BTREE_UNLINK_PAGE = 0x80;
export const XLOG_BTREE_UNLINK_PAGE_META = 0x90;
export const XLOG_BTREE_NEWROOT = 0xa0;
export const XLOG_BTREE_MARK_PAGE_HALFDEAD = 0xb0;
export const XLOG_BTREE_VACUUM = 0xc0;
export const XLOG_BTREE_REUSE_PAGE = 0xd0;
export const XLOG_BTREE_META_CLEANUP = 0xe0;
export const XLOG_BTREE_OPMASK = 0xf0;

// Block ids. INSERT_*:
export const INSERT_BLOCK_PAGE = 0;
export const INSERT_BLOCK_CHILD = 1;
export const INSERT_BLOCK_META = 2;
// SPLIT_*:
export const SPLIT_BLOCK_LEFT = 0;
export const SPLIT_BLOCK_RIGHT = 1;
export const SPLIT_BLOCK_NEXT = 2;
export const SPLIT_BLOCK_CHILD = 3;
// DEDUP, DELETE, VACUUM:
export const BLOCK_PAGE = 0;
// MARK_PAGE_HALFDEAD:
export const HALFDEAD_BLOCK_LEAF = 0;
export const HALFDEAD_BLOCK_PARENT = 1;
// UNLINK_PAGE*:
export const UNLINK_BLOCK_TARGET = 0;
export const UNLINK_BLOCK_LEFT = 1;
export const UNLINK_BLOCK_RIGHT = 2;
export const UNLINK_BLOCK_LEAF = 3;
export const UNLINK_BLOCK_META = 4;
// NEWROOT:
export const NEWROOT_BLOCK_ROOT = 0;
export const NEWROOT_BLOCK_CHILD = 1;
export const NEWROOT_BLOCK_META = 2;
// META_CLEANUP:
export const CLEANUP_BLOCK_META = 0;

/** Bytes of the main data. */
export const INSERT_BYTES = 2;
export const SPLIT_BYTES = 10;
export const DEDUP_BYTES = 2;
export const DELETE_BYTES = 9;
export const VACUUM_BYTES = 4;
export const HALFDEAD_BYTES = 20;
export const UNLINK_BYTES = 36;
export const NEWROOT_BYTES = 8;
export const REUSE_PAGE_BYTES = 25;

/** postingoff before the tuple of INSERT_POST. */
export const POSTING_OFFSET_BYTES = 2;
/** One interval of DEDUP. PostgreSQL: `BTDedupInterval`. */
export const DEDUP_INTERVAL_BYTES = 4;
/** The metadata of a meta page. PostgreSQL: `xl_btree_metadata`. */
export const METADATA_BYTES = 28;
