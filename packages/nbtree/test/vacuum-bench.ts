// An index with a WAL, transactions and a small pool on an in-memory file system, with a model beside it; the same index
// after a crash, made again from its files and its WAL up to any record; and a reader of trees of its own that says whether
// one is whole. For tests of what deletes, and of what replays.
import { PageLog, REDO_MISSING, RedoPages, Relation } from '@blockwright/access';
import { runSync } from '@blockwright/base';
import { BufferPool } from '@blockwright/bufmgr';
import { BlockGeometry, type BlockSize } from '@blockwright/geometry';
import {
  itemIsInBounds,
  itemPosition,
  linePointer,
  markItemDead,
  type PageMemory,
  pageIsZero,
  pageLsnHigh,
  pageLsnLow,
  pageMaxOffset,
  pageMemory,
  pageSpecial,
  pageUpper,
} from '@blockwright/page';
import { StorageManager } from '@blockwright/smgr';
import { CommitLog, Transactions } from '@blockwright/transam';
import { IndexTupleFormat, IndexTupleFormer, int4, TupleDescriptor, text } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { createWal, RM_BTREE, RM_XLOG, WalReader, type WalRecord, WalWriter } from '@blockwright/wal';
import { expect } from 'vitest';
import { BtreeIndex } from '../src/btree.ts';
import { btreeBulkDelete } from '../src/bulk-delete.ts';
import { btreeInsert } from '../src/insert.ts';
import { maskBtreePage } from '../src/mask.ts';
import { readMeta } from '../src/meta.ts';
import {
  BTP_HAS_GARBAGE,
  BTP_INCOMPLETE_SPLIT,
  BTP_ROOT,
  btFlags,
  btIsDeleted,
  btIsHalfDead,
  btIsLeaf,
  btLevel,
  btNext,
  btPrev,
  firstDataKey,
  setBtFlags,
} from '../src/page.ts';
import { btreeResourceManager } from '../src/redo.ts';
import {
  compareTids,
  downlink,
  heapTidAt,
  isPivot,
  isPosting,
  nthTidAt,
  postingCount,
  tidBlock,
  tidOffset,
  tupleNatts,
} from '../src/tuples.ts';
import type { BulkDeleteStats } from '../src/vacuum-state.ts';

const LOCATOR = { tablespace: 1663, database: 5, relfilenode: 16385 };
const SEGMENT_BYTES = 1 << 20;

const KEY = { name: 'k', type: int4() };
const FILLER = { name: 'filler', type: text() };
const ASCENDING = { descending: false, nullsFirst: false };

/** With the filler first, pivots have to keep it: pages above the leaves hold few of them, and trees grow high. */
function columnsOf({ fillerFirst }: IndexOptions): TupleDescriptor {
  return TupleDescriptor.of(fillerFirst === true ? [FILLER, KEY] : [KEY, FILLER]);
}

function formerOf(options: IndexOptions): IndexTupleFormer {
  const columns = columnsOf(options);
  return new IndexTupleFormer(IndexTupleFormat.of(columns, [ASCENDING, ASCENDING]), columns, [0, 1]);
}

export interface IndexOptions {
  readonly buffers?: number;
  readonly deduplicate?: boolean;
  readonly unlogged?: boolean;
  /** Bytes of filler of each key; the same for equal keys. */
  readonly filler?: number;
  readonly fillerFirst?: boolean;
  readonly keepsHistory?: boolean;
}

/** A TID as one number, for sets. */
export function tidOf(block: number, offset: number): number {
  return block * 1024 + offset;
}

function openIndex(relation: Relation, transactions: Transactions, bench: IndexBench | Replayed): BtreeIndex {
  const { deduplicate } = bench.options;
  return new BtreeIndex({ relation, format: bench.former.format, isUnique: false, deduplicate, transactions });
}

