// The commands that make, fill and read data directories, ours and PostgreSQL's.
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TextPool, tableText } from '@blockwright/tpch';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli } from './fake-io.ts';
import { readCsv, recordsMd5 } from './record-text.ts';

const SIZES = ['1kB', '2kB', '4kB', '8kB', '16kB', '32kB'];
const FIXTURES = fileURLToPath(new URL('../../../fixtures/pg/', import.meta.url));
const ROWS_AT_0001 = 6005;

let root: string;
let made: string; // a data directory with lineitem and orders at scale 0.001; not to be changed

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'blockwright-cli-'));
  made = join(root, 'made');
  expect(await cli(['initdb', '-D', made, '--block-size=4kB'])).toMatchObject({ status: 0 });
  expect(await cli(['load', 'tpch', '-D', made, '--scale=0.001', '--tables=lineitem,orders'])).toMatchObject({
    status: 0,
  });
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A fresh path below the test's own directory. */
let counter = 0;
const fresh = (): string => join(root, `d${counter++}`);

/** Every file below a directory with its digest. */
function snapshot(directory: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    found[path] = entry.isFile() ? createHash('md5').update(readFileSync(path)).digest('hex') : 'directory';
  }
  return found;
}

describe('initdb', () => {
  test.each(SIZES)('makes a directory of %s blocks, and says so', async (size) => {
    const directory = fresh();
    const { status, stdout, stderr } = await cli(['initdb', '-D', directory, `--block-size=${size}`]);
    expect(status).toBe(0);
    expect(stdout).toBe(`created ${directory}: block size ${size}, data checksums on, WAL segments of 16 MB\n`);
    expect(stderr).toContain('blockwright load tpch');
    const { blockSize } = JSON.parse((await cli(['controldata', directory, '--json'])).stdout);
    expect(blockSize).toBe(Number.parseInt(size, 10) * 1024);
  });

  test('takes its directory as an argument, by -D, or from BLOCKWRIGHT_DATA, and PGDATA never', async () => {
    const [a, b, c] = [fresh(), fresh(), fresh()];
    expect((await cli(['initdb', a])).status).toBe(0);
    expect((await cli(['initdb', '-D', b])).status).toBe(0);
    expect((await cli(['initdb'], { env: { BLOCKWRIGHT_DATA: c } })).status).toBe(0);
    for (const directory of [a, b, c]) expect(existsSync(join(directory, 'global/control'))).toBe(true);
    expect(await cli(['initdb'], { env: { PGDATA: fresh() } })).toMatchObject({ status: 2 });
  });

  test('--json prints the control file', async () => {
    const directory = fresh();
    const { stdout } = await cli(['initdb', '-D', directory, '--json', '--no-data-checksums', '--wal-segsize=1MB']);
    expect(JSON.parse(stdout)).toMatchObject({
      directory,
      blockSize: 8192,
      dataChecksums: false,
      walSegmentSize: 1048576,
    });
  });

  test('--quiet says nothing that was not asked for', async () => {
    expect((await cli(['initdb', '-q', '-D', fresh()])).stderr).toBe('');
  });

  test('refuses a directory that is not empty, and leaves it as it is', async () => {
    const directory = fresh();
    mkdirSync(join(directory, 'lost+found'), { recursive: true });
    const before = snapshot(directory);
    const { status, stdout, stderr } = await cli(['initdb', '-D', directory]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^blockwright: error: .*not empty\ndetail: .*lost\+found.*\nhint: /);
    expect(snapshot(directory)).toEqual(before);
  });

  test('refuses a data directory that exists, whatever the block size', async () => {
    const before = snapshot(made);
    for (const size of SIZES) {
      const { status, stderr } = await cli(['initdb', '-D', made, `--block-size=${size}`]);
      expect(status).toBe(1);
      expect(stderr).toMatch(/not empty\ndetail: It is a data directory already\.\nhint: /);
    }
    expect(snapshot(made)).toEqual(before);
  });

  test("refuses a PostgreSQL's directory, a file, and a path below a file", async () => {
    const pgdata = fresh();
    cpSync(join(FIXTURES, '1k/pgdata'), pgdata, { recursive: true });
    const before = snapshot(pgdata);
    expect(await cli(['initdb', '-D', pgdata])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('PostgreSQL'),
    });
    expect(snapshot(pgdata)).toEqual(before);
    const file = fresh();
    writeFileSync(file, 'precious');
    expect((await cli(['initdb', '-D', file])).stderr).toContain('not a directory');
    const below = await cli(['initdb', '-D', join(file, 'x', 'y')]);
    expect(below.status).toBe(1);
    expect(below.stderr).toMatch(/^blockwright: error: (?!internal)/);
    expect(readFileSync(file, 'utf8')).toBe('precious');
  });

  test.skipIf(process.getuid?.() === 0)('refuses a directory that may not be written', async () => {
    const parent = fresh();
    mkdirSync(parent);
    chmodSync(parent, 0o500);
    expect(await cli(['initdb', '-D', join(parent, 'x')])).toMatchObject({ status: 1 });
    expect(readdirSync(parent)).toEqual([]);
    chmodSync(parent, 0o700);
  });
});

