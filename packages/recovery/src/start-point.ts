// Where redo starts: the record of the last checkpoint, as the control file says where it is.
import { type Lsn, lsnText, StorageError } from '@blockwright/base';
import type { ControlFile } from '@blockwright/control';
import { joinPath, type Vfs } from '@blockwright/vfs';
import { WalReader } from '@blockwright/wal';
import { type CheckpointData, checkpointOf, isCheckpoint } from './xlog-records.ts';

/** The directory of the WAL below the data directory. */
export const WAL_DIRECTORY = 'wal';

/** The last checkpoint, read. */
export interface StartPoint {
  readonly data: CheckpointData;
  /** Where the record ends. */
  readonly recordEnd: Lsn;
}

/** A reader of the incarnation that the last checkpoint was written in. */
export function openReader(vfs: Vfs, directory: string, control: ControlFile): WalReader {
  return new WalReader({
    vfs,
    directory: joinPath(directory, WAL_DIRECTORY),
    segmentSize: control.walSegmentSize,
    systemIdentifier: control.systemIdentifier,
    incarnation: control.checkpoint.incarnation,
  });
}

/**
 * Reads the record of the last checkpoint, and holds it against the control file.
 * @throws StorageError XX001 when there is none, or it is another one: nothing has been written then.
 */
export function readStartPoint(reader: WalReader, directory: string, control: ControlFile): StartPoint {
  const { record: at, redo, incarnation } = control.checkpoint;
  if (at === 0) {
    throw new StorageError('XX001', `the control file of "${directory}" knows of no checkpoint`, {
      hint: 'The directory was never whole. Make a new one with "blockwright initdb".',
    });
  }
  reader.seek(at);
  if (!reader.next()) throw unreadable(directory, control, `The WAL says: ${reader.endReason}.`);
  const { record } = reader;
  const data = record.lsn === at && isCheckpoint(record) ? checkpointOf(record) : undefined;
  if (data === undefined) throw unreadable(directory, control, 'The record there is not that of a checkpoint.');
  if (data.redo !== redo || data.incarnation !== incarnation) {
    const says = `redo from ${lsnText(data.redo)} in incarnation ${data.incarnation}`;
    const expected = `from ${lsnText(redo)} in incarnation ${incarnation}`;
    throw unreadable(directory, control, `The checkpoint there says ${says}, the control file ${expected}.`);
  }
  return { data, recordEnd: record.endLsn };
}

/** J9: what can be done depends on why, which only a person can know. */
function unreadable(directory: string, control: ControlFile, detail: string): StorageError {
  const { record } = control.checkpoint;
  return new StorageError(
    'XX001',
    `the checkpoint record at ${lsnText(record)} of "${directory}" cannot be read, so it is not known where redo starts`,
    {
      detail,
      hint: `If files of "${joinPath(directory, WAL_DIRECTORY)}" were moved or lie on another disk, put them back and open again. If they are lost, restore the whole directory from a backup: opening it without them would lose committed rows. Nothing has been changed.`,
    },
  );
}
