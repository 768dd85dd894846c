// Indexes grown entry by entry over tables that PostgreSQL wrote, beside indexes that PostgreSQL grew from the same rows in the
// same order: splits, suffix truncation, posting lists and their splits, page deletion leave the same file. Put in place of
// the server's own, amcheck finds no fault with it, queries through it are right, and the server goes on with it.
import { readFileSync } from 'node:fs';
import type { PostgresServer } from '@blockwright/peers';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Counts, countsOf, GrownIndex, type Tid, treeDifference } from './grown-index.ts';
import {
  createIndexes,
  deleteRows,
  type GrownTable,
  indexName,
  orderTables,
  tidsOf,
  typeTables,
} from './index-cases.ts';
import { describe, it, putInPlace, startOracle } from './oracle.ts';

/** To repeat a run: `ORACLE_SEED=… vitest run test/index-grown.test.ts`. */
const SEED = Number(process.env.ORACLE_SEED ?? Math.floor(Math.random() * 0x7fffffff));
const TABLES: readonly GrownTable[] = [...typeTables(SEED, 200, 4), ...orderTables(4000)];

type Files = Record<string, Uint8Array>;

interface Stage {
  readonly what: string;
  readonly ours: Files;
  readonly theirs: Files;
  /** What amcheck said of ours, and what was wrong with answers through ours. */
  readonly faults: Record<string, string>;
  readonly wrong: Record<string, string | undefined>;
}

const STAGES: Stage[] = ['grown', 'deleted from and vacuumed', 'grown again'].map((what) => ({
  what,
  ours: {},
  theirs: {},
  faults: {},
  wrong: {},
}));
let server: PostgresServer;
const grown: Record<string, GrownIndex> = {};

beforeAll(async () => {
  server = await startOracle();
  for (const table of TABLES) {
    await table.create(server);
    await createIndexes(server, table);
    table.shapes.forEach((shape, i) => {
      grown[indexName(table, i)] = new GrownIndex(table.descriptor, shape);
    });
  }
  await growth(STAGES[0], 0);
  await vacuumed(STAGES[1]);
  await growth(STAGES[2], 1);
}, 600_000);

afterAll(() => server?.close(), 60_000);

async function growth(stage: Stage, round: number): Promise<void> {
  const before: Record<string, number> = {};
  for (const table of TABLES) {
    before[table.name] = (await tidsOf(server, table)).size;
    await table.insert(server, round);
  }
  await server.query('CHECKPOINT');
  for (const table of TABLES) {
    const heap = readFileSync(await server.relationPath(table.name));
    const added = [...(await tidsOf(server, table)).values()].slice(before[table.name]);
    table.shapes.forEach((_, i) => {
      grown[indexName(table, i)].insert(heap, added);
    });
  }
  await judge(stage);
}

async function vacuumed(stage: Stage): Promise<void> {
  const before: Record<string, Map<number, Tid>> = {};
  for (const table of TABLES) {
    before[table.name] = await tidsOf(server, table);
    await deleteRows(server, table);
    await server.query(`VACUUM (INDEX_CLEANUP on, PARALLEL 0) ${table.name}`);
  }
  await server.query('CHECKPOINT');
  for (const table of TABLES) {
    const left = await tidsOf(server, table);
    const dead = [...before[table.name]].filter(([i]) => !left.has(i)).map(([, tid]) => tid);
    table.shapes.forEach((_, i) => {
      grown[indexName(table, i)].vacuum(dead);
    });
  }
  await judge(stage);
}

/**
 * What the server is asked of a table, in the order of an index: all rows both ways, those of a range, those of one key.
 * @param tie what decides among equal keys, as the index does by itself: ', ctid'
 */
function questions(table: GrownTable, number: number, tie = ''): string[] {
  const { columns, keys } = table.shapes[number];
  const key = columns.slice(0, keys.length).map((c) => table.descriptor.columns[c].name);
  const order = (backward: boolean): string =>
    keys
      .map(({ descending, nullsFirst }, i) => {
        const [down, first] = [descending !== backward, nullsFirst !== backward];
        return `${key[i]} ${down ? 'DESC' : 'ASC'} NULLS ${first ? 'FIRST' : 'LAST'}`;
      })
      .join(', ');
  const some = `(SELECT v FROM ${table.name} WHERE v IS NOT NULL ORDER BY ctid OFFSET 77 LIMIT 1)`;
  const all = (by: string): string => `SELECT ${key.join(', ')} FROM ${table.name} ORDER BY ${by}`;
  const sum = (where: string): string =>
    `SELECT count(*)::int4 AS n, md5(string_agg(t::text, ' ' ORDER BY i)) AS h FROM ${table.name} t WHERE ${where}`;
  const listed = (query: string): string =>
    `SELECT md5(string_agg(q::text, ' ')) AS h, count(*)::int4 AS n FROM (${query}) q`;
  return [
    listed(all(order(false) + tie)),
    listed(all(order(true) + (tie && `${tie} DESC`))),
    sum(`v <= ${some}`),
    sum(`v > ${some}`),
    sum(`v = ${some}`),
    sum('v IS NULL'),
  ];
}

