// From sorted tuples to the items of leaves: uniqueness is checked on the way, and equal keys become posting lists where
// the index deduplicates. PostgreSQL: `_bt_load`, nbtsort.c, and tuplesortvariants.c.
import type { Steps } from '@blockwright/base';
import { type PageMemory, pageMemory } from '@blockwright/page';
import {
  INDEX_AM_RESERVED_BIT,
  type IndexTupleFormat,
  indexTupleInfo,
  indexTupleSize,
  setIndexTupleInfo,
  type TupleMemory,
} from '@blockwright/tuple';
import type { BtreeIndex } from './btree.ts';
import { notUnique } from './build-errors.ts';
import { loadingProgress } from './build-progress.ts';
import type { TreeLoader } from './load-pages.ts';
import { formPosting } from './posting.ts';
import { KEY_DIFFERS, KEY_EQUALS, type SortedTuples } from './sort.ts';
import { copyTuple } from './tuple-arena.ts';

/**
 * Marks, from the scan of the table to here, a tuple of a row that is dead though somebody may still see it: it does not
 * count for uniqueness. No tuple of a row has this bit otherwise.
 */
export const DEAD_ROW: number = INDEX_AM_RESERVED_BIT;

/** Tuples that are loaded between two steps: some milliseconds. */
const STEP_TUPLES = 0x4000;
/** 16-bit words of a TID. */
const TID_WORDS = 3;
const LINE_POINTER_BYTES = 4;

/**
 * Loads all tuples.
 * @throws StorageError 23505 when a unique index has two live rows with the same key.
 */
export function* loadTuples(index: BtreeIndex, tuples: SortedTuples, loader: TreeLoader): Steps<void> {
  const load = loadingOf(index, loader);
  yield loadingProgress(0, tuples.count);
  for (let done = 0; load.some(tuples, STEP_TUPLES); ) {
    done += STEP_TUPLES;
    yield loadingProgress(done, tuples.count);
  }
  load.last(tuples);
}

/** One way to load tuples. */
interface Loading {
  /** Loads as many tuples as asked. @returns false when there were fewer */
  some(tuples: SortedTuples, count: number): boolean;
  /** Loads what was kept back for the tuples to come. */
  last(tuples: SortedTuples): void;
}

function loadingOf(index: BtreeIndex, loader: TreeLoader): Loading {
  if (index.isUnique) return new UniqueLoading(index, loader);
  return index.deduplicate && index.format.allEqualImage ? new PostingLoading(index, loader) : new PlainLoading(loader);
}

class PlainLoading implements Loading {
  private readonly loader: TreeLoader;

  constructor(loader: TreeLoader) {
    this.loader = loader;
  }

  some(tuples: SortedTuples, count: number): boolean {
    const { loader } = this;
    for (let i = 0; i < count; i++) {
      if (!tuples.next()) return false;
      loader.add(tuples.memory, tuples.position, tuples.length, 0);
    }
    return true;
  }

  last(): void {}
}

/** Every live row's key must be another than that of the live row before it; nulls are, unless told otherwise. */
class UniqueLoading implements Loading {
  private readonly index: BtreeIndex;
  private readonly loader: TreeLoader;
  /** The last live tuple, kept only while the keys after it may be equal. */
  private readonly live: PageMemory;
  private hasLive = false;
  private previousIsLive = false;

  constructor(index: BtreeIndex, loader: TreeLoader) {
    this.index = index;
    this.loader = loader;
    this.live = pageMemory(new ArrayBuffer(index.maxItemSize));
  }

  some(tuples: SortedTuples, count: number): boolean {
    const { loader } = this;
    for (let i = 0; i < count; i++) {
      if (!tuples.next()) return false;
      const info = indexTupleInfo(tuples.memory, tuples.position);
      const isLive = (info & DEAD_ROW) === 0;
      if (!isLive) setIndexTupleInfo(tuples.memory, tuples.position, info & ~DEAD_ROW);
      if (tuples.likeness === KEY_DIFFERS) this.hasLive = false;
      else this.check(tuples, isLive);
      this.previousIsLive = isLive;
      loader.add(tuples.memory, tuples.position, tuples.length, 0);
    }
    return true;
  }

  last(): void {}

