// `bench`: flags made from what a benchmark declares, reports as tables and as JSON.
import type { BenchmarkReport, Cell, ReportColumn } from '@blockwright/benchmark';
import { describe, expect, test } from 'vitest';
import { benchmarkTables, fitTable } from '../src/output/bench-table.ts';
import { colorsFor } from '../src/output/colors.ts';
import { wrapWords } from '../src/output/format.ts';
import { cli } from './fake-io.ts';

const plain = colorsFor(process.stdout, { NO_COLOR: '1' });

function cell(blockSize: number | null, query: string, ns: number, more: Record<string, number | string> = {}): Cell {
  const times = { medianNs: ns * 100, q1Ns: ns * 90, q3Ns: ns * 110, rounds: 9, units: 100, nsPerUnit: ns };
  return { blockSize, engine: 'blockwright', query, ...times, pages: 8_192_000 / (blockSize ?? 1), ...more };
}

const COLUMNS: ReportColumn[] = [
  { key: 'query', title: 'query' },
  { key: 'blockSize', title: 'block' },
  { key: 'engine', title: 'engine' },
  { key: 'nsPerUnit', title: 'ns/row' },
  { key: 'pages', title: 'pages' },
];

function printed(results: Cell[], width = 80): string {
  const report = { results, aims: [] } as unknown as BenchmarkReport;
  const tables = benchmarkTables(report, COLUMNS);
  return tables.map((table) => `${table.heading ?? ''}\n${fitTable(table, width, plain)}`).join('');
}

describe('a report', () => {
  test('with several block sizes has them side by side, and what no query changes once', () => {
    expect(
      printed([cell(1024, 'count', 4), cell(1024, 'q1', 40), cell(2048, 'count', 2.5), cell(2048, 'q1', 1234)]),
    ).toBe(
      `
          1 kB   2 kB
─────────────────────
ns/row
  count      4    2.5
  q1        40  1,234
pages    8,000  4,000

                        1 kB         2 kB
─────────────────────────────────────────
quartiles of ns/row
  count              3.6–4.4    2.25–2.75
  q1                   36–44  1,110–1,360
`,
    );
  });

  test('names the engines when there are several, and leaves holes where nothing was measured', () => {
    const results = [
      cell(8192, 'count', 4),
      cell(8192, 'count', 50, { engine: 'postgres', pages: 977 }),
      cell(16384, 'count', 3),
    ];
    expect(printed(results)).toBe(
      `
                8 kB  16 kB
───────────────────────────
ns/row
  blockwright      4      3
  postgres        50
pages
  blockwright  1,000    500
  postgres       977

                        8 kB    16 kB
─────────────────────────────────────
quartiles of ns/row
  blockwright        3.6–4.4  2.7–3.3
  postgres             45–55
`,
    );
  });

  test('with one block size has a row a cell, and says once what is the same in all', () => {
    expect(printed([cell(8192, 'count', 4), cell(8192, 'q1', 40)])).toBe(
      `block 8,192, engine blockwright, pages 1,000
query  ns/row  quartiles
────────────────────────
count       4    3.6–4.4
q1         40      36–44
`,
    );
  });

  test('too wide for the terminal is broken into several tables', () => {
    const text = printed([cell(1024, 'count', 4), cell(2048, 'count', 3), cell(4096, 'count', 2)], 30);
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(31);
    expect(text.match(/^quartiles of ns/gm)).toHaveLength(3);
    expect(text.match(/^ +1 kB +2 kB +4 kB$/gm)).toHaveLength(1);
  });

  test('with one cell has its name before, which may be long, and its figures below each other', () => {
    expect(printed([cell(null, 'count', 4, { pages: 1000 })])).toBe(
      `query count, engine blockwright
           measured
───────────────────
ns/row     4
quartiles  3.6–4.4
pages      1,000
`,
    );
  });
});

test('words are wrapped at the width of the terminal', () => {
  expect(wrapWords('one two three four', 9)).toBe('one two\nthree\nfour');
  expect(wrapWords('one two three', 9, '  ')).toBe('one two\n  three');
  expect(wrapWords('unbreakable', 5)).toBe('unbreakable');
  expect(wrapWords('', 5)).toBe('');
});

test('bench list names the benchmarks, and their options as JSON', async () => {
  const { status, stdout } = await cli(['bench', 'list']);
  expect(status).toBe(0);
  const names = [
    'scan',
    'geometry',
    'compactify',
    'recovery',
    'commit',
    'index',
    'tpcb',
    'narrow',
    'checksum',
    'tidstore',
  ];
  expect(stdout).toMatch(
    new RegExp(`^benchmark +what it measures\n─+\n${names.map((name) => `${name} +.*\n`).join('')}$`),
  );
  const listed = JSON.parse((await cli(['bench', 'list', '--json'])).stdout);
  expect(listed.map((one: { name: string }) => one.name)).toEqual(names);
  expect(listed[0].options.scale).toMatchObject({ type: 'number' });
});

