// `check`: clean fixtures, planted damage, exit statuses. What each fault of a page is called is tested with the checker.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Finding } from '@blockwright/base';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli } from './fake-io.ts';

const FIXTURES = fileURLToPath(new URL('../../../fixtures/pg/', import.meta.url));
const SIZES = ['1k', '2k', '4k', '8k', '16k', '32k'];

let root: string;
let ours: string;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'blockwright-check-'));
  ours = join(root, 'ours');
  await cli(['initdb', '-D', ours, '--block-size=2kB']);
  await cli(['load', 'tpch', '-D', ours, '--scale=0.001', '--tables=orders,nation']);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A copy of a fixture's directory, to be damaged. */
function copy(size = '8k'): string {
  const directory = mkdtempSync(join(root, 'case-'));
  cpSync(join(FIXTURES, size, 'pgdata'), directory, { recursive: true });
  return directory;
}

function pathOf(size: string, table: string): string {
  const lines = readFileSync(join(FIXTURES, size, 'expect/relations.txt'), 'utf8').split('\n');
  return lines.map((line) => line.split(' ')).find(([name]) => name === table)?.[2] as string;
}

function change(path: string, edit: (bytes: Buffer) => void): void {
  const bytes = readFileSync(path);
  edit(bytes);
  writeFileSync(path, bytes);
}

const flipAt = (at: number) => (bytes: Buffer) => {
  bytes[at] = (bytes[at] as number) ^ 0x10;
};

describe.each(SIZES)("a PostgreSQL's directory at %s", (size) => {
  test('has no fault, and every page of every file is counted', async () => {
    const directory = join(FIXTURES, size, 'pgdata');
    const { status, stdout, stderr } = await cli(['check', directory, '--json']);
    const { paths, errors, warnings } = JSON.parse(stdout);
    expect({ status, stderr, errors, warnings, findings: paths[0].findings }).toEqual({
      status: 0,
      stderr: '',
      errors: 0,
      warnings: 0,
      findings: [],
    });
    const blockSize = Number.parseInt(size, 10) * 1024;
    expect(paths[0]).toMatchObject({ kind: 'postgresql', blockSize, dataChecksums: true });
    const relations = /^(global|base\/\d+)\/\d+(_fsm|_vm|_init)?(\.\d+)?$/;
    const onDisk = readdirSync(directory, { recursive: true }).filter((path) => relations.test(path as string));
    const counted = new Map(paths[0].files.map((file: { file: string; pages: number }) => [file.file, file.pages]));
    expect([...counted.keys()].sort()).toEqual([...onDisk].sort());
    for (const path of onDisk as string[]) {
      expect([path, counted.get(path)]).toEqual([path, statSync(join(directory, path)).size / blockSize]);
    }
  });
});

