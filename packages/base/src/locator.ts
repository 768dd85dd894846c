// How a relation is named on disk: tablespace, database, file number, and fork.
import type { Oid } from './flavor.ts';

/** PostgreSQL: `RelFileLocator`, relfilelocator.h. */
export interface RelationLocator {
  readonly tablespace: Oid;
  readonly database: Oid;
  readonly relfilenode: Oid;
}

/** A relation's forks. PostgreSQL: `ForkNumber`, relpath.h. */
export const ForkNumber = { main: 0, fsm: 1, vm: 2, init: 3 } as const;
export type ForkNumber = (typeof ForkNumber)[keyof typeof ForkNumber];
export type ForkName = keyof typeof ForkNumber;

/** Fork names by fork number. PostgreSQL: `forkNames`. */
export const FORK_NAMES: readonly ForkName[] = ['main', 'fsm', 'vm', 'init'];

/** The default tablespace. PostgreSQL: `DEFAULTTABLESPACE_OID`. */
export const DEFAULT_TABLESPACE: Oid = 1663;
/** The tablespace of relations that all databases share. PostgreSQL: `GLOBALTABLESPACE_OID`. */
export const GLOBAL_TABLESPACE: Oid = 1664;

/** Path of a fork's first segment below the data directory, such as `base/5/16384_vm`. PostgreSQL: `GetRelationPath`. */
export function relationPath(locator: RelationLocator, fork: ForkNumber): string {
  const directory = locator.tablespace === GLOBAL_TABLESPACE ? 'global' : `base/${locator.database}`;
  return `${directory}/${locator.relfilenode}${forkSuffix(fork)}`;
}

/** What a fork's file name ends with: nothing for the main fork, `_vm` and so on for the others. */
export function forkSuffix(fork: ForkNumber): string {
  return fork === ForkNumber.main ? '' : `_${FORK_NAMES[fork] as string}`;
}
