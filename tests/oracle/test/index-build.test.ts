// Indexes built in bulk over tables that PostgreSQL wrote, of every type and shape: our file is the server's, byte for byte
// but for LSN and checksum; put in its place, amcheck finds no fault with it, and queries through it are right.
import { readFileSync } from 'node:fs';
import type { PostgresServer } from '@blockwright/peers';
import { type ColumnType, int2, int4, int8, type KeyOrder, numeric, TupleDescriptor, text } from '@blockwright/tuple';
import fc from 'fast-check';
import { afterAll, beforeAll, expect } from 'vitest';
import { builtIndex, type IndexShape, indexDifference } from './built-index.ts';
import { describe, it, putInPlace, startOracle } from './oracle.ts';
import { TYPE_CASES } from './values.ts';

const RANDOM_VALUES = 300;
/** To repeat a run: `ORACLE_SEED=… vitest run test/index-build.test.ts`. */
const SEED = Number(process.env.ORACLE_SEED ?? Math.floor(Math.random() * 0x7fffffff));
/** So often is each value in its table. */
const COPIES = 4;

const ASC: KeyOrder = { descending: false, nullsFirst: false };
const DESC: KeyOrder = { descending: true, nullsFirst: true };

interface Shape extends IndexShape {
  /** `CREATE INDEX name ON table` and then this, of the columns `i` and `v`. */
  readonly sql: string;
}

const SHAPES: readonly Shape[] = [
  { sql: '(v)', columns: [1], keys: [ASC] },
  { sql: '(v DESC)', columns: [1], keys: [DESC] },
  { sql: '(v DESC NULLS LAST)', columns: [1], keys: [{ descending: true, nullsFirst: false }] },
  { sql: '(v NULLS FIRST)', columns: [1], keys: [{ descending: false, nullsFirst: true }] },
  { sql: '(v) INCLUDE (i)', columns: [1, 0], keys: [ASC] },
  { sql: '(i) INCLUDE (v)', columns: [0, 1], keys: [ASC] },
  { sql: '(v DESC, i)', columns: [1, 0], keys: [DESC, ASC], isUnique: true },
  { sql: '(v) WITH (fillfactor = 70)', columns: [1], keys: [ASC], fillfactor: 70 },
  { sql: '(v) WITH (deduplicate_items = off)', columns: [1], keys: [ASC], deduplicate: false },
];

interface Table {
  readonly name: string;
  readonly what: string;
  readonly descriptor: TupleDescriptor;
  readonly shapes: readonly Shape[];
  fill(server: PostgresServer): Promise<void>;
}

const TYPES: readonly Table[] = TYPE_CASES.map(({ type, borders, random }, number) => {
  const name = `type_${number}`;
  return {
    name,
    what: type.sqlName,
    descriptor: columns({ i: int4(), v: type }),
    shapes: SHAPES,
    async fill(server) {
      const values = [...borders, null, ...fc.sample(random, { numRuns: RANDOM_VALUES, seed: SEED }), ...borders];
      const texts = values.map((value) => (value === null ? null : type.toText(value)));
      await server.query(`CREATE TABLE ${name} (i int4 NOT NULL, v ${type.sqlName}) WITH (autovacuum_enabled = off)`);
      await server.query(
        `INSERT INTO ${name} SELECT row_number() OVER (), v::${type.sqlName}
           FROM generate_series(1, ${COPIES}), unnest($1::text[]) AS v`,
        [texts],
      );
    },
  };
});

const LARGE: readonly Table[] = [
  large('long keys', { i: int4(), v: text() }, SHAPES, (name) => [
    `CREATE TABLE ${name} (i int4 NOT NULL, v text NOT NULL) WITH (autovacuum_enabled = off)`,
    `ALTER TABLE ${name} ALTER v SET STORAGE MAIN`,
    `INSERT INTO ${name} SELECT g, (SELECT left(string_agg(md5((g * 100 + h)::text), ''), 60 + g * 7919 % 2600)
       FROM generate_series(1, 85) h) FROM generate_series(1, 1500) g`,
    `INSERT INTO ${name} SELECT 1500 + g, repeat('the same again and again ', 100) || g % 7 FROM generate_series(1, 400) g`,
  ]),
  large('duplicates in no order', { i: int4(), v: int8().nullable() }, SHAPES, (name) => [
    `CREATE TABLE ${name} (i int4 NOT NULL, v int8) WITH (autovacuum_enabled = off)`,
    `INSERT INTO ${name} SELECT g, nullif(g::int8 * 7919 % 9973 % 1500, 7) FROM generate_series(1, 25000) g`,
  ]),
  large('no duplicates, in no order', { i: int4(), v: int8().nullable() }, SHAPES.slice(0, 2), (name) => [
    `CREATE TABLE ${name} (i int4 NOT NULL, v int8) WITH (autovacuum_enabled = off)`,
    `INSERT INTO ${name} SELECT g, hashint8extended(g, 0) FROM generate_series(1, 150000) g`,
  ]),
  large(
    'three columns',
    { i: int2().nullable(), v: text().nullable(), n: numeric(12, 2).nullable() },
    [
      { sql: '(i, v, n)', columns: [0, 1, 2], keys: [ASC, ASC, ASC] },
      { sql: '(v, n DESC) INCLUDE (i)', columns: [1, 2, 0], keys: [ASC, DESC] },
      {
        sql: '(n, i, v DESC NULLS LAST)',
        columns: [2, 0, 1],
        keys: [ASC, ASC, { descending: true, nullsFirst: false }],
      },
      { sql: '(v, i)', columns: [1, 0], keys: [ASC, ASC] },
    ],
    (name) => [
      `CREATE TABLE ${name} (i int2, v text, n numeric(12, 2)) WITH (autovacuum_enabled = off)`,
      `INSERT INTO ${name} SELECT nullif(g % 11, 3), nullif('word ' || g * 31 % 17, 'word 5') || repeat('-', g % 3),
         nullif(g % 29, 2) / 4.0 FROM generate_series(1, 12000) g`,
    ],
  ),
];

