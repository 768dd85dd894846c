// Pruning: what no snapshot can see any more leaves its page, HOT chains are cut short, and the gaps are closed. A page is
// looked at first, into a PruneState; then it changes, by the function that redo calls, too. PostgreSQL: pruneheap.c.
import type { Relation } from '@blockwright/access';
import {
  type BlockNumber,
  type BufferId,
  isStorageError,
  type OffsetNumber,
  StorageError,
  type Xid,
} from '@blockwright/base';
import {
  LP_DEAD,
  LP_NORMAL,
  LP_REDIRECT,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  pageClearFull,
  pageHeapFreeSpace,
  pageIsFull,
  pageIsNew,
  pagePruneXid,
  pageSetPruneXid,
} from '@blockwright/page';
import { type Transactions, xidFollows, xidPrecedes } from '@blockwright/transam';
import {
  HEAP_XMIN_COMMITTED,
  HEAP_XMIN_INVALID,
  isHeapOnly,
  isHotUpdated,
  isXminFrozen,
  tupleCtidOffset,
  tupleInfomask,
  tupleInfomask2,
  tupleXmin,
} from '@blockwright/tuple';
import { RM_HEAP2 } from '@blockwright/wal';
import { corruptLinePointer } from './errors.ts';
import { wantedFreeBytes } from './fill.ts';
import { isTupleFrozen, planFreeze } from './freeze.ts';
import { HintSink } from './hints.ts';
import { leadsToTuple, linePointerCount, linePointersEnd } from './line-pointers.ts';
import { applyPrune, pruneDataBytes, putPrune } from './prune-record.ts';
import { type PruneState, pruneStateFor } from './prune-state.ts';
import { XLOG_HEAP2_PRUNE_ON_ACCESS } from './record-format.ts';
import { tupleUpdateXid } from './visibility-multi.ts';
import {
  HEAPTUPLE_DEAD,
  HEAPTUPLE_DELETE_IN_PROGRESS,
  HEAPTUPLE_LIVE,
  HEAPTUPLE_RECENTLY_DEAD,
  satisfiesVacuum,
} from './visibility-vacuum.ts';

/** In {@link PruneState.states}: no tuple stands there. */
const NO_TUPLE = 255;

/**
 * Prunes the page in buffer `id`, which the caller has pinned and holds nothing of, if that promises something: an xid on
 * it precedes every snapshot, and it is marked full, or fuller than the fillfactor (and a tenth of the page) asks. It
 * does nothing while anybody else has the page pinned, and none of it if the disk is full. PostgreSQL:
 * `heap_page_prune_opt`.
 * @throws StorageError XX001 for damage, 58P01 when the commit log's segment is gone, 58030 when the WAL has failed.
 */
export function heapPagePruneOpt(relation: Relation, id: BufferId, transactions: Transactions): void {
  const { pool, geometry } = relation;
  const m = pool.memory(id);
  const base = pool.base(id);
  const pruneXid = pagePruneXid(m, base);
  if (pruneXid === 0 || !xidPrecedes(pruneXid, transactions.horizon())) return;
  if (!pageIsFull(m, base) && pageHeapFreeSpace(m, base, geometry) >= wantedFreeBytes(geometry, relation.fillfactor)) {
    return;
  }
  pruneIfAlone(relation, id, transactions);
}

/**
 * Prunes the page for an update that finds no room on it, whatever the fillfactor says: at once what PostgreSQL does at
 * the next access, when it finds the page marked full.
 */
export function prunePageForUpdate(relation: Relation, id: BufferId, transactions: Transactions): void {
  const pruneXid = pagePruneXid(relation.pool.memory(id), relation.pool.base(id));
  if (pruneXid !== 0 && xidPrecedes(pruneXid, transactions.horizon())) pruneIfAlone(relation, id, transactions);
}

function pruneIfAlone(relation: Relation, id: BufferId, transactions: Transactions): void {
  if (relation.storage.readOnly || transactions.isOffline || relation.log.recovering) return;
  if (relation.pool.pinCount(id) !== 1) return;
  try {
    heapPrunePage(relation, id, transactions);
  } catch (error) {
    // Nothing has changed, and whoever came to read can read.
    if (!(isStorageError(error) && error.code === '53100')) throw error;
  }
}

/** How a page is pruned. */
export interface PruneOptions {
  /** The record's info, which says why: on access, unless given. */
  readonly info?: number;
  /** Also freeze every tuple that may be. */
  readonly freeze?: boolean;
}

/**
 * Prunes the page in buffer `id`, pinned by the caller alone, whatever it promises. PostgreSQL:
 * `heap_page_prune_and_freeze`.
 * @returns what was found and done, lent until the next prune of a page of this size.
 * @throws as {@link heapPagePruneOpt}, and 53100 when the disk is full; nothing has changed then.
 */
