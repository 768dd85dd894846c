// The bytes of a record, which are PostgreSQL's but for the checksum and the flags of an image.
//
//   0           4           8                       16   17   18      20          24
//   +-----------+-----------+-----------------------+----+----+-------+-----------+--------------------------+-----------+----
//   |totalLength|    xid    | prev                  |info|rmgr|   0   |    crc    | block references, one by | main data | data
//   +-----------+-----------+-----------------------+----+----+-------+-----------+ one                      | header    | …
//
// | part             | bytes                                                                                               |
// |------------------|-----------------------------------------------------------------------------------------------------|
// | block reference  | id u8 (0 to 32), fork and flags u8, data length u16, then, if it has an image: length u16, hole     |
// |                  | offset u16, flags u8; unless it is of the relation before: tablespace, database, file number u32;   |
// |                  | block u32                                                                                           |
// | main data header | 255, length u8; or 254, length u32; nothing when there is no main data                              |
// | data             | of each block in order its image, without the hole, then its data; then the main data               |
//
// The crc is the CRC-32 of everything from byte 24 on and then of bytes 0 to 19, continuing the incarnation of the WAL. A
// record starts at a multiple of 8, so its length always lies on one page; what is left up to the next multiple is zero.
// PostgreSQL: xlogrecord.h.

export const RECORD_HEADER_BYTES: number = 24;
/** First byte of each field of a record's header. */
export const RECORD_FIELDS = { totalLength: 0, xid: 4, prev: 8, info: 16, rmgr: 17, zero: 18, crc: 20 } as const;

/** The longest record. (PostgreSQL's may have 1020 MB.) */
export const MAX_RECORD_BYTES: number = 1 << 26;
/** Block references of a record. PostgreSQL: `XLR_MAX_BLOCK_ID` + 1. */
export const MAX_BLOCK_REFERENCES: number = 33;
/** The most data of one block reference. */
export const MAX_BLOCK_DATA_BYTES: number = 0xffff;

/** PostgreSQL: `XLR_BLOCK_ID_DATA_SHORT`. */
export const SHORT_DATA: number = 255;
/** PostgreSQL: `XLR_BLOCK_ID_DATA_LONG`. */
export const LONG_DATA: number = 254;

/** Of a block reference's second byte. PostgreSQL: `BKPBLOCK_FORK_MASK` and so on. */
export const BLOCK_FORK_MASK: number = 0x0f;
export const BLOCK_HAS_IMAGE: number = 0x10;
export const BLOCK_HAS_DATA: number = 0x20;
export const BLOCK_WILL_INIT: number = 0x40;
export const BLOCK_SAME_RELATION: number = 0x80;

/** Of an image's flags: the low four bits. PostgreSQL: `BKPIMAGE_HAS_HOLE`, `BKPIMAGE_APPLY`. */
export const IMAGE_HAS_HOLE: number = 1;
export const IMAGE_APPLY: number = 2;
/**
 * The high four bits of an image's flags: the logarithm of the block size. So the WAL can be read without knowing the
 * block size; PostgreSQL, whose block size is a constant, has no such thing.
 */
export const IMAGE_SIZE_SHIFT: number = 4;
