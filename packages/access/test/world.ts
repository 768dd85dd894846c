// An engine in small, on a disk that can crash: a heap-like and a map-like fork, changed through the page log by records
// of three kinds, with a model beside it that knows what every page was after every record.
import {
  type MapTruncation,
  PAGE_KEEP_DATA,
  PAGE_STANDARD,
  PAGE_WILL_INIT,
  PageLog,
  PendingCreates,
  REDO_MISSING,
  REDO_NEEDED,
  RedoPages,
  Relation,
  RemovedFiles,
  storageResourceManager,
} from '@blockwright/access';
import type { Lsn } from '@blockwright/base';
import { BufferPool } from '@blockwright/bufmgr';
import type { BlockGeometry } from '@blockwright/geometry';
import { type PageMemory, pageAddItem, pageExactFreeSpace, pageInit } from '@blockwright/page';
import { StorageManager } from '@blockwright/smgr';
import { SimulatedVfs } from '@blockwright/vfs/simulated';
import {
  createWal,
  type ResourceManager,
  ResourceManagers,
  RM_HEAP,
  RM_XLOG,
  WalReader,
  type WalRecord,
  WalWriter,
} from '@blockwright/wal';

export const LOCATOR = { tablespace: 1663, database: 5, relfilenode: 16384 };
const SEGMENT_SIZE = 1 << 20;
const WAL = '/data/wal';
const SYSTEM = '7000000000000000001';

/** An item is added to a page, which redo makes anew when INIT goes with it; bytes of a map page may change as well. */
export const ADD = 0x00;
const INIT = 0x80;
/** A byte of a map page changes. */
const MAP = 0x10;

export interface WorldOptions {
  readonly geometry: BlockGeometry;
  readonly vfs?: SimulatedVfs;
  readonly hintImages?: boolean;
  readonly fullPageImages?: boolean;
  readonly unlogged?: boolean;
  readonly buffers?: number;
  readonly segmentBlocks?: number;
  readonly noWal?: boolean;
  readonly onWarning?: (message: string) => void;
}

export function disk(): SimulatedVfs {
  const vfs = new SimulatedVfs();
  for (const directory of ['/data', '/data/base', '/data/base/5']) vfs.mkdir(directory);
  vfs.settle();
  return vfs;
}

/** The running engine. */
export class World {
  readonly g: BlockGeometry;
  readonly vfs: SimulatedVfs;
  readonly start: Lsn;
  readonly wal: WalWriter;
  readonly log: PageLog;
  readonly pool: BufferPool;
  readonly storage: StorageManager;
  readonly relation: Relation;
  readonly removed: RemovedFiles;

  constructor(options: WorldOptions) {
    const { geometry, vfs = disk(), buffers = 16, segmentBlocks = 8 } = options;
    this.g = geometry;
    this.vfs = vfs;
    this.start = createWal({ vfs, directory: WAL, segmentSize: SEGMENT_SIZE });
    vfs.syncDirectory('/data');
    this.wal = new WalWriter({
      vfs,
      directory: WAL,
      segmentSize: SEGMENT_SIZE,
      systemIdentifier: SYSTEM,
      incarnation: 1,
      start: this.start,
      previous: 0,
    });
    this.log = new PageLog({
      geometry,
      wal: options.noWal === true ? undefined : this.wal,
      hintImages: options.hintImages ?? true,
      fullPageImages: options.fullPageImages ?? true,
      onWarning: options.onWarning,
    });
    this.storage = new StorageManager({ vfs, directory: '/data', geometry, segmentBlocks });
    this.pool = new BufferPool({ geometry, buffers, wal: this.wal });
    this.relation = this.open(LOCATOR.relfilenode, options.unlogged);
    this.removed = new RemovedFiles({ pool: this.pool, storage: this.storage });
  }

  open(relfilenode: number, unlogged = false): Relation {
    const { pool, storage, log } = this;
    return new Relation({ pool, storage: storage.open({ ...LOCATOR, relfilenode }), log, unlogged });
  }

