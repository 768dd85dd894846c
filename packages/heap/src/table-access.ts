// The heap as its indexes see it. An entry's TID is a plain tuple's or the root of a HOT chain, and every question is asked
// of the whole chain. PostgreSQL: heapam_handler.c, `heap_hot_search_buffer` and `heap_index_delete_tuples` of heapam.c.
import type { Relation, TableAccess, UseTableTuple } from '@blockwright/access';
import { TABLE_ABSENT, TABLE_DEAD, TABLE_IN_PROGRESS, TABLE_LIVE } from '@blockwright/access';
import {
  type BlockNumber,
  type BufferId,
  fromWords,
  INVALID_XID,
  type OffsetNumber,
  type Steps,
  StorageError,
  type Xid,
} from '@blockwright/base';
import {
  LP_NORMAL,
  LP_REDIRECT,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  pageLsnHigh,
  pageLsnLow,
} from '@blockwright/page';
import type { Snapshot, Transaction, Transactions } from '@blockwright/transam';
import {
  isHeapOnly,
  isHotUpdated,
  tupleCtidOffset,
  tupleInfomask,
  tupleInfomask2,
  tupleXmin,
} from '@blockwright/tuple';
import { type BuildScanResult, buildScanSteps } from './build-scan.ts';
import { corruptLinePointer } from './errors.ts';
import { HintSink } from './hints.ts';
import { leadsToTuple, linePointerCount, linePointersEnd } from './line-pointers.ts';
import { heapPagePruneOpt } from './prune.ts';
import { DirtyFate, isSurelyDead } from './visibility-dirty.ts';
import { tupleUpdateXid } from './visibility-multi.ts';
import { satisfiesMvcc } from './visibility-mvcc.ts';
import { HEAPTUPLE_DEAD, satisfiesVacuum } from './visibility-vacuum.ts';

/** Whom a walk along a chain is for. */
const FOR_SNAPSHOT = 0;
const FOR_NOW = 1;
const FOR_ANYBODY = 2;

/** One heap, for its indexes. It keeps a page pinned between {@link fetch} and {@link release}; one a user. */
export class HeapTableAccess implements TableAccess<Transaction, Snapshot> {
  readonly name: string;
  conflictXid: Xid = INVALID_XID;
  allDead = false;
  /** After {@link buildScan}: versions that an old snapshot may see and that the new index does not know. */
  leftOut = 0;
  position = 0;
  length = 0;
  private readonly relation: Relation;
  private readonly transactions: Transactions;
  private readonly hints: HintSink;
  private readonly fate: DirtyFate;
  private id: BufferId = -1;
  private block: BlockNumber = 0;
  private pinnedMemory: PageMemory | undefined = undefined;
  private base = 0;

  constructor(relation: Relation, transactions: Transactions) {
    this.name = relation.name;
    this.relation = relation;
    this.transactions = transactions;
    this.hints = HintSink.for(relation);
    this.fate = new DirtyFate(transactions);
  }

  /** Of the page that the last {@link fetch} pinned. */
  get memory(): PageMemory {
    if (this.pinnedMemory === undefined) throw new TypeError('no row is lent: fetch one first');
    return this.pinnedMemory;
  }

  uniqueCheck(tx: Transaction | undefined, block: BlockNumber, offset: OffsetNumber): number {
    if (!this.relation.main.hasBlock(block)) return TABLE_DEAD;
    const { pool, main } = this.relation;
    const id = pool.pin(main, block);
    try {
      const { fate } = this;
      fate.tx = tx;
      const found = this.walk(pool.memory(id), pool.base(id), block, offset, FOR_NOW, undefined);
      this.hints.flush(this.relation, id);
      if (found === 0) return this.allDead ? TABLE_DEAD : TABLE_ABSENT;
      if (fate.decidedBy === INVALID_XID) return TABLE_LIVE;
      this.conflictXid = this.transactions.topXidOf(fate.decidedBy);
      return TABLE_IN_PROGRESS;
    } finally {
      pool.unpin(id);
    }
  }

  fetch(block: BlockNumber, offset: OffsetNumber, snapshot: Snapshot): OffsetNumber {
    if (this.id < 0 || this.block !== block) {
      this.release();
      if (!this.pin(block)) return 0;
    }
    const m = this.pinnedMemory as PageMemory;
    const found = this.walk(m, this.base, block, offset, FOR_SNAPSHOT, snapshot);
    this.hints.flush(this.relation, this.id);
    if (found === 0) return 0;
    const lp = linePointer(m, this.base, found);
    this.position = this.base + lpOffset(lp);
    this.length = lpLength(lp);
    return found;
  }

  release(): void {
    if (this.id < 0) return;
    this.relation.pool.unpin(this.id);
    this.id = -1;
    this.pinnedMemory = undefined;
  }

  deletable(blocks: Uint32Array, offsets: Uint16Array, count: number, out: Uint8Array, mostBlocks: number): number {
    let deletable = 0;
    let asked = 0;
    for (let from = 0; from < count; ) {
      const block = blocks[from];
      let to = from + 1;
      while (to < count && blocks[to] === block) to++;
      if (asked++ < mostBlocks) deletable += this.deletableOf(block, offsets, from, to, out);
      else out.fill(0, from, to);
      from = to;
    }
    return deletable;
  }

