// What can be said of one heap page: its header, how its items fill it, its tuples' headers and attributes, its chains of
// versions, and that what is promised of all its tuples is true of each. Hint bits decide where there is no commit log.
import { type BlockNumber, FIRST_NORMAL_XID } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { VISIBLE } from '@blockwright/heap';
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
  pageMaxOffset,
  pagePruneXid,
  pageSpecial,
  pageUpper,
} from '@blockwright/page';
import {
  HEAP_HOT_UPDATED,
  HEAP_ONLY_TUPLE,
  HEAP_UPDATED,
  type TupleDescriptor,
  tupleInfomask,
  tupleInfomask2,
} from '@blockwright/tuple';
import { type Fates, verdictOf } from './fates.ts';
import { HotChains } from './hot-chains.ts';
import type { LineStates } from './line-states.ts';
import type { PageReport } from './page-report.ts';
import { type ToastLookup, TupleAttributes } from './tuple-attributes.ts';
import { checkTupleFate } from './tuple-fate.ts';
import { checkTupleHeader, type TupleLimits } from './tuple-header.ts';
import { VisibilityPromise } from './visibility-promise.ts';
import { type XidRange, xidIsInFuture } from './xids.ts';

export interface HeapPageOptions {
  readonly geometry: BlockGeometry;
  /** The table's columns, where they are known: attributes are then walked. */
  readonly descriptor: TupleDescriptor | undefined;
  /** Whether text is known to be UTF-8. */
  readonly utf8: boolean;
  /** What the table stores out of line, where it can be read. */
  readonly toast: ToastLookup | undefined;
  /** Which xids can be in use, where it is known. */
  readonly xids: XidRange | undefined;
  /** What became of transactions, where it can be told. */
  readonly fates: Fates | undefined;
}

/** What a heap page check has counted. */
export interface HeapPageCounts {
  linePointers: number;
  tuples: number;
  decodedTuples: number;
  judgedTuples: number;
  hotChains: number;
  hotLinks: number;
}

const PRUNE_XID_BYTE = 20;
const LOWER_BYTE = 12;
const FLAGS_BYTE = 10;

/** Checks heap pages, one after the other. PostgreSQL: verify_heapam.c, pg_visibility.c. */
export class HeapPageCheck {
  private readonly geometry: BlockGeometry;
  private readonly limits: TupleLimits;
  private readonly attributes: TupleAttributes | undefined;
  private readonly fates: Fates | undefined;
  private readonly chains: HotChains;
  private readonly promise: VisibilityPromise;

  constructor(options: HeapPageOptions) {
    const { geometry, descriptor, utf8, toast, xids, fates } = options;
    this.geometry = geometry;
    this.limits = {
      columns: descriptor?.columns.length ?? Number.POSITIVE_INFINITY,
      maxTuples: geometry.maxHeapTuplesPerPage,
      xids,
    };
    this.attributes = descriptor === undefined ? undefined : new TupleAttributes(descriptor, utf8, toast);
    this.fates = fates;
    this.chains = new HotChains(geometry.maxOffsetNumber, fates);
    this.promise = new VisibilityPromise(fates);
  }

  /**
   * Checks the page at `base`, whose header bounds are known to be sane. `lines` says of each line pointer whether it
   * was found bad already, and is told of those found bad here.
   * @param mapBits the page's bits in the visibility map, or -1 when there is no map to compare with
   */
  check(
    m: PageMemory,
    base: number,
    block: BlockNumber,
    mapBits: number,
    lines: LineStates,
    report: PageReport,
    counts: HeapPageCounts,
  ): void {
    const last = pageMaxOffset(m, base);
    counts.linePointers += last;
    this.checkHeader(m, base, last, report);
    this.promise.beginPage(m, base, mapBits, report);
    let unused = 0;
    let itemBytes = 0;
    let isChained = false;
    for (let offset = 1; offset <= last; offset++) {
      const lp = linePointer(m, base, offset);
      const flags = lpFlags(lp);
      if (flags === LP_UNUSED) unused++;
      else if (flags === LP_REDIRECT) isChained = true;
      if (lines.isBad(offset)) continue;
      if (flags === LP_DEAD) this.checkDead(lp, offset, lines, report);
      else if (flags === LP_NORMAL) {
        itemBytes += (lpLength(lp) + 7) & ~7;
        const position = base + lpOffset(lp);
        this.checkTuple(m, position, lpLength(lp), block, offset, report, counts);
        isChained ||= isPartOfChain(m, position);
      }
    }
    if (lines.badCount === 0) checkTiling(m, base, itemBytes, last, report);
    if (isChained) this.chains.check(m, base, block, lines, report, counts);
    if (unused > 0 && !pageHasFreeLines(m, base)) {
      const message = `${unused} line pointers are unused, and PD_HAS_FREE_LINES does not say so: they are not used again`;
      report.page('info', 'heap.header.free_lines_not_hinted', message, { byteOffset: FLAGS_BYTE });
    }
  }

