// The WAL records of the heap, field by field. PostgreSQL: heapam_xlog.h, whose layouts these are, but for the map pages:
// PostgreSQL finds the map page of a cleared bit by itself, here it is a block of the record, imaged and checked by LSN
// like any other.
//
//   record             main data                                                   blocks, and their data
//   INSERT             offnum u16, flags u8                                        0 page: header 5, tuple from byte 23 on
//                                                                                  2 its map page
//   DELETE             xmax u32, offnum u16, infobits u8, flags u8                 0 page, 2 its map page
//   UPDATE,            old_xmax u32, old_offnum u16, old_infobits u8, flags u8,    0 page of the new tuple: prefix length
//   HOT_UPDATE         new_xmax u32, new_offnum u16                                  u16, suffix length u16 (each if flags
//                                                                                    say so), header 5, the rest of the
//                                                                                    tuple; 1 page of the old one, if it
//                                                                                    is another; 2 map page of the new
//                                                                                    one's, 3 of the old one's, where bits
//                                                                                    were cleared; one page once
//   LOCK               xmax u32, offnum u16, infobits u8, flags u8                 0 page, 2 its map page
//   PRUNE              reason u8, flags u8, conflict horizon u32                   0 page: freeze plans (n u16, pad u16, 12
//                                                                                    bytes each), then n u16 and pairs of
//                                                                                    redirects, n and dead, n and unused
//                                                                                    ones, then the frozen offsets
//   VISIBLE            conflict horizon u32, flags u8                              0 map page, 1 page
//   MULTI_INSERT       flags u8, 0, ntuples u16, offsets u16 (not with INIT)       0 page: for each tuple, at an even byte,
//                                                                                    length u16, header 5, tuple from
//                                                                                    byte 23 on; 2 its map page
//
//   header: t_infomask2 u16, t_infomask u16, t_hoff u8

import {
  HEAP_KEYS_UPDATED,
  HEAP_XMAX_EXCL_LOCK,
  HEAP_XMAX_IS_MULTI,
  HEAP_XMAX_KEYSHR_LOCK,
  HEAP_XMAX_LOCK_ONLY,
} from '@blockwright/tuple';

// xl_info of RM_HEAP.
export const XLOG_HEAP_INSERT = 0x00;
export const XLOG_HEAP_DELETE = 0x10;
export const XLOG_HEAP_UPDATE = 0x20;
export const XLOG_HEAP_HOT_UPDATE = 0x40;
export const XLOG_HEAP_LOCK = 0x60;
export const XLOG_HEAP_OPMASK = 0x70;
/** The page held nothing else: redo makes it anew. */
export const XLOG_HEAP_INIT_PAGE = 0x80;

// xl_info of RM_HEAP2.
export const XLOG_HEAP2_PRUNE_ON_ACCESS = 0x10;
export const XLOG_HEAP2_PRUNE_VACUUM_SCAN = 0x20;
export const XLOG_HEAP2_PRUNE_VACUUM_CLEANUP = 0x30;
export const XLOG_HEAP2_VISIBLE = 0x40;
export const XLOG_HEAP2_MULTI_INSERT = 0x50;

/** Block ids. */
export const BLOCK_NEW = 0;
export const BLOCK_OLD = 1;
export const BLOCK_MAP = 2;
export const BLOCK_OLD_MAP = 3;
/** Of VISIBLE, as PostgreSQL has them. */
export const BLOCK_VISIBLE_MAP = 0;
export const BLOCK_VISIBLE_HEAP = 1;

/** PD_ALL_VISIBLE was cleared, and both bits of the map: of INSERT, DELETE, MULTI_INSERT, and of UPDATE's old page. */
export const XLH_ALL_VISIBLE_CLEARED = 0x01;
export const XLH_UPDATE_NEW_ALL_VISIBLE_CLEARED = 0x02;
export const XLH_UPDATE_PREFIX_FROM_OLD = 0x20;
export const XLH_UPDATE_SUFFIX_FROM_OLD = 0x40;
/** The map's all-frozen bit was cleared. */
export const XLH_LOCK_ALL_FROZEN_CLEARED = 0x01;
/** The last record of a row of them. */
export const XLH_INSERT_LAST_IN_MULTI = 0x02;
/** The tuples are frozen, and the page was marked so. */
export const XLH_INSERT_ALL_FROZEN_SET = 0x20;

