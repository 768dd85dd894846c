// Which transaction ids and multixact ids can stand in a tuple header, as far as the control file and pg_class say.
import { FIRST_NORMAL_XID, type Xid } from '@blockwright/base';

/** The xids in use: from the oldest that is kept to the next that will be given. */
export interface XidRange {
  readonly next: Xid;
  readonly nextEpoch: number;
  /** The oldest that any table may still hold. */
  readonly oldest: Xid;
  /** The oldest that this table may still hold. PostgreSQL: `relfrozenxid`, pg_class. */
  readonly oldestInRelation?: Xid;
  readonly multixacts?: MultiXactRange;
}

/** The multixact ids in use. */
export interface MultiXactRange {
  readonly next: number;
  readonly oldest: number;
  /** PostgreSQL: `relminmxid`, pg_class. */
  readonly oldestInRelation?: number;
}

/** What is wrong with an id: the end of a finding's code, and words that follow the field's name. */
export interface IdFault {
  readonly code: 'in_future' | 'before_relation' | 'before_oldest' | 'invalid';
  readonly message: string;
}

/** Whether id `a` is before `b`: ids wrap around, so half of all count as older than any one of them. */
function precedes(a: number, b: number): boolean {
  return ((a - b) | 0) < 0;
}

/** Whether an xid was not given out yet. */
export function xidIsInFuture(xid: Xid, range: XidRange): boolean {
  return !precedes(xid, range.next);
}

/** What is wrong with an xid, or undefined. Special xids (0, 1, 2) are never wrong. PostgreSQL: `get_xid_status`, verify_heapam.c. */
export function xidFault(xid: Xid, range: XidRange | undefined): IdFault | undefined {
  if (range === undefined || xid < FIRST_NORMAL_XID) return undefined;
  if (xidIsInFuture(xid, range)) {
    return { code: 'in_future', message: `${xid} is in the future: the next transaction id is ${range.next}` };
  }
  // In the first epoch an id above the next one is older only modulo 2^32: it stands for the very first.
  const age = range.nextEpoch === 0 && xid > range.next ? FIRST_NORMAL_XID : xid;
  if (precedes(age, range.oldest)) {
    const message = `${xid} is older than the oldest transaction id that is kept, ${range.oldest}`;
    return { code: 'before_oldest', message };
  }
  const { oldestInRelation } = range;
  if (oldestInRelation !== undefined && oldestInRelation >= FIRST_NORMAL_XID && precedes(age, oldestInRelation)) {
    const message = `${xid} is older than the table's relfrozenxid ${oldestInRelation}: it should have been frozen`;
    return { code: 'before_relation', message };
  }
  return undefined;
}

/** What is wrong with a multixact id, or undefined. PostgreSQL: `check_mxid_valid_in_rel`, verify_heapam.c. */
export function multiXactFault(multi: number, range: MultiXactRange | undefined): IdFault | undefined {
  if (multi === 0) return { code: 'invalid', message: 'is said to be a multixact, and is 0' };
  if (range === undefined) return undefined;
  if (!precedes(multi, range.next)) {
    return { code: 'in_future', message: `multixact ${multi} is in the future: the next one is ${range.next}` };
  }
  if (precedes(multi, range.oldest)) {
    const message = `multixact ${multi} is older than the oldest that is kept, ${range.oldest}`;
    return { code: 'before_oldest', message };
  }
  const { oldestInRelation } = range;
  if (oldestInRelation !== undefined && oldestInRelation !== 0 && precedes(multi, oldestInRelation)) {
    const message = `multixact ${multi} is older than the table's relminmxid ${oldestInRelation}`;
    return { code: 'before_relation', message };
  }
  return undefined;
}
