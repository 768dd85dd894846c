// The data directory's names.
import { DEFAULT_TABLESPACE, type Oid, type RelationLocator } from '@blockwright/base';

/** The one database of a data directory. */
const DATABASE_OID: Oid = 5;
/** Directories of a new data directory, parents first. */
export const DIRECTORIES: readonly string[] = ['global', 'base', `base/${DATABASE_OID}`, 'wal', 'xact'];

/** Where a relation of the database is stored. */
export function locatorOf(relfilenode: Oid): RelationLocator {
  return { tablespace: DEFAULT_TABLESPACE, database: DATABASE_OID, relfilenode };
}
