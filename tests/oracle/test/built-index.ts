// An index of ours over a heap file of the server's, built in bulk; and two index files compared.
import { Relation, type TableAccess, type UseTableTuple } from '@blockwright/access';
import { runSync, type Steps } from '@blockwright/base';
import { BufferPool } from '@blockwright/bufmgr';
import { BlockGeometry } from '@blockwright/geometry';
import { BtreeIndex, btreeBuild } from '@blockwright/nbtree';
import {
  LP_NORMAL,
  linePointer,
  lpFlags,
  lpLength,
  lpOffset,
  pageMaxOffset,
  pageMemory,
  pageSetChecksum,
  pageSetLsn,
} from '@blockwright/page';
import { StorageManager } from '@blockwright/smgr';
import type { Snapshot, Transaction, Transactions } from '@blockwright/transam';
import { IndexTupleFormat, IndexTupleFormer, type KeyOrder, TupleDescriptor } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { SERVER_BLOCK_SIZE } from './oracle.ts';

const GEOMETRY = BlockGeometry.of(SERVER_BLOCK_SIZE);

export interface IndexShape {
  /** Columns of the table, those of the key first. */
  readonly columns: readonly number[];
  /** One a key column. */
  readonly keys: readonly KeyOrder[];
  readonly isUnique?: boolean;
  readonly fillfactor?: number;
  readonly deduplicate?: boolean;
}

/** A relation of ours in a memory of its own that becomes an index. */
export interface OwnIndex {
  readonly index: BtreeIndex;
  readonly former: IndexTupleFormer;
  readonly vfs: MemoryVfs;
  /** What the file is to be: LSNs are 0. */
  bytes(): Uint8Array;
}

/** An index without a page yet, over a table that `access` knows. */
export function ownIndex(
  table: TupleDescriptor,
  shape: IndexShape,
  access: TableAccess<Transaction, Snapshot>,
  transactions?: Transactions,
): OwnIndex {
  const vfs = new MemoryVfs();
  for (const path of ['/data', '/data/base', '/data/base/5']) vfs.mkdir(path);
  const storage = new StorageManager({ vfs, directory: '/data', geometry: GEOMETRY });
  const pool = new BufferPool({ geometry: GEOMETRY, buffers: 128 });
  const stored = storage.open({ tablespace: 1663, database: 5, relfilenode: 16385 });
  const relation = new Relation({ pool, storage: stored, name: 'key', fillfactor: shape.fillfactor ?? 90 });
  relation.main.create();
  const format = IndexTupleFormat.of(TupleDescriptor.of(shape.columns.map((i) => table.columns[i])), shape.keys);
  const former = new IndexTupleFormer(format, table, shape.columns, { toastTarget: GEOMETRY.maxHeapTupleSize >>> 4 });
  const index = new BtreeIndex({
    relation,
    format,
    isUnique: shape.isUnique ?? false,
    deduplicate: shape.deduplicate ?? true,
    table: access,
    transactions,
  });
  return { index, former, vfs, bytes: () => fileOf(relation) };
}

function fileOf(relation: Relation): Uint8Array {
  const { pool, main } = relation;
  const m = pageMemory(new ArrayBuffer(main.blockCount() * SERVER_BLOCK_SIZE));
  for (let base = 0, block = 0; base < m.u8.length; base += SERVER_BLOCK_SIZE, block++) {
    pool.withPage(main, block, (page, at) => m.u8.set(page.u8.subarray(at, at + SERVER_BLOCK_SIZE), base));
    pageSetLsn(m, base, 0, 0);
    pageSetChecksum(m, base, GEOMETRY, block);
  }
  return m.u8;
}

/** What a build of ours writes over the tuples of a heap file, all of which are live; its LSNs are 0. */
export function builtIndex(heap: Uint8Array, table: TupleDescriptor, shape: IndexShape): Uint8Array {
  const { index, former, vfs, bytes } = ownIndex(table, shape, tableOf(heap));
  runSync(btreeBuild(index, undefined, { former, maintenanceWorkMem: 1 << 18, vfs, tempDirectory: '/data/temp' }));
  return bytes();
}

function tableOf(heap: Uint8Array): TableAccess<Transaction, Snapshot> {
  const m = pageMemory(new Uint8Array(heap).buffer);
  const unused = (): never => {
    throw new Error('a build asks only for the scan');
  };
  return {
    name: 'table',
    conflictXid: 0,
    allDead: false,
    memory: m,
    position: 0,
    length: 0,
    uniqueCheck: unused,
    fetch: unused,
    deletable: unused,
    release: unused,
    *buildScan(use: UseTableTuple): Steps<{ tuples: number }> {
      let tuples = 0;
      for (let base = 0, block = 0; base < heap.length; base += SERVER_BLOCK_SIZE, block++) {
        for (let o = 1; o <= pageMaxOffset(m, base); o++) {
          const lp = linePointer(m, base, o);
          if (lpFlags(lp) !== LP_NORMAL) continue;
          use(m, base + lpOffset(lp), lpLength(lp), block, o, true);
          tuples++;
        }
        yield { phase: 'scanning', done: block, total: 0, unit: 'blocks' };
      }
      return { tuples };
    },
  };
}

/** Where two index files differ, in words; undefined when nowhere. LSN and checksum may. */
export function indexDifference(ours: Uint8Array, theirs: Uint8Array): string | undefined {
  const size = SERVER_BLOCK_SIZE;
  if (ours.length !== theirs.length) return `${ours.length / size} pages instead of ${theirs.length / size}`;
  for (let at = 0; at < ours.length; at++) {
    if (ours[at] !== theirs[at] && at % size >= 10) return `page ${Math.floor(at / size)}, byte ${at % size}`;
  }
  return undefined;
}