// Flags of PRUNE.
export const XLHP_IS_CATALOG_REL = 0x02;
export const XLHP_CLEANUP_LOCK = 0x04;
export const XLHP_HAS_CONFLICT_HORIZON = 0x08;
export const XLHP_HAS_FREEZE_PLANS = 0x10;
export const XLHP_HAS_REDIRECTIONS = 0x20;
export const XLHP_HAS_DEAD_ITEMS = 0x40;
export const XLHP_HAS_NOW_UNUSED_ITEMS = 0x80;

/** Bytes of the main data before what varies. */
export const INSERT_BYTES = 3;
export const DELETE_BYTES = 8;
export const UPDATE_BYTES = 14;
export const LOCK_BYTES = 8;
export const VISIBLE_BYTES = 5;
export const MULTI_INSERT_BYTES = 4;
/** t_infomask2, t_infomask, t_hoff. PostgreSQL: `xl_heap_header`. */
export const TUPLE_HEADER_BYTES = 5;
/** A tuple's length before its header, in MULTI_INSERT. PostgreSQL: `xl_multi_insert_tuple`. */
export const MULTI_INSERT_TUPLE_BYTES = 7;
/** xmax, t_infomask2, t_infomask, frzflags and a byte of nothing, number of tuples. PostgreSQL: `xlhp_freeze_plan`. */
export const FREEZE_PLAN_BYTES = 12;

const XLHL_XMAX_IS_MULTI = 0x01;
const XLHL_XMAX_LOCK_ONLY = 0x02;
const XLHL_XMAX_EXCL_LOCK = 0x04;
const XLHL_XMAX_KEYSHR_LOCK = 0x08;
const XLHL_KEYS_UPDATED = 0x10;

/** What a record says of the bits that go with xmax. PostgreSQL: `compute_infobits`. */
export function infobitsOf(infomask: number, infomask2: number): number {
  return (
    ((infomask & HEAP_XMAX_IS_MULTI) !== 0 ? XLHL_XMAX_IS_MULTI : 0) |
    ((infomask & HEAP_XMAX_LOCK_ONLY) !== 0 ? XLHL_XMAX_LOCK_ONLY : 0) |
    ((infomask & HEAP_XMAX_EXCL_LOCK) !== 0 ? XLHL_XMAX_EXCL_LOCK : 0) |
    ((infomask & HEAP_XMAX_KEYSHR_LOCK) !== 0 ? XLHL_XMAX_KEYSHR_LOCK : 0) |
    ((infomask2 & HEAP_KEYS_UPDATED) !== 0 ? XLHL_KEYS_UPDATED : 0)
  );
}

/** The bits of t_infomask that a record's infobits stand for. PostgreSQL: `fix_infomask_from_infobits`. */
export function infomaskOfInfobits(infobits: number): number {
  return (
    ((infobits & XLHL_XMAX_IS_MULTI) !== 0 ? HEAP_XMAX_IS_MULTI : 0) |
    ((infobits & XLHL_XMAX_LOCK_ONLY) !== 0 ? HEAP_XMAX_LOCK_ONLY : 0) |
    ((infobits & XLHL_XMAX_EXCL_LOCK) !== 0 ? HEAP_XMAX_EXCL_LOCK : 0) |
    ((infobits & XLHL_XMAX_KEYSHR_LOCK) !== 0 ? HEAP_XMAX_KEYSHR_LOCK : 0)
  );
}

/** Those of t_infomask2. */
export function infomask2OfInfobits(infobits: number): number {
  return (infobits & XLHL_KEYS_UPDATED) !== 0 ? HEAP_KEYS_UPDATED : 0;
}

const INFOBIT_NAMES = ['IS_MULTI', 'LOCK_ONLY', 'EXCL_LOCK', 'KEYSHR_LOCK', 'KEYS_UPDATED'];

/** As pg_waldump prints them: `[LOCK_ONLY, EXCL_LOCK]`. */
export function infobitsText(infobits: number): string {
  return `[${INFOBIT_NAMES.filter((_, bit) => (infobits & (1 << bit)) !== 0).join(', ')}]`;
}
