// The pages of the two maps by themselves: bits beyond the heap's end, bits that contradict each other, a free space
// tree that contradicts itself.
import type { BlockNumber, Finding, FindingSink } from '@blockwright/base';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import type { PageMemory } from '@blockwright/page';
import { VISIBILITYMAP_ALL_FROZEN } from '@blockwright/visibilitymap';

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
  where: Partial<Finding>,
  sink: FindingSink,
): number {
  const first = g.firstHeapBlockOf(block);
  let set = 0;
  let beyond = 0;
  for (let byte = 0; byte < g.constants.MAPSIZE; byte++) {
    const value = m.u8[at + SIZE_OF_PAGE_HEADER + byte];
    if (value === 0) continue;
    for (let shift = 0; shift < 8; shift += 2) {
      const bits = (value >>> shift) & 3;
      if (bits === 0) continue;
      const heapBlock = first + (byte << 2) + (shift >>> 1);
      if (heapBlock >= heapBlocks) {
        beyond++;
        continue;
      }
      set += bits === 3 ? 2 : 1;
      if (bits === VISIBILITYMAP_ALL_FROZEN) {
        const message = `heap block ${heapBlock} is called all-frozen, but not all-visible`;
        sink({
          code: 'map.frozen_without_visible',
          severity: 'error',
          message,
          ...where,
          block,
          byteOffset: SIZE_OF_PAGE_HEADER + byte,
        });
      }
    }
  }
  if (beyond > 0) {
    const message = `bits are set for ${beyond} heap blocks beyond the heap's ${heapBlocks}`;
    sink({ code: 'map.beyond_heap', severity: 'error', message, ...where, block });
  }
  return set;
}

/** Reports, as a warning, a free space page whose inner nodes are not the larger of their children: it costs time only. */
export function findFreeSpaceFaults(
  m: PageMemory,
  at: number,
  g: BlockGeometry,
  block: BlockNumber,
  where: Partial<Finding>,
  sink: FindingSink,
): void {
  const nodes = at + SIZE_OF_PAGE_HEADER + 4;
  const count = g.constants.NodesPerPage;
  let wrong = 0;
  for (let node = 0; node < g.constants.NonLeafNodesPerPage; node++) {
    const left = (node << 1) + 1;
    const a = left < count ? m.u8[nodes + left] : 0;
    const b = left + 1 < count ? m.u8[nodes + left + 1] : 0;
    if (m.u8[nodes + node] !== (a > b ? a : b)) wrong++;
  }
  if (wrong === 0) return;
  const message = `${wrong} inner nodes of the tree are not the larger of their children; searches will repair them`;
  sink({ code: 'free_space.tree', severity: 'warning', message, ...where, block });
}
