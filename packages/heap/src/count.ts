// count(*): visible rows without decoding any.
import type { Relation } from '@blockwright/access';
import type { BlockNumber } from '@blockwright/base';
import { VISIBILITYMAP_ALL_VISIBLE, type VisibilityMap } from '@blockwright/visibilitymap';
import { countJudged, countNormalLinePointers, linePointerCount, type UnknownPolicy } from './collect.ts';
import { corruptLinePointer, unknownVisibility } from './errors.ts';

/** What a count saw on its way. */
export interface HeapCount {
  readonly rows: number;
  readonly pages: number;
  /** Pages whose tuples were not judged, since the visibility map says that all are visible. */
  readonly pagesByMap: number;
  /** Tuples whose header does not say whether they are visible; not in `rows` unless asked. */
  readonly unknown: number;
}

export interface HeapCountOptions {
  /** Pages that the map calls all-visible are counted from their line pointers; without it every tuple is judged. */
  readonly map?: VisibilityMap;
  readonly unknown?: UnknownPolicy;
}

const READ_AHEAD_BYTES = 0x4_0000;

/**
 * Counts the visible rows of a heap.
 * @throws StorageError XX001 for a damaged page, 0A000 for a tuple of unknown visibility unless `unknown` says otherwise.
 */
export function heapCount(relation: Relation, options: HeapCountOptions = {}): HeapCount {
  const { pool, main, geometry, name } = relation;
  const size = geometry.size;
  const blocks = relation.blockCount();
  const ring = blocks > pool.buffers >>> 2 ? pool.bulkReadRing() : undefined;
  const window = READ_AHEAD_BYTES >>> geometry.shift;
  const cursor = options.map?.cursor();
  const unknownOut = new Uint32Array(1);
  let rows = 0;
  let pagesByMap = 0;
  let readUntil = 0;
  try {
    for (let block = 0; block < blocks; block++) {
      if (block >= readUntil) {
        const count = Math.min(window, blocks - block);
        pool.readAhead(main, block, count, ring);
        readUntil = block + count;
      }
      const byMap = cursor !== undefined && (cursor.status(block) & VISIBILITYMAP_ALL_VISIBLE) !== 0;
      const id = pool.pin(main, block, ring);
      try {
        const m = pool.memory(id);
        const base = pool.base(id);
        const lines = linePointerCount(m, base, size, name, block);
        if (byMap) {
          rows += countNormalLinePointers(m, base, lines);
          pagesByMap++;
        } else {
          const judged = countJudged(m, base, size, lines, unknownOut);
          if (judged < 0) throw badLinePointer(name, block, -judged, m.u32[(base + 20 - (judged << 2)) >> 2] as number);
          rows += judged;
        }
      } finally {
        pool.unpin(id);
      }
      if (unknownOut[0] !== 0 && (options.unknown ?? 'error') === 'error') {
        throw unknownVisibility(name, block, 0, 0, 0);
      }
    }
  } finally {
    cursor?.close();
  }
  const unknown = unknownOut[0];
  return { rows: options.unknown === 'include' ? rows + unknown : rows, pages: blocks, pagesByMap, unknown };
}

function badLinePointer(name: string, block: BlockNumber, offset: number, lp: number): Error {
  return corruptLinePointer(name, block, offset, lp & 0x7fff, lp >>> 17);
}
