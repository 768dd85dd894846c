// What can be said of one heap page without the commit log: its tuples' headers and attributes, its line pointers'
// order, and that what the page and its map bits promise of all its tuples is true of each.
import {
  type BlockNumber,
  FIRST_NORMAL_XID,
  type Finding,
  type FindingSink,
  type OffsetNumber,
  type Severity,
} from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { judgeByHints, VISIBLE } from '@blockwright/heap';
import {
  LP_DEAD,
  LP_NORMAL,
  LP_REDIRECT,
  LP_UNUSED,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  pageHasFreeLines,
  pageIsAllVisible,
  pageMaxOffset,
  pagePruneXid,
} from '@blockwright/page';
import {
  isHeapOnly,
  type TupleDescriptor,
  tupleInfomask,
  tupleInfomask2,
  tupleXmax,
  tupleXmin,
} from '@blockwright/tuple';
import { VISIBILITYMAP_ALL_FROZEN, VISIBILITYMAP_ALL_VISIBLE } from '@blockwright/visibilitymap';
import { TupleCheck } from './tuple-check.ts';
import { type XidRange, xidFault } from './xids.ts';

/** What a heap page check has counted. */
export interface HeapPageCounts {
  linePointers: number;
  tuples: number;
}

export interface HeapPageOptions {
  readonly geometry: BlockGeometry;
  /** The table's columns, where they are known: attributes are then walked and decoded. */
  readonly descriptor?: TupleDescriptor;
  /** Which xids can be in use, where it is known. */
  readonly xids?: XidRange;
  /** Blocks of the relation, for the blocks that t_ctid names. */
  readonly blockCount: number;
}

/** Checks heap pages, one after the other. PostgreSQL: verify_heapam.c, pg_visibility.c. */
export class HeapPageCheck {
  private readonly options: HeapPageOptions;
  private readonly tupleCheck: TupleCheck;

  constructor(options: HeapPageOptions) {
    this.options = options;
    this.tupleCheck = new TupleCheck(options);
  }

  /**
   * Checks the page at `base`, whose header bounds are known to be sane. `bad` says of each line pointer whether it was
   * found bad already: such items are not looked at.
   * @param mapBits the page's bits in the visibility map, or -1 when there is no map to compare with
   */
  check(
    m: PageMemory,
    base: number,
    block: BlockNumber,
    mapBits: number,
    bad: ReadonlySet<OffsetNumber>,
    where: Partial<Finding>,
    sink: FindingSink,
    counts: HeapPageCounts,
  ): void {
    const report = (code: string, severity: Severity, message: string, at: Partial<Finding> = {}): void =>
      sink({ code: `heap.${code}`, severity, message, ...where, block, ...at });
    const lines = pageMaxOffset(m, base);
    counts.linePointers += lines;
    this.checkHeader(m, base, lines, mapBits, report);
    let free = 0;
    for (let offset = 1; offset <= lines; offset++) {
      const lp = linePointer(m, base, offset);
      const flags = lpFlags(lp);
      if (flags === LP_UNUSED) free++;
      if (bad.has(offset)) continue;
      if (flags === LP_REDIRECT) checkRedirect(m, base, offset, lp, bad, report);
      else if (flags === LP_DEAD) this.checkPromise(m, base, -1, offset, mapBits, report);
      else if (flags === LP_NORMAL) {
        counts.tuples++;
        const position = base + lpOffset(lp);
        this.tupleCheck.check(m, position, lpLength(lp), block, offset, report);
        this.checkPromise(m, base, position, offset, mapBits, report);
      }
    }
    if (free > 0 && !pageHasFreeLines(m, base)) {
      const message = `${free} line pointers are unused, and PD_HAS_FREE_LINES does not say so: they are not used again`;
      report('header.free_lines_not_hinted', 'info', message, { byteOffset: 10 });
    }
  }

