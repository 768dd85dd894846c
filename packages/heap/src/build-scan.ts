// Every tuple that a new index needs. Of a HOT chain the newest version is indexed, under the root's TID: what older
// versions had, nobody finds in this index any more, so a snapshot older than the index must not use it. PostgreSQL:
// `heapam_index_build_range_scan`, heapam_handler.c.
import type { Relation, UseTableTuple } from '@blockwright/access';
import { type BlockNumber, type OffsetNumber, type Steps, StorageError } from '@blockwright/base';
import { LP_NORMAL, LP_REDIRECT, linePointer, lpFlags, lpLength, lpOffset, type PageMemory } from '@blockwright/page';
import type { Transaction, Transactions } from '@blockwright/transam';
import {
  isHeapOnly,
  isHotUpdated,
  tupleCtidOffset,
  tupleInfomask,
  tupleInfomask2,
  tupleXmax,
  tupleXmin,
} from '@blockwright/tuple';
import { corruptLinePointer } from './errors.ts';
import { HintSink } from './hints.ts';
import { leadsToTuple, linePointerCount, linePointersEnd } from './line-pointers.ts';
import { heapPagePruneOpt } from './prune.ts';
import { tupleUpdateXid } from './visibility-multi.ts';
import {
  HEAPTUPLE_DEAD,
  HEAPTUPLE_DELETE_IN_PROGRESS,
  HEAPTUPLE_INSERT_IN_PROGRESS,
  HEAPTUPLE_LIVE,
  satisfiesVacuum,
} from './visibility-vacuum.ts';
import { READ_AHEAD_BYTES, ringFor } from './whole-table.ts';

/** What a new index was given. */
export interface BuildScanResult {
  readonly tuples: number;
  /** Versions that an old snapshot may see and that have no entry: newer ones of their HOT chains have. */
  readonly leftOut: number;
}

/** Gives `use` the tuples of a heap that nobody but `tx` writes meanwhile. A step is a run of blocks read ahead. */
export function* buildScanSteps(
  relation: Relation,
  transactions: Transactions,
  use: UseTableTuple,
  tx: Transaction | undefined,
): Steps<BuildScanResult> {
  const { pool, main, geometry } = relation;
  const blocks = relation.blockCount();
  const ring = ringFor(relation, blocks);
  const page = new PageBuildScan(relation, transactions, use, tx);
  const most = READ_AHEAD_BYTES >>> geometry.shift;
  for (let block = 0; block < blocks; ) {
    const left = blocks - block;
    const count = left < most ? left : most;
    pool.readAhead(main, block, count, ring);
    for (const end = block + count; block < end; block++) {
      const id = pool.pin(main, block, ring);
      try {
        heapPagePruneOpt(relation, id, transactions);
        page.read(pool.memory(id), pool.base(id), block);
        page.hints.flush(relation, id);
      } finally {
        pool.unpin(id);
      }
    }
    yield { phase: `reading ${relation.name}`, done: block, total: blocks, unit: 'blocks' };
  }
  return { tuples: page.tuples, leftOut: page.leftOut };
}

/** Whether an index gets an entry for a tuple. */
const LEFT_OUT = 0;
/** Somebody may still see it; its key is free. */
const FADING = 1;
const ALIVE = 2;

class PageBuildScan {
  tuples = 0;
  leftOut = 0;
  readonly hints: HintSink;
  private readonly relation: Relation;
  private readonly transactions: Transactions;
  private readonly use: UseTableTuple;
  private readonly tx: Transaction | undefined;
  /** Of each line pointer the root of the chain that it is in; 0 for none. */
  private readonly roots: Uint16Array;

  constructor(relation: Relation, transactions: Transactions, use: UseTableTuple, tx: Transaction | undefined) {
    this.relation = relation;
    this.transactions = transactions;
    this.use = use;
    this.tx = tx;
    this.hints = HintSink.for(relation);
    this.roots = new Uint16Array(relation.geometry.maxOffsetNumber + 1);
  }

