// A table whose rows are updated at random, on PostgreSQL's own pages by PostgreSQL's rules: rows are loaded up to the
// fillfactor; an update finds its row by key, prunes the page first if that looks useful, and puts the new version on
// the same page (HOT), into the lowest free line pointer; pruning turns roots into redirects and dead versions between
// into unused line pointers, and then compacts. The fillfactor leaves so much room that no update leaves its page.
import { seededRandom, shuffle } from '@blockwright/benchmark';
import { type BlockGeometry, SIZE_OF_PAGE_HEADER } from '@blockwright/geometry';
import {
  type Compaction,
  CompactionScratch,
  itemPosition,
  LP_NORMAL,
  LP_REDIRECT,
  linePointer,
  lpFlags,
  lpOffset,
  markLinePointerRedirect,
  markLinePointerUnused,
  PAI_IS_HEAP,
  type PageMemory,
  pageClearFull,
  pageHeapFreeSpace,
  pageInit,
  pageIsFull,
  pageMaxOffset,
  pageMemory,
  pagePruneXid,
  pageRepairFragmentation,
  pageReserveItem,
  pageSetPrunable,
  pageSetPruneXid,
} from '@blockwright/page';
import {
  HEAP_HASVARWIDTH,
  HEAP_HOT_UPDATED,
  HEAP_NATTS_MASK,
  HEAP_ONLY_TUPLE,
  HEAP_UPDATED,
  HEAP_XMAX_BITS,
  HEAP_XMAX_INVALID,
  HEAP_XMIN_COMMITTED,
  isHeapOnly,
  isHotUpdated,
  setTupleCommandId,
  setTupleCtid,
  setTupleInfomask,
  setTupleInfomask2,
  setTupleXmax,
  setTupleXmin,
  tupleCtidOffset,
  tupleInfomask,
  tupleInfomask2,
  tupleXmax,
} from '@blockwright/tuple';

/** The table's fillfactor, in per cent: rows, a redirect for each, and a version or more fit on every page. */
export const FILLFACTOR = 75;
/** Bytes of a heap tuple's header, with its padding. */
const HEADER_BYTES = 24;
/** Tuples of the table have three columns: `id int4`, `n int4`, and `filler int8` or `filler text`. */
const COLUMNS = 3;
const ID_32 = HEADER_BYTES >>> 2;
const N_32 = ID_32 + 1;
const FILLER = HEADER_BYTES + 8;
const FILLER_LETTER = 0x78;

/** How many rows a transaction updates: one of the table's, or some of each page's. */
export type HeapWorkload = 'updates' | 'batches';

export interface HeapUpdateOptions {
  /** Bytes of a row's tuple, header included: 40 and more, a multiple of 8. */
  readonly width: number;
  /** Blocks of the table. */
  readonly pages: number;
  readonly seed: number;
  readonly workload: HeapWorkload;
  /** How pages are compacted. Default: `adaptive`. */
  readonly how?: Compaction;
  /** The transaction that loads the rows. Default: 1000. */
  readonly xid?: number;
}

/** A table, and the transactions that update it. */
export class HeapUpdateRun {
  readonly geometry: BlockGeometry;
  readonly memory: PageMemory;
  /** Rows have keys from 1 to this. */
  readonly rows: number;
  /** The transaction that loaded them. */
  readonly firstXid: number;
  /** Called with each block whose line pointers have been pruned and whose items have not moved yet. */
  onCompaction: (block: number) => void = () => {};
  private readonly options: HeapUpdateOptions;
  private readonly scratch: CompactionScratch;
  private readonly random: () => number;
  /** Block and root line pointer of each row, by key. */
  private readonly blocks: number[] = [0];
  private readonly roots: number[] = [0];
  private readonly pageRows: number[][] = [];
  private readonly chain: number[] = [];
  /** The running transaction, or the next one. */
  private xid: number;
  private command = 0;

