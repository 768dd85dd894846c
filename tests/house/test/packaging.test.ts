// What ships is what is tested: each package packed, installed alone in an empty project, imported from plain Node.js,
// type-checked, its README's examples run and what they print compared with what the README shows.
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { PACKAGES_WITHOUT_NODE } from './house.ts';
import {
  closureOf,
  emptyProject,
  entryPoints,
  examplesOf,
  linkDependencies,
  type Packed,
  packAll,
  runExample,
  runProgram,
  tarballFaults,
  typeFaults,
  unpack,
} from './packaging.ts';
import { tool } from './tools.ts';
import { readWorkspace } from './workspace.ts';

const publishable = readWorkspace().filter((p) => p.manifest.private !== true);
const temp = realpathSync(mkdtempSync(join(tmpdir(), 'blockwright-packaging-')));
afterAll(() => rmSync(temp, { recursive: true, force: true }));

const built = tool('tsc', ['-b', ...publishable.map(({ folder }) => folder)]);
const packed = packAll(publishable, temp);
linkDependencies(packed);
const libraries = packed.filter((p) => entryPoints(p).length > 0);
const importAll = (entries: readonly string[]): string =>
  `for (const entry of ${JSON.stringify(entries)}) if (Object.keys(await import(entry)).length === 0) throw new Error(entry);`;

test('what is packed is built', () => {
  expect(built).toEqual({ status: 0, output: '' });
  expect(packed.length).toBeGreaterThan(15);
});

describe.each(packed.map((p) => [p.name, p] as const))('%s', (name, p) => {
  const runsWithoutNode = PACKAGES_WITHOUT_NODE.includes(p.folder);
  const project = emptyProject(join(temp, 'alone', name), [p], false);

  test('the tarball is complete and well formed', async () => {
    expect(await tarballFaults(p)).toEqual([]);
  });

  test.runIf(entryPoints(p).length > 0)('alone in an empty project it is imported by plain Node.js', () => {
    runProgram(process.execPath, ['--input-type=module', '-e', importAll(entryPoints(p))], project);
  });

  test.runIf(entryPoints(p).length > 0)('its types check alone', () => {
    if (runsWithoutNode) expect(typeFaults(project, entryPoints(p), [])).toBe('');
    const withNode = emptyProject(join(temp, 'with-node-types', name), [p], true);
    expect(typeFaults(withNode, entryPoints(p), ['node'])).toBe('');
  });

  test("its README's examples print what the README shows", () => {
    const examples = examplesOf(readFileSync(join(p.directory, 'README.md'), 'utf8'));
    // The command is shown by what one types; a library by a module that imports it.
    if (p.manifest.bin === undefined)
      expect(examples.some(({ code }) => new RegExp(`'${name}['/]`).test(code))).toBe(true);
    // npm installs what a package needs beside it, and an example may import that too.
    const needed = closureOf(p, packed);
    for (const [i, example] of examples.entries()) {
      const imported = needed.filter((q) => q === p || new RegExp(`'${q.name}['/]`).test(example.code));
      const directory = emptyProject(join(temp, 'example', name, String(i)), imported, false);
      expect(runExample(directory, example).trimEnd()).toBe(example.shown?.trimEnd());
    }
  });
});

describe('all of them together', () => {
  const entries = libraries.flatMap(entryPoints);

  test.each([
    ['tsc', 'bundler'],
    ['tsc6', 'nodenext'],
  ] as const)('their types check with %s and module resolution %s', (compiler, resolution) => {
    const project = emptyProject(join(temp, `together-${compiler}`), libraries, true);
    expect(typeFaults(project, entries, ['node'], compiler, resolution)).toBe('');
  });

  test('npm installs them into an empty project', () => {
    const project = join(temp, 'npm');
    // Without the registry: those that need nothing but each other.
    const names = new Set(packed.map((p) => p.name));
    const needs = (p: Packed): string[] => Object.keys(p.manifest.dependencies ?? {});
    let closed = libraries;
    const isClosed = (p: Packed): boolean =>
      needs(p).every((name) => names.has(name) && closed.some((q) => q.name === name));
    while (!closed.every(isClosed)) closed = closed.filter(isClosed);
    expect(closed.length).toBeGreaterThan(10);
    mkdirSync(project, { recursive: true });
    const dependencies = Object.fromEntries(closed.map((p) => [p.name, `file:${p.tarball}`]));
    const manifest = { name: 'empty', private: true, type: 'module', dependencies };
    writeFileSync(join(project, 'package.json'), JSON.stringify(manifest));
    runProgram('npm', ['install', '--offline', '--no-audit', '--no-fund', '--loglevel=error'], project);
    expect(readdirSync(join(project, 'node_modules', '@blockwright')).length).toBe(closed.length);
    const code = importAll(closed.flatMap(entryPoints));
    runProgram(process.execPath, ['--input-type=module', '-e', code], project);
  });
});

