// Directories that were not shut down: what writes recovers them and says so, what reads refuses, `recover` tells more.
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database, initdb, table } from '@blockwright/engine';
import { int4 } from '@blockwright/tuple';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cli } from './fake-io.ts';

let root: string;
/** A directory as a crash left it. */
let crashed: string;
let counter = 0;

const numbers = table('numbers', { n: int4(), square: int4() }, { fillfactor: 80 });

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'blockwright-recover-'));
  const live = join(root, 'live');
  initdb(live, { blockSize: '4kB', walSegmentSize: '1MB' });
  const db = Database.open(live);
  try {
    db.createTable(numbers);
    const tids: { block: number; offset: number }[] = [];
    db.insert(
      numbers,
      Array.from({ length: 500 }, (_, n) => ({ n, square: 0 })),
      { tids },
    );
    db.transaction((tx) => {
      tids.forEach(({ block, offset }, n) => tx.update(numbers, block, offset, { square: n * n }));
    });
    crashed = join(root, 'crashed');
    cpSync(live, crashed, { recursive: true });
    rmSync(join(crashed, 'blockwright.pid'));
  } finally {
    db.close();
  }
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function copy(): string {
  const directory = join(root, `copy${counter++}`);
  cpSync(crashed, directory, { recursive: true });
  return directory;
}

function digests(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .map((entry) => [join(entry.parentPath, entry.name), entry.isFile()] as const)
    .map(([path, isFile]) => `${path} ${isFile ? createHash('md5').update(readFileSync(path)).digest('hex') : ''}`);
}

const REDO = new RegExp(
  [
    '^redo starts at 0/1[0-9A-F]+',
    'redo done at 0/1[0-9A-F]+ system usage: CPU: user: [0-9.]+ s, system: [0-9.]+ s, elapsed: [0-9.]+ s',
    '(.*\n)*checkpoint complete \\(end-of-recovery\\): .*',
  ].join('\n'),
);

test('recover replays, says what PostgreSQL says, and leaves a directory that was shut down', async () => {
  const directory = copy();
  const { status, stdout, stderr } = await cli(['recover', '-D', directory]);
  expect(status).toBe(0);
  expect(stderr).toMatch(REDO);
  expect(stdout).toMatch(/^recovered .*: [0-9,]+ records, [0-9]+ kB, in .*; checkpoint in .*\n$/);
  const dump = await cli(['dump', '-D', directory, 'numbers']);
  expect(dump.stdout.trim().split('\n').sort()).toEqual(Array.from({ length: 500 }, (_, n) => `${n},${n * n}`).sort());
  expect(JSON.parse((await cli(['controldata', directory, '--json'])).stdout).state).toBe('shut down');
  const again = await cli(['recover', directory]);
  expect(again).toMatchObject({ status: 0, stderr: '', stdout: expect.stringContaining('nothing to recover') });
});

test('recover --verbose prints records by kind, and where the time went', async () => {
  const { status, stdout } = await cli(['recover', '-D', copy(), '--verbose', '--compaction=sort']);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^Heap\/HOT_UPDATE +[0-9,]+ +.*$/m);
  expect(stdout).toMatch(/^Transaction\/COMMIT +[0-9]+ +.*$/m);
  expect(stdout).toMatch(/^total +[0-9,]+ +.*$/m);
  for (const what of ['page compaction', 'buffer look-up and reading', 'opening files']) {
    expect(stdout).toMatch(new RegExp(`^${what}: [0-9.]+ s, [0-9]+ % of redo$`, 'm'));
  }
});

test('recover --json prints the report, positions as text', async () => {
  const { status, stdout, stderr } = await cli(['recover', '-D', copy(), '--json', '--quiet']);
  expect([status, stderr]).toEqual([0, '']);
  const report = JSON.parse(stdout);
  expect(report).toMatchObject({
    recovered: true,
    redoStart: expect.stringMatching(/^0\/1[0-9A-F]+$/),
    checkpoint: { kind: 'end-of-recovery', redo: expect.stringMatching(/^0\/1[0-9A-F]+$/) },
  });
  expect(report.records).toBeGreaterThan(1000);
  expect(report.shares.compactionSeconds).toBeGreaterThanOrEqual(0);
});

test('what only reads is refused with the hint, and changes nothing', async () => {
  const directory = copy();
  const before = digests(directory);
  for (const args of [['tables'], ['dump', 'numbers']]) {
    const { status, stdout, stderr } = await cli([...args, '-D', directory]);
    expect({ args, status, stdout }).toEqual({ args, status: 1, stdout: '' });
    expect(stderr).toMatch(/was not shut down cleanly\ndetail: .*in production.*\nhint: .*blockwright recover -D /);
  }
  expect(digests(directory)).toEqual(before);
});

test('what writes recovers first', async () => {
  const directory = copy();
  const { status, stderr } = await cli(['load', 'tpch', '-D', directory, '--scale=0.001', '--tables=nation']);
  expect(status).toBe(0);
  expect(stderr).toMatch(REDO);
  const listed = JSON.parse((await cli(['tables', '-D', directory, '--count', '--json'])).stdout);
  expect(listed.map(({ name, rows }: { name: string; rows: number }) => [name, rows])).toEqual([
    ['nation', 25],
    ['numbers', 500],
  ]);
});