export class IndexBench {
  readonly vfs: MemoryVfs = new MemoryVfs();
  readonly geometry: BlockGeometry;
  readonly pool: BufferPool;
  readonly wal: WalWriter;
  readonly log: PageLog;
  readonly transactions: Transactions;
  readonly index: BtreeIndex;
  readonly former: IndexTupleFormer;
  readonly options: IndexOptions;
  /** Key of each TID in the index. */
  readonly model: Map<number, number> = new Map();
  readonly start: number;
  /** TIDs of items that were marked dead: inserts may remove them at any time. */
  readonly dead: Set<number> = new Set();
  readonly history: { readonly end: number; readonly model: ReadonlyMap<number, number> }[] = [];
  private tids = 0;

  constructor(size: BlockSize, options: IndexOptions = {}) {
    this.options = options;
    this.former = formerOf(options);
    for (const path of ['/data', '/data/base', '/data/base/5', '/data/xact']) this.vfs.mkdir(path);
    this.geometry = BlockGeometry.of(size);
    const walOptions = { vfs: this.vfs, directory: '/data/wal', segmentSize: SEGMENT_BYTES };
    this.start = createWal(walOptions);
    this.wal = new WalWriter({ ...walOptions, systemIdentifier: '77', incarnation: 1, start: this.start, previous: 0 });
    this.pool = new BufferPool({ geometry: this.geometry, buffers: options.buffers ?? 32, wal: this.wal });
    // No images: every record must do its own work.
    this.log = new PageLog({ geometry: this.geometry, wal: this.wal, hintImages: true, fullPageImages: false });
    this.log.redoPoint = this.start;
    const commitLog = new CommitLog({ vfs: this.vfs, directory: '/data/xact', pageBytes: size, wal: this.wal });
    commitLog.zeroPage(0);
    this.transactions = new Transactions({ wal: this.wal, commitLog, nextXid: 1000, nextXidEpoch: 0, oldestXid: 1000 });
    const storage = new StorageManager({ vfs: this.vfs, directory: '/data', geometry: this.geometry });
    const relation = new Relation({
      pool: this.pool,
      storage: storage.open(LOCATOR),
      name: 't_k_idx',
      log: this.log,
      unlogged: options.unlogged ?? false,
      fillfactor: 90,
    });
    relation.main.create();
    this.index = openIndex(relation, this.transactions, this);
    this.index.create();
    this.note();
  }

  /** Inserts an entry of a new row. */
  insert(key: number): void {
    // TIDs in no order, so that some fall into posting lists.
    const n = Math.imul(this.tids++, 0x2545) & 0x7fff;
    const [block, offset] = [n >>> 3, (n & 7) + 1];
    insertEntry(this.index, this.former, this.options, key, block, offset);
    this.model.set(tidOf(block, offset), key);
    this.note();
  }

  /** The end of what was done so far, and what the index had then. */
  private note(): void {
    if (this.options.keepsHistory === true)
      this.history.push({ end: this.wal.insertedUpTo, model: new Map(this.model) });
  }

  /** Bulk delete of the rows whose key says so, and of what the model then has no more. */
  delete(goes: (key: number, tid: number) => boolean): BulkDeleteStats {
    const dead = new Set([...this.model].filter(([tid, key]) => goes(key, tid)).map(([tid]) => tid));
    const stats = runSync(btreeBulkDelete(this.index, (block, offset) => dead.has(tidOf(block, offset))));
    for (const tid of dead) this.model.delete(tid);
    this.note();
    return stats;
  }

  /** Marks the items of keys dead, as scans do. */
  markDead(goes: (key: number) => boolean): void {
    const { pool, index, geometry } = this;
    const { size } = geometry;
    for (let block = 1; block < index.main.blockCount(); block++) {
      pool.withPage(index.main, block, (m, base) => {
        if (pageIsZero(m, base, geometry) || !btIsLeaf(m, base, size) || btIsDeleted(m, base, size)) return;
        for (let o = firstDataKey(m, base, size); o <= pageMaxOffset(m, base); o++) {
          const pos = itemPosition(m, base, o);
          if (!goes(keyOf(index, m, pos))) continue;
          markItemDead(m, base, o);
          setBtFlags(m, base, size, btFlags(m, base, size) | BTP_HAS_GARBAGE);
          for (const tid of tidsOf(m, pos)) this.dead.add(tid);
        }
      });
    }
  }

