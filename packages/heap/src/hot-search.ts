// The way along a HOT chain: from the line pointer that an index entry leads to, to the version that a snapshot sees.
import type { Relation } from '@blockwright/access';
import { type BlockNumber, INVALID_XID, type OffsetNumber, StorageError, type Xid } from '@blockwright/base';
import { LP_NORMAL, LP_REDIRECT, linePointer, lpFlags, lpLength, lpOffset, type PageMemory } from '@blockwright/page';
import type { Snapshot } from '@blockwright/transam';
import {
  isHeapOnly,
  isHotUpdated,
  tupleCtidOffset,
  tupleInfomask,
  tupleInfomask2,
  tupleXmin,
} from '@blockwright/tuple';
import { corruptLinePointer } from './errors.ts';
import { HintSink } from './hints.ts';
import { leadsToTuple, linePointerCount, linePointersEnd } from './line-pointers.ts';
import { tupleUpdateXid } from './visibility-multi.ts';
import { satisfiesMvcc } from './visibility-mvcc.ts';

/**
 * The offset number of the chain's member that `snapshot` sees, the chain beginning at line pointer `offset`; 0 when it
 * sees none: a line pointer that is unused, dead or not there, a chain of which every version is too new or too old, a
 * line pointer in the middle of a chain. The page is pinned meanwhile. PostgreSQL: `heap_hot_search`, heapam.c.
 * @throws StorageError XX001 for damage, 58P01 when the commit log's segment is gone.
 */
export function heapHotSearch(
  relation: Relation,
  block: BlockNumber,
  offset: OffsetNumber,
  snapshot: Snapshot,
): OffsetNumber {
  if (!relation.main.hasBlock(block)) return 0;
  const { pool, main, geometry, name } = relation;
  const id = pool.pin(main, block);
  try {
    const hints = HintSink.for(relation);
    const found = hotSearchPage(pool.memory(id), pool.base(id), geometry.size, name, block, offset, snapshot, hints);
    hints.flush(relation, id);
    return found;
  } finally {
    pool.unpin(id);
  }
}

/** As {@link heapHotSearch}, on the page at `base`, which the caller has pinned. PostgreSQL: `heap_hot_search_buffer`. */
export function hotSearchPage(
  m: PageMemory,
  base: number,
  size: number,
  name: string,
  block: BlockNumber,
  offset: OffsetNumber,
  snapshot: Snapshot,
  hints: HintSink,
): OffsetNumber {
  const lines = linePointerCount(m, base, size, name, block);
  const lower = linePointersEnd(lines);
  let at = offset;
  let isStart = true;
  let previousXmax: Xid = INVALID_XID;
  for (let steps = 0; steps <= lines; steps++) {
    if (at < 1 || at > lines) return 0;
    const lp = linePointer(m, base, at);
    if (!leadsToTuple(lp, lower, size)) {
      if (lpFlags(lp) === LP_NORMAL) throw corruptLinePointer(name, block, at, lpOffset(lp), lpLength(lp));
      if (lpFlags(lp) !== LP_REDIRECT || !isStart) return 0;
      at = lpOffset(lp);
      isStart = false;
      continue;
    }
    const pos = base + lpOffset(lp);
    const infomask2 = tupleInfomask2(m, pos);
    if (isStart && isHeapOnly(infomask2)) return 0;
    // Another tuple may have been put where the chain once went on: after an update that was rolled back.
    if (previousXmax !== INVALID_XID && tupleXmin(m, pos) !== previousXmax) return 0;
    if (satisfiesMvcc(m, pos, snapshot, hints)) return at;
    const infomask = tupleInfomask(m, pos); // with the hints just set
    if (!isHotUpdated(infomask, infomask2)) return 0;
    previousXmax = tupleUpdateXid(m, pos, infomask, snapshot.transactions);
    at = tupleCtidOffset(m, pos);
    isStart = false;
  }
  throw new StorageError('XX001', `relation "${name}", block ${block}, offset ${offset}: the HOT chain has no end`, {
    hint: 'Run "blockwright check" on the file to see all that is damaged, and restore it from a copy.',
  });
}
