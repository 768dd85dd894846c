// A real PostgreSQL: started, used, stopped, its files replaced, and gone afterwards, however its owner ends.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isStorageError } from '@blockwright/base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PostgresServer, postgresIsExpected, startPostgres } from '../src/index.ts';
import { NOBODY } from '../src/postgres-binaries.ts';

/** The server's process, as its lock file names it. */
function serverPid(dataDirectory: string): number {
  return Number(readFileSync(join(dataDirectory, 'postmaster.pid'), 'utf8').split('\n')[0]);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
}

const isRoot = process.getuid?.() === 0;

describe.runIf(postgresIsExpected())('postgres', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres({ extensions: ['pageinspect', 'pg_visibility'] });
  }, 120_000);
  afterAll(async () => {
    const pid = serverPid(server.dataDirectory);
    await server.close();
    expect(isRunning(pid)).toBe(false);
    expect(existsSync(dirname(server.dataDirectory))).toBe(false);
    await server.close(); // again: nothing happens
  }, 120_000);

  it('is of the version that its package says, with 8 kB blocks and checksums', async () => {
    const [row] = await server.query(
      "SELECT current_setting('server_version') AS v, current_setting('block_size') AS b, current_setting('data_checksums') AS c",
    );
    expect(row).toEqual({ v: server.version, b: '8192', c: 'on' });
  });

  it.runIf(isRoot)('runs as nobody when its owner is root', () => {
    expect(statSync(`/proc/${serverPid(server.dataDirectory)}`).uid).toBe(NOBODY);
  });

  it('runs with the settings that it shows', async () => {
    for (const [name, value] of Object.entries(server.settings)) {
      const [row] = await server.query('SELECT current_setting($1) AS value', [name]);
      expect([name, row.value]).toEqual([name, value]);
    }
  });

  it('answers in text where a number would not be exact, and in bytes', async () => {
    const [row] = await server.query("SELECT 9007199254740993::int8 AS i, 0.10::numeric AS n, '\\x00ff'::bytea AS b");
    expect(row).toEqual({ i: '9007199254740993', n: '0.10', b: Buffer.from([0, 255]) });
    expect(await server.query('SELECT 1 AS a; SELECT 2 AS b')).toEqual([{ b: 2 }]);
  });

  it('takes rows by COPY, and keeps them over a restart', async () => {
    await server.query('CREATE TABLE copied (a int4, b text)');
    const lines = Array.from({ length: 1000 }, (_, i) => Buffer.from(`${i}|text ${i}\n`));
    await server.copyFrom('copied', lines);
    await server.copyFrom('copied (b)', [Buffer.from('x,')], "DELIMITER ';'");
    expect(await server.query('SELECT count(*) AS n, sum(a) AS s FROM copied')).toEqual([{ n: '1001', s: '499500' }]);
    await expect(server.copyFrom('copied', [Buffer.from('no number|x\n')])).rejects.toMatchObject({ code: '22P02' });
    const broken = (function* () {
      yield Buffer.from('1|one\n');
      throw new Error('no more rows');
    })();
    await expect(server.copyFrom('copied', broken)).rejects.toThrow('no more rows');
    const pid = serverPid(server.dataDirectory);
    await server.stop();
    expect(isRunning(pid)).toBe(false);
    await expect(server.query('SELECT 1')).rejects.toMatchObject({ code: '55000' });
    await server.start();
    expect(await server.query('SELECT count(*) AS n FROM copied')).toEqual([{ n: '1001' }]);
  }, 60_000);

  it('reads files that were put in place of its own', async () => {
    for (const name of ['a', 'b']) await server.query(`CREATE TABLE ${name} (x int4) WITH (autovacuum_enabled = off)`);
    await server.query('INSERT INTO a SELECT g FROM generate_series(1, 5000) g');
    await server.query('INSERT INTO b SELECT g FROM generate_series(1, 50) g');
    await server.query('VACUUM (FREEZE) a, b');
    await server.query('CHECKPOINT');
    const path = await server.relationPath('a');
    const main = readFileSync(path);
    await server.replaceRelation('b', { '': main, _vm: `${path}_vm` });
    expect(await server.query('SELECT count(*) AS n, max(x) AS m FROM b')).toEqual([{ n: '5000', m: 5000 }]);
    expect(await server.query("SELECT all_visible, all_frozen FROM pg_visibility_map_summary('b')")).toEqual([
      { all_visible: String(main.length / 8192), all_frozen: String(main.length / 8192) },
    ]);
    expect(existsSync(`${await server.relationPath('b')}_fsm`)).toBe(false); // its own is gone
    expect(await server.query("SELECT * FROM pg_check_visible('b')")).toEqual([]);
  }, 60_000);

  it('starts again when the work in between fails', async () => {
    await expect(
      server.whileStopped(() => {
        throw new Error('in between');
      }),
    ).rejects.toThrow('in between');
    expect(await server.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  }, 60_000);

  it('gives further connections', async () => {
    const client = await server.connect();
    try {
      expect((await client.query({ text: 'SELECT 7 AS seven' })).rows).toEqual([{ seven: 7 }]);
    } finally {
      await client.end();
    }
  });

  it('says what the server said when it does not start, and leaves nothing', async () => {
    const error = await startPostgres({ dataChecksums: false, settings: { shared_buffers: 'lots' } }).catch((e) => e);
    expect(isStorageError(error)).toBe(true);
    expect(error).toMatchObject({ code: '58030', detail: expect.stringContaining('shared_buffers') });
  }, 60_000);

  it('ends, and its directory goes, when its owner is killed', async () => {
    const source = new URL('../src/index.ts', import.meta.url).href;
    const script = `const { startPostgres } = await import(${JSON.stringify(source)});
      const server = await startPostgres();
      console.log(server.dataDirectory);
      setInterval(() => {}, 1000);`;
    const owner = spawn(
      process.execPath,
      ['--conditions=@blockwright/source', '--import', 'tsx', '--input-type=module', '-e', script],
      { stdio: ['ignore', 'pipe', 'inherit'], cwd: new URL('..', import.meta.url) },
    );
    const dataDirectory = await new Promise<string>((resolve) => {
      owner.stdout.once('data', (chunk) => resolve(String(chunk).trim()));
    });
    const pid = serverPid(dataDirectory);
    expect(isRunning(pid)).toBe(true);
    owner.kill('SIGKILL');
    await eventually(() => !isRunning(pid) && !existsSync(dirname(dataDirectory)));
  }, 60_000);

  it('knows its options', async () => {
    await expect(startPostgres({ dataChecksum: true } as never)).rejects.toThrow(/dataChecksums/);
  });
});