  /** Adds blocks without an item. */
  extend(blocks: number, relation: Relation = this.relation): void {
    for (let i = 0; i < blocks; i++) {
      const id = this.pool.pin(relation.main, this.pool.extend(relation.main, 1));
      this.log.begin(relation, RM_HEAP, ADD | INIT, 1, 0);
      pageInit(this.pool.memory(id), this.pool.base(id), this.g);
      this.log.page(0, relation.main, id, PAGE_STANDARD | PAGE_WILL_INIT);
      this.log.finish(3);
      this.pool.unpin(id);
    }
  }

  /** Adds an item, if it fits. @returns the record's LSN, 0 when there was none */
  add(block: number, item: Uint8Array, flags = 0, relation: Relation = this.relation): Lsn {
    const id = this.pool.pin(relation.main, block);
    try {
      const m = this.pool.memory(id);
      const base = this.pool.base(id);
      if (pageExactFreeSpace(m, base) < item.length + 16) return 0;
      this.log.begin(relation, RM_HEAP, ADD, 1, item.length);
      pageAddItem(m, base, this.g, item, 0, item.length);
      this.log.page(0, relation.main, id, PAGE_STANDARD | flags);
      this.log.bytes(item, 0, item.length);
      return this.log.finish(3);
    } finally {
      this.pool.unpin(id);
    }
  }

  /** Adds an item and changes a byte of a map page, in one record. */
  addAndMark(block: number, item: Uint8Array, mapBlock: number, at: number, value: number): Lsn {
    const { pool, log, relation } = this;
    const map = this.pinMap(mapBlock);
    const id = pool.pin(relation.main, block);
    try {
      if (pageExactFreeSpace(pool.memory(id), pool.base(id)) < item.length + 16) return 0;
      log.begin(relation, RM_HEAP, ADD, 2, item.length + 4);
      log.u16(at);
      pageAddItem(pool.memory(id), pool.base(id), this.g, item, 0, item.length);
      log.page(0, relation.main, id, PAGE_STANDARD | PAGE_KEEP_DATA);
      log.bytes(item, 0, item.length);
      pool.memory(map).u8[pool.base(map) + at] = value;
      log.page(3, relation.vm, map, 0);
      log.main();
      log.u16(value);
      return log.finish(4);
    } finally {
      pool.unpin(id);
      pool.unpin(map);
    }
  }

  mark(mapBlock: number, at: number, value: number): Lsn {
    const { pool, log, relation } = this;
    const map = this.pinMap(mapBlock);
    try {
      log.begin(relation, RM_HEAP, MAP, 1, 8);
      log.u16(at);
      log.u8(value);
      pool.memory(map).u8[pool.base(map) + at] = value;
      log.page(0, relation.vm, map, 0);
      return log.finish(0);
    } finally {
      pool.unpin(map);
    }
  }

  /** Sets a "hint bit" on a page: no record of its own. */
  hint(block: number, value: number): boolean {
    const { pool, log, relation } = this;
    const id = pool.pin(relation.main, block);
    pool.memory(id).u8[hintByte(pool.base(id))] = value;
    const kept = log.hint(relation, relation.main, id);
    pool.unpin(id);
    return kept;
  }

  /** The bytes of a page now. */
  page(block: number, fork = this.relation.main): Uint8Array {
    return bytesOf(this.pool, fork, block);
  }

  /** Everything changed is in the files, synced. @returns the redo point */
  checkpoint(): Lsn {
    const redo = this.wal.insertedUpTo;
    this.log.redoPoint = redo;
    this.removed.beforeCheckpoint();
    this.pool.flushAll();
    this.storage.syncPending();
    this.wal.flush(this.wal.insertedUpTo);
    this.removed.afterCheckpoint();
    return redo;
  }

  private pinMap(block: number): number {
    const { pool, relation } = this;
    if (!relation.vm.exists()) relation.vm.create();
    const blocks = relation.vm.blockCount();
    if (block >= blocks) pool.extend(relation.vm, block + 1 - blocks);
    const id = pool.pinZeroOnError(relation.vm, block);
    const m = pool.memory(id);
    if (m.u32[(pool.base(id) >>> 2) + 3] === 0) pageInit(m, pool.base(id), this.g);
    return id;
  }
}

