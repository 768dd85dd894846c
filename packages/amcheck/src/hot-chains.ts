// The chains of versions on one heap page: where redirects and t_ctid lead, and whether the flags of both ends agree.
// Only when t_xmax (of a multixact: its updater) is the other's t_xmin is the one tuple the other's successor: an update
// that was rolled back leaves its link behind, and the space that it leads to may be used again. How the two transactions
// ended the hint bits say, and the commit log where it can be read.
import { type BlockNumber, FIRST_NORMAL_XID, type OffsetNumber } from '@blockwright/base';
import {
  LP_NORMAL,
  LP_REDIRECT,
  linePointer,
  lpFlags,
  lpOffset,
  type PageMemory,
  pageMaxOffset,
} from '@blockwright/page';
import { XID_ABORTED, XID_COMMITTED, XID_IN_PROGRESS } from '@blockwright/transam';
import {
  HEAP_XMAX_COMMITTED,
  HEAP_XMAX_INVALID,
  HEAP_XMAX_IS_MULTI,
  HEAP_XMIN_COMMITTED,
  HEAP_XMIN_FROZEN,
  HEAP_XMIN_INVALID,
  isHeapOnly,
  isHotUpdated,
  isXmaxLockOnly,
  tupleCtidBlock,
  tupleCtidOffset,
  tupleInfomask,
  tupleInfomask2,
  tupleXmax,
  tupleXmin,
} from '@blockwright/tuple';
import { FATE_UNKNOWN, type Fates } from './fates.ts';
import type { LineStates } from './line-states.ts';
import type { PageReport } from './page-report.ts';

/** What was followed. */
export interface HotChainCounts {
  hotChains: number;
  hotLinks: number;
}

/** Checks the version chains of pages, one page after the other. PostgreSQL: `verify_heapam`'s second loop. */
export class HotChains {
  /** By offset number: the line pointer that leads there, 0 for none. */
  private readonly predecessors: Uint16Array;
  /** By offset number: whether something may lead there that cannot be resolved here, as a multixact can. */
  private readonly perhaps: Uint8Array;
  private readonly fates: Fates | undefined;

  constructor(maxOffset: OffsetNumber, fates: Fates | undefined) {
    this.fates = fates;
    this.predecessors = new Uint16Array(maxOffset + 1);
    this.perhaps = new Uint8Array(maxOffset + 1);
  }

  /** Checks the page at `base`; items that `lines` calls bad are left out. */
  check(
    m: PageMemory,
    base: number,
    block: BlockNumber,
    lines: LineStates,
    report: PageReport,
    counts: HotChainCounts,
  ): void {
    const last = pageMaxOffset(m, base);
    this.predecessors.fill(0, 0, last + 1);
    this.perhaps.fill(0, 0, last + 1);
    for (let offset = 1; offset <= last; offset++) {
      if (lines.isBad(offset)) continue;
      const lp = linePointer(m, base, offset);
      if (lpFlags(lp) === LP_REDIRECT) this.followRedirect(m, base, offset, lpOffset(lp), lines, report);
      else if (lpFlags(lp) === LP_NORMAL)
        this.followTuple(m, base, offset, base + lpOffset(lp), block, last, lines, report);
    }
    this.checkRoots(m, base, last, lines, report);
    this.count(m, base, last, counts);
  }

  /** Counts the links to heap-only tuples, and the chains: the links that no other leads to. */
  private count(m: PageMemory, base: number, last: OffsetNumber, counts: HotChainCounts): void {
    for (let offset = 1; offset <= last; offset++) {
      const from = this.predecessors[offset];
      if (from === 0 || !isHeapOnlyItem(m, base, offset)) continue;
      counts.hotLinks++;
      if (this.predecessors[from] === 0 || !isHeapOnlyItem(m, base, from)) counts.hotChains++;
    }
  }

