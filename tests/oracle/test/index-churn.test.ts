// Indexes under updates, one a transaction, beside PostgreSQL's own: dead entries go before a page is split, by what scans
// have marked (simple deletion) and by what the table says of versions of a row whose key did not change (bottom-up
// deletion), posting lists lose single TIDs: the same files come of it.
import { readFileSync } from 'node:fs';
import type { PostgresServer } from '@blockwright/peers';
import { type ColumnType, int4, type KeyOrder, TupleDescriptor, text } from '@blockwright/tuple';
import { afterAll, beforeAll, expect } from 'vitest';
import type { IndexShape } from './built-index.ts';
import { GrownIndex, type Tid, treeDifference } from './grown-index.ts';
import { describe, it, putInPlace, startOracle } from './oracle.ts';

const ASC: KeyOrder = { descending: false, nullsFirst: false };
/** The column that every update changes. */
const N = 2;
const ROWS = 500;
const UPDATES = 4000;

interface Case extends IndexShape {
  readonly name: string;
  readonly sql: string;
}

/** Of `id`, `k`, a group of rows, and `n`, which every update changes. */
const CASES: readonly Case[] = [
  { name: 'by_id', sql: '(id)', columns: [0], keys: [ASC] },
  { name: 'by_k', sql: '(k)', columns: [1], keys: [ASC] },
  { name: 'by_id_n', sql: '(id, n)', columns: [0, 2], keys: [ASC, ASC] },
  { name: 'by_n', sql: '(n)', columns: [2], keys: [ASC] },
  {
    name: 'by_k_undeduplicated',
    sql: '(k) WITH (deduplicate_items = off)',
    columns: [1],
    keys: [ASC],
    deduplicate: false,
  },
  { name: 'by_id_unique', sql: '(id)', columns: [0], keys: [ASC], isUnique: true },
  { name: 'by_k_with_id', sql: '(k) INCLUDE (id)', columns: [1, 0], keys: [ASC] },
];
const DESCRIPTOR = TupleDescriptor.of(
  Object.entries({ id: int4(), k: text() as ColumnType, n: int4() }).map(([name, type]) => ({ name, type })),
);

type Files = Record<string, Uint8Array>;

interface Stage {
  readonly what: string;
  readonly ours: Files;
  readonly theirs: Files;
}

const STAGES: readonly Stage[] = ['updated', 'scanned, which marks dead entries', 'updated again'].map((what) => ({
  what,
  ours: {},
  theirs: {},
}));

let server: PostgresServer;
/** Beside `grown`: told of no row that it is dead. */
let careless: GrownIndex;
let killed = 0;
const grown: Record<string, GrownIndex> = {};

beforeAll(async () => {
  server = await startOracle();
  await server.query(
    'CREATE TABLE churned (id int4 NOT NULL, k text NOT NULL, n int4 NOT NULL) WITH (autovacuum_enabled = off)',
  );
  await server.query('CREATE TABLE history (seq int4, id int4, k text, n int4, old tid, new tid)');
  for (const { name, sql, isUnique } of CASES) {
    await server.query(`CREATE ${isUnique === true ? 'UNIQUE ' : ''}INDEX ${name} ON churned ${sql}`);
  }
  await server.query(
    `INSERT INTO churned SELECT g, 'group ' || lpad((g % 12)::text, 20, '0'), 0 FROM generate_series(1, ${ROWS}) g`,
  );
  const first = await server.query(`SELECT ${tidSql('ctid')}, id, k, n FROM churned ORDER BY ctid`);
  careless = new GrownIndex(DESCRIPTOR, CASES[0]);
  for (const row of first) careless.add(valuesOf(CASES[0], row), tidOf(row));
  for (const shape of CASES) {
    grown[shape.name] = new GrownIndex(DESCRIPTOR, shape);
    for (const row of first) grown[shape.name].add(valuesOf(shape, row), tidOf(row));
  }
  await update(1);
  await compare(STAGES[0]);
  for (const { name, columns } of CASES) {
    await scanBy(name, DESCRIPTOR.columns[columns[0]].name);
    killed += grown[name].kill();
  }
  await compare(STAGES[1]);
  await update(UPDATES + 1);
  await compare(STAGES[2]);
  await putInPlace(
    server,
    Object.fromEntries(
      Object.entries(STAGES[2].ours).map(([name, main]) => [name, { main, vm: undefined, fsm: undefined }]),
    ),
  );
}, 300_000);

afterAll(() => server?.close(), 60_000);

