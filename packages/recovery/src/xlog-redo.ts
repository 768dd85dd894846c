// Redo of the records about the WAL itself. PostgreSQL: `xlog_redo`, xlog.c.
import { REDO_RESTORED, type RedoPages, XLOG_FPI, XLOG_FPI_FOR_HINT } from '@blockwright/access';
import { lsnText, type Oid, StorageError, type Xid } from '@blockwright/base';
import type { ResourceManager, WalRecord } from '@blockwright/wal';
import type { NextXid } from './next-xid.ts';
import {
  checkpointOf,
  XLOG_CHECKPOINT_ONLINE,
  XLOG_CHECKPOINT_SHUTDOWN,
  XLOG_NEXTOID,
  xlogRecords,
} from './xlog-records.ts';

/** What redo learns of the counters of the directory. */
export interface RedoCounters {
  readonly nextXid: NextXid;
  nextOid: Oid;
  oldestXid: Xid;
}

export function xlogResourceManager(pages: RedoPages, counters: RedoCounters): ResourceManager {
  return {
    ...xlogRecords,
    redo(record): void {
      switch (record.info & 0xf0) {
        case XLOG_FPI:
        case XLOG_FPI_FOR_HINT:
          return redoImages(pages, record);
        case XLOG_NEXTOID:
          counters.nextOid = Math.max(counters.nextOid, record.u32(record.dataAt));
          return;
        case XLOG_CHECKPOINT_SHUTDOWN:
        case XLOG_CHECKPOINT_ONLINE:
          return redoCheckpoint(counters, record);
        default: // nothing to do
      }
    },
  };
}

function redoImages(pages: RedoPages, record: WalRecord): void {
  for (let i = 0; i < record.blockCount; i++) {
    if (pages.fetch(record, i) !== REDO_RESTORED) {
      throw new StorageError('XX001', `the record of page images at ${lsnText(record.lsn)} has a page without one`);
    }
    pages.release(pages.buffer);
  }
}

/** A checkpoint that was written and did not get into the control file: what it counted stands. */
function redoCheckpoint(counters: RedoCounters, record: WalRecord): void {
  const data = checkpointOf(record);
  if (data === undefined) {
    throw new StorageError('XX001', `the checkpoint record at ${lsnText(record.lsn)} has ${record.dataLength} bytes`);
  }
  counters.nextXid.passBefore(data.nextXid);
  counters.nextOid = Math.max(counters.nextOid, data.nextOid);
}