  read(m: PageMemory, base: number, block: BlockNumber): void {
    const { relation, roots, use } = this;
    const { geometry, name } = relation;
    const lines = linePointerCount(m, base, geometry.size, name, block);
    const lower = linePointersEnd(lines);
    findRoots(m, base, lines, lower, geometry.size, roots, this.transactions);
    const horizon = this.transactions.horizon();
    for (let o = 1; o <= lines; o++) {
      const lp = linePointer(m, base, o);
      if (!leadsToTuple(lp, lower, geometry.size)) {
        if (lpFlags(lp) === LP_NORMAL) throw corruptLinePointer(name, block, o, lpOffset(lp), lpLength(lp));
        continue;
      }
      const pos = base + lpOffset(lp);
      const kind = this.kindOf(m, pos, block, o, satisfiesVacuum(m, pos, this.transactions, horizon, this.hints));
      if (kind === LEFT_OUT) continue;
      const root = isHeapOnly(tupleInfomask2(m, pos)) ? roots[o] : o;
      if (root === 0) throw withoutRoot(name, block, o);
      this.tuples++;
      use(m, pos, lpLength(lp), block, root, kind === ALIVE);
    }
  }

  private kindOf(m: PageMemory, pos: number, block: BlockNumber, offset: OffsetNumber, state: number): number {
    switch (state) {
      case HEAPTUPLE_DEAD:
        return LEFT_OUT;
      case HEAPTUPLE_LIVE:
        return ALIVE;
      case HEAPTUPLE_INSERT_IN_PROGRESS:
        if (!this.isOwn(tupleXmin(m, pos))) throw inUse(this.relation.name, block, offset, tupleXmin(m, pos));
        return ALIVE;
      case HEAPTUPLE_DELETE_IN_PROGRESS: {
        const deleter = tupleUpdateXid(m, pos, tupleInfomask(m, pos), this.transactions);
        if (!this.isOwn(deleter)) throw inUse(this.relation.name, block, offset, tupleXmax(m, pos));
        break;
      }
    }
    // Gone, but for old snapshots: the entry of the chain is that of its newest version.
    if (!isHotUpdated(tupleInfomask(m, pos), tupleInfomask2(m, pos))) return FADING;
    if (state !== HEAPTUPLE_DELETE_IN_PROGRESS) this.leftOut++;
    return LEFT_OUT;
  }

  private isOwn(xid: number): boolean {
    return this.tx?.isCurrent(xid) === true;
  }
}

/** For each member of a HOT chain the chain's first line pointer. PostgreSQL: `heap_get_root_tuples`, pruneheap.c. */
function findRoots(
  m: PageMemory,
  base: number,
  lines: number,
  lower: number,
  size: number,
  roots: Uint16Array,
  transactions: Transactions,
): void {
  roots.fill(0, 0, lines + 1);
  for (let root = 1; root <= lines; root++) {
    let lp = linePointer(m, base, root);
    let at: OffsetNumber = root;
    let writer = 0;
    if (lpFlags(lp) === LP_REDIRECT) at = lpOffset(lp);
    else if (!leadsToTuple(lp, lower, size) || isHeapOnly(tupleInfomask2(m, base + lpOffset(lp)))) continue;
    for (let steps = 0; steps <= lines; steps++) {
      if (at < 1 || at > lines) break;
      lp = linePointer(m, base, at);
      if (!leadsToTuple(lp, lower, size)) break;
      const pos = base + lpOffset(lp);
      if (writer !== 0 && tupleXmin(m, pos) !== writer) break;
      if (at !== root) roots[at] = root;
      const infomask = tupleInfomask(m, pos);
      if (!isHotUpdated(infomask, tupleInfomask2(m, pos))) break;
      writer = tupleUpdateXid(m, pos, infomask, transactions);
      at = tupleCtidOffset(m, pos);
    }
  }
}

function withoutRoot(name: string, block: BlockNumber, offset: OffsetNumber): StorageError {
  return new StorageError(
    'XX001',
    `relation "${name}", block ${block}, offset ${offset}: no HOT chain leads to this heap-only tuple`,
    { hint: 'Run "blockwright check" on the file to see all that is damaged, and restore it from a copy.' },
  );
}

function inUse(name: string, block: BlockNumber, offset: OffsetNumber, xid: number): StorageError {
  return new StorageError(
    '55P03',
    `relation "${name}", block ${block}, offset ${offset}: transaction ${xid}, which is open, writes here`,
    { hint: 'Try again when it has ended.' },
  );
}
