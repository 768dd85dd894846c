// What `npm start`, `npm test` and `scripts/new-package.mjs` decide before they run anything.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Manifest, ROOT, readJson, workspaceFolders } from './workspace.ts';

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  testResults: { status: string; assertionResults: { status: string }[] }[];
}
interface Scripts {
  mainJobArguments(args: string[]): string[];
  countTests(report: Report, exitStatus: number): { passed: number; failed: number };
  newPackage(root: string, o: { name: string; floor: number; depends?: string[]; description: string }): void;
  workspaceFolders(): string[];
}
const load = (name: string): Promise<Scripts> => import(pathToFileURL(join(ROOT, 'scripts', name)).href);
const { mainJobArguments } = await load('start.mjs');
const { countTests } = await load('test.mjs');
const { newPackage } = await load('new-package.mjs');
const setup = await load('setup.mjs');

function start(...args: string[]): { status: number | null; stderr: string; stdout: string } {
  return spawnSync(process.execPath, [join(ROOT, 'scripts/start.mjs'), ...args], { cwd: tmpdir(), encoding: 'utf8' });
}

describe('npm start', () => {
  const sizes = '--block-sizes=1kB,2kB,4kB,8kB,16kB,32kB';

  test('runs the scan benchmark at every block size, and what it is given comes last', () => {
    const scan = ['bench', 'scan'];
    const queries = '--queries=count,judged,q6,q1,keys,keysum';
    expect(mainJobArguments([])).toEqual([...scan, sizes, '--scale=0.01', queries]);
    expect(mainJobArguments(['--scale=0.1'])).toEqual([...scan, sizes, queries, '--scale=0.1']);
    expect(mainJobArguments(['--scale', '1', '--json'])).toEqual([...scan, sizes, queries, '--scale', '1', '--json']);
    expect(mainJobArguments(['--block-sizes=8kB'])).toEqual([...scan, '--scale=0.01', queries, '--block-sizes=8kB']);
    expect(mainJobArguments(['--queries=q6'])).toEqual([...scan, sizes, '--scale=0.01', '--queries=q6']);
  });

  test.each(['0.05', '', 'x', '0', '-1', '2', 'NaN', 'Infinity'])('refuses scale "%s" before it builds', (scale) => {
    const { status, stderr, stdout } = start(`--scale=${scale}`);
    expect(status).toBe(2);
    expect(stderr).toMatch(/^blockwright: error: no known answer at scale .*\nhint: .*0\.001, 0\.01, 0\.1, 1/);
    expect(stdout).toBe('');
  });

  test('refuses a scale without its number', () => {
    expect(start('--scale').status).toBe(2);
  });
});

