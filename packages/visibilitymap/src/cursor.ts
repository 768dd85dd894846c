// Reads the map for somebody who asks for one heap block after another: the map page stays pinned, and with it the
// window of heap blocks whose bits it holds. Within the window a status costs one subtraction, one compare, one byte.
import type { BlockNumber } from '@blockwright/base';
import { SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import type { VisibilityMap } from './map.ts';

const NOTHING = new Uint8Array(0);

/**
 * Status after status of one map. It pins at most one page, until {@link close} or a block outside its window; while
 * it does, the map cannot be cut below that page. PostgreSQL: the `vmbuffer` that callers of
 * `visibilitymap_get_status` carry.
 */
export class VisibilityCursor implements Disposable {
  private readonly map: VisibilityMap;
  /** The window: heap blocks [first, first + length). Without a pinned page, length is 0 and no block is in it. */
  private first: BlockNumber = 0;
  private length = 0;
  private bits: Uint8Array = NOTHING;
  private at = 0;
  private buffer = -1;
  /** Pages that the map had, and its count of moves, when it was last asked. */
  private end: BlockNumber = 0;
  private moves = -1;
  private closed = false;

  /** @internal */
  constructor(map: VisibilityMap) {
    this.map = map;
  }

  /**
   * The bits of heap block `b`: 0, or `VISIBILITYMAP_ALL_VISIBLE` and perhaps `VISIBILITYMAP_ALL_FROZEN`. 0 beyond the
   * map's end, and where its page is damaged. PostgreSQL: `visibilitymap_get_status`.
   */
  status(b: BlockNumber): number {
    // Below the window the difference wraps to a large number: one compare sees both sides.
    const i = (b - this.first) >>> 0;
    if (i >= this.length) return this.cross(b);
    return (this.bits[this.at + (i >>> 2)] >>> ((i & 3) << 1)) & 3;
  }

  /** Gives the pinned page back. Closing twice is fine. */
  close(): void {
    this.leave();
    this.closed = true;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Moves the window to the page that holds `b`, if the map has it. */
  private cross(b: BlockNumber): number {
    if (this.closed) throw new TypeError('the visibility cursor is closed');
    this.leave();
    const { map } = this;
    const { pool, geometry } = map;
    const mapBlock = geometry.vmBlockOf(b);
    if (this.moves !== map.moves) {
      this.end = map.readableBlocks();
      this.moves = map.moves;
    }
    if (mapBlock >= this.end) {
      map.stats.missingPages++;
      return 0;
    }
    const id = pool.pinZeroOnError(map.fork, mapBlock);
    this.buffer = id;
    this.bits = pool.memory(id).u8;
    this.at = pool.base(id) + SIZE_OF_PAGE_HEADER;
    this.first = geometry.firstHeapBlockOf(mapBlock);
    // The last page's bits go on beyond the last block number; block 0 must not fall among them when it wraps.
    // (No Math.min: over doubles its machine code holds a division, which makes the NaN that it might have to return.)
    const beforeWrap = -this.first >>> 0;
    const whole = geometry.heapBlocksPerVmPage;
    this.length = beforeWrap !== 0 && beforeWrap < whole ? beforeWrap : whole;
    const i = (b - this.first) >>> 0;
    return (this.bits[this.at + (i >>> 2)] >>> ((i & 3) << 1)) & 3;
  }

  private leave(): void {
    const id = this.buffer;
    if (id < 0) return;
    this.buffer = -1;
    this.length = 0;
    this.bits = NOTHING;
    this.map.pool.unpin(id);
  }
}
