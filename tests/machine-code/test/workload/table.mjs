// A table as a bulk load leaves it, and the same rows with hint bits alone, in files of a temporary directory.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Relation } from '@blockwright/access';
import { BufferPool } from '@blockwright/bufmgr';
import { BlockGeometry } from '@blockwright/geometry';
import { BulkLoader, frozenEncoder, HeapScan, heapCount, hintedEncoder } from '@blockwright/heap';
import { StorageManager } from '@blockwright/smgr';
import { char, date, int4, numeric, TupleDescriptor, text } from '@blockwright/tuple';
import { NodeVfs } from '@blockwright/vfs';
import { VisibilityMap } from '@blockwright/visibilitymap';

const ROWS = 3000;
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

/** Both tables at one block size, open. */
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
  return { geometry, pool, frozen, hinted, descriptor, close: () => pool.abandon() };
}

/** What a user does: counts with the map and without, and scans all columns. Throws when a number is wrong. */
export function work({ frozen, hinted, descriptor: columns }) {
  const counts = [
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
