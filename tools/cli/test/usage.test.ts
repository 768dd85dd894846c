// The command line itself: help, suggestions, wrong values, exit statuses. Nothing here touches a data directory.
import { describe, expect, test } from 'vitest';
import { byteSize, listOf, numberBetween, powerOfTwoSize, wholeNumber } from '../src/options.ts';
import { cli } from './fake-io.ts';

/** The help of these is kept as it is printed; that of benchmarks follows from what they declare. */
const GOLDEN = [
  'initdb',
  'controldata',
  'load',
  'load tpch',
  'tables',
  'dump',
  'inspect',
  'check',
  'waldump',
  'recover',
  'bench list',
];
const COMMANDS = [...GOLDEN, 'bench', 'bench scan', 'bench geometry', 'bench checksum', 'bench tidstore'];

describe('help', () => {
  test('of the program', async () => {
    const { status, stdout, stderr } = await cli(['--help']);
    expect([status, stderr]).toEqual([0, '']);
    await expect(stdout).toMatchFileSnapshot('help/blockwright.txt');
    for (const printed of stdout.split('\n')) expect(printed.length, printed).toBeLessThanOrEqual(80);
  });

  test.each(GOLDEN)('of %s', async (line) => {
    const names = line.split(' ');
    const { status, stdout, stderr } = await cli([...names, '--help']);
    expect([status, stderr]).toEqual([0, '']);
    expect((await cli(['help', ...names.slice(0, 1)])).status).toBe(0);
    await expect(stdout).toMatchFileSnapshot(`help/${names.join('-')}.txt`);
  });

  test.each(COMMANDS)('of %s is no wider than 80 columns', async (line) => {
    const { stdout } = await cli([...line.split(' '), '--help']);
    for (const printed of stdout.split('\n')) expect(printed.length, printed).toBeLessThanOrEqual(80);
  });

  test.each(['scan', 'geometry', 'compactify', 'recovery', 'commit', 'checksum', 'tidstore'])(
    'of bench %s has every option that the benchmark declares',
    async (name) => {
      const { stdout } = await cli(['bench', name, '--help']);
      const listed = JSON.parse((await cli(['bench', 'list', '--json'])).stdout);
      const { options } = listed.find((one: { name: string }) => one.name === name);
      expect(Object.keys(options).length).toBeGreaterThan(2);
      for (const [option, { positional }] of Object.entries<{ positional?: boolean }>(options)) {
        const word = option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
        expect(stdout).toContain(positional === true ? ` [${word}]\n` : `--${word}`);
      }
    },
  );

  test('has titles in bold on a terminal, and none with NO_COLOR', async () => {
    expect((await cli(['--help'], { terminal: 80 })).stdout).toContain('\u001b[1mUsage:');
    expect((await cli(['--help'], { terminal: 80, env: { NO_COLOR: '1' } })).stdout).not.toContain('\u001b');
    expect((await cli(['--help'], { terminal: 80, env: { TERM: 'dumb' } })).stdout).not.toContain('\u001b');
    expect((await cli(['--help'])).stdout).not.toContain('\u001b');
  });

  test.each(COMMANDS.filter((line) => !['load', 'bench', 'bench list'].includes(line)))(
    'of %s shows examples, with flags that it has',
    async (command) => {
      const { stdout } = await cli([...command.split(' '), '--help']);
      const examples = [...stdout.matchAll(/^ {2}\$ blockwright (.*)$/gm)].map(([, line]) => line as string);
      expect(examples.length).toBeGreaterThan(0);
      for (const line of examples) {
        expect(`${line} `.startsWith(`${command} `), line).toBe(true);
        for (const [flag] of line.matchAll(/--[a-z-]+/g)) expect(stdout.split('Examples:')[0]).toContain(flag);
      }
    },
  );
});

test('--version prints name and version', async () => {
  expect(await cli(['--version'])).toEqual({ status: 0, stdout: 'blockwright 0.1.0\n', stderr: '' });
});

