// The room that a table's fillfactor keeps free on each page.
import type { BlockGeometry } from '@blockwright/geometry';

/** PostgreSQL: `HEAP_DEFAULT_FILLFACTOR`, rel.h. */
export const DEFAULT_FILLFACTOR = 100;
/** PostgreSQL: `HEAP_MIN_FILLFACTOR`. */
const MIN_FILLFACTOR = 10;

/** Bytes of a page that inserts leave free. PostgreSQL: `RelationGetTargetPageFreeSpace`. */
export function spareBytes(g: BlockGeometry, fillfactor: number): number {
  // A hundredth, rounded down, without a division: half a byte more is far from the next whole number.
  return ((((100 - fillfactor) << g.shift) + 0.5) * 0.01) | 0;
}

/** Free bytes below which a page with something to prune is pruned when it is read. PostgreSQL: `heap_page_prune_opt`. */
export function wantedFreeBytes(g: BlockGeometry, fillfactor: number): number {
  const tenth = ((g.size + 0.5) * 0.1) | 0;
  const spare = spareBytes(g, fillfactor);
  return spare > tenth ? spare : tenth;
}

/** @throws RangeError for a fillfactor that PostgreSQL would refuse, too. */
export function checkFillfactor(fillfactor: number): number {
  if (Number.isInteger(fillfactor) && fillfactor >= MIN_FILLFACTOR && fillfactor <= DEFAULT_FILLFACTOR) {
    return fillfactor;
  }
  throw new RangeError(
    `a fillfactor is a whole number from ${MIN_FILLFACTOR} to ${DEFAULT_FILLFACTOR}, not ${String(fillfactor)}`,
  );
}
