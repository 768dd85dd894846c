// How a whole table is read: ahead, in large reads, and through a ring when it would push everything else out of the pool.
import type { Relation } from '@blockwright/access';
import type { BlockNumber } from '@blockwright/base';
import type { BufferRing } from '@blockwright/bufmgr';

/** Bytes that one read-ahead asks for. */
export const READ_AHEAD_BYTES = 0x4_0000;

/** The ring for a table of `blocks` blocks: a table larger than a quarter of the pool goes through one, as in PostgreSQL. */
export function ringFor(relation: Relation, blocks: BlockNumber): BufferRing | undefined {
  const { pool } = relation;
  return blocks > pool.buffers >>> 2 ? pool.bulkReadRing() : undefined;
}
