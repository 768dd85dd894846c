// What inserts work in: pages and tuples made aside, split points, deduplication, deletion. One a block size: the core is
// synchronous, and nothing in here outlives a step of an insert.
import type { BlockGeometry } from '@blockwright/geometry';
import { CompactionScratch, type PageMemory, tempPage } from '@blockwright/page';
import { DedupState } from './dedup-state.ts';
import { DeletionList } from './deletion-list.ts';
import { SplitPointFinder } from './split-point.ts';

export class Workspace {
  /** The left half of a split, or a page made anew. */
  readonly leftPage: PageMemory;
  readonly rightPage: PageMemory;
  /** A tuple that is being made: a high key, a posting list. */
  readonly tuple: PageMemory;
  /** Tuples that a split of a posting list makes: the list, and the new tuple with its last TID. */
  readonly posting: PageMemory;
  readonly swapped: PageMemory;
  /** The tuple that leads to a new right page. */
  readonly downlink: PageMemory;
  readonly dedup: DedupState;
  readonly splitPoint: SplitPointFinder;
  readonly deletions: DeletionList;
  readonly compaction: CompactionScratch;

  constructor(g: BlockGeometry) {
    this.leftPage = tempPage(g);
    this.rightPage = tempPage(g);
    this.tuple = tempPage(g);
    this.posting = tempPage(g);
    this.swapped = tempPage(g);
    this.downlink = tempPage(g);
    this.dedup = new DedupState(g);
    this.splitPoint = new SplitPointFinder(g);
    this.deletions = new DeletionList(g);
    this.compaction = new CompactionScratch(g);
  }
}

const workspaces: (Workspace | undefined)[] = [];

/** The workspace of a block size. */
export function workspaceOf(g: BlockGeometry): Workspace {
  return (workspaces[g.shift] ??= new Workspace(g));
}
