// count(*): visible rows without decoding any.
import type { Relation } from '@blockwright/access';
import { type BlockNumber, type OffsetNumber, StorageError } from '@blockwright/base';
import { LP_NORMAL, linePointer, lpFlags, lpLength, lpOffset, type PageMemory } from '@blockwright/page';
import { tupleInfomask, tupleXmax, tupleXmin } from '@blockwright/tuple';
import { VISIBILITYMAP_ALL_VISIBLE, type VisibilityMap } from '@blockwright/visibilitymap';
import { countJudged, countNormalLinePointers, type UnknownPolicy } from './collect.ts';
import { corruptLinePointer, unknownVisibility } from './errors.ts';
import { linePointerCount } from './line-pointers.ts';
import { judgeByHints, UNKNOWN } from './visibility.ts';
import { READ_AHEAD_BYTES, ringFor } from './whole-table.ts';

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

/**
 * Counts the visible rows of a heap.
 * @throws StorageError XX001 for a damaged page, 0A000 for a tuple of unknown visibility unless `unknown` says otherwise.
 */
export function heapCount(relation: Relation, options: HeapCountOptions = {}): HeapCount {
  const { pool, main, geometry, name } = relation;
  const size = geometry.size;
  const blocks = relation.blockCount();
  const ring = ringFor(relation, blocks);
  const refuse = (options.unknown ?? 'error') === 'error';
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
          if (judged < 0) throw badLinePointer(m, base, name, block, -judged);
          if (refuse && unknownOut[0] !== 0) throw firstUnknown(m, base, name, block, lines);
          rows += judged;
        }
      } finally {
        pool.unpin(id);
      }
    }
  } finally {
    cursor?.close();
  }
  const unknown = unknownOut[0];
  return { rows: options.unknown === 'include' ? rows + unknown : rows, pages: blocks, pagesByMap, unknown };
}

function badLinePointer(m: PageMemory, base: number, name: string, block: BlockNumber, offset: OffsetNumber): Error {
  const lp = linePointer(m, base, offset);
  return corruptLinePointer(name, block, offset, lpOffset(lp), lpLength(lp));
}

/** The error for the first tuple of unknown visibility of a page that has one, and no damaged line pointer. */
function firstUnknown(m: PageMemory, base: number, name: string, block: BlockNumber, lines: number): Error {
  for (let offset = 1; offset <= lines; offset++) {
    const lp = linePointer(m, base, offset);
    if (lpFlags(lp) !== LP_NORMAL) continue;
    const position = base + lpOffset(lp);
    const xmin = tupleXmin(m, position);
    const xmax = tupleXmax(m, position);
    if (judgeByHints(tupleInfomask(m, position), xmin, xmax) === UNKNOWN) {
      return unknownVisibility(name, block, offset, xmin, xmax);
    }
  }
  return new StorageError('XX000', `relation "${name}", block ${block}: the tuple of unknown visibility is gone`);
}