  private checkHeader(m: PageMemory, base: number, lines: number, mapBits: number, report: Report): void {
    const { geometry, xids } = this.options;
    if (lines > geometry.maxHeapTuplesPerPage) {
      const message = `the page has ${lines} line pointers; a heap page has at most ${geometry.maxHeapTuplesPerPage}`;
      report('header.too_many_line_pointers', 'error', message, { byteOffset: 12 });
    }
    const fault = xidFault(pagePruneXid(m, base), xids);
    if (fault !== undefined) report('header.prune_xid', 'error', `pd_prune_xid ${fault}`, { byteOffset: 20 });
    if (mapBits > 0 && !pageIsAllVisible(m, base)) {
      report(
        'map.set_without_page_flag',
        'error',
        'the visibility map calls the page all-visible, the page itself does not',
      );
    }
    if (mapBits === VISIBILITYMAP_ALL_FROZEN) {
      report(
        'map.frozen_without_visible',
        'error',
        'the visibility map calls the page all-frozen, but not all-visible',
      );
    }
  }

  /** A page that is called all-visible or all-frozen has no item for which that is not true. */
  private checkPromise(
    m: PageMemory,
    base: number,
    position: number,
    offset: OffsetNumber,
    mapBits: number,
    report: Report,
  ): void {
    const byMap = mapBits > 0 && (mapBits & VISIBILITYMAP_ALL_VISIBLE) !== 0;
    if (!byMap && !pageIsAllVisible(m, base)) return;
    const who = byMap ? 'the visibility map calls the page' : 'the page calls itself';
    if (position < 0) {
      report('all_visible.dead_line_pointer', 'error', `${who} all-visible, but line pointer ${offset} is dead`, {
        offsetNumber: offset,
      });
      return;
    }
    const infomask = tupleInfomask(m, position);
    const xmin = tupleXmin(m, position);
    const xmax = tupleXmax(m, position);
    const verdict = judgeByHints(infomask, xmin, xmax);
    if (verdict !== VISIBLE) {
      const what = `the tuple (xmin ${xmin}, xmax ${xmax}) is not known to be visible to everyone`;
      report('all_visible.tuple', 'error', `${who} all-visible, but ${what}`, { offsetNumber: offset });
    } else if (mapBits > 0 && (mapBits & VISIBILITYMAP_ALL_FROZEN) !== 0 && !isFrozen(infomask, xmin, xmax)) {
      const message = `the visibility map calls the page all-frozen, but the tuple (xmin ${xmin}, xmax ${xmax}) is not frozen`;
      report('all_frozen.tuple', 'error', message, { offsetNumber: offset });
    }
  }
}

export type Report = (code: string, severity: Severity, message: string, at?: Partial<Finding>) => void;

const XMIN_FROZEN = 0x0300;
const XMAX_INVALID = 0x0800;

function isFrozen(infomask: number, xmin: number, xmax: number): boolean {
  const inserterFrozen = (infomask & XMIN_FROZEN) === XMIN_FROZEN || xmin < FIRST_NORMAL_XID;
  return inserterFrozen && ((infomask & XMAX_INVALID) !== 0 || xmax === 0);
}

/** A redirect leads to the heap-only tuple that continues its HOT chain. */
function checkRedirect(
  m: PageMemory,
  base: number,
  offset: OffsetNumber,
  lp: number,
  bad: ReadonlySet<OffsetNumber>,
  report: Report,
): void {
  const target = lpOffset(lp); // a redirect's lp_off is a line pointer
  if (bad.has(target)) return;
  const targetLp = linePointer(m, base, target);
  if (lpFlags(targetLp) !== LP_NORMAL || isHeapOnly(tupleInfomask2(m, base + lpOffset(targetLp)))) return;
  const message = `line pointer ${offset} is a redirect to ${target}, whose tuple is not heap-only`;
  report('line_pointer.redirect_to_root', 'error', message, { offsetNumber: offset });
}
