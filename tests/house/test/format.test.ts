// Every file is formatted, and an unformatted one is found.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tool } from './tools.ts';
import { ROOT } from './workspace.ts';

function formatFaults(directory: string): string {
  const { status, output } = tool('biome', ['check', '--colors=off', '.'], directory);
  return status === 0 && /Checked [1-9]\d* files?/.test(output) ? '' : output;
}

test('every file is formatted', () => {
  expect(formatFaults(ROOT)).toBe('');
});

test('canary: an unformatted file and an unsorted import are found', () => {
  const directory = mkdtempSync(join(tmpdir(), 'blockwright-format-'));
  try {
    cpSync(join(ROOT, 'biome.json'), join(directory, 'biome.json'));
    writeFileSync(join(directory, 'fine.ts'), 'export const a = 1;\n');
    expect(formatFaults(directory)).toBe('');
    writeFileSync(join(directory, 'planted.ts'), 'export const a  = "1"\n');
    expect(formatFaults(directory)).toMatch(/planted\.ts/);
    const unsorted = "import { b } from './b.ts';\nimport { a } from './a.ts';\n\nexport const c = a + b;\n";
    writeFileSync(join(directory, 'planted.ts'), unsorted);
    expect(formatFaults(directory)).toMatch(/planted\.ts/);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
