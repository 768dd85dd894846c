// How far the WAL reaches, found out before anything is changed: redo needs its start, and an end that is behind what is
// known to have been on the disk means that acknowledged commits are damaged.
import { type Lsn, lsnText, type Steps, StorageError } from '@blockwright/base';
import type { ControlFile } from '@blockwright/control';
import type { WalReader } from '@blockwright/wal';

export interface WalExtent {
  /** Good records from the redo point on. */
  readonly records: number;
  /** Behind the last good record. */
  readonly end: Lsn;
  /** Start of the first good record, at the redo point or behind the page header there, and of the last. */
  readonly first: Lsn;
  readonly last: Lsn;
  /** Why there is no more, in words. */
  readonly endReason: string;
}

/** Records between two steps: about a millisecond. */
const RECORDS_A_STEP = 1 << 12;

/**
 * Reads the WAL from the redo point to its end; every record's checksum is looked at.
 * @throws StorageError XX001 when the redo point cannot be read, or the WAL ends before what was durable.
 */
export function* walExtentSteps(reader: WalReader, directory: string, control: ControlFile): Steps<WalExtent> {
  const { redo, record, durable } = control.checkpoint;
  let count = 0;
  let first: Lsn = 0;
  let last: Lsn = 0;
  reader.seek(redo);
  while (reader.next()) {
    last = reader.record.lsn;
    if (count === 0) first = last;
    if ((++count & (RECORDS_A_STEP - 1)) === 0) {
      yield { phase: 'reading the WAL', done: reader.record.endLsn - redo, total: 0, unit: 'bytes' };
    }
  }
  const { endReason } = reader;
  if (count === 0) throw noRedoPoint(directory, redo, endReason);
  const end = reader.endLsn;
  if (last < record) throw damaged(directory, end, record, `the last checkpoint, at ${lsnText(record)}`, endReason);
  if (end < durable) throw damaged(directory, end, durable, 'the control file', endReason);
  const beyond = reader.durableBeyondEnd();
  if (end < beyond) throw damaged(directory, end, beyond, 'a later page of the WAL', endReason);
  return { records: count, end, first, last, endReason };
}

/** J4. */
function noRedoPoint(directory: string, redo: Lsn, endReason: string): StorageError {
  return new StorageError(
    'XX001',
    `the WAL of "${directory}" cannot be read where redo must start, at ${lsnText(redo)}`,
    {
      detail: `The WAL says: ${endReason}.`,
      hint: 'If a segment file was moved or removed, put it back and open again; if it is lost, restore the directory from a backup. Nothing has been changed.',
    },
  );
}

/** D5: more was durable than can be read. */
function damaged(directory: string, end: Lsn, durable: Lsn, witness: string, endReason: string): StorageError {
  return new StorageError('XX001', `acknowledged data is damaged: the WAL of "${directory}" ends at ${lsnText(end)}`, {
    detail: `It was durable up to ${lsnText(durable)} at least, as ${witness} says. It ends because: ${endReason}.`,
    hint: 'A crash does not explain this. If files of the WAL were moved or lie on another disk, put them back and open again; else restore the directory from a backup. Nothing has been changed.',
  });
}
