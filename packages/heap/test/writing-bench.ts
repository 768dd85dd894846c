// A heap with a WAL, transactions and a small pool, on an in-memory file system; and the same heap after a crash, made
// again from its files and its WAL. For tests of what is written within transactions.
import { PageLog, REDO_MISSING, RedoPages, type RedoStats, Relation } from '@blockwright/access';
import { ForkNumber } from '@blockwright/base';
import { BufferPool } from '@blockwright/bufmgr';
import { BlockGeometry, type BlockSize } from '@blockwright/geometry';
import { type Compaction, pageIsZero, pageLsnHigh, pageLsnLow, pageMaxOffset, pageMemory } from '@blockwright/page';
import { type Fork, StorageManager } from '@blockwright/smgr';
import { CommitLog, type Snapshot, type Transaction, Transactions } from '@blockwright/transam';
import { int4, TupleDescriptor, text } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { VisibilityMap } from '@blockwright/visibilitymap';
import { createWal, RM_XLOG, WalReader, WalWriter } from '@blockwright/wal';
import { expect } from 'vitest';
import { HeapScan, HeapWriter, heapRecords, heapResourceManagers, maskReplayedHeapPage } from '../src/index.ts';

export const COLUMNS: TupleDescriptor = TupleDescriptor.of([
  { name: 'id', type: int4() },
  { name: 'n', type: int4() },
  { name: 'filler', type: text() },
]);

const LOCATOR = { tablespace: 1663, database: 5, relfilenode: 16384 };
const SEGMENT_BYTES = 1 << 20;

export interface WritingOptions {
  readonly buffers?: number;
  readonly fillfactor?: number;
  readonly compaction?: Compaction;
  readonly hintImages?: boolean;
  readonly unlogged?: boolean;
  readonly nextXid?: number;
}

export class WritingBench {
  readonly vfs: MemoryVfs;
  readonly geometry: BlockGeometry;
  readonly pool: BufferPool;
  readonly wal: WalWriter;
  readonly log: PageLog;
  readonly relation: Relation;
  readonly map: VisibilityMap;
  readonly transactions: Transactions;
  readonly writer: HeapWriter;
  /** Where redo starts: the last checkpoint that was finished. */
  redoFrom: number;

  constructor(size: BlockSize, options: WritingOptions = {}) {
    this.vfs = new MemoryVfs();
    for (const path of ['/data', '/data/base', '/data/base/5', '/data/xact']) this.vfs.mkdir(path);
    this.geometry = BlockGeometry.of(size);
    const walOptions = { vfs: this.vfs, directory: '/data/wal', segmentSize: SEGMENT_BYTES };
    const start = createWal(walOptions);
    this.wal = new WalWriter({ ...walOptions, systemIdentifier: '77', incarnation: 1, start, previous: 0 });
    this.pool = new BufferPool({ geometry: this.geometry, buffers: options.buffers ?? 16, wal: this.wal });
    const hintImages = options.hintImages ?? true;
    this.log = new PageLog({ geometry: this.geometry, wal: this.wal, hintImages });
    this.log.redoPoint = start;
    this.redoFrom = start;
    const commitLog = new CommitLog({ vfs: this.vfs, directory: '/data/xact', pageBytes: size, wal: this.wal });
    const nextXid = options.nextXid ?? 1000;
    commitLog.zeroPage(Math.floor(nextXid / (size * 4)));
    this.transactions = new Transactions({ wal: this.wal, commitLog, nextXid, nextXidEpoch: 0, oldestXid: nextXid });
    const storage = new StorageManager({ vfs: this.vfs, directory: '/data', geometry: this.geometry });
    const { fillfactor, compaction, unlogged } = options;
    const name = 't';
    this.relation = new Relation({
      pool: this.pool,
      storage: storage.open(LOCATOR),
      name,
      log: this.log,
      fillfactor,
      compaction,
      unlogged,
    });
    this.relation.main.create();
    this.map = new VisibilityMap({ pool: this.pool, fork: this.relation.vm });
    this.writer = new HeapWriter(this.relation, COLUMNS, this.map, this.transactions);
  }

  /** One transaction around `work`, whose statement's snapshot it gets. */
  run<T>(work: (transaction: Transaction, snapshot: Snapshot) => T): T {
    const transaction = this.transactions.begin();
    const snapshot = transaction.snapshot();
    try {
      const result = work(transaction, snapshot);
      snapshot.release();
      transaction.commit();
      return result;
    } catch (error) {
      transaction.abort();
      throw error;
    }
  }

  /** What a snapshot sees: `id` and `n` of each row, sorted. */
  rows(snapshot: Snapshot): [number, number][] {
    const seen: [number, number][] = [];
    const scan = new HeapScan(this.relation, COLUMNS, { columns: [0, 1], snapshot });
    for (let batch = scan.next(); batch !== undefined; batch = scan.next()) {
      const [ids, ns] = batch.vectors as unknown as { values: Int32Array }[];
      for (let i = 0; i < batch.length; i++) seen.push([ids.values[i], ns.values[i]]);
    }
    return seen.sort(([a, x], [b, y]) => a - b || x - y);
  }

  /** What a reader who comes now sees. */
  committedRows(): [number, number][] {
    const snapshot = this.transactions.snapshot();
    const rows = this.rows(snapshot);
    snapshot.release();
    return rows;
  }

  /** Images are due from here on; once all pages are written, redo starts here. */
  checkpoint(): void {
    const at = this.wal.insertedUpTo;
    this.log.redoPoint = at;
    this.pool.flushAll();
    this.redoFrom = at;
  }

