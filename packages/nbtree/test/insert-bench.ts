// An index that grows by inserts, with a made-up table and a plain list of its entries beside it; and a reader of whole
// trees of its own, which fails unless one is sound.
import { PageLog, Relation, TABLE_LIVE, type TableAccess } from '@blockwright/access';
import { StorageError } from '@blockwright/base';
import { BufferPool } from '@blockwright/bufmgr';
import { BlockGeometry, type BlockSize } from '@blockwright/geometry';
import {
  itemPosition,
  LP_DEAD,
  linePointer,
  lpFlags,
  lpLength,
  type PageMemory,
  pageMaxOffset,
  pageMemory,
} from '@blockwright/page';
import { StorageManager } from '@blockwright/smgr';
import type { Snapshot, Transaction } from '@blockwright/transam';
import {
  type ColumnType,
  IndexTupleFormat,
  IndexTupleFormer,
  indexTupleSize,
  type KeyOrder,
  TupleDescriptor,
} from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { BtreeIndex } from '../src/btree.ts';
import { btreeInsert } from '../src/insert.ts';

export const ASCENDING: KeyOrder = { descending: false, nullsFirst: false };

export type Value = string | number | bigint | null;

export interface Entry {
  readonly values: readonly Value[];
  readonly block: number;
  readonly offset: number;
}

export interface BenchOptions {
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** Of the key columns, which come first. */
  readonly keys: readonly KeyOrder[];
  readonly isUnique?: boolean;
  readonly nullsNotDistinct?: boolean;
  readonly deduplicate?: boolean;
  readonly fillfactor?: number;
  /** What a row is, for unique checks: live when not given. */
  readonly fate?: (block: number, offset: number) => number;
  /** Rows that are dead to everybody. */
  readonly isDead?: (block: number, offset: number) => boolean;
}

/** A disk that is full from time to time: {@link FullDisk.failsIn} changes of pages from now, one is refused. */
export class FullDisk extends PageLog {
  failsIn = Number.POSITIVE_INFINITY;
  changes = 0;

  override begin(relation: Relation, rmgr: number, info: number, pages: number, dataBytes: number): void {
    this.changes++;
    if (--this.failsIn === 0) throw new StorageError('53100', 'the disk is full');
    super.begin(relation, rmgr, info, pages, dataBytes);
  }
}

export class InsertBench {
  readonly options: BenchOptions;
  readonly pool: BufferPool;
  readonly log: FullDisk;
  readonly index: BtreeIndex;
  readonly former: IndexTupleFormer;
  readonly entries: Entry[] = [];
  /** Blocks that the table was asked for by deletions, in order. */
  readonly asked: number[] = [];

  constructor(size: BlockSize, options: BenchOptions) {
    this.options = options;
    const vfs = new MemoryVfs();
    for (const path of ['/data', '/data/base', '/data/base/5']) vfs.mkdir(path);
    const geometry = BlockGeometry.of(size);
    const storage = new StorageManager({ vfs, directory: '/data', geometry });
    this.pool = new BufferPool({ geometry, buffers: 256 });
    this.log = new FullDisk({ geometry, hintImages: false });
    const relation = new Relation({
      pool: this.pool,
      storage: storage.open({ tablespace: 1663, database: 5, relfilenode: 16385 }),
      name: 'things_key',
      log: this.log,
      fillfactor: options.fillfactor ?? 90,
    });
    relation.main.create();
    const names = Object.keys(options.columns);
    const descriptor = TupleDescriptor.of(names.map((name) => ({ name, type: options.columns[name] })));
    const format = IndexTupleFormat.of(descriptor, options.keys);
    this.former = new IndexTupleFormer(
      format,
      descriptor,
      names.map((_, i) => i),
    );
    const { isUnique = false, nullsNotDistinct, deduplicate } = options;
    this.index = new BtreeIndex({ relation, format, isUnique, nullsNotDistinct, deduplicate, table: this.table() });
    this.index.create();
  }

  insert(values: readonly Value[], block: number, offset: number, unchanged = false): void {
    const length = this.former.fromValues(values);
    const { memory } = this.former;
    memory.u16[0] = block >>> 16;
    memory.u16[1] = block & 0xffff;
    memory.u16[2] = offset;
    btreeInsert(this.index, undefined as never, memory, 0, length, unchanged);
    this.entries.push({ values, block, offset });
  }

  /** The entries as the index is to have them. */
  sorted(): Entry[] {
    const { keys } = this.options;
    return [...this.entries].sort((a, b) => compareValues(keys, a, b) || a.block - b.block || a.offset - b.offset);
  }