  /** A transaction with an xid comes and goes: what was deleted before is out of everybody's reach. */
  passXid(): void {
    const transaction = this.transactions.begin();
    transaction.writeXid();
    transaction.commit();
  }

  /** The tree is whole and has what the model has. */
  check(): TreeShape {
    return checkTree(this.index, this.model);
  }

  /** Every record of the B-tree so far. */
  everyRecord<T>(look: (record: WalRecord) => T): T[] {
    this.wal.flush(this.wal.insertedUpTo);
    const reader = readerOf(this.vfs, this.start);
    const found: T[] = [];
    while (reader.next()) if (reader.record.rmgr === RM_BTREE) found.push(look(reader.record));
    reader.close();
    return found;
  }

  /** From nothing, by the records up to `lsn`, inclusive, or all. */
  replayed(upTo: number = Infinity): Replayed {
    this.wal.flush(this.wal.insertedUpTo);
    return new Replayed(this, upTo);
  }

  close(): void {
    expect(this.pool.pinned()).toEqual([]);
    this.pool.flushAll();
    this.pool.close();
    this.wal.close();
  }
}

function insertEntry(
  index: BtreeIndex,
  former: IndexTupleFormer,
  options: IndexOptions,
  key: number,
  block: number,
  offset: number,
): void {
  const filler = 'x'.repeat(options.filler ?? 0);
  const length = former.fromValues(options.fillerFirst === true ? [filler, key] : [key, filler]);
  const { memory } = former;
  memory.u16[0] = block >>> 16;
  memory.u16[1] = block & 0xffff;
  memory.u16[2] = offset;
  btreeInsert(index, undefined as never, memory, 0, length, false);
}

function readerOf(vfs: MemoryVfs, from: number): WalReader {
  const reader = new WalReader({ vfs, directory: '/data/wal', segmentSize: SEGMENT_BYTES, incarnation: 1 });
  reader.seek(from);
  return reader;
}

/** The index as redo makes it, in files of its own; writable, and not logged. */
export class Replayed {
  readonly pool: BufferPool;
  readonly pages: RedoPages;
  readonly index: BtreeIndex;
  readonly options: IndexOptions;
  readonly former: IndexTupleFormer;

  constructor(bench: IndexBench, upTo: number) {
    const { geometry, options } = bench;
    const vfs = new MemoryVfs();
    for (const path of ['/data', '/data/base', '/data/base/5']) vfs.mkdir(path);
    const storage = new StorageManager({ vfs, directory: '/data', geometry });
    this.options = options;
    this.former = formerOf(options);
    this.pool = new BufferPool({ geometry, buffers: 64 });
    this.pages = new RedoPages({ pool: this.pool, storage });
    const manager = btreeResourceManager(this.pages);
    const reader = readerOf(bench.vfs, bench.start);
    while (reader.next() && reader.record.lsn <= upTo) {
      const { record } = reader;
      if (record.rmgr === RM_BTREE) manager.redo(record);
      if (record.rmgr !== RM_XLOG) continue;
      for (let i = 0; i < record.blockCount; i++) {
        if (this.pages.fetch(record, i) !== REDO_MISSING) this.pages.release(this.pages.buffer);
      }
    }
    reader.close();
    expect(this.pool.pinned()).toEqual([]);
    this.pages.missing.check();
    const relation = new Relation({ pool: this.pool, storage: storage.open(LOCATOR), name: 't_k_idx', fillfactor: 90 });
    this.index = openIndex(relation, bench.transactions, this);
  }

  insert(key: number, block: number, offset: number): void {
    insertEntry(this.index, this.former, this.options, key, block, offset);
  }
}

