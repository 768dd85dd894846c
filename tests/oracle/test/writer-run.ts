// The updates of a `HeapUpdateRun`, done by the heap itself: rows inserted, found through their HOT chains, updated and
// pruned in transactions. What it leaves is to be what the run's model leaves, and PostgreSQL.
import { Relation } from '@blockwright/access';
import { FILLFACTOR } from '@blockwright/benchmark-compactify';
import { BufferPool } from '@blockwright/bufmgr';
import type { BlockGeometry } from '@blockwright/geometry';
import { HeapWriter, heapFetch, heapHotSearch, TM_OK } from '@blockwright/heap';
import { type Compaction, type PageMemory, pageMemory } from '@blockwright/page';
import { StorageManager } from '@blockwright/smgr';
import { CommitLog, Transactions } from '@blockwright/transam';
import { int4, int8, RowDecoder, TupleDescriptor, text } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { VisibilityMap } from '@blockwright/visibilitymap';

export interface WriterRunOptions {
  readonly width: number;
  readonly rows: number;
  /** Of the transaction that inserts the rows. */
  readonly xid: number;
  readonly how?: Compaction;
}

export class WriterRun {
  readonly relation: Relation;
  private readonly geometry: BlockGeometry;
  private readonly columns: TupleDescriptor;
  private readonly decoder: RowDecoder;
  private readonly writer: HeapWriter;
  private readonly transactions: Transactions;
  private readonly filler: unknown;
  private readonly places: { block: number; offset: number }[] = [{ block: 0, offset: 0 }];

  constructor(geometry: BlockGeometry, options: WriterRunOptions) {
    const { width, xid, how } = options;
    this.geometry = geometry;
    const vfs = new MemoryVfs();
    for (const path of ['/data', '/data/base', '/data/base/5', '/data/xact']) vfs.mkdir(path);
    const commitLog = new CommitLog({ vfs, directory: '/data/xact', pageBytes: geometry.size });
    commitLog.zeroPage(Math.floor(xid / (geometry.size * 4)));
    this.transactions = new Transactions({ commitLog, nextXid: xid, nextXidEpoch: 0, oldestXid: xid });
    const storage = new StorageManager({ vfs, directory: '/data', geometry });
    const pool = new BufferPool({ geometry, buffers: 64 });
    const stored = storage.open({ tablespace: 1663, database: 5, relfilenode: 16384 });
    this.relation = new Relation({ pool, storage: stored, name: 't', fillfactor: FILLFACTOR, compaction: how });
    this.relation.main.create();
    const isText = width > 40;
    this.columns = TupleDescriptor.of([
      { name: 'id', type: int4() },
      { name: 'n', type: int4() },
      { name: 'filler', type: isText ? text() : int8() },
    ]);
    // header 24, id and n 8, then a varlena with one byte of header, or four
    const bytes = width - 32;
    this.filler = isText ? 'x'.repeat(bytes <= 127 ? bytes - 1 : bytes - 4) : 0n;
    this.decoder = RowDecoder.for(this.columns);
    const map = new VisibilityMap({ pool, fork: this.relation.vm });
    this.writer = new HeapWriter(this.relation, this.columns, map, this.transactions);
    this.load(options.rows);
  }

  private load(rows: number): void {
    const transaction = this.transactions.begin();
    for (let id = 1; id <= rows; id++) {
      this.writer.insert(transaction, [id, 0, this.filler]);
      this.places.push({ block: this.writer.block, offset: this.writer.offset });
    }
    transaction.commit();
  }

  /** One transaction that updates rows, a statement each. */
  update(keys: readonly number[]): void {
    const transaction = this.transactions.begin();
    for (const key of keys) {
      const { block, offset: root } = this.places[key] as { block: number; offset: number };
      const snapshot = transaction.snapshot();
      const offset = heapHotSearch(this.relation, block, root, snapshot);
      const row = heapFetch(this.relation, this.decoder, block, offset, { snapshot }) as { id: number; n: number };
      if (row?.id !== key) throw new Error(`row ${key} is not at (${block},${offset})`);
      const code = this.writer.update(transaction, block, offset, [key, row.n + 1, this.filler], snapshot, true);
      if (code !== TM_OK || !this.writer.wasHot) throw new Error(`row ${key}: code ${code}, HOT ${this.writer.wasHot}`);
      snapshot.release();
      transaction.nextCommand();
    }
    transaction.commit();
  }

  page(block: number): PageMemory {
    const { pool, main } = this.relation;
    const { size } = this.geometry;
    return pool.withPage(main, block, (m, base) => pageMemory(m.u8.slice(base, base + size).buffer));
  }
}