describe('text', () => {
  test('a line a file and a sentence, in 80 columns', async () => {
    const { status, stdout } = await cli(['check', ours]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^file +kind +pages +checksums +items +tuples +map bits +found\n─+\nbase\/5\//);
    expect(stdout).toMatch(
      /ours: \d+ files, .* tuples,\s+\d+\s+HOT\s+chains?,\s+\d+\s+index\s+tuples,\s+\d+\s+map\s+bits\s+verified,\s+[\d,]+\s+tuples\s+against\s+the\s+commit\s+log,\s+\d+\s+index\s+entries\s+against\s+their\s+rows:\s+no\s+fault\s+found\.\n$/s,
    );
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(Math.max(80, root.length + 40));
  });

  test('a finding is one line on stdout with its place and code; the status is 3', async () => {
    const directory = copy();
    change(join(directory, pathOf('8k', 'churn')), flipAt(8192 * 3 + 5000));
    const { status, stdout, stderr } = await cli(['check', directory]);
    expect({ status, stderr }).toEqual({ status: 3, stderr: '' });
    const findings = stdout.split('\n').filter((line) => line.startsWith('error: '));
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatch(/^error: base\/16384\/16462, block 3, byte 8: .*checksum.* \[[a-z_.]+\]$/);
    expect(stdout).toMatch(/base\/16384\/16462 +heap .* 1\n/);
    expect(stdout).toMatch(/: 1\s+error\.\n {2}--files lists the others too\.\n$/);
  });

  test('of many files those with findings are listed, and all with --files', async () => {
    const directory = copy();
    const lines = async (...flags: string[]): Promise<string[]> =>
      (await cli(['check', directory, ...flags])).stdout.split('\n').filter((line) => /^(base|global)\//.test(line));
    expect(await lines()).toEqual([]);
    expect((await cli(['check', directory])).stdout).toMatch(/: no\s+fault\s+found\.\n {2}--files lists them\.\n$/);
    const all = await lines('--files');
    expect(all.length).toBeGreaterThan(50);
    change(join(directory, pathOf('8k', 'churn')), flipAt(8192 * 3 + 5000));
    expect(await lines()).toEqual([expect.stringMatching(/^base\/16384\/16462 .* 1$/)]);
    expect(await lines('--files')).toHaveLength(all.length);
  });

  test('colours on a terminal alone', async () => {
    expect((await cli(['check', ours], { terminal: 80 })).stdout).toContain('\u001b[1m');
    expect((await cli(['check', ours])).stdout).not.toContain('\u001b');
  });
});

test('of one bad file among many good ones, the bad one decides', async () => {
  const directory = copy();
  change(join(directory, pathOf('8k', 'types')), flipAt(100));
  const relation = (table: string) => join(FIXTURES, '8k/pgdata', pathOf('8k', table));
  const { status, stdout } = await cli(['check', relation('churn'), directory, relation('vacuumed'), '--json']);
  expect(status).toBe(3);
  expect(JSON.parse(stdout).paths.map((one: { errors: number }) => one.errors > 0)).toEqual([false, true, false]);
});

test('a path that cannot be checked is told, the others are checked, and the status is 1, or 3 with damage', async () => {
  const good = join(FIXTURES, '8k/pgdata', pathOf('8k', 'types'));
  const missing = join(root, 'nosuch');
  const { status, stdout, stderr } = await cli(['check', missing, good]);
  expect(status).toBe(1);
  expect(stderr).toMatch(/^blockwright: error: .*nosuch/);
  expect(stdout).toMatch(/no\s+fault\s+found/);
  const bad = copy();
  change(join(bad, pathOf('8k', 'types')), flipAt(100));
  const both = await cli(['check', missing, join(bad, pathOf('8k', 'types')), '--json']);
  expect(both.status).toBe(3);
  expect(JSON.parse(both.stdout).paths[0]).toMatchObject({ path: missing, failure: { code: '58P01' } });
});

describe('damage to', () => {
  const cases: [string, (directory: string) => void, string][] = [
    [
      'two blocks that were swapped',
      (directory) =>
        change(join(directory, pathOf('8k', 'churn')), (bytes) => {
          const second = Buffer.from(bytes.subarray(8192 * 2, 8192 * 3));
          bytes.copyWithin(8192 * 2, 8192 * 5, 8192 * 6);
          second.copy(bytes, 8192 * 5);
        }),
      'block 5',
    ],
    [
      'a file whose size is no multiple of the block',
      (d) => truncateSync(join(d, pathOf('8k', 'churn')), 8192 * 2 + 77),
      '77',
    ],
    [
      'pd_upper set to 0',
      (d) => change(join(d, pathOf('8k', 'churn')), (bytes) => bytes.writeUInt16LE(0, 8192 + 14)),
      'block 1',
    ],
    [
      'a block of random bytes',
      (d) => change(join(d, pathOf('8k', 'churn')), (bytes) => bytes.fill(0xc3, 8192, 16384)),
      'block 1',
    ],
    ['a visibility map', (d) => change(`${join(d, pathOf('8k', 'vacuumed'))}_vm`, flipAt(40)), '_vm'],
    ['a B-tree page', (d) => change(join(d, pathOf('8k', 'churn_pkey')), flipAt(8192 * 2 + 4000)), 'block 2'],
  ];
  test.each(cases)('%s is found', async (_what, damage, said) => {
    const directory = copy();
    damage(directory);
    const { status, stdout } = await cli(['check', directory, '--json']);
    expect(status).toBe(3);
    const findings: Finding[] = JSON.parse(stdout).paths[0].findings;
    expect(findings.length).toBeGreaterThan(0);
    for (const { code, severity } of findings) {
      expect(code).toMatch(/^[a-z0-9_]+(\.[a-z0-9_]+)+$/);
      expect(['error', 'warning', 'info']).toContain(severity);
    }
    const text = (await cli(['check', directory])).stdout;
    expect(text).toContain(said);
  });

  test('the control file stops the check of its directory: the block size is never guessed', async () => {
    const directory = copy();
    change(join(directory, 'global/pg_control'), flipAt(217));
    const { status, stdout, stderr } = await cli(['check', directory]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^blockwright: error: .*pg_control/);
  });
});

describe.skipIf(process.platform === 'win32')('a pipe', () => {
  const pipe = (path: string): string => {
    rmSync(path, { force: true });
    execFileSync('mkfifo', [path]);
    return path;
  };

  test('by itself is refused at once, whatever command reads it', async () => {
    const path = pipe(join(root, 'pipe'));
    for (const command of ['check', 'inspect'])
      expect(await cli([command, path])).toEqual({
        status: 1,
        stdout: '',
        stderr: expect.stringMatching(
          /^blockwright: error: .*pipe": it is a pipe, socket or device\nhint: .*regular file/,
        ),
      });
  });

  test('in place of a control file stops the check, in place of a catalog or of a table it is a finding', async () => {
    const control = copy();
    pipe(join(control, 'global/pg_control'));
    expect(await cli(['check', control])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/pg_control.*pipe/),
    });
    const directory = copy();
    pipe(join(directory, 'base/16384/pg_filenode.map'));
    pipe(join(directory, 'base/16384/1259'));
    pipe(join(directory, pathOf('8k', 'churn')));
    const { status, stdout } = await cli(['check', directory]);
    expect(status).toBe(3);
    expect(stdout).toMatch(/base\/16384\/16462: .*pipe.*\[file\.not_regular\]/);
    expect(stdout).toMatch(/pipe.*\[catalog\.unreadable\]/);
  });
});