/** Whether each page after a replay is what it was before, but for what {@link maskBtreePage} takes away. */
export function expectSamePages(bench: IndexBench, replayed: Replayed): void {
  const { geometry } = bench;
  const { main } = bench.index;
  for (let block = 0; block < main.blockCount(); block++) {
    const before = pageCopy(bench.pool, bench.index, block);
    if (pageIsZero(before, 0, geometry)) continue; // the file was lengthened, and the page is not used yet
    const after = pageCopy(replayed.pool, replayed.index, block);
    const where = `block ${block}`;
    expect([pageLsnHigh(after, 0), pageLsnLow(after, 0)], where).toEqual([
      pageLsnHigh(before, 0),
      pageLsnLow(before, 0),
    ]);
    maskBtreePage(before, 0, geometry);
    maskBtreePage(after, 0, geometry);
    if (Buffer.compare(before.u8, after.u8) !== 0) expect(Array.from(after.u32), where).toEqual(Array.from(before.u32));
  }
}

export function pageCopy(pool: BufferPool, index: BtreeIndex, block: number): PageMemory {
  const { size } = index.geometry;
  return pool.withPage(index.main, block, (m, base) => pageMemory(m.u8.slice(base, base + size).buffer));
}

export interface TreeShape {
  levels: number;
  /** Pages in use, on all levels. */
  pages: number;
  deleted: number;
  unused: number;
  halfDead: number;
  incomplete: number;
  /** Key of each TID. */
  found: Map<number, number>;
}

/**
 * Reads every page of every level from left to right, and fails unless: links lead both ways; levels and flags are right;
 * keys rise, and lie within the page's high key and its left sibling's; the children of a level, in the order of downlinks,
 * are the level below, but for pages that are being deleted and right halves of incomplete splits; a downlink's key is the high key to
 * the left of its child; pages that no level has are deleted, or zero; and the TIDs are the model's.
 */
export function checkTree(index: BtreeIndex, model?: ReadonlyMap<number, number>): TreeShape {
  const { pool, main, geometry } = index;
  const { size } = geometry;
  const shape: TreeShape = { levels: 0, pages: 0, deleted: 0, unused: 0, halfDead: 0, incomplete: 0, found: new Map() };
  const meta = readMeta(pageCopy(pool, index, 0), 0);
  const { found } = shape;
  const seen = new Set<number>([0]);
  const go = pagesThatGo(index);
  const separators = new Map<number, { m: PageMemory; pos: number }>();
  let children: number[] | undefined;
  let block = meta.root;
  let onlyOne = 0;
  for (let level = meta.level; meta.root !== 0 && level >= 0; level--) {
    if (level === meta.fastlevel) onlyOne = meta.fastroot;
    const linked: number[] = [];
    const below: number[] = [];
    let last: { m: PageMemory; pos: number } | undefined;
    let left = 0;
    let isRightHalf = false;
    let inLevel = 0;
    const first = block;
    for (let at = first; at !== 0; ) {
      const where = `level ${level}, block ${at}`;
      expect(seen.has(at), where).toBe(false);
      expect(at, where).toBeLessThan(main.blockCount());
      seen.add(at);
      const m = pageCopy(pool, index, at);
      must(btPrev(m, 0, size) === left, `${where}: the left link leads to block ${btPrev(m, 0, size)}, not ${left}`);
      must(btLevel(m, 0, size) === level, `${where}: has level ${btLevel(m, 0, size)}`);
      must(!btIsDeleted(m, 0, size) && btIsLeaf(m, 0, size) === (level === 0), `${where}: its flags`);
      // A root that was split is none any more, and there is no other before the split is complete.
      const isHalf = isRightHalf || (btFlags(m, 0, size) & BTP_INCOMPLETE_SPLIT) !== 0;
      expect((btFlags(m, 0, size) & BTP_ROOT) !== 0, where).toBe(level === meta.level && !isHalf);
      shape.pages++;
      inLevel++;
      if (go.has(at)) {
        if (level === 0) shape.halfDead++;
      } else {
        if (!isRightHalf) linked.push(at);
        const separator = separators.get(at);
        if (separator !== undefined && last !== undefined) {
          must(compareTuples(index, separator, last) === 0, `${where}: its separator is its left sibling's high key`);
        }
        last = checkItems(m, index, where, last, below, separators, found);
        isRightHalf = (btFlags(m, 0, size) & BTP_INCOMPLETE_SPLIT) !== 0;
        if (isRightHalf) shape.incomplete++;
      }
      left = at;
      at = btNext(m, 0, size);
    }
    expect(isRightHalf).toBe(false);
    if (inLevel === 1 && shape.incomplete === 0) expect(meta.fastlevel, 'the fast root').toBeLessThanOrEqual(level);
    if (level === meta.fastlevel && shape.incomplete === 0) expect([first, inLevel]).toEqual([onlyOne, 1]);
    if (children !== undefined) expect(linked, `children of level ${level + 1}`).toEqual(children);
    children = below;
    if (level > 0) block = leftmostBelow(index, first);
  }
  shape.levels = meta.root === 0 ? 0 : meta.level + 1;
  for (let at = 1; at < main.blockCount(); at++) {
    if (seen.has(at)) continue;
    const m = pageCopy(pool, index, at);
    if (pageIsZero(m, 0, geometry)) shape.unused++;
    else {
      expect(btIsDeleted(m, 0, size), `block ${at}, on no level, is deleted`).toBe(true);
      shape.deleted++;
    }
  }
  expect(pool.pinned()).toEqual([]);
  if (model !== undefined) expect([...found].sort(byTid)).toEqual([...model].sort(byTid));
  return shape;
}

