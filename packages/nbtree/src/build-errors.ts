// What can be wrong with a build, in words.
import { type BlockNumber, type OffsetNumber, StorageError } from '@blockwright/base';

export function notEmpty(name: string): StorageError {
  return new StorageError('55000', `index "${name}" is not empty: only a new index can be built`);
}

export function grownBySomebodyElse(name: string, expected: BlockNumber, got: BlockNumber): StorageError {
  return new StorageError(
    'XX000',
    `index "${name}" has grown while it was built: its next block is ${got} instead of ${expected}`,
  );
}

export function noRoom(name: string, block: BlockNumber): StorageError {
  return new StorageError('XX000', `index "${name}", block ${block}: a page of one item is full`);
}

/** @param key the columns and values, as `(a, b)=(1, x)` */
export function notUnique(name: string, key: string): StorageError {
  return new StorageError('23505', `could not create unique index "${name}"`, { detail: `Key ${key} is duplicated.` });
}

/** @param length bytes of the entry of the row at (`block`, `offset`) of the table */
export function itemTooLong(
  name: string,
  table: string,
  length: number,
  most: number,
  block: BlockNumber,
  offset: OffsetNumber,
): StorageError {
  return new StorageError(
    '54000',
    `an entry of ${length} bytes is too long for index "${name}": the limit is ${most}`,
    {
      detail: `It is that of the row at (${block},${offset}) of "${table}".`,
      hint: 'A page must have room for three entries. Index less of the value, or use larger blocks.',
    },
  );
}