export function heapPrunePage(
  relation: Relation,
  id: BufferId,
  transactions: Transactions,
  options: PruneOptions = {},
): PruneState {
  const { pool, main, geometry, name, log } = relation;
  const m = pool.memory(id);
  const base = pool.base(id);
  const state = pruneStateFor(geometry);
  state.begin();
  if (pageIsNew(m, base)) return state;
  const hints = HintSink.for(relation);
  const horizon = transactions.horizon();
  plan(m, base, geometry.size, name, pool.block(id), transactions, horizon, hints, state, options.freeze === true);

  const hinted = pagePruneXid(m, base) !== state.newPruneXid || pageIsFull(m, base);
  if (!state.prunes && state.frozenCount === 0) {
    if (hinted) {
      pageSetPruneXid(m, base, state.newPruneXid);
      pageClearFull(m, base);
    }
    if (hinted || hints.changed) log.hint(relation, main, id);
    return state;
  }
  const info = options.info ?? XLOG_HEAP2_PRUNE_ON_ACCESS;
  log.begin(relation, RM_HEAP2, info, 1, pruneDataBytes(state));
  try {
    pageSetPruneXid(m, base, state.newPruneXid);
    pageClearFull(m, base);
    applyPrune(m, base, geometry, state, relation.compaction);
    putPrune(log, relation, id, state, reasonOf(info), conflictHorizon(state, horizon));
    log.finish(0);
  } catch (error) {
    log.panic(error);
  }
  return state;
}

/** PostgreSQL: `PruneReason`: on access 0, vacuum's scan 1, vacuum's clean-up 2. */
function reasonOf(info: number): number {
  return (info >> 4) - 1;
}

/** What a standby could still see and now cannot: the record says it, though nobody asks yet. */
function conflictHorizon(state: PruneState, horizon: Xid): Xid {
  if (state.frozenCount === 0) return state.latestRemoved;
  // Rows that are frozen were visible to all up to the newest of their inserters, if the whole page is.
  const frozen = state.allVisible && state.allFrozen ? state.visibleCutoff : xidBeforeHorizon(horizon);
  return xidFollows(frozen, state.latestRemoved) ? frozen : state.latestRemoved;
}

/** PostgreSQL: `TransactionIdRetreat`. */
function xidBeforeHorizon(horizon: Xid): Xid {
  return horizon <= 3 ? 0xffff_ffff : (horizon - 1) >>> 0;
}

function plan(
  m: PageMemory,
  base: number,
  size: number,
  name: string,
  block: BlockNumber,
  transactions: Transactions,
  horizon: Xid,
  hints: HintSink,
  state: PruneState,
  freeze: boolean,
): void {
  const lines = linePointerCount(m, base, size, name, block);
  const lower = linePointersEnd(lines);
  // Downward: tuples lie from the page's end on, so memory is read in rising order.
  for (let o = lines; o >= 1; o--) {
    state.isDone[o] = 0;
    state.states[o] = NO_TUPLE;
    const lp = linePointer(m, base, o);
    if (leadsToTuple(lp, lower, size)) {
      const pos = base + lpOffset(lp);
      state.states[o] = satisfiesVacuum(m, pos, transactions, horizon, hints);
      if (isHeapOnly(tupleInfomask2(m, pos))) state.heapOnly[state.heapOnlyCount++] = o;
      else state.roots[state.rootCount++] = o;
      continue;
    }
    switch (lpFlags(lp)) {
      case LP_NORMAL:
        throw corruptLinePointer(name, block, o, lpOffset(lp), lpLength(lp));
      case LP_REDIRECT:
        state.roots[state.rootCount++] = o;
        break;
      case LP_DEAD:
        state.deadItems++;
        state.isDone[o] = 1;
        break;
      default:
        state.isDone[o] = 1;
    }
  }
  for (let i = state.rootCount - 1; i >= 0; i--) {
    const root = state.roots[i];
    if (state.isDone[root] === 0) pruneChain(m, base, lines, root, transactions, horizon, state, freeze);
  }
  for (let i = state.heapOnlyCount - 1; i >= 0; i--) {
    const o = state.heapOnly[i];
    if (state.isDone[o] !== 0) continue;
    if (state.states[o] !== HEAPTUPLE_DEAD) {
      keep(m, base, o, transactions, horizon, state, freeze);
      continue;
    }
    // Of an update that was rolled back. One that leads on would have been met on its chain.
    const pos = base + lpOffset(linePointer(m, base, o));
    if (isHotUpdated(tupleInfomask(m, pos), tupleInfomask2(m, pos))) throw orphan(name, block, o);
    advanceRemoved(m, pos, transactions, state);
    state.addUnused(o);
  }
  if (state.deadItems !== 0) state.allVisible = false;
  if (!state.allVisible) state.allFrozen = false;
}

function orphan(name: string, block: BlockNumber, offset: OffsetNumber): StorageError {
  return new StorageError(
    'XX001',
    `relation "${name}", block ${block}, offset ${offset}: a dead heap-only tuple that no HOT chain leads to`,
    { hint: 'Run "blockwright check" on the file to see all that is damaged, and restore it from a copy.' },
  );
}

