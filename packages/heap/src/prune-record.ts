// The PRUNE record: what a prune did to a page, written from its plans, and done from either. PostgreSQL:
// `log_heap_prune_and_freeze`, `heap_page_prune_execute`, pruneheap.c.
import { PAGE_STANDARD, type Relation } from '@blockwright/access';
import type { BufferId, Xid } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import {
  type Compaction,
  itemPosition,
  markLinePointerDead,
  markLinePointerRedirect,
  markLinePointerUnused,
  type PageMemory,
  pageRepairFragmentation,
} from '@blockwright/page';
import { freezeTuple } from './freeze.ts';
import type { PruneState } from './prune-state.ts';
import {
  BLOCK_NEW,
  FREEZE_PLAN_BYTES,
  XLHP_CLEANUP_LOCK,
  XLHP_HAS_CONFLICT_HORIZON,
  XLHP_HAS_DEAD_ITEMS,
  XLHP_HAS_FREEZE_PLANS,
  XLHP_HAS_NOW_UNUSED_ITEMS,
  XLHP_HAS_REDIRECTIONS,
} from './record-format.ts';

/** reason, flags, conflict horizon. */
const MAIN_BYTES = 6;

/** The most bytes that the record of these plans has beside its headers. */
export function pruneDataBytes(state: PruneState): number {
  const offsets = (state.redirectedCount << 1) + state.deadCount + state.unusedCount + state.frozenCount;
  return MAIN_BYTES + 4 + 6 + (offsets << 1) + state.frozenCount * FREEZE_PLAN_BYTES;
}

/** Changes the page as the plans say, and closes its gaps. */
export function applyPrune(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  state: PruneState,
  compaction: Compaction,
): void {
  const { redirected, nowDead, nowUnused, frozen } = state;
  for (let i = 0; i < state.redirectedCount; i++) {
    markLinePointerRedirect(m, base, redirected[i << 1], redirected[(i << 1) + 1]);
  }
  for (let i = 0; i < state.deadCount; i++) markLinePointerDead(m, base, nowDead[i]);
  for (let i = 0; i < state.unusedCount; i++) markLinePointerUnused(m, base, nowUnused[i]);
  if (state.prunes) pageRepairFragmentation(m, base, g, state.scratch, compaction);
  for (let i = 0; i < state.frozenCount; i++) {
    const pos = itemPosition(m, base, frozen[i]);
    freezeTuple(m, pos, state.frozenXmax[i], state.frozenInfomask[i], state.frozenInfomask2[i]);
  }
}

/** Puts the page and all that redo needs into the record that `log` has begun. */
export function putPrune(
  log: Relation['log'],
  relation: Relation,
  id: BufferId,
  state: PruneState,
  reason: number,
  conflictHorizon: Xid,
): void {
  log.u8(reason);
  log.u8(
    (state.prunes ? XLHP_CLEANUP_LOCK : 0) |
      (conflictHorizon !== 0 ? XLHP_HAS_CONFLICT_HORIZON : 0) |
      (state.frozenCount !== 0 ? XLHP_HAS_FREEZE_PLANS : 0) |
      (state.redirectedCount !== 0 ? XLHP_HAS_REDIRECTIONS : 0) |
      (state.deadCount !== 0 ? XLHP_HAS_DEAD_ITEMS : 0) |
      (state.unusedCount !== 0 ? XLHP_HAS_NOW_UNUSED_ITEMS : 0),
  );
  if (conflictHorizon !== 0) log.u32(conflictHorizon);
  log.page(BLOCK_NEW, relation.main, id, PAGE_STANDARD);
  const groups = state.frozenCount === 0 ? 0 : groupPlans(state);
  if (groups !== 0) putPlans(log, state, groups);
  putOffsets(log, state.redirected, state.redirectedCount, 2);
  putOffsets(log, state.nowDead, state.deadCount, 1);
  putOffsets(log, state.nowUnused, state.unusedCount, 1);
  for (let i = 0; i < state.frozenCount; i++) log.u16(state.frozen[state.order[i]]);
}

function putOffsets(log: Relation['log'], offsets: Uint16Array, count: number, each: 1 | 2): void {
  if (count === 0) return;
  log.u16(count);
  const end = each === 2 ? count << 1 : count;
  for (let i = 0; i < end; i++) log.u16(offsets[i]);
}

/**
 * Orders the frozen tuples so that those with equal plans follow each other, by offset within a plan, and counts the
 * plans. PostgreSQL: `heap_log_freeze_plan`.
 */
function groupPlans(state: PruneState): number {
  const { order, frozenCount } = state;
  // Few different plans, many tuples: an insertion sort moves each tuple past the groups after its own.
  let groups = 0;
  for (let i = 0; i < frozenCount; i++) {
    let at = i;
    while (at > 0 && comparePlans(state, order[at - 1], i) > 0) {
      order[at] = order[at - 1];
      at--;
    }
    order[at] = i;
  }
  for (let i = 0; i < frozenCount; i++) {
    if (i === 0 || comparePlans(state, order[i - 1], order[i]) !== 0) groups++;
  }
  return groups;
}

function comparePlans(state: PruneState, a: number, b: number): number {
  return (
    state.frozenXmax[a] - state.frozenXmax[b] ||
    state.frozenInfomask2[a] - state.frozenInfomask2[b] ||
    state.frozenInfomask[a] - state.frozenInfomask[b]
  );
}

function putPlans(log: Relation['log'], state: PruneState, groups: number): void {
  const { order, frozenCount } = state;
  log.u16(groups);
  log.u16(0);
  for (let i = 0; i < frozenCount; ) {
    const plan = order[i];
    let count = 1;
    while (i + count < frozenCount && comparePlans(state, plan, order[i + count]) === 0) count++;
    log.u32(state.frozenXmax[plan]);
    log.u16(state.frozenInfomask2[plan]);
    log.u16(state.frozenInfomask[plan]);
    log.u16(0);
    log.u16(count);
    i += count;
  }
}