describe('bench scan', () => {
  const small = ['bench', 'scan', '--block-sizes=8kB,32kB', '--scale=0.001', '--queries=count,q6', '--rounds=9'];

  test('prints a table, and one JSON object with --json', async () => {
    const { status, stdout } = await cli(small);
    expect(status).toBe(0);
    expect(stdout).toMatch(/ns\/row\n {2}count .*\n {2}q6 /);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    const report = JSON.parse((await cli([...small, '--json'])).stdout) as BenchmarkReport;
    expect(report.benchmark).toBe('scan');
    expect(report.settings).toMatchObject({ scale: 0.001, blockSizes: ['8kB', '32kB'], rounds: 9 });
    expect(report.results.map((one) => [one.blockSize, one.query])).toEqual([
      [8192, 'count'],
      [8192, 'q6'],
      [32768, 'count'],
      [32768, 'q6'],
    ]);
    for (const one of report.results) expect(one.q1Ns <= one.medianNs && one.medianNs <= one.q3Ns).toBe(true);
  });

  test('Ctrl-C stops it with status 130', async () => {
    const signal = AbortSignal.timeout(200);
    const { status, stdout, stderr } = await cli(['bench', 'scan', '--scale=1', '--block-sizes=8kB'], { signal });
    expect({ status, stdout, stderr }).toEqual({ status: 130, stdout: '', stderr: 'blockwright: interrupted\n' });
  });

  test.each([
    ['--rounds=3', /rounds/],
    ['--scale=0', /scale/],
    ['--block-sizes=3kB', /"3kB" is not a block size/],
    ['--queries=count,q7', /q7/],
  ])('%s is wrong usage', async (flag, message) => {
    const { status, stdout, stderr } = await cli(['bench', 'scan', flag]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });

  test('a directory that does not exist is a failure', async () => {
    const { status, stderr } = await cli(['bench', 'scan', '-D', '/nonexistent']);
    expect(status).toBe(1);
    expect(stderr).toContain('/nonexistent');
  });
});

describe('bench tidstore', () => {
  const small = ['--max-block=400', '--tids-per-block=30', '--searched=500', '--rounds=9'];
  const DISCUSSED = [
    'nkeys',
    'rt_mem_allocated',
    'array_mem_allocated',
    'rt_load_ms',
    'array_load_ms',
    'rt_search_ms',
    'array_search_ms',
  ];
  const NODES = ['num_keys', 'height', 'n4', 'n16', 'n32', 'n128', 'n256'];

  test.each(['seq-search', 'shuffle-search'])(
    '%s prints the names of the discussion, as text and JSON',
    async (word) => {
      const { status, stdout } = await cli(['bench', 'tidstore', word, ...small]);
      expect(status).toBe(0);
      for (const name of [...DISCUSSED, ...NODES]) expect(stdout).toMatch(new RegExp(`^${name} +[\\d.,]+$`, 'm'));
      expect(stdout).toMatch(/^nkeys +400\n.*\narray_mem_allocated +72,000$/m);
      for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
      const report = JSON.parse((await cli(['bench', 'tidstore', word, ...small, '--json'])).stdout) as BenchmarkReport;
      expect(report).toMatchObject({ benchmark: 'tidstore', settings: { search: word, maxBlock: 400, searched: 500 } });
      expect(report.results.map(({ query, nkeys, num_keys }) => [query, nkeys, num_keys])).toEqual([[word, 400, 400]]);
      for (const name of [...DISCUSSED, ...NODES])
        expect([name, typeof report.results[0]?.[name]]).toEqual([name, 'number']);
    },
  );

  test('without a word runs both, a row each', async () => {
    const { status, stdout } = await cli(['bench', 'tidstore', ...small]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/rt_search_ms +array_search_ms.*\n─+\n400 × 30, seq-search .*\n400 × 30, shuffle-search /);
  });

  test.each([
    [['--min-block=10', '--max-block=5'], /--min-block is below --max-block/, /--help/],
    [['--tids-per-block=2049'], /at most 2048, the line pointers of an 8kB block/, /--help/],
    [['seq-serch'], /invalid value for search: "seq-serch" is not one of/, /^Did you mean "seq-search"\?$/],
    [['suffle-search'], /"suffle-search" is not one of/, /^Did you mean "shuffle-search"\?$/],
    [['zzz'], /"zzz" is not one of seq-search, shuffle-search$/, /^$/],
    [['seq-search', 'shuffle-search'], /too many arguments/, /--help/],
    [['--search=seq-search'], /unknown option "--search/, /./],
    [['--max-block=4294967295'], /two sorted arrays of .* do not fit/, /--help/],
  ])('%j is wrong usage', async (words, message, hint) => {
    const { status, stdout, stderr } = await cli(['bench', 'tidstore', ...words]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    const [error, told = ''] = stderr.split('\n').filter((line) => /^blockwright: error|^hint/.test(line));
    expect(error).toMatch(message);
    expect(told.replace(/^hint: /, '')).toMatch(hint);
  });
});

test.each([
  ['recovery', '--wal-segsize=3MB', '--wal-segsize "3MB" is not a power of two from 1MB to 1GB'],
  ['recovery', '--buffers=lots', '--buffers "lots" is not a size'],
  ['recovery', '--folder=/nowhere/at/all', '--folder "/nowhere/at/all" is not a directory'],
  ['commit', '--folder=/nowhere/at/all', '--folder "/nowhere/at/all" is not a directory'],
])('bench %s %s names the option', async (name, option, message) => {
  const { status, stdout, stderr } = await cli(['bench', name, option]);
  expect([status, stdout, stderr]).toEqual([2, '', expect.stringContaining(`error: ${message}`)]);
});
