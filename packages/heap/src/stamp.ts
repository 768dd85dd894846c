// What is written into tuple headers: the transaction fields of new rows, and each tuple's own TID once it has one.
import { type BlockNumber, FIRST_NORMAL_XID, FROZEN_XID, type OffsetNumber } from '@blockwright/base';
import { linePointer, lpOffset, type PageMemory } from '@blockwright/page';
import {
  HEAP_XMAX_INVALID,
  HEAP_XMIN_COMMITTED,
  HEAP_XMIN_FROZEN,
  setTupleCtid,
  type TupleDescriptor,
  TupleEncoder,
} from '@blockwright/tuple';

/** An encoder of rows that every snapshot sees: xmin frozen, never deleted. */
export function frozenEncoder(descriptor: TupleDescriptor): TupleEncoder {
  const encoder = TupleEncoder.for(descriptor);
  encoder.setHeader({ xmin: FROZEN_XID, infomask: HEAP_XMIN_FROZEN | HEAP_XMAX_INVALID });
  return encoder;
}

/** An encoder of rows that are known committed by their hint bits alone, as a first scan leaves an ordinary load. */
export function hintedEncoder(descriptor: TupleDescriptor): TupleEncoder {
  const encoder = TupleEncoder.for(descriptor);
  encoder.setHeader({ xmin: FIRST_NORMAL_XID, infomask: HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID });
  return encoder;
}

/** Writes (block, offset) into t_ctid of the tuple at `offset`. PostgreSQL: `RelationPutHeapTuple`, hio.c. */
export function stampTid(m: PageMemory, base: number, block: BlockNumber, offset: OffsetNumber): void {
  setTupleCtid(m, base + lpOffset(linePointer(m, base, offset)), block, offset);
}
