// One page, for people who import this package alone: an object over the functions that engines call with numbers.
import {
  type BlockNumber,
  blockNumber,
  checkOptions,
  type Finding,
  formatLsn,
  type OffsetNumber,
} from '@blockwright/base';
import { BlockGeometry, type BlockSize } from '@blockwright/geometry';
import { pageAddItem } from './add.ts';
import { pageChecksum } from './checksum.ts';
import { CompactionScratch } from './compaction/scratch.ts';
import type { Compaction } from './compaction.ts';
import { findPageFaults } from './findings.ts';
import { pageExactFreeSpace, pageFreeSpace } from './free-space.ts';
import {
  checkPageBounds,
  pageBoundsAreSane,
  pageFlags,
  pageInit,
  pageIsNew,
  pageLayoutVersion,
  pageLower,
  pageLsnHigh,
  pageLsnLow,
  pageMaxOffset,
  pagePruneXid,
  pageSetHasFreeLines,
  pageSizeOf,
  pageSpecial,
  pageStoredChecksum,
  pageUpper,
} from './header.ts';
import { pageIndexTupleDeleteNoCompact } from './index-items.ts';
import { checkedItem, linePointer, lpFlags, lpLength, lpOffset } from './line-pointer.ts';
import { type PageMemory, PageMemoryViews } from './memory.ts';
import { pageRepairFragmentation } from './repair.ts';
import { copyPage } from './temp-page.ts';

export interface PageOptions {
  /** The page's size, such as `8192` or `8kB`. Default: the length of the bytes. */
  readonly blockSize?: BlockSize | `${number}kB`;
}

/** The fields of a page header. */
export interface PageHeader {
  /** Such as `0/1A2B3C`. */
  readonly lsn: string;
  /** As stored; 0 where there is none. */
  readonly checksum: number;
  readonly flags: number;
  readonly lower: number;
  readonly upper: number;
  readonly special: number;
  readonly pageSize: number;
  readonly version: number;
  readonly pruneXid: number;
}

export type LinePointerState = 'unused' | 'normal' | 'redirect' | 'dead';

/** A line pointer and its item. */
export interface PageItem {
  readonly offsetNumber: OffsetNumber;
  readonly state: LinePointerState;
  /** The item's byte in the page; of a redirect, the offset number it leads to. */
  readonly offset: number;
  readonly length: number;
  /** The item's bytes in the page itself, not a copy; null where it has none. */
  readonly bytes: Uint8Array | null;
}

const STATES: readonly LinePointerState[] = ['unused', 'normal', 'redirect', 'dead'];

/**
 * One page. What it is made of are the caller's bytes ({@link Page.view}) or its own ({@link Page.copyOf},
 * {@link Page.create}). Bytes of any content are taken: {@link verify} says what is wrong with them, and the other
 * methods refuse with a StorageError XX001 what they cannot do with damaged ones.
 */
export class Page {
  readonly geometry: BlockGeometry;
  /** For the functions of this package; the page's base in it is 0. */
  readonly memory: PageMemory;

  private constructor(memory: PageMemory, geometry: BlockGeometry) {
    this.memory = memory;
    this.geometry = geometry;
  }

  /**
   * The page in these bytes: changes of one are changes of the other.
   * @throws RangeError when they are not as long as a page, or do not begin on a multiple of 4 in their buffer (then
   * only a copy could be worked on, and it would swallow what is written: see {@link Page.copyOf}).
   */
  static view(bytes: Uint8Array, options: PageOptions = {}): Page {
    const geometry = geometryFor(bytes, options, 'Page.view');
    if ((bytes.byteOffset & 3) !== 0) {
      throw new RangeError(
        `a page cannot be viewed at byte ${bytes.byteOffset} of its buffer, which is no multiple of 4: use Page.copyOf`,
      );
    }
    return new Page(new PageMemoryViews(bytes.buffer, bytes.byteOffset, geometry.size), geometry);
  }

  /**
   * A copy of the page in these bytes.
   * @throws RangeError when they are not as long as a page.
   */
  static copyOf(bytes: Uint8Array, options: PageOptions = {}): Page {
    const geometry = geometryFor(bytes, options, 'Page.copyOf');
    const memory = new PageMemoryViews(new ArrayBuffer(geometry.size));
    memory.u8.set(bytes);
    return new Page(memory, geometry);
  }

  /**
   * An empty page, initialised.
   * @throws RangeError when the special space (rounded up to 8) leaves no room.
   */
  static create(blockSize: BlockSize | `${number}kB`, options: { readonly specialBytes?: number } = {}): Page {
    checkOptions('Page.create', options, ['specialBytes']);
    const geometry = BlockGeometry.of(blockSize);
    const page = new Page(new PageMemoryViews(new ArrayBuffer(geometry.size)), geometry);
    pageInit(page.memory, 0, geometry, options.specialBytes ?? 0);
    return page;
  }

  /** The page's bytes themselves. */
  get bytes(): Uint8Array {
    return this.memory.u8;
  }

  /** The header as it stands, right or wrong. */
  get header(): PageHeader {
    const m = this.memory;
    return {
      lsn: formatLsn(pageLsnHigh(m, 0), pageLsnLow(m, 0)),
      checksum: pageStoredChecksum(m, 0),
      flags: pageFlags(m, 0),
      lower: pageLower(m, 0),
      upper: pageUpper(m, 0),
      special: pageSpecial(m, 0),
      pageSize: pageSizeOf(m, 0),
      version: pageLayoutVersion(m, 0),
      pruneXid: pagePruneXid(m, 0),
    };
  }

