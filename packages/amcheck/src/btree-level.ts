// One level of a tree, walked from left to right along the right links, and held against the downlinks of the level above:
// order within and across pages, high keys, links, levels. Collects the downlinks to the level below. PostgreSQL:
// bt_check_level_from_leftmost, bt_child_highkey_check, bt_downlink_missing_check, verify_nbtree.c.
import type { BlockNumber, Progress } from '@blockwright/base';
import {
  BTP_HAS_FULLXID,
  BTP_META,
  BTP_ROOT,
  btFlags,
  btIgnore,
  btIncompleteSplit,
  btIsDeleted,
  btIsHalfDead,
  btIsLeaf,
  btLevel,
  btNext,
  btPrev,
  downlink,
} from '@blockwright/nbtree';
import { itemPosition, pageMaxOffset } from '@blockwright/page';
import { Downlinks, NO_KEY, UNKNOWN_KEY } from './btree-downlinks.ts';
import { BtreePageCheck } from './btree-page.ts';
import { PAGE_SOUND, PAGE_ZERO } from './btree-pages.ts';

/** Walks the levels of one index. */
export class BtreeLevelWalk {
  /** One byte a block: 0, or the level that it was found on, plus 1. */
  readonly visited: Uint8Array;
  private readonly page: BtreePageCheck;
  private readonly root: BlockNumber;

  /** Of the walk along one level. */
  private level = 0;
  private above: Downlinks | undefined = undefined;
  private below: Downlinks | undefined = undefined;
  /** The downlink that is due next. */
  private due = 0;
  /** What ends the left half of an incomplete split, whose right half has no downlink: that half must end with it. */
  private pendingKey = UNKNOWN_KEY;
  private isPending = false;

  constructor(page: BtreePageCheck, root: BlockNumber) {
    this.page = page;
    this.root = root;
    this.visited = new Uint8Array(page.pages.blockCount);
  }

  /**
   * Walks the level on which `leftmost` is, or what is left of it.
   * @param above its downlinks, none for the root
   * @param below takes the downlinks that the level has
   */
  *walk(leftmost: BlockNumber, level: number, above: Downlinks | undefined, below: Downlinks): Generator<Progress> {
    this.level = level;
    this.above = above;
    this.below = below;
    this.due = 0;
    this.page.beginLevel();
    let start = this.firstOf(leftmost);
    let from = start === leftmost ? 0 : btPrevUnknown;
    for (;;) {
      yield* this.chain(start, from);
      // A chain that broke off goes on where the next downlink that was not followed leads to.
      const next = this.nextUnvisited();
      if (next < 0) return;
      start = next;
      from = btPrevUnknown;
      this.page.beginLevel();
      this.isPending = false;
    }
  }

  /** To the left of the first downlink's page only half-dead ones can be. */
  private firstOf(leftmost: BlockNumber): BlockNumber {
    const { pages, report } = this.page;
    let block = leftmost;
    for (let steps = 0; steps < pages.blockCount; steps++) {
      if (pages.load(block) !== PAGE_SOUND) return leftmost;
      const { memory, base, geometry } = pages;
      const left = btPrev(memory, base, geometry.size);
      if (left === 0) return block;
      if (left >= pages.blockCount || left === block || pages.load(left) !== PAGE_SOUND) return leftmost;
      if (!btIsHalfDead(memory, pages.base, geometry.size)) {
        const message = `block ${leftmost} is not leftmost: its left sibling is block ${left}, which has no downlink`;
        report.error('level.not_leftmost', leftmost, 0, message);
        return leftmost;
      }
      block = left;
    }
    return leftmost;
  }

  private *chain(start: BlockNumber, from: number): Generator<Progress> {
    const { pages } = this.page;
    let previous = from;
    let block = start;
    let steps = 0;
    while (block !== 0) {
      if (!this.mayVisit(block, previous)) return;
      this.visited[block] = this.level < 254 ? this.level + 1 : 255;
      const next = this.visit(block, previous);
      if (next < 0) return;
      previous = block;
      block = next;
      if ((++steps & 63) === 0)
        yield { phase: 'checking the tree', done: steps, total: pages.blockCount, unit: 'blocks' };
    }
  }

