// An index of ours that grows by inserts and shrinks by bulk deletes over a heap of the server's; and two such files compared.
import { TABLE_ABSENT, TABLE_DEAD, TABLE_LIVE, type TableAccess } from '@blockwright/access';
import { runSync } from '@blockwright/base';
import {
  BtreeScan,
  btIsDeleted,
  btLevel,
  btreeBulkDelete,
  btreeInsert,
  btreeVacuumCleanup,
  isPivot,
  isPosting,
  pivotHasTid,
} from '@blockwright/nbtree';
import {
  itemPosition,
  LP_NORMAL,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  pageMaxOffset,
  pageMemory,
} from '@blockwright/page';
import type { Snapshot, Transaction, Transactions } from '@blockwright/transam';
import type { TupleDescriptor } from '@blockwright/tuple';
import { type IndexShape, type OwnIndex, ownIndex } from './built-index.ts';
import { SERVER_BLOCK_SIZE } from './oracle.ts';

export interface Tid {
  readonly block: number;
  readonly offset: number;
}

const keyOf = (block: number, offset: number): number => block * 0x10000 + offset;

/** The rows of a table, by what the index was told of them. */
class Rows {
  /** TIDs of rows that nobody sees any more, and whose entries may go. */
  readonly dead = new Set<number>();
  /** The version that the transaction under way has replaced. */
  leaving = -1;

  access(): TableAccess<Transaction, Snapshot> {
    const unused = (): never => {
      throw new Error('nothing but inserts and deletions asks this table');
    };
    return {
      name: 'table',
      conflictXid: 0,
      allDead: false,
      memory: pageMemory(new ArrayBuffer(8)),
      position: 0,
      length: 0,
      uniqueCheck: (_, block, offset) => {
        if (keyOf(block, offset) === this.leaving) return TABLE_ABSENT;
        return this.dead.has(keyOf(block, offset)) ? TABLE_DEAD : TABLE_LIVE;
      },
      fetch: unused,
      release: unused,
      buildScan: unused,
      deletable: (blocks, offsets, count, out, mostBlocks) => {
        let seen = 0;
        let found = 0;
        for (let i = 0; i < count; i++) {
          if (i === 0 || blocks[i] !== blocks[i - 1]) seen++;
          out[i] = seen <= mostBlocks && this.dead.has(keyOf(blocks[i], offsets[i])) ? 1 : 0;
          found += out[i];
        }
        return found;
      },
    };
  }
}

export class GrownIndex {
  private readonly rows = new Rows();
  private readonly own: OwnIndex;
  /** Nobody but a vacuum is about: pages that it deletes, the next one can free. */
  private readonly transactions = { nextXid: 1000, nextXidEpoch: 0, horizon: (): number => this.transactions.nextXid };

  constructor(table: TupleDescriptor, shape: IndexShape) {
    this.own = ownIndex(table, shape, this.rows.access(), this.transactions as unknown as Transactions);
    this.own.index.create();
  }

  /** Inserts the rows of a heap file that lie at `tids`, in this order. */
  insert(heap: Uint8Array, tids: readonly Tid[]): void {
    const { index, former } = this.own;
    const m = pageMemory(new Uint8Array(heap).buffer);
    for (const { block, offset } of tids) {
      const base = block * SERVER_BLOCK_SIZE;
      const lp = linePointer(m, base, offset);
      if (lpFlags(lp) !== LP_NORMAL) throw new Error(`no row at (${block},${offset})`);
      const length = former.fromHeap(m, base + lpOffset(lp), lpLength(lp), block, offset);
      this.rows.dead.delete(keyOf(block, offset));
      btreeInsert(index, undefined as never, former.memory, 0, length, false);
    }
  }

  /** Inserts the entry of a row at `tid`; `values` are the index's columns. */
  add(values: readonly unknown[], { block, offset }: Tid, indexUnchanged = false): void {
    const { index, former } = this.own;
    const length = former.fromValues(values);
    const { memory } = former;
    memory.u16[0] = block >>> 16;
    memory.u16[1] = block & 0xffff;
    memory.u16[2] = offset;
    btreeInsert(index, undefined as never, memory, 0, length, indexUnchanged);
  }

