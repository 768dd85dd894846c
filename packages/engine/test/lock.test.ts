// Two processes and one directory: the second is refused with the first one's pid; a lock whose process is gone, or whose
// pid another process has now, is taken over.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Database, initdb } from '../src/index.ts';

const ENGINE = fileURLToPath(new URL('../src/index.ts', import.meta.url));
let home: string;
let data: string;
let lock: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'blockwright-lock-'));
  data = join(home, 'data');
  lock = join(data, 'blockwright.pid');
  initdb(data);
});
afterEach(() => rmSync(home, { recursive: true }));

/** A process that has the directory open, and says so. */
async function holder(): Promise<ChildProcess> {
  const script = `
    const { Database } = await import(${JSON.stringify(ENGINE)});
    Database.open(${JSON.stringify(data)});
    console.log('open');
    setInterval(() => {}, 1000);`;
  const child = spawn(
    process.execPath,
    ['--conditions=@blockwright/source', '--import', 'tsx', '--input-type=module', '--eval', script],
    { stdio: ['ignore', 'pipe', 'inherit'], cwd: fileURLToPath(new URL('..', import.meta.url)) },
  );
  await once(child.stdout, 'data');
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

describe('the lock', () => {
  it('refuses a second process with the pid of the first, and is taken over when that one is gone', async () => {
    const child = await holder();
    try {
      for (const readOnly of [false, true]) {
        expect(() => Database.open(data, { readOnly })).toThrow(
          expect.objectContaining({ code: 'F0001', detail: expect.stringContaining(`Process ${child.pid}`) }),
        );
      }
    } finally {
      await kill(child);
    }
    expect(existsSync(lock)).toBe(true);
    // The lock does not stand in the way any more: the directory is recovered.
    const taken = Database.open(data);
    expect(taken.recovery).toBeDefined();
    taken.close();
    expect(existsSync(lock)).toBe(false);
  });

  const ownStart = (): string =>
    process.platform === 'linux' ? (readFileSync('/proc/self/stat', 'latin1').split(') ')[1].split(' ')[19] ?? '') : '';

  it.each<[string, () => string, boolean]>([
    ['of a process that is gone', () => `999999999\n${hostname()}\n1\n`, true],
    [
      'of a pid that another process has now',
      () => `${process.ppid}\n${hostname()}\n1\n`,
      process.platform === 'linux',
    ],
    [
      'of this process, from an earlier life of its pid',
      () => `${process.pid}\n${hostname()}\n1\n`,
      process.platform === 'linux',
    ],
    ['of a living process', () => `${process.pid}\n${hostname()}\n${ownStart()}\n`, false],
    ['of another host', () => '1\nanother.host\n1\n', false],
    ['that makes no sense', () => 'hello', false],
    ['that is empty', () => '', false],
  ])('%s is taken over exactly when nobody can hold it', (_, text, takenOver) => {
    writeFileSync(lock, text());
    if (takenOver) {
      Database.open(data).close();
      expect(existsSync(lock)).toBe(false);
    } else {
      expect(() => Database.open(data)).toThrow(expect.objectContaining({ code: 'F0001' }));
      expect(readFileSync(lock, 'utf8')).toBe(text());
    }
  });
});