  private check(tuples: SortedTuples, isLive: boolean): void {
    const { live } = this;
    const { previousMemory, previousPosition, memory, position } = tuples;
    if (this.previousIsLive) {
      copyTuple(previousMemory, previousPosition, indexTupleSize(previousMemory, previousPosition), live, 0);
      this.hasLive = true;
    }
    if (!isLive || !this.hasLive) return;
    const { format, nullsNotDistinct, relation } = this.index;
    const { keyCount } = format;
    if (tuples.likeness !== KEY_EQUALS && format.compare(live, 0, memory, position, keyCount) !== 0) return;
    if (!nullsNotDistinct && format.hasNull(memory, position, keyCount)) return;
    throw notUnique(relation.name, format.toText(memory, position, keyCount));
  }
}

/** Rows of equal keys become posting lists of a tenth of a page at most. */
class PostingLoading implements Loading {
  private readonly format: IndexTupleFormat;
  private readonly loader: TreeLoader;
  private readonly mostBytes: number;
  /** TIDs of the list to be, as on disk, and how many; while it is one, the tuple itself was not copied yet. */
  private readonly tids: Uint16Array;
  private count = 0;
  /** The first tuple of the list, and its size. */
  private readonly first: PageMemory;
  private firstBytes = 0;
  private readonly list: PageMemory;

  constructor(index: BtreeIndex, loader: TreeLoader) {
    this.format = index.format;
    this.loader = loader;
    this.mostBytes = (tenthOf(index.geometry.size) & ~7) - LINE_POINTER_BYTES;
    this.tids = new Uint16Array(this.mostBytes >>> 1);
    this.first = pageMemory(new ArrayBuffer(index.maxItemSize));
    this.list = pageMemory(new ArrayBuffer(index.geometry.size >>> 3));
  }

  some(tuples: SortedTuples, count: number): boolean {
    for (let i = 0; i < count; i++) {
      if (!tuples.next()) return false;
      if (this.count === 0) {
        this.count = 1;
      } else if (tuples.likeness === KEY_DIFFERS || !this.takes(tuples)) {
        this.flush(tuples);
        this.count = 1;
      }
    }
    return true;
  }

  last(tuples: SortedTuples): void {
    if (this.count > 0) this.flush(tuples);
    this.count = 0;
  }

  /** Puts the tuple into the list, if it is equal and there is room. PostgreSQL: `_bt_dedup_save_htid`. */
  private takes(tuples: SortedTuples): boolean {
    const { format, count } = this;
    const { memory, position, previousMemory, previousPosition } = tuples;
    if (count === 1) this.firstBytes = indexTupleSize(previousMemory, previousPosition);
    const bytes = (this.firstBytes + (((count + 1) << 2) + ((count + 1) << 1)) + 7) & ~7;
    if (bytes > this.mostBytes) return false;
    if (tuples.likeness !== KEY_EQUALS) {
      const m = count === 1 ? previousMemory : this.first;
      const pos = count === 1 ? previousPosition : 0;
      if (format.firstDifferentImage(m, pos, memory, position, format.keyCount) <= format.keyCount) return false;
    }
    if (count === 1) {
      copyTuple(previousMemory, previousPosition, this.firstBytes, this.first, 0);
      this.count = 0;
      this.putTid(this.first, 0);
    }
    this.putTid(memory, position);
    return true;
  }

  private putTid(m: TupleMemory, pos: number): void {
    const { tids } = this;
    const from = pos >>> 1;
    const to = this.count * TID_WORDS;
    tids[to] = m.u16[from];
    tids[to + 1] = m.u16[from + 1];
    tids[to + 2] = m.u16[from + 2];
    this.count++;
  }

  /** Loads the list, or the one tuple, which is the tuple before the one that `tuples` is at. */
  private flush(tuples: SortedTuples): void {
    if (this.count === 1) {
      const { previousMemory, previousPosition } = tuples;
      const length = indexTupleSize(previousMemory, previousPosition);
      this.loader.add(previousMemory, previousPosition, length, 0);
      return;
    }
    const length = formPosting(this.first, 0, this.tids, this.count, this.list, 0);
    this.loader.add(this.list, 0, length, length - this.firstBytes);
  }
}

/** A tenth, rounded down, without a division. */
function tenthOf(bytes: number): number {
  return ((bytes + 0.5) * 0.1) | 0;
}
