// The tuples of one page that a snapshot sees: collected for a decoder, or counted. The plain cases are decided here, by
// the hint bits and one comparison; everything else by satisfiesMvcc.
import type { BlockNumber } from '@blockwright/base';
import { SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { LP_NORMAL, lpFlags, lpLength, lpOffset, type PageMemory, pageIsAllVisible } from '@blockwright/page';
import type { Snapshot } from '@blockwright/transam';
import { HEAP_XMIN_FROZEN } from '@blockwright/tuple';
import type { PageTuples } from './collect.ts';
import { corruptLinePointer, tooManyTuples } from './errors.ts';
import type { HintSink } from './hints.ts';
import { leadsToTuple, linePointerCount, linePointersEnd } from './line-pointers.ts';
import { INFOMASK_BYTE, PLAINLY_VISIBLE_MASK } from './visibility.ts';
import { satisfiesMvcc } from './visibility-mvcc.ts';

// Of this module's own: what is imported is fetched from its module each time it is used, a function to be called too.
const INFOMASK: number = INFOMASK_BYTE;
const PLAINLY_VISIBLE: number = PLAINLY_VISIBLE_MASK;
const FROZEN: number = HEAP_XMIN_FROZEN;
const NORMAL: number = LP_NORMAL;
const isTuple: typeof leadsToTuple = leadsToTuple;
const sees: typeof satisfiesMvcc = satisfiesMvcc;

/**
 * Collects into `into` the tuples of the page at `base` that `snapshot` sees. The tuples of a page marked all-visible are
 * not judged. PostgreSQL: `heap_prepare_pagescan`, heapam.c.
 * @throws StorageError XX001 for a page that is no plain heap page, and for a line pointer that leads to where no tuple
 * can be; what {@link satisfiesMvcc} throws.
 */
export function collectForSnapshot(
  m: PageMemory,
  base: number,
  size: number,
  block: BlockNumber,
  name: string,
  snapshot: Snapshot,
  hints: HintSink,
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
  const oldest = snapshot.xmin | 0;
  const settled = snapshot.settled;
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
      // Committed and never deleted: visible when it is frozen, or all as old as its inserter had ended.
      const isPlain =
        (infomask & PLAINLY_VISIBLE) === PLAINLY_VISIBLE &&
        ((infomask & FROZEN) === FROZEN || ((u32[position >> 2] - oldest) | 0) <= settled);
      if (!isPlain && !sees(m, position, snapshot, hints)) continue;
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
 * Number of tuples of the page at `base` that `snapshot` sees, every one judged whatever the page's flag says; -1 - i
 * when line pointer i + 1 leads to where no tuple can be (the last such one).
 * @throws StorageError what {@link satisfiesMvcc} throws.
 */
export function countForSnapshot(
  m: PageMemory,
  base: number,
  size: number,
  lines: number,
  snapshot: Snapshot,
  hints: HintSink,
): number {
  const u32 = m.u32;
  const u16 = m.u16;
  const oldest = snapshot.xmin | 0;
  const settled = snapshot.settled;
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
    const isPlain =
      (infomask & PLAINLY_VISIBLE) === PLAINLY_VISIBLE &&
      ((infomask & FROZEN) === FROZEN || ((u32[position >> 2] - oldest) | 0) <= settled);
    if (isPlain || sees(m, position, snapshot, hints)) count++;
  }
  return count;
}
