// The loop of an index-only scan: which entries the visibility map vouches for.
import type { VisibilityCursor } from '@blockwright/visibilitymap';

/** `VISIBILITYMAP_ALL_VISIBLE`, of this module's own: an imported one is fetched from its module at every use. */
const ALL_VISIBLE = 1;

/**
 * The first entry from `from` on, of `count`, whose block the map does not call all-visible; `count` when it does of all.
 * Entries that follow each other are often of one block, for which the map is asked once.
 */
export function allVisibleUntil(blocks: Uint32Array, from: number, count: number, cursor: VisibilityCursor): number {
  let last = from < count ? ~blocks[from] : 0;
  for (let i = from; i < count; i++) {
    const block = blocks[i] | 0;
    if (block === last) continue;
    last = block;
    if ((cursor.status(block >>> 0) & ALL_VISIBLE) === 0) return i;
  }
  return count;
}
