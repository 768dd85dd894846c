// The open relations of a data directory: for each table a handle, a map, a writer and its indexes, made when first asked
// for.
import { type PageLog, Relation } from '@blockwright/access';
import type { Oid } from '@blockwright/base';
import type { BufferPool } from '@blockwright/bufmgr';
import { type CatalogEntry, type IndexEntry, IndexedWriter, OpenIndex } from '@blockwright/catalog';
import { HeapTableAccess, HeapWriter } from '@blockwright/heap';
import type { Compaction } from '@blockwright/page';
import type { StorageManager } from '@blockwright/smgr';
import type { Transactions } from '@blockwright/transam';
import { VisibilityMap } from '@blockwright/visibilitymap';
import { locatorOf } from './layout.ts';

export interface RelationsOptions {
  readonly pool: BufferPool;
  readonly storage: StorageManager;
  readonly log: PageLog;
  readonly transactions: Transactions;
  readonly compaction: Compaction;
}

/** What is known of a relation's file, in a catalog or before there is one. */
export type RelationFileEntry = Pick<CatalogEntry | IndexEntry, 'relfilenode' | 'name' | 'persistence' | 'fillfactor'>;

/** What belongs to one file number; gone with it. */
interface OpenRelation {
  readonly relation: Relation;
  map: VisibilityMap | undefined;
  /** Of a table: what its indexes ask about rows. */
  access: HeapTableAccess | undefined;
  writer: IndexedWriter | undefined;
  /** The indexes that the writer keeps, as their table's entry lists them. */
  written: readonly IndexEntry[] | undefined;
  /** Of an index. */
  index: OpenIndex | undefined;
}

/** The relations of one open data directory, by file number. */
export class Relations {
  readonly pool: BufferPool;
  readonly storage: StorageManager;
  private readonly options: RelationsOptions;
  private readonly open = new Map<Oid, OpenRelation>();

  constructor(options: RelationsOptions) {
    this.pool = options.pool;
    this.storage = options.storage;
    this.options = options;
  }

  /** The handle of a relation whose files exist, or are about to. */
  handleOf(entry: RelationFileEntry): Relation {
    return this.openOf(entry).relation;
  }

  mapOf(entry: RelationFileEntry): VisibilityMap {
    const open = this.openOf(entry);
    open.map ??= new VisibilityMap({ pool: this.pool, fork: open.relation.vm });
    return open.map;
  }

  /** The writer of a table and its indexes, kept so that the next rows go where the last ones went. */
  writerOf(entry: CatalogEntry): IndexedWriter {
    const open = this.openOf(entry);
    if (open.writer === undefined || open.written !== entry.indexes) {
      const { descriptor, fillfactor } = entry;
      const { transactions } = this.options;
      const heap =
        open.writer?.heap ?? new HeapWriter(open.relation, descriptor, this.mapOf(entry), transactions, { fillfactor });
      open.writer = new IndexedWriter(heap, descriptor, this.indexesOf(entry));
      open.written = entry.indexes;
    }
    return open.writer;
  }

  /** A table's indexes, in its entry's order. */
  indexesOf(entry: CatalogEntry): readonly OpenIndex[] {
    return entry.indexes.map((index) => this.indexOf(entry, index));
  }

  /** An index of a table. */
  indexOf(table: CatalogEntry, index: IndexEntry): OpenIndex {
    const open = this.openOf(index);
    if (open.index === undefined) {
      const { descriptor } = table;
      const access = this.accessOf(table);
      open.index = new OpenIndex(index, open.relation, { descriptor, access }, this.options.transactions);
    }
    return open.index;
  }

  /** What a table's indexes ask about its rows. Nobody fetches by it: a page would stay pinned. */
  accessOf(entry: CatalogEntry): HeapTableAccess {
    const open = this.openOf(entry);
    open.access ??= new HeapTableAccess(open.relation, this.options.transactions);
    return open.access;
  }

  /** Forgets a relation whose files go, or are gone. */
  forget(relfilenode: Oid): void {
    this.open.delete(relfilenode);
  }

  private openOf(entry: RelationFileEntry): OpenRelation {
    const known = this.open.get(entry.relfilenode);
    if (known !== undefined) return known;
    const { pool, storage, log, compaction } = this.options;
    const { relfilenode, name, persistence, fillfactor } = entry;
    const relation = new Relation({
      pool,
      storage: storage.open(locatorOf(relfilenode)),
      name,
      log,
      unlogged: persistence === 'u',
      compaction,
      fillfactor,
    });
    const open: OpenRelation = {
      relation,
      map: undefined,
      access: undefined,
      writer: undefined,
      written: undefined,
      index: undefined,
    };
    this.open.set(relfilenode, open);
    return open;
  }
}
