// PostgreSQL writes, we read: a directory of its own, all catalogs, several schemas and databases, out-of-line and
// compressed values, dropped columns; rows exactly as it prints them, and nothing for our checker to find.
import { PostgresDatabase } from '@blockwright/engine';
import { type PostgresServer } from '@blockwright/peers';
import { afterAll, beforeAll, expect } from 'vitest';
import { describe, it, startOracle } from './oracle.ts';
import { checkFindings } from './pages.ts';
import { firstDifference, ourRows, seedStatements, theirRows } from './rows.ts';

/** Statements that leave rows of every kind behind: live, dead, updated in place, aborted, locked, moved, out of line. */
const SETUP = [
  'CREATE SCHEMA "Other one"',
  'CREATE TABLE "Other one"."Mixed Name" ("Key" int8 PRIMARY KEY, "a|b" text)',
  `INSERT INTO "Other one"."Mixed Name" SELECT g, 'row ' || g FROM generate_series(1, 700) g`,
  'CREATE TABLE dropped (a int4, b text, c int4, d numeric(9,3), e date)',
  `INSERT INTO dropped SELECT g, 'gone ' || g, -g, g / 7.0, date '2020-01-01' + g FROM generate_series(1, 300) g`,
  'ALTER TABLE dropped DROP COLUMN b',
  'INSERT INTO dropped SELECT g, -g, g / 7.0, NULL FROM generate_series(301, 320) g',
  'ALTER TABLE dropped DROP COLUMN d',
  'INSERT INTO dropped SELECT g, -g, NULL FROM generate_series(321, 330) g',
  'CREATE TABLE toasted (id int4, plain text, external text, extended text, bytes bytea)',
  'ALTER TABLE toasted ALTER plain SET STORAGE PLAIN, ALTER external SET STORAGE EXTERNAL',
  `INSERT INTO toasted SELECT g, repeat('p', 3 * g), (SELECT string_agg(md5((g * 1000 + h)::text), '') FROM generate_series(1, g * 50) h),
     repeat('abcdefghij' || g, g * 200), decode(repeat(md5(g::text), g * 30), 'hex') FROM generate_series(1, 12) g`,
  `INSERT INTO toasted SELECT 100 + g, NULL, NULL, (SELECT string_agg(md5((g * 1000 + h)::text), 'and again, and again') FROM generate_series(1, 400) h), NULL
     FROM generate_series(1, 5) g`,
  'CREATE TABLE churn (id int4 PRIMARY KEY, k int4, val text) WITH (fillfactor = 85)',
  "INSERT INTO churn SELECT g, g % 50, '!' || g FROM generate_series(1, 1500) g",
  'CREATE INDEX churn_k ON churn (k)',
  "UPDATE churn SET val = val || '+' WHERE id % 5 = 0",
  'UPDATE churn SET k = k + 1000 WHERE id % 11 = 0',
  'DELETE FROM churn WHERE id % 7 = 0',
  "BEGIN; INSERT INTO churn SELECT g, g, 'aborted' FROM generate_series(5000, 5060) g; UPDATE churn SET val = 'never' WHERE id % 13 = 0; ROLLBACK",
  'BEGIN; SELECT count(*) FROM (SELECT * FROM churn WHERE id < 20 FOR UPDATE) s; COMMIT',
  "BEGIN; SELECT count(*) FROM (SELECT * FROM churn WHERE id BETWEEN 20 AND 30 FOR KEY SHARE) s; SAVEPOINT s; UPDATE churn SET val = val || 'k' WHERE id BETWEEN 20 AND 30; COMMIT",
  'CREATE TABLE vacuumed (id int8, pad text)',
  "INSERT INTO vacuumed SELECT g, repeat('p', (g * 37 % 180)::int4) FROM generate_series(1, 4000) g",
  'CREATE INDEX vacuumed_id ON vacuumed (id)',
  'DELETE FROM vacuumed WHERE id % 10 = 3 OR id BETWEEN 1000 AND 1400',
  'VACUUM (FREEZE) vacuumed',
  "UPDATE vacuumed SET pad = pad || 'u' WHERE id BETWEEN 2000 AND 2100",
  'CREATE TABLE nothing (id int4)',
  'CREATE TABLE nocols ()',
  'INSERT INTO nocols SELECT FROM generate_series(1, 30)',
  'CREATE MATERIALIZED VIEW seen AS SELECT id, k FROM churn',
  'CREATE UNLOGGED TABLE unlogged (id int4, t text)',
  "INSERT INTO unlogged SELECT g, 'u' || g FROM generate_series(1, 100) g",
  'CREATE TABLE parted (id int4, t text) PARTITION BY RANGE (id)',
  'CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (0) TO (50)',
  "INSERT INTO parted SELECT g, 'in a partition' FROM generate_series(0, 49) g",
  'CREATE TABLE rewritten (id int4, t text)',
  "INSERT INTO rewritten SELECT g, 't' || g FROM generate_series(1, 200) g",
  'VACUUM FULL rewritten',
  'VACUUM FULL pg_class',
  'SET allow_in_place_tablespaces = on',
  "CREATE TABLESPACE elsewhere LOCATION ''",
  'CREATE TABLE placed (id int4, t text) TABLESPACE elsewhere',
  "INSERT INTO placed SELECT g, repeat('placed', g) FROM generate_series(1, 2000, 7) g",
  'CREATE SEQUENCE counted',
  "SELECT nextval('counted')",
  'CREATE INDEX hashed ON churn USING hash (k)',
  'CREATE INDEX ranged ON vacuumed USING brin (id)',
  "CREATE INDEX words ON vacuumed USING gin (to_tsvector('simple', pad))",
  'CREATE INDEX pointed ON vacuumed USING gist (point(id, id))',
  'CREATE INDEX partly ON vacuumed USING spgist (pad)',
];
const TABLES = [
  'types',
  '"Other one"."Mixed Name"',
  'dropped',
  'toasted',
  'vacuumed',
  'nothing',
  'nocols',
  'seen',
  'unlogged',
  'parted_low',
  'rewritten',
  'placed',
];
/** As `PostgresDatabase` names it. */
const unquoted = (name: string): string => name.replaceAll('"', '');

