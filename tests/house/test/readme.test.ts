// The root README says the truth: its example prints what stands below it, its table is the one that the main job
// prints, times aside, and what it links to and names is there.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { ROOT } from './workspace.ts';

const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const FROM_SOURCE = ['--conditions=@blockwright/source', '--import', 'tsx'];

function block(language: string, after: string): string {
  const from = README.indexOf(`\`\`\`${language}\n`, README.indexOf(after));
  return README.slice(from + language.length + 4, README.indexOf('\n```', from));
}

/**
 * A report without what differs from run to run and machine to machine: the machine, the times and all that follows
 * from them. What is left are the block sizes, the queries, pages, bytes and waste.
 */
function settled(report: string): string[] {
  const lines = report.split('\n');
  const from = lines.findIndex((line) => /^\s+1 kB/.test(line));
  const facts = lines
    .slice(from)
    .filter((line) => /^(\s+1 kB|ns\/row|rows\/s|quartiles|pages|bytes|waste\/page|pool hits)/.test(line));
  const queries = lines
    .slice(from)
    .filter((line) => /^ {2}(count|judged|q6|q1) /.test(line))
    .map((line) => line.trim().split(/\s+/)[0]);
  const space = lines
    .join(' ')
    .match(/Space: [^.]+\.\d[^.]*\./)?.[0]
    .replace(/\s+/g, ' ');
  return [
    ...facts.map((line) => line.trim().replace(/\s+/g, ' ')),
    ...(queries as string[]),
    space ?? 'no sentence about space',
  ];
}

test('the example prints what is shown', () => {
  const example = block('js', '**Import one layer**');
  expect(example.trim().split('\n').length).toBeLessThan(10);
  const printed = execFileSync(process.execPath, [...FROM_SOURCE, '--input-type=module', '--eval', example], {
    cwd: join(ROOT, 'tools/cli'),
    encoding: 'utf8',
  });
  expect(printed.trim()).toBe(block('text', '**Import one layer**').trim());
});

test('the table is the one that the main job prints, times aside', async () => {
  const start = pathToFileURL(join(ROOT, 'scripts/start.mjs')).href;
  const { mainJobArguments } = (await import(start)) as { mainJobArguments: (args: string[]) => string[] };
  const printed = execFileSync(
    process.execPath,
    [...FROM_SOURCE, 'tools/cli/src/main.ts', ...mainJobArguments([]), '--no-progress'],
    {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const shown = settled(block('text', '<!-- npm start: begin'));
  expect(shown.length).toBeGreaterThan(10);
  expect(shown).toEqual(settled(printed));
}, 300_000);

test('the canary: another number of pages is noticed', () => {
  const shown = block('text', '<!-- npm start: begin');
  expect(settled(shown.replace(/10,033/, '10,034'))).not.toEqual(settled(shown));
});

test('every link and script is there', () => {
  for (const [, target] of README.matchAll(/\]\((?!https?:)([^)#]+)/g))
    expect(existsSync(join(ROOT, target)), target).toBe(true);
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  for (const [, name] of README.matchAll(/npm run ([\w:-]+)/g)) expect(scripts).toHaveProperty(name);
});

test('npx finds the command in a clone: its link stands where npx looks first', () => {
  const bin = join(ROOT, 'node_modules/.bin', process.platform === 'win32' ? 'blockwright.cmd' : 'blockwright');
  expect(existsSync(bin)).toBe(true);
  expect(README).toContain('npx blockwright ');
});
