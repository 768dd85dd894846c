// The pages of the two maps by themselves: a header that says "all map", bits beyond the heap's end, bits that
// contradict each other, a free space tree that contradicts itself.
import type { BlockNumber } from '@blockwright/base';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import { type PageMemory, pageFlags, pageLower, pagePruneXid, pageSpecial, pageUpper } from '@blockwright/page';
import type { PageReport } from './page-report.ts';

/** Bits that are set in a byte of the map. */
const SET_BITS: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) => {
  let count = 0;
  for (let rest = byte; rest !== 0; rest &= rest - 1) count++;
  return count;
});
/** All-visible is the lower bit of each pair, all-frozen the upper. */
const LOWER_BITS = 0x5555_5555;
const ALL_BITS = 0xffff_ffff;

function bitsOfWord(word: number): number {
  return SET_BITS[word & 0xff] + SET_BITS[(word >>> 8) & 0xff] + SET_BITS[(word >>> 16) & 0xff] + SET_BITS[word >>> 24];
}

/** Reports a map page whose header is not the one that every page of a map has: it holds nothing but its map. */
export function findMapHeaderFaults(m: PageMemory, at: number, g: BlockGeometry, report: PageReport): void {
  const lower = pageLower(m, at);
  const upper = pageUpper(m, at);
  const special = pageSpecial(m, at);
  if (lower !== SIZE_OF_PAGE_HEADER || upper !== g.size || special !== g.size) {
    const message = `pd_lower ${lower}, pd_upper ${upper}, pd_special ${special}: a map page has ${SIZE_OF_PAGE_HEADER}, ${g.size}, ${g.size}`;
    report.page('error', 'map_page.header.bounds', message, { byteOffset: 12 });
  }
  if (pageFlags(m, at) !== 0) {
    report.page(
      'warning',
      'map_page.header.flags',
      `pd_flags is 0x${pageFlags(m, at).toString(16)}, and 0 on map pages`,
      {
        byteOffset: 10,
      },
    );
  }
  if (pagePruneXid(m, at) !== 0) {
    report.page('warning', 'map_page.header.prune_xid', `pd_prune_xid is ${pagePruneXid(m, at)}, and 0 on map pages`, {
      byteOffset: 20,
    });
  }
}

/**
 * Reports what is wrong with a page of a visibility map, and gives the number of bits that are set on it.
 * @param heapBlocks blocks of the heap
 */
export function findMapFaults(
  m: PageMemory,
  at: number,
  g: BlockGeometry,
  block: BlockNumber,
  heapBlocks: number,
  report: PageReport,
): number {
  const { u8 } = m;
  const first = g.firstHeapBlockOf(block);
  const start = at + SIZE_OF_PAGE_HEADER;
  const end = start + g.constants.MAPSIZE;
  let set = 0;
  let contradictions = 0;
  for (let word = start >>> 2; word < end >>> 2; word++) {
    const bits = m.u32[word];
    if (bits === 0) continue;
    set += bits === ALL_BITS ? 32 : bitsOfWord(bits);
    contradictions |= (bits >>> 1) & ~bits & LOWER_BITS;
  }
  if (contradictions !== 0) reportContradictions(u8, start, end, first, report);
  if (set === 0 || heapBlocks - first >= (end - start) << 2) return set;
  const beyond = bitsBeyond(u8, start, end, heapBlocks - first);
  if (beyond > 0) {
    const message = `${beyond} bits are set for heap blocks beyond the heap's ${heapBlocks}`;
    report.page('error', 'map.beyond_heap', message);
  }
  return set - beyond;
}

function reportContradictions(
  u8: Uint8Array,
  start: number,
  end: number,
  first: BlockNumber,
  report: PageReport,
): void {
  for (let i = start; i < end; i++) {
    const byte = u8[i];
    const wrong = (byte >>> 1) & ~byte & LOWER_BITS;
    for (let shift = 0; shift < 8; shift += 2) {
      if (((wrong >>> shift) & 1) === 0) continue;
      const heapBlock = first + ((i - start) << 2) + (shift >>> 1);
      const message = `heap block ${heapBlock} is called all-frozen, but not all-visible`;
      report.page('error', 'map.frozen_without_visible', message, { byteOffset: SIZE_OF_PAGE_HEADER + i - start });
    }
  }
}

/** Set bits from the pair numbered `pairs` on (which may be negative: then all). */
function bitsBeyond(u8: Uint8Array, start: number, end: number, pairs: number): number {
  let at = start;
  let beyond = 0;
  if (pairs > 0) {
    at = start + (pairs >>> 2);
    if ((pairs & 3) !== 0) beyond = SET_BITS[u8[at++] >>> ((pairs & 3) << 1)];
  }
  for (; at < end; at++) beyond += SET_BITS[u8[at]];
  return beyond;
}

/** Reports, as a warning, a free space page whose inner nodes are not the larger of their children: it costs time only. */
export function findFreeSpaceFaults(m: PageMemory, at: number, g: BlockGeometry, report: PageReport): void {
  const { u8 } = m;
  const nodes = at + SIZE_OF_PAGE_HEADER + 4;
  const count = g.constants.NodesPerPage;
  let wrong = 0;
  for (let node = 0; node < g.constants.NonLeafNodesPerPage; node++) {
    const left = (node << 1) + 1;
    const a = left < count ? u8[nodes + left] : 0;
    const b = left + 1 < count ? u8[nodes + left + 1] : 0;
    if (u8[nodes + node] !== (a > b ? a : b)) wrong++;
  }
  if (wrong === 0) return;
  const message = `${wrong} inner nodes of the tree are not the larger of their children; searches will repair them`;
  report.page('warning', 'free_space.tree', message);
}
