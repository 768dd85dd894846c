// When a record carries a full-page image, and what of the page lies in it. PostgreSQL: `XLogRecordAssemble`,
// xloginsert.c.
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { type PageMemory, pageLower, pageUpper } from '@blockwright/page';

/** The page is a standard one: what lies between `pd_lower` and `pd_upper` is left out of its image. */
export const PAGE_STANDARD = 1;
/** Redo makes the page anew and never reads it: no image is needed. PostgreSQL: `REGBUF_WILL_INIT`. */
export const PAGE_WILL_INIT = 2;
/** The page's data stays in the record beside an image. PostgreSQL: `REGBUF_KEEP_DATA`. */
export const PAGE_KEEP_DATA = 4;
/** Never an image: the change may be lost with the page. PostgreSQL: `REGBUF_NO_IMAGE`. */
export const PAGE_NO_IMAGE = 8;
/** An image in any case. PostgreSQL: `REGBUF_FORCE_IMAGE`. */
export const PAGE_FORCE_IMAGE = 16;

/**
 * Bytes of a standard page's hole, from `pd_lower` on; 0 when its bounds are not those of a page with a hole: then the
 * image has every byte.
 */
export function holeLength(m: PageMemory, base: number, g: BlockGeometry): number {
  const lower = pageLower(m, base);
  const upper = pageUpper(m, base);
  return lower >= SIZE_OF_PAGE_HEADER && upper > lower && upper <= g.size ? upper - lower : 0;
}
