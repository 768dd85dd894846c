// A heap page's header, line pointers and tuples as lines of text, so that two pages can be compared and the difference be
// read.
import {
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  pageFlags,
  pageLower,
  pageMaxOffset,
  pageMemory,
  pagePruneXid,
  pageSpecial,
  pageUpper,
} from '@blockwright/page';
import {
  HEAP_XMAX_COMMITTED,
  HEAP_XMAX_INVALID,
  HEAP_XMIN_COMMITTED,
  HEAP_XMIN_INVALID,
  setTupleInfomask,
  tupleInfomask,
} from '@blockwright/tuple';

const HINT_BITS = HEAP_XMIN_COMMITTED | HEAP_XMIN_INVALID | HEAP_XMAX_COMMITTED | HEAP_XMAX_INVALID;

/** Header, line pointers and items of a page, as lines of text that can be compared. */
export function described(m: PageMemory, base: number, item: (m: PageMemory, position: number) => string): string[] {
  const bounds = `lower ${pageLower(m, base)}, upper ${pageUpper(m, base)}, special ${pageSpecial(m, base)}`;
  const lines = [`${bounds}, flags ${pageFlags(m, base)}, prune xid ${pagePruneXid(m, base)}`];
  for (let o = 1; o <= pageMaxOffset(m, base); o++) {
    const lp = linePointer(m, base, o);
    const bytes = lpLength(lp) === 0 ? '' : item(m, base + lpOffset(lp));
    lines.push(`${o}: lp_off ${lpOffset(lp)}, lp_flags ${lpFlags(lp)}, lp_len ${lpLength(lp)} ${bytes}`);
  }
  return lines;
}

/** A heap tuple's bytes, hint bits left out: who looked at it sets those. */
export function heapTuple(length: number): (m: PageMemory, position: number) => string {
  return (m, position) => {
    const copy = pageMemory(m.u8.slice(position, position + length).buffer);
    setTupleInfomask(copy, 0, tupleInfomask(copy, 0) & ~HINT_BITS);
    return Buffer.from(copy.u8).toString('hex');
  };
}
