// What a prune finds out about a page before it changes a byte: which line pointers become redirects, dead, unused, which
// tuples are to be frozen, and what the page is then. PostgreSQL: `PruneState`, pruneheap.c.
import type { OffsetNumber, Xid } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { CompactionScratch } from '@blockwright/page';

/** The plans of one page: made once a block size and used again. */
export class PruneState {
  readonly scratch: CompactionScratch;
  /** Pairs: a line pointer, and the one that it leads to from now on. */
  readonly redirected: Uint16Array;
  readonly nowDead: Uint16Array;
  readonly nowUnused: Uint16Array;
  redirectedCount = 0;
  deadCount = 0;
  unusedCount = 0;

  /** Tuples to freeze, ascending, and what their headers say then. */
  readonly frozen: Uint16Array;
  readonly frozenXmax: Uint32Array;
  readonly frozenInfomask: Uint16Array;
  readonly frozenInfomask2: Uint16Array;
  /** The order in which a record lists them. */
  readonly order: Uint16Array;
  frozenCount = 0;

  /** HEAPTUPLE_ code of each tuple, by offset number; NO_TUPLE where there is none. */
  readonly states: Uint8Array;
  /** Whether the item at an offset number has been dealt with. */
  readonly isDone: Uint8Array;
  readonly roots: Uint16Array;
  readonly heapOnly: Uint16Array;
  readonly chain: Uint16Array;
  rootCount = 0;
  heapOnlyCount = 0;

  /** `pd_prune_xid` to be: the oldest xid that may leave something, 0 for none. */
  newPruneXid: Xid = 0;
  /** The newest xid of those whose rows are removed. PostgreSQL: `latest_xid_removed`. */
  latestRemoved: Xid = 0;
  /** Whether every tuple that stays is visible to everybody, as far as has been looked. */
  allVisible = true;
  /** Whether each of them is frozen, or will be by the plans. */
  allFrozen = true;
  /** The newest xmin of tuples that are visible to everybody. PostgreSQL: `visibility_cutoff_xid`. */
  visibleCutoff: Xid = 0;
  /** Line pointers that are dead when all is done. */
  deadItems = 0;

  constructor(g: BlockGeometry) {
    // Files can be wrong: as many as line pointers, not as heap tuples, fit a page.
    const most = g.maxOffsetNumber + 1;
    this.scratch = new CompactionScratch(g);
    this.redirected = new Uint16Array(2 * most);
    this.nowDead = new Uint16Array(most);
    this.nowUnused = new Uint16Array(most);
    this.frozen = new Uint16Array(most);
    this.frozenXmax = new Uint32Array(most);
    this.frozenInfomask = new Uint16Array(most);
    this.frozenInfomask2 = new Uint16Array(most);
    this.order = new Uint16Array(most);
    this.states = new Uint8Array(most + 1);
    this.isDone = new Uint8Array(most + 1);
    this.roots = new Uint16Array(most);
    this.heapOnly = new Uint16Array(most);
    this.chain = new Uint16Array(most);
  }

  begin(): void {
    this.redirectedCount = 0;
    this.deadCount = 0;
    this.unusedCount = 0;
    this.frozenCount = 0;
    this.rootCount = 0;
    this.heapOnlyCount = 0;
    this.newPruneXid = 0;
    this.latestRemoved = 0;
    this.allVisible = true;
    this.allFrozen = true;
    this.visibleCutoff = 0;
    this.deadItems = 0;
  }

  /** Whether line pointers are to change. */
  get prunes(): boolean {
    return this.redirectedCount + this.deadCount + this.unusedCount !== 0;
  }

  addRedirect(from: OffsetNumber, to: OffsetNumber): void {
    const at = this.redirectedCount << 1;
    this.redirected[at] = from;
    this.redirected[at + 1] = to;
    this.redirectedCount++;
    this.isDone[from] = 1;
  }

  addDead(o: OffsetNumber): void {
    this.nowDead[this.deadCount++] = o;
    this.isDone[o] = 1;
    this.deadItems++;
  }

  addUnused(o: OffsetNumber): void {
    this.nowUnused[this.unusedCount++] = o;
    this.isDone[o] = 1;
  }
}

const STATES = new Map<number, PruneState>();

/** The state for pages of this size. One prune runs at a time, so one is enough. */
export function pruneStateFor(g: BlockGeometry): PruneState {
  let state = STATES.get(g.size);
  if (state === undefined) {
    state = new PruneState(g);
    STATES.set(g.size, state);
  }
  return state;
}
