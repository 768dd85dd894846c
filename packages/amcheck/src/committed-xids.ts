// The part of the commit log that the proving kernel gets: apart from what reads it, for the threads that help.
import type { Xid } from '@blockwright/base';

/** Which xids of a range have committed: what the proving kernel, on whichever thread, knows of the commit log. */
export interface CommittedXids {
  /** The first xid of the range. */
  readonly from: Xid;
  readonly count: number;
  /** A bit an xid, set where it committed. */
  readonly bits: Uint8Array;
}

/** The most xids of {@link CommittedXids}: pages with rows of older ones, not frozen, are not proven. */
export const MOST_COMMITTED_XIDS: number = 1 << 23;
