// Records of the WAL about the WAL: checkpoints, object ids, images of pages. PostgreSQL: pg_control.h, xlogdesc.c.
//
// A checkpoint's data:
//
//   0        8    12   16   20   24   28       36   40
//   +--------+----+----+----+----+----+--------+----+-------------------
//   |  redo  |inca|nxid|epoc|noid|oldx| timeMs | n  | n x 16 bytes: xid, tablespace, database, relfilenode
//   +--------+----+----+----+----+----+--------+----+-------------------
import { type PendingCreate, XLOG_FPI, XLOG_FPI_FOR_HINT } from '@blockwright/access';
import { fromWords, highWord, type Lsn, lowWord, lsnText, type Oid, type Xid } from '@blockwright/base';
import { type RecordDescriber, RM_XLOG, type WalRecord, type WalWriter } from '@blockwright/wal';

export const XLOG_CHECKPOINT_SHUTDOWN = 0x00;
export const XLOG_CHECKPOINT_ONLINE = 0x10;
export const XLOG_NOOP = 0x20;
export const XLOG_NEXTOID = 0x30;
export const XLOG_END_OF_RECOVERY = 0x90;

/** What the record of a checkpoint says. PostgreSQL: `CheckPoint`. */
export interface CheckpointData {
  readonly redo: Lsn;
  readonly incarnation: number;
  readonly nextXid: Xid;
  readonly nextXidEpoch: number;
  readonly nextOid: Oid;
  readonly oldestXid: Xid;
  readonly timeMs: number;
  readonly pendingCreates: readonly PendingCreate[];
}

const FIXED_BYTES = 40;
const CREATE_BYTES = 16;
const HEADER_BYTES = 24 + 5;

/** Room that the record of a checkpoint takes in the WAL. */
export function checkpointRecordBytes(data: CheckpointData): number {
  return HEADER_BYTES + FIXED_BYTES + data.pendingCreates.length * CREATE_BYTES;
}

/** Builds the record of a checkpoint; `wal.insert(0)` puts it into the WAL. */
export function putCheckpoint(wal: WalWriter, info: number, data: CheckpointData): void {
  const { record } = wal;
  const u64 = (value: number) => {
    record.u32(lowWord(value));
    record.u32(highWord(value));
  };
  record.begin(RM_XLOG, info);
  u64(data.redo);
  record.u32(data.incarnation);
  record.u32(data.nextXid);
  record.u32(data.nextXidEpoch);
  record.u32(data.nextOid);
  record.u32(data.oldestXid);
  u64(data.timeMs);
  record.u32(data.pendingCreates.length);
  for (const { xid, locator } of data.pendingCreates) {
    record.u32(xid);
    record.u32(locator.tablespace);
    record.u32(locator.database);
    record.u32(locator.relfilenode);
  }
}

/** What the record of a checkpoint says; undefined when it has not the length that such a record has. */
export function checkpointOf(record: WalRecord): CheckpointData | undefined {
  const { dataAt: at, dataLength } = record;
  if (dataLength < FIXED_BYTES) return undefined;
  const count = record.u32(at + 36);
  if (dataLength !== FIXED_BYTES + count * CREATE_BYTES) return undefined;
  const u64 = (from: number) => fromWords(record.u32(from + 4), record.u32(from));
  return {
    redo: u64(at),
    incarnation: record.u32(at + 8),
    nextXid: record.u32(at + 12),
    nextXidEpoch: record.u32(at + 16),
    nextOid: record.u32(at + 20),
    oldestXid: record.u32(at + 24),
    timeMs: u64(at + 28),
    pendingCreates: Array.from({ length: count }, (_, i) =>
      pendingCreateOf(record, at + FIXED_BYTES + i * CREATE_BYTES),
    ),
  };
}

function pendingCreateOf(record: WalRecord, at: number): PendingCreate {
  return {
    xid: record.u32(at),
    locator: {
      tablespace: record.u32(at + 4),
      database: record.u32(at + 8),
      relfilenode: record.u32(at + 12),
    },
  };
}

/** Whether a record is a checkpoint's. */
export function isCheckpoint(record: WalRecord): boolean {
  if (record.rmgr !== RM_XLOG) return false;
  const kind = record.info & 0xf0;
  return kind === XLOG_CHECKPOINT_SHUTDOWN || kind === XLOG_CHECKPOINT_ONLINE;
}

const NAMES: ReadonlyMap<number, string> = new Map([
  [XLOG_CHECKPOINT_SHUTDOWN, 'CHECKPOINT_SHUTDOWN'],
  [XLOG_CHECKPOINT_ONLINE, 'CHECKPOINT_ONLINE'],
  [XLOG_NOOP, 'NOOP'],
  [XLOG_NEXTOID, 'NEXTOID'],
  [XLOG_END_OF_RECOVERY, 'END_OF_RECOVERY'],
  [XLOG_FPI_FOR_HINT, 'FPI_FOR_HINT'],
  [XLOG_FPI, 'FPI'],
]);

/** Names and prints the records of this file. */
export const xlogRecords: RecordDescriber = {
  id: RM_XLOG,
  name: 'XLOG',
  identify: (info) => NAMES.get(info & 0xf0) ?? `UNKNOWN (${(info & 0xf0).toString(16)})`,
  describe(record) {
    if (isCheckpoint(record)) return describeCheckpoint(record);
    if ((record.info & 0xf0) === XLOG_NEXTOID && record.dataLength >= 4) return String(record.u32(record.dataAt));
    return '';
  },
};

function describeCheckpoint(record: WalRecord): string {
  const data = checkpointOf(record);
  if (data === undefined) return `a checkpoint of ${record.dataLength} bytes`;
  const kind = (record.info & 0xf0) === XLOG_CHECKPOINT_SHUTDOWN ? 'shutdown' : 'online';
  const creates = data.pendingCreates.map(({ xid, locator }) => {
    return `${xid}:${locator.tablespace}/${locator.database}/${locator.relfilenode}`;
  });
  return [
    `redo ${lsnText(data.redo)}`,
    `incarnation ${data.incarnation}`,
    `xid ${data.nextXidEpoch}:${data.nextXid}`,
    `oid ${data.nextOid}`,
    `oldest xid ${data.oldestXid}`,
    ...(creates.length === 0 ? [] : [`pending files ${creates.join(' ')}`]),
    kind,
  ].join('; ');
}
