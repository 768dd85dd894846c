// The sorted array that the tree replaces: 6 bytes a TID, allocated to its limit, searched by halving. Kept to compare
// with, and as the simplest store there can be.
import { type BlockNumber, checkOptions, type OffsetNumber, StorageError } from '@blockwright/base';
import type { BlockGeometry } from '@blockwright/geometry';
import { areCounts, checkTids, refuseTids, type TidCursor, type TidStore } from './store.ts';

/** The most TIDs that there can be room for: the sum of two indexes is a positive int32, which halves without a double. */
const MAX_TIDS = 0x3fff_ffff;

/** One of the two says how many TIDs there is room for: it is allocated at once. */
export interface SortedArrayOptions {
  /** TIDs, up to 1073741823. */
  readonly maxTids?: number;
  /** Bytes, 6 a TID. PostgreSQL: `maintenance_work_mem`. */
  readonly maxBytes?: number;
}

/** How many times 6 bytes fit, found bit by bit. */
function tidsIn(bytes: number): number {
  let tids = 0;
  for (let bit = 0x2000_0000; bit !== 0; bit >>>= 1) if ((tids + bit) * 6 <= bytes) tids += bit;
  return tids;
}

/** How many TIDs the options ask for, checked. */
function tidsWanted(options: SortedArrayOptions | undefined): number {
  const given = (options ?? {}) as SortedArrayOptions;
  checkOptions('SortedArrayTidStore', given, ['maxTids', 'maxBytes']);
  const { maxTids, maxBytes } = given;
  if ((maxTids === undefined) === (maxBytes === undefined)) {
    throw new TypeError('SortedArrayTidStore takes an option: either maxTids or maxBytes');
  }
  if (maxTids !== undefined) {
    checkNumber('maxTids', maxTids);
    if ((maxTids | 0) === maxTids && maxTids > 0 && maxTids <= MAX_TIDS) return maxTids;
    throw new RangeError(
      `SortedArrayTidStore's maxTids ${String(maxTids)} is not an integer from 1 to ${String(MAX_TIDS)}`,
    );
  }
  checkNumber('maxBytes', maxBytes);
  if (maxBytes !== undefined && maxBytes >= 6 && maxBytes <= MAX_TIDS * 6) return tidsIn(maxBytes);
  throw new RangeError(
    `SortedArrayTidStore's maxBytes ${String(maxBytes)} is not from 6, one TID, to ${String(MAX_TIDS * 6)}`,
  );
}

function checkNumber(name: string, value: unknown): void {
  if (typeof value === 'number') return;
  throw new TypeError(`SortedArrayTidStore's ${name} is a number, not ${typeof value}`);
}

/** TIDs in one sorted array. PostgreSQL up to version 16: `VacDeadItems`, vacuumlazy.c. */
export class SortedArrayTidStore implements TidStore {
  private readonly blocks: Uint32Array;
  private readonly offsets: Uint16Array;
  private readonly maxOffset: number;
  /** The count of TIDs from which on a block of heap tuples may not fit. */
  private readonly fullAt: number;
  private length = 0;
  private runs = 0;
  private changes = 0;

  /**
   * Room for one block of heap tuples at least.
   * @throws TypeError when not one of the two options is given, or it is no number. RangeError when `maxTids` is no integer
   *   from 1 to 1073741823, `maxBytes` is not from 6 to six times that, or the process has no memory.
   */
  constructor(geometry: BlockGeometry, options: SortedArrayOptions) {
    const wanted = tidsWanted(options);
    const least = geometry.maxHeapTuplesPerPage;
    const room = wanted < least ? least : wanted;
    this.blocks = new Uint32Array(room);
    this.offsets = new Uint16Array(room);
    this.maxOffset = geometry.maxOffsetNumber;
    this.fullAt = room - least + 1;
  }

  add(block: BlockNumber, offsets: Uint16Array, count: number): void {
    const { length, blocks } = this;
    if (
      !areCounts(block, offsets, count) ||
      count > blocks.length - length ||
      (length !== 0 && block <= blocks[length - 1])
    ) {
      this.addAnywhere(block, offsets, count);
      return;
    }
    // Written beyond the length, where nobody looks, until all is known to be good.
    const to = this.offsets;
    let last = 0;
    let i = 0;
    for (; i + 3 < count; i += 4) {
      const a = offsets[i];
      const b = offsets[i + 1];
      const c = offsets[i + 2];
      const d = offsets[i + 3];
      if (((a - last - 1) | (b - a - 1) | (c - b - 1) | (d - c - 1)) < 0) break;
      const at = length + i;
      to[at] = a;
      to[at + 1] = b;
      to[at + 2] = c;
      to[at + 3] = d;
      blocks[at] = block;
      blocks[at + 1] = block;
      blocks[at + 2] = block;
      blocks[at + 3] = block;
      last = d;
    }
    for (; i < count; i++) {
      const o = offsets[i];
      if (o <= last) refuseTids(block, offsets, count, this.maxOffset);
      last = o;
      to[length + i] = o;
      blocks[length + i] = block;
    }
    if (last > this.maxOffset) refuseTids(block, offsets, count, this.maxOffset);
    this.length = length + count;
    this.runs++;
    this.changes = (this.changes + 1) | 0;
  }

