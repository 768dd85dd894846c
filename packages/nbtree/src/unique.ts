// Whether a key is taken: the row of every entry with the key is looked at, by what is committed or open now.
// PostgreSQL: `_bt_check_unique`, nbtinsert.c.
import { TABLE_DEAD, TABLE_IN_PROGRESS, TABLE_LIVE } from '@blockwright/access';
import { type BufferId, type OffsetNumber, StorageError, type Xid } from '@blockwright/base';
import {
  itemPosition,
  LP_DEAD,
  linePointer,
  lpFlags,
  markItemDead,
  type PageMemory,
  pageMaxOffset,
} from '@blockwright/page';
import type { BtreeIndex } from './btree.ts';
import { compareKey } from './compare.ts';
import { blockAtWord, tidCountOf, tidWordAfter, tidWordOf } from './deletion-list.ts';
import { endReached, findOffset, type InsertState } from './find-location.ts';
import { BTP_HAS_GARBAGE, btFlags, btIgnore, btIsRightmost, btNext, firstDataKey, setBtFlags } from './page.ts';

/**
 * Looks for rows with the key of the state's tuple, whose TID is not in the state's key, from the state's page on. Entries
 * whose rows are dead to everybody are marked so. The pin of the state's page stays.
 * @throws StorageError 23505 when a row has the key; 55P03 when an open transaction decides whether one has.
 */
export function checkUnique(state: InsertState): void {
  const { index, buffer } = state;
  const { pool, geometry } = index;
  let offset = findOffset(state);
  let id = buffer;
  try {
    for (;;) {
      const m = pool.memory(id);
      const base = pool.base(id);
      // Most keys are new, and the next one on the page says so.
      const end = id === buffer && state.boundsValid ? state.strictHigh : 0;
      if (checkPage(state, id, m, base, offset, end)) return;
      if (btIsRightmost(m, base, geometry.size) || compareKey(index, state.key, m, base, 1) !== 0) return;
      const left = id;
      id = pinNext(index, left);
      if (left !== buffer) pool.unpin(left);
      offset = firstDataKey(pool.memory(id), pool.base(id), geometry.size);
    }
  } finally {
    if (id !== buffer) pool.unpin(id);
  }
}

/** @returns whether an item of another key was met; none from `end` on is of the key, if that is not 0 */
function checkPage(
  state: InsertState,
  id: BufferId,
  m: PageMemory,
  base: number,
  from: OffsetNumber,
  end: OffsetNumber,
): boolean {
  const { index, key } = state;
  const last = pageMaxOffset(m, base);
  for (let o = from; o <= last; o++) {
    if (o === end) return true;
    // Dead items are passed over before their keys are looked at: there may be many.
    if (lpFlags(linePointer(m, base, o)) === LP_DEAD) continue;
    if (compareKey(index, key, m, base, o) !== 0) return true;
    if (checkItem(state, m, itemPosition(m, base, o))) kill(index, id, m, base, o);
  }
  return false;
}

/** @returns whether all rows of the item are dead to everybody */
function checkItem(state: InsertState, m: PageMemory, pos: number): boolean {
  const { index, tx } = state;
  const { table } = index;
  if (table === undefined) throw duplicate(state);
  const count = tidCountOf(m, pos);
  const first = tidWordOf(m, pos);
  let allDead = true;
  for (let i = 0; i < count; i++) {
    const word = tidWordAfter(first, i);
    const fate = table.uniqueCheck(tx, blockAtWord(m, word), m.u16[word + 2]);
    if (fate === TABLE_LIVE) throw duplicate(state);
    if (fate === TABLE_IN_PROGRESS) throw undecided(state, table.conflictXid);
    if (fate !== TABLE_DEAD) allDead = false;
  }
  return allDead;
}

/** A hint: whoever needs room takes the item away. */
function kill(index: BtreeIndex, id: BufferId, m: PageMemory, base: number, o: OffsetNumber): void {
  const { relation, geometry } = index;
  const { size } = geometry;
  if (relation.log.recovering) return;
  markItemDead(m, base, o);
  setBtFlags(m, base, size, btFlags(m, base, size) | BTP_HAS_GARBAGE);
  relation.log.hint(relation, relation.main, id);
}

/** The next page that is in use, pinned. */
function pinNext(index: BtreeIndex, from: BufferId): BufferId {
  const { pool, main, geometry } = index;
  const { size } = geometry;
  let at = from;
  for (;;) {
    const m = pool.memory(at);
    const base = pool.base(at);
    const next = btIsRightmost(m, base, size) ? -1 : pool.pin(main, btNext(m, base, size));
    if (at !== from) pool.unpin(at);
    if (next < 0) throw endReached(index);
    if (!btIgnore(pool.memory(next), pool.base(next), size)) return next;
    at = next;
  }
}

function keyText(state: InsertState): string {
  const { format } = state.index;
  return format.toText(state.m, state.pos, format.keyCount);
}

function duplicate(state: InsertState): StorageError {
  const name = state.index.relation.name;
  return new StorageError('23505', `duplicate key value violates unique constraint "${name}"`, {
    detail: `Key ${keyText(state)} already exists.`,
  });
}

function undecided(state: InsertState, xid: Xid): StorageError {
  const name = state.index.relation.name;
  return new StorageError(
    '55P03',
    `could not insert into unique index "${name}": transaction ${xid} has the key, and is open`,
    {
      detail: `Key ${keyText(state)} was inserted or deleted by transaction ${xid}.`,
      hint: 'Try again when that transaction has ended.',
    },
  );
}
