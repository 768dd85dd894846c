// Errors of a fork, which always name relation, fork, segment, block and file.
import { type BlockNumber, FORK_NAMES, isStorageError, StorageError, type StorageErrorCode } from '@blockwright/base';
import type { Fork } from './fork.ts';

/** Where in the fork: `relation base/5/16384, fork main, segment 0, block 7`. */
export function whereIn(fork: Fork, segment?: number, block?: BlockNumber): string {
  const start = `relation ${fork.relation.name}, fork ${FORK_NAMES[fork.forkNumber]}`;
  const inSegment = segment === undefined ? start : `${start}, segment ${segment}`;
  return block === undefined ? inSegment : `${inSegment}, block ${block}`;
}

/** An error at a place of the fork; the path of the segment file goes into the message. */
export function forkError(
  code: StorageErrorCode,
  fork: Fork,
  segment: number,
  block: BlockNumber | undefined,
  what: string,
  options: { detail?: string; hint?: string } = {},
): StorageError {
  const path = fork.segmentPath(segment);
  return new StorageError(code, `${whereIn(fork, segment, block)}: ${what} (file "${path}")`, options);
}

/** An error of the file system, with its code, its hint and the place; anything else as it is. */
export function located(error: unknown, fork: Fork, segment: number, block?: BlockNumber): unknown {
  if (!isStorageError(error)) return error;
  const { code, message, detail, hint } = error;
  return new StorageError(code, `${whereIn(fork, segment, block)}: ${message}`, { detail, hint, cause: error });
}
