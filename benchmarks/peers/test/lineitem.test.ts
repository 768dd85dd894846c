// The peers hold the same rows and give the same answers.
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { knownAnswers, TextPool } from '@blockwright/tpch';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createTableSql,
  type LineitemPeer,
  openSqliteLineitem,
  peerText,
  postgresIsExpected,
  sqliteIsInstalled,
  startPostgresLineitem,
} from '../src/index.ts';

const SCALE = 0.001;
let pool: TextPool;
beforeAll(() => {
  pool = TextPool.open();
}, 120_000);
afterAll(() => pool.close());

async function expectKnownAnswers(peer: LineitemPeer): Promise<void> {
  const known = knownAnswers(SCALE);
  expect(peer.rows).toBe(known?.lineitemRows);
  expect(await peer.count()).toBe(known?.lineitemRows);
  expect(await peer.q6()).toBe(known?.q6.revenue);
  expect(await peer.q1()).toEqual(known?.q1);
  expect(peer.bytes).toBe(peer.pages * peer.blockSize);
}

describe.runIf(postgresIsExpected())('postgres with lineitem', () => {
  it('gives the known answers, on marked and on unmarked pages', async () => {
    await using peer = await startPostgresLineitem({ scale: SCALE, pool, settings: { work_mem: '8MB' } });
    await expectKnownAnswers(peer);
    expect(await peer.countJudged?.()).toBe(peer.rows);
    expect(peerText(peer)).toMatch(
      /^PostgreSQL 18\.\d+: 6005 rows in \d+ pages of 8192 bytes\nsettings: .*work_mem=8MB/,
    );
    expect(peer.doesMore).not.toBe('');
  }, 120_000);

  it('can be given up while it is loaded', async () => {
    const stop = new AbortController();
    const phases: string[] = [];
    const loading = startPostgresLineitem({
      scale: SCALE,
      pool,
      signal: stop.signal,
      onProgress: ({ phase }) => {
        phases.push(phase);
        if (phase.startsWith('loading')) stop.abort(new Error('given up'));
      },
    });
    await expect(loading).rejects.toThrow('given up');
    expect(phases).toContain('starting PostgreSQL');
  }, 120_000);
});

describe.runIf(sqliteIsInstalled() || process.env.CI)('sqlite with lineitem', () => {
  for (const pageSize of [1024, 8192, 32768]) {
    it(`gives the known answers with pages of ${pageSize} bytes`, async () => {
      const before = readdirSync(tmpdir()).filter((name) => name.startsWith('blockwright-sqlite-'));
      const peer = await openSqliteLineitem({ scale: SCALE, pool, pageSize });
      try {
        await expectKnownAnswers(peer);
        expect(peer.blockSize).toBe(pageSize);
        expect(peer.settings.page_size).toBe(String(pageSize));
        expect(peer.countJudged).toBeUndefined();
        expect(peerText(peer)).toMatch(/^SQLite 3\.\S+ \(libsql\): 6005 rows/);
      } finally {
        await peer.close();
      }
      const after = readdirSync(tmpdir()).filter((name) => name.startsWith('blockwright-sqlite-'));
      expect(after.filter((name) => !before.includes(name))).toEqual([]);
    }, 60_000);
  }

  it('refuses a page size that SQLite has not', async () => {
    await expect(openSqliteLineitem({ scale: SCALE, pool, pageSize: 3000 })).rejects.toThrow(RangeError);
  });
});

describe('create table', () => {
  it('spells the types out', () => {
    expect(createTableSql('lineitem', 'l')).toMatch(
      /^CREATE TABLE l \(l_orderkey int8 NOT NULL, .*l_tax numeric\(15,2\) NOT NULL, l_returnflag char\(1\) NOT NULL/,
    );
    expect(createTableSql('region')).toBe(
      'CREATE TABLE region (r_regionkey int4 NOT NULL, r_name char(25) NOT NULL, r_comment varchar(152) NOT NULL)',
    );
  });
});
