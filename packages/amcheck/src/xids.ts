// Which transaction ids can stand in a tuple header, as far as the control file says.
import { FIRST_NORMAL_XID, type Xid } from '@blockwright/base';

/** The xids in use: from the oldest that is kept to the next that will be given. */
export interface XidRange {
  readonly next: Xid;
  readonly nextEpoch: number;
  readonly oldest: Xid;
}

/** What is wrong with an xid in words that follow its field's name, or undefined. Special xids are never wrong. */
export function xidFault(xid: Xid, range: XidRange | undefined): string | undefined {
  if (range === undefined || xid < FIRST_NORMAL_XID) return undefined;
  // Ids wrap around: half of them count as older than the next one, half as younger.
  if (((xid - range.next) | 0) >= 0) return `${xid} is in the future: the next transaction id is ${range.next}`;
  // In the first epoch, an id above the next one never existed; it can only stand for the very first.
  const before = range.nextEpoch === 0 && xid > range.next ? FIRST_NORMAL_XID : xid;
  if (((before - range.oldest) | 0) < 0)
    return `${xid} is older than the oldest transaction id that is kept, ${range.oldest}`;
  return undefined;
}