function byTid(a: readonly [number, number], b: readonly [number, number]): number {
  return a[0] - b[0];
}

/** Half-dead leaves, and the pages above that go with them: none has a downlink from above. */
function pagesThatGo(index: BtreeIndex): Set<number> {
  const { pool, main, geometry } = index;
  const { size } = geometry;
  const go = new Set<number>();
  for (let block = 1; block < main.blockCount(); block++) {
    const leaf = pageCopy(pool, index, block);
    if (pageIsZero(leaf, 0, geometry) || !btIsHalfDead(leaf, 0, size)) continue;
    go.add(block);
    let at = downlink(leaf, itemPosition(leaf, 0, 1));
    for (; at !== 0xffff_ffff && at !== block; ) {
      const m = pageCopy(pool, index, at);
      must(!btIsLeaf(m, 0, size) && pageMaxOffset(m, 0) === firstDataKey(m, 0, size), `block ${at}: one child`);
      go.add(at);
      at = downlink(m, itemPosition(m, 0, firstDataKey(m, 0, size)));
    }
  }
  return go;
}

/** The first page of the level below: to the left of the first that has a downlink, half-dead ones may be. */
function leftmostBelow(index: BtreeIndex, block: number): number {
  const { size } = index.geometry;
  const m = pageCopy(index.pool, index, block);
  let at = downlink(m, itemPosition(m, 0, firstDataKey(m, 0, size)));
  for (let steps = 0; ; steps++) {
    const left = btPrev(pageCopy(index.pool, index, at), 0, size);
    if (left === 0) return at;
    must(steps < index.main.blockCount(), `block ${at}: left links in a circle`);
    at = left;
  }
}

/** As `expect(holds).toBe(true)`, which takes a microsecond even when it does. */
function must(holds: boolean, what: string): void {
  if (!holds) expect(holds, what).toBe(true);
}