  /** The records from the last checkpoint on, in words. */
  records(): string[] {
    this.wal.flush(this.wal.insertedUpTo);
    const reader = this.reader(this.vfs);
    const lines: string[] = [];
    while (reader.next()) {
      const { record } = reader;
      const known = heapRecords.find(({ id }) => id === record.rmgr);
      if (known !== undefined) lines.push(`${known.name} ${known.identify(record.info)} ${known.describe(record)}`);
    }
    reader.close();
    return lines;
  }

  /** The heap made again from what the files are now, a crash's leftovers, and the WAL. */
  crashed(options: { readonly compaction?: Compaction; readonly stats?: RedoStats } = {}): Replayed {
    this.wal.flush(this.wal.insertedUpTo);
    return new Replayed(copyOf(this.vfs), this.geometry, this.redoFrom, options);
  }

  reader(vfs: MemoryVfs): WalReader {
    const reader = new WalReader({ vfs, directory: '/data/wal', segmentSize: SEGMENT_BYTES, incarnation: 1 });
    reader.seek(this.redoFrom);
    return reader;
  }

  close(): void {
    expect(this.pool.pinned()).toEqual([]);
    this.pool.flushAll();
    this.pool.close();
    this.wal.close();
  }
}

/** A heap after redo. */
export class Replayed {
  readonly pool: BufferPool;
  readonly relation: Relation;
  readonly pages: RedoPages;
  records = 0;

  constructor(
    vfs: MemoryVfs,
    geometry: BlockGeometry,
    redoPoint: number,
    options: { readonly compaction?: Compaction; readonly stats?: RedoStats },
  ) {
    const storage = new StorageManager({ vfs, directory: '/data', geometry });
    this.pool = new BufferPool({ geometry, buffers: 32 });
    this.pages = new RedoPages({ pool: this.pool, storage, ...options });
    this.relation = new Relation({ pool: this.pool, storage: storage.open(LOCATOR), name: 't' });
    this.redo(vfs, redoPoint);
  }

  /** Once, or again: replay is idempotent. */
  redo(vfs: MemoryVfs, redoPoint: number): void {
    const managers = heapResourceManagers(this.pages);
    const reader = new WalReader({ vfs, directory: '/data/wal', segmentSize: SEGMENT_BYTES, incarnation: 1 });
    reader.seek(redoPoint);
    while (reader.next()) {
      const { record } = reader;
      this.records++;
      managers.find(({ id }) => id === record.rmgr)?.redo(record);
      if (record.rmgr !== RM_XLOG) continue;
      for (let i = 0; i < record.blockCount; i++) {
        if (this.pages.fetch(record, i) !== REDO_MISSING) this.pages.release(this.pages.buffer);
      }
    }
    reader.close();
    expect(this.pool.pinned()).toEqual([]);
  }
}

/** A copy of every file. */
export function copyOf(vfs: MemoryVfs): MemoryVfs {
  const copy = new MemoryVfs();
  const visit = (path: string): void => {
    for (const name of vfs.readdir(path)) {
      const child = path === '/' ? `/${name}` : `${path}/${name}`;
      if (vfs.stat(child)?.isDirectory === true) {
        copy.mkdir(child);
        visit(child);
      } else {
        const file = copy.open(child, 'create');
        const bytes = vfs.readFile(child);
        if (bytes.length > 0) file.write(bytes, 0, bytes.length, 0);
        file.close();
      }
    }
  };
  visit('/');
  return copy;
}

/** Whether the pages after a replay are those of before: masked bytes, LSNs, all-visible flags; the map's pages whole. */
export function expectSamePages(bench: WritingBench, replayed: Replayed, fromBlock = 0): void {
  expectSameFork(bench, replayed, ForkNumber.main, fromBlock);
  if (bench.relation.vm.exists()) expectSameFork(bench, replayed, ForkNumber.vm, 0);
}

function expectSameFork(bench: WritingBench, replayed: Replayed, number: ForkNumber, from: number): void {
  const { geometry } = bench;
  const ours: Fork = number === ForkNumber.main ? bench.relation.main : bench.relation.vm;
  const theirs: Fork = number === ForkNumber.main ? replayed.relation.main : replayed.relation.vm;
  for (let block = from; block < ours.blockCount(); block++) {
    const before = pageCopy(bench.pool, ours, block, geometry);
    // A page that was lengthened or given a header, and no more: nothing of it is in the WAL.
    if (pageIsZero(before, 0, geometry) || (pageMaxOffset(before, 0) === 0 && lsnOf(before) === '0/0')) continue;
    const after = pageCopy(replayed.pool, theirs, block, geometry);
    const where = `block ${block} of fork ${number}`;
    expect(lsnOf(after), where).toBe(lsnOf(before));
    if (number === ForkNumber.main) {
      expect(after.u16[5] & 4, where).toBe(before.u16[5] & 4);
      maskReplayedHeapPage(before, 0, geometry);
      maskReplayedHeapPage(after, 0, geometry);
    } else {
      before.u16[4] = 0;
      after.u16[4] = 0;
    }
    if (Buffer.compare(before.u8, after.u8) !== 0) expect(Array.from(after.u32), where).toEqual(Array.from(before.u32));
  }
}

function lsnOf(m: ReturnType<typeof pageMemory>): string {
  return `${pageLsnHigh(m, 0).toString(16)}/${pageLsnLow(m, 0).toString(16)}`;
}

function pageCopy(pool: BufferPool, fork: Fork, block: number, geometry: BlockGeometry): ReturnType<typeof pageMemory> {
  return pool.withPage(fork, block, (m, base) => pageMemory(m.u8.slice(base, base + geometry.size).buffer));
}