  private followRedirect(
    m: PageMemory,
    base: number,
    offset: OffsetNumber,
    target: OffsetNumber,
    lines: LineStates,
    report: PageReport,
  ): void {
    if (lines.isBad(target)) return;
    const position = base + lpOffset(linePointer(m, base, target));
    if (!isHeapOnly(tupleInfomask2(m, position))) {
      const message = `line pointer ${offset} is a redirect to ${target}, whose tuple is not heap-only`;
      report.line('error', 'heap.line_pointer.redirect_to_root', offset, message);
    }
    this.link(offset, target, report);
  }

  private followTuple(
    m: PageMemory,
    base: number,
    offset: OffsetNumber,
    position: number,
    block: BlockNumber,
    last: OffsetNumber,
    lines: LineStates,
    report: PageReport,
  ): void {
    const infomask = tupleInfomask(m, position);
    const next = tupleCtidOffset(m, position);
    const isElsewhere = tupleCtidBlock(m, position) !== block;
    const isHot = isHotUpdated(infomask, tupleInfomask2(m, position));
    if (isHot && (isElsewhere || next === offset)) {
      const where = isElsewhere ? 'another page' : 'the tuple itself';
      report.line(
        'error',
        'heap.hot_chain.no_successor',
        offset,
        `the tuple was HOT-updated, but t_ctid leads to ${where}`,
      );
    }
    if (isElsewhere || next === offset || next < 1) return;
    const updater = this.updaterOf(m, position, infomask);
    if (next <= last && (lines.isBad(next) || updater === FATE_UNKNOWN)) {
      this.perhaps[next] = 1; // what stands there cannot be judged, or who updated the row is not known
      return;
    }
    const nextPosition = next <= last ? normalItem(m, base, next) : -1;
    if (nextPosition < 0 || updater === 0 || tupleXmin(m, nextPosition) !== updater) {
      if (isHot && updater !== FATE_UNKNOWN && this.deletionIsCommitted(infomask, updater)) {
        const message = `the tuple was HOT-updated by ${updater}, but line pointer ${next} does not hold its new version`;
        report.line('error', 'heap.hot_chain.broken', offset, message);
      }
      return;
    }
    this.link(offset, next, report);
    this.checkLink(m, offset, position, next, nextPosition, report);
  }

  /** Who updated the tuple: 0 when nobody did, FATE_UNKNOWN when it is a member of a multixact that is not read. */
  private updaterOf(m: PageMemory, position: number, infomask: number): number {
    if (isXmaxLockOnly(infomask)) return 0;
    if ((infomask & HEAP_XMAX_IS_MULTI) === 0) return tupleXmax(m, position);
    // Once it says nothing any more, its members may be gone.
    if (this.fates === undefined || (infomask & HEAP_XMAX_INVALID) !== 0) return FATE_UNKNOWN;
    return this.fates.updaterOf(m, position);
  }

  private deletionIsCommitted(infomask: number, xmax: number): boolean {
    if ((infomask & HEAP_XMAX_COMMITTED) !== 0) return true;
    return (infomask & HEAP_XMAX_INVALID) === 0 && xmax >= FIRST_NORMAL_XID && this.fates?.of(xmax) === XID_COMMITTED;
  }

  /** Whether a tuple's inserter is known to have committed. */
  private isCommitted(m: PageMemory, position: number): boolean {
    const hint = tupleInfomask(m, position) & HEAP_XMIN_FROZEN;
    if (hint !== 0) return (hint & HEAP_XMIN_COMMITTED) !== 0;
    const xmin = tupleXmin(m, position);
    return xmin >= FIRST_NORMAL_XID && this.fates?.of(xmin) === XID_COMMITTED;
  }

  private link(from: OffsetNumber, to: OffsetNumber, report: PageReport): void {
    const other = this.predecessors[to];
    if (other === 0) this.predecessors[to] = from;
    else {
      const message = `line pointers ${other} and ${from} both lead to ${to}`;
      report.line('error', 'heap.hot_chain.two_predecessors', from, message);
    }
  }