describe('controldata', () => {
  test.each(['1k', '2k', '4k', '8k', '16k', '32k'])(
    "prints a PostgreSQL's, line for line as pg_controldata: %s",
    async (size) => {
      const { status, stdout } = await cli(['controldata', '-D', join(FIXTURES, size, 'pgdata')]);
      expect(status).toBe(0);
      expect(stdout).toBe(readFileSync(join(FIXTURES, size, 'expect/controldata.txt'), 'utf8'));
    },
  );

  test('prints ours in the same style', async () => {
    const { stdout } = await cli(['controldata', made]);
    const lines = stdout.trimEnd().split('\n');
    for (const line of lines) expect(line).toMatch(/^[A-Z].{36}[ :]\S/i);
    expect(stdout).toContain('Database block size:                  4096\n');
    expect(stdout).toContain('Database cluster state:               shut down\n');
    expect(stdout).toContain('Data page checksum version:           1\n');
  });

  test.each([
    ['cut short', (path: string) => truncateSync(path, 100)],
    ['empty', (path: string) => truncateSync(path, 0)],
    ['with one bit flipped', (path: string) => flip(path, 13)],
    ['of another program', (path: string) => writeFileSync(path, 'hello, world\n')],
  ])('and every other command refuse a control file that is %s', async (_what, damage) => {
    const directory = fresh();
    cpSync(made, directory, { recursive: true });
    damage(join(directory, 'global/control'));
    const before = snapshot(directory);
    for (const args of [
      ['controldata'],
      ['tables'],
      ['dump', 'lineitem'],
      ['load', 'tpch', '--scale=0.001', '--tables=nation'],
    ]) {
      const { status, stdout, stderr } = await cli([...args, '-D', directory]);
      expect({ args, status, stdout }).toEqual({ args, status: 1, stdout: '' });
      expect(stderr).toMatch(/^blockwright: error: control file ".*global\/control" /);
    }
    expect(snapshot(directory)).toEqual(before);
  });

  test('another version of the directory is refused with both numbers', async () => {
    const directory = fresh();
    cpSync(made, directory, { recursive: true });
    writeFileSync(join(directory, 'BLOCKWRIGHT_VERSION'), '7\n');
    for (const args of [['controldata'], ['tables'], ['dump', 'lineitem']]) {
      const { status, stderr } = await cli([...args, '-D', directory]);
      expect(status).toBe(1);
      expect(stderr).toMatch(/version 7.* 3/);
    }
  });
});

function flip(path: string, byte: number): void {
  const bytes = readFileSync(path);
  bytes[byte] = (bytes[byte] as number) ^ 1;
  writeFileSync(path, bytes);
}