  /** @throws RangeError when rows cannot be as wide as that. */
  constructor(geometry: BlockGeometry, options: HeapUpdateOptions) {
    const { width } = options;
    if (!(width >= FILLER + 8 && (width & 7) === 0)) {
      throw new RangeError(`rows are ${FILLER + 8} bytes wide or more, a multiple of 8, not ${width}`);
    }
    this.geometry = geometry;
    this.options = options;
    this.xid = options.xid ?? 1000;
    this.firstXid = this.xid;
    this.random = seededRandom(options.seed);
    this.scratch = new CompactionScratch(geometry);
    this.memory = pageMemory(new ArrayBuffer(options.pages * geometry.size));
    this.load();
    this.rows = this.blocks.length - 1;
    this.commit();
  }

  /** Free bytes below which a page is pruned when it is read. */
  private get wantedFreeBytes(): number {
    const { size } = this.geometry;
    return Math.max(Math.floor((size * (100 - FILLFACTOR)) / 100), Math.floor(size / 10));
  }

  private load(): void {
    const { geometry: g, memory: m } = this;
    const { width, pages } = this.options;
    const spareBytes = Math.floor((g.size * (100 - FILLFACTOR)) / 100);
    for (let block = 0; block < pages; block++) {
      const base = block * g.size;
      const keys: number[] = [];
      pageInit(m, base, g);
      while (width + spareBytes <= pageHeapFreeSpace(m, base, g)) {
        const key = this.blocks.length;
        const o = this.put(block, key, 0, false);
        this.blocks.push(block);
        this.roots.push(o);
        keys.push(key);
      }
      this.pageRows.push(keys);
    }
  }

  /**
   * Draws the next transaction and does it.
   * @returns the keys of the rows that it updates, in its order.
   * @throws RangeError when rows are so wide that a second version finds no room on its page.
   */
  transaction(): number[] {
    const keys = this.options.workload === 'updates' ? [1 + Math.floor(this.random() * this.rows)] : this.batch();
    for (const key of keys) this.update(key);
    this.commit();
    return keys;
  }

  /** As many rows of each page as surely have room for a second version, in random order. */
  private batch(): number[] {
    const { width } = this.options;
    const chosen = this.pageRows.flatMap((keys) => {
      const rows = keys.length;
      // A row takes a tuple, its line pointer and a redirect; the room for a tuple is counted with one line pointer more.
      const freeBytes = this.geometry.size - SIZE_OF_PAGE_HEADER - rows * (width + 8) - 4;
      const versions = Math.floor(freeBytes / (width + 4));
      const linePointers = this.geometry.maxHeapTuplesPerPage - 2 * rows;
      const drawn = [...keys];
      shuffle(drawn, this.random);
      return drawn.slice(0, Math.max(1, Math.min(versions, linePointers)));
    });
    shuffle(chosen, this.random);
    return chosen;
  }

  /** PostgreSQL: `heap_update`, reached through an index on the key. */
  private update(key: number): void {
    const { memory: m, geometry: g } = this;
    const block = this.blocks[key] as number;
    const base = block * g.size;
    this.pruneIfUseful(block);
    const old = this.newestVersion(base, this.roots[key] as number);
    if (this.options.width > pageHeapFreeSpace(m, base, g)) {
      throw new RangeError(`block ${block} has no room for another version of row ${key}, ${this.options.width} bytes`);
    }
    const before = itemPosition(m, base, old);
    const next = this.put(block, key, (m.u32[(before >>> 2) + N_32] as number) + 1, true);
    setTupleXmax(m, before, this.xid);
    setTupleCommandId(m, before, this.command);
    setTupleInfomask(m, before, tupleInfomask(m, before) & ~HEAP_XMAX_BITS);
    setTupleInfomask2(m, before, tupleInfomask2(m, before) | HEAP_HOT_UPDATED);
    setTupleCtid(m, before, block, next);
    pageSetPrunable(m, base, this.xid);
    this.command++;
  }

  private commit(): void {
    this.xid++;
    this.command = 0;
  }

