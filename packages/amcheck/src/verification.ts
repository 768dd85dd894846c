// How a column's values are verified, by their type. Values that cannot be wrong (integers, floats, uuid, …) are stepped
// over.
import type { ColumnType } from '@blockwright/tuple';

export const ANY_BYTES = 0;
export const BOOL = 1;
export const NUMERIC = 2;
export const TEXT = 3;

/** @param utf8 whether text is known to be UTF-8 */
export function verificationOf(type: ColumnType, isDropped: boolean, utf8: boolean): number {
  if (isDropped) return ANY_BYTES;
  if (type.name === 'bool') return BOOL;
  if (type.name === 'numeric') return NUMERIC;
  return utf8 && ['text', 'varchar', 'char', 'name'].includes(type.name) ? TEXT : ANY_BYTES;
}