function large(
  what: string,
  types: Readonly<Record<string, ColumnType>>,
  shapes: readonly Shape[],
  statements: (name: string) => readonly string[],
): Table {
  const name = what.replaceAll(/\W+/g, '_');
  return {
    name,
    what,
    descriptor: columns(types),
    shapes,
    async fill(server) {
      for (const statement of statements(name)) await server.query(statement);
    },
  };
}

function columns(types: Readonly<Record<string, unknown>>): TupleDescriptor {
  return TupleDescriptor.of(Object.entries(types).map(([name, type]) => ({ name, type: type as ColumnType })));
}

const TABLES: readonly Table[] = [...TYPES, ...LARGE];
const indexName = (table: Table, number: number): string => `${table.name}_${number}`;

let server: PostgresServer;
const ours: Record<string, Uint8Array> = {};
const theirs: Record<string, Uint8Array> = {};

beforeAll(async () => {
  server = await startOracle();
  for (const table of TABLES) {
    await table.fill(server);
    for (const [i, { sql, isUnique }] of table.shapes.entries()) {
      await server.query(
        `CREATE ${isUnique === true ? 'UNIQUE ' : ''}INDEX ${indexName(table, i)} ON ${table.name} ${sql}`,
      );
    }
    await server.query(`ANALYZE ${table.name}`);
  }
  await server.query('CHECKPOINT');
  for (const table of TABLES) {
    const heap = readFileSync(await server.relationPath(table.name));
    for (const [i, shape] of table.shapes.entries()) {
      const name = indexName(table, i);
      theirs[name] = readFileSync(await server.relationPath(name));
      ours[name] = builtIndex(heap, table.descriptor, shape);
    }
  }
  await putInPlace(
    server,
    Object.fromEntries(Object.entries(ours).map(([name, main]) => [name, { main, vm: undefined, fsm: undefined }])),
  );
}, 600_000);

afterAll(() => server?.close(), 60_000);

describe.each(TABLES)(`$what (seed ${SEED})`, (table) => {
  const indexes = table.shapes.map((shape, i) => ({ sql: shape.sql, name: indexName(table, i), shape }));

  it.each(indexes)('$sql has the pages that PostgreSQL wrote', ({ name }) => {
    expect(indexDifference(ours[name], theirs[name])).toBeUndefined();
  });

  it.each(indexes)('$sql is found without fault', async ({ name, shape }) => {
    await server.query(
      'SELECT bt_index_parent_check($1::regclass, heapallindexed => true, rootdescend => true, checkunique => $2)',
      [name, shape.isUnique === true],
    );
  });

  it.each(indexes)('$sql answers queries rightly', async ({ name, shape }) => {
    const key = table.descriptor.columns[shape.columns[0]].name;
    const { descending, nullsFirst } = shape.keys[0];
    const where = `${key} <= (SELECT ${key} FROM ${table.name} WHERE ${key} IS NOT NULL ORDER BY ctid OFFSET 77 LIMIT 1)`;
    const sum = `SELECT count(*)::int4 AS rows, md5(string_agg(t::text, ' ' ORDER BY t::text COLLATE "C")) AS md5
      FROM ${table.name} t WHERE ${where}`;
    const order = `${key} ${descending ? 'DESC' : 'ASC'} NULLS ${nullsFirst ? 'FIRST' : 'LAST'}`;
    const first = (by: string): string => `SELECT ${key} FROM ${table.name} ORDER BY ${by} LIMIT 300`;
    const expected = [await server.query(sum), await server.query(first(`${order}, ctid`))];
    await server.query('BEGIN');
    try {
      for (const other of indexes) if (other.name !== name) await server.query(`DROP INDEX ${other.name}`);
      await server.query(
        'SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off',
      );
      const plan = await server.query(`EXPLAIN (COSTS OFF) ${first(order)}`);
      expect(JSON.stringify(plan)).toContain(`using ${name}`);
      expect([await server.query(sum), await server.query(first(order))]).toEqual(expected);
      expect(Number(expected[0][0].rows)).toBeGreaterThan(0);
    } finally {
      await server.query('ROLLBACK');
    }
  });
});

it('canary: a byte of one key of ours is noticed', () => {
  const [name] = Object.keys(ours);
  const changed = new Uint8Array(ours[name]);
  changed[changed.length - 17] ^= 1;
  expect(indexDifference(changed, theirs[name])).toMatch(/^page \d+, byte 8175$/);
});
