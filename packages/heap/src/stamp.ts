// What is written into tuple headers: the transaction fields of new rows, and each tuple's own TID once it has one.
import { type BlockNumber, FIRST_NORMAL_XID, FROZEN_XID, type OffsetNumber } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
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
export function frozenEncoder(descriptor: TupleDescriptor, geometry: BlockGeometry): TupleEncoder {
  const encoder = encoderFor(descriptor, geometry);
  encoder.setHeader({ xmin: FROZEN_XID, infomask: HEAP_XMIN_FROZEN | HEAP_XMAX_INVALID });
  return encoder;
}

/** An encoder of rows that are known committed by their hint bits alone, as a first scan leaves an ordinary load. */
export function hintedEncoder(descriptor: TupleDescriptor, geometry: BlockGeometry): TupleEncoder {
  const encoder = encoderFor(descriptor, geometry);
  encoder.setHeader({ xmin: FIRST_NORMAL_XID, infomask: HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID });
  return encoder;
}

/** Large rows are compressed inline as PostgreSQL compresses them; nothing is moved out of line. */
function encoderFor(descriptor: TupleDescriptor, geometry: BlockGeometry): TupleEncoder {
  return TupleEncoder.for(descriptor, { toastTarget: geometry.constants.TOAST_TUPLE_THRESHOLD });
}

/** Writes (block, offset) into t_ctid of the tuple at `offset`. PostgreSQL: `RelationPutHeapTuple`, hio.c. */
export function stampTid(m: PageMemory, base: number, block: BlockNumber, offset: OffsetNumber): void {
  setTupleCtid(m, base + lpOffset(linePointer(m, base, offset)), block, offset);
}