  /** Whether the right link from `previous` leads to a page where nobody was yet. */
  private mayVisit(block: BlockNumber, previous: number): boolean {
    const { pages, report } = this.page;
    const from = previous >= 0 ? previous : block;
    if (block >= pages.blockCount) {
      const message = `the right link leads to block ${block}; the index has ${pages.blockCount} blocks`;
      report.error('sibling.right_link_out_of_range', from, 0, message);
      return false;
    }
    if (block === previous) {
      report.error('sibling.itself', block, 0, `the right link of block ${block} leads to the block itself`);
      return false;
    }
    if (this.visited[block] !== 0) {
      const message =
        this.visited[block] === this.level + 1
          ? `circular link chain: block ${block} was on level ${this.level} before`
          : `block ${block} is linked on two levels, ${this.visited[block] - 1} and ${this.level}`;
      report.error('sibling.linked_twice', from, 0, message);
      return false;
    }
    return true;
  }

  /** Checks a page of the level; gives its right sibling, or -1 where nothing can be believed. */
  private visit(block: BlockNumber, previous: number): number {
    const { page } = this;
    const { pages, report } = page;
    const state = pages.load(block);
    if (state !== PAGE_SOUND) {
      const what = state === PAGE_ZERO ? 'all zero' : 'no page of a B-tree';
      report.error('link.no_page', block, 0, `block ${block} is linked on level ${this.level}, and is ${what}`);
      this.skip(block);
      return -1;
    }
    const { memory: m, base, geometry } = pages;
    const { size } = geometry;
    const left = btPrev(m, base, size);
    const due = previous === btPrevUnknown ? left : previous;
    if (left !== due) {
      const message = `left link/right link pair in index is not in agreement: the left link of block ${block} is ${left}, and it is the right sibling of ${due}`;
      report.error('sibling.left_link', block, 0, message);
    }
    const next = btNext(m, base, size);
    if (btIgnore(m, base, size)) {
      this.checkIgnored(block);
      return next;
    }
    const level = btLevel(m, base, size);
    if (level !== this.level) {
      report.error('page.level', block, 0, `block ${block} says level ${level}, and is linked on level ${this.level}`);
      this.skip(block);
      return -1;
    }
    if (btIsLeaf(m, base, size) !== (level === 0)) {
      report.error('page.leaf_flag', block, 0, `btpo_flags of a page on level ${level} say otherwise`);
      this.skip(block);
      return -1;
    }
    const isRoot = (btFlags(m, base, size) & BTP_ROOT) !== 0;
    // A root that is being split is none any more; the new one above it comes with whoever finishes the split.
    if (isRoot !== (block === this.root) && (isRoot || !btIncompleteSplit(m, base, size))) {
      const what = isRoot
        ? 'is marked as a root, which is'
        : 'is not marked as the root, which it is by the meta page:';
      report.error('page.root_flag', block, 0, `block ${block} ${what} block ${this.root}`);
    }
    const strange = btFlags(m, base, size) & (BTP_META | BTP_HAS_FULLXID);
    if (strange !== 0) {
      const message = `btpo_flags of a page in use have ${strange}, which only meta and deleted pages have`;
      report.error('page.flags', block, 0, message);
    }
    const upTo = this.matchDownlink(block);
    if (!page.check(block, upTo, this.above)) return next;
    if (level > 0 && this.below !== undefined) this.collect(block, this.below);
    return next;
  }

  /** Half-dead pages are passed by; a deleted one has no links from anywhere. */
  private checkIgnored(block: BlockNumber): void {
    const { pages, report } = this.page;
    const { memory: m, base, geometry } = pages;
    if (btIsDeleted(m, base, geometry.size)) {
      report.error('link.deleted_page', block, 0, `downlink or sibling link points to deleted block ${block}`);
    } else if (!btIsLeaf(m, base, geometry.size)) {
      report.error('page.half_dead', block, 0, `internal block ${block} is marked half-dead`);
    }
    this.skip(block);
  }

  /** Takes the downlink of a page that is not looked into. */
  private skip(block: BlockNumber): void {
    const { above } = this;
    if (above !== undefined && this.due < above.count && above.children[this.due] === block) this.due++;
  }