/** The byte of a page's header that no record changes here: the low byte of pd_prune_xid. */
function hintByte(base: number): number {
  return base + 20;
}

export function bytesOf(pool: BufferPool, fork: Relation['main'], block: number): Uint8Array {
  return pool.withPage(fork, block, (m, base) => m.u8.slice(base, base + pool.geometry.size));
}

/** Replays {@link World}'s own records. */
function redo(pages: RedoPages, record: WalRecord): void {
  const { geometry } = pages.pool;
  const at = record.dataAt;
  for (let i = 0; i < record.blockCount; i++) {
    const isInit = record.willInit[i] !== 0;
    const result = isInit ? pages.init(record, i) : pages.fetch(record, i);
    if (result === REDO_MISSING) continue;
    if (result === REDO_NEEDED) {
      change(pages.memory, pages.base, geometry, record, i, isInit, at);
      pages.changed(pages.buffer, record);
    }
    pages.release(pages.buffer);
  }
}

function change(
  m: PageMemory,
  base: number,
  g: BlockGeometry,
  record: WalRecord,
  i: number,
  isInit: boolean,
  at: number,
): void {
  if (record.fork[i] === 2) {
    if (m.u32[(base >>> 2) + 3] === 0) pageInit(m, base, g);
    m.u8[base + record.u16(at)] = record.u8(at + 2);
    return;
  }
  if (isInit) return pageInit(m, base, g);
  const length = record.blockDataLength[i];
  if (pageAddItem(m, base, g, record.bytes, record.blockDataAt[i], length) === 0) throw new Error('it does not fit');
}

/** What a redo works with and what it found. */
export interface Redone {
  readonly pages: RedoPages;
  readonly relation: Relation;
  readonly records: number;
  readonly endLsn: Lsn;
  readonly created: PendingCreates;
}

export function readerOf(vfs: SimulatedVfs): WalReader {
  return new WalReader({ vfs, directory: WAL, segmentSize: SEGMENT_SIZE, systemIdentifier: SYSTEM, incarnation: 1 });
}

export interface ReplayOptions {
  /** So many records, then no more. */
  readonly most?: number;
  readonly segmentBlocks?: number;
  readonly maps?: readonly MapTruncation[];
  /** As if no record had an image. */
  readonly images?: boolean;
}

/** Replays the WAL of a disk from a redo point on, into files and a pool of their own. */
export function replay(vfs: SimulatedVfs, from: Lsn, g: BlockGeometry, options: ReplayOptions = {}): Redone {
  const { segmentBlocks = 8, maps = [], images = true } = options;
  const storage = new StorageManager({ vfs, directory: '/data', geometry: g, segmentBlocks });
  const pool = new BufferPool({ geometry: g, buffers: 16 });
  storage.fillGaps();
  const pages = new RedoPages({ pool, storage });
  const created = new PendingCreates();
  const managers = new ResourceManagers<ResourceManager>()
    .register({ id: RM_HEAP, name: 'Toy', identify: () => '', describe: () => '', redo: (r) => redo(pages, r) })
    .register({ id: RM_XLOG, name: 'XLOG', identify: () => '', describe: () => '', redo: (r) => redo(pages, r) })
    .register(storageResourceManager(pages, created, maps));
  const reader = readerOf(vfs);
  reader.seek(from);
  let records = 0;
  while (records < (options.most ?? Number.POSITIVE_INFINITY) && reader.next()) {
    if (!images) reader.record.hasImage.fill(0);
    managers.get(reader.record.rmgr)?.redo(reader.record);
    records++;
  }
  const { endLsn } = reader;
  reader.close();
  const log = new PageLog({ geometry: g, hintImages: false });
  const relation = new Relation({ pool, storage: storage.open(LOCATOR), log });
  return { pages, relation, records, endLsn, created };
}

/** A page without what redo need not restore: the LSN stays, the checksum is of when it was written, hints are hints. */
export function masked(page: Uint8Array): Uint8Array {
  const bytes = page.slice();
  bytes[8] = 0;
  bytes[9] = 0;
  bytes[20] = 0;
  return bytes;
}
