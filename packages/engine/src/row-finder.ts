// From a TID that somebody kept to the version of the row that a snapshot sees: along its HOT chain, and on to where other
// transactions have moved the row, as long as the old versions are there. PostgreSQL: heap_get_latest_tid, heapam.c.
import type { Relation } from '@blockwright/access';
import { type BlockNumber, type OffsetNumber, StorageError, type Xid } from '@blockwright/base';
import { heapHotSearch, linePointerCount, NO_HINTS, satisfiesMvcc, tupleUpdateXid } from '@blockwright/heap';
import { LP_NORMAL, LP_REDIRECT, linePointer, lpFlags, lpOffset, type PageMemory } from '@blockwright/page';
import type { Snapshot, Transactions } from '@blockwright/transam';
import {
  isHeapOnly,
  isHotUpdated,
  tupleCtidBlock,
  tupleCtidOffset,
  tupleInfomask,
  tupleInfomask2,
  tupleXmin,
} from '@blockwright/tuple';

/** Looks up one row after the other; what it found last is in its fields. */
export class RowFinder {
  /** Where the visible version stands. */
  block: BlockNumber = 0;
  offset: OffsetNumber = 0;
  /** The line pointer, on the same block, by which the row is found for as long as its updates are HOT. */
  root: OffsetNumber = 0;

  /**
   * Whether `snapshot` sees a version of the row at (block, offset), which may be a chain's root or any member of it.
   * @throws StorageError XX001 for damage.
   */
  find(relation: Relation, block: BlockNumber, offset: OffsetNumber, snapshot: Snapshot): boolean {
    let [b, o] = [block, offset];
    let writer: Xid = 0;
    for (let steps = 0; ; steps++) {
      if (steps === MOST_STEPS) throw endless(relation, block, offset);
      if (!relation.main.hasBlock(b)) return false;
      // The first step is the caller's TID, whoever wrote there; a further one must be the successor that xmax promised.
      const at = writer === 0 ? heapHotSearch(relation, b, o, snapshot) : 0;
      if (at !== 0) {
        this.set(b, at, o);
        return true;
      }
      const step = this.look(relation, b, o, snapshot, writer);
      if (step !== FOLLOW) return step === FOUND;
      [b, o, writer] = [this.nextBlock, this.nextOffset, this.nextWriter];
    }
  }

  private nextBlock: BlockNumber = 0;
  private nextOffset: OffsetNumber = 0;
  private nextWriter: Xid = 0;

  /** Takes what a look-up has found. */
  set(block: BlockNumber, offset: OffsetNumber, root: OffsetNumber): void {
    this.block = block;
    this.offset = offset;
    this.root = root;
  }

  /** Judges the one tuple at (b, o); `writer`, unless 0, must be its xmin. */
  private look(relation: Relation, b: BlockNumber, o: OffsetNumber, snapshot: Snapshot, writer: Xid): number {
    const { pool, main, geometry, name } = relation;
    const id = pool.pin(main, b);
    try {
      const m = pool.memory(id);
      const base = pool.base(id);
      const lines = linePointerCount(m, base, geometry.size, name, b);
      if (o < 1 || o > lines) return GONE;
      let lp = linePointer(m, base, o);
      if (lpFlags(lp) === LP_REDIRECT && writer === 0 && lpOffset(lp) >= 1 && lpOffset(lp) <= lines) {
        lp = linePointer(m, base, lpOffset(lp)); // a chain of which all versions are too old
      }
      if (lpFlags(lp) !== LP_NORMAL) return GONE;
      const pos = base + lpOffset(lp);
      if (writer !== 0 && tupleXmin(m, pos) !== writer) return GONE;
      if (satisfiesMvcc(m, pos, snapshot, NO_HINTS)) {
        this.set(b, o, isHeapOnly(tupleInfomask2(m, pos)) ? rootOf(m, base, lines, o, snapshot.transactions) : o);
        return FOUND;
      }
      const updater = tupleUpdateXid(m, pos, tupleInfomask(m, pos), snapshot.transactions);
      this.nextBlock = tupleCtidBlock(m, pos);
      this.nextOffset = tupleCtidOffset(m, pos);
      this.nextWriter = updater;
      return updater === 0 || (this.nextBlock === b && this.nextOffset === o) ? GONE : FOLLOW;
    } finally {
      pool.unpin(id);
    }
  }
}

const GONE = 0;
const FOUND = 1;
const FOLLOW = 2;
/** More versions than one row ever leaves unpruned. */
const MOST_STEPS = 1 << 24;

function endless(relation: Relation, block: BlockNumber, offset: OffsetNumber): StorageError {
  return new StorageError(
    'XX001',
    `relation "${relation.name}", block ${block}, offset ${offset}: the row's versions lead to each other without end`,
    { hint: 'Run "blockwright check" on the directory to see all that is damaged.' },
  );
}

/** The line pointer at which the HOT chain begins that `member` is in; `member` itself when it is in none. */
function rootOf(
  m: PageMemory,
  base: number,
  lines: number,
  member: OffsetNumber,
  transactions: Transactions,
): OffsetNumber {
  for (let root = 1; root <= lines; root++) {
    const lp = linePointer(m, base, root);
    let at = lpFlags(lp) === LP_REDIRECT ? lpOffset(lp) : root;
    let writer: Xid = 0;
    for (let steps = 0; steps < lines; steps++) {
      const line = at >= 1 && at <= lines ? linePointer(m, base, at) : 0;
      if (lpFlags(line) !== LP_NORMAL) break;
      const pos = base + lpOffset(line);
      const infomask = tupleInfomask(m, pos);
      const infomask2 = tupleInfomask2(m, pos);
      if ((at === root && isHeapOnly(infomask2)) || (writer !== 0 && tupleXmin(m, pos) !== writer)) break;
      if (at === member) return root;
      if (!isHotUpdated(infomask, infomask2)) break;
      writer = tupleUpdateXid(m, pos, infomask, transactions);
      at = tupleCtidOffset(m, pos);
    }
  }
  return member;
}
