// What can be wrong with a build, in words.
import { type BlockNumber, StorageError } from '@blockwright/base';

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
