import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openSqliteCommits, postgresIsExpected, sqliteIsInstalled, startPostgres } from '../src/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'blockwright-peers-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe.runIf(sqliteIsInstalled())('SQLite, one row a transaction', () => {
  it.each([
    [true, '2'],
    [false, '1'],
  ])('with a synchronous commit %s says so, counts its rows, and leaves nothing behind', async (synchronous, says) => {
    const peer = await openSqliteCommits({ folder, synchronous });
    try {
      expect(peer.settings).toMatchObject({ journal_mode: 'wal', synchronous: says });
      for (let id = 0; id < 5; id++) peer.commit(id, 'x');
      expect(peer.rows()).toBe(5);
      expect(peer.engine).toMatch(/^SQLite 3\./);
    } finally {
      peer.close();
    }
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe.runIf(postgresIsExpected())('a PostgreSQL that is stopped at once', () => {
  it('recovers when it is started again, and says so', async () => {
    const server = await startPostgres();
    try {
      await server.query('CREATE TABLE t (a int); INSERT INTO t VALUES (7)');
      await server.crash();
      await server.start();
      expect(server.logTail).toMatch(/redo done at [0-9A-F]+\/[0-9A-F]+ system usage: CPU: user: /);
      expect(await server.query('SELECT a FROM t')).toEqual([{ a: 7 }]);
    } finally {
      await server.close();
    }
  });
});
