// Row locks that a tuple's header cannot hold: it has room for one transaction, and multixacts are never written. So a
// second sharer, and the lock on a row that its holder has updated within a savepoint, are kept here, in memory; they
// end with the transaction, which a crash ends too. Each is an xid's, the transaction's or a savepoint's: it goes when that
// xid is rolled back, and stays when the savepoint is released. PostgreSQL: heap_lock_tuple, README.tuplock.
import { type BlockNumber, fromWords, type OffsetNumber, type RelationLocator, type Xid } from '@blockwright/base';
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

/** One lock of one row. */
interface Holder {
  readonly transaction: Transaction;
  /** The transaction's level that took it. */
  readonly xid: Xid;
  /** Index in MODES. */
  mode: number;
}

type Rows = Map<number, Holder[]>;

/** Where a lock is, for when it ends. */
interface Place {
  readonly rows: Rows;
  readonly key: number;
  readonly holder: Holder;
}

export class RowLocks {
  private readonly relations: Map<string, Rows> = new Map();
  private readonly acquired: Map<Transaction, Place[]> = new Map();
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
    let strongest = -1;
    for (const holder of this.holders(relation, block, offset)) {
      if (holder.transaction === transaction && holder.mode > strongest) strongest = holder.mode;
    }
    return MODES[strongest];
  }

  /**
   * Notes a lock until the transaction ends, or the savepoint that is current now is rolled back. The caller has asked for
   * conflicts.
   * @throws StorageError as {@link Transaction.writeXid}.
   */
  hold(
    transaction: Transaction,
    relation: RelationLocator,
    block: BlockNumber,
    offset: OffsetNumber,
    mode: RowLockMode,
  ): void {
    this.holdFor(transaction, transaction.writeXid(), relation, block, offset, mode);
  }

  /**
   * Notes a lock that `xid` has, a level of `transaction`, until that level is rolled back or the transaction ends: one
   * that stood in the row's header.
   */
  holdFor(
    transaction: Transaction,
    xid: Xid,
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
    const known = holders.find((one) => one.xid === xid);
    if (known !== undefined) {
      if (known.mode < wanted) known.mode = wanted;
      return;
    }
    const holder: Holder = { transaction, xid, mode: wanted };
    holders.push(holder);
    const list = this.acquired.get(transaction);
    if (list === undefined) this.acquired.set(transaction, [{ rows, key, holder }]);
    else list.push({ rows, key, holder });
  }

  /** The locks of a row version, but for those of `except`, hold for its successor, too. */
  copy(
    relation: RelationLocator,
    fromBlock: BlockNumber,
    fromOffset: OffsetNumber,
    toBlock: BlockNumber,
    toOffset: OffsetNumber,
    except: Transaction,
  ): void {
    for (const { transaction, xid, mode } of [...this.holders(relation, fromBlock, fromOffset)]) {
      if (transaction !== except) this.holdFor(transaction, xid, relation, toBlock, toOffset, MODES[mode]);
    }
  }

  /** Another row has come to stand at the TID: whoever had locked what stood there has nothing there any more. */
  forget(relation: RelationLocator, block: BlockNumber, offset: OffsetNumber): void {
    this.rowsOf(relation, false)?.delete(rowKey(block, offset));
  }

  /** @internal Xids of the transaction have been rolled back: their locks go. */
  sweep(transaction: Transaction): void {
    this.end(transaction, (holder) => !transaction.isCurrent(holder.xid));
  }

  /** @internal The transaction has ended: all its locks go. */
  release(transaction: Transaction): void {
    this.end(transaction, () => true);
  }

  private end(transaction: Transaction, isOver: (holder: Holder) => boolean): void {
    const list = this.acquired.get(transaction);
    if (list === undefined) return;
    const left: Place[] = [];
    for (const place of list) {
      if (isOver(place.holder)) remove(place);
      else left.push(place);
    }
    if (left.length > 0) {
      this.acquired.set(transaction, left);
      return;
    }
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

function remove({ rows, key, holder }: Place): void {
  const holders = rows.get(key);
  const index = holders?.indexOf(holder) ?? -1;
  if (holders === undefined || index < 0) return;
  if (holders.length > 1) holders.splice(index, 1);
  else rows.delete(key);
}

/** A TID as one safe integer, block · 2^16 + offset. */
function rowKey(block: BlockNumber, offset: OffsetNumber): number {
  return fromWords(block >>> 16, (block << 16) | offset);
}
