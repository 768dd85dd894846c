// The chains of versions on one heap page: where redirects and t_ctid lead, and whether the flags of both ends agree.
// Without the commit log a link that an aborted update left is told from a real one by t_xmax and t_xmin alone: only
// when they are the same id is the one tuple the other's successor.
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import {
  LP_NORMAL,
  LP_REDIRECT,
  linePointer,
  lpFlags,
  lpOffset,
  type PageMemory,
  pageMaxOffset,
} from '@blockwright/page';
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
import type { LineStates } from './line-states.ts';
import type { PageReport } from './page-report.ts';

/** Checks the version chains of pages, one page after the other. PostgreSQL: `verify_heapam`'s second loop. */
export class HotChains {
  /** By offset number: the line pointer that leads there, 0 for none. */
  private readonly predecessors: Uint16Array;
  /** By offset number: whether something may lead there that cannot be resolved here, as a multixact can. */
  private readonly perhaps: Uint8Array;

  constructor(maxOffset: OffsetNumber) {
    this.predecessors = new Uint16Array(maxOffset + 1);
    this.perhaps = new Uint8Array(maxOffset + 1);
  }

  /** Checks the page at `base`; items that `lines` calls bad are left out. */
  check(m: PageMemory, base: number, block: BlockNumber, lines: LineStates, report: PageReport): void {
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
    if (next <= last && (lines.isBad(next) || (infomask & HEAP_XMAX_IS_MULTI) !== 0)) {
      this.perhaps[next] = 1; // what stands there cannot be judged, or the updater is a member of the multixact
      return;
    }
    const nextPosition = next <= last ? normalItem(m, base, next) : -1;
    const xmax = tupleXmax(m, position);
    if (nextPosition < 0 || xmax === 0 || tupleXmin(m, nextPosition) !== xmax || isXmaxLockOnly(infomask)) {
      if (isHot && (infomask & HEAP_XMAX_COMMITTED) !== 0) {
        const message = `the tuple was HOT-updated by ${xmax}, but line pointer ${next} does not hold its new version`;
        report.line('error', 'heap.hot_chain.broken', offset, message);
      }
      return;
    }
    this.link(offset, next, report);
    checkLink(m, offset, position, next, nextPosition, report);
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
      if (!isHeapOnly(tupleInfomask2(m, position)) || (tupleInfomask(m, position) & HEAP_XMIN_COMMITTED) === 0)
        continue;
      const message = `line pointer ${offset} has a heap-only tuple that nothing on the page leads to`;
      report.line('error', 'heap.hot_chain.heap_only_root', offset, message);
    }
  }
}

/** Byte of the item of a normal line pointer, else -1. */
function normalItem(m: PageMemory, base: number, offset: OffsetNumber): number {
  const lp = linePointer(m, base, offset);
  return lpFlags(lp) === LP_NORMAL ? base + lpOffset(lp) : -1;
}

/** Whether the flags of a tuple and of its successor on the same page agree. */
function checkLink(
  m: PageMemory,
  offset: OffsetNumber,
  position: number,
  next: OffsetNumber,
  nextPosition: number,
  report: PageReport,
): void {
  const infomask = tupleInfomask(m, position);
  const nextInfomask = tupleInfomask(m, nextPosition);
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
  if ((infomask & HEAP_XMIN_FROZEN) === HEAP_XMIN_INVALID && (nextInfomask & HEAP_XMIN_COMMITTED) !== 0) {
    const message = `the tuple's inserter aborted, but its new version, line pointer ${next}, is committed`;
    report.line('error', 'heap.hot_chain.aborted_then_committed', offset, message);
  }
  if (!isValid && (nextInfomask & HEAP_XMIN_COMMITTED) !== 0) {
    const message = `the update by ${tupleXmax(m, position)} failed, but its new version, line pointer ${next}, is committed`;
    report.line('error', 'heap.hot_chain.failed_then_committed', offset, message);
  }
}
