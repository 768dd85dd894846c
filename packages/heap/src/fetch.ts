// One row by its TID.
import type { Relation } from '@blockwright/access';
import { type BlockNumber, type BufferId, isStorageError, type OffsetNumber } from '@blockwright/base';
import {
  LP_NORMAL,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  pageIsAllVisible,
} from '@blockwright/page';
import type { Snapshot } from '@blockwright/transam';
import { type RowDecoder, tupleInfomask, tupleXmax, tupleXmin } from '@blockwright/tuple';
import { corruptLinePointer, inTuple, unknownVisibility } from './errors.ts';
import { HintSink } from './hints.ts';
import { hotSearchPage } from './hot-search.ts';
import { leadsToTuple, linePointerCount, linePointersEnd } from './line-pointers.ts';
import { judgeIfKnown, type UnknownPolicy } from './unknown-fate.ts';
import { judgeByHints, UNKNOWN, VISIBLE } from './visibility.ts';

export interface HeapFetchOptions {
  /** Who looks: the row is given if it sees it. */
  readonly snapshot?: Snapshot;
  /**
   * With a snapshot: follow the HOT chain that begins at the offset, as from an index entry, to the version that it sees;
   * a redirected line pointer leads on then. Off by default: exactly the tuple that was named, as by `ctid`.
   */
  readonly followChain?: boolean;
  /** What to do with a tuple of which nothing that is read says whether it is visible; `error` by default. */
  readonly unknown?: UnknownPolicy;
}

/**
 * The row at (block, offset), decoded by `decoder`, or undefined when no visible tuple stands there: a block past the
 * end, an offset past the last line pointer, an unused, dead or redirected line pointer, a deleted tuple.
 * PostgreSQL: `heap_fetch`, `heap_hot_search_buffer`, heapam.c.
 * @throws StorageError XX001 for damage; without a snapshot 0A000 when the tuple's header does not say whether it is
 * visible, with one 58P01 when the commit log's segment is gone.
 */
export function heapFetch(
  relation: Relation,
  decoder: RowDecoder,
  block: BlockNumber,
  offset: OffsetNumber,
  options: HeapFetchOptions = {},
): Record<string, unknown> | undefined {
  const { pool, main, geometry, name } = relation;
  if (!relation.main.hasBlock(block)) return undefined;
  const id = pool.pin(main, block);
  let at = offset;
  try {
    const m = pool.memory(id);
    const base = pool.base(id);
    if (options.snapshot !== undefined && options.followChain === true) {
      const hints = HintSink.for(relation);
      at = hotSearchPage(m, base, geometry.size, name, block, offset, options.snapshot, hints);
      hints.flush(relation, id);
      return at === 0 ? undefined : decode(m, base, at, decoder);
    }
    const lines = linePointerCount(m, base, geometry.size, name, block);
    if (offset < 1 || offset > lines) return undefined;
    const lp = linePointer(m, base, offset);
    if (!leadsToTuple(lp, linePointersEnd(lines), geometry.size)) {
      if (lpFlags(lp) !== LP_NORMAL) return undefined;
      throw corruptLinePointer(name, block, offset, lpOffset(lp), lpLength(lp));
    }
    const isTaken =
      pageIsAllVisible(m, base) ||
      (options.snapshot === undefined
        ? isTakenByHints(m, base + lpOffset(lp), options.unknown ?? 'error', name, block, offset)
        : isSeen(relation, id, base + lpOffset(lp), options.snapshot, options.unknown ?? 'error'));
    return isTaken ? decode(m, base, offset, decoder) : undefined;
  } catch (error) {
    throw isStorageError(error) && (error as { tupleIndex?: number }).tupleIndex !== undefined
      ? inTuple(error, name, block, at)
      : error;
  } finally {
    pool.unpin(id);
  }
}

function decode(m: PageMemory, base: number, offset: OffsetNumber, decoder: RowDecoder): Record<string, unknown> {
  const lp = linePointer(m, base, offset);
  return decoder.object(m, base + lpOffset(lp), lpLength(lp));
}

function isSeen(
  relation: Relation,
  id: BufferId,
  position: number,
  snapshot: Snapshot,
  unknown: UnknownPolicy,
): boolean {
  const hints = HintSink.for(relation);
  const m = relation.pool.memory(id);
  const verdict = judgeIfKnown(m, position, snapshot, hints, (cause) => {
    if (unknown === 'error') throw cause;
  });
  hints.flush(relation, id);
  return verdict === VISIBLE || (verdict === UNKNOWN && unknown === 'include');
}

function isTakenByHints(
  m: PageMemory,
  position: number,
  unknown: UnknownPolicy,
  name: string,
  block: BlockNumber,
  offset: OffsetNumber,
): boolean {
  const verdict = judgeByHints(tupleInfomask(m, position), tupleXmin(m, position), tupleXmax(m, position));
  if (verdict === UNKNOWN && unknown === 'error') {
    throw unknownVisibility(name, block, offset, tupleXmin(m, position), tupleXmax(m, position));
  }
  return verdict === VISIBLE || (verdict === UNKNOWN && unknown === 'include');
}
