// The order of a search key and an item. PostgreSQL: `_bt_compare`, nbtsearch.c.
import type { OffsetNumber } from '@blockwright/base';
import { itemPosition, type PageMemory } from '@blockwright/page';
import type { BtreeIndex } from './btree.ts';
import { btIsLeaf, firstDataKey } from './page.ts';
import type { SearchKey } from './search-key.ts';
import { compareTids, heapTidAt, isPivot, isPosting, maxHeapTidAt, tidBlock, tidOffset, tupleNatts } from './tuples.ts';

/**
 * Negative, 0 or positive as the key is less than item `offset`, equal, or greater. The first item above the leaves is
 * less than every key. Attributes that a pivot has lost are less than every value; a key without them equals it only
 * when it runs backward. A key with a TID inside a posting list's range equals it.
 */
export function compareKey(
  index: BtreeIndex,
  key: SearchKey,
  m: PageMemory,
  base: number,
  offset: OffsetNumber,
): number {
  const { size } = index.geometry;
  if (!btIsLeaf(m, base, size) && offset === firstDataKey(m, base, size)) return 1;
  return compareToTuple(index, key, m, itemPosition(m, base, offset));
}

/** As {@link compareKey}, with the tuple at `pos`, which is not the first one above the leaves. */
export function compareToTuple(index: BtreeIndex, key: SearchKey, m: PageMemory, pos: number): number {
  const { format } = index;
  const { natts } = key;
  const has = isPivot(m, pos) ? tupleNatts(m, pos, format.columnCount) : natts;
  const order = format.compare(key.memory, key.pos, m, pos, has < natts ? has : natts);
  if (order !== 0) return order;
  if (natts > has) return 1;
  const tid = heapTidAt(m, pos);
  if (key.heapOffset === 0) {
    // A pivot that has lost its TID is less than whatever has these attributes.
    return !key.backward && tid < 0 && natts === has ? 1 : 0;
  }
  if (tid < 0) return 1;
  const byTid = compareTids(key.heapBlock, key.heapOffset, tidBlock(m, tid), tidOffset(m, tid));
  if (byTid <= 0 || !isPosting(m, pos)) return byTid;
  const last = maxHeapTidAt(m, pos);
  return compareTids(key.heapBlock, key.heapOffset, tidBlock(m, last), tidOffset(m, last)) > 0 ? 1 : 0;
}
