// What redo meets that cannot be: a record that no page like this one can have been followed by, or that is none.
import { FORK_NAMES, ForkNumber, isStorageError, lsnText, StorageError } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { type PageMemory, pageBoundsAreSane } from '@blockwright/page';
import type { WalRecord } from '@blockwright/wal';

/** A record that the page, as it is, cannot have been followed by. PostgreSQL: `elog(PANIC, …)` of a resource manager. */
export function cannotRedo(record: WalRecord, index: number, why: string): StorageError {
  const file = `${record.tablespace[index]}/${record.database[index]}/${record.relfilenode[index]}`;
  return new StorageError(
    'XX001',
    `the WAL record at ${lsnText(record.lsn)} cannot be replayed: block ${record.block[index]} of relation ${file}: ${why}`,
    {
      detail: 'The record is whole, by its checksum; the page is not the one that it was written for.',
      hint: 'Restore the data directory from a copy. Pages that were written without full-page images can be torn by a crash.',
    },
  );
}

/** A record whose checksum is right, and that no resource manager has written. */
export function malformed(record: WalRecord, why: string): StorageError {
  return new StorageError('XX001', `the WAL record at ${lsnText(record.lsn)} cannot be replayed: ${why}`, {
    detail: 'The record is whole, by its checksum; but it is not as records of its kind are.',
    hint: 'Restore the data directory from a copy, and report this: the WAL was written so.',
  });
}

/** Index of the block reference with that id. @throws StorageError XX001 when there is none, or it is of another fork. */
export function redoBlock(record: WalRecord, id: number, fork: ForkNumber = ForkNumber.main): number {
  const index = record.indexOf(id);
  if (index < 0) throw malformed(record, `it has no block reference ${id}`);
  if (record.fork[index] !== fork) {
    const is = FORK_NAMES[record.fork[index] as ForkNumber];
    throw malformed(record, `its block reference ${id} is of fork ${is}, not ${FORK_NAMES[fork]}`);
  }
  return index;
}

/** As {@link redoBlock}, or -1 when the record has no such block reference. */
export function redoBlockIfAny(record: WalRecord, id: number): number {
  return record.indexOf(id) < 0 ? -1 : redoBlock(record, id);
}

/** @throws StorageError XX001 unless the record has so many bytes of main data at least. */
export function needData(record: WalRecord, bytes: number): void {
  if (record.dataLength < bytes) {
    throw malformed(record, `it has ${record.dataLength} bytes of data, where ${bytes} are needed`);
  }
}

/** @throws StorageError XX001 unless the block reference has so many bytes of data at least. */
export function needBlockData(record: WalRecord, index: number, bytes: number): void {
  if (record.blockDataLength[index] >= bytes) return;
  const has = record.blockDataLength[index];
  throw cannotRedo(record, index, `the record has ${has} bytes of data for it, where ${bytes} are needed`);
}

/** What a page function refused, as the record's refusal. The caller throws the result. */
export function refusedBy(error: unknown, record: WalRecord, index: number): unknown {
  return isStorageError(error) ? cannotRedo(record, index, error.message) : error;
}

/** @throws StorageError XX001 when the page's bounds cannot be believed: an image can have brought them. */
export function needSaneBounds(m: PageMemory, base: number, g: BlockGeometry, record: WalRecord, index: number): void {
  if (!pageBoundsAreSane(m, base, g)) throw cannotRedo(record, index, 'the bounds in its page header are damaged');
}
