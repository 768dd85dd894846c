// From a block size to every shift and mask, and the mappings that use them: block to segment and byte, heap block to
// visibility map and free space map, transaction to commit log. Only shifts, masks, additions and subtractions.
//
// Two divisors are no power of two: heap blocks a visibility map page, 2^(b+2) - 96, and slots a free space map page,
// 2^(b-1) - 27, for a block of 2^b bytes. With D = 2^k - c and x = q * 2^k + r, x is also q * D + (q * c + r): so each
// round takes q = x >>> k out of x, adds it to the quotient, and leaves the smaller q * c + r; c = 96 and 27 are sums
// of two and four shifts. At most 5 rounds are needed for 96, and 7 for 27.
import type { BlockNumber, Xid } from '@blockwright/base';
import { BLOCK_SIZES, type BlockSize, parseBlockSize } from './block-size.ts';
import { type GeometryConstants, geometryConstants } from './constants.cold.ts';

/** All that follows from a block size. One frozen instance a size: two sizes can live in one process. */
export class BlockGeometry {
  /** Bytes of a block. PostgreSQL: `BLCKSZ`. */
  readonly size: BlockSize;
  /** log2 of {@link size}. */
  readonly shift: number;
  /** `size - 1`. */
  readonly mask: number;
  /** log2 of the blocks a segment file has by default. */
  readonly segmentShift: number;
  /** Blocks a segment file has by default, less one. */
  readonly segmentMask: number;
  /** The most line pointers a page has room for. PostgreSQL: `MaxOffsetNumber`. */
  readonly maxOffsetNumber: number;
  /** The largest heap tuple, header included, in bytes. PostgreSQL: `MaxHeapTupleSize`. */
  readonly maxHeapTupleSize: number;
  /** The most heap tuples a page can hold. PostgreSQL: `MaxHeapTuplesPerPage`. */
  readonly maxHeapTuplesPerPage: number;
  /** Heap blocks whose bits one visibility map page holds. PostgreSQL: `HEAPBLOCKS_PER_PAGE`, visibilitymap.c. */
  readonly heapBlocksPerVmPage: number;
  /** Slots of a leaf page of the free space map. PostgreSQL: `SlotsPerFSMPage`, fsm_internals.h. */
  readonly slotsPerFsmPage: number;
  /** Levels of the free space map. PostgreSQL: `FSM_TREE_DEPTH`. */
  readonly fsmTreeDepth: number;
  /** Every constant of this block size, by PostgreSQL's name. */
  readonly constants: GeometryConstants;
  private readonly vmShift: number;
  private readonly vmMask: number;
  private readonly fsmShift: number;
  private readonly fsmMask: number;
  private readonly clogShift: number;
  private readonly clogMask: number;

  private constructor(size: BlockSize) {
    const constants = Object.freeze(geometryConstants(size));
    this.size = size;
    this.shift = 31 - Math.clz32(size);
    this.mask = size - 1;
    this.segmentShift = 30 - this.shift;
    this.segmentMask = constants.RELSEG_SIZE - 1;
    this.maxOffsetNumber = constants.MaxOffsetNumber;
    this.maxHeapTupleSize = constants.MaxHeapTupleSize;
    this.maxHeapTuplesPerPage = constants.MaxHeapTuplesPerPage;
    this.heapBlocksPerVmPage = constants.HEAPBLOCKS_PER_PAGE;
    this.slotsPerFsmPage = constants.SlotsPerFSMPage;
    this.fsmTreeDepth = constants.FSM_TREE_DEPTH;
    this.constants = constants;
    this.vmShift = this.shift + 2;
    this.vmMask = (1 << this.vmShift) - 1;
    this.fsmShift = this.shift - 1;
    this.fsmMask = (1 << this.fsmShift) - 1;
    this.clogShift = this.shift + 2;
    this.clogMask = (1 << this.clogShift) - 1;
    Object.freeze(this);
  }

  /** Where {@link of} finds them. */
  private static readonly instances: readonly BlockGeometry[] = BLOCK_SIZES.map((size) => new BlockGeometry(size));

  /**
   * The geometry of a block size, in bytes or as text: `8192`, `'8kB'`, `'8k'`. The same instance each time.
   * @throws RangeError that lists the six sizes when it is none of them.
   */
  static of(size: BlockSize | `${number}kB` | `${number}k` | (string & {}) | number): BlockGeometry {
    return BlockGeometry.instances[BLOCK_SIZES.indexOf(parseBlockSize(size))] as BlockGeometry;
  }

