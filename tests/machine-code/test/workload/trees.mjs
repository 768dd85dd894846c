// B-trees of every kind of page at several block sizes, and their functions that run once an item, a page or a look-up.
import { Relation } from '@blockwright/access';
import { runSync } from '@blockwright/base';
import { BufferPool } from '@blockwright/bufmgr';
import { BlockGeometry } from '@blockwright/geometry';
import * as nbtree from '@blockwright/nbtree';
import { StorageManager } from '@blockwright/smgr';
import {
  IndexTupleFormat,
  IndexTupleFormer,
  int8,
  TupleDescriptor,
  TupleEncoder,
  tupleMemory,
} from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';

const { BtreeIndex, BtreeLookup, BtreeScan, SearchKey, DescentStack, btreeBuild } = nbtree;
const SIZES = [1024, 8192, 32_768];
const ROWS = 20_000;
/** Every so manieth key has several rows, and so a posting list. */
const SHARED = 7;

const columns = TupleDescriptor.of([{ name: 'id', type: int8() }]);
const keyOf = (i) => BigInt(i - (i % SHARED === 3 ? i % 5 : 0));

function openTree(size) {
  const geometry = BlockGeometry.of(size);
  const vfs = new MemoryVfs();
  for (const path of ['/data', '/data/base', '/data/base/5']) vfs.mkdir(path);
  const pool = new BufferPool({ geometry, buffers: 2000 });
  const storage = new StorageManager({ vfs, directory: '/data', geometry });
  const file = storage.open({ tablespace: 1663, database: 5, relfilenode: 16384 });
  const relation = new Relation({ pool, storage: file, name: 'tree', fillfactor: 90 });
  relation.main.create();
  const format = IndexTupleFormat.of(columns, [{ descending: false, nullsFirst: false }]);
  const former = new IndexTupleFormer(format, columns, [0]);
  const table = {
    name: 'rows',
    *buildScan(use) {
      const encoder = TupleEncoder.for(columns);
      const row = tupleMemory(new Uint8Array(64));
      for (let i = 0; i < ROWS; i++) {
        const length = encoder.encode([keyOf(i)], row.u8, 0);
        use(row, 0, length, i >> 4, (i & 15) + 1, true);
      }
      yield* [];
      return { tuples: ROWS };
    },
  };
  const index = new BtreeIndex({ relation, format, isUnique: false, table });
  runSync(btreeBuild(index, undefined, { former, maintenanceWorkMem: 1 << 22, vfs, tempDirectory: '/data/temp' }));
  const key = new SearchKey();
  return { index, former, key, stack: new DescentStack(), lookup: new BtreeLookup(index), pool, size };
}

const trees = SIZES.map(openTree);
const treeOf = (n) => trees[n % trees.length];
const method = (type, name, call) => ({ id: `${type.name}.${name}`, fn: type.prototype[name], call });
const free = (name, call) => ({ id: name, fn: nbtree[name], call });

/** A key of some row, and the leaf page that it is on, pinned. */
const onLeaf = (use) => (n) => {
  const tree = treeOf(n);
  const { index, former, key, stack, pool } = tree;
  former.fromValues([keyOf((n * 577) % ROWS)]);
  key.memory = former.memory;
  key.natts = 1;
  key.nextkey = n % 2 === 0;
  const id = nbtree.descend(index, key, stack, false);
  try {
    return use(tree, pool.memory(id), pool.base(id), id, n);
  } finally {
    pool.unpin(id);
  }
};

const lookUp = (n) => {
  const { lookup, former } = treeOf(n);
  former.fromValues([keyOf((n * 577) % ROWS)]);
  lookup.start(former.memory, 0);
  return lookup;
};

/** The loop over a leaf page's items is private to the package: it is a file beside its entry. */
const { collectItems, takeItems } = await import(
  new URL('scan-items.js', import.meta.resolve('@blockwright/nbtree')).href
);
const items = trees.map(({ index }) => takeItems(index.geometry));

export const treeTargets = [
  {
    id: 'collectItems',
    fn: collectItems,
    call: onLeaf(({ size }, m, base, _id, n) => {
      const first = nbtree.firstDataKey(m, base, size);
      const last = lastItem(m, base);
      const step = n % 2 === 0 ? 1 : -1;
      return collectItems(m, base, step > 0 ? first : last, last - first + 1, step, items[n % items.length], 0);
    }),
  },
  free(
    'binarySearch',
    onLeaf(({ index, key, pool }, m, base, id) => nbtree.binarySearch(index, key, m, base, pool.block(id))),
  ),
  free(
    'descend',
    onLeaf(() => {}),
  ),
  method(BtreeScan, 'nextPage', (n) => {
    const scan = new BtreeScan(treeOf(n).index, { backward: n % 2 === 1, tuples: n % 3 !== 0 });
    for (let pages = 0; pages < 5 && scan.nextPage() > 0; pages++);
    scan.close();
  }),
  method(BtreeLookup, 'start', (n) => lookUp(n).end()),
  method(BtreeLookup, 'next', (n) => {
    const lookup = lookUp(n);
    while (lookup.next());
    lookup.end();
  }),
];

function lastItem(m, base) {
  return (m.u16[(base + 12) >>> 1] - 24) >>> 2;
}
