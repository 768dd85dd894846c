// The heap's errors: each names relation, block and offset.
import { type BlockNumber, type OffsetNumber, StorageError } from '@blockwright/base';

const CORRUPT_HINT = 'Run "blockwright check" on the file to see all that is damaged, and restore it from a copy.';

/** A line pointer that leads out of its page, or nowhere that a tuple can be. */
export function corruptLinePointer(
  name: string,
  block: BlockNumber,
  offset: OffsetNumber,
  lpOffset: number,
  lpLength: number,
): StorageError {
  return new StorageError(
    'XX001',
    `relation "${name}", block ${block}, offset ${offset}: the line pointer is damaged`,
    {
      detail: `It says that the tuple starts at byte ${lpOffset} and is ${lpLength} bytes long.`,
      hint: CORRUPT_HINT,
    },
  );
}

/** A page header whose line pointer array leads out of the page. */
export function corruptPageHeader(name: string, block: BlockNumber, lower: number): StorageError {
  return new StorageError('XX001', `relation "${name}", block ${block}: the page header is damaged`, {
    detail: `It says that the line pointers end at byte ${lower}.`,
    hint: CORRUPT_HINT,
  });
}

/** A page with a special area, as indexes, sequences and maps of foreign make have one: it holds no rows. */
export function notPlainHeapPage(name: string, block: BlockNumber, special: number, size: number): StorageError {
  return new StorageError('XX001', `block ${block} of relation "${name}": not a plain heap page`, {
    detail: `Its special area begins at byte ${special}; a heap page has none, and says ${size}, its size.`,
    hint: 'Check that the file is a table of this block size, and no index, sequence or map; "blockwright check" says more.',
  });
}

/** A page with more tuples than a heap page can hold. */
export function tooManyTuples(name: string, block: BlockNumber, most: number): StorageError {
  return new StorageError(
    'XX001',
    `relation "${name}", block ${block}: more than ${most} tuples, the most that a heap page holds`,
    {
      hint: CORRUPT_HINT,
    },
  );
}

/** A tuple whose visibility only the commit log knows. */
export function unknownVisibility(
  name: string,
  block: BlockNumber,
  offset: OffsetNumber,
  xmin: number,
  xmax: number,
): StorageError {
  return new StorageError(
    '0A000',
    `relation "${name}", block ${block}, offset ${offset}: the tuple's header does not say whether it is visible`,
    {
      detail: `xmin ${xmin}, xmax ${xmax}; there is no commit log to ask.`,
      hint: 'Scan with unknown: "skip" or "include" to decide for such rows, and see how many there are in the scan\'s statistics.',
    },
  );
}

/** A row that another open transaction has written, or locked in a way that excludes what is wanted. */
export function rowIsLocked(
  name: string,
  block: BlockNumber,
  offset: OffsetNumber,
  wanted: string,
  held: string,
  xid: number,
): StorageError {
  return new StorageError(
    '55P03',
    `relation "${name}", block ${block}, offset ${offset}: transaction ${xid} holds the row`,
    {
      detail: `It holds it for ${held}, which excludes ${wanted}, until it commits or rolls back. Nothing waits.`,
      hint: 'Try again when that transaction has ended.',
    },
  );
}

/** A row that was updated or deleted after a repeatable-read transaction took its snapshot. */
export function changedSinceSnapshot(
  name: string,
  block: BlockNumber,
  offset: OffsetNumber,
  xid: number,
  isDeletion: boolean,
): StorageError {
  return new StorageError(
    '40001',
    `relation "${name}", block ${block}, offset ${offset}: could not serialize access due to concurrent ${isDeletion ? 'delete' : 'update'}`,
    {
      detail: `Transaction ${xid} changed the row after the snapshot of this repeatable read transaction was taken.`,
      hint: 'Roll back and run the whole transaction again.',
    },
  );
}

/** A row that no page of this block size can hold. */
export function rowTooBig(name: string, size: number, limit: number): StorageError {
  return new StorageError(
    '54000',
    `relation "${name}": the row is too big: ${size} bytes, the largest is ${limit} at this block size`,
    {
      hint: 'Initialise the data directory with a larger --block-size, or shorten the row.',
    },
  );
}

/** A table that had another length than its bulk load left it with. */
export function grownBySomebodyElse(name: string, expected: BlockNumber, first: BlockNumber): StorageError {
  return new StorageError(
    '55006',
    `relation "${name}": somebody else changed the table's length while it was bulk-loaded`,
    {
      detail: `The load expected its next block to be ${expected}; it was ${first}.`,
      hint: 'Load a table before anything else writes to it, and load it again.',
    },
  );
}

/** Adds relation, block and offset to an error that a decoder threw for tuple `index` of a page. */
export function inTuple(error: StorageError, name: string, block: BlockNumber, offset: OffsetNumber): StorageError {
  return new StorageError(error.code, `relation "${name}", block ${block}, offset ${offset}: ${error.message}`, {
    detail: error.detail,
    hint: error.hint ?? CORRUPT_HINT,
    cause: error,
  });
}
