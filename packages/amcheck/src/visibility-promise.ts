// What a page's flag and its bits in the visibility map promise of all its tuples, held against each of them.
// PostgreSQL: `collect_corrupt_items`, pg_visibility.c. Where there is no commit log to ask, the hint bits must do.
import { FIRST_NORMAL_XID, type OffsetNumber } from '@blockwright/base';
import { INVISIBLE, VISIBLE } from '@blockwright/heap';
import { type PageMemory, pageIsAllVisible } from '@blockwright/page';
import {
  HEAP_XMAX_INVALID,
  HEAP_XMAX_IS_MULTI,
  HEAP_XMIN_COMMITTED,
  isXminFrozen,
  tupleInfomask,
  tupleXmax,
  tupleXmin,
} from '@blockwright/tuple';
import { VISIBILITYMAP_ALL_FROZEN, VISIBILITYMAP_ALL_VISIBLE } from '@blockwright/visibilitymap';
import { type Fates, verdictOf } from './fates.ts';
import type { PageReport } from './page-report.ts';

/** The promises of one page after the other. */
export class VisibilityPromise {
  /** Whether the current page promises anything, so that its items need be asked. */
  isMade = false;
  private byPage = false;
  private byMap = false;
  private frozen = false;
  private readonly fates: Fates | undefined;

  constructor(fates: Fates | undefined) {
    this.fates = fates;
  }

  /** @param mapBits the page's bits in the visibility map, or -1 when there is no map */
  beginPage(m: PageMemory, base: number, mapBits: number, report: PageReport): void {
    this.byPage = pageIsAllVisible(m, base);
    this.byMap = mapBits > 0 && (mapBits & VISIBILITYMAP_ALL_VISIBLE) !== 0;
    this.frozen = mapBits > 0 && (mapBits & VISIBILITYMAP_ALL_FROZEN) !== 0;
    this.isMade = this.byPage || this.byMap || this.frozen;
    if (mapBits > 0 && !this.byPage) {
      const message = 'the visibility map has bits for the page, but the page does not call itself all-visible';
      report.page('error', 'heap.map.set_without_page_flag', message);
    }
  }

  /** A dead line pointer, which index entries may lead to. */
  checkDead(offset: OffsetNumber, report: PageReport): void {
    const message = `${this.who()} all-visible, but line pointer ${offset} is dead`;
    report.line('error', 'heap.all_visible.dead_line_pointer', offset, message);
  }

  checkTuple(m: PageMemory, position: number, offset: OffsetNumber, report: PageReport): void {
    const infomask = tupleInfomask(m, position);
    const xmin = tupleXmin(m, position);
    const xmax = tupleXmax(m, position);
    const verdict = verdictOf(m, position, this.fates);
    if (verdict !== VISIBLE && (this.byPage || this.byMap)) {
      const severity = this.severityOf(verdict, infomask);
      if (severity !== undefined) {
        const known = verdict === INVISIBLE ? 'is not visible to everyone' : 'is not known to be visible to everyone';
        const message = `${this.who()} all-visible, but the tuple (xmin ${xmin}, xmax ${xmax}) ${known}`;
        report.line(severity, 'heap.all_visible.tuple', offset, message);
        return;
      }
    }
    if (this.frozen && !isFrozen(infomask, xmin, xmax)) {
      const message = `the visibility map calls the page all-frozen, but the tuple (xmin ${xmin}, xmax ${xmax}) is not frozen`;
      report.line('error', 'heap.all_frozen.tuple', offset, message);
    }
  }

  /**
   * Hint bits are not logged: on a standby, or after a crash, a page can be all-visible by the log, and its tuples
   * without hints. A map that the page itself contradicts has no such excuse.
   */
  private severityOf(verdict: number, infomask: number): 'error' | 'warning' | undefined {
    if (verdict === INVISIBLE || !this.byPage) return 'error';
    const isXmaxOpen = (infomask & HEAP_XMAX_INVALID) === 0;
    return isXmaxOpen && (infomask & HEAP_XMIN_COMMITTED) !== 0 ? 'warning' : undefined;
  }

  private who(): string {
    return this.byMap ? 'the visibility map calls the page' : 'the page calls itself';
  }
}

/** PostgreSQL: `heap_tuple_needs_eventual_freeze`, heapam.c. */
function isFrozen(infomask: number, xmin: number, xmax: number): boolean {
  if (!isXminFrozen(infomask) && xmin >= FIRST_NORMAL_XID) return false;
  return (infomask & HEAP_XMAX_IS_MULTI) !== 0 ? xmax === 0 : xmax < FIRST_NORMAL_XID;
}
