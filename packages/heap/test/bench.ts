// A heap on an in-memory file system, for tests.
import { Relation } from '@blockwright/access';
import { BufferPool } from '@blockwright/bufmgr';
import { BlockGeometry, type BlockSize } from '@blockwright/geometry';
import { StorageManager } from '@blockwright/smgr';
import { bytea, char, int4, int8, numeric, TupleDescriptor, text, varchar } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { VisibilityMap } from '@blockwright/visibilitymap';

export interface Bench {
  readonly relation: Relation;
  readonly map: VisibilityMap;
  readonly pool: BufferPool;
  /** Another, empty relation whose pages go through the same pool. */
  other(): Relation;
  /** Writes the relation's pages and takes them out of the pool, so that the next to pin one reads it. */
  evict(): void;
  close(): void;
}

/** An empty heap called `t`. */
export function makeBench(size: BlockSize, buffers = 64, debugPoison = false): Bench {
  const geometry = BlockGeometry.of(size);
  const vfs = new MemoryVfs();
  vfs.mkdir('/data');
  vfs.mkdir('/data/base');
  vfs.mkdir('/data/base/5');
  const storage = new StorageManager({ vfs, directory: '/data', geometry });
  const pool = new BufferPool({ geometry, buffers, debugPoison });
  const stored = storage.open({ tablespace: 1663, database: 5, relfilenode: 16384 });
  const relation = new Relation({ pool, storage: stored, name: 't' });
  relation.main.create();
  return {
    relation,
    map: new VisibilityMap({ pool, fork: relation.vm }),
    pool,
    other: () => {
      const second = new Relation({
        pool,
        storage: storage.open({ tablespace: 1663, database: 5, relfilenode: 16385 }),
      });
      second.main.create();
      return second;
    },
    evict: () => {
      pool.flushAll();
      pool.dropFork(relation.main);
    },
    close: () => {
      pool.flushAll();
      pool.close();
      storage.close();
    },
  };
}

/** Text of which compression makes nothing shorter. */
export function noise(length: number): string {
  let state = 1;
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return String.fromCharCode(33 + ((state >>> 16) % 94));
  }).join('');
}

/** A row whose tuple is `bytes` bytes long, a multiple of 4, without null in `body`. */
export function rowOf(bytes: number): unknown[] {
  // header 24 (23 and a null bitmap of one byte), id 8, flag 2, then a varlena of 4 + n bytes, aligned to 4
  return [1n, null, null, 'A', null, noise(bytes - 24 - 8 - 4 - 4), null];
}

/** Columns of every kind of width, nulls allowed in some. */
export const DESCRIPTOR: TupleDescriptor = TupleDescriptor.of([
  { name: 'id', type: int8() },
  { name: 'n', type: int4().nullable() },
  { name: 'price', type: numeric(15, 2).nullable() },
  { name: 'flag', type: char(1) },
  { name: 'note', type: varchar(40).nullable() },
  { name: 'body', type: text() },
  { name: 'raw', type: bytea().nullable() },
]);