/** The chain that begins at `root`, a redirect or a tuple that is not heap-only. PostgreSQL: `heap_prune_chain`. */
function pruneChain(
  m: PageMemory,
  base: number,
  lines: number,
  root: OffsetNumber,
  transactions: Transactions,
  horizon: Xid,
  state: PruneState,
  freeze: boolean,
): void {
  const { chain, states } = state;
  const isRedirect = lpFlags(linePointer(m, base, root)) === LP_REDIRECT;
  let length = 0;
  let dead = 0;
  let o = root;
  let previousXmax: Xid = 0;
  if (isRedirect) {
    chain[length++] = root;
    o = lpOffset(linePointer(m, base, root));
  }
  while (o >= 1 && o <= lines && state.isDone[o] === 0 && states[o] !== NO_TUPLE && length <= lines) {
    const pos = base + lpOffset(linePointer(m, base, o));
    // Another tuple may have been put where an update that was rolled back had led.
    if (previousXmax !== 0 && tupleXmin(m, pos) !== previousXmax) break;
    chain[length++] = o;
    const found = states[o];
    if (found === HEAPTUPLE_DEAD) {
      dead = length;
      advanceRemoved(m, pos, transactions, state);
    } else if (found !== HEAPTUPLE_RECENTLY_DEAD) break;
    const infomask = tupleInfomask(m, pos);
    if (!isHotUpdated(infomask, tupleInfomask2(m, pos))) break;
    o = tupleCtidOffset(m, pos);
    previousXmax = tupleUpdateXid(m, pos, infomask, transactions);
  }
  if (isRedirect && length < 2) {
    // It led to a version that is gone: nothing is left of the row.
    state.addDead(root);
    return;
  }
  let kept = dead;
  if (dead === 0) {
    if (isRedirect) {
      state.isDone[root] = 1;
      kept = 1;
    }
  } else {
    if (dead === length) state.addDead(root);
    else state.addRedirect(root, chain[dead]);
    for (let i = 1; i < dead; i++) state.addUnused(chain[i]);
  }
  for (let i = kept; i < length; i++) keep(m, base, chain[i], transactions, horizon, state, freeze);
}

/** A tuple that stays: what it means for the page's marks. PostgreSQL: `heap_prune_record_unchanged_lp_normal`. */
function keep(
  m: PageMemory,
  base: number,
  o: OffsetNumber,
  transactions: Transactions,
  horizon: Xid,
  state: PruneState,
  freeze: boolean,
): void {
  state.isDone[o] = 1;
  const pos = base + lpOffset(linePointer(m, base, o));
  const found = state.states[o];
  if (found === HEAPTUPLE_LIVE) {
    noteLive(m, pos, horizon, state);
  } else {
    state.allVisible = false;
    if (found === HEAPTUPLE_RECENTLY_DEAD || found === HEAPTUPLE_DELETE_IN_PROGRESS) {
      notePrunable(tupleUpdateXid(m, pos, tupleInfomask(m, pos), transactions), state);
    }
  }
  if (freeze) {
    if (!planFreeze(m, pos, o, horizon, transactions, state)) state.allFrozen = false;
  } else if (state.allFrozen && !isTupleFrozen(m, pos)) state.allFrozen = false;
}

function noteLive(m: PageMemory, pos: number, horizon: Xid, state: PruneState): void {
  if (!state.allVisible) return;
  const infomask = tupleInfomask(m, pos);
  const xmin = tupleXmin(m, pos);
  if (isXminFrozen(infomask) || xmin < 3) return;
  // Without its hint bit the commit may not be on disk yet: then the page is not marked.
  if ((infomask & HEAP_XMIN_COMMITTED) === 0 || !xidPrecedes(xmin, horizon)) state.allVisible = false;
  else if (xidFollows(xmin, state.visibleCutoff)) state.visibleCutoff = xmin;
}

function notePrunable(xid: Xid, state: PruneState): void {
  if (state.newPruneXid === 0 || xidPrecedes(xid, state.newPruneXid)) state.newPruneXid = xid;
}

/** PostgreSQL: `HeapTupleHeaderAdvanceConflictHorizon`. */
function advanceRemoved(m: PageMemory, pos: number, transactions: Transactions, state: PruneState): void {
  const infomask = tupleInfomask(m, pos);
  const xminBits = infomask & (HEAP_XMIN_COMMITTED | HEAP_XMIN_INVALID);
  const xmin = tupleXmin(m, pos);
  if (xminBits === HEAP_XMIN_INVALID || (xminBits === 0 && !transactions.didCommit(xmin))) return;
  const xmax = tupleUpdateXid(m, pos, infomask, transactions);
  if (xmax !== xmin && xidFollows(xmax, state.latestRemoved)) state.latestRemoved = xmax;
}