describe('what is no data directory is refused with status 1, a reason and a hint', () => {
  test.each([['controldata'], ['tables'], ['dump', 't'], ['load', 'tpch', '--scale=0.001']])(
    '%s %s',
    async (...args) => {
      const empty = fresh();
      mkdirSync(empty);
      const other = fresh();
      mkdirSync(other);
      writeFileSync(join(other, 'notes.txt'), '');
      const file = fresh();
      writeFileSync(file, '');
      for (const path of [join(root, 'nowhere'), empty, other, file]) {
        const { status, stdout, stderr } = await cli([...args, '-D', path]);
        expect({ path, status, stdout }).toEqual({ path, status: 1, stdout: '' });
        expect(stderr).toMatch(/^blockwright: error: (?!internal).*\n(detail: .*\n)?(hint: .*\n)?$/);
      }
      expect([existsSync(join(root, 'nowhere')), readdirSync(empty), readdirSync(other)]).toEqual([
        false,
        [],
        ['notes.txt'],
      ]);
    },
  );
});

describe('load', () => {
  test.each(['1kB', '8kB', '32kB'])('at %s: every row that dbgen prints can be dumped again', async (size) => {
    const directory = fresh();
    await cli(['initdb', '-D', directory, `--block-size=${size}`]);
    const { status, stdout } = await cli(['load', 'tpch', '-D', directory, '--scale=0.001', '--json']);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject([{ table: 'lineitem', rows: ROWS_AT_0001 }]);
    const dumped = await cli(['dump', '-D', directory, 'lineitem']);
    expect(dumped.status).toBe(0);
    expect(md5(asTbl('lineitem', readCsv(dumped.stdout)))).toBe(md5(generated('lineitem')));
  });

  test('all eight tables', async () => {
    const directory = fresh();
    await cli(['initdb', '-D', directory]);
    const { status, stdout } = await cli(['load', 'tpch', '-D', directory, '--scale=0.001', '--tables=all']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^table +rows +pages +size +time\n─+\n/);
    for (const name of [
      'region',
      'nation',
      'supplier',
      'customer',
      'part',
      'partsupp',
      'orders',
      'lineitem',
    ] as const) {
      const dumped = await cli(['dump', '-D', directory, name]);
      expect([name, md5(asTbl(name, readCsv(dumped.stdout)))]).toEqual([name, md5(generated(name))]);
    }
  });

  test('a table that has rows is refused, and keeps them', async () => {
    const directory = fresh();
    cpSync(made, directory, { recursive: true });
    const { status, stderr } = await cli(['load', 'tpch', '-D', directory, '--scale=0.001']);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^blockwright: error: .*lineitem/);
    expect((await cli(['tables', '-D', directory, '--count', '--json'])).stdout).toContain(`"rows": ${ROWS_AT_0001}`);
  });

  test('Ctrl-C ends it with status 130, and the directory opens afterwards', async () => {
    const directory = fresh();
    await cli(['initdb', '-D', directory]);
    const interrupt = new AbortController();
    setTimeout(() => interrupt.abort(), 300);
    const ran = await cli(['load', 'tpch', '-D', directory, '--scale=1'], { signal: interrupt.signal, terminal: 80 });
    expect(ran.status).toBe(130);
    expect(ran.stdout).toBe('');
    expect(ran.stderr).toMatch(/blockwright: interrupted\n$/);
    expect((await cli(['tables', '-D', directory])).status).toBe(0);
    // What was loaded up to then is gone: the same command can be run again.
    expect(await cli(['load', 'tpch', '-D', directory, '--scale=0.001'])).toMatchObject({ status: 0 });
    const { stdout } = await cli(['tables', '-D', directory, '--count', '--json']);
    expect(JSON.parse(stdout)).toMatchObject([{ name: 'lineitem', rows: ROWS_AT_0001 }]);
  });

  test('shows a bar on a terminal, and none with --no-progress, --quiet, or on a pipe', async () => {
    const bar = /█|░/;
    const load = async (flags: string[], terminal?: number) => {
      const directory = fresh();
      await cli(['initdb', '-D', directory]);
      return (await cli(['load', 'tpch', '-D', directory, '--scale=0.001', ...flags], { terminal })).stderr;
    };
    expect(await load([], 80)).toMatch(bar);
    expect(await load(['--no-progress'], 80)).toBe('');
    expect(await load(['--quiet'], 80)).toBe('');
    expect(await load([])).toBe('');
  });
});

