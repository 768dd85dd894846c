// The map pages of a heap's records.
import { REDO_MISSING, REDO_NEEDED, type RedoPages } from '@blockwright/access';
import { type BlockNumber, ForkNumber } from '@blockwright/base';
import { clearVisibilityBits } from '@blockwright/visibilitymap';
import type { WalRecord } from '@blockwright/wal';

/**
 * Clears `bits` of the heap blocks `first` and `second` (the same one, if there is but one) on the record's map pages,
 * which are one or two, or none when the bits were clear.
 */
export function clearMapBits(
  pages: RedoPages,
  record: WalRecord,
  first: BlockNumber,
  second: BlockNumber,
  bits: number,
): void {
  const { geometry } = pages.pool;
  for (let index = 0; index < record.blockCount; index++) {
    if (record.fork[index] !== ForkNumber.vm) continue;
    const found = pages.fetch(record, index);
    if (found === REDO_MISSING) continue;
    const { buffer, memory, base } = pages;
    if (found === REDO_NEEDED) {
      const mapBlock = record.block[index];
      if (geometry.vmBlockOf(first) === mapBlock) clearVisibilityBits(memory, base, geometry, first, bits);
      if (geometry.vmBlockOf(second) === mapBlock) clearVisibilityBits(memory, base, geometry, second, bits);
      pages.changed(buffer, record);
    }
    pages.release(buffer);
  }
}
