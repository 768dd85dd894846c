// The pool's text, and the life of its cache file: built once, by two processes at once too, and built anew when damaged.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Progress } from '@blockwright/base';
import { afterAll, describe, expect, it } from 'vitest';
import { cacheDirectory, TextPool } from '../src/index.ts';
import { SLOW } from './support.ts';

const scratch = mkdtempSync(join(tmpdir(), 'blockwright-tpch-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const shared = join(scratch, 'shared');
const file = join(shared, 'tpch-text-pool-1.bin');
const FILE_BYTES = 314572800 + 307200;

function text(pool: TextPool, start: number, length: number): string {
  const bytes = new Uint8Array(length + 2);
  pool.read(start, length, bytes, 1);
  expect([bytes[0], bytes[length + 1]]).toEqual([0, 0]); // nothing is written beside
  return Buffer.from(bytes.subarray(1, length + 1)).toString('latin1');
}

function expectRightText(pool: TextPool): void {
  expect(text(pool, 0, 69)).toBe('furiously special foxes haggle furiously blithely ironic deposits. sl');
  expect(text(pool, 1000, 60)).toBe(' blithely: carefully express packages are slyly regular requ');
  expect(text(pool, 100000000, 60)).toBe(' haggle according to the furiously enticing accounts. silent');
  expect(text(pool, 314572800 - 60, 60)).toBe('essly bold excuses are carefully against the busy, express s');
}

/** Opens the pool in another process, which prints whether it had to be built. */
function openElsewhere(directory: string): Promise<string> {
  const source = new URL('../src/index.ts', import.meta.url).href;
  const script = `const { TextPool } = await import(${JSON.stringify(source)});
    const pool = TextPool.open({ directory: ${JSON.stringify(directory)} });
    console.log(pool.wasBuilt, String(pool.cacheError));`;
  const child = spawn(
    process.execPath,
    ['--conditions=@blockwright/source', '--import', 'tsx', '--input-type=module', '-e', script],
    { stdio: ['ignore', 'pipe', 'inherit'], cwd: new URL('..', import.meta.url) },
  );
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  return new Promise((resolve) => child.on('close', () => resolve(output.trim())));
}

describe('text pool', () => {
  it('is built, kept, and opened again', () => {
    const progress: Progress[] = [];
    const built = TextPool.open({ directory: shared, onProgress: (p) => progress.push(p) });
    expect([built.wasBuilt, built.complete, built.cacheError]).toEqual([true, true, undefined]);
    expectRightText(built);
    built.close();
    expect(progress.length).toBeGreaterThan(10);
    expect(progress.every(({ done, total }) => done >= 0 && done <= total)).toBe(true);
    expect(readdirSync(shared)).toEqual(['tpch-text-pool-1.bin']);
    const pool = TextPool.open({ directory: shared });
    try {
      expect([pool.wasBuilt, pool.complete]).toEqual([false, false]);
      expectRightText(pool);
      expect(text(pool, 4090, 10000)).toHaveLength(10000); // across pieces
      const acrossPieces = text(pool, 8190, 4100);
      pool.loadAll();
      expect([pool.wasBuilt, pool.complete]).toEqual([false, true]);
      expectRightText(pool);
      expect(text(pool, 8190, 4100)).toBe(acrossPieces);
      expect(() => pool.read(314572800 - 5, 6, new Uint8Array(6), 0)).toThrow(RangeError);
      const whole = pool.bytes.subarray(0, 314572800);
      expect(createHash('md5').update(whole).digest('hex')).toBe('0f85e3af02482a7035e80b448c795a4c');
      const firstMiB = pool.bytes.subarray(0, 1048576);
      expect(createHash('md5').update(firstMiB).digest('hex')).toBe('50ffab70e46a003eda9eb4e22452bf54');
    } finally {
      pool.close();
    }
    expect(() => pool.read(0, 1, new Uint8Array(1), 0)).toThrow(/closed/);
  }, 120_000);

  it('is built anew when the byte that is read is damaged', () => {
    overwrite(file, 100000010, 'X');
    const pool = TextPool.open({ directory: shared });
    try {
      expect(pool.wasBuilt).toBe(false);
      expect(text(pool, 100000000 - 8192, 10)).toHaveLength(10); // a piece beside it is fine
      expect(pool.wasBuilt).toBe(false);
      expectRightText(pool);
      expect(pool.wasBuilt).toBe(true);
    } finally {
      pool.close();
    }
    using again = TextPool.open({ directory: shared });
    expectRightText(again);
    expect(again.wasBuilt).toBe(false);
  }, 120_000);

  it('lies where the environment or the platform says', () => {
    expect(cacheDirectory({ BLOCKWRIGHT_CACHE: '/b', XDG_CACHE_HOME: '/x' })).toBe('/b');
    expect(cacheDirectory({ XDG_CACHE_HOME: '/x' })).toBe(join('/x', 'blockwright'));
    expect(cacheDirectory({ XDG_CACHE_HOME: 'relative' })).toBe(cacheDirectory({}));
    expect(cacheDirectory({})).toMatch(/blockwright/);
  });

  it('knows its options', () => {
    expect(() => TextPool.open({ dir: 'x' } as never)).toThrow(TypeError);
  });
});

describe.runIf(SLOW)('text pool, slowly', () => {
  it('is built anew when the file is short, or its table damaged, or found so while loading', () => {
    const damages: [() => void, boolean][] = [
      [() => truncateSync(file, FILE_BYTES - 1), true],
      [() => writeFileSync(file, 'not a pool'), true],
      [() => overwrite(file, FILE_BYTES - 4, '????'), true],
      [() => overwrite(file, 314572799, 'X'), false],
    ];
    for (const [damage, foundWhenOpened] of damages) {
      damage();
      const pool = TextPool.open({ directory: shared });
      expect(pool.wasBuilt).toBe(foundWhenOpened);
      pool.loadAll();
      expect(pool.wasBuilt).toBe(true);
      expectRightText(pool);
      pool.close();
    }
  }, 300_000);

  it('is built by two processes at once', async () => {
    const directory = join(scratch, 'contended');
    expect(await Promise.all([openElsewhere(directory), openElsewhere(directory)])).toEqual([
      'true undefined',
      'true undefined',
    ]);
    expect(readdirSync(directory)).toEqual(['tpch-text-pool-1.bin']);
    using pool = TextPool.open({ directory });
    pool.loadAll();
    expect(pool.wasBuilt).toBe(false);
    expectRightText(pool);
  }, 300_000);

  it('lives without a cache that cannot be written', () => {
    const notADirectory = join(scratch, 'occupied');
    writeFileSync(notADirectory, '');
    using pool = TextPool.open({ directory: notADirectory });
    expectRightText(pool);
    expect(pool.cacheError?.message).toMatch(/occupied/);
    using inMemory = TextPool.open({ directory: false });
    expectRightText(inMemory);
    expect(inMemory.cacheError).toBeUndefined();
  }, 300_000);

  it('removes what a killed writer left, when old', () => {
    const directory = join(scratch, 'stale');
    TextPool.open({ directory }).close();
    const path = join(directory, 'tpch-text-pool-1.bin');
    writeFileSync(`${path}.1.old.tmp`, 'x');
    utimesSync(`${path}.1.old.tmp`, new Date(0), new Date(0));
    writeFileSync(`${path}.2.new.tmp`, 'x');
    truncateSync(path, 0);
    TextPool.open({ directory }).close();
    expect(readdirSync(directory).sort()).toEqual(['tpch-text-pool-1.bin', 'tpch-text-pool-1.bin.2.new.tmp']);
  }, 300_000);
});

function overwrite(path: string, position: number, bytes: string): void {
  const handle = openSync(path, 'r+');
  writeSync(handle, bytes, position);
  closeSync(handle);
}