/** Asks with the one index and without any. @returns what is wrong */
async function answerFault(table: GrownTable, number: number): Promise<string | undefined> {
  const name = indexName(table, number);
  const asked = questions(table, number);
  const ask = async (all: readonly string[]): Promise<string[]> => {
    const answers: string[] = [];
    for (const sql of all) answers.push(JSON.stringify(await server.query(sql)));
    return answers;
  };
  await server.query('BEGIN');
  try {
    await server.query(
      'SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off; SET LOCAL enable_bitmapscan = off',
    );
    const expected = await ask(questions(table, number, ', ctid'));
    const others = table.shapes.map((_, i) => indexName(table, i)).filter((other) => other !== name);
    await server.query(`DROP INDEX ${others.join(', ')}`);
    await server.query(
      'SET LOCAL enable_indexscan = on; SET LOCAL enable_indexonlyscan = on; SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off',
    );
    const answers = await ask(asked);
    for (const [i, sql] of asked.entries()) {
      const plan = JSON.stringify(await server.query(`EXPLAIN (COSTS OFF) ${sql}`));
      if (!plan.includes(` ${name}`)) return `${sql} is not answered from ${name}: ${plan}`;
      if (answers[i] !== expected[i]) return `${sql} gives ${answers[i]} instead of ${expected[i]}`;
    }
    return undefined;
  } finally {
    await server.query('ROLLBACK');
  }
}

/** Compares the files, puts ours in place, and asks the server of them. */
async function judge({ ours, theirs, faults, wrong }: Stage): Promise<void> {
  for (const name of Object.keys(grown)) {
    theirs[name] = readFileSync(await server.relationPath(name));
    ours[name] = grown[name].bytes();
  }
  await putInPlace(
    server,
    Object.fromEntries(Object.entries(ours).map(([name, main]) => [name, { main, vm: undefined, fsm: undefined }])),
  );
  for (const table of TABLES) {
    for (const [i, { isUnique }] of table.shapes.entries()) {
      const name = indexName(table, i);
      try {
        await server.query(
          'SELECT bt_index_parent_check($1::regclass, heapallindexed => true, rootdescend => true, checkunique => $2)',
          [name, isUnique === true],
        );
      } catch (error) {
        faults[name] = String(error);
      }
      wrong[name] = await answerFault(table, i);
    }
  }
}

describe.each(STAGES)(`$what (seed ${SEED})`, ({ ours, theirs, faults, wrong }) => {
  describe.each(TABLES)('$what', (table) => {
    const indexes = table.shapes.map((shape, i) => ({ sql: shape.sql, name: indexName(table, i) }));

    it.each(indexes)('$sql has the pages that PostgreSQL wrote', ({ name }) => {
      expect(treeDifference(ours[name], theirs[name])).toBeUndefined();
    });

    it.each(indexes)('$sql is found without fault', ({ name }) => {
      expect(faults[name]).toBeUndefined();
    });

    it.each(indexes)('$sql answers queries rightly', ({ name }) => {
      expect(name in wrong).toBe(true);
      expect(wrong[name]).toBeUndefined();
    });
  });
});

describe('the cases', () => {
  it('have posting lists, several levels, deleted pages, pages to be used again', () => {
    const [first, second, third] = STAGES.map(({ ours }) => Object.values(ours).map(countsOf));
    const sum = (of: readonly Counts[], what: keyof Counts): number => of.reduce((n, counts) => n + counts[what], 0);
    expect(sum(first, 'postings')).toBeGreaterThan(1000);
    expect(Math.max(...first.map(({ levels }) => levels))).toBeGreaterThan(3);
    expect(sum(first, 'pivotTids')).toBeGreaterThan(50);
    expect(sum(second, 'deleted')).toBeGreaterThan(200);
    expect(sum(third, 'deleted')).toBeGreaterThan(200);
  });

  it('canary: the same rows in another order make another file', async () => {
    const table = TABLES.find(({ name }) => name === 'in_no_order') as GrownTable;
    const heap = readFileSync(await server.relationPath(table.name));
    const rows = [...(await tidsOf(server, table)).values()];
    const [one, two] = [rows, [...rows].reverse()].map((order) => {
      const index = new GrownIndex(table.descriptor, table.shapes[0]);
      index.insert(heap, order);
      return index.bytes();
    });
    expect(treeDifference(one, two)).toMatch(/^page|^\d+ pages/);
    expect(treeDifference(one, new Uint8Array(one))).toBeUndefined();
  });
});
