// One open B-tree index: the handle that every function takes.
import { PAGE_FORCE_IMAGE, PAGE_STANDARD, type Relation, type TableAccess, XLOG_FPI } from '@blockwright/access';
import type { BlockNumber } from '@blockwright/base';
import type { BufferPool } from '@blockwright/bufmgr';
import type { BlockGeometry } from '@blockwright/geometry';
import type { Fork } from '@blockwright/smgr';
import type { Snapshot, Transaction, Transactions } from '@blockwright/transam';
import { INDEX_SIZE_MASK, type IndexTupleFormat } from '@blockwright/tuple';
import { RM_XLOG } from '@blockwright/wal';
import { corrupted, notAnIndex, otherVersion } from './errors.ts';
import {
  BTREE_MAGIC,
  BTREE_METAPAGE,
  BTREE_VERSION,
  initMetaPage,
  type MetaData,
  metaMagic,
  readMeta,
} from './meta.ts';

export interface BtreeOptions {
  /** The index's own files; its fillfactor is that of leaves. */
  readonly relation: Relation;
  readonly format: IndexTupleFormat;
  readonly isUnique: boolean;
  /** Nulls equal each other in a unique index. Default false. */
  readonly nullsNotDistinct?: boolean;
  /** Whether equal keys are merged into posting lists where they may. Default true. */
  readonly deduplicate?: boolean;
  /** The table, for unique checks and for what may be deleted; without it the index is only read. */
  readonly table?: TableAccess<Transaction, Snapshot> | undefined;
  readonly transactions?: Transactions | undefined;
}

/** Bytes of the TID that a pivot may have to take on: MAXALIGN(sizeof(ItemPointerData)). */
const PIVOT_TID_BYTES = 8;

/**
 * The longest tuple of a leaf page: three fit on a page, and a size of 13 bits leaves room for the heap TID of a pivot
 * made from it: 312, 656, 1336, 2704, 5432 and 8176 bytes. PostgreSQL: `BTMaxItemSize`, which at 32 kB is more than that.
 */
export function maxItemSizeOf(g: BlockGeometry): number {
  const most = (INDEX_SIZE_MASK & ~7) - PIVOT_TID_BYTES;
  const { BTMaxItemSize } = g.constants;
  return BTMaxItemSize < most ? BTMaxItemSize : most;
}

/** An open index. PostgreSQL: what nbtree keeps of a `Relation`. */
export class BtreeIndex {
  readonly relation: Relation;
  readonly pool: BufferPool;
  readonly geometry: BlockGeometry;
  readonly main: Fork;
  readonly name: string;
  readonly format: IndexTupleFormat;
  readonly isUnique: boolean;
  readonly nullsNotDistinct: boolean;
  readonly deduplicate: boolean;
  readonly table: TableAccess<Transaction, Snapshot> | undefined;
  readonly transactions: Transactions | undefined;
  readonly maxItemSize: number;
  /** The leaf page at the right end that the last insert went to, or -1: a hint, verified when it is used. */
  rightmostLeaf: number = -1;
  private meta: MetaData | undefined = undefined;

  constructor(options: BtreeOptions) {
    const { relation } = options;
    this.relation = relation;
    this.pool = relation.pool;
    this.geometry = relation.geometry;
    this.main = relation.main;
    this.name = relation.name;
    this.format = options.format;
    this.isUnique = options.isUnique;
    this.nullsNotDistinct = options.nullsNotDistinct ?? false;
    this.deduplicate = options.deduplicate ?? true;
    this.table = options.table;
    this.transactions = options.transactions;
    this.maxItemSize = maxItemSizeOf(relation.geometry);
  }

  /**
   * What the meta page says, remembered until {@link forgetMeta}. PostgreSQL: `_bt_getmeta`, `rd_amcache`.
   * @throws StorageError XX002 when block 0 is no meta page, 0A000 for one of a version before 4.
   */
  metaData(): MetaData {
    this.meta ??= this.readMetaPage();
    return this.meta;
  }

  /** Whether {@link metaData} would answer without looking. */
  get remembersMeta(): boolean {
    return this.meta !== undefined;
  }

  /** The tree has another root, or fast root. */
  forgetMeta(): void {
    this.meta = undefined;
  }

  /**
   * Makes the meta page of an empty index as block 0 of `fork`, logged as an image. PostgreSQL: `btbuildempty`.
   * @throws StorageError 53100 when there is no room.
   */
  create(fork: Fork = this.main): void {
    const { pool, relation, geometry, format } = this;
    const id = pool.pin(fork, pool.extend(fork, 1));
    try {
      const { log } = relation;
      log.begin(relation, RM_XLOG, XLOG_FPI, 1, 0);
      initMetaPage(pool.memory(id), pool.base(id), geometry, 0, 0, format.allEqualImage);
      log.page(0, fork, id, PAGE_FORCE_IMAGE | PAGE_STANDARD);
      log.finish(0);
    } finally {
      pool.unpin(id);
    }
  }

  /** Levels above the leaves: 0 when the root is a leaf, or there is none yet. */
  levels(): number {
    return this.metaData().level;
  }

  private readMetaPage(): MetaData {
    const { pool, main, name } = this;
    if (main.blockCount() === 0) throw corrupted(name, BTREE_METAPAGE, 'there is no meta page: the file is empty');
    const id = pool.pin(main, BTREE_METAPAGE);
    try {
      const m = pool.memory(id);
      const base = pool.base(id);
      const magic = metaMagic(m, base);
      if (magic !== BTREE_MAGIC) throw notAnIndex(name, magic);
      const meta = readMeta(m, base);
      if (meta.version !== BTREE_VERSION) throw otherVersion(name, meta.version);
      this.checkRoot(meta.root, meta.level);
      this.checkRoot(meta.fastroot, meta.fastlevel);
      return meta;
    } finally {
      pool.unpin(id);
    }
  }

  private checkRoot(root: BlockNumber, level: number): void {
    if (root === 0 ? level === 0 : this.main.hasBlock(root) && level <= MOST_LEVELS) return;
    throw corrupted(
      this.name,
      BTREE_METAPAGE,
      `the root is said to be block ${root} at level ${level}, which is not there`,
    );
  }
}

/** More than any tree of 2^32 blocks has: each page above the leaves has two children at least. */
export const MOST_LEVELS = 32;
