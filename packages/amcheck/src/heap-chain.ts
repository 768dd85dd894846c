// The chains of versions of one heap page, followed from where index entries lead to: to the version that is visible.
// PostgreSQL: heap_get_root_tuples, pruneheap.c; heap_hot_search_buffer, heapam.c.
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import { INVISIBLE, VISIBLE } from '@blockwright/heap';
import {
  LP_NORMAL,
  LP_REDIRECT,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  pageMaxOffset,
} from '@blockwright/page';
import {
  HEAP_XMAX_IS_MULTI,
  isHeapOnly,
  isHotUpdated,
  tupleCtidBlock,
  tupleCtidOffset,
  tupleInfomask,
  tupleInfomask2,
  tupleXmax,
  tupleXmin,
} from '@blockwright/tuple';
import { type Fates, verdictOf } from './fates.ts';

/** No version is visible. */
export const NO_ROW = -1;
/** Which one is cannot be told. */
export const UNKNOWN_ROW = -2;

const LEAST_TUPLE_BYTES = 24;

/** Follows chains on one page after the other; takes any bytes. */
export class ChainWalk {
  /** Bytes of the tuple that {@link visibleFrom} found. */
  length = 0;
  private readonly fates: Fates | undefined;
  private m: PageMemory | undefined = undefined;
  private base = 0;
  private block = 0;
  private size = 0;
  private last = 0;

  constructor(fates: Fates | undefined) {
    this.fates = fates;
  }

  /** The page at `base`, whose header is sane. */
  beginPage(m: PageMemory, base: number, block: BlockNumber, size: number): void {
    this.m = m;
    this.base = base;
    this.block = block;
    this.size = size;
    this.last = pageMaxOffset(m, base);
  }

  /** Where the visible tuple of the chain that begins at a line pointer stands; NO_ROW or UNKNOWN_ROW. */
  visibleFrom(root: OffsetNumber): number {
    const m = this.m as PageMemory;
    let offset = root;
    const lp = linePointer(m, this.base, offset);
    if (lpFlags(lp) === LP_REDIRECT) {
      offset = lpOffset(lp);
      if (offset < 1 || offset > this.last) return UNKNOWN_ROW;
    } else if (lpFlags(lp) !== LP_NORMAL) return NO_ROW;
    let updater = -1;
    for (let steps = 0; steps < this.last; steps++) {
      const position = this.tupleAt(offset);
      if (position < 0) return steps === 0 ? UNKNOWN_ROW : NO_ROW;
      if (updater >= 0 && (tupleXmin(m, position) !== updater || !isHeapOnly(tupleInfomask2(m, position))))
        return NO_ROW;
      const verdict = verdictOf(m, position, this.fates);
      if (verdict === VISIBLE) {
        this.length = lpLength(linePointer(m, this.base, offset));
        return position;
      }
      if (verdict !== INVISIBLE) return UNKNOWN_ROW;
      const infomask = tupleInfomask(m, position);
      if (!isHotUpdated(infomask, tupleInfomask2(m, position)) || tupleCtidBlock(m, position) !== this.block)
        return NO_ROW;
      updater = this.updaterOf(m, position, infomask);
      if (updater < 0) return UNKNOWN_ROW;
      offset = tupleCtidOffset(m, position);
      if (offset < 1 || offset > this.last) return NO_ROW;
    }
    return UNKNOWN_ROW;
  }

  private updaterOf(m: PageMemory, position: number, infomask: number): number {
    if ((infomask & HEAP_XMAX_IS_MULTI) === 0) return tupleXmax(m, position);
    return this.fates?.updaterOf(m, position) ?? -1;
  }

  /** Byte of the tuple of a normal line pointer that lies on the page; -1 for others. */
  private tupleAt(offset: OffsetNumber): number {
    const lp = linePointer(this.m as PageMemory, this.base, offset);
    const at = lpOffset(lp);
    const length = lpLength(lp);
    if (lpFlags(lp) !== LP_NORMAL || (at & 7) !== 0 || at < LEAST_TUPLE_BYTES) return -1;
    return length < LEAST_TUPLE_BYTES || at + length > this.size ? -1 : this.base + at;
  }
}
