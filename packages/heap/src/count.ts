// count(*): visible rows without decoding any.
import type { Relation } from '@blockwright/access';
import { type BlockNumber, type BufferId, isStorageError, type OffsetNumber, StorageError } from '@blockwright/base';
import { LP_NORMAL, linePointer, lpFlags, lpLength, lpOffset, type PageMemory, pagePruneXid } from '@blockwright/page';
import type { Snapshot } from '@blockwright/transam';
import { tupleInfomask, tupleXmax, tupleXmin } from '@blockwright/tuple';
import { VISIBILITYMAP_ALL_VISIBLE, type VisibilityMap } from '@blockwright/visibilitymap';
import { countJudged, countNormalLinePointers, PageTuples } from './collect.ts';
import { corruptLinePointer, unknownVisibility } from './errors.ts';
import { HintSink } from './hints.ts';
import { linePointerCount } from './line-pointers.ts';
import { heapPagePruneOpt } from './prune.ts';
import { countForSnapshot } from './snapshot-loops.ts';
import { collectIfKnown, type UnknownPolicy } from './unknown-fate.ts';
import { judgeByHints, UNKNOWN } from './visibility.ts';
import { READ_AHEAD_BYTES, ringFor } from './whole-table.ts';

/** What a count saw on its way. */
export interface HeapCount {
  readonly rows: number;
  readonly pages: number;
  /** Pages whose tuples were not judged, since the visibility map says that all are visible. */
  readonly pagesByMap: number;
  /** Tuples of which nothing that is read says whether they are visible; not in `rows` unless asked. */
  readonly unknown: number;
}

export interface HeapCountOptions {
  /** Pages that the map calls all-visible are counted from their line pointers; without it every tuple is judged. */
  readonly map?: VisibilityMap;
  /** Who looks: the rows that it sees are counted. */
  readonly snapshot?: Snapshot;
  /** What to do with tuples of which nothing that is read says whether they are visible; `error` by default. */
  readonly unknown?: UnknownPolicy;
}

/**
 * Counts the visible rows of a heap.
 * @throws StorageError XX001 for a damaged page; without a snapshot 0A000 for a tuple of unknown visibility unless
 * `unknown` says otherwise, with one 58P01 when the commit log's segment is gone.
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
  const { snapshot } = options;
  const counter = snapshot && new SnapshotCounter(relation, snapshot, options.unknown ?? 'error');
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
        } else if (counter !== undefined) {
          rows += counter.page(block, id);
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
  const unknown = counter?.unknown ?? unknownOut[0];
  return { rows: options.unknown === 'include' ? rows + unknown : rows, pages: blocks, pagesByMap, unknown };
}

/** Counts, page by page, the rows that a snapshot sees. */
class SnapshotCounter {
  private readonly relation: Relation;
  private readonly snapshot: Snapshot;
  private readonly policy: UnknownPolicy;
  private readonly hints: HintSink;
  private tuples: PageTuples | undefined = undefined;

  constructor(relation: Relation, snapshot: Snapshot, policy: UnknownPolicy) {
    this.relation = relation;
    this.snapshot = snapshot;
    this.policy = policy;
    this.hints = HintSink.for(relation);
  }

  /** Tuples so far whose fate the commit log should know and cannot tell: not counted. */
  get unknown(): number {
    return this.tuples?.unknown ?? 0;
  }

  /** Rows of the page, after pruning it if that is due; hint bits that were set are kept. */
  page(block: BlockNumber, id: BufferId): number {
    const { relation, snapshot, hints } = this;
    const { pool, geometry, name } = relation;
    const m = pool.memory(id);
    const base = pool.base(id);
    if (hints.writable && pagePruneXid(m, base) !== 0) heapPagePruneOpt(relation, id, snapshot.transactions);
    const lines = linePointerCount(m, base, geometry.size, name, block);
    let rows: number;
    try {
      rows = countForSnapshot(m, base, geometry.size, lines, snapshot, hints);
    } catch (error) {
      if (this.policy === 'error' || !isStorageError(error)) throw error;
      this.tuples ??= new PageTuples(geometry);
      rows = collectIfKnown(m, base, geometry.size, block, name, snapshot, hints, 'skip', this.tuples);
    }
    hints.flush(relation, id);
    if (rows < 0) throw badLinePointer(m, base, name, block, -rows);
    return rows;
  }
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