let textPool: TextPool | undefined;
afterAll(() => textPool?.close());

/** What dbgen prints for a table at scale 0.001, less blanks at the end of a field: char(n) adds some. */
function generated(table: Parameters<typeof tableText>[0]): string {
  textPool ??= TextPool.open();
  let text = '';
  for (const chunk of tableText(table, 0.001, { pool: textPool })) text += Buffer.from(chunk).toString();
  return text.replace(/ +\|/g, '|');
}

/** Rows as dbgen prints them: without blanks at the end of a field, quantities as whole numbers, a bar after each field. */
function asTbl(table: string, rows: (string | null)[][]): string {
  const quantity = table === 'lineitem' ? 4 : -1;
  const field = (value: string | null, k: number) =>
    k === quantity ? (value as string).replace(/\.00$/, '') : (value as string).replace(/ +$/, '');
  return rows.map((row) => `${row.map(field).join('|')}|\n`).join('');
}

/** Compares digests: a difference of megabytes of text is nothing to print. */
const md5 = (text: string) => createHash('md5').update(text).digest('hex');

describe('tables', () => {
  test('lists names, columns, pages, sizes and files; rows only when asked', async () => {
    const { stdout } = await cli(['tables', '-D', made]);
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/)[0])).toEqual([
      'table',
      expect.stringMatching(/^─+$/),
      'lineitem',
      'orders',
      '',
    ]);
    expect(JSON.parse((await cli(['tables', '-D', made, '--json'])).stdout)[0]).not.toHaveProperty('rows');
    const counted = JSON.parse((await cli(['tables', '-D', made, '--json', '-c'])).stdout);
    expect(counted.map((t: { name: string; rows: number }) => [t.name, t.rows])).toEqual([
      ['lineitem', ROWS_AT_0001],
      ['orders', 1500],
    ]);
    const { path, bytes } = counted[0];
    expect(statSync(join(made, path)).size).toBe(bytes);
  });

  test('--all lists the catalogs too, and indexes come below their tables', async () => {
    const { stdout } = await cli(['tables', '-D', made, '--all', '--json']);
    const listed = JSON.parse(stdout) as { name: string; indexes: object[] }[];
    expect(listed.find(({ name }) => name === 'bw_attribute')?.indexes).toEqual([
      {
        name: 'bw_attribute_relid_attnum_index',
        columns: ['attrelid', 'attnum'],
        include: [],
        isUnique: true,
        isPrimary: true,
        pages: 2,
        bytes: statSync(join(made, 'base/5/2659')).size,
        path: 'base/5/2659',
      },
    ]);
    const lines = (await cli(['tables', '-D', made, '--all', '--count'])).stdout.split('\n');
    const at = lines.findIndex((line) => line.startsWith('bw_class '));
    expect(lines.slice(at + 1, at + 3).map((line) => line.split(/ {2,}/).slice(0, 4))).toEqual([
      ['', 'bw_class_oid_index', '1', '2'],
      ['', 'bw_class_relname_index', '1', '2'],
    ]);
  });

  test('an empty directory of tables is no error', async () => {
    const directory = fresh();
    await cli(['initdb', '-D', directory]);
    expect(await cli(['tables', '-D', directory])).toMatchObject({ status: 0, stdout: '' });
    expect(await cli(['tables', '-D', directory, '--json'])).toMatchObject({ status: 0, stdout: '[]\n' });
  });
});