  /** The entry of a new version of a row, in a transaction of its own: when it has committed, the version at `old` is dead. */
  update(values: readonly unknown[], old: Tid, tid: Tid, indexUnchanged: boolean): void {
    this.rows.leaving = keyOf(old.block, old.offset);
    this.add(values, tid, indexUnchanged);
    this.rows.dead.add(this.rows.leaving);
    this.rows.leaving = -1;
  }

  /** A scan of the whole index that marks every entry that is dead to everybody. @returns how many */
  kill(): number {
    using scan = new BtreeScan(this.own.index, { tuples: false });
    let killed = 0;
    for (let count = scan.nextPage(); count > 0; count = scan.nextPage()) {
      for (let i = 0; i < count; i++) {
        if (!this.rows.dead.has(keyOf(scan.blocks[i], scan.offsets[i]))) continue;
        scan.kill(i);
        killed++;
      }
      scan.flushKilled();
    }
    return killed;
  }

  /** What a vacuum does after the rows at `tids` were deleted. */
  vacuum(tids: readonly Tid[]): void {
    const { index } = this.own;
    this.transactions.nextXid++;
    const dead = new Set(tids.map(({ block, offset }) => keyOf(block, offset)));
    const stats = runSync(btreeBulkDelete(index, (block, offset) => dead.has(keyOf(block, offset))));
    runSync(btreeVacuumCleanup(index, stats));
    if (stats.warnings.length > 0) throw new Error(stats.warnings.join('\n'));
  }

  bytes(): Uint8Array {
    return this.own.bytes();
  }
}

/** Where the contents of a deleted page begin: the transaction id before which it may still be in use. */
const SAFE_XID = 24;

/**
 * Where two index files differ, in words; undefined when nowhere. LSN and checksum may, the transaction ids of deleted pages,
 * and what lies in the gaps between line pointers and items, which nobody reads.
 */
export function treeDifference(ours: Uint8Array, theirs: Uint8Array): string | undefined {
  const size = SERVER_BLOCK_SIZE;
  if (ours.length !== theirs.length) return `${ours.length / size} pages instead of ${theirs.length / size}`;
  const [a, b] = [masked(ours), masked(theirs)];
  if (Buffer.compare(a, b) === 0) return undefined;
  for (let at = 0; at < a.length; at++) {
    if (a[at] !== b[at]) return `page ${Math.floor(at / size)}, byte ${at % size}: ${a[at]} instead of ${b[at]}`;
  }
  return undefined;
}

function masked(file: Uint8Array): Uint8Array {
  const m: PageMemory = pageMemory(new Uint8Array(file).buffer);
  for (let base = 0; base < m.u8.length; base += SERVER_BLOCK_SIZE) {
    m.u8.fill(0, base, base + 10);
    const [lower, upper] = [m.u16[(base + 12) >> 1], m.u16[(base + 14) >> 1]];
    m.u8.fill(0, base + lower, base + upper);
    if (base > 0 && btIsDeleted(m, base, SERVER_BLOCK_SIZE)) m.u8.fill(0, base + SAFE_XID, base + SAFE_XID + 8);
  }
  return m.u8;
}

/** What there is in an index. */
export interface Counts {
  levels: number;
  deleted: number;
  postings: number;
  pivotTids: number;
}

export function countsOf(file: Uint8Array): Counts {
  const size = SERVER_BLOCK_SIZE;
  const m = pageMemory(new Uint8Array(file).buffer);
  const counts: Counts = { levels: 0, deleted: 0, postings: 0, pivotTids: 0 };
  for (let base = size; base < m.u8.length; base += size) {
    if (btIsDeleted(m, base, size)) {
      counts.deleted++;
      continue;
    }
    counts.levels = Math.max(counts.levels, btLevel(m, base, size) + 1);
    for (let o = 1; o <= pageMaxOffset(m, base); o++) {
      const pos = itemPosition(m, base, o);
      if (isPosting(m, pos)) counts.postings++;
      else if (isPivot(m, pos) && pivotHasTid(m, pos)) counts.pivotTids++;
    }
  }
  return counts;
}
