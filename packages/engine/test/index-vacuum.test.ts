// A scan through an index is paused, and vacuum takes the entries and line pointers of dead rows away meanwhile; new rows
// take their places, and pages become all-visible. The scan goes on, and gives no row that it should not.
import { runSync } from '@blockwright/base';
import { heapMarkAllVisible, heapPrunePage } from '@blockwright/heap';
import { BtreeScan, btreeBulkDelete, btreeVacuumCleanup } from '@blockwright/nbtree';
import {
  LP_DEAD,
  linePointer,
  lpFlags,
  markLinePointerUnused,
  pageMaxOffset,
  pageSetHasFreeLines,
} from '@blockwright/page';
import { int4, text } from '@blockwright/tuple';
import { MemoryVfs } from '@blockwright/vfs/memory';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Core } from '../src/core.ts';
import { Database, initdb, table } from '../src/index.ts';

const ROWS = 4000;
const items = table('items', { id: int4(), pad: text() }, { primaryKey: ['id'] });
const ids = (from: number, count: number): { id: number; pad: string }[] =>
  Array.from({ length: count }, (_, i) => ({ id: from + i, pad: 'x'.repeat(20) }));
const isDeleted = (id: number): boolean => id % 3 === 0;
const left = ids(0, ROWS)
  .map(({ id }) => id)
  .filter((id) => !isDeleted(id));

let db: Database;
beforeEach(() => {
  const vfs = new MemoryVfs();
  initdb('/data', { blockSize: 1024, vfs });
  db = Database.open('/data', { vfs, sharedBuffers: '4MB' });
  db.createTable(items);
  db.insert(items, ids(0, ROWS));
  db.transaction((tx) => {
    for (const id of ids(0, ROWS).map((row) => row.id)) if (isDeleted(id)) tx.deleteByKey(items, id);
  });
});
afterEach(() => db.close());

const inside = (): Core => (db as unknown as { core: Core }).core;

/** All that vacuum does: entries first, then line pointers, then the map. */
function vacuum(): void {
  const { parts, catalog } = inside();
  const { relations, transactions } = parts;
  const entry = catalog.find(items.name);
  if (entry === undefined) throw new Error('the table is gone');
  const relation = relations.handleOf(entry);
  const { pool, main } = relation;
  const dead = new Set<string>();
  const onPages = (use: (block: number, id: number) => void): void => {
    for (let block = 0; block < relation.blockCount(); block++) {
      const id = pool.pin(main, block);
      try {
        use(block, id);
      } finally {
        pool.unpin(id);
      }
    }
  };
  const deadLines = (id: number): number[] => {
    const offsets = Array.from({ length: pageMaxOffset(pool.memory(id), pool.base(id)) }, (_, i) => i + 1);
    return offsets.filter((o) => lpFlags(linePointer(pool.memory(id), pool.base(id), o)) === LP_DEAD);
  };
  onPages((block, id) => {
    heapPrunePage(relation, id, transactions);
    for (const o of deadLines(id)) dead.add(`${block}/${o}`);
  });
  for (const { btree } of relations.indexesOf(entry)) {
    const stats = runSync(btreeBulkDelete(btree, (block, offset) => dead.has(`${block}/${offset}`)));
    runSync(btreeVacuumCleanup(btree, stats));
  }
  onPages((_, id) => {
    for (const o of deadLines(id)) markLinePointerUnused(pool.memory(id), pool.base(id), o);
    pageSetHasFreeLines(pool.memory(id), pool.base(id));
    pool.markDirty(id);
  });
  for (let block = 0; block < relation.blockCount(); block++) {
    heapMarkAllVisible(relation, relations.mapOf(entry), block, transactions, false);
  }
  expect(dead.size).toBe(ROWS - left.length);
}

describe.each(['asc', 'desc'] as const)('a paused scan, %s', (order) => {
  const expected = order === 'asc' ? left : [...left].reverse();

  test.each([[['id']], [['id', 'pad']]] as const)(
    'of %s gives each row once, and none that vacuum has removed',
    (columns) => {
      const scan = db.scan(items, { index: 'items_pkey', columns, order });
      const batches = scan[Symbol.iterator]();
      const found: number[] = [];
      const take = (): boolean => {
        const { value, done } = batches.next();
        if (done === true) return false;
        const { values } = value.columns.id as { values: Int32Array };
        for (let i = 0; i < value.length; i++) found.push(values[i] as number);
        return true;
      };
      expect(take()).toBe(true);
      expect(found.length).toBeLessThan(left.length);
      vacuum();
      expect(take()).toBe(true);
      db.insert(items, ids(ROWS, 500)); // into the line pointers that have become free
      vacuumMap();
      while (take());
      expect(found).toEqual(expected);
      expect(db.count(items, { index: 'items_pkey' }).rows).toBe(left.length + 500);
    },
  );
});

/** Every page is all-visible as soon as it may be. */
function vacuumMap(): void {
  const { parts, catalog } = inside();
  const entry = catalog.find(items.name);
  if (entry === undefined) throw new Error('the table is gone');
  const { relations, transactions } = parts;
  const relation = relations.handleOf(entry);
  const map = relations.mapOf(entry);
  for (let block = 0; block < relation.blockCount(); block++) {
    heapMarkAllVisible(relation, map, block, transactions, false);
  }
}

test('canary: a page that was read before vacuum, and the map asked after it, gives rows that are gone', () => {
  const { parts, catalog } = inside();
  const entry = catalog.find(items.name);
  if (entry === undefined) throw new Error('the table is gone');
  const [index] = parts.relations.indexesOf(entry);
  if (index === undefined) throw new Error('the index is gone');
  const scan = new BtreeScan(index.btree, {});
  const count = scan.nextPage();
  const tids = Array.from({ length: count }, (_, i) => ({
    block: scan.blocks[i] as number,
    offset: scan.offsets[i] as number,
  }));
  vacuum();
  const map = parts.relations.mapOf(entry);
  const vouched = tids.filter(({ block }) => (map.status(block) & 1) !== 0);
  const gone = vouched.filter(({ block, offset }) => db.fetch(items, block, offset) === undefined);
  expect(gone.length).toBeGreaterThan(0);
  scan.close();
});
