// The visible tuples of one page, as byte positions for a decoder: the heap's innermost loops. By hint bits alone, for
// files without their commit log; by a snapshot, in snapshot-loops.ts.
import type { BlockNumber } from '@blockwright/base';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { LP_NORMAL, lpFlags, lpLength, lpOffset, type PageMemory, pageIsAllVisible } from '@blockwright/page';
import { corruptLinePointer, tooManyTuples, unknownVisibility } from './errors.ts';
import { leadsToTuple, linePointerCount, linePointersEnd } from './line-pointers.ts';
import type { UnknownPolicy } from './unknown-fate.ts';
import { INFOMASK_BYTE, judgeByHints, PLAINLY_VISIBLE_MASK, UNKNOWN, VISIBLE } from './visibility.ts';

/** Visible tuples of a page; reused from page to page. */
export class PageTuples {
  /** Byte of each tuple in the page's memory. */
  readonly positions: Int32Array;
  /** Bytes of each tuple, header included. */
  readonly lengths: Uint16Array;
  /** Line pointer of each tuple. */
  readonly offsets: Uint16Array;
  /** Where in {@link offsets} the next page's first tuple goes; 0 unless the array is a batch's. */
  offsetsAt = 0;
  count = 0;
  /** Tuples seen so far of which nothing said whether they are visible. */
  unknown = 0;
  /** Why the first of them could not be judged, if the commit log should have known. */
  unknownCause: Error | undefined = undefined;

  /** @param offsets where the line pointers go; an array of its own if not given */
  constructor(geometry: BlockGeometry, offsets?: Uint16Array) {
    const most = geometry.maxHeapTuplesPerPage;
    this.positions = new Int32Array(most);
    this.lengths = new Uint16Array(most);
    this.offsets = offsets ?? new Uint16Array(most);
  }

  /** Counts a tuple that could not be judged, and why. */
  noteUnknown(cause: Error): void {
    this.unknown++;
    this.unknownCause ??= cause;
  }
}

// Of this module's own: what is imported is fetched from its module each time it is used, a function to be called too.
const INFOMASK: number = INFOMASK_BYTE;
const PLAINLY_VISIBLE: number = PLAINLY_VISIBLE_MASK;
const NORMAL: number = LP_NORMAL;
const isTuple: typeof leadsToTuple = leadsToTuple;

/**
 * Collects the visible tuples of the page at `base` into `into`, judged by their hint bits alone: for files without a commit
 * log. A page marked all-visible is not judged. PostgreSQL: `heapgetpage` / `heap_prepare_pagescan`, heapam.c.
 * @throws StorageError XX001 for a page that is no plain heap page, and for a line pointer that leads to where no tuple can
 * be; 0A000 under `unknown: "error"`.
 */
export function collectVisible(
  m: PageMemory,
  base: number,
  size: number,
  block: BlockNumber,
  name: string,
  unknown: UnknownPolicy,
  into: PageTuples,
): number {
  const lines = linePointerCount(m, base, size, name, block);
  const u32 = m.u32;
  const u16 = m.u16;
  const positions = into.positions;
  const lengths = into.lengths;
  const offsets = into.offsets;
  const offsetsAt = into.offsetsAt;
  const most = positions.length;
  const allVisible = pageIsAllVisible(m, base);
  const first = (base + SIZE_OF_PAGE_HEADER) >> 2;
  const lower = linePointersEnd(lines);
  let count = 0;
  for (let i = 0; i < lines; i++) {
    const lp = u32[first + i];
    if (!isTuple(lp, lower, size)) {
      if (lpFlags(lp) !== NORMAL) continue;
      throw corruptLinePointer(name, block, i + 1, lpOffset(lp), lpLength(lp));
    }
    const position = base + (lp & 0x7fff);
    if (!allVisible) {
      const infomask = u16[(position + INFOMASK) >> 1];
      if ((infomask & PLAINLY_VISIBLE) !== PLAINLY_VISIBLE) {
        const xmin = u32[position >> 2];
        const xmax = u32[(position + 4) >> 2];
        const verdict = judgeByHints(infomask, xmin, xmax);
        if (verdict === UNKNOWN) {
          into.unknown++;
          if (unknown === 'error') throw unknownVisibility(name, block, i + 1, xmin, xmax);
          if (unknown === 'skip') continue;
        } else if (verdict !== VISIBLE) continue;
      }
    }
    if (count === most) throw tooManyTuples(name, block, most);
    positions[count] = position;
    lengths[count] = lp >>> 17;
    offsets[offsetsAt + count] = i + 1;
    count++;
  }
  into.count = count;
  return count;
}

/**
 * Number of line pointers of the page at `base` that say they lead to a tuple: on a page all of whose tuples are visible,
 * its row count. Neither the tuples are looked at, nor where the line pointers lead.
 */
export function countNormalLinePointers(m: PageMemory, base: number, lines: number): number {
  const u32 = m.u32;
  let i = (base + SIZE_OF_PAGE_HEADER) >> 2;
  const end = i + lines;
  let count = 0;
  // lp_flags has two bits, and LP_NORMAL is 01: the low bit without the high one.
  for (const even = i + (lines & ~3); i < even; i += 4) {
    const a = u32[i];
    const b = u32[i + 1];
    const c = u32[i + 2];
    const d = u32[i + 3];
    count +=
      ((a >>> 15) & ~(a >>> 16) & 1) +
      ((b >>> 15) & ~(b >>> 16) & 1) +
      ((c >>> 15) & ~(c >>> 16) & 1) +
      ((d >>> 15) & ~(d >>> 16) & 1);
  }
  for (; i < end; i++) {
    const lp = u32[i];
    count += (lp >>> 15) & ~(lp >>> 16) & 1;
  }
  return count;
}

/**
 * Number of visible tuples of the page at `base`, every tuple's hint bits judged whatever the page's flag says; -1 - i
 * when line pointer i + 1 leads to where no tuple can be (the last such one), and tuples of unknown fate are added to
 * `unknownOut[0]`, uncounted.
 */
export function countJudged(m: PageMemory, base: number, size: number, lines: number, unknownOut: Uint32Array): number {
  const u32 = m.u32;
  const u16 = m.u16;
  const first = (base + SIZE_OF_PAGE_HEADER) >> 2;
  const lower = linePointersEnd(lines);
  let count = 0;
  // Tuples lie from the page's end downward: from the last line pointer on, memory is read in rising order.
  for (let i = lines - 1; i >= 0; i--) {
    const lp = u32[first + i];
    if (!isTuple(lp, lower, size)) {
      if (lpFlags(lp) !== NORMAL) continue;
      return -1 - i;
    }
    const position = base + (lp & 0x7fff);
    const infomask = u16[(position + INFOMASK) >> 1];
    if ((infomask & PLAINLY_VISIBLE) === PLAINLY_VISIBLE) {
      count++;
    } else {
      const verdict = judgeByHints(infomask, u32[position >> 2] as number, u32[(position + 4) >> 2] as number);
      if (verdict === VISIBLE) count++;
      else if (verdict === UNKNOWN) unknownOut[0] = unknownOut[0] + 1;
    }
  }
  return count;
}