  page(block: number): PageMemory {
    const { size } = this.index.geometry;
    return this.pool.withPage(this.index.main, block, (m, base) => pageMemory(m.u8.slice(base, base + size).buffer));
  }

  private table(): TableAccess<Transaction, Snapshot> {
    const { fate = () => TABLE_LIVE, isDead = () => false } = this.options;
    const unused = (): never => {
      throw new Error('an insert does not ask for that');
    };
    return {
      name: 'things',
      conflictXid: 4711,
      allDead: false,
      position: 0,
      length: 0,
      memory: pageMemory(new ArrayBuffer(8)),
      uniqueCheck: (_, block, offset) => fate(block, offset),
      fetch: unused,
      release: unused,
      buildScan: unused,
      deletable: (blocks, offsets, count, out, mostBlocks) => {
        let seen = 0;
        let found = 0;
        for (let i = 0; i < count; i++) {
          const isNext = i === 0 || blocks[i] !== blocks[i - 1];
          if (i > 0 && (blocks[i] < blocks[i - 1] || (!isNext && offsets[i] <= offsets[i - 1])))
            throw new Error('TIDs are not sorted');
          if (isNext && ++seen <= mostBlocks) this.asked.push(blocks[i]);
          out[i] = seen <= mostBlocks && isDead(blocks[i], offsets[i]) ? 1 : 0;
          found += out[i];
        }
        return found;
      },
    };
  }
}

function compareValues(keys: readonly KeyOrder[], a: Entry, b: Entry): number {
  for (let i = 0; i < keys.length; i++) {
    const { descending, nullsFirst } = keys[i];
    const [x, y] = [a.values[i], b.values[i]];
    if (x === null || y === null) {
      if (x === y) continue;
      return (x === null) === nullsFirst ? -1 : 1;
    }
    const order =
      typeof x === 'string'
        ? Buffer.compare(Buffer.from(x), Buffer.from(y as string))
        : Number(x > (y as number)) - Number(x < (y as number));
    if (order !== 0) return descending ? -order : order;
  }
  return 0;
}

/** A tuple of a tree, read by itself: the fields of itup.h and nbtree.h. */
interface Item {
  readonly m: PageMemory;
  readonly pos: number;
  readonly isPivot: boolean;
  readonly natts: number;
  /** TIDs, as block * 2^16 + offset; of a pivot the one that it may have. */
  readonly tids: readonly number[];
  readonly child: number;
  readonly isDead: boolean;
}

function readItem(m: PageMemory, o: number, columns: number): Item {
  const pos = itemPosition(m, 0, o);
  const word = (at: number): number => m.u16[at >>> 1];
  const tid = (at: number): number => (word(at) * 65536 + word(at + 2)) * 65536 + word(at + 4);
  const isAlternative = (word(pos + 6) & 0x2000) !== 0;
  const status = word(pos + 4);
  const child = word(pos) * 65536 + word(pos + 2);
  const length = word(pos + 6) & 0x1fff;
  const isDead = lpFlags(linePointer(m, 0, o)) === LP_DEAD;
  must(length === lpLength(linePointer(m, 0, o)) && (length & 7) === 0, `length ${length}`);
  const isPosting = isAlternative && (status & 0x2000) !== 0;
  if (isPosting) {
    const tids = Array.from({ length: status & 0xfff }, (_, i) => tid(pos + child + i * 6));
    must(tids.length > 1 && length === ((child + 6 * tids.length + 7) & ~7), 'the size of a posting list');
    return { m, pos, isPivot: false, natts: columns, tids, child, isDead };
  }
  if (!isAlternative) return { m, pos, isPivot: false, natts: columns, tids: [tid(pos)], child, isDead };
  const tids = (status & 0x1000) === 0 ? [] : [tid(pos + length - 6)];
  return { m, pos, isPivot: true, natts: status & 0xfff, tids, child, isDead };
}

export interface Tree {
  /** Levels, the root's included. */
  readonly levels: number;
  /** TIDs of items that are not dead, in order. */
  readonly tids: readonly number[];
  readonly postingLists: number;
  readonly pages: number;
  readonly incomplete: number;
  /** Share of the leaf pages' bytes that is in use, the last one's not counted. */
  readonly fill: number;
}

/**
 * Reads all pages, level by level, and fails unless levels, flags and links are right, items rise strictly, TIDs included,
 * every page lies between its left sibling's high key and its own, and every child but the right half of an incomplete
 * split has its one downlink, under a key that is its left sibling's high key.
 */
