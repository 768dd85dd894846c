// One tuple's hint bits, held against the commit log; and the members of its multixact.
import { FIRST_NORMAL_XID } from '@blockwright/base';
import type { PageMemory } from '@blockwright/page';
import { XID_COMMITTED } from '@blockwright/transam';
import {
  HEAP_XMAX_COMMITTED,
  HEAP_XMAX_INVALID,
  HEAP_XMAX_IS_MULTI,
  HEAP_XMIN_COMMITTED,
  HEAP_XMIN_FROZEN,
  HEAP_XMIN_INVALID,
  isXmaxLockOnly,
  tupleInfomask,
  tupleXmax,
  tupleXmin,
} from '@blockwright/tuple';
import { FATE_UNKNOWN, type Fates, fateText } from './fates.ts';
import type { PageReport } from './page-report.ts';
import { multiXactFault, type XidRange, xidFault } from './xids.ts';

/** Bytes from the tuple's start to the fields. */
const XMIN = 0;
const XMAX = 4;

/** Reports hint bits of the tuple at `position` that the commit log contradicts; ids that cannot be are said elsewhere. */
export function checkTupleFate(
  m: PageMemory,
  position: number,
  fates: Fates,
  xids: XidRange | undefined,
  report: PageReport,
): void {
  const infomask = tupleInfomask(m, position);
  checkXmin(tupleXmin(m, position), infomask, fates, xids, report);
  const xmax = tupleXmax(m, position);
  if ((infomask & HEAP_XMAX_IS_MULTI) !== 0) checkMultiXact(m, position, xmax, infomask, fates, xids, report);
  else checkXmax(xmax, infomask, fates, xids, report);
}

function checkXmin(xmin: number, infomask: number, fates: Fates, xids: XidRange | undefined, report: PageReport): void {
  const hint = infomask & HEAP_XMIN_FROZEN;
  if (hint === 0 || hint === HEAP_XMIN_FROZEN || xmin < FIRST_NORMAL_XID || xidFault(xmin, xids) !== undefined) return;
  const fate = fates.of(xmin);
  if (fate === FATE_UNKNOWN) return;
  if (hint === HEAP_XMIN_COMMITTED && fate !== XID_COMMITTED) {
    const message = `t_infomask calls t_xmin ${xmin} committed; the commit log says that it ${fateText(fate)}`;
    report.field('error', 'heap.tuple.xmin.not_committed', XMIN, message);
  } else if (hint === HEAP_XMIN_INVALID && fate === XID_COMMITTED) {
    const message = `t_infomask calls t_xmin ${xmin} aborted; the commit log says that it committed`;
    report.field('error', 'heap.tuple.xmin.not_aborted', XMIN, message);
  }
}

function checkXmax(xmax: number, infomask: number, fates: Fates, xids: XidRange | undefined, report: PageReport): void {
  if ((infomask & (HEAP_XMAX_COMMITTED | HEAP_XMAX_INVALID)) === 0 || isXmaxLockOnly(infomask)) return;
  if (xmax < FIRST_NORMAL_XID || xidFault(xmax, xids) !== undefined) return;
  const fate = fates.of(xmax);
  if (fate === FATE_UNKNOWN) return;
  if ((infomask & HEAP_XMAX_COMMITTED) !== 0 && fate !== XID_COMMITTED) {
    const message = `t_infomask calls t_xmax ${xmax} committed; the commit log says that it ${fateText(fate)}`;
    report.field('error', 'heap.tuple.xmax.not_committed', XMAX, message);
  } else if ((infomask & HEAP_XMAX_INVALID) !== 0 && fate === XID_COMMITTED) {
    const message = `t_infomask says that t_xmax ${xmax} deleted nothing; the commit log says that it committed`;
    report.field('error', 'heap.tuple.xmax.not_aborted', XMAX, message);
  }
}

/** The members of a multixact that still says something can be read, and who updated the row can have done it. */
function checkMultiXact(
  m: PageMemory,
  position: number,
  multi: number,
  infomask: number,
  fates: Fates,
  xids: XidRange | undefined,
  report: PageReport,
): void {
  if ((infomask & HEAP_XMAX_INVALID) !== 0 || isXmaxLockOnly(infomask)) return; // its members may be gone
  if (multiXactFault(multi, xids?.multixacts) !== undefined) return;
  const fault = fates.multixactFault(multi);
  if (fault !== undefined) {
    report.field(
      'error',
      'heap.tuple.xmax.members',
      XMAX,
      `t_xmax is multixact ${multi}, which cannot be read: ${fault}`,
    );
    return;
  }
  const updater = fates.updaterOf(m, position);
  if (updater === 0) {
    const message = `t_xmax is multixact ${multi}, said to have updated the row; no member of it did`;
    report.field('error', 'heap.tuple.xmax.no_updater', XMAX, message);
    return;
  }
  const found = updater === FATE_UNKNOWN ? undefined : xidFault(updater, xids);
  if (found !== undefined) {
    const message = `t_xmax is multixact ${multi}, whose updater ${found.message}`;
    report.field('error', `heap.tuple.xmax.updater_${found.code}`, XMAX, message);
  }
}
