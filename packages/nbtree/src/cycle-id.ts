// The vacuum's cycle id: splits stamp their pages with it while a bulk delete is under way, which thereby knows the pages
// whose tuples may have moved to a block that it has passed. PostgreSQL: `_bt_start_vacuum`, `_bt_vacuum_cycleid`,
// nbtutils.c.
import { lowWord, StorageError } from '@blockwright/base';
import type { StoredRelation } from '@blockwright/smgr';
import type { BtreeIndex } from './btree.ts';

const MOST_RANDOM = 0x7fff;

/** Of relations that are vacuumed: whichever handle a tuple is inserted by, it is the same index. */
const running: WeakMap<StoredRelation, number> = new WeakMap();
let started = 0;

/** The cycle id of the bulk delete that is under way; 0 when there is none. */
export function vacuumCycleId(index: BtreeIndex): number {
  return running.get(index.relation.storage) ?? 0;
}

/**
 * Gives the index a cycle id, 1 to 32768: most likely not that of a bulk delete before, which pages may still have.
 * @throws StorageError 55006 when a bulk delete is under way.
 */
export function startVacuumCycle(index: BtreeIndex): number {
  const { relation } = index;
  if (running.has(relation.storage)) {
    throw new StorageError('55006', `index "${relation.name}" is being vacuumed already`, {
      hint: 'Finish the other vacuum first, or end it.',
    });
  }
  started++;
  const position = relation.log.wal?.insertedUpTo ?? 0;
  const cycle = (((lowWord(position) >>> 3) + started) & MOST_RANDOM) + 1;
  running.set(relation.storage, cycle);
  return cycle;
}

/** The bulk delete is over, one way or the other. */
export function endVacuumCycle(index: BtreeIndex): void {
  running.delete(index.relation.storage);
}
