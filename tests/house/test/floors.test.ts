// A package imports only packages on lower floors, in sources and tests alike, and says so in the same way three times:
// in package.json, in its tsconfig references, and in its imports.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { floorFaults } from './floors.ts';
import { FLOORS, makesAddresses, PACKAGES_THAT_DIVIDE, PACKAGES_WITHOUT_NODE } from './house.ts';
import { filesBelow, importsOf, type Manifest, ROOT, readJson, readWorkspace, workspaceFolders } from './workspace.ts';

const workspace = readWorkspace();
const root = readJson<Manifest>(join(ROOT, 'package.json'));
const rootDependencies = Object.keys(root.devDependencies ?? {});

test('every package stands on a floor, and every floor is inhabited', () => {
  expect(workspaceFolders()).toEqual(Object.keys(FLOORS).sort());
});

test('all modules are read', () => {
  const read = workspace.flatMap((p) => [...p.sources, ...p.tests]).map((module) => module.file);
  const tops = ['packages', 'benchmarks', 'tools', 'tests'];
  const all = tops.flatMap((top) => filesBelow(top, (file) => /\/(?:src|test|bin)\/.*\.(?:ts|mts|js|mjs)$/.test(file)));
  expect(read.sort()).toEqual(all.sort());
  expect(read.length).toBeGreaterThan(100);
  expect(workspace.flatMap((p) => p.sources).flatMap((module) => module.imports).length).toBeGreaterThan(200);
});

test('a package imports only lower floors', () => {
  expect(floorFaults(workspace, rootDependencies)).toEqual([]);
});

test('the root tsconfig builds every package and every folder of tests', () => {
  const { references } = readJson<{ references: { path: string }[] }>(join(ROOT, 'tsconfig.json'));
  const expected = filesBelow('.', (file) => /^(?:packages|benchmarks|tools|tests)\/.*\/tsconfig\.json$/.test(file));
  expect(references.map(({ path }) => `${path}/tsconfig.json`).sort()).toEqual(expected);
});

test('the exempt packages exist and lie on the floors they are exempt on', () => {
  for (const folder of [...PACKAGES_THAT_DIVIDE, ...PACKAGES_WITHOUT_NODE])
    expect([folder, makesAddresses(folder)]).toEqual([folder, true]);
});

describe('canaries: each planted fault is found', () => {
  const page = workspace.find((p) => p.folder === 'packages/page');
  if (page === undefined) throw new Error('packages/page is gone');
  const faultsWith = (change: Partial<typeof page>): string[] =>
    floorFaults(
      workspace.map((p) => (p === page ? { ...p, ...change } : p)),
      rootDependencies,
    );
  const planted = (text: string): { file: string; imports: string[] }[] => {
    const file = 'packages/page/src/canary.ts';
    return [...page.sources, { file, imports: importsOf(file, text) }];
  };

  test.each([
    ['an import upward', "import { Heap } from '@blockwright/heap';", /heap, which is not on a lower floor/],
    ['a type import upward', "import type { Heap } from '@blockwright/heap';", /heap, which is not on a lower floor/],
    ['an import type upward', "export type H = import('@blockwright/heap').Heap;", /not on a lower floor/],
    ['a dynamic import upward', "export const h = await import('@blockwright/heap');", /not on a lower floor/],
    ['a re-export upward', "export * from '@blockwright/heap';", /not on a lower floor/],
    ['an import sideways', "import { text } from '@blockwright/tuple';", /tuple, which is not on a lower floor/],
    ['a file of another package', "import { x } from '../../base/src/words.ts';", /a file of another package/],
    ['a tool of the root', "import fc from 'fast-check';", /fast-check, no dependency/],
    ['a module of Node.js', "import fs from 'node:fs';", /runs without Node\.js/],
    ['a module of Node.js without its prefix', "import fs from 'fs';", /without "node:"/],
  ])('%s', (_name, text, fault) => {
    expect(faultsWith({ sources: planted(text) })).toContainEqual(expect.stringMatching(fault));
  });

  test('a dependency without a reference, and a reference without a dependency', () => {
    expect(faultsWith({ references: [] })).toContainEqual(expect.stringMatching(/page: tsconfig.json refers to \[\]/));
    const references = [...page.references, 'packages/vfs'];
    expect(faultsWith({ references })).toContainEqual(expect.stringMatching(/page: tsconfig.json refers to/));
  });

  test('a development dependency upward', () => {
    const manifest = { ...page.manifest, devDependencies: { '@blockwright/engine': 'workspace:*' } };
    expect(faultsWith({ manifest })).toContainEqual(expect.stringMatching(/depends on packages\/engine/));
  });

  test('a package on no floor', () => {
    expect(faultsWith({ floor: Number.NaN })).toContainEqual(expect.stringMatching(/stands on no floor/));
  });
});