describe('dump', () => {
  const first = ['dump', '-D', '', 'lineitem', '--limit=1', '--columns=l_orderkey,l_quantity,l_shipdate,l_shipmode'];
  const dump = (...flags: string[]) => cli([...first.map((arg) => (arg === '' ? made : arg)), ...flags]);

  test('prints CSV, COPY text and JSON Lines', async () => {
    expect((await dump()).stdout).toBe('1,17.00,1996-03-13,TRUCK     \n');
    expect((await dump('--header')).stdout).toBe(
      'l_orderkey,l_quantity,l_shipdate,l_shipmode\n1,17.00,1996-03-13,TRUCK     \n',
    );
    expect((await dump('--format=copy')).stdout).toBe('1\t17.00\t1996-03-13\tTRUCK     \n');
    const line = '{"l_orderkey":"1","l_quantity":"17.00","l_shipdate":"1996-03-13","l_shipmode":"TRUCK     "}\n';
    expect((await dump('--format=jsonl')).stdout).toBe(line);
    expect((await dump('--json')).stdout).toBe(line);
  });

  test('--json and another format contradict each other', async () => {
    expect(await dump('--json', '--format=csv')).toMatchObject({ status: 2, stdout: '' });
  });

  test.each([
    [0, 0],
    [1, 1],
    [1500, 1500],
    [1501, 1500],
  ])('--limit=%i prints %i of 1500 rows', async (limit, printed) => {
    const { stdout } = await cli(['dump', '-D', made, 'orders', `--limit=${limit}`, '--columns=o_orderkey']);
    expect(stdout.split('\n').length - 1).toBe(printed);
  });

  test('columns come in the order asked for', async () => {
    const { stdout } = await cli(['dump', '-D', made, 'orders', '--limit=1', '--columns=o_orderstatus,o_orderkey']);
    expect(stdout).toMatch(/^[A-Z],1\n$/);
  });

  test('an unknown table or column is named, with what was probably meant', async () => {
    const table = await cli(['dump', '-D', made, 'linetem']);
    expect(table).toMatchObject({ status: 1, stdout: '' });
    expect(table.stderr).toMatch(/^blockwright: error: table "linetem" does not exist\nhint: .*"lineitem"/);
    const column = await cli(['dump', '-D', made, 'orders', '--header', '--columns=o_orderky']);
    expect(column).toMatchObject({ status: 1, stdout: '' });
    expect(column.stderr).toMatch(/"o_orderky"\nhint: .*"o_orderkey"/);
  });

  test('reads only: not one byte of the directory changes', async () => {
    const before = snapshot(made);
    await cli(['dump', '-D', made, 'lineitem', '--limit=10']);
    await cli(['tables', '-D', made, '--count']);
    await cli(['controldata', made]);
    expect(snapshot(made)).toEqual(before);
  });

  test('of a relation file takes --like, and neither -D nor a table', async () => {
    const file = relationFile('8k', 'lineitem');
    expect(await cli(['dump', '--file', file])).toMatchObject({ status: 2 });
    expect(await cli(['dump', '--file', file, '--like=lineitem', '-D', made])).toMatchObject({ status: 2 });
    expect(await cli(['dump', '--file', file, '--like=lineitem', 'lineitem'])).toMatchObject({ status: 2 });
    expect(await cli(['dump', '--like=lineitem', '-D', made, 'orders'])).toMatchObject({ status: 2 });
    const missing = await cli(['dump', '--file', join(root, 'nosuch'), '--like=lineitem']);
    expect(missing).toMatchObject({ status: 1, stdout: '' });
    expect(missing.stderr).toContain('nosuch');
    const wrong = await cli(['dump', '--file', file, '--like=lineitem', '--block-size=1kB']);
    expect(wrong).toMatchObject({ status: 1, stdout: '' });
    expect(wrong.stderr).toMatch(/8192.*1024|8 ?kB.*1 ?kB/);
  });
});

/** Path of a table's file in the fixtures. */
function relationFile(size: string, table: string): string {
  const lines = readFileSync(join(FIXTURES, size, 'expect/relations.txt'), 'utf8').split('\n');
  const path = lines.map((line) => line.split(' ')).find(([name]) => name === table)?.[2];
  return join(FIXTURES, size, 'pgdata', path as string);
}

