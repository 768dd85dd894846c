// The next transaction id with its epoch, moved past each one that redo meets. PostgreSQL:
// `AdvanceNextFullTransactionIdPastXid`, varsup.c.
import { FIRST_NORMAL_XID, type Xid } from '@blockwright/base';

export class NextXid {
  xid: Xid;
  epoch: number;
  private latest: Xid = 0;

  constructor(xid: Xid, epoch: number) {
    this.xid = xid;
    this.epoch = epoch;
  }

  /** A transaction of that id has written something: it is never given again. Permanent ids and none say nothing. */
  pass(xid: Xid): void {
    if (xid === this.latest) return;
    this.latest = xid;
    // Modulo 2^32, an id that is at most 2^31 - 1 behind the next one is an old one.
    if (xid < FIRST_NORMAL_XID || ((this.xid - xid) | 0) > 0) return;
    const next = (xid + 1) >>> 0;
    if (next < this.xid) this.epoch++;
    this.xid = next < FIRST_NORMAL_XID ? FIRST_NORMAL_XID : next;
  }

  /** Every id before `xid` may have been given. */
  passBefore(xid: Xid): void {
    if (((xid - this.xid) | 0) <= 0) return;
    if (xid < this.xid) this.epoch++;
    this.xid = xid;
  }
}
