// File names of relations: file number, fork and segment, as `16384`, `16384.1`, `16384_vm`, `16384_fsm.2`.
import { FORK_NAMES, ForkNumber, forkSuffix } from '@blockwright/base';

/** What a relation's file name says. */
export interface RelationFileName {
  /** Path of the main fork's first segment: the name without fork and segment. */
  readonly relation: string;
  readonly fork: ForkNumber;
  readonly segment: number;
}

/** Path of a segment file: the first has no number. PostgreSQL: `_mdfd_segpath`, md.c. */
export function segmentPath(relation: string, fork: ForkNumber, segment: number): string {
  const first = `${relation}${forkSuffix(fork)}`;
  return segment === 0 ? first : `${first}.${segment}`;
}

// Numbers as the server prints them: no leading zero. A file number may stand alone, so it decides what is a relation.
const NAME = /^((?:.*[/\\])?[1-9]\d{0,9})(?:_(fsm|vm|init))?(?:\.([1-9]\d{0,9}))?$/;

/**
 * Takes a path apart whose last name is that of a relation's file; `undefined` for other files of a data directory
 * (`pg_internal.init`, `.123`, `_vm`, `.DS_Store`, `t3_16384`). PostgreSQL: `parse_filename_for_nontemp_relation`, reinit.c.
 */
export function parseRelationFileName(path: string): RelationFileName | undefined {
  const match = NAME.exec(path);
  if (match === null) return undefined;
  const [, relation, fork, segment] = match;
  const name = (relation as string).replace(/^.*[/\\]/, '');
  if (Number(name) > 0xffff_ffff || Number(segment ?? 0) > 0xffff_ffff) return undefined;
  return {
    relation: relation as string,
    fork: fork === undefined ? ForkNumber.main : (FORK_NAMES.indexOf(fork as 'fsm') as ForkNumber),
    segment: segment === undefined ? 0 : Number(segment),
  };
}

/** The number of a segment file among those of a fork whose first segment is called `first`; -1 when it is none. */
export function segmentOfName(first: string, name: string): number {
  if (name === first) return 0;
  if (!name.startsWith(`${first}.`)) return -1;
  const digits = name.slice(first.length + 1);
  return /^[1-9]\d{0,9}$/.test(digits) ? Number(digits) : -1;
}