  /** Number of the segment file that holds `block`, at the default segment size. PostgreSQL: `_mdfd_getseg`, md.c. */
  segmentOf(block: BlockNumber): number {
    return block >>> this.segmentShift;
  }

  /** Byte at which `block` starts in its segment file, below 2^30. */
  byteInSegment(block: BlockNumber): number {
    return (block & this.segmentMask) << this.shift;
  }

  /** The block that starts at `byte` of segment `segment`: the inverse of {@link segmentOf} and {@link byteInSegment}. */
  blockOfSegment(segment: number, byte: number): BlockNumber {
    return ((segment << this.segmentShift) | (byte >>> this.shift)) >>> 0;
  }

  /** Page of the visibility map that holds the bits of heap block `block`. PostgreSQL: `HEAPBLK_TO_MAPBLOCK`. */
  vmBlockOf(block: BlockNumber): BlockNumber {
    // The rounds are written out: five are enough for every block number (a test proves it), and a loop in here would
    // keep the compiler from hoisting its checks out of the loop of a caller that this is inlined into.
    const shift = this.vmShift;
    const mask = this.vmMask;
    let q = block >>> shift;
    let quotient = q;
    let rest = (q << 6) + (q << 5) + (block & mask);
    q = rest >>> shift;
    if (q !== 0) {
      quotient += q;
      rest = (q << 6) + (q << 5) + (rest & mask);
      q = rest >>> shift;
      if (q !== 0) {
        quotient += q;
        rest = (q << 6) + (q << 5) + (rest & mask);
        q = rest >>> shift;
        if (q !== 0) {
          quotient += q;
          rest = (q << 6) + (q << 5) + (rest & mask);
          q = rest >>> shift;
          quotient += q;
          rest = (q << 6) + (q << 5) + (rest & mask);
        }
      }
    }
    return rest >= this.heapBlocksPerVmPage ? quotient + 1 : quotient;
  }

  /** First heap block whose bits are on page `vmBlock` of the visibility map. */
  firstHeapBlockOf(vmBlock: BlockNumber): BlockNumber {
    return ((vmBlock << this.vmShift) - ((vmBlock << 6) + (vmBlock << 5))) >>> 0;
  }

  /** Byte within the map area (after the page header) that holds the bits of `block`. PostgreSQL: `HEAPBLK_TO_MAPBYTE`. */
  vmByteOf(block: BlockNumber): number {
    return (block - this.firstHeapBlockOf(this.vmBlockOf(block))) >>> 2;
  }

  /** Shift of the two bits of `block` within their byte: 0, 2, 4 or 6. PostgreSQL: `HEAPBLK_TO_OFFSET`. */
  vmShiftOf(block: BlockNumber): number {
    return (block & 3) << 1; // heap blocks a map page are a multiple of 4
  }

  /** The heap block whose bits stand at (map page, byte of the map area, shift): the inverse of the three above. */
  heapBlockOfVm(vmBlock: BlockNumber, byte: number, shift: number): BlockNumber {
    return (this.firstHeapBlockOf(vmBlock) + (byte << 2) + (shift >>> 1)) >>> 0;
  }

  /** Logical leaf page of the free space map that holds the slot of heap block `block`. PostgreSQL: `fsm_get_location`. */
  fsmLeafOf(block: BlockNumber): number {
    const shift = this.fsmShift;
    const mask = this.fsmMask;
    let quotient = 0;
    let rest = block >>> 0;
    for (let q = rest >>> shift; q !== 0; q = rest >>> shift) {
      quotient += q;
      rest = (q << 4) + (q << 3) + (q << 1) + q + (rest & mask);
    }
    return rest >= this.slotsPerFsmPage ? quotient + 1 : quotient;
  }

  /** Slot of heap block `block` within its leaf page. PostgreSQL: `fsm_get_location`. */
  fsmSlotOf(block: BlockNumber): number {
    return (block >>> 0) - this.timesSlots(this.fsmLeafOf(block));
  }

  /** The heap block of a slot of a leaf page: the inverse of {@link fsmLeafOf} and {@link fsmSlotOf}. PostgreSQL: `fsm_get_heap_blk`. */
  heapBlockOfFsm(leafPage: number, slot: number): BlockNumber {
    return (this.timesSlots(leafPage) + slot) >>> 0;
  }

