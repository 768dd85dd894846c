// The open relations of a data directory: for each table a handle, a map and a writer, made when first asked for.
import { type PageLog, Relation } from '@blockwright/access';
import type { Oid } from '@blockwright/base';
import type { BufferPool } from '@blockwright/bufmgr';
import type { CatalogEntry } from '@blockwright/catalog';
import { HeapWriter } from '@blockwright/heap';
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
export type RelationFileEntry = Pick<CatalogEntry, 'relfilenode' | 'name' | 'persistence' | 'fillfactor'>;

/** What belongs to one file number; gone with it. */
interface OpenRelation {
  readonly relation: Relation;
  map: VisibilityMap | undefined;
  writer: HeapWriter | undefined;
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

  /** The writer of a table, kept so that the next rows go where the last ones went. */
  writerOf(entry: CatalogEntry): HeapWriter {
    const open = this.openOf(entry);
    open.writer ??= new HeapWriter(open.relation, entry.descriptor, this.mapOf(entry), this.options.transactions, {
      fillfactor: entry.fillfactor,
    });
    return open.writer;
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
    const open: OpenRelation = { relation, map: undefined, writer: undefined };
    this.open.set(relfilenode, open);
    return open;
  }
}
