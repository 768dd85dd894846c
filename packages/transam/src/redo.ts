// Redo of transactions' ends and of the commit log's pages. PostgreSQL: xact_redo, clog_redo.
import { lsnText, type RelationLocator, StorageError, type Xid } from '@blockwright/base';
import type { ResourceManager, WalRecord } from '@blockwright/wal';
import { type CommitLog, XID_ABORTED, XID_COMMITTED } from './commit-log.ts';
import {
  CLOG_TRUNCATE,
  CLOG_ZEROPAGE,
  commitLogRecords,
  readEnd,
  transactionRecords,
  XACT_ABORT,
  XACT_COMMIT,
  XACT_HAS_INFO,
  XACT_KIND_MASK,
} from './records.ts';

const NO_FILES: readonly RelationLocator[] = [];

export interface TransactionRedoOptions {
  /** Its `recovering` is set by whoever drives the redo. */
  readonly commitLog: CommitLog;
  /**
   * Told of each end of a transaction, or of a savepoint that was rolled back: all its xids, greatest last (no xid up to
   * it may be handed out again), and the relations whose files go. Both lists are lent for the call.
   */
  readonly ended?: (xids: readonly Xid[], committed: boolean, files: readonly RelationLocator[]) => void;
  /** Told when the commit log loses what is older than `oldest`. */
  readonly truncated?: (oldest: Xid) => void;
}

/** The resource managers RM_XACT and RM_CLOG. */
export function transactionResourceManagers(options: TransactionRedoOptions): ResourceManager[] {
  const { commitLog, ended, truncated } = options;
  // Most ends have neither savepoints nor files: nothing is made for them.
  const one: Xid[] = [0];
  return [
    {
      ...transactionRecords,
      redo(record: WalRecord): void {
        const kind = record.info & XACT_KIND_MASK;
        if (kind !== XACT_COMMIT && kind !== XACT_ABORT) throw unknownRecord(transactionRecords.name, record);
        const committed = kind === XACT_COMMIT;
        if ((record.info & XACT_HAS_INFO) === 0) {
          commitLog.set(record.xid, committed ? XID_COMMITTED : XID_ABORTED, 0);
          one[0] = record.xid;
          ended?.(one, committed, NO_FILES);
          return;
        }
        const { children, files } = readEnd(record);
        commitLog.setTree(record.xid, children, committed ? XID_COMMITTED : XID_ABORTED, 0);
        ended?.([record.xid, ...children], committed, files);
      },
    },
    {
      ...commitLogRecords,
      redo(record: WalRecord): void {
        const kind = record.info & 0xf0;
        if (kind === CLOG_ZEROPAGE) {
          commitLog.zeroPage(record.u32(record.dataAt));
        } else if (kind === CLOG_TRUNCATE) {
          const oldest = record.u32(record.dataAt + 4);
          commitLog.removeBefore(oldest);
          truncated?.(oldest);
        } else {
          throw unknownRecord(commitLogRecords.name, record);
        }
      },
    },
  ];
}

function unknownRecord(manager: string, record: WalRecord): StorageError {
  return new StorageError(
    'XX001',
    `record at ${lsnText(record.lsn)} of resource manager ${manager} has unknown kind ${record.info & 0xf0}`,
  );
}
