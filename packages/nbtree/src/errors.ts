// What is wrong with an index, in words: each names it, the block, and what to do.
import { type BlockNumber, StorageError } from '@blockwright/base';

const REBUILD = 'Rebuild the index: drop it and create it again. "blockwright check" tells all that is wrong with it.';

/** Damage that a search met. */
export function corrupted(name: string, block: BlockNumber, what: string, detail?: string): StorageError {
  return new StorageError('XX002', `index "${name}", block ${block}: ${what}`, { detail, hint: REBUILD });
}

export function notAnIndex(name: string, magic: number): StorageError {
  return new StorageError('XX002', `"${name}" is not a B-tree index`, {
    detail: `Block 0 has magic number 0x${magic.toString(16)} instead of 0x53162.`,
    hint: REBUILD,
  });
}

export function otherVersion(name: string, version: number): StorageError {
  const isOld = version === 2 || version === 3;
  return new StorageError(isOld ? '0A000' : 'XX002', `index "${name}" has version ${version} instead of 4`, {
    hint: isOld ? 'PostgreSQL 11 and older wrote it: REINDEX it there with a newer one.' : REBUILD,
  });
}
