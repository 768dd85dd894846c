// `inspect --block`: the page drawn in proportion, before and after `--compact`; the file stays as it was.
import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { gunzipSync } from 'node:zlib';
import {
  COMPACTIONS,
  linePointer,
  makeLinePointer,
  Page,
  pageSetHasFreeLines,
  pageSpecial,
  setLinePointer,
} from '@blockwright/page';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { STRATEGIES } from '../src/commands/inspect.ts';
import { cli, type Ran } from './fake-io.ts';

const FIXTURES = fileURLToPath(new URL('../../../fixtures/pg/', import.meta.url));
const COMPACTIFY = fileURLToPath(new URL('../../../fixtures/compactify/', import.meta.url));
const SIZES = ['1k', '2k', '4k', '8k', '16k', '32k'] as const;

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'blockwright-map-'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function relationFile(size: string, table: string): string {
  const lines = readFileSync(join(FIXTURES, size, 'expect/relations.txt'), 'utf8').split('\n');
  const path = lines.map((line) => line.split(' ')).find(([name]) => name === table)?.[2];
  return join(FIXTURES, size, 'pgdata', path as string);
}

function tuple(bytes: number, infomask = 0x0900): Uint8Array {
  const item = new Uint8Array(bytes).fill(7);
  item.set([infomask & 0xff, infomask >>> 8, 24], 20);
  return item;
}

/** A 1 kB page that updates made: items of line pointers 2 and 4 gone, number 6 added into 2's, 3 dead by its hints. */
function updatedPage(): Page {
  const page = Page.create('1kB');
  for (let i = 1; i <= 5; i++) page.add(tuple(i === 5 ? 61 : 64, i === 3 ? 0x0500 : 0x0900));
  setLinePointer(page.memory, 0, 2, 0);
  setLinePointer(page.memory, 0, 4, 0);
  pageSetHasFreeLines(page.memory, 0);
  page.add(tuple(80)); // takes line pointer 2 and lies at the lowest address
  return page;
}

let files = 0;
function fileOf(bytes: Uint8Array, name = 'file'): string {
  const path = join(root, `${name}${files++}`);
  writeFileSync(path, bytes);
  return path;
}

/** The rows of the map that stands below `title`, or of the only one. */
function rowsBelow(text: string, title?: string): string[] {
  const from = title === undefined ? 0 : text.indexOf(`${title}\n`);
  expect(from).toBeGreaterThanOrEqual(0);
  const lines = text.slice(from).split('\n');
  const first = lines.findIndex((line) => /^ *0 {2}\S/.test(line));
  const rows: string[] = [];
  for (let i = first; /^ *\d+ {2}\S+$/.test(lines[i] ?? ''); i++)
    rows.push((lines[i] as string).replace(/^ *\d+ {2}/, ''));
  return rows;
}

function inspect(path: string, ...args: string[]): Promise<Ran> {
  return cli(['inspect', path, '--block=0', ...args]);
}

test('the strategies are those of the page package', () => {
  expect(STRATEGIES).toEqual(COMPACTIONS);
});

test('a page as a map: in proportion, tuples by their numbers, what each byte is', async () => {
  const { status, stdout } = await inspect(fileOf(updatedPage().bytes));
  expect(status).toBe(0);
  expect(rowsBelow(stdout)).toEqual([
    `██████:::::${'·'.repeat(53)}`,
    '·'.repeat(64),
    `${'·'.repeat(28)}2${'━'.repeat(19)}5${'━'.repeat(15)}`,
    `${'░'.repeat(16)}3${'x'.repeat(15)}${'░'.repeat(16)}1${'━'.repeat(15)}`,
  ]);
  expect(stdout).toContain('  one cell: 4 bytes   █ header   : line pointers   · free   1━ tuple\n');
  expect(stdout.replace(/\n +/g, ' ')).toContain(
    '24 header + 20 line pointers (5, 1 unused) + 580 free + 205 tuples (3) + 64 dead tuples (1) + 3 padding + 128 holes',
  );
  expect(stdout).toMatch(/^ +lp {2}state/m); // the table stays, below
  expect(stdout.indexOf('one cell')).toBeLessThan(stdout.indexOf('state'));
});

