// What an index sees of its table, and all that it sees: whether the row behind an entry lives, the version of it that a
// snapshot sees, which entries are dead to everybody, and every row that a new index needs. The heap implements it; the
// B-tree is written against it. PostgreSQL: `TableAmRoutine`, tableam.h.
import type { BlockNumber, OffsetNumber, Steps, Xid } from '@blockwright/base';
import type { PageMemory } from '@blockwright/page';

/** No version can be seen by anyone any more: the entry may be killed. */
export const TABLE_DEAD = 0;
/** Not there now, but somebody may still see it. */
export const TABLE_ABSENT = 1;
/** There now, committed or the asking transaction's own: its key is taken. */
export const TABLE_LIVE = 2;
/** Another open transaction has made or removed it and decides what it will be: `conflictXid`. */
export const TABLE_IN_PROGRESS = 3;

/**
 * Given one tuple of the table: the bytes from `position` on are lent until it returns. The TID is that of the root of its
 * HOT chain; `isAlive` says whether it counts for uniqueness.
 */
export type UseTableTuple = (
  m: PageMemory,
  position: number,
  length: number,
  block: BlockNumber,
  rootOffset: OffsetNumber,
  isAlive: boolean,
) => void;

/** A table as its indexes see it. Every TID is an entry's: a plain tuple or the root of a HOT chain. */
export interface TableAccess<Tx, Snap> {
  readonly name: string;

  /**
   * Whether the row that an entry stands for is there now: the whole HOT chain that begins at the TID, by what is
   * committed, in progress and `tx`'s own at this moment, whatever snapshots see. PostgreSQL:
   * `table_index_fetch_tuple_check` and `heap_hot_search_buffer` with `SnapshotDirty`.
   * @returns `TABLE_*`
   */
  uniqueCheck(tx: Tx | undefined, block: BlockNumber, offset: OffsetNumber): number;
  /** After `TABLE_IN_PROGRESS`: the transaction that decides, a top level one. */
  readonly conflictXid: Xid;

  /**
   * Finds the version of a row that `snapshot` sees. PostgreSQL: `heapam_index_fetch_tuple`.
   * @returns its offset, or 0 when it sees none. `memory`, `position` and `length` lie in the page, which stays pinned
   *   until the next call or {@link release}.
   */
  fetch(block: BlockNumber, offset: OffsetNumber, snapshot: Snap): number;
  /** After a fetch that gave 0: no snapshot sees any version any more. */
  readonly allDead: boolean;
  readonly memory: PageMemory;
  readonly position: number;
  readonly length: number;
  release(): void;

  /**
   * Which of the entries with these TIDs, sorted, are dead to everybody: sets `out[i]` to 1, to 0 otherwise. Asks at most
   * `mostBlocks` different blocks, in order; entries of the others stay. PostgreSQL: `heap_index_delete_tuples`.
   * @returns how many are.
   */
  deletable(blocks: Uint32Array, offsets: Uint16Array, count: number, out: Uint8Array, mostBlocks: number): number;

  /**
   * Gives `use` every tuple that a new index needs, in block order: those that are live, those that an old snapshot may
   * still see, and those of `tx`. Of a HOT chain it is a member's values with the root's TID. PostgreSQL:
   * `heapam_index_build_range_scan`.
   */
  buildScan(use: UseTableTuple, tx: Tx | undefined): Steps<{ readonly tuples: number }>;
}
