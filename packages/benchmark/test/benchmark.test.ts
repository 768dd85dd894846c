import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  aimAtLeast,
  aimAtMost,
  aimText,
  type BenchmarkContext,
  type BenchmarkOption,
  type BenchmarkReport,
  defineBenchmark,
  describeMachine,
  isPositional,
  machineText,
  optionFlag,
  optionWord,
  reportJson,
  reportTable,
  resolveOptions,
} from '../src/index.ts';
import { linuxCacheBytes } from '../src/machine.ts';

const context: BenchmarkContext = { log: () => {}, progress: () => {}, signal: new AbortController().signal };
const OPTIONS = {
  scale: { type: 'number', default: 0.01, help: 'rows', min: 0, max: 30_000 },
  rounds: { type: 'number', default: 9, help: 'rounds', min: 9, integer: true },
  blockSizes: { type: 'list', default: ['8kB'], help: 'sizes' },
  peers: { type: 'list', default: undefined, help: 'peers', choices: ['postgres', 'sqlite'] },
  directory: { type: 'string', default: undefined, help: 'where' },
  cold: { type: 'boolean', default: false, help: 'cold' },
  walkOrder: { type: 'string', default: 'forward', help: 'order', choices: ['forward', 'backward'], positional: true },
} as const satisfies Record<string, BenchmarkOption>;

describe('options', () => {
  it('have defaults', () => {
    expect(resolveOptions('scan', OPTIONS, {})).toEqual({
      scale: 0.01,
      rounds: 9,
      blockSizes: ['8kB'],
      peers: undefined,
      directory: undefined,
      cold: false,
      walkOrder: 'forward',
    });
  });
  it('are taken as values or as text from a command line', () => {
    const wanted = {
      scale: 0.1,
      rounds: 31,
      blockSizes: ['1kB', '32kB'],
      peers: ['sqlite'],
      directory: 'd',
      cold: true,
      walkOrder: 'backward',
    };
    expect(resolveOptions('scan', OPTIONS, wanted)).toEqual(wanted);
    expect(
      resolveOptions('scan', OPTIONS, {
        scale: '0.1',
        rounds: '31',
        blockSizes: '1kB, 32kB',
        peers: 'sqlite',
        directory: 'd',
        cold: 'true',
        walkOrder: 'backward',
      }),
    ).toEqual(wanted);
  });
  it.each([
    [{ scale: 'x' }, 'scan\'s --scale is a number from 0 to 30000, not "x"'],
    [{ scale: '' }, 'is a number'],
    [{ scale: Number.NaN }, 'is a number'],
    [{ scale: 30_001 }, 'from 0 to 30000'],
    [{ rounds: 8 }, 'an integer of at least 9, not "8"'],
    [{ rounds: 9.5 }, 'an integer of at least 9'],
    [{ rounds: true }, 'an integer'],
    [{ blockSizes: '' }, 'must not be empty'],
    [{ blockSizes: [] }, 'at least one item'],
    [{ blockSizes: 3 }, 'takes a list'],
    [{ peers: 'oracle' }, '--peers takes postgres, sqlite, not "oracle"'],
    [{ walkOrder: 'bakward' }, 'scan\'s walk-order takes forward, backward, not "bakward"; did you mean "backward"?'],
    [{ walkOrder: 'sideways' }, /not "sideways"$/],
    [{ directory: 3 }, 'takes text'],
    [{ cold: 'yes' }, 'true or false, not "yes"'],
  ])('refuse %j', (given, message) => {
    expect(() => resolveOptions('scan', OPTIONS, given)).toThrow(message);
    expect(() => resolveOptions('scan', OPTIONS, given)).toThrow(RangeError);
  });
  it('name the option that was probably meant', () => {
    expect(() => resolveOptions('scan', OPTIONS, { round: 9 })).toThrow(
      new TypeError('benchmark scan has no option "round"; did you mean "rounds"?'),
    );
  });
  it('have flags in kebab case, or are words of their own', () => {
    expect(Object.keys(OPTIONS).map(optionFlag)).toContain('--block-sizes');
    expect(Object.entries(OPTIONS).flatMap(([name, spec]) => (isPositional(spec) ? [optionWord(name)] : []))).toEqual([
      'walk-order',
    ]);
  });
});

