// The records of transactions and of the commit log: their bytes, and their words as pg_waldump has them.
// PostgreSQL: xact.h, xactdesc.c, clogdesc.c.
//
//   COMMIT, ABORT (RM_XACT); the record's xid is the transaction's, or that of a savepoint that was rolled back
//   | field   | bytes | what                                                                           |
//   |---------|-------|--------------------------------------------------------------------------------|
//   | time    | 8     | milliseconds since 1970                                                        |
//   | children| 4     | if the record has HAS_INFO: number of savepoints that ended with it, then xids  |
//   | files   | 4     | if the record has HAS_INFO: number of relations to remove, then 12 bytes each   |
//
//   ZEROPAGE (RM_CLOG): page, 4 bytes.  TRUNCATE (RM_CLOG): page, 4 bytes, and the oldest xid that is kept, 4 bytes
import {
  ForkNumber,
  fromWords,
  highWord,
  INVALID_XID,
  type Lsn,
  lowWord,
  type RelationLocator,
  relationPath,
  type Xid,
} from '@blockwright/base';
import { type RecordDescriber, RM_CLOG, RM_XACT, type WalRecord } from '@blockwright/wal';
import type { TransactionWal } from './transaction-wal.ts';

/** PostgreSQL: `XLOG_XACT_COMMIT`. */
export const XACT_COMMIT = 0x00;
/** PostgreSQL: `XLOG_XACT_ABORT`. */
export const XACT_ABORT = 0x20;
/** PostgreSQL: `XLOG_XACT_HAS_INFO`. */
export const XACT_HAS_INFO = 0x80;
/** PostgreSQL: `XLOG_XACT_OPMASK`. */
export const XACT_KIND_MASK = 0x70;
/** PostgreSQL: `CLOG_ZEROPAGE`. */
export const CLOG_ZEROPAGE = 0x00;
/** PostgreSQL: `CLOG_TRUNCATE`. */
export const CLOG_TRUNCATE = 0x10;

/** More than a record's header and the fields of fixed length take. */
const RECORD_ROOM = 128;

/** What a COMMIT or ABORT record says. */
export interface TransactionEnd {
  readonly timeMs: number;
  /** Savepoints that ended with it, in the order of their xids. */
  readonly children: readonly Xid[];
  /** Relations whose files go. */
  readonly files: readonly RelationLocator[];
}

/**
 * Inserts a COMMIT or ABORT record.
 * @returns its end.
 * @throws StorageError 53100 and the like: nothing is inserted.
 */
export function insertEnd(wal: TransactionWal, kind: number, xid: Xid, end: TransactionEnd): Lsn {
  const { timeMs, children, files } = end;
  wal.reserve(RECORD_ROOM + (children.length << 2) + (files.length << 4));
  const hasInfo = children.length > 0 || files.length > 0;
  const { record } = wal;
  record.begin(RM_XACT, hasInfo ? kind | XACT_HAS_INFO : kind);
  record.u32(lowWord(timeMs));
  record.u32(highWord(timeMs));
  if (hasInfo) {
    record.u32(children.length);
    for (const child of children) record.u32(child);
    record.u32(files.length);
    for (const file of files) {
      record.u32(file.tablespace);
      record.u32(file.database);
      record.u32(file.relfilenode);
    }
  }
  return wal.insert(xid);
}

/** What a record of RM_XACT says; its counts are held against its length. */
export function readEnd(record: WalRecord): TransactionEnd {
  const { dataAt } = record;
  const timeMs = fromWords(record.u32(dataAt + 4), record.u32(dataAt));
  const children: Xid[] = [];
  const files: RelationLocator[] = [];
  if ((record.info & XACT_HAS_INFO) === 0) return { timeMs, children, files };
  const end = dataAt + record.dataLength;
  let at = dataAt + 12;
  for (let left = record.u32(at - 4); left > 0 && at < end; left--, at += 4) children.push(record.u32(at));
  at += 4;
  for (let left = at <= end ? record.u32(at - 4) : 0; left > 0 && at < end; left--, at += 12) {
    files.push({ tablespace: record.u32(at), database: record.u32(at + 4), relfilenode: record.u32(at + 8) });
  }
  return { timeMs, children, files };
}

/** Room in the WAL that {@link insertZeroPage} needs. */
export function reserveZeroPage(wal: TransactionWal): void {
  wal.reserve(RECORD_ROOM);
}

/** The commit log got a page. The caller has reserved room. */
export function insertZeroPage(wal: TransactionWal, page: number): Lsn {
  wal.record.begin(RM_CLOG, CLOG_ZEROPAGE);
  wal.record.u32(page);
  return wal.insert(INVALID_XID);
}

/** The commit log before a page is going to be removed. @throws StorageError 53100 and the like. */
export function insertTruncate(wal: TransactionWal, page: number, oldest: Xid): Lsn {
  wal.reserve(RECORD_ROOM);
  wal.record.begin(RM_CLOG, CLOG_TRUNCATE);
  wal.record.u32(page);
  wal.record.u32(oldest);
  return wal.insert(INVALID_XID);
}

/** Puts the records of RM_XACT into words. */
export const transactionRecords: RecordDescriber = {
  id: RM_XACT,
  name: 'Transaction',
  identify(info) {
    const kind = info & XACT_KIND_MASK;
    return kind === XACT_COMMIT ? 'COMMIT' : kind === XACT_ABORT ? 'ABORT' : unknownKind(info);
  },
  describe(record) {
    const kind = record.info & XACT_KIND_MASK;
    if (kind !== XACT_COMMIT && kind !== XACT_ABORT) return '';
    const { timeMs, children, files } = readEnd(record);
    let text = timeText(timeMs);
    if (files.length > 0) text += `; rels: ${files.map((file) => relationPath(file, ForkNumber.main)).join(' ')}`;
    if (children.length > 0) text += `; subxacts: ${children.join(' ')}`;
    return text;
  },
};

/** Puts the records of RM_CLOG into words. */
export const commitLogRecords: RecordDescriber = {
  id: RM_CLOG,
  name: 'CLOG',
  identify(info) {
    const kind = info & 0xf0;
    return kind === CLOG_ZEROPAGE ? 'ZEROPAGE' : kind === CLOG_TRUNCATE ? 'TRUNCATE' : unknownKind(info);
  },
  describe(record) {
    const kind = record.info & 0xf0;
    if (kind === CLOG_ZEROPAGE) return `page ${record.u32(record.dataAt)}`;
    if (kind !== CLOG_TRUNCATE) return '';
    return `page ${record.u32(record.dataAt)}; oldestXact ${record.u32(record.dataAt + 4)}`;
  },
};

function unknownKind(info: number): string {
  return `UNKNOWN (${(info & 0xf0).toString(16)})`;
}

/** As PostgreSQL prints a time, in UTC. */
function timeText(ms: number): string {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return `${ms} ms`;
  const iso = date.toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 23)}000 UTC`;
}
