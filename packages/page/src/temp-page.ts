// Copies of a page to work on, and back: an access method rebuilds a page aside and puts it in place in one go.
import { type BlockGeometry } from '@blockwright/geometry';
import { checkPageBounds, pageInit, pageSpecial, pageSpecialBytes } from './header.ts';
import { type PageMemory, PageMemoryViews } from './memory.ts';

/** Memory for one page, at base 0, all zero. PostgreSQL: `PageGetTempPage`. */
export function tempPage(g: BlockGeometry): PageMemory {
  return new PageMemoryViews(new ArrayBuffer(g.size));
}

/** Copies a whole page. The two may lie in one memory. PostgreSQL: `memcpy` of `BLCKSZ` bytes. */
export function copyPage(from: PageMemory, fromBase: number, to: PageMemory, toBase: number, g: BlockGeometry): void {
  to.u8.set(from.u8.subarray(fromBase, fromBase + g.size), toBase);
}

/** A copy of the page, at base 0 of its own memory. PostgreSQL: `PageGetTempPageCopy`. */
export function tempPageCopy(m: PageMemory, base: number, g: BlockGeometry): PageMemory {
  const temp = tempPage(g);
  copyPage(m, base, temp, 0, g);
  return temp;
}

/**
 * An empty page with the same special space, at base 0 of its own memory. PostgreSQL: `PageGetTempPageCopySpecial`.
 * @throws StorageError XX001 when the page's bounds are corrupted.
 */
export function tempPageCopySpecial(m: PageMemory, base: number, g: BlockGeometry): PageMemory {
  checkPageBounds(m, base, g);
  const temp = tempPage(g);
  pageInit(temp, 0, g, pageSpecialBytes(m, base, g));
  const special = pageSpecial(m, base);
  temp.u8.set(m.u8.subarray(base + special, base + g.size), special);
  return temp;
}

/** Puts a temporary page (at base 0) in the place of the page. PostgreSQL: `PageRestoreTempPage`. */
export function restoreTempPage(temp: PageMemory, m: PageMemory, base: number, g: BlockGeometry): void {
  copyPage(temp, 0, m, base, g);
}