test('before and after: what moved, what is free, in which order the data stands', async () => {
  const path = fileOf(updatedPage().bytes);
  const run = async (how: string): Promise<string> => (await inspect(path, `--compact=${how}`)).stdout;
  const after = await run('workspace');
  expect(rowsBelow(after, 'before')).toEqual(rowsBelow((await inspect(path)).stdout));
  expect(rowsBelow(after, 'after workspace')).toEqual([
    `██████:::::${'·'.repeat(53)}`,
    '·'.repeat(64),
    `${'·'.repeat(60)}5${'═'.repeat(3)}`,
    `${'═'.repeat(12)}3${'X'.repeat(15)}2${'═'.repeat(19)}1${'━'.repeat(15)}`,
  ]);
  expect(after.replace(/\n +/g, ' ')).toContain(
    '3 of 4 tuples moved (208 bytes, dead ones included), free space 580 → 708 bytes, data in line-pointer order: no → yes',
  );
  expect(after).not.toMatch(/lp {2}state/); // two maps are on the screen: the table has to be asked for
  expect((await inspect(path, '--compact=workspace', '--items')).stdout).toMatch(/lp {2}state/);
  expect((await inspect(path, '--compact=workspace', '--data')).stdout).toMatch(/lp {2}state/);
  const sorted = await run('sort');
  expect(rowsBelow(sorted, 'after sort').slice(2)).toEqual([
    `${'·'.repeat(60)}2${'═'.repeat(3)}`,
    `${'═'.repeat(16)}5${'═'.repeat(15)}3${'X'.repeat(15)}1${'━'.repeat(15)}`,
  ]);
  expect(sorted).toContain('order: no\n');
  expect(await run('adaptive')).toContain(rowsBelow(after, 'after workspace').at(-1));
});

test('the legend has every glyph of the map: a moved dead tuple, a tuple without room for its number', async () => {
  const before = await inspect(fileOf(updatedPage().bytes));
  expect(before.stdout).not.toContain('┝');
  const { stdout } = await inspect(fileOf(updatedPage().bytes), '--compact=sort');
  expect(stdout.slice(0, stdout.indexOf('after sort')).replace(/\n +/g, ' ')).toContain('1x dead tuple');
  expect(stdout.slice(stdout.indexOf('after sort')).replace(/\n +/g, '   ')).toContain('1X moved dead tuple');
  const page = Page.create('8kB');
  for (let i = 1; i <= 120; i++) page.add(tuple(24)); // three cells each
  const narrow = await inspect(fileOf(page.bytes));
  expect(rowsBelow(narrow.stdout).join('')).toContain('┝━━┝━━99━98━');
  expect(narrow.stdout.replace(/\n +/g, '   ')).toContain('   ┝ tuple without room for its number');
});

test("a page that a run of updates made: its holes become free space, and the README's picture is what is printed", async () => {
  const path = fileOf(gunzipSync(readFileSync(join(COMPACTIFY, '1k-136-batches.gz'))));
  const { status, stdout } = await cli(['inspect', path, '--block=0', '--compact=adaptive']);
  expect(status).toBe(0);
  const [before, after] = [rowsBelow(stdout, 'before').join(''), rowsBelow(stdout, 'after adaptive').join('')];
  expect([before, after].map((cells) => cells.split('░').length - 1)).toEqual([34, 0]);
  expect([before, after].map((cells) => cells.split('·').length - 1)).toEqual([35, 69]);
  expect(stdout).toContain('free space 140 → 276 bytes');
  const readme = readFileSync(fileURLToPath(new URL('../README.md', import.meta.url)), 'utf8');
  expect(readme).toContain(`\`\`\`text\n${stdout.trimEnd()}\n\`\`\``);
});

