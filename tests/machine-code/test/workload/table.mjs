// A table as a bulk load leaves it, the same rows with hint bits alone, and without any, in files of a temporary directory.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Relation } from '@blockwright/access';
import { BufferPool } from '@blockwright/bufmgr';
import { BlockGeometry } from '@blockwright/geometry';
import { BulkLoader, frozenEncoder, HeapScan, heapCount, hintedEncoder, linePointerCount } from '@blockwright/heap';
import { itemPosition } from '@blockwright/page';
import { StorageManager } from '@blockwright/smgr';
import { CommitLog, Transactions, XID_ABORTED, XID_COMMITTED } from '@blockwright/transam';
import {
  char,
  date,
  int4,
  numeric,
  setTupleInfomask,
  setTupleXmin,
  TupleDescriptor,
  TupleEncoder,
  text,
  tupleInfomask,
} from '@blockwright/tuple';
import { NodeVfs } from '@blockwright/vfs';
import { VisibilityMap } from '@blockwright/visibilitymap';

const ROWS = 3000;
/** Of rows without hint bits: two that committed, one that aborted, and one that is at work. */
const XIDS = [3, 4, 5, 100];
export const COLUMNS = [0, 1, 2, 3, 4];

const descriptor = TupleDescriptor.of([
  { name: 'key', type: int4() },
  { name: 'price', type: numeric(15, 2) },
  { name: 'shipped', type: date() },
  { name: 'flag', type: char(1) },
  { name: 'comment', type: text().nullable() },
]);

const row = (i) => [
  i,
  `${i}.${String(i % 100).padStart(2, '0')}`,
  `1998-${String(1 + (i % 12)).padStart(2, '0')}-02`,
  'NRA'[i % 3],
  i % 7 === 0 ? null : 'furiously even requests '.repeat(1 + (i % 3)),
];

/** Transactions of every fate, and a snapshot taken while one was at work. */
function openTransactions(directory, size) {
  const log = join(directory, `xact${size}`);
  mkdirSync(log);
  const commitLog = new CommitLog({ vfs: new NodeVfs(), directory: log, pageBytes: size });
  commitLog.zeroPage(0);
  for (const xid of XIDS) commitLog.set(xid, xid === 5 ? XID_ABORTED : XID_COMMITTED, 0);
  const transactions = new Transactions({ commitLog, nextXid: 100, nextXidEpoch: 0, oldestXid: 3 });
  const running = transactions.begin();
  if (running.writeXid() !== XIDS[3]) throw new Error('another xid was at work');
  const reader = transactions.begin();
  reader.writeXid();
  return { transactions, snapshot: reader.snapshot() };
}

/** The tables at one block size, open. */
export function openTables(directory, size) {
  const geometry = BlockGeometry.of(size);
  mkdirSync(join(directory, 'base', String(size)), { recursive: true });
  const storage = new StorageManager({ vfs: new NodeVfs(), directory, geometry });
  const pool = new BufferPool({ geometry, buffers: 4096 });
  const load = (relfilenode, encoder, allVisible) => {
    const relation = new Relation({ pool, storage: storage.open({ tablespace: 1663, database: size, relfilenode }) });
    relation.main.create();
    const map = new VisibilityMap({ pool, fork: relation.vm });
    const loader = new BulkLoader(relation, encoder, map, { allVisible });
    for (let i = 0; i < ROWS; i++) loader.appendRow(row(i));
    loader.finish();
    return { relation, map };
  };
  const frozen = load(16384, frozenEncoder(descriptor, geometry), true);
  const hinted = load(16385, hintedEncoder(descriptor, geometry), false);
  const plain = load(16386, TupleEncoder.for(descriptor), false);
  return {
    geometry,
    pool,
    frozen,
    hinted,
    plain,
    descriptor,
    ...openTransactions(directory, size),
    close: () => pool.abandon(),
  };
}

/** Takes the hint bits of the rows away, and gives each one of the four xids. */
function forget({ pool, geometry, plain: { relation } }) {
  for (let block = 0; block < relation.blockCount(); block++) {
    const id = pool.pin(relation.main, block);
    const m = pool.memory(id);
    const base = pool.base(id);
    for (let o = 1; o <= linePointerCount(m, base, geometry.size, 'plain', block); o++) {
      setTupleXmin(m, itemPosition(m, base, o), XIDS[(block + o) & 3]);
      setTupleInfomask(m, itemPosition(m, base, o), tupleInfomask(m, itemPosition(m, base, o)) & 7);
    }
    pool.unpin(id);
  }
}

/** What a user does: counts with the map and without, and scans all columns. Throws when a number is wrong. */
export function work(tables) {
  const { frozen, hinted, plain, descriptor: columns, snapshot } = tables;
  const seen = (relation) => {
    const scan = new HeapScan(relation, columns, { columns: COLUMNS, snapshot });
    let rows = 0;
    for (let batch = scan.next(); batch !== undefined; batch = scan.next()) rows += batch.length;
    return rows;
  };
  forget(tables);
  const some = heapCount(plain.relation, { snapshot }).rows;
  if (some < ROWS * 0.4 || some > ROWS * 0.6) throw new Error(`${some} of ${ROWS} rows are seen, half should be`);
  forget(tables);
  for (const rows of [seen(plain.relation), seen(plain.relation), heapCount(plain.relation, { snapshot }).rows]) {
    if (rows !== some) throw new Error(`${rows} rows are seen, then ${some}`);
  }
  const counts = [
    seen(frozen.relation),
    seen(hinted.relation),
    heapCount(hinted.relation, { snapshot }).rows,
    heapCount(frozen.relation, { snapshot, map: frozen.map }).rows,
    heapCount(frozen.relation, { map: frozen.map }).rows,
    heapCount(frozen.relation).rows,
    heapCount(hinted.relation, { map: hinted.map }).rows,
  ];
  for (const { relation } of [frozen, hinted]) {
    const scan = new HeapScan(relation, columns, { columns: COLUMNS });
    let rows = 0;
    for (let batch = scan.next(); batch !== undefined; batch = scan.next()) rows += batch.length;
    scan.close();
    counts.push(rows);
  }
  for (const count of counts) if (count !== ROWS) throw new Error(`${counts.join(', ')} rows where ${ROWS} are right`);
}
