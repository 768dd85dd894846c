// Which entries of an index's pages stand for rows that a snapshot sees. Where the visibility map says that all rows of a
// block are visible to everybody, the table is not asked. The map is asked in the same synchronous step in which the leaf
// page is read: vacuum, which takes entries out before it frees the line pointers of their rows, cannot come in between.
// PostgreSQL keeps the leaf page pinned instead: nodeIndexonlyscan.c.
import { HeapTableAccess } from '@blockwright/heap';
import type { BtreeScan } from '@blockwright/nbtree';
import type { Snapshot } from '@blockwright/transam';
import type { VisibilityCursor } from '@blockwright/visibilitymap';
import { allVisibleUntil } from './all-visible.ts';
import type { QueryIndex } from './query-index.ts';
import type { ScanStats } from './scan.ts';

/** Goes through the pages of an index scan. Between two of its steps nothing is pinned: {@link pause} sees to that. */
export class VisibleEntries {
  readonly scan: BtreeScan;
  /** Numbers of the visible entries of the page, where not all of them are. */
  readonly chosen: Int32Array;
  /** Whether all entries of the page are visible. */
  isWhole = true;
  private readonly index: QueryIndex;
  private readonly snapshot: Snapshot;
  private readonly access: HeapTableAccess;
  private readonly useMap: boolean;
  private readonly mayKill: boolean;
  private cursor: VisibilityCursor | undefined = undefined;
  private entries = 0;
  private heapFetches = 0;
  private killed = 0;

  /** @param useMap false: the table is asked for every entry */
  constructor(index: QueryIndex, scan: BtreeScan, snapshot: Snapshot, useMap = true) {
    this.index = index;
    this.scan = scan;
    this.snapshot = snapshot;
    this.access = new HeapTableAccess(index.heap, index.transactions);
    this.useMap = useMap;
    this.mayKill = !index.btree.relation.storage.readOnly;
    this.chosen = new Int32Array(scan.blocks.length);
  }

  get stats(): ScanStats {
    const { scan, entries, heapFetches, killed } = this;
    return { indexPages: scan.pages, entries, heapFetches, killed };
  }

  /** Reads the next leaf page: how many of its entries are visible; -1 when there is no further one. */
  nextPage(): number {
    const { scan } = this;
    scan.flushKilled();
    const count = scan.nextPage();
    if (count === 0) return -1;
    this.entries += count;
    const whole = this.useMap ? allVisibleUntil(scan.blocks, 0, count, this.openCursor()) : 0;
    this.isWhole = whole === count;
    return this.isWhole ? count : this.judge(whole, count);
  }

  /** Gives back every pin, and marks dead what was found to be: to be called before anybody else has his turn. */
  pause(): void {
    this.access.release();
    this.cursor?.close();
    this.cursor = undefined;
    this.scan.flushKilled();
  }

  close(): void {
    this.scan.close();
  }

  private openCursor(): VisibilityCursor {
    this.cursor ??= this.index.map.cursor();
    return this.cursor;
  }

  /** Asks the table for the entries from `whole` on whose blocks the map does not vouch for. */
  private judge(whole: number, count: number): number {
    const { scan, chosen, access, snapshot } = this;
    const { blocks, offsets } = scan;
    let taken = 0;
    for (; taken < whole; taken++) chosen[taken] = taken;
    for (let i = whole; i < count; ) {
      const block = blocks[i];
      for (; i < count && blocks[i] === block; i++) {
        this.heapFetches++;
        if (access.fetch(block, offsets[i], snapshot) !== 0) chosen[taken++] = i;
        else if (access.allDead && this.mayKill) this.kill(i);
      }
      const until = this.useMap ? allVisibleUntil(blocks, i, count, this.openCursor()) : i;
      for (; i < until; i++) chosen[taken++] = i;
    }
    return taken;
  }

  private kill(item: number): void {
    this.scan.kill(item);
    this.killed++;
  }
}
