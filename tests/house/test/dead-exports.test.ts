// No export, file or dependency is dead, and a dead one is found.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { tool } from './tools.ts';
import { ROOT } from './workspace.ts';

function deadCode(directory: string): string {
  const { status, output } = tool('knip', ['--no-progress', '--no-config-hints', '--directory', directory]);
  return status === 0 ? '' : output || `knip ended with status ${status}`;
}

test('nothing is dead', () => {
  expect(deadCode(ROOT)).toBe('');
});

test('canary: a dead export, a dead file and an unused dependency are found', () => {
  const directory = mkdtempSync(join(tmpdir(), 'blockwright-knip-'));
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    writeFileSync(join(directory, file), text);
  };
  try {
    cpSync(join(ROOT, 'knip.json'), join(directory, 'knip.json'));
    cpSync(join(ROOT, 'pnpm-workspace.yaml'), join(directory, 'pnpm-workspace.yaml'));
    write('package.json', '{ "name": "planted-root", "private": true, "type": "module" }');
    const manifest = { name: 'planted', type: 'module', exports: './src/index.ts', dependencies: {} };
    write('packages/planted/package.json', JSON.stringify(manifest));
    write('packages/planted/src/index.ts', "export { used } from './a.ts';\n");
    write('packages/planted/src/a.ts', 'export const used = 1;\n');
    expect(deadCode(directory)).toBe('');
    write('packages/planted/src/a.ts', 'export const used = 1;\nexport const unused = 2;\n');
    write('packages/planted/src/dead.ts', 'export const dead = 1;\n');
    write('packages/planted/package.json', JSON.stringify({ ...manifest, dependencies: { 'left-out': '1.0.0' } }));
    const report = deadCode(directory);
    expect(report).toMatch(/Unused files[\s\S]*dead\.ts/);
    expect(report).toMatch(/Unused exports[\s\S]*unused/);
    expect(report).toMatch(/Unused dependencies[\s\S]*left-out/);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
