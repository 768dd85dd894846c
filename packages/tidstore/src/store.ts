// What every store of TIDs can do, and the checks that all of them make.
import type { BlockNumber, OffsetNumber } from '@blockwright/base';

/** A set of TIDs, gathered block by block: what vacuum remembers of dead tuples. PostgreSQL: `TidStore`, tidstore.c. */
export interface TidStore {
  /**
   * Remembers the first `count` of `offsets` as all the TIDs of `block`. A block that is there already has its TIDs
   * replaced. Blocks may come in any order; ascending is fastest. PostgreSQL: `TidStoreSetBlockOffsets`.
   * @throws RangeError, before anything changes, when `block` is no block number, `count` is not 1 to `offsets.length`, or
   *   the offsets are not ascending, each once, from 1 to the geometry's `maxOffsetNumber`.
   * @throws StorageError 54000 when there is no room for it: {@link isFull} would have said so before. RangeError when the
   *   process has no memory. Nothing has changed then.
   */
  add(block: BlockNumber, offsets: Uint16Array, count: number): void;
  /** Whether a TID is here. What is no TID is not. PostgreSQL: `TidStoreIsMember`. */
  has(block: BlockNumber, o: OffsetNumber): boolean;
  /** The blocks in order, each with its offsets. Any change ends it: the next step throws. */
  cursor(): TidCursor;
  /**
   * Bytes of all typed arrays, spare room included; those lent by cursors are not. {@link clear} leaves it as it is: the
   * memory is kept for what is added next. PostgreSQL: `TidStoreMemoryUsage`.
   */
  readonly memoryBytes: number;
  /** Blocks that have TIDs here. */
  readonly blockCount: number;
  /** TIDs. */
  readonly tidCount: number;
  /**
   * Whether the limit is reached by what is in use, without the memory that {@link clear} left, which
   * {@link memoryBytes} counts. Whoever adds asks between two blocks, and empties the store first when it is. One more block
   * always fits while it is not. An empty store is never full.
   */
  isFull(): boolean;
  /** Forgets all TIDs. The memory is kept for the next ones; who wants none of it lets go of the store. */
  clear(): void;
}

/** Blocks in order. What it lends is valid until the next step. PostgreSQL: `TidStoreIter`. */
export interface TidCursor {
  /**
   * Goes to the next block; false when there is none.
   * @throws TypeError when the store has changed since the cursor was made.
   */
  next(): boolean;
  /** The current block. */
  readonly block: BlockNumber;
  /** Its offsets, ascending: the first {@link count} of these. The array is the same at each step. */
  readonly offsets: Uint16Array;
  readonly count: number;
}

/** Whether the arguments of `TidStore.add` are a block number and a count of the offsets that are there. */
export function areCounts(block: number, offsets: Uint16Array, count: number): boolean {
  return (
    block >>> 0 === block && block !== 0xffff_ffff && count >>> 0 === count && count > 0 && count <= offsets.length
  );
}

/** @throws RangeError that says what is wrong with the arguments of `TidStore.add`, if anything is. */
export function checkTids(block: number, offsets: Uint16Array, count: number, max: number): void {
  if (block >>> 0 !== block || block === 0xffff_ffff) {
    throw new RangeError(`block number ${String(block)} is not an integer from 0 to 4294967294`);
  }
  if (!areCounts(block, offsets, count)) {
    throw new RangeError(
      `count ${String(count)} is not an integer from 1 to ${String(offsets.length)}, the offsets given`,
    );
  }
  let previous = 0;
  for (let i = 0; i < count; i++) {
    const o = offsets[i];
    if (o < 1 || o > max) throw new RangeError(`offset number ${String(o)} is not from 1 to ${String(max)}`);
    if (o <= previous) {
      throw new RangeError(`offset number ${String(o)} after ${String(previous)}: they must ascend, each once`);
    }
    previous = o;
  }
}

/** {@link checkTids} of arguments of which something is known to be wrong. */
export function refuseTids(block: number, offsets: Uint16Array, count: number, max: number): never {
  checkTids(block, offsets, count, max);
  throw new Error('unreachable: the arguments are good');
}
