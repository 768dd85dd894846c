import { mkdtempSync } from 'node:fs';
import { Relation } from '@blockwright/access';
import { BufferPool } from '@blockwright/bufmgr';
import { BlockGeometry } from '@blockwright/geometry';
import { BulkLoader, frozenEncoder, HeapScan, heapCount } from '@blockwright/heap';
import { StorageManager } from '@blockwright/smgr';
import { TextPool, tableBatches } from '@blockwright/tpch';
import { char, date, int4, int8, numeric, TupleDescriptor, varchar } from '@blockwright/tuple';
import { NodeVfs } from '@blockwright/vfs';
import { VisibilityMap } from '@blockwright/visibilitymap';

const C = {
  l_orderkey: int8(),
  l_partkey: int4(),
  l_suppkey: int4(),
  l_linenumber: int4(),
  l_quantity: numeric(15, 2),
  l_extendedprice: numeric(15, 2),
  l_discount: numeric(15, 2),
  l_tax: numeric(15, 2),
  l_returnflag: char(1),
  l_linestatus: char(1),
  l_shipdate: date(),
  l_commitdate: date(),
  l_receiptdate: date(),
  l_shipinstruct: char(25),
  l_shipmode: char(10),
  l_comment: varchar(44),
};

import { Q1, Q1_COLUMNS } from '../src/queries.ts';

const scale = Number(process.argv[2] ?? 0.001);
let t = performance.now();
const lap = (s: string, rows = 0) => {
  const n = performance.now();
  console.log(s, (n - t).toFixed(1), 'ms', rows ? (((n - t) * 1e6) / rows).toFixed(1) + ' ns/row' : '');
  t = performance.now();
};
const pool0 = TextPool.open();
lap('pool');
const def = { descriptor: TupleDescriptor.of(Object.entries(C).map(([name, type]) => ({ name, type }) as never)) };
for (const size of [1024, 8192, 32768] as const) {
  const g = BlockGeometry.of(size);
  const dir = mkdtempSync('/tmp/bw-');
  const vfs = new NodeVfs();
  vfs.mkdir(dir + '/base');
  vfs.mkdir(dir + '/base/5');
  const sm = new StorageManager({ vfs, directory: dir, geometry: g });
  const pool = new BufferPool({ geometry: g, buffers: Math.floor((1.6e9 * Math.max(scale, 0.01)) / size) + 1000 });
  const rel = new Relation({
    pool,
    storage: sm.open({ tablespace: 1663, database: 5, relfilenode: 16384 }),
    name: 'lineitem',
  });
  rel.main.create();
  const vm = new VisibilityMap({ pool, fork: rel.vm });
  const loader = new BulkLoader(rel, frozenEncoder(def.descriptor), vm);
  for (const b of tableBatches('lineitem', scale, { pool: pool0 })) loader.append(b.columns as never, b.length);
  loader.finish();
  const rows = loader.rows;
  lap(`load ${size} ${rows} ${rel.blockCount()}`, rows);
  pool.flushAll();
  lap('flush');
  for (let i = 0; i < 5; i++) {
    heapCount(rel, { map: vm });
    lap('count map', rows);
    heapCount(rel, {});
    lap('count', rows);
    const cols = Q1_COLUMNS.map((n) => def.descriptor.indexOf(n));
    const s = new HeapScan(rel, def.descriptor, { columns: cols, charCodes: true });
    const q = new Q1();
    for (let b = s.next(); b; b = s.next()) q.add(b.vectors, b.length);
    lap('q1', rows);
    if (i === 4) console.log(q.groups());
  }
  pool.close();
  sm.close();
}
