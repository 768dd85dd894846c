// Every resource manager that redo needs: here each subject is registered, and nowhere else is one known.
import { type PendingCreates, type RedoPages, storageRecords, storageResourceManager } from '@blockwright/access';
import { heapRecords, heapResourceManagers } from '@blockwright/heap';
import { btreeRecords, btreeResourceManager } from '@blockwright/nbtree';
import {
  type CommitLog,
  commitLogRecords,
  transactionRecords,
  transactionResourceManagers,
} from '@blockwright/transam';
import { visibilityTruncation } from '@blockwright/visibilitymap';
import { type RecordDescriber, type ResourceManager, ResourceManagers } from '@blockwright/wal';
import { xlogRecords } from './xlog-records.ts';
import { type RedoCounters, xlogResourceManager } from './xlog-redo.ts';

/** What the resource managers share during one redo. */
export interface RedoSubjects {
  readonly pages: RedoPages;
  readonly commitLog: CommitLog;
  /** Files made by transactions that have not ended. */
  readonly created: PendingCreates;
  readonly counters: RedoCounters;
}

/** Those that can redo. */
export function redoManagers(subjects: RedoSubjects): ResourceManagers<ResourceManager> {
  const { pages, commitLog, created, counters } = subjects;
  const transactions = transactionResourceManagers({
    commitLog,
    ended: (xids, _committed, files) => {
      for (const xid of xids) counters.nextXid.pass(xid);
      created.forget(xids);
      for (const file of files) pages.removeRelation(file);
    },
    truncated: (oldest) => {
      counters.oldestXid = oldest;
    },
  });
  const managers = new ResourceManagers<ResourceManager>()
    .register(xlogResourceManager(pages, counters))
    .register(storageResourceManager(pages, created, [visibilityTruncation]))
    .register(btreeResourceManager(pages));
  for (const manager of [...transactions, ...heapResourceManagers(pages)]) managers.register(manager);
  return managers;
}

/** Those that name and print records: of every subject, for who reads a WAL. */
export function allRecordDescribers(): ResourceManagers<RecordDescriber> {
  const describers = new ResourceManagers<RecordDescriber>()
    .register(xlogRecords)
    .register(transactionRecords)
    .register(storageRecords)
    .register(commitLogRecords)
    .register(btreeRecords);
  for (const records of heapRecords) describers.register(records);
  return describers;
}
