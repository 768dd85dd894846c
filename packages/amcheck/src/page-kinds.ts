// What the pages of a main fork are, where no catalog says it: told by what most of the first ones look like.
import type { BlockGeometry } from '@blockwright/geometry';
import type { PageMemory } from '@blockwright/page';
import { type PageKind, pageKind } from '@blockwright/pageinspect';

/** So many pages are asked. */
const MOST_VOTES = 16;

/** What most of the first of `count` pages are, damaged and new ones left out. */
export function kindOfPages(m: PageMemory, count: number, geometry: BlockGeometry): PageKind | undefined {
  const votes = new Map<PageKind, number>();
  for (let i = 0; i < Math.min(count, MOST_VOTES); i++) {
    const kind = pageKind(m, i << geometry.shift, geometry);
    if (kind !== 'new' && kind !== 'damaged') votes.set(kind, (votes.get(kind) ?? 0) + 1);
  }
  return [...votes].sort(([, a], [, b]) => b - a)[0]?.[0];
}