  private checkHeader(m: PageMemory, base: number, last: number, report: PageReport): void {
    const most = this.geometry.maxHeapTuplesPerPage;
    if (last > most) {
      const message = `the page has ${last} line pointers; a heap page has at most ${most}`;
      report.page('error', 'heap.header.too_many_line_pointers', message, { byteOffset: LOWER_BYTE });
    }
    // pd_prune_xid is a hint that is not logged, and may stay behind for ever; but it was an xid once.
    const pruneXid = pagePruneXid(m, base);
    const { xids } = this.limits;
    const neverWas =
      xids !== undefined && xids.nextEpoch === 0 && (pruneXid >= xids.next || xidIsInFuture(pruneXid, xids));
    if (pruneXid !== 0 && (pruneXid < FIRST_NORMAL_XID || neverWas)) {
      const message = `pd_prune_xid is ${pruneXid}, which never was a transaction's id`;
      report.page('warning', 'heap.header.prune_xid', message, { byteOffset: PRUNE_XID_BYTE });
    }
  }

  private checkDead(lp: number, offset: number, lines: LineStates, report: PageReport): void {
    if (lpLength(lp) !== 0) {
      lines.markBad(offset);
      const message = `line pointer ${offset} is dead, but has an item: in a heap it would have been removed`;
      report.line('error', 'heap.line_pointer.dead_with_item', offset, message);
    } else if (this.promise.isMade) this.promise.checkDead(offset, report);
  }

  private checkTuple(
    m: PageMemory,
    position: number,
    length: number,
    block: BlockNumber,
    offset: number,
    report: PageReport,
    counts: HeapPageCounts,
  ): void {
    counts.tuples++;
    report.beginTuple(offset, position);
    const isWhole = checkTupleHeader(m, position, length, block, offset, this.limits, report);
    if (this.fates !== undefined) {
      counts.judgedTuples++;
      checkTupleFate(m, position, this.fates, this.limits.xids, report);
    }
    if (isWhole && this.attributes !== undefined) {
      counts.decodedTuples++;
      const verdict = verdictOf(m, position, this.fates);
      this.attributes.check(m, position, length, verdict === VISIBLE, report);
    }
    if (this.promise.isMade) this.promise.checkTuple(m, position, offset, report);
  }
}

function isPartOfChain(m: PageMemory, position: number): boolean {
  return (
    (tupleInfomask2(m, position) & (HEAP_HOT_UPDATED | HEAP_ONLY_TUPLE)) !== 0 ||
    (tupleInfomask(m, position) & HEAP_UPDATED) !== 0
  );
}

/**
 * A heap page's items fill it from pd_upper to the end, without a gap: each is placed right below the one before, and
 * whatever removes one moves the others together.
 * @param itemBytes of all items, each rounded up to 8; they do not overlap and lie between pd_upper and the end
 */
function checkTiling(m: PageMemory, base: number, itemBytes: number, last: number, report: PageReport): void {
  const missing = pageSpecial(m, base) - pageUpper(m, base) - itemBytes;
  if (missing === 0) return;
  let lowest = pageSpecial(m, base);
  for (let offset = 1; offset <= last; offset++) {
    const lp = linePointer(m, base, offset);
    if (lpFlags(lp) === LP_NORMAL && lpOffset(lp) < lowest) lowest = lpOffset(lp);
  }
  const message = `${missing} bytes from pd_upper ${pageUpper(m, base)} on belong to no item; the lowest item is at ${lowest}`;
  report.page('error', 'heap.items.gap', message, { byteOffset: pageUpper(m, base) });
}