describe('what both do first', () => {
  const setupUrl = JSON.stringify(pathToFileURL(join(ROOT, 'scripts/setup.mjs')).href);
  const inNode = (code: string) =>
    spawnSync(process.execPath, ['--input-type=module', '-e', `const s = await import(${setupUrl});\n${code}`], {
      encoding: 'utf8',
    });

  test('an old Node.js is refused, this one and later ones are not', () => {
    for (const version of ['18.20.0', '20.18.3', '8.0.0']) {
      const { status, stderr } = inNode(`s.checkNode('${version}');`);
      expect([version, status]).toEqual([version, 1]);
      expect(stderr).toMatch(/^blockwright: error: Node\.js .* is too old: 20\.19 or later is needed\nhint: /);
    }
    for (const version of ['20.19.0', '22.12.0', '24.0.0', '26.1.0', '100.0.0'])
      expect([version, inNode(`s.checkNode('${version}');`).status]).toEqual([version, 0]);
  });

  test('the exit status of what they run is kept, and its output when it is quiet and fails', () => {
    const child = JSON.stringify("console.log('what went wrong'); process.exitCode = 7");
    const run = (quiet: boolean) =>
      inNode(`process.exitCode = await s.run(process.execPath, ['-e', ${child}], { quiet: ${quiet} });`);
    expect(run(false)).toMatchObject({ status: 7, stdout: 'what went wrong\n' });
    expect(run(true)).toMatchObject({ status: 7, stdout: '', stderr: 'what went wrong\n' });
    const missing = inNode("await s.run('no-such-command', []).catch((e) => console.log(e.code));");
    expect(missing.stdout).toBe('ENOENT\n');
  });

  test.skipIf(process.platform === 'win32')('a signal goes on to what they run, and its end is awaited', async () => {
    const child = JSON.stringify(
      "process.on('SIGTERM', () => setTimeout(() => process.exit(9), 50)); setInterval(() => {}, 1000); console.log('ready')",
    );
    const code = `const s = await import(${setupUrl}); process.exitCode = await s.run(process.execPath, ['-e', ${child}]);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    parent.stdout.on('data', (data) => {
      if (String(data).includes('ready')) parent.kill('SIGTERM');
    });
    const status = await new Promise((resolve) => {
      parent.on('close', resolve);
    });
    expect(status).toBe(9);
  });
});

describe('npm test', () => {
  const file = (status: string, ...tests: string[]): Report['testResults'][number] => ({
    status,
    assertionResults: tests.map((test) => ({ status: test })),
  });
  const report = (passed: number, failed: number, ...testResults: Report['testResults']): Report => ({
    numPassedTests: passed,
    numFailedTests: failed,
    testResults,
  });

  test('counts tests, files that did not load, and an end that no test owns', () => {
    expect(countTests(report(2, 0, file('passed', 'passed', 'passed')), 0)).toEqual({ passed: 2, failed: 0 });
    expect(countTests(report(1, 1, file('failed', 'passed', 'failed')), 1)).toEqual({ passed: 1, failed: 1 });
    expect(countTests(report(1, 0, file('passed', 'passed'), file('failed')), 1)).toEqual({ passed: 1, failed: 1 });
    expect(countTests(report(1, 0, file('failed', 'passed')), 1)).toEqual({ passed: 1, failed: 1 });
    expect(countTests(report(1, 0, file('passed', 'passed')), 1)).toEqual({ passed: 1, failed: 1 });
  });

  test('knows every package', () => {
    expect(setup.workspaceFolders()).toEqual(workspaceFolders());
  });
});

describe('scripts/new-package.mjs', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'blockwright-new-'));
    const files = ['package.json', 'tsconfig.json', 'tests/house/test/house.ts', 'packages/base/package.json'];
    for (const file of [...files, 'packages/base/tsconfig.json', 'tsconfig.base.json', 'vitest.shared.ts']) {
      mkdirSync(dirname(join(directory, file)), { recursive: true });
      cpSync(join(ROOT, file), join(directory, file));
    }
    symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'), 'junction');
    newPackage(directory, { name: 'planted', floor: 2, depends: ['base'], description: 'A planted package' });
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test('makes a package of the same shape as the others', () => {
    const made = readJson<Manifest>(join(directory, 'packages/planted/package.json'));
    const model = readJson<Manifest>(join(ROOT, 'packages/geometry/package.json'));
    expect(Object.keys(made)).toEqual(Object.keys(model).filter((key) => key !== 'devDependencies'));
    for (const key of [
      'version',
      'license',
      'type',
      'sideEffects',
      'engines',
      'files',
      'exports',
      'publishConfig',
    ] as const)
      expect([key, made[key]]).toEqual([key, model[key]]);
    expect(made.dependencies).toEqual({ '@blockwright/base': 'workspace:*' });
    for (const file of ['tsconfig.json', 'test/tsconfig.json']) {
      const other = file === 'tsconfig.json' ? 'packages/geometry' : 'packages/base';
      expect(readJson(join(directory, 'packages/planted', file))).toEqual(readJson(join(ROOT, other, file)));
    }
    const vitestConfig = readFileSync(join(directory, 'packages/planted/vitest.config.ts'), 'utf8');
    expect(vitestConfig).toBe(readFileSync(join(ROOT, 'packages/base/vitest.config.ts'), 'utf8'));
  });

  test('enters it on its floor and in the build', () => {
    const house = readFileSync(join(directory, 'tests/house/test/house.ts'), 'utf8');
    expect(house).toMatch(/'packages\/wal': 2,\n {2}'packages\/planted': 2,\n/);
    const { references } = readJson<{ references: { path: string }[] }>(join(directory, 'tsconfig.json'));
    expect(references).toEqual(
      expect.arrayContaining([{ path: 'packages/planted' }, { path: 'packages/planted/test' }]),
    );
  });

  test('its test passes, and fails when the code is broken', () => {
    const vitest = (): string => {
      const args = [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run'];
      const { stdout, stderr } = spawnSync(process.execPath, args, {
        cwd: join(directory, 'packages/planted'),
        encoding: 'utf8',
        env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined },
      });
      return stdout + stderr;
    };
    expect(vitest()).toMatch(/Tests {2}1 passed/);
    const file = join(directory, 'packages/planted/src/twice.ts');
    writeFileSync(file, readFileSync(file, 'utf8').replace('n + n', 'n + 1'));
    expect(vitest()).toMatch(/Tests {2}1 failed/);
  });

  test('refuses what is no name, what exists and what cannot be depended on', () => {
    const make = (name: string, floor: number, depends: string[]) => () =>
      newPackage(directory, { name, floor, depends, description: 'Refused' });
    expect(make('No', 1, [])).toThrow(/not a package name/);
    expect(make('../x', 1, [])).toThrow(/not a package name/);
    expect(make('planted', 1, [])).toThrow(/exists/);
    expect(make('x', 1, ['nothing'])).toThrow(/no packages\/nothing/);
    expect(make('x', 12, [])).toThrow(/--floor/);
  });
});