test('--help says what ends with status 1', async () => {
  const { stdout } = await cli(['inspect', '--help']);
  expect(stdout.replace(/\s+/g, ' ')).toContain('exit status 1 where there is nothing to compact');
});

test('line pointers that are cut off at the end are told', async () => {
  const page = updatedPage();
  setLinePointer(page.memory, 0, 5, 0);
  const { stdout } = await inspect(fileOf(page.bytes), '--compact=sort');
  expect(stdout.replace(/\n +/g, ' ')).toContain('bytes, line pointers 5 → 3, data in');
});

test('the file is never written: bytes, size and times stay', async () => {
  const path = fileOf(updatedPage().bytes);
  const long = new Date(Date.UTC(2001, 0, 2));
  utimesSync(path, long, long);
  const before = statSync(path, { bigint: true });
  for (const how of COMPACTIONS) expect((await inspect(path, `--compact=${how}`)).status).toBe(0);
  await inspect(path, '--compact=sort', '--json');
  const after = statSync(path, { bigint: true });
  expect([after.mtimeNs, after.ctimeNs, after.size, after.ino]).toEqual([
    before.mtimeNs,
    before.ctimeNs,
    before.size,
    before.ino,
  ]);
  expect(Buffer.compare(readFileSync(path), updatedPage().bytes)).toBe(0);
});

describe.each(SIZES)("PostgreSQL's pages at %s", (size) => {
  test.each([40, 80, 120, 200])('fit %i columns, with colours and without, in 32 rows', async (columns) => {
    for (const table of ['churn', 'vacuumed', 'lineitem', 'vacuumed_id']) {
      const args = ['inspect', relationFile(size, table), '--block=1', '--compact=adaptive'];
      const coloured = await cli(args, { terminal: columns });
      expect(coloured.status).toBe(0);
      expect(coloured.stdout).toContain('\u001b[3');
      const text = stripVTControlCharacters(coloured.stdout);
      for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(columns);
      const plain = await cli(args, { terminal: columns, env: { NO_COLOR: '1' } });
      expect(plain.stdout).toBe(text);
      for (const title of ['before', 'after adaptive']) {
        const rows = rowsBelow(text, title);
        const cells = rows.join('').length;
        expect(rows.length).toBeLessThanOrEqual(32);
        expect(new Set(rows.map((row) => row.length)).size).toBe(1);
        const cellBytes = Number(/one cell: (\d+) bytes/.exec(text)?.[1]);
        expect(cells * cellBytes).toBe(Number.parseInt(size, 10) * 1024);
      }
    }
  });

  test('--json has the layout before and after, with what moved', async () => {
    const path = relationFile(size, 'churn');
    const page = JSON.parse((await inspect(path, '--json', '--compact=workspace')).stdout);
    const bytes = Number.parseInt(size, 10) * 1024;
    for (const layout of [page.layout, page.compaction.after]) {
      expect(layout.regions[0]).toEqual({ kind: 'header', from: 0, to: 24 });
      expect(layout.regions.at(-1).to).toBe(bytes);
      expect(layout.linePointers).toBe(layout.bytes.linePointers / 4);
    }
    expect(page.compaction).toMatchObject({ strategy: 'workspace', refusal: null, after: { isInOrder: true } });
    expect(page.items.length).toBe(page.layout.linePointers);
    expect(JSON.parse((await inspect(path, '--json')).stdout).compaction).toBe(undefined);
  });
});