export function readTree(bench: InsertBench): Tree {
  const { size } = bench.index.geometry;
  const { format } = bench.index;
  const meta = bench.page(0);
  const [root, level] = [meta.u32[8], meta.u32[9]];
  must(meta.u32[6] === 0x053162 && meta.u32[7] === 4, 'magic and version');
  must(meta.u32[10] === root && meta.u32[11] === level, 'the fast root is the root');
  const tids: number[] = [];
  let [pages, postingLists, incomplete, used, room] = [0, 0, 0, 0, 0];
  let downlinks: { child: number; key: Item | undefined }[] = [{ child: root, key: undefined }];
  for (let l = level; root !== 0 && l >= 0; l--) {
    const next: { child: number; key: Item | undefined }[] = [];
    let at = downlinks[0].child;
    let [left, n] = [0, 0];
    let isHalf = false;
    let high: Item | undefined;
    while (at !== 0) {
      const where = `level ${l}, block ${at}`;
      const m = bench.page(at);
      const special = (size - 16) >>> 2;
      const flags = m.u16[(size - 4) >>> 1];
      must(m.u32[special] === left, `${where}: left link ${m.u32[special]}, not ${left}`);
      must(m.u32[special + 2] === l, `${where}: level ${m.u32[special + 2]}`);
      must(((flags & 1) !== 0) === (l === 0) && (flags & ~0xe3) === 0, `${where}: flags ${flags}`);
      if (isHalf) must(downlinks[n]?.child !== at, `${where}: the right half of an incomplete split has a downlink`);
      else {
        must(downlinks[n]?.child === at, `${where}: no downlink where it should be`);
        const { key } = downlinks[n++];
        if (key !== undefined) must(high !== undefined && compareItems(format, key, high) === 0, `${where}: separator`);
      }
      const isLast = m.u32[special + 1] === 0;
      const count = pageMaxOffset(m, 0);
      const items = Array.from({ length: count }, (_, i) => readItem(m, i + 1, format.columnCount));
      const own = isLast ? undefined : items.shift();
      must(own === undefined || (own.isPivot && own.natts > 0 && own.natts <= format.keyCount), `${where}: high key`);
      let before = high;
      items.forEach((item, i) => {
        must(item.isPivot === l > 0, `${where}: item ${i} is of the wrong kind`);
        if (l > 0) next.push({ child: item.child, key: i === 0 ? undefined : item });
        if (l > 0 && i === 0) {
          must(item.natts === 0 && indexTupleSize(m, item.pos) === 8, `${where}: the first item has a key`);
          if (high !== undefined) next[next.length - 1].key = high;
          return;
        }
        const order = before === undefined ? -1 : compareItems(format, before, item);
        must(order < 0, `${where}: item ${i} does not rise`);
        before = item;
        if (item.isDead || l > 0) return;
        for (let j = 1; j < item.tids.length; j++) must(item.tids[j - 1] < item.tids[j], `${where}: TIDs of item ${i}`);
        tids.push(...item.tids);
        if (item.tids.length > 1) postingLists++;
      });
      if (own !== undefined && before !== undefined && before !== high) {
        const order = compareItems(format, before, own);
        must(l === 0 ? order <= 0 : order < 0, `${where}: the last item is beyond the high key`);
      }
      if (l === 0 && !isLast) {
        room += size;
        used += size - (m.u16[7] - m.u16[6]);
      }
      isHalf = (flags & 128) !== 0;
      if (isHalf) incomplete++;
      high = own;
      pages++;
      left = at;
      at = m.u32[special + 1];
    }
    must(n === downlinks.length, `level ${l}: ${downlinks.length} downlinks, ${n} pages`);
    downlinks = next;
  }
  must(bench.pool.pinned().length === 0, 'a page is pinned');
  return { levels: root === 0 ? 0 : level + 1, tids, postingLists, pages, incomplete, fill: used / room };
}

/** Truncated attributes are less than all others; then the lowest TID of the right one, the highest of the left one. */
function compareItems(format: IndexTupleFormat, a: Item, b: Item): number {
  const keys = (item: Item): number => Math.min(item.natts, format.keyCount);
  const order = format.compare(a.m, a.pos, b.m, b.pos, Math.min(keys(a), keys(b)));
  if (order !== 0) return order;
  if (keys(a) !== keys(b)) return keys(a) - keys(b);
  const [last, first] = [a.tids.at(-1) ?? -1, b.tids[0] ?? -1];
  return last - first;
}

/** As `expect(holds).toBe(true)`, which takes a microsecond even when it does. */
function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

export function tidNumber({ block, offset }: { readonly block: number; readonly offset: number }): number {
  return block * 65536 + offset;
}