  /** Which key ends the page, by the downlinks above. */
  private matchDownlink(block: BlockNumber): number {
    const { above } = this;
    const { pages, report } = this.page;
    const { memory: m, geometry } = pages;
    if (above === undefined) return UNKNOWN_KEY;
    const isIncomplete = btIncompleteSplit(m, pages.base, geometry.size);
    let key: number;
    if (this.due < above.count && above.children[this.due] === block) {
      key = above.keys[this.due++];
      if (this.isPending) this.sayIncomplete(block);
    } else if (this.isPending) key = this.pendingKey;
    else if (this.jumpTo(block)) key = above.keys[this.due - 1];
    else if (this.isBeingDeleted(block)) return UNKNOWN_KEY;
    else {
      report.error(
        'downlink.missing',
        block,
        0,
        `index block lacks downlink: no page on level ${this.level + 1} has one to block ${block}`,
      );
      return UNKNOWN_KEY;
    }
    this.isPending = isIncomplete;
    this.pendingKey = key;
    return isIncomplete ? UNKNOWN_KEY : key;
  }

  private sayIncomplete(block: BlockNumber): void {
    const message = `the split of the page to the left of block ${block} is called incomplete, but its right half has a downlink`;
    this.page.report.error('page.incomplete_split', block, 0, message);
  }

  /** Whether one of the next downlinks leads to the block: those before it lead elsewhere than the right links. */
  private jumpTo(block: BlockNumber): boolean {
    const { above } = this;
    if (above === undefined) return false;
    for (let i = this.due; i < above.count; i++) {
      if (above.children[i] !== block) continue;
      for (let k = this.due; k < i; k++) this.sayUnfollowed(above, k);
      this.due = i + 1;
      return true;
    }
    return false;
  }

  private sayUnfollowed(above: Downlinks, i: number): void {
    const child = above.children[i];
    const isNowhere = child >= this.visited.length;
    const what = isNowhere
      ? `beyond the ${this.visited.length} blocks of the index`
      : `where the right links of level ${this.level} do not pass at that place`;
    const code = isNowhere ? 'downlink.out_of_range' : 'downlink.not_in_chain';
    const { report } = this.page;
    report.error(code, above.parents[i], above.offsets[i], `the downlink leads to block ${child}, ${what}`);
  }

  /** The next downlink to a page that is not reached by links; -1 when there is none. */
  private nextUnvisited(): number {
    const { above } = this;
    if (above === undefined) return -1;
    while (this.due < above.count) {
      const child = above.children[this.due];
      this.sayUnfollowed(above, this.due++);
      if (child !== 0 && child < this.visited.length && this.visited[child] === 0) {
        this.due--; // the page takes it
        return child;
      }
    }
    return -1;
  }

  /**
   * Whether an internal page without downlink is the top of a branch whose deletion was not finished: its leaf is
   * half-dead, and says so.
   */
  private isBeingDeleted(block: BlockNumber): boolean {
    const { pages } = this.page;
    const { memory: m, geometry } = pages;
    let child = block;
    for (let level = this.level; level > 0; level--) {
      if (child >= pages.blockCount || pages.load(child) !== PAGE_SOUND) break;
      const offset = this.page.firstItem();
      if (btLevel(m, pages.base, geometry.size) !== level || offset === 0) break;
      child = downlink(m, itemPosition(m, pages.base, offset));
    }
    let isSo = false;
    if (child !== block && child < pages.blockCount && pages.load(child) === PAGE_SOUND) {
      const isHalfDead = btIsHalfDead(m, pages.base, geometry.size) && btIsLeaf(m, pages.base, geometry.size);
      isSo = isHalfDead && pageMaxOffset(m, pages.base) === 1 && this.topParentOf(pages.base) === block;
    }
    pages.load(block);
    return isSo;
  }

  private topParentOf(base: number): BlockNumber {
    const { memory: m } = this.page.pages;
    const at = itemPosition(m, base, 1);
    return (at & 7) === 0 && at + 8 <= m.u8.length ? downlink(m, at) : 0;
  }

  private collect(block: BlockNumber, below: Downlinks): void {
    const { pages } = this.page;
    const { memory: m, base } = pages;
    const first = this.page.firstItem();
    const last = pageMaxOffset(m, base);
    const highKey = first === 2 ? below.addKey(m, itemPosition(m, base, 1)) : NO_KEY;
    for (let o = first; o <= last; o++) {
      const key = o < last ? below.addKey(m, itemPosition(m, base, o + 1)) : highKey;
      below.push(downlink(m, itemPosition(m, base, o)), block, o, key);
    }
  }
}

/** The block to the left cannot be told: a chain begins here after another one broke off. */
const btPrevUnknown = -1;