describe('what cannot be compacted is drawn, and why is said', () => {
  test('a damaged line pointer: XX001, status 3, overlaps drawn', async () => {
    const page = updatedPage();
    const place = linePointer(page.memory, 0, 5) & 0x7fff;
    setLinePointer(page.memory, 0, 3, makeLinePointer(place + 32, 1, 64));
    setLinePointer(page.memory, 0, 1, makeLinePointer(1000, 1, 64));
    const { status, stdout } = await inspect(fileOf(page.bytes), '--compact=adaptive');
    expect(status).toBe(3);
    expect(rowsBelow(stdout, 'before').join('')).toContain('!!!!!!!!');
    expect(stdout).toContain('! overlap');
    expect(stdout).toMatch(/line pointer 1 has its item from byte 1000 to 1064, beyond/);
    expect(stdout).toMatch(/not compacted \(XX001\): line pointer 1 is corrupted/);
    expect(stdout).not.toContain('after adaptive');
    expect((await inspect(fileOf(page.bytes))).status).toBe(3);
  });

  test('a header that makes no sense: the header alone is known', async () => {
    const page = updatedPage();
    page.memory.u16[7] = 2000;
    const { status, stdout } = await inspect(fileOf(page.bytes), '--block-size=1kB', '--compact=sort');
    expect(status).toBe(3);
    expect(rowsBelow(stdout, 'before').join('')).toBe(`██████${'▒'.repeat(250)}`);
    expect(stdout).toContain('not compacted (XX001): pd_upper is 2000, beyond pd_special 1024');
  });

  test.each([
    ['vacuumed_vm', /visibility map/],
    ['vacuumed_fsm', /free space map/],
    ['vacuumed_id', /metapage/],
  ])('%s', async (name, reason) => {
    const [table, fork] = name.split(/_(?=vm|fsm)/) as [string, string | undefined];
    const path = `${relationFile('8k', table)}${fork === undefined ? '' : `_${fork}`}`;
    const { status, stdout } = await inspect(path, '--compact=workspace');
    expect(status).toBe(1);
    expect(stdout).toMatch(/▒ not of tuples/);
    expect(stdout).toMatch(/not compacted: /);
    expect(stdout).toMatch(reason);
    expect((await inspect(path)).status).toBe(0);
    const json = JSON.parse((await inspect(path, '--json', '--compact=workspace')).stdout);
    expect(json.compaction).toMatchObject({ after: null, refusal: { code: null } });
  });

  test('an index page: its data is put in order, and no more is promised', async () => {
    const { status, stdout } = await cli([
      'inspect',
      relationFile('8k', 'vacuumed_grp'),
      '--block=1',
      '--compact=adaptive',
    ]);
    expect(status).toBe(0);
    expect(stdout.replace(/\n +/g, ' ')).toContain(
      'An index page has no holes: each deletion closes its gap. Only the order of the data can change.',
    );
    expect(rowsBelow(stdout, 'after adaptive').at(-1)?.endsWith('▓▓')).toBe(true);
  });

  test('a page that was never used, and one of another access method', async () => {
    const gist = Page.create('1kB', { specialBytes: 16 });
    gist.add(tuple(40));
    gist.memory.u16[511] = 0xff81;
    const path = fileOf(Buffer.concat([updatedPage().bytes, new Uint8Array(1024), gist.bytes]));
    const zero = await cli(['inspect', path, '--block=1', '--compact=sort']);
    expect(zero.status).toBe(1);
    expect(zero.stdout).toContain('not compacted: the page was never initialised');
    const other = await cli(['inspect', path, '--block=2', '--compact=sort']);
    expect(other.stdout).toMatch(/not compacted: line pointers of pages of kind gist are not known/);
    expect(other.stdout).not.toContain('━');
    expect(pageSpecial(gist.memory, 0)).toBe(1008);
  });
});

describe('wrong usage', () => {
  test('--compact without --block', async () => {
    const { status, stdout, stderr } = await cli(['inspect', fileOf(updatedPage().bytes), '--compact=sort']);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/--block says which\nhint: Add "--block=N"/);
  });

  test('a strategy that nobody knows', async () => {
    const { status, stderr } = await inspect(fileOf(updatedPage().bytes), '--compact=workspce');
    expect(status).toBe(2);
    expect(stderr).toMatch(/"workspce" is not one of sort, workspace, adaptive\nhint: Did you mean "workspace"\?/);
  });
});