  /** A heap-only tuple that is not known to have failed is reached from somewhere on its page. */
  private checkRoots(m: PageMemory, base: number, last: OffsetNumber, lines: LineStates, report: PageReport): void {
    if (lines.badCount > 0) return; // the one that leads there may be among them
    for (let offset = 1; offset <= last; offset++) {
      const lp = linePointer(m, base, offset);
      if (lpFlags(lp) !== LP_NORMAL || this.predecessors[offset] !== 0 || this.perhaps[offset] !== 0) continue;
      const position = base + lpOffset(lp);
      if (!isHeapOnly(tupleInfomask2(m, position)) || !this.isCommitted(m, position)) continue;
      const message = `line pointer ${offset} has a heap-only tuple that nothing on the page leads to`;
      report.line('error', 'heap.hot_chain.heap_only_root', offset, message);
    }
  }

  /** Whether the flags of a tuple and of its successor on the same page agree, and how their transactions ended. */
  private checkLink(
    m: PageMemory,
    offset: OffsetNumber,
    position: number,
    next: OffsetNumber,
    nextPosition: number,
    report: PageReport,
  ): void {
    const infomask = tupleInfomask(m, position);
    const isHot = isHotUpdated(infomask, tupleInfomask2(m, position));
    const isOnly = isHeapOnly(tupleInfomask2(m, nextPosition));
    const isValid = (infomask & HEAP_XMAX_INVALID) === 0;
    if (isHot && !isOnly) {
      const message = `the tuple was HOT-updated, but its new version, line pointer ${next}, is not heap-only`;
      report.line('error', 'heap.hot_chain.successor_not_heap_only', offset, message);
    } else if (!isHot && isOnly && isValid && (infomask & HEAP_XMIN_FROZEN) !== HEAP_XMIN_INVALID) {
      const message = `the tuple was not HOT-updated, but its new version, line pointer ${next}, is heap-only`;
      report.line('error', 'heap.hot_chain.not_hot_updated', offset, message);
    }
    if (!this.isCommitted(m, nextPosition)) return;
    const fate = this.fateOfInserter(m, position);
    if (fate === XID_ABORTED) {
      const message = `the tuple's inserter aborted, but its new version, line pointer ${next}, is committed`;
      report.line('error', 'heap.hot_chain.aborted_then_committed', offset, message);
    } else if (fate === XID_IN_PROGRESS) {
      const message = `the tuple's inserter ${tupleXmin(m, position)} never ended, but its new version, line pointer ${next}, is committed`;
      report.line('error', 'heap.hot_chain.in_progress_then_committed', offset, message);
    }
    if (!isValid) {
      const message = `the update by ${tupleXmin(m, nextPosition)} failed, but its new version, line pointer ${next}, is committed`;
      report.line('error', 'heap.hot_chain.failed_then_committed', offset, message);
    }
  }

  /** The XID_ status of a tuple's inserter, FATE_UNKNOWN where neither a hint nor the commit log says it. */
  private fateOfInserter(m: PageMemory, position: number): number {
    const hint = tupleInfomask(m, position) & HEAP_XMIN_FROZEN;
    if (hint === HEAP_XMIN_INVALID) return XID_ABORTED;
    if (hint !== 0) return XID_COMMITTED;
    const xmin = tupleXmin(m, position);
    if (xmin < FIRST_NORMAL_XID) return XID_COMMITTED;
    return this.fates?.of(xmin) ?? FATE_UNKNOWN;
  }
}

function isHeapOnlyItem(m: PageMemory, base: number, offset: OffsetNumber): boolean {
  const position = normalItem(m, base, offset);
  return position >= 0 && isHeapOnly(tupleInfomask2(m, position));
}

/** Byte of the item of a normal line pointer, else -1. */
function normalItem(m: PageMemory, base: number, offset: OffsetNumber): number {
  const lp = linePointer(m, base, offset);
  return lpFlags(lp) === LP_NORMAL ? base + lpOffset(lp) : -1;
}
