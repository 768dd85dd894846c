// Row locks that a tuple's header cannot hold: it has room for one transaction, and multixacts are never written. So a
// second sharer, and the lock on a row that its holder has updated within a savepoint, are kept here, in memory; they
// end with the transaction, which a crash ends too. PostgreSQL: heap_lock_tuple, README.tuplock.
import { type BlockNumber, fromWords, type OffsetNumber, type RelationLocator } from '@blockwright/base';
import type { Transaction } from './transaction.ts';

/** Strengths of a row lock, weakest first. PostgreSQL: `LockTupleMode`. */
export type RowLockMode = 'key share' | 'share' | 'no key update' | 'update';

const MODES: readonly RowLockMode[] = ['key share', 'share', 'no key update', 'update'];

// Bit j of CONFLICTS[i]: a lock of mode i excludes one of mode j held by another. PostgreSQL: the table of README.tuplock.
const CONFLICTS: readonly number[] = [0b1000, 0b1100, 0b1110, 0b1111];

/** Whether two transactions cannot hold these locks of one row at once. */
export function rowLocksConflict(a: RowLockMode, b: RowLockMode): boolean {
  return ((CONFLICTS[MODES.indexOf(a)] >>> MODES.indexOf(b)) & 1) !== 0;
}

/** Whether a holder of `held` needs no other lock to have `wanted`. */
export function rowLockCovers(held: RowLockMode, wanted: RowLockMode): boolean {
  return MODES.indexOf(held) >= MODES.indexOf(wanted);
}

interface Holder {
  readonly transaction: Transaction;
  /** Index in MODES. */
  mode: number;
}

type Rows = Map<number, Holder[]>;

/** What {@link RowLocks} does to take one acquisition back. */
interface Acquired {
  readonly rows: Rows;
  readonly key: number;
  /** Mode held before, -1 for none. */
  readonly before: number;
}

export class RowLocks {
  private readonly relations: Map<string, Rows> = new Map();
  private readonly acquired: Map<Transaction, Acquired[]> = new Map();
  private lastRelation: RelationLocator | undefined = undefined;
  private lastRows: Rows | undefined = undefined;

  /** Whether no lock is held at all: then no look-up is needed. */
  get isEmpty(): boolean {
    return this.acquired.size === 0;
  }

  /**
   * Another transaction whose lock of the row excludes `mode`, if any.
   * @param asker its own locks are in nobody's way.
   */
  conflicting(
    asker: Transaction,
    relation: RelationLocator,
    block: BlockNumber,
    offset: OffsetNumber,
    mode: RowLockMode,
  ): Transaction | undefined {
    if (this.acquired.size === 0) return undefined;
    const conflicts = CONFLICTS[MODES.indexOf(mode)];
    for (const holder of this.holders(relation, block, offset)) {
      if (holder.transaction !== asker && ((conflicts >>> holder.mode) & 1) !== 0) return holder.transaction;
    }
    return undefined;
  }

  /** The strongest lock of the row that `transaction` holds here; undefined for none. */
  heldBy(
    transaction: Transaction,
    relation: RelationLocator,
    block: BlockNumber,
    offset: OffsetNumber,
  ): RowLockMode | undefined {
    if (this.acquired.size === 0) return undefined;
    return MODES[this.holders(relation, block, offset).find((one) => one.transaction === transaction)?.mode ?? -1];
  }

  /**
   * Notes a lock until the transaction ends, or the savepoint that is current now is rolled back. A weaker one than it
   * holds changes nothing. The caller has asked for conflicts.
   */
  hold(
    transaction: Transaction,
    relation: RelationLocator,
    block: BlockNumber,
    offset: OffsetNumber,
    mode: RowLockMode,
  ): void {
    const wanted = MODES.indexOf(mode);
    const rows = this.rowsOf(relation, true) as Rows;
    const key = rowKey(block, offset);
    let holders = rows.get(key);
    if (holders === undefined) {
      holders = [];
      rows.set(key, holders);
    }
    const holder = holders.find((one) => one.transaction === transaction);
    const before = holder === undefined ? -1 : holder.mode;
    if (before >= wanted) return;
    if (holder === undefined) holders.push({ transaction, mode: wanted });
    else holder.mode = wanted;
    const list = this.acquired.get(transaction);
    if (list === undefined) this.acquired.set(transaction, [{ rows, key, before }]);
    else list.push({ rows, key, before });
  }

  /** @internal How many acquisitions a transaction has made: what {@link rollback} goes back to. */
  mark(transaction: Transaction): number {
    return this.acquired.get(transaction)?.length ?? 0;
  }

  /** @internal Takes back what was acquired since `mark`; 0 for all. */
  rollback(transaction: Transaction, mark: number): void {
    const list = this.acquired.get(transaction);
    if (list === undefined) return;
    while (list.length > mark) {
      const { rows, key, before } = list.pop() as Acquired;
      const holders = rows.get(key) as Holder[];
      const index = holders.findIndex((one) => one.transaction === transaction);
      if (before >= 0) (holders[index] as Holder).mode = before;
      else if (holders.length > 1) holders.splice(index, 1);
      else rows.delete(key);
    }
    if (list.length > 0) return;
    this.acquired.delete(transaction);
    if (this.acquired.size > 0) return;
    this.relations.clear();
    this.lastRelation = undefined;
    this.lastRows = undefined;
  }

  private holders(relation: RelationLocator, block: BlockNumber, offset: OffsetNumber): readonly Holder[] {
    return this.rowsOf(relation, false)?.get(rowKey(block, offset)) ?? NOBODY;
  }

  private rowsOf(relation: RelationLocator, make: boolean): Rows | undefined {
    if (relation === this.lastRelation && this.lastRows !== undefined) return this.lastRows;
    const name = `${relation.tablespace}/${relation.database}/${relation.relfilenode}`;
    let rows = this.relations.get(name);
    if (rows === undefined && make) {
      rows = new Map();
      this.relations.set(name, rows);
    }
    this.lastRelation = relation;
    this.lastRows = rows;
    return rows;
  }
}

const NOBODY: readonly Holder[] = [];

/** A TID as one safe integer, block · 2^16 + offset. */
function rowKey(block: BlockNumber, offset: OffsetNumber): number {
  return fromWords(block >>> 16, (block << 16) | offset);
}