  /**
   * Block of the free space map's fork in which a page of its tree is stored: pages are laid down depth first, each
   * before the first of its children. The parent of page `n` of a level, and its slot there, are those that
   * {@link fsmLeafOf} and {@link fsmSlotOf} give for `n`. PostgreSQL: `fsm_logical_to_physical`.
   * @param level 0 for leaves, `fsmTreeDepth - 1` for the root
   * @param logicalPage number of the page within its level
   */
  fsmPhysicalOf(level: number, logicalPage: number): BlockNumber {
    let leaf = logicalPage;
    for (let i = 0; i < level; i++) leaf = this.timesSlots(leaf);
    let pages = 0;
    for (let i = 0; i < this.fsmTreeDepth; i++) {
      pages += leaf + 1;
      leaf = this.fsmLeafOf(leaf);
    }
    return (pages - level - 1) >>> 0;
  }

  /** Level in the tree of the page that block `physical` of the free space map's fork holds: 0 for leaves. */
  fsmLevelOf(physical: BlockNumber): number {
    if (physical === 0) return this.fsmTreeDepth - 1;
    let rest = physical - 1;
    if (this.fsmTreeDepth === 4) {
      const page = this.level2PagesIn(rest);
      rest -= this.timesSlots(this.timesSlots(page) + page) + page;
      if (rest === 0) return 2;
      rest -= 1;
    }
    const page = this.level1PagesIn(rest);
    return rest === this.timesSlots(page) + page ? 1 : 0;
  }

  /** Number within its level of that page: with {@link fsmLevelOf}, the inverse of {@link fsmPhysicalOf}. */
  fsmLogicalOf(physical: BlockNumber): number {
    if (physical === 0) return 0;
    let rest = physical - 1;
    let above = 0;
    if (this.fsmTreeDepth === 4) {
      above = this.level2PagesIn(rest);
      rest -= this.timesSlots(this.timesSlots(above) + above) + above;
      if (rest === 0) return above;
      rest -= 1;
    }
    const complete = this.level1PagesIn(rest);
    const page = this.timesSlots(above) + complete;
    rest -= this.timesSlots(complete) + complete;
    return rest === 0 ? page : this.timesSlots(page) + rest - 1;
  }

  /** How many times a page of level 1 with all its leaves, 2^(b-1) - 26 pages, goes into `pages`. */
  private level1PagesIn(pages: number): number {
    const shift = this.fsmShift;
    const mask = this.fsmMask;
    let quotient = 0;
    let rest = pages >>> 0;
    for (let q = rest >>> shift; q !== 0; q = rest >>> shift) {
      quotient += q;
      rest = (q << 4) + (q << 3) + (q << 1) + (rest & mask);
    }
    return rest > this.slotsPerFsmPage ? quotient + 1 : quotient;
  }

  /** How many times a page of level 2 with all below it, S * (S + 1) + 1 pages for S slots, goes into `pages`. */
  private level2PagesIn(pages: number): number {
    const page = this.fsmLeafOf(this.level1PagesIn(pages)); // the quotient by S * (S + 1): at most one too many
    return pages - this.timesSlots(this.timesSlots(page) + page) < page ? page - 1 : page;
  }

  private timesSlots(n: number): number {
    return ((n << this.fsmShift) - ((n << 4) + (n << 3) + (n << 1) + n)) >>> 0;
  }

  /** Page of the commit log that holds the status of `xid`. PostgreSQL: `TransactionIdToPage`, clog.c. */
  clogPageOf(xid: Xid): number {
    return xid >>> this.clogShift;
  }

  /** Byte within that page. PostgreSQL: `TransactionIdToByte`. */
  clogByteOf(xid: Xid): number {
    return (xid & this.clogMask) >>> 2;
  }

  /** Shift of the two status bits within that byte. PostgreSQL: `TransactionIdToBIndex` times `CLOG_BITS_PER_XACT`. */
  clogShiftOf(xid: Xid): number {
    return (xid & 3) << 1;
  }

  /** The xid whose status stands at (page, byte, shift) of the commit log: the inverse of the three above. */
  xidOfClog(page: number, byte: number, shift: number): Xid {
    return ((page << this.clogShift) | (byte << 2) | (shift >>> 1)) >>> 0;
  }
}
