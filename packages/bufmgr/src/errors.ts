// The pool's errors: each names fork and block, and says what to do.
import { type BlockNumber, formatLsn, type Lsn, lsnText, StorageError } from '@blockwright/base';
import type { BufferedFork } from './fork.ts';

/** PostgreSQL: `no unpinned buffers available`, freelist.c. */
export function noUnpinnedBuffers(f: BufferedFork, b: BlockNumber, buffers: number): StorageError {
  return new StorageError('53000', `no unpinned buffers available for block ${b} of ${f.name}`, {
    detail: `All ${buffers} buffers of the pool are pinned.`,
    hint: 'Give the pool more buffers, or close scans and cursors that are no longer used.',
  });
}

/** PostgreSQL: `invalid page in block %u of relation %s`, bufmgr.c. */
export function invalidPage(f: BufferedFork, b: BlockNumber, detail: string): StorageError {
  return new StorageError('XX001', `invalid page in block ${b} of ${f.name}`, {
    detail,
    hint: 'Restore the file from a backup; "blockwright check" lists every damaged page.',
  });
}

/** PostgreSQL: `xlog flush request %X/%X is not satisfied`, xlog.c. */
export function pageFromFuture(f: BufferedFork, b: BlockNumber, high: number, low: number, end: Lsn): StorageError {
  const lsn = formatLsn(high, low);
  return new StorageError('XX001', `block ${b} of ${f.name} has LSN ${lsn}, which the WAL has not reached`, {
    detail: `The WAL ends at ${lsnText(end)}. The page was not written.`,
    hint: 'The page is damaged, or comes from another data directory. Restore the file from a backup.',
  });
}

/** A page of the pool lies where the fork is about to grow. PostgreSQL: `unexpected data beyond EOF`, bufmgr.c. */
export function dataBeyondEnd(f: BufferedFork, b: BlockNumber): StorageError {
  return new StorageError('XX001', `unexpected data beyond the end of ${f.name}: block ${b} is in the buffer pool`, {
    hint: 'The file was made shorter without the pool being told.',
  });
}

/** PostgreSQL: `cannot extend file beyond %u blocks`, md.c. */
export function tooManyBlocks(f: BufferedFork, blocks: number, count: number): StorageError {
  return new StorageError('54000', `cannot extend ${f.name} by ${count} blocks`, {
    detail: `It has ${blocks} blocks; a fork can have 4294967295.`,
  });
}

/** One line of what is still pinned. */
export interface LivePin {
  readonly fork: string;
  readonly block: BlockNumber;
  readonly pins: number;
}

export function stillPinned(what: string, pins: readonly LivePin[]): StorageError {
  const shown = pins.slice(0, 10).map((p) => `block ${p.block} of ${p.fork} (${p.pins})`);
  const more = pins.length > shown.length ? ` and ${pins.length - shown.length} more` : '';
  return new StorageError(
    '55006',
    `${what} while ${pins.length === 1 ? 'a page is' : `${pins.length} pages are`} pinned`,
    {
      detail: `Pinned: ${shown.join(', ')}${more}.`,
      hint: 'Close scans and cursors first: each pin needs its unpin, also when an exception passes.',
    },
  );
}
