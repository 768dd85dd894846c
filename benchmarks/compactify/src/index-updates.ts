// One B-tree leaf, the whole of a small index, whose rows get new keys at random: each update adds an entry at its place
// in the order of keys, and leaves a dead one. When the page has no room left, a range scan over the index has marked the
// dead entries, and they are deleted at once: PostgreSQL's simple deletion, which compacts the page.
import { seededRandom } from '@blockwright/benchmark';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import {
  type Compaction,
  CompactionScratch,
  itemPosition,
  LP_DEAD,
  linePointer,
  lpFlags,
  markItemDead,
  type PageMemory,
  pageFreeSpace,
  pageIndexMultiDelete,
  pageInit,
  pageMaxOffset,
  pageMemory,
  pageReserveItem,
  pageSpecial,
} from '@blockwright/page';
import { setIndexTupleInfo, setIndexTupleTid } from '@blockwright/tuple';

/** Bytes of an entry: its header, and a key of type int8. */
export const INDEX_WIDTH = 16;
/** Bytes of a B-tree page's special space. */
export const SPECIAL_BYTES = 16;
const KEY_32 = 2;
const KEY_BITS = 2 ** 31;
/** `btpo_flags`: leaf and root. */
const LEAF_AND_ROOT = 3;

export interface IndexUpdateOptions {
  readonly seed: number;
  /** How the page is compacted. Default: `adaptive`. */
  readonly how?: Compaction;
}

/** A row gets a new key. */
export interface KeyChange {
  readonly from: number;
  readonly to: number;
  /** Whether a range scan went before, and marked the dead entries. */
  readonly afterScan: boolean;
}

/** An index of one page, and the updates of its rows' keys. */
export class IndexUpdateRun {
  readonly geometry: BlockGeometry;
  /** The page is at base 0. */
  readonly memory: PageMemory;
  /** Keys of the rows, in the order in which they were drawn at first. */
  readonly keys: number[];
  /** Called when dead entries are marked and about to be deleted: {@link markedEntries} lists them. */
  onCompaction: () => void = () => {};
  private readonly options: IndexUpdateOptions;
  private readonly scratch: CompactionScratch;
  private readonly random: () => number;
  private readonly live: Set<number>;

  constructor(geometry: BlockGeometry, options: IndexUpdateOptions) {
    this.geometry = geometry;
    this.options = options;
    this.random = seededRandom(options.seed);
    this.scratch = new CompactionScratch(geometry);
    this.memory = pageMemory(new ArrayBuffer(geometry.size));
    // Two entries of three are live when the page is full.
    const capacity = Math.floor((geometry.size - SIZE_OF_PAGE_HEADER - SPECIAL_BYTES) / (INDEX_WIDTH + 4));
    this.live = new Set();
    while (this.live.size < Math.floor((capacity * 2) / 3)) this.live.add(this.drawKey());
    this.keys = [...this.live];
    this.build();
  }

  private drawKey(): number {
    for (;;) {
      const key = Math.floor(this.random() * KEY_BITS);
      if (!this.live.has(key)) return key;
    }
  }

  /** As CREATE INDEX does: in the order of keys, the first at the page's end. */
  private build(): void {
    const { memory: m, geometry: g } = this;
    pageInit(m, 0, g, SPECIAL_BYTES);
    m.u16[(pageSpecial(m, 0) + 12) >>> 1] = LEAF_AND_ROOT;
    for (const key of [...this.keys].sort((a, b) => a - b)) this.put(key, pageMaxOffset(m, 0) + 1);
  }

  /** Draws the next update and does it. */
  update(): KeyChange {
    const { memory: m } = this;
    const row = Math.floor(this.random() * this.keys.length);
    const from = this.keys[row] as number;
    const to = this.drawKey();
    const afterScan = pageFreeSpace(m, 0) < INDEX_WIDTH;
    if (afterScan) this.deleteDead();
    this.keys[row] = to;
    this.live.delete(from);
    this.live.add(to);
    this.put(to, this.place(to));
    return { from, to, afterScan };
  }

  /** PostgreSQL: `_bt_simpledel_pass`. */
  private deleteDead(): void {
    const { memory: m, geometry: g } = this;
    for (let o = 1; o <= pageMaxOffset(m, 0); o++) if (!this.live.has(this.keyAt(o))) markItemDead(m, 0, o);
    this.onCompaction();
    const marked = markedEntries(m, 0);
    pageIndexMultiDelete(m, 0, g, marked, marked.length, this.scratch, this.options.how ?? 'adaptive');
  }

  private keyAt(o: number): number {
    return this.memory.u32[(itemPosition(this.memory, 0, o) >>> 2) + KEY_32] as number;
  }

  /** The offset number before the first larger key. A dead entry with the same key can be there: the new one precedes it. */
  private place(key: number): number {
    let low = 1;
    let high = pageMaxOffset(this.memory, 0) + 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.keyAt(middle) < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private put(key: number, o: number): void {
    const { memory: m, geometry: g } = this;
    pageReserveItem(m, 0, g, INDEX_WIDTH, o);
    const at = itemPosition(m, 0, o);
    setIndexTupleTid(m, at, 0, 1);
    setIndexTupleInfo(m, at, INDEX_WIDTH);
    m.u32[(at >>> 2) + KEY_32] = key;
    m.u32[(at >>> 2) + KEY_32 + 1] = 0;
  }
}

/** Offset numbers of the items that are marked dead on an index page, rising. */
export function markedEntries(m: PageMemory, base: number): Uint16Array {
  const marked: number[] = [];
  for (let o = 1; o <= pageMaxOffset(m, base); o++) if (lpFlags(linePointer(m, base, o)) === LP_DEAD) marked.push(o);
  return Uint16Array.from(marked);
}
