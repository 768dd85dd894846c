// The data directory's names.
import { DEFAULT_TABLESPACE, type Oid, type RelationLocator } from '@blockwright/base';

/** The one database of a data directory. */
const DATABASE_OID: Oid = 5;
/** Directory of the WAL's segments. */
export const WAL_DIRECTORY = 'wal';
/** Directory of the commit log. */
export const COMMIT_LOG_DIRECTORY = 'xact';
/** Directory of what does not outlive the process: made when it is needed, emptied when the directory is opened. */
export const TEMPORARY_DIRECTORY = 'base/tmp';
/** Directories of a new data directory, parents first; that of the WAL is made with its first segment. */
export const DIRECTORIES: readonly string[] = ['global', 'base', `base/${DATABASE_OID}`, COMMIT_LOG_DIRECTORY];

/** Where a relation of the database is stored. */
export function locatorOf(relfilenode: Oid): RelationLocator {
  return { tablespace: DEFAULT_TABLESPACE, database: DATABASE_OID, relfilenode };
}
