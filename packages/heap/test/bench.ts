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
    close: () => {
      pool.flushAll();
      pool.close();
      storage.close();
    },
  };
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