describe("PostgreSQL's files", () => {
  const sizes = ['1k', '2k', '4k', '8k', '16k', '32k'];

  test.each(sizes)('a lineitem file is dumped as it lies: %s', async (size) => {
    const { status, stdout } = await cli(['dump', '--file', relationFile(size, 'lineitem'), '--like=lineitem']);
    expect(status).toBe(0);
    const rows = readCsv(stdout);
    expect([rows.length, recordsMd5(rows)]).toEqual([3000, expected(size).get('lineitem')?.md5]);
  });

  test.each(sizes)('a data directory is dumped, its rows those that PostgreSQL saw: %s', async (size) => {
    const directory = join(FIXTURES, size, 'pgdata');
    for (const [table, { rows, md5 }] of expected(size)) {
      if (table === 'lineitem') continue; // dumped as a file above
      const { status, stdout } = await cli(['dump', '-D', directory, table]);
      expect({ table, status }).toEqual({ table, status: 0 });
      const lines = stdout.split('\n').slice(0, -1);
      const read = table === 'nocols' ? lines.map(() => []) : readCsv(stdout);
      expect([table, read.length, recordsMd5(read)]).toEqual([table, rows, md5]);
    }
  });

  test('rows whose fate a lost part of the commit log knows are refused, skipped or included as asked, and counted', async () => {
    const pgdata = fresh();
    cpSync(join(FIXTURES, '8k/pgdata'), pgdata, { recursive: true });
    rmSync(join(pgdata, 'pg_xact/0000'));
    const dump = (...flags: string[]) => cli(['dump', '-D', pgdata, 'churn', ...flags]);
    const refused = await dump();
    expect(refused.status).toBe(1);
    expect(refused.stderr).toMatch(/pg_xact\/0000/);
    const skipped = await dump('--unknown=skip');
    const included = await dump('--unknown=include');
    const number = Number(/(\d+) rows were left out whose fate/.exec(skipped.stderr)?.[1]);
    expect(number).toBeGreaterThan(0);
    expect(included.stderr).toContain(`${number} rows were printed whose fate`);
    expect(readCsv(included.stdout).length - readCsv(skipped.stdout).length).toBe(number);
  });

  test('--database names one of several, and is not for ours', async () => {
    const dump = (directory: string, database: string) => cli(['tables', '-D', directory, `--database=${database}`]);
    expect(await dump(join(FIXTURES, '8k/pgdata'), 'fix')).toMatchObject({ status: 0 });
    const unknown = await dump(join(FIXTURES, '8k/pgdata'), 'nosuch');
    expect(unknown).toMatchObject({ status: 1, stdout: '' });
    expect(unknown.stderr).toContain('"fix"');
    expect(await dump(made, 'fix')).toMatchObject({ status: 2, stdout: '' });
  });

  test.each(sizes)('the tables of a data directory are listed and counted: %s', async (size) => {
    const directory = join(FIXTURES, size, 'pgdata');
    const before = snapshot(dirname(relationFile(size, 'types')));
    const { status, stdout } = await cli(['tables', '-D', directory, '--count', '--json']);
    expect(status).toBe(0);
    const listed = new Map(JSON.parse(stdout).map((t: { name: string; rows: number }) => [t.name, t.rows]));
    for (const [table, { rows }] of expected(size)) expect([table, listed.get(table)]).toEqual([table, rows]);
    expect(snapshot(dirname(relationFile(size, 'types')))).toEqual(before);
  });
});

/** What PostgreSQL said of the tables' rows. */
function expected(size: string): Map<string, { rows: number; md5: string }> {
  const lines = readFileSync(join(FIXTURES, size, 'expect/tables.jsonl'), 'utf8')
    .trim()
    .split('\n');
  return new Map(lines.map((line) => JSON.parse(line)).map(({ table, rows, md5 }) => [table, { rows, md5 }]));
}
