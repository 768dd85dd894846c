// Pages that one vacuum deletes and the next one frees are used again, as PostgreSQL uses its own.
import { readFileSync } from 'node:fs';
import type { PostgresServer } from '@blockwright/peers';
import { afterAll, beforeAll, expect } from 'vitest';
import { countsOf, GrownIndex, treeDifference } from './grown-index.ts';
import { createIndexes, deleteRows, type GrownTable, indexName, orderTables, tidsOf } from './index-cases.ts';
import { describe, it, putInPlace, startOracle } from './oracle.ts';

const TABLES: readonly GrownTable[] = orderTables(6000).filter(({ what }) =>
  ['ascending', 'in no order', 'long keys in no order', 'ascending runs of duplicates'].includes(what),
);

let server: PostgresServer;
const grown: Record<string, GrownIndex> = {};
const ours: Record<string, Uint8Array> = {};
const theirs: Record<string, Uint8Array> = {};
/** Pages that were deleted when the last rows came. */
const deleted: Record<string, number> = {};

beforeAll(async () => {
  server = await startOracle();
  for (const table of TABLES) {
    await table.create(server);
    await createIndexes(server, table);
    table.shapes.forEach((shape, i) => {
      grown[indexName(table, i)] = new GrownIndex(table.descriptor, shape);
    });
    await insert(table, 0);
    await vacuumAfter(table, () => deleteRows(server, table));
    await vacuumAfter(table, async () => {
      await server.query(`DELETE FROM ${table.name} WHERE i % 29 = 5`);
    });
    for (const i of table.shapes.keys())
      deleted[indexName(table, i)] = countsOf(grown[indexName(table, i)].bytes()).deleted;
    await insert(table, 1);
    for (const i of table.shapes.keys()) {
      const name = indexName(table, i);
      ours[name] = grown[name].bytes();
      theirs[name] = readFileSync(await server.relationPath(name));
    }
  }
  await putInPlace(
    server,
    Object.fromEntries(Object.entries(ours).map(([name, main]) => [name, { main, vm: undefined, fsm: undefined }])),
  );
}, 300_000);

afterAll(() => server?.close(), 60_000);

async function insert(table: GrownTable, round: number): Promise<void> {
  const before = (await tidsOf(server, table)).size;
  await table.insert(server, round);
  await server.query('CHECKPOINT');
  const heap = readFileSync(await server.relationPath(table.name));
  const added = [...(await tidsOf(server, table)).values()].slice(before);
  for (const i of table.shapes.keys()) grown[indexName(table, i)].insert(heap, added);
}

async function vacuumAfter(table: GrownTable, deleteSome: () => Promise<void>): Promise<void> {
  const before = await tidsOf(server, table);
  await deleteSome();
  await server.query(`VACUUM (INDEX_CLEANUP on, PARALLEL 0) ${table.name}`);
  const left = await tidsOf(server, table);
  const dead = [...before].filter(([i]) => !left.has(i)).map(([, tid]) => tid);
  for (const i of table.shapes.keys()) grown[indexName(table, i)].vacuum(dead);
}

describe.each(TABLES)('$what', (table) => {
  const indexes = table.shapes.map((shape, i) => ({ sql: shape.sql, name: indexName(table, i), shape }));

  it.each(indexes)('$sql has the pages that PostgreSQL wrote', ({ name }) => {
    expect(treeDifference(ours[name], theirs[name])).toBeUndefined();
  });

  it.each(indexes)('$sql is found without fault', async ({ name, shape }) => {
    await server.query(
      'SELECT bt_index_parent_check($1::regclass, heapallindexed => true, rootdescend => true, checkunique => $2)',
      [name, shape.isUnique === true],
    );
  });

  it.each(indexes)('$sql had deleted pages, and has used some of them', ({ name }) => {
    expect(deleted[name]).toBeGreaterThan(0);
    expect(countsOf(ours[name]).deleted).toBeLessThan(deleted[name]);
  });
});
