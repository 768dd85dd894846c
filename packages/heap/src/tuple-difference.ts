// What an update's record leaves out: the bytes that the new version has in common with the old one on the same page.
// PostgreSQL: `log_heap_update`, heapam.c.
import type { Relation } from '@blockwright/access';
import type { PageMemory } from '@blockwright/page';
import { HEAP_TUPLE_HEADER_BYTES, tupleHoff } from '@blockwright/tuple';
import { putHeader } from './put-tuple.ts';
import { XLH_UPDATE_PREFIX_FROM_OLD, XLH_UPDATE_SUFFIX_FROM_OLD } from './record-format.ts';

/** Saying how many bytes are equal costs two: fewer equal ones than this are not worth it. */
const LEAST = 3;

/** The equal bytes at the start and the end of two tuples' data; used again. */
export class TupleDifference {
  prefix = 0;
  suffix = 0;

  get flags(): number {
    return (this.prefix !== 0 ? XLH_UPDATE_PREFIX_FROM_OLD : 0) | (this.suffix !== 0 ? XLH_UPDATE_SUFFIX_FROM_OLD : 0);
  }

  /** Compares the tuple of `oldLength` bytes at `oldPos` of `m` with the new one of `length` bytes at byte 0 of `tuple`. */
  find(m: PageMemory, oldPos: number, oldLength: number, tuple: PageMemory, length: number): void {
    const a = m.u8;
    const b = tuple.u8;
    const oldHoff = tupleHoff(m, oldPos);
    const hoff = tupleHoff(tuple, 0);
    const oldBytes = oldLength - oldHoff;
    const bytes = length - hoff;
    const most = oldBytes < bytes ? oldBytes : bytes;
    const oldStart = oldPos + oldHoff;
    let prefix = 0;
    while (prefix < most && a[oldStart + prefix] === b[hoff + prefix]) prefix++;
    if (prefix < LEAST) prefix = 0;
    const left = most - prefix;
    const oldEnd = oldPos + oldLength - 1;
    let suffix = 0;
    while (suffix < left && a[oldEnd - suffix] === b[length - 1 - suffix]) suffix++;
    if (suffix < LEAST) suffix = 0;
    this.prefix = prefix;
    this.suffix = suffix;
  }
}

/** Puts the new tuple without what `difference` says is equal. */
export function putChanged(log: Relation['log'], tuple: PageMemory, length: number, difference: TupleDifference): void {
  const { prefix, suffix } = difference;
  if (prefix !== 0) log.u16(prefix);
  if (suffix !== 0) log.u16(suffix);
  putHeader(log, tuple, 0);
  const hoff = tupleHoff(tuple, 0);
  if (prefix === 0) {
    log.bytes(tuple.u8, HEAP_TUPLE_HEADER_BYTES, length - HEAP_TUPLE_HEADER_BYTES - suffix);
    return;
  }
  log.bytes(tuple.u8, HEAP_TUPLE_HEADER_BYTES, hoff - HEAP_TUPLE_HEADER_BYTES);
  log.bytes(tuple.u8, hoff + prefix, length - hoff - prefix - suffix);
}