  /** {@link add} of a block that is not beyond the last, or that is not to be added at all. */
  private addAnywhere(block: BlockNumber, offsets: Uint16Array, count: number): void {
    checkTids(block, offsets, count, this.maxOffset);
    const { blocks, length } = this;
    const from = this.lowerBound(block, 0);
    const to = this.lowerBound(block, 0xffff);
    const newLength = length - (to - from) + count;
    if (newLength > blocks.length) {
      throw new StorageError(
        '54000',
        `the sorted array has no room for ${String(count)} TIDs of block ${String(block)}`,
        {
          detail: `It has room for ${String(blocks.length)} TIDs, and holds ${String(length)}.`,
        },
      );
    }
    blocks.copyWithin(from + count, to, length);
    this.offsets.copyWithin(from + count, to, length);
    blocks.fill(block, from, from + count);
    this.offsets.set(offsets.subarray(0, count), from);
    this.length = newLength;
    if (from === to) this.runs++;
    this.changes = (this.changes + 1) | 0;
  }

  /**
   * Halving, with one improvement over a plain binary search: where it meets the block, the offset that it finds there
   * says how far away the other can be at most, since a block's offsets ascend.
   */
  has(block: BlockNumber, o: OffsetNumber): boolean {
    const { blocks, offsets } = this;
    const wanted = block >>> 0; // so that the compiler sees both sides as unsigned
    if (wanted !== block || (o | 0) !== o) return false;
    let from = 0;
    let to = this.length - 1;
    while (from <= to) {
      const middle = (from + to) >> 1;
      const b = blocks[middle];
      if (b === wanted) {
        const away = o - offsets[middle];
        if (away === 0) return true;
        if (away > 0) {
          from = middle + 1;
          if (middle + away < to) to = middle + away;
        } else {
          to = middle - 1;
          if (middle + away > from) from = middle + away;
        }
      } else if (b < wanted) {
        from = middle + 1;
      } else {
        to = middle - 1;
      }
    }
    return false;
  }

  /** Index of the first TID that is not before (block, o). */
  private lowerBound(block: BlockNumber, o: OffsetNumber): number {
    const { blocks, offsets } = this;
    let from = 0;
    let to = this.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      const b = blocks[middle];
      if (b < block || (b === block && offsets[middle] < o)) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  cursor(): TidCursor {
    const { blocks, offsets } = this;
    const changes = this.changes;
    return new SortedArrayCursor(
      { blocks, offsets, length: this.length },
      () => this.changes === changes,
      new Uint16Array(this.maxOffset),
    );
  }

  get memoryBytes(): number {
    return this.blocks.byteLength + this.offsets.byteLength;
  }

  get blockCount(): number {
    return this.runs;
  }

  get tidCount(): number {
    return this.length;
  }

  isFull(): boolean {
    return this.length >= this.fullAt;
  }

  clear(): void {
    this.length = 0;
    this.runs = 0;
    this.changes = (this.changes + 1) | 0;
  }
}

interface Tids {
  readonly blocks: Uint32Array;
  readonly offsets: Uint16Array;
  readonly length: number;
}

class SortedArrayCursor implements TidCursor {
  block: BlockNumber = 0;
  count = 0;
  readonly offsets: Uint16Array;
  private readonly tids: Tids;
  private readonly isUnchanged: () => boolean;
  private at = 0;

  constructor(tids: Tids, isUnchanged: () => boolean, offsets: Uint16Array) {
    this.tids = tids;
    this.isUnchanged = isUnchanged;
    this.offsets = offsets;
  }

  next(): boolean {
    if (!this.isUnchanged()) {
      throw new TypeError('the TID store has changed under a cursor: make a new one after a change');
    }
    const { tids } = this;
    let { at } = this;
    if (at >= tids.length) return false;
    const block = tids.blocks[at];
    let n = 0;
    for (; at < tids.length && tids.blocks[at] === block; at++) this.offsets[n++] = tids.offsets[at];
    this.at = at;
    this.block = block;
    this.count = n;
    return true;
  }
}
