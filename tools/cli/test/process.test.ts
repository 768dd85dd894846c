// The command as a process: its stub, exit statuses, pipes, signals, environment. Everything else is tested in-process.
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cli } from './fake-io.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const STUB = fileURLToPath(new URL('../bin/blockwright.js', import.meta.url));

let root: string;
let data: string;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'blockwright-process-'));
  data = join(root, 'data');
  await cli(['initdb', '-D', data]);
  await cli(['load', 'tpch', '-D', data, '--scale=0.01']);
}, 60_000);
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Ended {
  readonly status: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts the command from source. */
function start(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  const node = ['--conditions=@blockwright/source', '--import', 'tsx', MAIN, ...args];
  return spawn(process.execPath, node, { env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env } });
}

/** Waits for the end, with all that was printed. */
function ended(child: ChildProcess): Promise<Ended> {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve) => {
    child.on('close', (status, signal) => resolve({ status, signal, stdout, stderr }));
  });
}

/** Waits until the table's file is there: rows are being loaded then. */
async function loading(directory: string): Promise<void> {
  while (!existsSync(join(directory, 'base/5/16384'))) await new Promise((resolve) => setTimeout(resolve, 20));
}

test('results go to stdout, the exit status is 0', async () => {
  const { status, stdout, stderr } = await ended(
    start(['dump', 'lineitem', '--columns=l_orderkey'], { BLOCKWRIGHT_DATA: data }),
  );
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout.split('\n').length).toBe(60_175 + 1);
});

test('errors go to stderr, wrong usage is 2', async () => {
  expect(await ended(start(['dumb']))).toEqual({
    status: 2,
    signal: null,
    stdout: '',
    stderr: 'blockwright: error: unknown command "dumb"\nhint: Did you mean "dump"?\n',
  });
});

test('a reader that goes away ends the command quietly', async () => {
  const child = start(['dump', '-D', data, 'lineitem']);
  const end = ended(child);
  child.stdout?.once('data', () => child.stdout?.destroy());
  const { status, signal, stderr } = await end;
  expect({ status, signal, stderr }).toEqual({ status: 0, signal: null, stderr: '' });
});

test('a slow reader gets every row', async () => {
  const child = start(['dump', '-D', data, 'lineitem', '--columns=l_comment']);
  let lines = 0;
  child.stdout?.on('data', (chunk: Buffer) => {
    for (const byte of chunk) if (byte === 10) lines++;
    child.stdout?.pause();
    setTimeout(() => child.stdout?.resume(), 5);
  });
  const { status } = await ended(child);
  expect([status, lines]).toEqual([0, 60_175]);
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s during a load ends it with 130, and leaves a directory that opens',
  async (signal) => {
    const directory = join(root, signal);
    await cli(['initdb', '-D', directory]);
    const child = start(['load', 'tpch', '-D', directory, '--scale=5']);
    const end = ended(child);
    await loading(directory);
    child.kill(signal);
    child.kill(signal); // as npm passes it on
    const { status, signal: killedBy, stdout, stderr } = await end;
    expect({ status, killedBy, stdout }).toEqual({ status: 130, killedBy: null, stdout: '' });
    expect(stderr).toBe('blockwright: interrupted\n');
    expect(existsSync(join(directory, 'blockwright.pid'))).toBe(false);
    expect(await cli(['tables', '-D', directory])).toMatchObject({ status: 0 });
  },
);

test('a second process is kept out while a load runs, and is told the pid', async () => {
  const directory = join(root, 'locked');
  await cli(['initdb', '-D', directory]);
  const child = start(['load', 'tpch', '-D', directory, '--scale=5']);
  const end = ended(child);
  await loading(directory);
  for (const args of [['load', 'tpch', '--scale=0.001', '--tables=nation'], ['tables'], ['dump', 'lineitem']]) {
    const second = await cli([...args, '-D', directory]);
    expect({ args, status: second.status, stdout: second.stdout }).toEqual({ args, status: 1, stdout: '' });
    expect(second.stderr).toContain(String(child.pid));
  }
  child.kill('SIGINT');
  expect((await end).status).toBe(130);
});

test('a process that was killed leaves a directory that says so', async () => {
  const directory = join(root, 'killed');
  await cli(['initdb', '-D', directory]);
  const child = start(['load', 'tpch', '-D', directory, '--scale=5']);
  const end = ended(child);
  await loading(directory);
  child.kill('SIGKILL');
  await end;
  const { status, stderr } = await cli(['tables', '-D', directory]);
  expect(status).toBe(1);
  expect(stderr).toMatch(/^blockwright: error: .*not shut down cleanly\ndetail: .*\nhint: .*blockwright recover -D /);
  const recovered = await cli(['recover', '-D', directory]);
  expect(recovered).toMatchObject({ status: 0, stderr: expect.stringMatching(/^redo starts at /) });
  expect(await cli(['tables', '-D', directory])).toMatchObject({ status: 0 });
});

test('the stub runs what is built, and says what to do when nothing is', async () => {
  const alone = join(root, 'package', 'bin');
  cpSync(STUB, join(alone, 'blockwright.js'));
  const run = (path: string, ...args: string[]) => ended(spawn(process.execPath, [path, ...args]));
  const unbuilt = await run(join(alone, 'blockwright.js'), '--version');
  expect(unbuilt.status).toBe(1);
  expect(unbuilt.stderr).toMatch(/^blockwright: error: the program is not built: .*\nhint: .*npm start/);
  // As npm links it: the stub's own place is found through the link.
  const dist = join(root, 'package', 'dist');
  cpSync(fileURLToPath(new URL('stub', import.meta.url)), dist, { recursive: true });
  symlinkSync(join(alone, 'blockwright.js'), join(root, 'blockwright'));
  expect(await run(join(root, 'blockwright'), 'a', 'b')).toMatchObject({
    status: 3,
    stdout: 'ran with a b\n',
    stderr: '',
  });
});
