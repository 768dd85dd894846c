// One row by its TID.
import type { Relation } from '@blockwright/access';
import { type BlockNumber, isStorageError, type OffsetNumber } from '@blockwright/base';
import { LP_NORMAL, linePointer, lpFlags, lpLength, lpOffset } from '@blockwright/page';
import type { RowDecoder } from '@blockwright/tuple';
import { linePointerCount, type UnknownPolicy } from './collect.ts';
import { corruptLinePointer, inTuple, unknownVisibility } from './errors.ts';
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
    if (offset < 1 || offset > linePointerCount(m, base, geometry.size, name, block)) return undefined;
    const lp = linePointer(m, base, offset);
    if (lpFlags(lp) !== LP_NORMAL) return undefined;
    const start = lpOffset(lp);
    const length = lpLength(lp);
    if (length < 23 || start + length > geometry.size || (start & 7) !== 0) {
      throw corruptLinePointer(name, block, offset, start, length);
    }
    const position = base + start;
    const xmin = m.u32[position >> 2];
    const xmax = m.u32[(position + 4) >> 2];
    const verdict = judgeByHints(m.u16[(position + 20) >> 1] as number, xmin, xmax);
    if (verdict === UNKNOWN && unknown === 'error') throw unknownVisibility(name, block, offset, xmin, xmax);
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
