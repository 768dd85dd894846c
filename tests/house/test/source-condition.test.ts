// Tests run from source: a stale dist is never tested by mistake.
import { expect, test } from 'vitest';
import { readWorkspace } from './workspace.ts';

const CONDITIONS = ['@blockwright/source', 'types', 'default'];

test('the packages resolve to their source', () => {
  expect(import.meta.resolve('@blockwright/page')).toMatch(/\/packages\/page\/src\/index\.ts$/);
  expect(import.meta.resolve('@blockwright/geometry')).toMatch(/\/packages\/geometry\/src\/index\.ts$/);
});

test('every library has the source condition first, and does not publish it', () => {
  for (const { manifest, folder } of readWorkspace()) {
    if (manifest.private || manifest.exports?.['.'] === undefined) continue;
    const published: Record<string, unknown> = {};
    for (const [path, target] of Object.entries(manifest.exports)) {
      published[path] = target;
      if (path === './package.json') continue;
      const conditions = target as Record<string, string>;
      expect([folder, path, Object.keys(conditions)]).toEqual([folder, path, CONDITIONS]);
      published[path] = { types: conditions.types, default: conditions.default };
    }
    expect([folder, manifest.publishConfig?.exports]).toEqual([folder, published]);
  }
});
