// Paths are shown, and looked up in the catalogs, below their data directory and with `/`, on Windows too.
import { expect, it } from 'vitest';
import { pathBelow } from '../src/check.ts';

it.each([
  ['/data', '/data/base/5/16384', 'base/5/16384'],
  ['C:\\pg\\data', 'C:\\pg\\data\\base\\5\\16384', 'base/5/16384'],
  ['C:\\pg\\data', 'C:\\pg\\data/base/5/16384_vm', 'base/5/16384_vm'],
  ['/data', '/database/5/16384', '/database/5/16384'],
  ['/data', '/elsewhere/16384', '/elsewhere/16384'],
])('below %s, %s is %s', (directory, path, shown) => {
  expect(pathBelow(directory, path)).toBe(shown);
});
