// Insertion of one tuple into a B-tree. PostgreSQL: `_bt_doinsert`, nbtinsert.c.
import type { StorageError } from '@blockwright/base';
import type { Transaction } from '@blockwright/transam';
import { indexTupleBlock, indexTupleOffset, type TupleMemory } from '@blockwright/tuple';
import type { BtreeIndex } from './btree.ts';
import { itemTooLong } from './build-errors.ts';
import { findLeaf, findLocation, InsertState } from './find-location.ts';
import { insertOnLeaf } from './insert-page.ts';
import { checkUnique } from './unique.ts';

const state: InsertState = new InsertState();

/**
 * Inserts the index tuple at `pos`, `length` bytes with the TID of its row. No pin stays.
 * @param indexUnchanged the row is a new version of one whose key was the same: old versions are near, and may go
 * @throws StorageError 23505 when the index is unique and a row has the key, 55P03 when an open transaction decides whether
 * one has, 54000 when the tuple is longer than {@link BtreeIndex.maxItemSize}: nothing has changed then. 53100 when the
 * disk is full: the index is sound, and the tuple may be in it. XX002 when the index is damaged.
 */
export function btreeInsert(
  index: BtreeIndex,
  tx: Transaction,
  m: TupleMemory,
  pos: number,
  length: number,
  indexUnchanged: boolean,
): void {
  const bytes = (length + 7) & ~7;
  if (bytes > index.maxItemSize) throw tooLong(index, m, pos, bytes);
  const { format } = index;
  const { key } = state;
  // Rows without a value differ from all others, so they are not looked for.
  const checks = index.isUnique && (index.nullsNotDistinct || !format.hasNull(m, pos, format.keyCount));
  state.index = index;
  state.tx = tx;
  state.m = m;
  state.pos = pos;
  state.length = bytes;
  key.memory = m;
  key.pos = pos;
  key.natts = format.keyCount;
  key.heapBlock = indexTupleBlock(m, pos);
  key.heapOffset = checks ? 0 : indexTupleOffset(m, pos);
  try {
    findLeaf(state);
    if (checks) {
      checkUnique(state);
      key.heapOffset = indexTupleOffset(m, pos);
    }
    const offset = findLocation(state, checks, indexUnchanged);
    insertOnLeaf(index, state.buffer, state.stack, state.stack.depth, m, pos, bytes, offset, state.place);
  } finally {
    state.release();
  }
}

function tooLong(index: BtreeIndex, m: TupleMemory, pos: number, bytes: number): StorageError {
  const { relation, table, maxItemSize } = index;
  const block = indexTupleBlock(m, pos);
  return itemTooLong(relation.name, table?.name ?? 'the table', bytes, maxItemSize, block, indexTupleOffset(m, pos));
}
