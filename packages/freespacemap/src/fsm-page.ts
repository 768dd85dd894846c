// One page of the free space map: a binary tree of maxima over its slots, packed into an array of bytes.
//
//    byte 24        28
//    +--------------+----------------------------------------------------------+
//    | fp_next_slot | fp_nodes: inner nodes, root first, then one leaf a slot  |
//    +--------------+----------------------------------------------------------+
//
//    bytes | field        | meaning
//    4     | fp_next_slot | int32: slot at which the next search starts, so that inserters spread over the pages
//    rest  | fp_nodes     | a byte a node; node i has children 2i + 1 and 2i + 2 and holds the larger of the two; the
//          |              | tree's right edge is cut off where the page ends
//
// PostgreSQL: `FSMPageData`, fsm_internals.h; fsmpage.c.
import type { BlockGeometry } from '@blockwright/geometry';
import type { PageMemory } from '@blockwright/page';

const NEXT_SLOT_BYTE = 24;
const NODES_BYTE = 28;

function parentOf(node: number): number {
  return (node - 1) >> 1;
}

/** The node to the right on the same level; from the rightmost one, the level's first. */
function rightNeighbor(node: number): number {
  const next = node + 1;
  // The first node of a level is 2^level - 1: stepping onto it means that the level above ended.
  return ((next + 1) & next) === 0 ? parentOf(next) : next;
}

/** Value of a slot, 0 to 255. PostgreSQL: `fsm_get_avail`. */
export function slotValue(m: PageMemory, base: number, g: BlockGeometry, slot: number): number {
  return m.u8[base + NODES_BYTE + g.constants.NonLeafNodesPerPage + slot] as number;
}

/** The largest value of the page. PostgreSQL: `fsm_get_max_avail`. */
export function largestValue(m: PageMemory, base: number): number {
  return m.u8[base + NODES_BYTE] as number;
}

/**
 * Sets the value of a slot and the maxima above it, and says whether the page changed. A tree that contradicts itself
 * is rebuilt. PostgreSQL: `fsm_set_avail`.
 */
export function setSlotValue(m: PageMemory, base: number, g: BlockGeometry, slot: number, value: number): boolean {
  const u8 = m.u8;
  const nodes = base + NODES_BYTE;
  const nodeCount = g.constants.NodesPerPage;
  let node = g.constants.NonLeafNodesPerPage + slot;
  if (u8[nodes + node] === value && value <= u8[nodes]) return false;
  u8[nodes + node] = value;
  while (node > 0) {
    node = parentOf(node);
    const larger = largerChild(u8, nodes, node, nodeCount);
    if (u8[nodes + node] === larger) break;
    u8[nodes + node] = larger;
  }
  if (value > u8[nodes]) rebuildPage(m, base, g);
  return true;
}

/** Recomputes every inner node from its children. PostgreSQL: `fsm_rebuild_page`. */
export function rebuildPage(m: PageMemory, base: number, g: BlockGeometry): void {
  const u8 = m.u8;
  const nodes = base + NODES_BYTE;
  const nodeCount = g.constants.NodesPerPage;
  for (let node = g.constants.NonLeafNodesPerPage - 1; node >= 0; node--) {
    u8[nodes + node] = largerChild(u8, nodes, node, nodeCount);
  }
}

function largerChild(u8: Uint8Array, nodes: number, node: number, nodeCount: number): number {
  const left = (node << 1) + 1;
  if (left >= nodeCount) return 0;
  const a = u8[nodes + left];
  const b = left + 1 < nodeCount ? u8[nodes + left + 1] : 0;
  return a > b ? a : b;
}

/**
 * A slot whose value is `least` or more, or -1: the first one at or to the right of fp_next_slot, which is moved to it,
 * or behind it with `advance`. A torn page is rebuilt and searched again. PostgreSQL: `fsm_search_avail`.
 */
export function searchSlot(m: PageMemory, base: number, g: BlockGeometry, least: number, advance: boolean): number {
  const u8 = m.u8;
  const nodes = base + NODES_BYTE;
  const inner = g.constants.NonLeafNodesPerPage;
  for (let attempt = 0; attempt < 2; attempt++) {
    if (u8[nodes] < least) return -1;
    let node = inner + startSlot(m, base, g);
    // One step right, then up: the subtree looked at doubles each time and never reaches left of the start.
    while (node > 0 && u8[nodes + node] < least) node = parentOf(rightNeighbor(node));
    node = descend(u8, nodes, node, inner, g.constants.NodesPerPage, least);
    if (node >= 0) {
      const slot = node - inner;
      m.u32[(base + NEXT_SLOT_BYTE) >> 2] = advance ? slot + 1 : slot;
      return slot;
    }
    rebuildPage(m, base, g);
  }
  return -1;
}

/** The next search starts at the first slot. */
export function restartSearch(m: PageMemory, base: number): void {
  m.u32[(base + NEXT_SLOT_BYTE) >> 2] = 0;
}

function startSlot(m: PageMemory, base: number, g: BlockGeometry): number {
  const next = m.u32[(base + NEXT_SLOT_BYTE) >> 2];
  return next < g.slotsPerFsmPage ? next : 0; // a hint: any other value starts at the first slot
}

/** From a node that promises `least`, the leaf that keeps the promise, leftmost first; -1 when none does. */
function descend(u8: Uint8Array, nodes: number, from: number, inner: number, nodeCount: number, least: number): number {
  let node = from;
  while (node < inner) {
    const left = (node << 1) + 1;
    if (left < nodeCount && u8[nodes + left] >= least) node = left;
    else if (left + 1 < nodeCount && u8[nodes + left + 1] >= least) node = left + 1;
    else return -1;
  }
  return node;
}