describe('a benchmark', () => {
  const cell = {
    blockSize: 8192,
    engine: 'blockwright',
    medianNs: 1234.5,
    q1Ns: 1200,
    q3Ns: 1300,
    rounds: 9,
    units: 10,
    nsPerUnit: 123.45,
  };
  const benchmark = defineBenchmark({
    name: 'toy',
    summary: 'A toy',
    options: OPTIONS,
    columns: [
      { key: 'engine', title: 'engine' },
      { key: 'nsPerUnit', title: 'ns/row' },
      { key: 'pages', title: 'pages' },
      { key: 'blockSize', title: 'block', format: (size) => `${Number(size) / 1024} kB` },
    ],
    run: async (options) => ({
      results: [{ ...cell, pages: options.rounds * 1000 }],
      aims: [aimAtMost('speed', 1.03, 1.01)],
      settings: { versions: { toy: 1n } },
    }),
  });
  it('reports the machine and every option as used', async () => {
    const report = await benchmark.run({ rounds: 11 }, context);
    expect(report.benchmark).toBe('toy');
    expect(report.machine).toEqual(describeMachine());
    expect(report.settings).toEqual({ ...resolveOptions('toy', OPTIONS, { rounds: 11 }), versions: { toy: 1n } });
    expect(report.results).toEqual([{ ...cell, pages: 11_000 }]);
  });
  it('rejects wrong options before it runs', async () => {
    await expect(benchmark.run({ rounds: 1 }, context)).rejects.toThrow(RangeError);
  });
  it('rejects with the reason of a signal that has fired', async () => {
    await expect(benchmark.run({}, { ...context, signal: AbortSignal.abort(new Error('gone')) })).rejects.toThrow(
      'gone',
    );
  });
  it('prints as a table', async () => {
    const report = await benchmark.run({}, context);
    expect(reportTable(report, benchmark.columns)).toEqual({
      head: ['engine', 'ns/row', 'pages', 'block'],
      rows: [['blockwright', '123', '9,000', '8 kB']],
    });
  });
  it('prints as JSON that every reader takes', () => {
    const report: BenchmarkReport = {
      benchmark: 'toy',
      machine: describeMachine(),
      settings: { big: 12345678901234567890n, none: undefined },
      results: [{ ...cell, ratio: Number.NaN, most: Infinity, least: -Infinity }],
      aims: [],
    };
    const parsed = JSON.parse(reportJson(report)) as Record<string, any>;
    expect(parsed['settings']).toEqual({ big: '12345678901234567890' });
    expect(parsed['results'][0]).toEqual({ ...cell, ratio: 'NaN', most: 'Infinity', least: '-Infinity' });
  });
});

describe('aims', () => {
  it('are met at the aim itself', () => {
    expect(aimAtLeast('a', 15, 15)).toEqual({ name: 'a', aim: 15, comparison: 'at least', measured: 15, met: true });
    expect(aimAtMost('a', 1.03, 1.03).met).toBe(true);
    expect(aimAtLeast('a', 15, 14.99).met).toBe(false);
    expect(aimAtMost('a', 1.03, 1.031).met).toBe(false);
  });
  it('keep the interval of a comparison', () => {
    const comparison = { ratio: 1.01, low: 1, high: 1.04, confidence: 0.95, differenceSeen: false };
    const aim = aimAtMost('cursor', 1.03, comparison);
    expect(aim).toMatchObject({ measured: 1.01, met: true, interval: [1, 1.04] });
    expect(aimText(aim)).toBe('cursor: 1.010 (1.000 to 1.040), aim at most 1.03: met');
  });
  it('are neither met nor missed when nothing was measured', () => {
    const aim = aimAtLeast('against PostgreSQL', 4, null);
    expect(aim).toMatchObject({ measured: null, met: null });
    expect(aimText(aim)).toBe('against PostgreSQL: not measured, aim at least 4');
  });
});

describe('the machine', () => {
  it('is described', () => {
    const machine = describeMachine();
    expect(machine.cores).toBeGreaterThan(0);
    expect(machine.node).toBe(process.versions.node);
    expect(machineText({ ...machine, lastLevelCacheBytes: 32 * 2 ** 20 })).toContain('last-level cache 32 MB');
    expect(machineText({ ...machine, lastLevelCacheBytes: null })).not.toContain('cache');
  });
  it('has the largest cache that is not for instructions', () => {
    const directory = mkdtempSync(join(tmpdir(), 'caches-'));
    try {
      for (const [index, type, size] of [
        [0, 'Data', '32K'],
        [1, 'Instruction', '64M'],
        [2, 'Unified', '1024K'],
        [3, 'Unified', '16M'],
      ]) {
        mkdirSync(join(directory, `index${index}`));
        writeFileSync(join(directory, `index${index}`, 'type'), `${type}\n`);
        writeFileSync(join(directory, `index${index}`, 'size'), `${size}\n`);
      }
      mkdirSync(join(directory, 'power'));
      expect(linuxCacheBytes(directory)).toBe(16 * 2 ** 20);
      expect(linuxCacheBytes(join(directory, 'none'))).toBeNull();
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