  *buildScan(use: UseTableTuple, tx: Transaction | undefined): Steps<BuildScanResult> {
    const result = yield* buildScanSteps(this.relation, this.transactions, use, tx);
    this.leftOut = result.leftOut;
    return result;
  }

  private deletableOf(block: BlockNumber, offsets: Uint16Array, from: number, to: number, out: Uint8Array): number {
    const { pool, main } = this.relation;
    if (!main.hasBlock(block)) {
      out.fill(1, from, to);
      return to - from;
    }
    let deletable = 0;
    const id = pool.pin(main, block);
    try {
      heapPagePruneOpt(this.relation, id, this.transactions);
      const m = pool.memory(id);
      const base = pool.base(id);
      for (let i = from; i < to; i++) {
        const isDead = this.walk(m, base, block, offsets[i], FOR_ANYBODY, undefined) === 0;
        out[i] = isDead ? 1 : 0;
        if (isDead) deletable++;
      }
      this.hints.flush(this.relation, id);
    } finally {
      pool.unpin(id);
    }
    return deletable;
  }

  private pin(block: BlockNumber): boolean {
    const { relation } = this;
    const { pool, main } = relation;
    if (!main.hasBlock(block)) {
      this.allDead = true;
      return false;
    }
    this.id = pool.pin(main, block);
    this.block = block;
    if (this.hints.writable) {
      try {
        heapPagePruneOpt(relation, this.id, this.transactions);
      } catch (error) {
        this.release();
        throw error;
      }
    }
    this.pinnedMemory = pool.memory(this.id);
    this.base = pool.base(this.id);
    return true;
  }

  /**
   * Along the chain that begins at `offset`, to the first member that is there for whom it is asked; 0 when none is, and
   * {@link allDead} says whether all are dead to everybody, and a crash cannot change it.
   */
  private walk(
    m: PageMemory,
    base: number,
    block: BlockNumber,
    offset: OffsetNumber,
    whom: number,
    snapshot: Snapshot | undefined,
  ): OffsetNumber {
    const { transactions } = this;
    const { geometry, name } = this.relation;
    const lines = linePointerCount(m, base, geometry.size, name, block);
    const lower = linePointersEnd(lines);
    let at = offset;
    let isStart = true;
    let previousXmax: Xid = INVALID_XID;
    this.allDead = true;
    for (let steps = 0; steps <= lines; steps++) {
      if (at < 1 || at > lines) return this.nothing(m, base);
      const lp = linePointer(m, base, at);
      if (!leadsToTuple(lp, lower, geometry.size)) {
        if (lpFlags(lp) === LP_NORMAL) throw corruptLinePointer(name, block, at, lpOffset(lp), lpLength(lp));
        if (lpFlags(lp) !== LP_REDIRECT || !isStart) return this.nothing(m, base);
        at = lpOffset(lp);
        isStart = false;
        continue;
      }
      const pos = base + lpOffset(lp);
      const infomask2 = tupleInfomask2(m, pos);
      if (isStart && isHeapOnly(infomask2)) return this.nothing(m, base);
      // Another tuple may have been put where the chain once went on: after an update that was rolled back.
      if (previousXmax !== INVALID_XID && tupleXmin(m, pos) !== previousXmax) return this.nothing(m, base);
      if (this.isThere(m, pos, whom, snapshot)) {
        this.allDead = false;
        return at;
      }
      if (whom !== FOR_ANYBODY && this.allDead && !isSurelyDead(m, pos, transactions)) this.allDead = false;
      const infomask = tupleInfomask(m, pos); // with the hints just set
      if (!isHotUpdated(infomask, infomask2)) return 0;
      previousXmax = tupleUpdateXid(m, pos, infomask, transactions);
      at = tupleCtidOffset(m, pos);
      isStart = false;
    }
    throw new StorageError('XX001', `relation "${name}", block ${block}, offset ${offset}: the HOT chain has no end`, {
      hint: 'Run "blockwright check" on the file to see all that is damaged, and restore it from a copy.',
    });
  }

  /**
   * What the line pointers alone say of a row, that it is gone, its page has from pruning: a crash that loses that, and the
   * commit behind it, brings the row back.
   */
  private nothing(m: PageMemory, base: number): 0 {
    if (!this.allDead || !this.relation.isLogged) return 0;
    this.allDead = this.transactions.outlivesCrash(fromWords(pageLsnHigh(m, base), pageLsnLow(m, base)));
    return 0;
  }

  private isThere(m: PageMemory, pos: number, whom: number, snapshot: Snapshot | undefined): boolean {
    const { hints, transactions } = this;
    if (whom === FOR_SNAPSHOT) return satisfiesMvcc(m, pos, snapshot as Snapshot, hints);
    if (whom === FOR_NOW) return this.fate.isThere(m, pos, hints);
    return satisfiesVacuum(m, pos, transactions, transactions.horizon(), hints) !== HEAPTUPLE_DEAD;
  }
}
