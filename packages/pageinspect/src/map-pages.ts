// The records of visibility map and free space map pages.
//
// A free space map page, after its header: fp_next_slot (4 bytes), then fp_nodes, one byte a node of a binary tree laid
// down level by level. Its leaves, from node NonLeafNodesPerPage on, are the slots: of heap blocks on a leaf page, of
// map pages one level down on the others. A slot's byte counts free space in 256ths of the block.
// PostgreSQL: FSMPageData, fsm_internals.h.
import { type BlockNumber, MAX_BLOCK_NUMBER } from '@blockwright/base';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import type { PageMemory } from '@blockwright/page';

/** Fields and names of `pg_visibility_map`. */
export interface VisibilityRecord {
  readonly blkno: BlockNumber;
  readonly all_visible: boolean;
  readonly all_frozen: boolean;
}

/** Fields and names of `pg_freespace`. */
export interface FreeSpaceRecord {
  readonly blkno: BlockNumber;
  /** Bytes. */
  readonly avail: number;
}

/**
 * The bits of every heap block that page `mapBlock` of a visibility map has.
 * @param heapBlocks blocks of the heap, beyond which there are no records. Without it, the records end with the last
 * block that has a bit set.
 */
export function visibilityMapRecords(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  mapBlock: BlockNumber,
  heapBlocks?: number,
): VisibilityRecord[] {
  const first = g.firstHeapBlockOf(mapBlock);
  const bitsOf = (i: number): number =>
    ((m.u8[base + SIZE_OF_PAGE_HEADER + (i >>> 2)] as number) >>> ((i & 3) << 1)) & 3;
  let count = Math.min(g.heapBlocksPerVmPage, (heapBlocks ?? MAX_BLOCK_NUMBER + 1) - first);
  if (heapBlocks === undefined) while (count > 0 && bitsOf(count - 1) === 0) count--;
  const records: VisibilityRecord[] = [];
  for (let i = 0; i < count; i++) {
    records.push({ blkno: first + i, all_visible: (bitsOf(i) & 1) !== 0, all_frozen: (bitsOf(i) & 2) !== 0 });
  }
  return records;
}

/** Bytes from a page's start to fp_nodes. */
const FIRST_NODE: number = SIZE_OF_PAGE_HEADER + 4;

/**
 * The free space that a page of a free space map gives its heap blocks; nothing on pages above the leaves.
 * PostgreSQL: `pg_freespace`, `GetRecordedFreeSpace`.
 * @param heapBlocks blocks of the heap, beyond which there are no records. Without it, the records end with the last
 * block that has room.
 */
export function freeSpaceRecords(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  mapBlock: BlockNumber,
  heapBlocks?: number,
): FreeSpaceRecord[] {
  if (g.fsmLevelOf(mapBlock) !== 0) return [];
  const first = g.heapBlockOfFsm(g.fsmLogicalOf(mapBlock), 0);
  const firstSlot = base + FIRST_NODE + g.constants.NonLeafNodesPerPage;
  const category = (slot: number): number => m.u8[firstSlot + slot] as number;
  let count = Math.min(g.slotsPerFsmPage, (heapBlocks ?? MAX_BLOCK_NUMBER + 1) - first);
  if (heapBlocks === undefined) while (count > 0 && category(count - 1) === 0) count--;
  const records: FreeSpaceRecord[] = [];
  for (let slot = 0; slot < count; slot++) {
    records.push({ blkno: first + slot, avail: categoryBytes(g, category(slot)) });
  }
  return records;
}

/** The least free bytes that a category stands for. PostgreSQL: `fsm_space_cat_to_avail`. */
function categoryBytes(g: BlockGeometry, category: number): number {
  // A category is 1/256 of the block; the last one means that the largest request fits.
  return category === 255 ? g.constants.MaxFSMRequestSize : category << (g.shift - 8);
}

/**
 * The nodes of a free space map page that are not 0, as lines `node: value`, and `fp_next_slot: n`. PostgreSQL:
 * `fsm_page_contents`, fsmfuncs.c.
 */
export function fsmPageContents(m: PageMemory, base: number, g: BlockGeometry): string {
  let text = '';
  for (let node = 0; node < g.constants.NodesPerPage; node++) {
    const value = m.u8[base + FIRST_NODE + node] as number;
    if (value !== 0) text += `${node}: ${value}\n`;
  }
  return `${text}fp_next_slot: ${(m.u32[(base + SIZE_OF_PAGE_HEADER) >>> 2] as number) | 0}\n`;
}
