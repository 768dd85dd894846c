// Before a page's items are moved, all of them are checked: what is copied by a tuple's own size must not reach beyond it.
import type { BufferId } from '@blockwright/base';
import { itemIsInBounds, linePointer, lpLength, pageMaxOffset, pageSpecial, pageUpper } from '@blockwright/page';
import { indexTupleSize } from '@blockwright/tuple';
import type { BtreeIndex } from './btree.ts';
import { corrupted } from './errors.ts';
import { wildLinePointer } from './search.ts';
import { isPosting, postingCount, postingOffset } from './tuples.ts';

const LEAST_TUPLE_BYTES = 8;
const TID_BYTES = 6;

/** @throws StorageError XX002 unless every line pointer of the page leads to an item that is a tuple of its length. */
export function checkItems(index: BtreeIndex, buffer: BufferId): void {
  const { pool, name } = index;
  const m = pool.memory(buffer);
  const base = pool.base(buffer);
  const last = pageMaxOffset(m, base);
  const upper = pageUpper(m, base);
  const special = pageSpecial(m, base);
  for (let o = 1; o <= last; o++) {
    const lp = linePointer(m, base, o);
    const length = lpLength(lp);
    if (length < LEAST_TUPLE_BYTES || !itemIsInBounds(lp, upper, special)) {
      throw wildLinePointer(index, lp, o, pool.block(buffer));
    }
    const pos = base + (lp & 0x7fff);
    const size = indexTupleSize(m, pos);
    let holds = size >= LEAST_TUPLE_BYTES && size <= length && (size & 7) === 0;
    if (holds && isPosting(m, pos)) {
      const start = postingOffset(m, pos);
      const count = postingCount(m, pos);
      holds = count > 0 && start >= LEAST_TUPLE_BYTES && (start & 7) === 0 && start + count * TID_BYTES <= size;
    }
    if (!holds) throw corrupted(name, pool.block(buffer), `item ${o}, ${length} bytes long, says that it has ${size}`);
  }
}
