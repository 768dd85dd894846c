// Tuples that a VACUUM FULL of PostgreSQL before 9.0 moved, in clusters upgraded ever since: t_cid holds the xid that
// moved them, and decides.
import type { PageMemory } from '@blockwright/page';
import type { Transactions } from '@blockwright/transam';
import { HEAP_MOVED_OFF, HEAP_XMIN_COMMITTED, HEAP_XMIN_INVALID, tupleCommandId } from '@blockwright/tuple';
import type { HintSink } from './hints.ts';

/**
 * Whether a tuple with one of the HEAP_MOVED bits, and no xmin hint yet, counts as inserted. PostgreSQL:
 * `HeapTupleCleanMoved`, heapam_visibility.c.
 */
export function movedTupleIsThere(
  m: PageMemory,
  pos: number,
  infomask: number,
  transactions: Transactions,
  hints: HintSink,
): boolean {
  const moved = transactions.didCommit(tupleCommandId(m, pos));
  const isThere = (infomask & HEAP_MOVED_OFF) !== 0 ? !moved : moved;
  hints.set(m, pos, isThere ? HEAP_XMIN_COMMITTED : HEAP_XMIN_INVALID);
  return isThere;
}
