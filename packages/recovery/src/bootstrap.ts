// The first segment of the WAL of a new data directory, and its first checkpoint. PostgreSQL: `BootStrapXLOG`, xlog.c.
import type { ControlFile } from '@blockwright/control';
import { joinPath, type Vfs } from '@blockwright/vfs';
import { createWal, WalWriter, walRecordStart } from '@blockwright/wal';
import { WAL_DIRECTORY } from './start-point.ts';
import { type CheckpointData, checkpointRecordBytes, putCheckpoint, XLOG_CHECKPOINT_SHUTDOWN } from './xlog-records.ts';

/**
 * Makes the WAL of a new data directory, whose files are synced already: a directory that was shut down.
 * @param control what initdb has decided.
 * @returns the control file to be written, with that checkpoint in it: the last thing that initdb writes.
 * @throws StorageError when the disk refuses.
 */
export function bootstrapWal(vfs: Vfs, directory: string, control: ControlFile): ControlFile {
  const { systemIdentifier, walIncarnation: incarnation, walSegmentSize: segmentSize } = control;
  const walDirectory = joinPath(directory, WAL_DIRECTORY);
  const start = createWal({ vfs, directory: walDirectory, segmentSize });
  const writer = { vfs, directory: walDirectory, segmentSize, systemIdentifier, incarnation, start, previous: 0 };
  const wal = new WalWriter(writer);
  try {
    const redo = walRecordStart(start, segmentSize);
    const { nextXid, nextXidEpoch, nextOid, oldestXid, createdMs: timeMs } = control;
    const pendingCreates: CheckpointData['pendingCreates'] = [];
    const data = { redo, incarnation, nextXid, nextXidEpoch, nextOid, oldestXid, timeMs, pendingCreates };
    wal.reserve(checkpointRecordBytes(data));
    putCheckpoint(wal, XLOG_CHECKPOINT_SHUTDOWN, data);
    const end = wal.insert(0);
    wal.flush(end);
    vfs.syncDirectory(directory);
    return { ...control, checkpoint: { record: wal.lastStart, redo, durable: end, incarnation, timeMs } };
  } finally {
    wal.close();
  }
}
