// The root README says the truth: its example prints what stands below it, its table is the one that the main job
// prints, times aside, and what it links to and names is there.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
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

const { excerpt, withExcerpt } = (await import(pathToFileURL(join(ROOT, 'scripts/readme.mjs')).href)) as {
  excerpt: (printed: string) => string;
  withExcerpt: (readme: string, shown: string) => string;
};

/**
 * What is left of an excerpt without what differs from run to run and machine to machine, the times and what follows
 * from them: the lines' names, pages, bytes and waste.
 */
function settled(shown: string): string[] {
  const lines = shown
    .slice(0, shown.indexOf('\nIn short:'))
    .split('\n')
    .map((line) => line.trim().replace(/\s+/g, ' '));
  return lines.slice(lines.findIndex((line) => line.startsWith('1 kB'))).map((line) => {
    const time = /^(count|judged|q6|q1|keys|keysum|pool hits) \d/.exec(line);
    return time === null ? line : time[1];
  });
}

test('the example prints what is shown', () => {
  const example = block('js', '**Import one layer**');
  expect(example.trim().split('\n').length).toBeLessThan(10);
  const printed = execFileSync(process.execPath, [...FROM_SOURCE, '--input-type=module', '--eval', example], {
    cwd: join(ROOT, 'packages/page'),
    encoding: 'utf8',
  });
  expect(printed.trim()).toBe(block('text', '**Import one layer**').trim());
});

test('the rows of a transaction are there after a kill', () => {
  const heading = '**Change rows in transactions**';
  const directory = mkdtempSync(join(tmpdir(), 'blockwright-readme-'));
  const run = (program: string) =>
    spawnSync(process.execPath, [...FROM_SOURCE, '--input-type=module', '--eval', program], {
      cwd: join(ROOT, 'packages/engine'),
      encoding: 'utf8',
    });
  try {
    const example = block('js', heading).replaceAll("'data'", JSON.stringify(join(directory, 'data')));
    const killed = run(example);
    expect([killed.signal, killed.stderr]).toEqual(['SIGKILL', '']);
    expect(killed.stdout.trim()).toBe(block('text', heading).trim());
    const reading = example.split('\n').filter((line) => /^(import|const|console)/.test(line));
    expect(run(reading.join('\n')).stdout.trim()).toBe(block('text', heading).trim());
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('rows are found by key, and by an index alone', () => {
  const heading = '**Find rows by key**';
  const directory = mkdtempSync(join(tmpdir(), 'blockwright-readme-'));
  try {
    const example = block('js', heading).replaceAll("'shop'", JSON.stringify(join(directory, 'shop')));
    const run = spawnSync(process.execPath, [...FROM_SOURCE, '--input-type=module', '--eval', example], {
      cwd: join(ROOT, 'packages/engine'),
      encoding: 'utf8',
    });
    expect(run.stderr).toBe('');
    expect(run.stdout.trim()).toBe(block('text', heading).trim());
  } finally {
    rmSync(directory, { recursive: true });
  }
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
  expect(shown.length).toBeGreaterThan(12);
  expect(shown).toEqual(settled(excerpt(printed)));
  expect(withExcerpt(README, block('text', '<!-- npm start: begin'))).toBe(README);
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

/** The rows of the table of packages that name `folder`: by their first cell's links. */
function rowsNaming(readme: string, folder: string): string[] {
  const section = readme.slice(readme.indexOf('\n## The packages\n'));
  const rows = section.slice(0, section.indexOf('\n## ', 1)).match(/^\|.*\|$/gm) ?? [];
  const link = new RegExp(`\\[\`(?:@blockwright/)?${folder}\`\\]\\(packages/${folder}/README\\.md\\)`);
  return rows.filter((row) => link.test(row.split(' | ')[0] as string));
}

test('the table of packages names each once, and no other', () => {
  const folders = readdirSync(join(ROOT, 'packages'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(ROOT, 'packages', entry.name, 'package.json')))
    .map(({ name }) => name);
  expect(folders.length).toBeGreaterThan(15);
  expect(folders.filter((folder) => rowsNaming(README, folder).length !== 1)).toEqual([]);
  const linked = [...README.matchAll(/\]\(packages\/([^/)]+)\/README\.md\)/g)].map(([, folder]) => folder as string);
  expect(linked.filter((folder) => !folders.includes(folder))).toEqual([]);
});

test('the canary: a package without a row is noticed', () => {
  expect(rowsNaming(README.replace('packages/smgr/README.md', 'packages/sngr/README.md'), 'smgr')).toEqual([]);
});

test('npx finds the command in a clone: its link stands where npx looks first', () => {
  const bin = join(ROOT, 'node_modules/.bin', process.platform === 'win32' ? 'blockwright.cmd' : 'blockwright');
  expect(existsSync(bin)).toBe(true);
  expect(README).toContain('npx blockwright ');
});
