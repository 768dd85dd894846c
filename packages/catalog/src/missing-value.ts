// The value that rows have for a column that was added after them with a default: pg_attribute keeps it, as an array of
// one element.
//
//   after the varlena's header     4           8         12        16
//   +----------+-----------+----------+--------+---------+---------+------------------------
//   |          | ndim = 1  |dataoffset|elemtype| dim = 1 | lbound  | the element
//   +----------+-----------+----------+--------+---------+---------+------------------------
//
//   dataoffset is 0 where the array has no nulls. The element is aligned as its type is, from the varlena's first byte,
//   with a header of 4 bytes if it is a varlena. PostgreSQL: array.h, `getmissingattr` (heaptuple.c).
import { StorageError } from '@blockwright/base';
import type { AttAlign } from '@blockwright/tuple';

/** Bytes of the header that the array's own varlena header is not part of here. */
const VARLENA_HEADER = 4;
const ARRAY_HEADER = 20;
const ALIGN: Readonly<Record<string, number>> = { c: 1, s: 2, i: 4, d: 8 };

/**
 * The data of the one element of `array`, an `attmissingval` without its varlena header; of a varlena, without its header.
 * @throws StorageError XX001 when it is no array of one element that is not null, of such a type.
 */
export function missingValue(array: Uint8Array, elementType: number, attlen: number, attalign: AttAlign): Uint8Array {
  const view = new DataView(array.buffer, array.byteOffset, array.length);
  const word = (at: number): number => view.getInt32(at, true);
  if (array.length < ARRAY_HEADER || word(0) !== 1 || word(4) !== 0 || word(12) !== 1) {
    throw damaged('it is no array of one element');
  }
  if (word(8) >>> 0 !== elementType) throw damaged(`its element is of type ${word(8) >>> 0}, not ${elementType}`);
  if (attlen > 0) return slice(array, aligned(ARRAY_HEADER, attalign), attlen);
  if (array.length > ARRAY_HEADER && (array[ARRAY_HEADER] & 1) !== 0) {
    return slice(array, ARRAY_HEADER + 1, (array[ARRAY_HEADER] >>> 1) - 1);
  }
  const at = aligned(ARRAY_HEADER, attalign);
  if (at + VARLENA_HEADER > array.length) throw damaged('its element has no header');
  if ((word(at) & 3) !== 0) throw damaged('its element is not plain');
  return slice(array, at + VARLENA_HEADER, (word(at) >>> 2) - VARLENA_HEADER);
}

function aligned(at: number, attalign: AttAlign): number {
  const mask = ALIGN[attalign] - 1;
  return ((at + VARLENA_HEADER + mask) & ~mask) - VARLENA_HEADER;
}

function slice(array: Uint8Array, at: number, size: number): Uint8Array {
  if (size < 0 || at + size > array.length) throw damaged(`its element claims ${size} bytes`);
  return array.slice(at, at + size);
}

function damaged(detail: string): StorageError {
  return new StorageError('XX001', 'pg_attribute is damaged: a missing value cannot be right', { detail });
}
