// What is looked for: the first columns of an index tuple, and where before or after equal ones to arrive.
// PostgreSQL: `BTScanInsertData`, nbtree.h.
import type { BlockNumber, OffsetNumber } from '@blockwright/base';
import type { TupleMemory } from '@blockwright/tuple';

const NOTHING: TupleMemory = {
  u8: new Uint8Array(8),
  u16: new Uint16Array(4),
  u32: new Uint32Array(2),
};

/** A key to descend by; one is used again and again. */
export class SearchKey {
  /** An index tuple that has at least {@link natts} attributes, all of them key columns. */
  memory: TupleMemory = NOTHING;
  pos = 0;
  natts = 0;
  /** false: to the first key that is equal or greater; true: to the first that is greater. */
  nextkey = false;
  /** The scan runs backward: a pivot that equals the key so far as it goes is not less than it. */
  backward = false;
  /** The heap TID as last column; offset 0: none. */
  heapBlock: BlockNumber = 0;
  heapOffset: OffsetNumber = 0;
}