/** Updates rows here and there, the server first. No index finds the rows, or else its scan would mark entries as dead. */
async function update(from: number): Promise<void> {
  await server.query('SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off');
  await server.query(
    `DO $$
     DECLARE v churned; was tid; now tid; which int4;
     BEGIN
       FOR s IN ${from}..${from + UPDATES - 1} LOOP
         which := 1 + (s::int8 * s * 31 + s * 7919) % ${ROWS};
         IF s % 3 = 0 THEN which := 1 + which % 20; END IF;
         SELECT ctid INTO was FROM churned WHERE id = which;
         UPDATE churned SET n = s WHERE ctid = was RETURNING * INTO v;
         SELECT ctid INTO now FROM churned WHERE id = which;
         INSERT INTO history VALUES (s, v.id, v.k, v.n, was, now);
         COMMIT;
       END LOOP;
     END $$`,
  );
  const history = await server.query(
    `SELECT id, k, n, ${tidSql('old', 'old_')}, ${tidSql('new')} FROM history WHERE seq >= $1 ORDER BY seq`,
    [from],
  );
  for (const shape of CASES) {
    const isUnchanged = !shape.columns.slice(0, shape.keys.length).includes(N);
    for (const row of history) {
      grown[shape.name].update(valuesOf(shape, row), tidOf(row, 'old_'), tidOf(row), isUnchanged);
    }
  }
  for (const row of history) careless.add(valuesOf(CASES[0], row), tidOf(row), true);
}

/** The server goes through all of one index: the others are not there for so long. */
async function scanBy(name: string, column: string): Promise<void> {
  const others = CASES.map((other) => other.name).filter((other) => other !== name);
  await server.query('BEGIN');
  try {
    await server.query(
      `DROP INDEX ${others.join(', ')}; SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_indexscan = on`,
    );
    const sql = `SELECT sum(x) FROM (SELECT length(k) + id + n AS x FROM churned ORDER BY ${column} OFFSET 0) q`;
    const plan = JSON.stringify(await server.query(`EXPLAIN (COSTS OFF) ${sql}`));
    if (!plan.includes(`Index Scan using ${name} `)) throw new Error(`${sql} is not answered from ${name}: ${plan}`);
    await server.query(sql);
  } finally {
    await server.query('ROLLBACK');
  }
}

async function compare({ ours, theirs }: Stage): Promise<void> {
  await server.query('CHECKPOINT');
  for (const { name } of CASES) {
    ours[name] = grown[name].bytes();
    theirs[name] = readFileSync(await server.relationPath(name));
  }
}

function valuesOf({ columns }: Case, row: Record<string, unknown>): unknown[] {
  return columns.map((column) => row[DESCRIPTOR.columns[column].name]);
}

function tidSql(tid: string, prefix = ''): string {
  return `(${tid}::text::point)[0]::int4 AS ${prefix}block, (${tid}::text::point)[1]::int4 AS ${prefix}o`;
}

function tidOf(row: Record<string, unknown>, prefix = ''): Tid {
  return { block: Number(row[`${prefix}block`]), offset: Number(row[`${prefix}o`]) };
}

describe.each(STAGES)('indexes of a table, $what', ({ ours, theirs }) => {
  it.each(CASES)('$name has the pages that PostgreSQL wrote', ({ name }) => {
    expect(treeDifference(ours[name], theirs[name])).toBeUndefined();
  });
});

describe("put in place of the server's own", () => {
  it.each(CASES)('$name is found without fault, and answers rightly', async ({ name, columns, isUnique }) => {
    await server.query(
      'SELECT bt_index_parent_check($1::regclass, heapallindexed => true, rootdescend => true, checkunique => $2)',
      [name, isUnique === true],
    );
    const order = columns.map((column) => DESCRIPTOR.columns[column].name).join(', ');
    const sql = `SELECT md5(string_agg(q::text, ' ')) AS h, count(*)::int4 AS n FROM (SELECT ${order} FROM churned ORDER BY ${order}) q`;
    const expected = await server.query(sql);
    expect(expected[0].n).toBe(ROWS);
    await scanBy(name, DESCRIPTOR.columns[columns[0]].name);
    await server.query('SET enable_seqscan = off; SET enable_indexscan = on; SET enable_indexonlyscan = on');
    expect(await server.query(sql)).toEqual(expected);
    await server.query('RESET enable_seqscan; SET enable_indexscan = off; SET enable_indexonlyscan = off');
  });
});

it('canary: entries go, are marked, and stay where no row is known to be dead', () => {
  const [first, , last] = STAGES.map(({ ours }) => ours.by_id);
  expect(killed).toBeGreaterThan(2000);
  expect(treeDifference(STAGES[1].ours.by_k, STAGES[0].ours.by_k)).toMatch(/^page/);
  expect(careless.bytes().length).toBeGreaterThan(2 * last.length);
  expect(first.length).toBeGreaterThan(0);
});
