// No false alarm: a PostgreSQL whose tables were updated, rolled back, locked, vacuumed, frozen, truncated, rewritten and
// stored out of line in every order is checked after a clean shutdown, catalogs and indexes with it, and nothing is found.
// Then one file of it is put back from before, and that is found.
import { readFileSync, writeFileSync } from 'node:fs';
import { type Finding, runSync } from '@blockwright/base';
import { type CheckReport, checkPath } from '@blockwright/engine';
import type { PostgresServer } from '@blockwright/peers';
import { afterAll, beforeAll, expect } from 'vitest';
import { describe, it, startOracle } from './oracle.ts';

const LIFE = `
CREATE TABLE hot (id int PRIMARY KEY, n int, t text) WITH (fillfactor = 70, autovacuum_enabled = off)
INSERT INTO hot SELECT i, 0, repeat('x', i % 40) FROM generate_series(1, 3000) i
UPDATE hot SET n = n + 1 WHERE id % 3 = 0
BEGIN; UPDATE hot SET n = n + 1 WHERE id % 5 = 0; ROLLBACK
UPDATE hot SET n = n + 1 WHERE id % 7 = 0
BEGIN; SAVEPOINT a; UPDATE hot SET n = n + 1 WHERE id % 11 = 0; ROLLBACK TO a; UPDATE hot SET n = 9 WHERE id % 11 = 0; COMMIT
DELETE FROM hot WHERE id % 13 = 0
BEGIN; DELETE FROM hot WHERE id % 17 = 0; ROLLBACK
BEGIN; SELECT count(*) FROM (SELECT 1 FROM hot WHERE id % 19 = 0 FOR UPDATE) x; COMMIT
BEGIN; SELECT count(*) FROM (SELECT 1 FROM hot WHERE id % 23 = 0 FOR KEY SHARE) x; SAVEPOINT b; UPDATE hot SET n = 9 WHERE id % 23 = 0; COMMIT
CREATE TABLE plain AS SELECT i a, i::numeric / 3 b, now() c, i % 2 = 0 d, nullif(i % 3, 0) e FROM generate_series(1, 9000) i
VACUUM plain
DELETE FROM plain WHERE a BETWEEN 3000 AND 4000
UPDATE plain SET b = b + 1 WHERE a BETWEEN 6000 AND 6100
CREATE TABLE frozen AS SELECT * FROM plain
VACUUM FREEZE frozen
UPDATE frozen SET b = 1 WHERE a % 500 = 0
BEGIN; UPDATE frozen SET b = 2 WHERE a % 300 = 0; ROLLBACK
BEGIN; SELECT count(*) FROM (SELECT 1 FROM frozen WHERE a % 700 = 0 FOR SHARE) x; COMMIT
VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) frozen
BEGIN; UPDATE frozen SET b = 2 WHERE a % 400 = 0; ROLLBACK
VACUUM FREEZE frozen
CREATE TABLE cut (a int)
INSERT INTO cut SELECT generate_series(1, 10000)
BEGIN; UPDATE cut SET a = a + 1 WHERE a < 50; ROLLBACK
DELETE FROM cut WHERE a > 60
VACUUM cut
CREATE TABLE big (a int, b text, c text)
ALTER TABLE big ALTER c SET STORAGE EXTERNAL
INSERT INTO big SELECT i, repeat(md5(i::text), 500), repeat(md5(i::text), 100) FROM generate_series(1, 100) i
DELETE FROM big WHERE a % 2 = 0
VACUUM big
ALTER TABLE big DROP COLUMN b
ALTER TABLE big ADD COLUMN d int DEFAULT 5, ADD COLUMN e text
INSERT INTO big SELECT i, repeat(md5(i::text), 100) FROM generate_series(1, 20) i
CREATE UNLOGGED TABLE unlogged AS SELECT i a, md5(i::text) b FROM generate_series(1, 2000) i
CREATE TABLE odd (a int[], t tsvector, p point)
INSERT INTO odd SELECT ARRAY[i, i + 1], to_tsvector('a b c' || i), point(i, i) FROM generate_series(1, 1000) i
CREATE INDEX ON odd USING gin (a)
CREATE INDEX ON odd USING gist (p)
CREATE INDEX ON odd USING spgist (p)
CREATE INDEX ON plain USING brin (a)
CREATE INDEX ON plain USING hash (b)
CREATE INDEX plain_a ON plain (a, b)
CLUSTER plain USING plain_a
BEGIN; INSERT INTO plain SELECT i, i, now(), true, i FROM generate_series(1, 3000) i; ROLLBACK
CREATE SEQUENCE counter
SELECT nextval('counter')
INSERT INTO hot VALUES (1, 1, 'z') ON CONFLICT DO NOTHING
CREATE TABLE nothing ()
INSERT INTO nothing DEFAULT VALUES
VACUUM FREEZE pg_catalog.pg_class
CREATE TABLE promised AS SELECT i a FROM generate_series(1, 2000) i
VACUUM promised
CHECKPOINT`;

let server: PostgresServer;

async function checked(prepare: () => void = () => {}): Promise<{ report: CheckReport; findings: Finding[] }> {
  const findings: Finding[] = [];
  let report: CheckReport | undefined;
  await server.whileStopped(() => {
    prepare();
    report = runSync(checkPath(server.dataDirectory, (finding) => findings.push(finding)));
  });
  return { report: report as CheckReport, findings };
}

describe('a PostgreSQL with a life behind it', () => {
  beforeAll(async () => {
    server = await startOracle();
    for (const line of LIFE.trim().split('\n')) for (const statement of line.split('; ')) await server.query(statement);
  });
  afterAll(() => server?.close());

  it('is checked without a finding', async () => {
    const { report, findings } = await checked();
    expect(findings.filter(({ severity }) => severity !== 'info')).toEqual([]);
    expect(report).toMatchObject({ kind: 'postgresql', dataChecksums: true, errors: 0, warnings: 0 });
    expect(report.files.length).toBeGreaterThan(300);
    const kinds = new Set(report.files.map(({ kind }) => kind));
    for (const kind of [
      'heap',
      'btree',
      'gin',
      'gist',
      'spgist',
      'brin',
      'hash',
      'sequence',
      'visibility map',
      'free space map',
    ]) {
      expect(kinds, kind).toContain(kind);
    }
    const sum = (pick: (file: CheckReport['files'][number]) => number): number =>
      report.files.reduce((total, file) => total + pick(file), 0);
    expect(sum(({ decodedTuples }) => decodedTuples)).toBeGreaterThan(30_000);
    expect(sum(({ mapBits }) => mapBits)).toBeGreaterThan(100);
  });

  it('with an old visibility map put back over a newer heap: the deleted row is named', async () => {
    const path = await server.relationPath('promised');
    const old = readFileSync(`${path}_vm`);
    await server.query('DELETE FROM promised WHERE a = 700');
    const { findings } = await checked(() => {
      const newer = readFileSync(`${path}_vm`);
      writeFileSync(`${path}_vm`, old);
      expect(newer.equals(old)).toBe(false);
    });
    const faults = findings.filter(({ severity }) => severity !== 'info');
    expect(faults.map(({ code }) => code)).toEqual(['heap.map.set_without_page_flag', 'heap.all_visible.tuple']);
    expect(faults.every(({ severity, block }) => severity === 'error' && block === 3)).toBe(true);
    expect(faults[1]?.offsetNumber).toBe(700 - 3 * 226);
  });
});