describe('canaries: each planted fault of a package is found', () => {
  const source = packed.find((p) => p.name === '@blockwright/geometry') as Packed;

  /** A copy of a package, changed by `plant` and packed again. */
  function planted(name: string, plant: (directory: string) => void): Packed {
    const at = join(temp, 'canary', name);
    cpSync(source.directory, join(at, 'package'), { recursive: true });
    plant(join(at, 'package'));
    const tarball = join(at, 'planted.tgz');
    runProgram('tar', ['-czf', tarball, '-C', at, 'package'], at);
    const p = unpack(source.name, tarball, join(at, 'store'), source.folder);
    linkDependencies([p, ...packed.filter((q) => q.name !== source.name && q.name !== p.name).map(unlinked)]);
    return p;
  }
  const unlinked = (p: Packed): Packed => ({ ...p, manifest: { ...p.manifest, dependencies: {} } });
  const edit = (file: string, change: (text: string) => string): void =>
    writeFileSync(file, change(readFileSync(file, 'utf8')));

  test('a package without a planted fault has none', async () => {
    expect(await tarballFaults(planted('nothing', () => {}))).toEqual([]);
  });

  test.each([
    ['a missing LICENSE', 'LICENSE', /no LICENSE/],
    ['a missing README', 'README.md', /no README\.md/],
    ['a missing module', 'dist/index.js', /publint: .*dist\/index\.js/],
    ['missing types', 'dist/index.d.ts', /publint|attw/],
  ])('%s', async (what, file, fault) => {
    const p = planted(what, (directory) => rmSync(join(directory, file), { force: true }));
    expect(await tarballFaults(p)).toContainEqual(expect.stringMatching(fault));
  });

  test('a source condition that ships, and a version that is still the workspace', async () => {
    const p = planted('condition', (directory) =>
      edit(join(directory, 'package.json'), (text) =>
        text
          .replace('"types"', '"@blockwright/source": "./src/index.ts",\n      "types"')
          .replace('"@blockwright/base": "0.1.0"', '"@blockwright/base": "workspace:*"'),
      ),
    );
    const faults = await tarballFaults(p);
    expect(faults).toContain('package.json still has the source condition');
    expect(faults).toContain('package.json still says workspace:');
  });

  test('an import that no dependency declares', () => {
    const p = planted('undeclared', (directory) =>
      edit(join(directory, 'dist/index.js'), (text) => `import 'eslint';\n${text}`),
    );
    const project = emptyProject(join(temp, 'canary', 'undeclared', 'project'), [p], false);
    const load = (): string =>
      runProgram(process.execPath, ['--input-type=module', '-e', importAll([p.name])], project);
    expect(load).toThrow(/ERR_MODULE_NOT_FOUND[\s\S]*eslint|eslint[\s\S]*ERR_MODULE_NOT_FOUND/);
  });

  test('types of Node.js in a package that runs without it', () => {
    const p = planted('node-types', (directory) =>
      edit(join(directory, 'dist/index.d.ts'), (text) => `${text}\nexport declare const planted: Buffer;\n`),
    );
    const project = emptyProject(join(temp, 'canary', 'node-types', 'project'), [p], false);
    expect(typeFaults(project, [p.name], [])).toMatch(/Buffer/);
  });

  test('an example that prints something else', () => {
    const readme = "# x\n\n```js\nconsole.log('a');\n```\n\nIt prints:\n\n```text\nb\n```\n\n```js\nfail();\n```\n";
    const examples = examplesOf(readme);
    expect(examples.map(({ shown }) => shown)).toEqual(['b\n', undefined]);
    const project = emptyProject(join(temp, 'canary', 'example'), [], false);
    expect(runExample(project, { code: "console.log('a');", shown: 'b' })).toBe('a\n');
    expect(() => runExample(project, { code: 'fail();', shown: undefined })).toThrow(/fail is not defined/);
  });
});
