// What redo meets on a page that cannot be: the record fits no page like this one.
import { lsnText, StorageError } from '@blockwright/base';
import type { WalRecord } from '@blockwright/wal';

/** A record that the page, as it is, cannot have been followed by. PostgreSQL: `elog(PANIC, "invalid lp")`. */
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
