// A page looked at thoroughly: header, checksum, and every line pointer by itself and against the others. What is wrong
// is a finding; nothing is thrown, and nothing outside the page is read, whatever its bytes are.
import type { BlockNumber, Finding, FindingSink, OffsetNumber } from '@blockwright/base';
import { BLOCK_SIZES, type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { blockOfChecksum, pageChecksum } from './checksum.ts';
import {
  PAGE_LAYOUT_VERSION,
  PD_VALID_FLAG_BITS,
  pageBoundsAreSane,
  pageFlags,
  pageIsNew,
  pageIsZero,
  pageLayoutVersion,
  pageLower,
  pageMaxOffset,
  pageSizeOf,
  pageSpecial,
  pageStoredChecksum,
  pageUpper,
} from './header.ts';
import {
  LP_DEAD,
  LP_NORMAL,
  LP_REDIRECT,
  LP_UNUSED,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
} from './line-pointer.ts';
import type { PageMemory } from './memory.ts';

export interface PageCheckOptions {
  /** Number of the block in its fork. With it, and `checksum`, the checksum is verified. */
  readonly block?: BlockNumber;
  /** Whether the page should carry a checksum. Default false. */
  readonly checksum?: boolean;
  /** Blocks of the fork: where given, a page with a wrong checksum is looked for among them ("matches block K"). */
  readonly blockCount?: number;
  /** What the codes of findings begin with: `page` by default, `heap`, `index`. */
  readonly prefix?: string;
  /** The least that an item can have: 24 for heap tuples. Default 1. */
  readonly leastItemBytes?: number;
  /** False for pages that keep something else before pd_lower, such as an index's metapage. Default true. */
  readonly linePointers?: boolean;
  /** Where the page is, for the findings: file, fork, segment. */
  readonly where?: Partial<Finding>;
}

/** Which line pointer owns each 8 bytes of the page being checked; checks never nest, so one array serves all. */
const owners: Uint16Array = new Uint16Array((BLOCK_SIZES.at(-1) as number) >>> 3);

/**
 * Puts everything that is wrong with a page into `sink`, at most one finding a line pointer and one a header field. An
 * all-zero page is one finding of severity `info`.
 */
export function findPageFaults(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  options: PageCheckOptions,
  sink: FindingSink,
): void {
  const report = reporter(options, sink);
  if (pageIsNew(m, base)) {
    if (pageIsZero(m, base, g)) report('zero', 'info', 'the page is all zero: it was never initialised', {});
    else {
      report('header.new_but_not_zero', 'error', 'pd_upper is 0, as on a new page, but the page is not all zero', {
        byteOffset: 14,
      });
    }
    return;
  }
  if (options.checksum === true && options.block !== undefined) {
    findChecksumFault(m, base, g, options.block, options.blockCount ?? 0, report);
  }
  findHeaderFaults(m, base, g, report);
  if (options.linePointers === false || !pageBoundsAreSane(m, base, g)) return;
  findLinePointerFaults(m, base, g, options.leastItemBytes ?? 1, report);
}

type Report = (code: string, severity: Finding['severity'], message: string, at: Partial<Finding>) => void;

function reporter(options: PageCheckOptions, sink: FindingSink): Report {
  const prefix = options.prefix ?? 'page';
  const where = options.block === undefined ? options.where : { ...options.where, block: options.block };
  return (code, severity, message, at) => sink({ code: `${prefix}.${code}`, severity, message, ...where, ...at });
}

function findChecksumFault(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  block: BlockNumber,
  blockCount: number,
  report: Report,
): void {
  const stored = pageStoredChecksum(m, base);
  const right = pageChecksum(m, base, g, block);
  if (stored === right) return;
  const other = blockOfChecksum(m, base, g, block, blockCount);
  const hint = other < blockCount ? `; it matches block ${other}` : '';
  report('checksum', 'error', `the checksum is ${stored} and should be ${right}${hint}`, { byteOffset: 8 });
}

function findHeaderFaults(m: PageMemory, base: number, g: BlockGeometry, report: Report): void {
  const lower = pageLower(m, base);
  const upper = pageUpper(m, base);
  const special = pageSpecial(m, base);
  const fault = (code: string, byteOffset: number, message: string): void =>
    report(`header.${code}`, 'error', message, { byteOffset });
  const flags = pageFlags(m, base);
  if ((flags & ~PD_VALID_FLAG_BITS) !== 0) {
    fault('flags', 10, `pd_flags is 0x${flags.toString(16)}: only the lowest three bits have a meaning`);
  }
  if (pageSizeOf(m, base) !== g.size) {
    fault('block_size', 18, `the page says that it has ${pageSizeOf(m, base)} bytes; it is read as one of ${g.size}`);
  }
  if (pageLayoutVersion(m, base) !== PAGE_LAYOUT_VERSION) {
    fault('version', 18, `the layout version is ${pageLayoutVersion(m, base)} and should be ${PAGE_LAYOUT_VERSION}`);
  }
  if (special > g.size) fault('special_beyond_page', 16, `pd_special is ${special}, beyond the page's end ${g.size}`);
  else if ((special & 7) !== 0) fault('special_misaligned', 16, `pd_special is ${special}, no multiple of 8`);
  if (upper > special) fault('upper_beyond_special', 14, `pd_upper is ${upper}, beyond pd_special ${special}`);
  else if ((upper & 7) !== 0) fault('upper_misaligned', 14, `pd_upper is ${upper}, no multiple of 8`);
  if (lower < SIZE_OF_PAGE_HEADER) fault('lower_too_small', 12, `pd_lower is ${lower}, inside the page header`);
  else if (lower > upper) fault('lower_beyond_upper', 12, `pd_lower is ${lower}, beyond pd_upper ${upper}`);
  else if ((lower & 3) !== 0) fault('lower_misaligned', 12, `pd_lower is ${lower}, no multiple of 4`);
}

function findLinePointerFaults(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  leastItemBytes: number,
  report: Report,
): void {
  const count = pageMaxOffset(m, base);
  owners.fill(0, 0, g.size >>> 3);
  for (let o = 1; o <= count; o++) {
    const fault = linePointerFault(m, base, o, count, leastItemBytes);
    if (fault === undefined) continue;
    report(`line_pointer.${fault.code}`, 'error', `line pointer ${o} ${fault.message}`, {
      offsetNumber: o,
      byteOffset: SIZE_OF_PAGE_HEADER + ((o - 1) << 2),
    });
  }
}

interface LinePointerFault {
  readonly code: string;
  readonly message: string;
}

function linePointerFault(
  m: PageMemory,
  base: number,
  o: OffsetNumber,
  count: number,
  leastItemBytes: number,
): LinePointerFault | undefined {
  const lp = linePointer(m, base, o);
  const offset = lpOffset(lp);
  const length = lpLength(lp);
  const flags = lpFlags(lp);
  if (flags === LP_UNUSED) {
    if (lp === 0) return undefined;
    return { code: 'unused_not_zero', message: `is unused, but has lp_off ${offset} and lp_len ${length}` };
  }
  if (flags === LP_REDIRECT) return redirectFault(m, base, o, offset, length, count);
  if (length === 0) {
    if (flags === LP_NORMAL) return { code: 'length_zero', message: 'is normal, but its item has no bytes' };
    if (offset === 0) return undefined;
    return { code: 'dead_not_zero', message: `is dead and has no item, but lp_off is ${offset}` };
  }
  return itemFault(m, base, o, lp, flags === LP_DEAD ? 1 : leastItemBytes);
}

function redirectFault(
  m: PageMemory,
  base: number,
  o: OffsetNumber,
  target: OffsetNumber,
  length: number,
  count: number,
): LinePointerFault | undefined {
  if (target < 1 || target > count) {
    return { code: 'redirect_out_of_range', message: `leads to line pointer ${target}; the page has 1 to ${count}` };
  }
  if (length !== 0) return { code: 'redirect_with_item', message: `is a redirect, but lp_len is ${length}` };
  if (target === o) return { code: 'redirect_to_itself', message: 'leads to itself' };
  const targetFlags = lpFlags(linePointer(m, base, target));
  if (targetFlags === LP_NORMAL) return undefined;
  const kind = ['unused', '', 'redirect', 'dead'][targetFlags] as string;
  return { code: `redirect_to_${kind}`, message: `leads to line pointer ${target}, which is ${kind}` };
}

function itemFault(
  m: PageMemory,
  base: number,
  o: OffsetNumber,
  lp: number,
  leastItemBytes: number,
): LinePointerFault | undefined {
  const offset = lpOffset(lp);
  const length = lpLength(lp);
  const end = offset + length;
  const item = `has its item from byte ${offset} to ${end}`;
  if ((offset & 7) !== 0) return { code: 'misaligned', message: `has its item at byte ${offset}, no multiple of 8` };
  if (offset < pageLower(m, base)) {
    return { code: 'overlaps_line_pointers', message: `${item}, over the page header or line pointers` };
  }
  if (offset < pageUpper(m, base)) {
    return { code: 'below_upper', message: `${item}, in the free space before pd_upper ${pageUpper(m, base)}` };
  }
  if (end > pageSpecial(m, base)) {
    return { code: 'beyond_special', message: `${item}, beyond the end of items at ${pageSpecial(m, base)}` };
  }
  if (length < leastItemBytes) {
    return { code: 'too_short', message: `has an item of ${length} bytes; the least is ${leastItemBytes}` };
  }
  for (let unit = offset >>> 3; unit << 3 < end; unit++) {
    const owner = owners[unit] as number;
    if (owner !== 0) return { code: 'overlap', message: `${item}, over that of line pointer ${owner}` };
    owners[unit] = o;
  }
  return undefined;
}