  /** Writes a tuple. @returns its offset number. */
  private put(block: number, key: number, n: number, isUpdate: boolean): number {
    const { memory: m, geometry: g } = this;
    const { width } = this.options;
    const base = block * g.size;
    const o = pageReserveItem(m, base, g, width, 0, PAI_IS_HEAP);
    const at = itemPosition(m, base, o);
    setTupleXmin(m, at, this.xid);
    setTupleXmax(m, at, 0);
    setTupleCommandId(m, at, this.command);
    setTupleCtid(m, at, block, o);
    setTupleInfomask2(m, at, (COLUMNS & HEAP_NATTS_MASK) | (isUpdate ? HEAP_ONLY_TUPLE : 0));
    const isText = width > FILLER + 8;
    setTupleInfomask(m, at, HEAP_XMAX_INVALID | (isText ? HEAP_HASVARWIDTH : 0) | (isUpdate ? HEAP_UPDATED : 0));
    m.u8[at + 22] = HEADER_BYTES;
    m.u8[at + 23] = 0;
    m.u32[(at >>> 2) + ID_32] = key;
    m.u32[(at >>> 2) + N_32] = n;
    this.putFiller(at, width - FILLER);
    return o;
  }

  /** An int8 of 0, or a text of one letter with the varlena header that its length asks for. */
  private putFiller(at: number, bytes: number): void {
    const { u8, u32 } = this.memory;
    const start = at + FILLER;
    u8.fill(bytes === 8 ? 0 : FILLER_LETTER, start, start + bytes);
    if (bytes === 8) return;
    if (bytes <= 127) u8[start] = (bytes << 1) | 1;
    else u32[start >>> 2] = bytes << 2;
  }

  private newestVersion(base: number, root: number): number {
    const m = this.memory;
    const lp = linePointer(m, base, root);
    let o = lpFlags(lp) === LP_REDIRECT ? lpOffset(lp) : root;
    for (;;) {
      const at = itemPosition(m, base, o);
      if (!isHotUpdated(tupleInfomask(m, at), tupleInfomask2(m, at))) return o;
      o = tupleCtidOffset(m, at);
    }
  }

  /** PostgreSQL: `heap_page_prune_opt`. */
  private pruneIfUseful(block: number): void {
    const { memory: m, geometry: g } = this;
    const base = block * g.size;
    const pruneXid = pagePruneXid(m, base);
    if (pruneXid === 0 || pruneXid === this.xid) return;
    if (pageIsFull(m, base) || pageHeapFreeSpace(m, base, g) < this.wantedFreeBytes) this.prune(block);
  }

  /** PostgreSQL: `heap_page_prune_and_freeze`, without freezing. */
  private prune(block: number): void {
    const { memory: m, geometry: g } = this;
    const base = block * g.size;
    const count = pageMaxOffset(m, base);
    let isChanged = false;
    let isPrunableLater = false;
    for (let o = 1; o <= count; o++) {
      const flags = lpFlags(linePointer(m, base, o));
      if (flags === LP_NORMAL) {
        const at = itemPosition(m, base, o);
        if (tupleXmax(m, at) === this.xid) isPrunableLater = true;
        setTupleInfomask(m, at, tupleInfomask(m, at) | HEAP_XMIN_COMMITTED);
        if (isHeapOnly(tupleInfomask2(m, at))) continue;
      } else if (flags !== LP_REDIRECT) continue;
      if (this.pruneChain(base, o)) isChanged = true;
    }
    pageSetPruneXid(m, base, isPrunableLater ? this.xid : 0);
    pageClearFull(m, base);
    if (!isChanged) return;
    this.onCompaction(block);
    pageRepairFragmentation(m, base, g, this.scratch, this.options.how ?? 'adaptive');
  }

  /** Line pointers of a chain's dead versions become unused, its root leads to the first that is not dead. */
  private pruneChain(base: number, root: number): boolean {
    const { memory: m, chain } = this;
    chain.length = 0;
    let dead = 0;
    let o = root;
    if (lpFlags(linePointer(m, base, root)) === LP_REDIRECT) {
      chain.push(root);
      o = lpOffset(linePointer(m, base, root));
    }
    for (;;) {
      chain.push(o);
      const at = itemPosition(m, base, o);
      const xmax = tupleXmax(m, at);
      if (xmax === 0 || xmax === this.xid) break;
      dead = chain.length;
      o = tupleCtidOffset(m, at);
    }
    if (dead === 0) return false;
    markLinePointerRedirect(m, base, root, chain[dead] as number);
    for (let i = 1; i < dead; i++) markLinePointerUnused(m, base, chain[i] as number);
    return true;
  }
}