let server: PostgresServer;
/** The server from npm is built without it on some platforms. */
let hasLz4: boolean;

beforeAll(async () => {
  server = await startOracle();
  for (const statement of seedStatements('CREATE TABLE types ', 'INSERT INTO types ')) await server.query(statement);
  for (const statement of SETUP) await server.query(statement);
  const [row] = await server.query(
    "SELECT 'lz4' = ANY (enumvals) AS lz4 FROM pg_settings WHERE name = 'default_toast_compression'",
  );
  hasLz4 = row.lz4 === true;
  if (hasLz4) {
    await server.query('CREATE TABLE lz4ed (id int4, t text COMPRESSION lz4)');
    await server.query(`INSERT INTO lz4ed SELECT g, repeat('abcdefghij' || g, g * 200) FROM generate_series(1, 8) g`);
    await server.query(
      `INSERT INTO lz4ed SELECT g, (SELECT string_agg(md5((g * 1000 + h)::text), 'and again, and again') FROM generate_series(1, 400) h) FROM generate_series(9, 12) g`,
    );
  }
  await server.query('CREATE DATABASE second TABLESPACE elsewhere');
}, 300_000);

afterAll(() => server?.close(), 60_000);

describe('a directory that PostgreSQL wrote', () => {
  it('is checked without a finding when nothing was vacuumed', async () => {
    await server.query('SELECT count(*) FROM pg_class; SELECT count(*) FROM pg_attribute');
    await server.whileStopped(() => expect(checkFindings(server.dataDirectory)).toEqual([]));
  }, 120_000);

  it('has the rows that the server prints', async () => {
    const expected: Record<string, string[]> = {};
    // Rows of churn are locked by several transactions: who they were is in the multixacts.
    for (const name of [...TABLES, 'churn']) expected[name] = await theirRows(server, name);
    if (hasLz4) expected.lz4ed = await theirRows(server, 'lz4ed');
    const listed = await server.query(
      `SELECT CASE nspname WHEN 'public' THEN '' ELSE nspname || '.' END || relname AS name, c.oid,
          (SELECT count(*)::int4 FROM pg_attribute a WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns,
          pg_relation_filepath(c.oid) AS path, pg_relation_size(c.oid)::int4 AS bytes
        FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind IN ('r', 'm')`,
    );
    const types = await server.query(
      `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
        WHERE attrelid = 'types'::regclass AND attnum > 0 ORDER BY attnum`,
    );
    await server.whileStopped(() => {
      using postgres = PostgresDatabase.open(server.dataDirectory, { database: 'postgres' });
      expect(postgres.version).toBe(18);
      const found = postgres
        .tables()
        .map(({ name, oid, columns, path, bytes }) => ({ name, oid, columns, path, bytes }));
      const byName = (a: { name?: unknown }, b: { name?: unknown }) => (String(a.name) < String(b.name) ? -1 : 1);
      expect(found.sort(byName)).toEqual(listed.sort(byName));
      expect(Object.keys(postgres.table('types').columns)).toEqual(types.map(({ name }) => name));
      for (const [name, rows] of Object.entries(expected)) {
        expect([name, firstDifference(ourRows(postgres, unquoted(name)), rows)]).toEqual([name, undefined]);
        expect([name, postgres.count(postgres.table(unquoted(name))).rows]).toEqual([name, rows.length]);
      }
    });
  }, 120_000);

  it('has several databases, each read by its name', async () => {
    await server.whileStopped(() => {
      using second = PostgresDatabase.open(server.dataDirectory, { database: 'second' });
      expect(second.tables().filter(({ isCatalog }) => !isCatalog)).toEqual([]);
      expect(() => PostgresDatabase.open(server.dataDirectory, { database: 'secnd' })).toThrow(
        expect.objectContaining({ code: '42704', hint: expect.stringContaining('"second"') }),
      );
      using only = PostgresDatabase.open(server.dataDirectory); // the one that is no template and not postgres
      expect(only.name).toBe('second');
    });
  }, 120_000);

  it('is checked without a finding after vacuum, after updates, and after VACUUM FREEZE', async () => {
    await server.query('VACUUM');
    await server.query("UPDATE churn SET val = val || '~' WHERE id % 3 = 0; DELETE FROM vacuumed WHERE id % 5 = 0");
    await server.query('ALTER TABLE churn ADD COLUMN extra text; DROP TABLE rewritten');
    await server.whileStopped(() => expect(checkFindings(server.dataDirectory)).toEqual([]));
    await server.query('VACUUM (FREEZE)');
    await server.query('VACUUM (FULL) toasted');
    const expected = { churn: await theirRows(server, 'churn'), toasted: await theirRows(server, 'toasted') };
    await server.whileStopped(() => {
      expect(checkFindings(server.dataDirectory)).toEqual([]);
      using postgres = PostgresDatabase.open(server.dataDirectory, { database: 'postgres' });
      for (const [name, rows] of Object.entries(expected)) {
        expect([name, firstDifference(ourRows(postgres, name), rows)]).toEqual([name, undefined]);
      }
    });
  }, 120_000);

  it('with rows that nobody has looked at yet is read by its commit log', async () => {
    await server.query('CREATE TABLE fresh (id int4, t text)');
    await server.query("INSERT INTO fresh SELECT g, 'row ' || g FROM generate_series(1, 10) g");
    const reading = async (): Promise<string[]> =>
      server.whileStopped(() => {
        using postgres = PostgresDatabase.open(server.dataDirectory, { database: 'postgres' });
        return ourRows(postgres, 'fresh');
      });
    const unseen = await reading();
    expect(unseen).toEqual(await theirRows(server, 'fresh'));
  }, 120_000);

  it('is refused while the server runs', () => {
    expect(() => PostgresDatabase.open(server.dataDirectory)).toThrow(expect.objectContaining({ code: '55006' }));
  });
});
