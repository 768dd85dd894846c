import { baseName, joinPath, parentPath } from '@blockwright/vfs';
import { expect, test } from 'vitest';

test('paths are joined and taken apart', () => {
  expect(joinPath('/data', 'base/5')).toBe('/data/base/5');
  expect(joinPath('/', 'x')).toBe('/x');
  expect(joinPath('', 'x')).toBe('x');
  expect(joinPath('C:\\data\\', 'x')).toBe('C:\\data\\x');
  expect(parentPath('/data/base/5')).toBe('/data/base');
  expect(parentPath('/x')).toBe('/');
  expect(parentPath('x')).toBe('.');
  expect(parentPath('C:\\data\\x')).toBe('C:\\data');
  expect(baseName('/data/base/5')).toBe('5');
  expect(baseName('x')).toBe('x');
  expect(baseName('C:\\data\\x')).toBe('x');
});
