// Nothing in the repository depends on, or speaks of, the machine it was written on.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { filesBelow, ROOT } from './workspace.ts';

// Each word is put together here, so that this file does not hold it.
const word = (...parts: string[]): string => parts.join('');
const FORBIDDEN: readonly (readonly [string, RegExp])[] = [
  [
    'a path of one machine',
    new RegExp(`${word('/wo', 'rk/')}(?:main|shared)|${word('/tmp/', 'team')}|/home/[a-z]|/Users/[a-z]`),
  ],
  ['a registry host', new RegExp(`${word('registry.', 'npmjs')}|${word('npm', 'mirror')}`, 'i')],
  ['a work session', new RegExp(`\\b(?:this|the|my|our|each|a|next) ${word('sess', 'ion')}s?\\b`, 'i')],
  ['an issue number', new RegExp(`\\b${word('iss', 'ue')} #?\\d`, 'i')],
  [
    'a writing tool',
    new RegExp(
      `\\b(?:${word('clau', 'de')}|${word('chat', 'gpt')}|${word('co', 'pilot')}|${word('anth', 'ropic')})\\b`,
      'i',
    ),
  ],
];

/** What the text of `file` must not say, with its line. */
function faultsIn(file: string, text: string): string[] {
  return text
    .split('\n')
    .flatMap((line, i) =>
      FORBIDDEN.filter(([, pattern]) => pattern.test(line)).map(([what]) => `${file}:${i + 1}: ${what}`),
    );
}

test('no file speaks of this machine or of how it was written', () => {
  const binary = /\.(?:gz|wasm|png|ico)$|^fixtures\/pg\/[^/]+\/pgdata\//;
  const files = filesBelow('.', (file) => !binary.test(file) && file !== 'pnpm-lock.yaml');
  expect(files.length).toBeGreaterThan(100);
  expect(files.flatMap((file) => faultsIn(file, readFileSync(join(ROOT, file), 'utf8')))).toEqual([]);
});

test('the lock file names no registry', () => {
  expect(readFileSync(join(ROOT, 'pnpm-lock.yaml'), 'utf8')).not.toMatch(/https?:\/\//);
});

test.each([
  word('see /wo', 'rk/main/x'),
  word('https://registry.', 'npmjs.org/x'),
  word('in this sess', 'ion'),
  word('as iss', 'ue 2 says'),
  word('written by Clau', 'de'),
])('canary: %s', (text) => {
  expect(faultsIn('planted.md', text)).toHaveLength(1);
});
