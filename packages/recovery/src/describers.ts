// Every kind of record that there is, for those who print a WAL.
import { type RecordDescriber, ResourceManagers } from '@blockwright/wal';
import { xlogRecords } from './xlog-records.ts';

/** All record describers. */
export function allRecordDescribers(): ResourceManagers<RecordDescriber> {
  return new ResourceManagers<RecordDescriber>().register(xlogRecords);
}
