// Numbers that must not be mixed. A flavoured number is free at run time: a plain number (the result of arithmetic)
// may be passed where one is asked for, but a block number never where an offset number is.

declare const flavor: unique symbol;
type Flavored<Name extends string> = number & { readonly [flavor]?: Name };

/** A block of a relation fork, 0 to 0xFFFFFFFE; {@link INVALID_BLOCK_NUMBER} for none. PostgreSQL: `BlockNumber`, block.h. */
export type BlockNumber = Flavored<'BlockNumber'>;
/** A line pointer of a page, counted from 1; 0 for none. PostgreSQL: `OffsetNumber`, off.h. */
export type OffsetNumber = Flavored<'OffsetNumber'>;
/** A buffer of a pool, counted from 0; -1 for none. PostgreSQL: `Buffer`, buf.h. */
export type BufferId = Flavored<'BufferId'>;
/** A transaction id without its epoch, uint32. PostgreSQL: `TransactionId`, transam.h. */
export type Xid = Flavored<'Xid'>;
/** A byte position in the WAL, a safe integer; 0 for none. On pages it is two words. PostgreSQL: `XLogRecPtr`, xlogdefs.h. */
export type Lsn = Flavored<'Lsn'>;
/** An object id, uint32. PostgreSQL: `Oid`. */
export type Oid = Flavored<'Oid'>;

/** PostgreSQL: `InvalidBlockNumber`. */
export const INVALID_BLOCK_NUMBER: BlockNumber = 0xffff_ffff;
/** The largest block number a fork can have. PostgreSQL: `MaxBlockNumber`. */
export const MAX_BLOCK_NUMBER: BlockNumber = 0xffff_fffe;
/** PostgreSQL: `InvalidOffsetNumber`. */
export const INVALID_OFFSET_NUMBER: OffsetNumber = 0;
/** PostgreSQL: `FirstOffsetNumber`. */
export const FIRST_OFFSET_NUMBER: OffsetNumber = 1;
/** PostgreSQL: `InvalidTransactionId`. */
export const INVALID_XID: Xid = 0;
/** PostgreSQL: `BootstrapTransactionId`. */
export const BOOTSTRAP_XID: Xid = 1;
/** What xmin of a frozen tuple reads as. PostgreSQL: `FrozenTransactionId`. */
export const FROZEN_XID: Xid = 2;
/** PostgreSQL: `InvalidXLogRecPtr`. */
export const INVALID_LSN: Lsn = 0;
/** The first xid that a transaction can have. PostgreSQL: `FirstNormalTransactionId`. */
export const FIRST_NORMAL_XID: Xid = 3;

/**
 * Checks that `value` is a block number a fork can have (0 to 0xFFFFFFFE).
 * @throws RangeError when it is not.
 */
export function blockNumber(value: number): BlockNumber {
  if (!Number.isInteger(value) || value < 0 || value > MAX_BLOCK_NUMBER) {
    throw new RangeError(`block number ${String(value)} is not an integer from 0 to 4294967294`);
  }
  return value;
}

/**
 * Checks that `value` is an offset number a line pointer can have (1 to 8192, the most that a 32 kB page holds).
 * @throws RangeError when it is not.
 */
export function offsetNumber(value: number): OffsetNumber {
  if (!Number.isInteger(value) || value < 1 || value > 0x2000) {
    throw new RangeError(`offset number ${String(value)} is not an integer from 1 to 8192`);
  }
  return value;
}

/**
 * Checks that `value` is a uint32, as xids and object ids are.
 * @throws RangeError naming `what` when it is not.
 */
export function uint32(value: number, what: string): number {
  if (!Number.isInteger(value) || value < 0 || value > 0xffff_ffff) {
    throw new RangeError(`${what} ${String(value)} is not an integer from 0 to 4294967295`);
  }
  return value;
}
