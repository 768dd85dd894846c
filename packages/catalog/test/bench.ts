// Catalogs and PostgreSQL directories on an in-memory file system.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { Relation } from '@blockwright/access';
import { BufferPool } from '@blockwright/bufmgr';
import { BlockGeometry, type BlockSize } from '@blockwright/geometry';
import { frozenEncoder, HeapInserter, HeapTableAccess, HeapWriter } from '@blockwright/heap';
import { StorageManager } from '@blockwright/smgr';
import { CommitLog, Transactions } from '@blockwright/transam';
import { parentPath, type Vfs, writeFully } from '@blockwright/vfs';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { VisibilityMap } from '@blockwright/visibilitymap';
import {
  Catalog,
  type CatalogEntry,
  type CatalogTable,
  CatalogWriter,
  IndexedWriter,
  OpenIndex,
  type OpenRelation,
} from '../src/index.ts';

export interface CatalogBench {
  readonly open: OpenRelation;
  /** Makes the catalogs. */
  bootstrap(): Catalog;
  readonly transactions: Transactions;
  /** Writes rows of the catalogs for transactions. */
  readonly writer: CatalogWriter;
  /** A row of a catalog, written past all checks. */
  insert(table: CatalogTable, values: readonly unknown[]): void;
}

/** Relations that are made empty when they are first opened. */
export function catalogBench(size: BlockSize): CatalogBench {
  const geometry = BlockGeometry.of(size);
  const vfs = new MemoryVfs();
  for (const path of ['/data', '/data/base', '/data/base/5']) vfs.mkdir(path);
  const storage = new StorageManager({ vfs, directory: '/data', geometry });
  const pool = new BufferPool({ geometry, buffers: 64 });
  const relations = new Map<number, Relation>();
  const open: OpenRelation = (relfilenode, name) => {
    let relation = relations.get(relfilenode);
    if (relation === undefined) {
      relation = new Relation({ pool, storage: storage.open({ tablespace: 1663, database: 5, relfilenode }), name });
      relation.main.create();
      relations.set(relfilenode, relation);
    }
    return relation;
  };
  const insert = ({ oid, name, descriptor }: CatalogTable, values: readonly unknown[]): void => {
    new HeapInserter(open(oid, name), frozenEncoder(descriptor, geometry)).insert(values);
  };
  vfs.mkdir('/data/xact');
  const transactions = new Transactions({
    commitLog: new CommitLog({ vfs, directory: '/data/xact', pageBytes: size }),
    nextXid: 3,
    nextXidEpoch: 0,
    oldestXid: 3,
  });
  let catalog: Catalog | undefined;
  const bootstrap = (): Catalog => {
    catalog = Catalog.bootstrap(open, { vfs, tempDirectory: '/data/tmp' });
    return catalog;
  };
  const writers = new Map<CatalogTable, IndexedWriter>();
  const writer = new CatalogWriter((table) => {
    let of = writers.get(table);
    if (of === undefined) {
      const relation = open(table.oid, table.name);
      const { descriptor } = table;
      const heap = new HeapWriter(relation, descriptor, new VisibilityMap({ pool, fork: relation.vm }), transactions);
      const access = new HeapTableAccess(relation, transactions);
      const indexes = (catalog?.find(table.name) as CatalogEntry).indexes.map(
        (index) => new OpenIndex(index, open(index.relfilenode, index.name), { descriptor, access }, transactions),
      );
      of = new IndexedWriter(heap, descriptor, indexes);
      writers.set(table, of);
    }
    return of;
  });
  return { open, bootstrap, insert, transactions, writer };
}

/** Writes a whole file, and makes the directories on the way to it. */
function writeFile(vfs: Vfs, path: string, bytes: Uint8Array): void {
  const makeParents = (of: string): void => {
    const parent = parentPath(of);
    if (vfs.exists(parent)) return;
    makeParents(parent);
    vfs.mkdir(parent);
  };
  makeParents(path);
  const file = vfs.open(path, 'create');
  file.truncate(0);
  writeFully(file, bytes, 0, bytes.length, 0);
  file.close();
}

/** Major versions of which a small directory is kept beside the tests. */
export const POSTGRES_VERSIONS = [13, 14, 15, 16, 17] as const;

/** The files of a directory that a PostgreSQL of this version wrote, by path: what it takes to read three tables. */
export function postgresFiles(version: number): Map<string, Uint8Array> {
  const bytes = gunzipSync(readFileSync(new URL(`fixtures/postgresql-${version}.files.gz`, import.meta.url)));
  const end = bytes.indexOf(10);
  let at = end + 1;
  const index = JSON.parse(bytes.toString('utf8', 0, end)) as [path: string, length: number][];
  return new Map(
    index.map(([path, length]) => {
      const file = Uint8Array.from(bytes.subarray(at, at + length));
      at += length;
      return [path, file];
    }),
  );
}

/** A file system with these files below `/pg`. */
export function postgresVfs(files: ReadonlyMap<string, Uint8Array>): MemoryVfs {
  const vfs = new MemoryVfs();
  for (const [path, bytes] of files) writeFile(vfs, `/pg/${path}`, bytes);
  return vfs;
}
