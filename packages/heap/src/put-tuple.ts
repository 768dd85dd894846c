// A tuple into its place on a page, and into a record. PostgreSQL: `RelationPutHeapTuple`, hio.c; `log_heap_update`.
import type { Relation } from '@blockwright/access';
import { type BlockNumber, type OffsetNumber, StorageError } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import {
  LP_UNUSED,
  linePointer,
  lpFlags,
  PAI_IS_HEAP,
  type PageMemory,
  pageHasFreeLines,
  pageMaxOffset,
  pageReserveItem,
  pageUpper,
} from '@blockwright/page';
import { HEAP_TUPLE_HEADER_BYTES, setTupleCtid, tupleHoff, tupleInfomask, tupleInfomask2 } from '@blockwright/tuple';

/** From so many words on, `set` is faster than a loop, in spite of the view that it needs. */
const LONG_WORDS = 128;

/**
 * Copies the tuple of `length` bytes at byte `start` of `tuple`, a multiple of 8, to a page with room for it.
 * @returns its offset number
 */
export function putTuple(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  tuple: PageMemory,
  start: number,
  length: number,
  block: BlockNumber,
): OffsetNumber {
  const offset = pageReserveItem(m, base, g, length, 0, PAI_IS_HEAP);
  if (offset === 0) throw new StorageError('XX000', `block ${block} has no room for ${length} bytes, as it seemed to`);
  const pos = base + pageUpper(m, base);
  const words = (length + 3) >>> 2;
  const from = tuple.u32;
  const to = m.u32;
  const at = pos >>> 2;
  const first = start >>> 2;
  if (words < LONG_WORDS) for (let i = 0; i < words; i++) to[at + i] = from[first + i];
  else to.set(from.subarray(first, first + words), at);
  setTupleCtid(m, pos, block, offset);
  return offset;
}

/** Whether the next tuple will be the only thing on the page: then redo can make the page anew. */
export function startsPage(m: PageMemory, base: number): boolean {
  const last = pageMaxOffset(m, base);
  return last === 0 || (last === 1 && pageHasFreeLines(m, base) && lpFlags(linePointer(m, base, 1)) === LP_UNUSED);
}

/** Puts what redo needs of a tuple's header. PostgreSQL: `xl_heap_header`. */
export function putHeader(log: Relation['log'], m: PageMemory, pos: number): void {
  log.u16(tupleInfomask2(m, pos));
  log.u16(tupleInfomask(m, pos));
  log.u8(tupleHoff(m, pos));
}

/** Puts header and all that follows it, the null bitmap first. */
export function putWhole(log: Relation['log'], tuple: PageMemory, length: number): void {
  putHeader(log, tuple, 0);
  log.bytes(tuple.u8, HEAP_TUPLE_HEADER_BYTES, length - HEAP_TUPLE_HEADER_BYTES);
}
