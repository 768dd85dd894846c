// How full a heap's pages are: what a block size wastes at the end of each page.
import type { Relation } from '@blockwright/access';
import { pageExactFreeSpace, pageIsNew } from '@blockwright/page';
import { ringFor } from './whole-table.ts';

export interface HeapPageStats {
  readonly pages: number;
  /** Bytes between the line pointers and the tuples, over all pages but the last, which may be half empty by chance. */
  readonly tailBytes: number;
}

/** Adds up the room that no tuple uses. PostgreSQL: `pgstattuple`'s free space. */
export function heapPageStats(relation: Relation): HeapPageStats {
  const { pool, main } = relation;
  const pages = relation.blockCount();
  const ring = ringFor(relation, pages);
  let tailBytes = 0;
  for (let block = 0; block + 1 < pages; block++) {
    const id = pool.pin(main, block, ring);
    try {
      const m = pool.memory(id);
      const base = pool.base(id);
      if (!pageIsNew(m, base)) tailBytes += pageExactFreeSpace(m, base);
    } finally {
      pool.unpin(id);
    }
  }
  return { pages, tailBytes };
}
