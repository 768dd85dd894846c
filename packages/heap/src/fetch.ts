// One row by its TID.
import type { Relation } from '@blockwright/access';
import { type BlockNumber, isStorageError, type OffsetNumber } from '@blockwright/base';
import {
  LP_NORMAL,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  type PageMemory,
  pageIsAllVisible,
} from '@blockwright/page';
import { type RowDecoder, tupleInfomask, tupleXmax, tupleXmin } from '@blockwright/tuple';
import type { UnknownPolicy } from './collect.ts';
import { corruptLinePointer, inTuple, unknownVisibility } from './errors.ts';
import { leadsToTuple, linePointerCount, linePointersEnd } from './line-pointers.ts';
import { judgeByHints, UNKNOWN, VISIBLE } from './visibility.ts';

/**
 * The row at (block, offset), decoded by `decoder`, or undefined when no visible tuple stands there: a block past the
 * end, an offset past the last line pointer, an unused, dead or redirected line pointer, a deleted tuple.
 * PostgreSQL: `heap_fetch`, heapam.c.
 * @throws StorageError XX001 for damage, 0A000 when the tuple's header does not say whether it is visible.
 */
export function heapFetch(
  relation: Relation,
  decoder: RowDecoder,
  block: BlockNumber,
  offset: OffsetNumber,
  unknown: UnknownPolicy = 'error',
): Record<string, unknown> | undefined {
  const { pool, main, geometry, name } = relation;
  if (block >= relation.blockCount()) return undefined;
  const id = pool.pin(main, block);
  try {
    const m = pool.memory(id);
    const base = pool.base(id);
    const lines = linePointerCount(m, base, geometry.size, name, block);
    if (offset < 1 || offset > lines) return undefined;
    const lp = linePointer(m, base, offset);
    const length = lpLength(lp);
    if (!leadsToTuple(lp, linePointersEnd(lines), geometry.size)) {
      if (lpFlags(lp) !== LP_NORMAL) return undefined;
      throw corruptLinePointer(name, block, offset, lpOffset(lp), length);
    }
    const position = base + lpOffset(lp);
    const verdict = pageIsAllVisible(m, base) ? VISIBLE : judge(m, position);
    if (verdict === UNKNOWN && unknown === 'error') {
      throw unknownVisibility(name, block, offset, tupleXmin(m, position), tupleXmax(m, position));
    }
    const taken = verdict === VISIBLE || (verdict === UNKNOWN && unknown === 'include');
    return taken ? decoder.object(m, position, length) : undefined;
  } catch (error) {
    throw isStorageError(error) && (error as { tupleIndex?: number }).tupleIndex !== undefined
      ? inTuple(error, name, block, offset)
      : error;
  } finally {
    pool.unpin(id);
  }
}

function judge(m: PageMemory, position: number): number {
  return judgeByHints(tupleInfomask(m, position), tupleXmin(m, position), tupleXmax(m, position));
}