  /** Whether the page was never initialised. */
  get isNew(): boolean {
    return pageIsNew(this.memory, 0);
  }

  /** Line pointers, unused ones included; 0 where the header's bounds make no sense. */
  get itemCount(): number {
    return pageBoundsAreSane(this.memory, 0, this.geometry) ? pageMaxOffset(this.memory, 0) : 0;
  }

  /** The longest item, in bytes, that {@link add} has room for; 0 where the header's bounds make no sense. */
  get freeSpace(): number {
    return pageBoundsAreSane(this.memory, 0, this.geometry) ? pageFreeSpace(this.memory, 0) & ~7 : 0;
  }

  /** Bytes between line pointers and items; 0 where the header's bounds make no sense. */
  get freeBytes(): number {
    return pageBoundsAreSane(this.memory, 0, this.geometry) ? pageExactFreeSpace(this.memory, 0) : 0;
  }

  /** The special space, in the page itself; empty where there is none. */
  get special(): Uint8Array {
    return this.bytes.subarray(pageSpecial(this.memory, 0));
  }

  /**
   * The bytes of item `n` (from 1), in the page itself and not a copy; null when its line pointer has no item.
   * @throws RangeError when there is no line pointer `n`; StorageError XX001 when it leads outside the page's items.
   */
  item(n: OffsetNumber): Uint8Array | null {
    this.checkOffset(n);
    if (lpFlags(linePointer(this.memory, 0, n)) === 0) return null;
    const lp = checkedItem(this.memory, 0, this.geometry, n);
    return lp === 0 ? null : this.bytes.subarray(lpOffset(lp), lpOffset(lp) + lpLength(lp));
  }

  /**
   * All line pointers with their items, in order.
   * @throws StorageError XX001 at the first one that leads outside the page's items.
   */
  *items(): Generator<PageItem, void, void> {
    for (let n = 1; n <= this.itemCount; n++) {
      const bytes = this.item(n);
      const lp = linePointer(this.memory, 0, n);
      const state = STATES[lpFlags(lp)] as LinePointerState;
      yield { offsetNumber: n, state, offset: lpOffset(lp), length: lpLength(lp), bytes };
    }
  }

  /**
   * Adds an item.
   * @returns its offset number, or 0 when there is no room for it.
   * @throws StorageError XX001 when the header's bounds make no sense.
   */
  add(item: Uint8Array): OffsetNumber {
    return pageAddItem(this.memory, 0, this.geometry, item, 0, item.length);
  }

  /**
   * Deletes item `n`. Other items keep their numbers; the next {@link add} may take this one.
   * @throws RangeError when there is no line pointer `n`; StorageError XX001 when the page is damaged, or it has no item.
   */
  delete(n: OffsetNumber): void {
    this.checkOffset(n);
    pageIndexTupleDeleteNoCompact(this.memory, 0, this.geometry, n);
    if (n <= this.itemCount) pageSetHasFreeLines(this.memory, 0);
  }

  /**
   * Closes all gaps between items and cuts off unused line pointers at the end. Items keep their numbers.
   * @throws StorageError XX001 when the page is damaged; it is left as it was.
   */
  compact(how: Compaction = 'adaptive'): void {
    pageRepairFragmentation(this.memory, 0, this.geometry, new CompactionScratch(this.geometry), how);
  }

  /**
   * All that is wrong with the page; with a block number, its checksum too. `linePointers: false` is for pages that keep
   * something else there, such as an index's metapage.
   */
  verify(options: { readonly block?: BlockNumber; readonly linePointers?: boolean } = {}): Finding[] {
    checkOptions('Page.verify', options, ['block', 'linePointers']);
    const findings: Finding[] = [];
    const checks = { ...options, checksum: options.block !== undefined };
    findPageFaults(this.memory, 0, this.geometry, checks, (finding) => findings.push(finding));
    return findings;
  }

  /**
   * The checksum that the page should carry as block `block` of its relation; `header.checksum` is the stored one.
   * @throws RangeError when `block` is no block number.
   */
  checksum(block: BlockNumber): number {
    return pageChecksum(this.memory, 0, this.geometry, blockNumber(block));
  }

  /** A copy of this page, of its own memory. */
  clone(): Page {
    const memory = new PageMemoryViews(new ArrayBuffer(this.geometry.size));
    copyPage(this.memory, 0, memory, 0, this.geometry);
    return new Page(memory, this.geometry);
  }

  private checkOffset(n: OffsetNumber): void {
    checkPageBounds(this.memory, 0, this.geometry);
    if (!Number.isInteger(n) || n < 1 || n > this.itemCount) {
      throw new RangeError(`the page has no item ${String(n)}: it has ${this.itemCount}, counted from 1`);
    }
  }
}

function geometryFor(bytes: Uint8Array, options: PageOptions, what: string): BlockGeometry {
  checkOptions(what, options, ['blockSize']);
  const geometry = BlockGeometry.of(options.blockSize ?? bytes.length);
  if (bytes.length !== geometry.size) {
    throw new RangeError(`${what}: ${bytes.length} bytes are not one page of ${geometry.size}`);
  }
  return geometry;
}