describe('wrong usage has status 2, a message on stderr, a hint, and nothing on stdout', () => {
  const D = ['-D', '/nonexistent'];
  test.each<[string[], string | RegExp, string | RegExp]>([
    [[], 'no command was named', /blockwright --help/],
    [['intdb'], 'unknown command "intdb"', 'Did you mean "initdb"?'],
    [['zzzzzzzz'], 'unknown command "zzzzzzzz"', /--help/],
    [['help', 'dumb'], 'unknown command "dumb"', 'Did you mean "dump"?'],
    [['help', 'zzzzzzzz'], 'unknown command "zzzzzzzz"', /initdb, controldata/],
    [['initdb', '--blok-size=8kB'], /unknown option "--blok-size/, 'Did you mean "--block-size"?'],
    [['initdb'], 'no data directory was named', /-D DIR.*BLOCKWRIGHT_DATA/],
    [['initdb', '-D', ''], '-D is empty', /./],
    [['initdb', '-D', 'a\0b'], '-D holds a zero byte', /./],
    [['initdb', '-D'], /argument missing/, /./],
    [['initdb', '-D', 'a', 'b'], 'two data directories were named: "a" and "b"', /./],
    [['initdb', 'a', 'b'], /too many arguments/, /./],
    [['initdb', ...D, '--block-size=3000'], /"3000" is not a block size: .*32kB/, /./],
    [['initdb', ...D, '--block-size=64kB'], /"64kB" is not a block size/, /./],
    [['initdb', ...D, '--block-size='], /"" is not a block size/, /./],
    [['initdb', ...D, '--block-size=-8192'], /"-8192" is not a block size/, /./],
    [['initdb', ...D, '--block-size=1e3'], /"1e3" is not a block size/, /./],
    [['initdb', ...D, '--wal-segsize=16'], /"16" is not from 1MB to 1GB/, /in bytes/],
    [['initdb', ...D, '--wal-segsize=3MB'], /"3MB" is not a power of two/, /./],
    [['initdb', ...D, '--wal-segsize=lots'], /"lots" is not a size/, /16MB/],
    [['load'], /no command was named|missing/, /./],
    [['load', 'tcph'], 'unknown command "tcph"', 'Did you mean "tpch"?'],
    [['load', 'tpch', ...D], /--scale/, /./],
    [['load', 'tpch', ...D, '--scale=0'], /"0" is not a number above 0/, /./],
    [['load', 'tpch', ...D, '--scale=-1'], /"-1" is not a number above 0/, /./],
    [['load', 'tpch', ...D, '--scale=30000'], /below 30000/, /./],
    [['load', 'tpch', ...D, '--scale=0.0001'], /at least 0\.001/, /./],
    [['load', 'tpch', ...D, '--scale=1', '--tables=lineitm'], /"lineitm" is not one of/, 'Did you mean "lineitem"?'],
    [['load', 'tpch', ...D, '--scale=1', '--tables=orders,orders'], /"orders" is there twice/, /./],
    [['load', 'tpch', ...D, '--scale=1', '--tables='], /empty entry/, /./],
    [['dump', ...D], /missing|no table was named/, /./],
    [['dump', ...D, 't', '--format=xml'], /"xml" is not one of csv, jsonl, copy/, /./],
    [['dump', ...D, 't', '--format=csvv'], /"csvv" is not one of/, 'Did you mean "csv"?'],
    [['dump', ...D, 't', '--limit=-1'], /"-1" is not a whole number/, /./],
    [['dump', ...D, 't', '--limit=1.5'], /"1.5" is not a whole number/, /./],
    [['dump', ...D, 't', '--columns=a,,b'], /empty entry/, /./],
    [['inspect'], /missing/, /./],
    [['inspect', 'f', '--block=x'], /"x" is not a whole number/, /./],
    [['inspect', 'f', '--block=4294967295'], /"4294967295" is not a whole number from 0 to 4294967294/, /./],
    [['inspect', 'f', '--block-size=7'], /"7" is not a block size/, /./],
    [['check'], 'no path was named', /relation files/],
    [['bench'], /no command was named|list/, /./],
    [['bench', 'scna'], 'unknown command "scna"', 'Did you mean "scan"?'],
    [['bench', 'scan', '--scale=abc'], /--scale/, /./],
    [['bench', 'scan', '--queries=q7'], /--queries/, /./],
    [['bench', 'scan', '--nosuch'], /unknown option/, /./],
  ])('%j', async (args, message, hint) => {
    const { status, stdout, stderr } = await cli(args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    const lines = stderr.split('\n');
    const told = /^blockwright: error: (.*)$/.exec(lines[0] as string)?.[1];
    if (typeof message === 'string') expect(told).toBe(message);
    else expect(told).toMatch(message);
    const hints = lines.filter((line) => line.startsWith('hint: ')).map((line) => line.slice(6));
    if (typeof hint === 'string') expect(hints).toEqual([hint]);
    else if (hint.source !== '.') expect(hints.join()).toMatch(hint);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test('--verbose shows where the error came from', async () => {
    expect((await cli(['initdb', '--verbose'])).stderr).toMatch(/^\s+at /m);
  });
});

describe('values', () => {
  test.each([
    ['16777216', 16777216],
    ['16MB', 16777216],
    ['16 mb', 16777216],
    ['16M', 16777216],
    ['16MiB', 16777216],
    ['1048576B', 1048576],
    ['1024k', 1048576],
    ['1g', 1073741824],
  ])('the size %s is %i bytes', (text, bytes) => {
    expect(byteSize('--x', 0, 2 ** 40)(text)).toBe(bytes);
  });

  test.each(['', 'MB', '1.5MB', '-1', '0x10', '1 000', '16 M B', '16MBs', '1e3', '∞', '９'])(
    'the size %j is refused',
    (text) => {
      expect(() => byteSize('--x', 0, 2 ** 40)(text)).toThrow(/invalid value for --x/);
    },
  );

  test('powers of two only', () => {
    const parse = powerOfTwoSize('--x', 1, 2 ** 40);
    expect(parse('64kB')).toBe(65536);
    expect(() => parse('65537')).toThrow(/power of two/);
  });

  test.each(['', ' 1', '1 ', '+1', '1.0', '1e2', '0x1', 'Infinity', 'NaN', '١'])(
    'the whole number %j is refused',
    (text) => {
      expect(() => wholeNumber('--x', 0, 100)(text)).toThrow(/whole number from 0 to 100/);
    },
  );

  test.each([
    ['1', 1],
    ['0.01', 0.01],
    ['.5', 0.5],
    ['1e-3', 0.001],
    ['2.', 2],
  ])('the number %s is read as %d', (text, value) => {
    expect(numberBetween('--x', 0, 10)(text)).toBe(value);
  });

  test.each(['', '0', '10', '-1', '1,5', 'Infinity', 'NaN', '1e999', '0x1', '.'])(
    'the number %j is refused',
    (text) => {
      expect(() => numberBetween('--x', 0, 10)(text)).toThrow(/above 0 and below 10/);
    },
  );

  test('lists keep their order', () => {
    expect(listOf('--x', ['a', 'b', 'c'])('c, a')).toEqual(['c', 'a']);
  });
});