test('a reader that goes away after the first finding does not make damage undone', async () => {
  const directory = copy();
  change(join(directory, pathOf('8k', 'types')), flipAt(100));
  let taken = '';
  const stdout = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (taken !== '') return done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
      taken = chunk.toString();
      done();
    },
  });
  expect(await cli(['check', directory], { stdout })).toMatchObject({ status: 3, stderr: '' });
  expect(taken).toMatch(/^error: /);
});

test('nothing is written', async () => {
  const path = join(ours, 'base/5');
  const before = readdirSync(path).map((name) => [name, statSync(join(path, name)).mtimeMs]);
  await cli(['check', ours]);
  expect(readdirSync(path).map((name) => [name, statSync(join(path, name)).mtimeMs])).toEqual(before);
});

test('without a path, BLOCKWRIGHT_DATA or -D names the directory', async () => {
  expect(await cli(['check'], { env: { BLOCKWRIGHT_DATA: ours } })).toMatchObject({ status: 0 });
  expect(await cli(['check', '-D', ours])).toMatchObject({ status: 0 });
  expect(await cli(['check'])).toMatchObject({ status: 2 });
});

test('a block size that is not the file’s is refused with both', async () => {
  const { status, stderr } = await cli([
    'check',
    join(FIXTURES, '8k/pgdata', pathOf('8k', 'types')),
    '--block-size=1kB',
  ]);
  expect(status).toBe(1);
  expect(stderr).toMatch(/8192.*1024/);
});

test('Ctrl-C ends it with status 130', async () => {
  const signal = AbortSignal.abort();
  expect(await cli(['check', ours], { signal })).toMatchObject({ status: 130, stderr: 'blockwright: interrupted\n' });
});
