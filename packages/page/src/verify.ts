// What is asked of every page when it is read from disk: one small number, nothing allocated. findings.ts looks
// deeper, and gives findings.
import type { BlockNumber } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { pageChecksum } from './checksum.ts';
import {
  PAGE_LAYOUT_VERSION,
  PD_VALID_FLAG_BITS,
  pageFlags,
  pageIsNew,
  pageIsZero,
  pageLayoutVersion,
  pageLower,
  pageSizeOf,
  pageSizeWord,
  pageSpecial,
  pageStoredChecksum,
  pageUpper,
} from './header.ts';
import type { PageMemory } from './memory.ts';

/** What {@link pageVerify} found first. */
export const PageFault = {
  none: 0,
  /** The header says that the page was never initialised, and the page is not zero. */
  newButNotZero: 1,
  checksum: 2,
  /** The page names another block size, or another layout version than 4. */
  sizeOrVersion: 3,
  flags: 4,
  lowerBeyondUpper: 5,
  upperBeyondSpecial: 6,
  specialBeyondPage: 7,
  specialMisaligned: 8,
} as const;
export type PageFault = (typeof PageFault)[keyof typeof PageFault];

/**
 * Whether a page just read can be let in: an all-zero page can; else the checksum (if asked for), block size, layout
 * version, flags and bounds must be right. Line pointers are not looked at. PostgreSQL: `PageIsVerified`, which does
 * not look at size and version.
 * @param block number in the relation's fork, which the checksum is salted with.
 * @returns 0 when the page is fine, else a {@link PageFault}; {@link describePageFault} puts it into words.
 */
export function pageVerify(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  block: BlockNumber,
  withChecksum: boolean,
): PageFault {
  if (pageIsNew(m, base)) return pageIsZero(m, base, g) ? PageFault.none : PageFault.newButNotZero;
  if (withChecksum && pageStoredChecksum(m, base) !== pageChecksum(m, base, g, block)) return PageFault.checksum;
  return pageVerifyHeader(m, base, g);
}

/** The part of {@link pageVerify} about an initialised page's header: no checksum, no reading beyond 24 bytes. */
export function pageVerifyHeader(m: PageMemory, base: number, g: BlockGeometry): PageFault {
  const lower = pageLower(m, base);
  const upper = pageUpper(m, base);
  const special = pageSpecial(m, base);
  if (pageSizeWord(m, base) !== (g.size | PAGE_LAYOUT_VERSION)) return PageFault.sizeOrVersion;
  if ((pageFlags(m, base) & ~PD_VALID_FLAG_BITS) !== 0) return PageFault.flags;
  if (special > g.size) return PageFault.specialBeyondPage;
  if ((special & 7) !== 0) return PageFault.specialMisaligned;
  if (upper > special) return PageFault.upperBeyondSpecial;
  if (lower > upper) return PageFault.lowerBeyondUpper;
  return PageFault.none;
}

/** A fault of {@link pageVerify} in words, with the numbers on the page. */
export function describePageFault(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  block: BlockNumber,
  fault: PageFault,
): string {
  const lower = pageLower(m, base);
  const upper = pageUpper(m, base);
  const special = pageSpecial(m, base);
  switch (fault) {
    case PageFault.none:
      return 'the page is fine';
    case PageFault.newButNotZero:
      return 'the header says that the page was never initialised (pd_upper 0), but it is not all zero';
    case PageFault.checksum:
      return `the checksum is ${pageStoredChecksum(m, base)} and should be ${pageChecksum(m, base, g, block)}`;
    case PageFault.sizeOrVersion:
      return `the page says that it has ${pageSizeOf(m, base)} bytes and layout version ${pageLayoutVersion(m, base)}, where ${g.size} bytes and version ${PAGE_LAYOUT_VERSION} are expected`;
    case PageFault.flags:
      return `pd_flags is 0x${pageFlags(m, base).toString(16)}: only the lowest three bits have a meaning`;
    case PageFault.lowerBeyondUpper:
      return `pd_lower is ${lower}, beyond pd_upper ${upper}`;
    case PageFault.upperBeyondSpecial:
      return `pd_upper is ${upper}, beyond pd_special ${special}`;
    case PageFault.specialBeyondPage:
      return `pd_special is ${special}, beyond the page's ${g.size} bytes`;
    case PageFault.specialMisaligned:
      return `pd_special is ${special}, which is no multiple of 8`;
  }
}
