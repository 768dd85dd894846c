// The record of a page's header, as pageinspect's page_header gives it.
import { formatLsn } from '@blockwright/base';
import {
  type PageMemory,
  pageFlags,
  pageLayoutVersion,
  pageLower,
  pageLsnHigh,
  pageLsnLow,
  pagePruneXid,
  pageSizeOf,
  pageSpecial,
  pageStoredChecksum,
  pageUpper,
} from '@blockwright/page';

/** Fields and names of `page_header`. Xids are text, as PostgreSQL's own JSON has them. */
export interface PageHeaderRecord {
  /** Such as `0/1A2B3C`. */
  readonly lsn: string;
  /** 0 to 65535. (pageinspect prints those above 32767 as negative numbers.) */
  readonly checksum: number;
  readonly flags: number;
  readonly lower: number;
  readonly upper: number;
  readonly special: number;
  readonly pagesize: number;
  readonly version: number;
  readonly prune_xid: string;
}

/** The header of any 24 bytes or more, right or wrong. PostgreSQL: `page_header`, rawpage.c. */
export function pageHeaderRecord(m: PageMemory, base: number): PageHeaderRecord {
  return {
    lsn: formatLsn(pageLsnHigh(m, base), pageLsnLow(m, base)),
    checksum: pageStoredChecksum(m, base),
    flags: pageFlags(m, base),
    lower: pageLower(m, base),
    upper: pageUpper(m, base),
    special: pageSpecial(m, base),
    pagesize: pageSizeOf(m, base),
    version: pageLayoutVersion(m, base),
    prune_xid: String(pagePruneXid(m, base)),
  };
}