/** @returns the page's high key, if it has one */
function checkItems(
  m: PageMemory,
  index: BtreeIndex,
  where: string,
  lower: { m: PageMemory; pos: number } | undefined,
  children: number[],
  separators: Map<number, { m: PageMemory; pos: number }>,
  found: Map<number, number>,
): { m: PageMemory; pos: number } | undefined {
  const { geometry, format } = index;
  const { size } = geometry;
  const first = firstDataKey(m, 0, size);
  const last = pageMaxOffset(m, 0);
  const isLeaf = btIsLeaf(m, 0, size);
  for (let o = 1; o <= last; o++) {
    const inBounds = itemIsInBounds(linePointer(m, 0, o), pageUpper(m, 0), pageSpecial(m, 0));
    must(inBounds, `${where}, offset ${o}`);
  }
  let before = lower;
  for (let o = first; o <= last; o++) {
    const pos = itemPosition(m, 0, o);
    const there = `${where}, offset ${o}`;
    must(isPivot(m, pos) !== isLeaf, `${there}: a pivot above the leaves`);
    if (isLeaf || o > first) {
      const order = before === undefined ? -1 : compareTuples(index, before, { m, pos });
      // A separator can equal its left neighbour's high key, from which it was made; keys are all different.
      must(order < 0 || (order === 0 && before === lower), `${there}: keys rise`);
      before = { m, pos };
    }
    if (!isLeaf) {
      children.push(downlink(m, pos));
      if (o > first) separators.set(downlink(m, pos), { m, pos });
      continue;
    }
    const key = keyOf(index, m, pos);
    let previous = -1;
    for (const tid of tidsOf(m, pos)) {
      must(tid > previous, `${there}: TIDs of a posting list rise`);
      must(!found.has(tid), `${there}: TID ${tid} twice`);
      previous = tid;
      found.set(tid, key);
    }
  }
  if (first === 1) return undefined;
  const high = { m, pos: itemPosition(m, 0, 1) };
  expect(isPivot(m, high.pos), `${where}: high key`).toBe(true);
  if (before !== undefined && last >= first)
    expect(compareTuples(index, before, high), `${where}: high key`).toBeLessThanOrEqual(0);
  expect(tupleNatts(m, high.pos, format.columnCount)).toBeLessThanOrEqual(format.keyCount);
  return high;
}

/** TIDs of a leaf's tuple. */
function tidsOf(m: PageMemory, pos: number): number[] {
  const count = isPosting(m, pos) ? postingCount(m, pos) : 1;
  return Array.from({ length: count }, (_, i) => {
    const at = isPosting(m, pos) ? nthTidAt(m, pos, i) : heapTidAt(m, pos);
    return tidOf(tidBlock(m, at), tidOffset(m, at));
  });
}

/** The int4 of an index tuple without nulls. */
export function keyOf(index: BtreeIndex, m: PageMemory, pos: number): number {
  const { format } = index;
  const at = format.descriptor.columns[0].name === 'k' ? 8 : format.attributeEnd(m, pos, 2) - 4;
  return m.u32[(pos + at) >>> 2] | 0;
}

/** Order of two tuples, pivots or not: attributes that one has lost are less than every value, the highest TID of a posting list counts first. */
function compareTuples(
  index: BtreeIndex,
  a: { m: PageMemory; pos: number },
  b: { m: PageMemory; pos: number },
): number {
  const { format } = index;
  const aNatts = Math.min(tupleNatts(a.m, a.pos, format.columnCount), format.keyCount);
  const bNatts = Math.min(tupleNatts(b.m, b.pos, format.columnCount), format.keyCount);
  const order = format.compare(a.m, a.pos, b.m, b.pos, Math.min(aNatts, bNatts));
  if (order !== 0 || aNatts !== bNatts) return order !== 0 ? order : aNatts - bNatts;
  const aTid = isPosting(a.m, a.pos) ? nthTidAt(a.m, a.pos, postingCount(a.m, a.pos) - 1) : heapTidAt(a.m, a.pos);
  const bTid = heapTidAt(b.m, b.pos);
  if (aTid < 0 || bTid < 0) return aTid < 0 ? (bTid < 0 ? 0 : -1) : 1;
  return compareTids(tidBlock(a.m, aTid), tidOffset(a.m, aTid), tidBlock(b.m, bTid), tidOffset(b.m, bTid));
}
