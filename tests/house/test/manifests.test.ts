// Every package.json has the same shape: one version for all, no install scripts, the same engines, named files.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tool } from './tools.ts';
import { type Manifest, ROOT, readJson, readWorkspace } from './workspace.ts';

const root = readJson<Manifest & { packageManager: string }>(join(ROOT, 'package.json'));
const workspace = readWorkspace();
const names = new Set(workspace.map((p) => p.manifest.name));
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'preprepare', 'prepare', 'postprepare', 'prepublish'];

/** What is wrong with a manifest, one sentence each. */
function manifestFaults(manifest: Manifest): string[] {
  const faults: string[] = [];
  const rule = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(`${manifest.name}: ${fault}`);
  };
  rule(manifest.version === root.version, `version is not ${root.version}`);
  rule(manifest.license === 'Apache-2.0', 'license is not Apache-2.0');
  rule(manifest.type === 'module', 'type is not module');
  rule(manifest.sideEffects === false, 'sideEffects is not false');
  rule(manifest.engines?.node === root.engines?.node, 'engines differ from the root');
  rule((manifest.description ?? '').length > 10, 'no description');
  rule(!INSTALL_SCRIPTS.some((script) => script in (manifest.scripts ?? {})), 'an install script');
  for (const [name, range] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
    if (names.has(name)) rule(range === 'workspace:*', `${name} is not workspace:*`);
    else rule(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(range), `${name} is not pinned to one version`);
  }
  if (manifest.private === true) return faults;
  rule(manifest.publishConfig?.access === 'public', 'publishConfig.access is not public');
  rule(manifest.files?.includes('dist') === true && manifest.files.includes('src'), 'files lacks dist or src');
  rule(manifest.files?.includes('!**/*.tsbuildinfo*') === true, 'files lets .tsbuildinfo through');
  rule(manifest.exports?.['./package.json'] === './package.json', 'package.json is not exported');
  rule(/^@blockwright\/[a-z-]+$|^blockwright$/.test(manifest.name), 'a name outside the scope');
  return faults;
}

test('every manifest has the shape of the house', () => {
  expect(workspace.flatMap((p) => manifestFaults(p.manifest))).toEqual([]);
});

test.each<[string, Partial<Manifest>]>([
  ['another version', { version: '0.0.9' }],
  ['side effects', { sideEffects: true }],
  ['an install script', { scripts: { postinstall: 'node x.js' } }],
  ['a range', { dependencies: { commander: '^14.0.0' } }],
  ['a version of a neighbour', { dependencies: { '@blockwright/base': '0.1.0' } }],
  ['no files', { files: undefined }],
])('canary: %s', (_what, planted) => {
  const page = workspace.find((p) => p.manifest.name === '@blockwright/page');
  expect(manifestFaults({ ...(page?.manifest as Manifest), ...planted }).length).toBeGreaterThan(0);
});

test('test folders and tests/* are private, all others are published', () => {
  for (const p of workspace)
    expect([p.folder, p.manifest.private === true]).toEqual([
      p.folder,
      p.folder.startsWith('tests/') || p.folder === 'tools/lint',
    ]);
});

test("the command's stub is committed and named in bin", () => {
  const cli = workspace.find((p) => p.folder === 'tools/cli');
  for (const file of Object.values(cli?.manifest.bin ?? {})) {
    const path = join(ROOT, 'tools/cli', file);
    expect(existsSync(path)).toBe(true);
    expect(readFileSync(path, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
  }
  expect(Object.keys(cli?.manifest.bin ?? {})).toEqual(['blockwright']);
});

test('the pinned pnpm is the one among the tools', () => {
  const { version } = readJson<Manifest>(join(ROOT, 'node_modules/pnpm/package.json'));
  expect(root.packageManager).toMatch(new RegExp(`^pnpm@${version.replaceAll('.', '\\.')}\\+sha512\\.[0-9a-f]{128}$`));
});

test('all packages are released in lockstep', () => {
  const config = readJson<{ fixed: string[][]; access: string }>(join(ROOT, '.changeset/config.json'));
  const published = workspace.filter((p) => p.manifest.private !== true).map((p) => p.manifest.name);
  const [group = []] = config.fixed;
  const inGroup = (name: string): boolean =>
    group.some((pattern) => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern));
  expect(published.filter((name) => !inGroup(name))).toEqual([]);
  expect(config.access).toBe('public');
  expect(tool('changeset', ['--help']).output).toMatch(/changeset/);
});
