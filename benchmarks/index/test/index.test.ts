// The benchmark end to end, small: what it reports at each block size, and beside the peers.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BenchmarkContext, WrongAnswerError } from '@blockwright/benchmark';
import { indexBenchmark } from '@blockwright/benchmark-index';
import { postgresIsExpected, sqliteIsInstalled } from '@blockwright/peers';
import { afterAll, describe, expect, it } from 'vitest';
import { measure } from '../src/benchmark.ts';
import { drawLookUps, KEY_KINDS, makeKeys } from '../src/keys.ts';
import { expectRows, type Work } from '../src/subject.ts';

const folder = mkdtempSync(join(tmpdir(), 'blockwright-index-test-'));
afterAll(() => rmSync(folder, { recursive: true }));
const context: BenchmarkContext = { log: () => {}, progress: () => {}, signal: new AbortController().signal };
const SMALL = { rows: 400, lookups: 50, folder, buffers: '16MB' };

describe('bench index', () => {
  it('builds, inserts and looks up each kind of key at each block size, and leaves nothing behind', async () => {
    const { results, aims } = await indexBenchmark.run(
      { ...SMALL, blockSizes: ['1kB', '8kB'], peers: ['none'] },
      context,
    );
    expect(results).toHaveLength(2 * 3 * KEY_KINDS.length);
    for (const { query, blockSize, perSecond, indexBytes, levels } of results) {
      expect(perSecond).toBeGreaterThan(0);
      if (query === 'look-up') continue;
      expect(indexBytes).toBeGreaterThan(400 * 16);
      expect(levels).toBeGreaterThanOrEqual(blockSize === 1024 ? 1 : 0);
    }
    expect(aims.every(({ name, measured }) => name.startsWith('8kB') && measured === null)).toBe(true);
    expect(readdirSync(folder)).toEqual([]);
  });

  it.runIf(postgresIsExpected() && sqliteIsInstalled())(
    'is held against PostgreSQL and SQLite, and its indexes are as large as PostgreSQL makes them',
    async () => {
      const { results, aims } = await indexBenchmark.run({ ...SMALL, rows: 5000, blockSizes: ['8kB'] }, context);
      expect(new Set(results.map(({ engine }) => engine.split(' ')[0]))).toEqual(
        new Set(['blockwright', 'SQLite', 'PostgreSQL']),
      );
      expect(aims.every(({ measured }) => measured !== null)).toBe(true);
      const sizes = aims.filter(({ name }) => name.includes('size'));
      expect(sizes).toHaveLength(2 * KEY_KINDS.length);
      expect(sizes.map(({ name, met }) => [name, met])).toEqual(sizes.map(({ name }) => [name, true]));
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  it('refuses what it cannot run', async () => {
    await expect(indexBenchmark.run({ ...SMALL, workMem: 'some' }, context)).rejects.toThrow(/--work-mem/);
    await expect(indexBenchmark.run({ ...SMALL, workMem: '1kB' }, context)).rejects.toThrow(/--work-mem "1kB".*64kB/);
    await expect(indexBenchmark.run({ ...SMALL, peers: ['none', 'sqlite'] }, context)).rejects.toThrow(
      /none stands alone/,
    );
    await expect(indexBenchmark.run({ ...SMALL, keys: ['names'] }, context)).rejects.toThrow(/names/);
    await expect(indexBenchmark.run({ ...SMALL, folder: '/nowhere' }, context)).rejects.toThrow(/--folder/);
  });
});

describe('an index that lacks a row', () => {
  /** One work whose index has as many rows as `rowsAfter` says of each run; how often it ran, and was verified. */
  const runWith = async (rowsAfter: (run: number) => number): Promise<{ runs: number; verified: number }> => {
    const counts = { runs: 0, verified: 0 };
    const work: Work = {
      query: 'build',
      kind: 'sequential',
      form: undefined,
      units: 1,
      prepare: () => {},
      run: () => {
        counts.runs++;
        return 1;
      },
      expected: 1,
      verify: () => {
        counts.verified++;
        expectRows('some engine', 'its index', rowsAfter(counts.runs), 400);
      },
      size: () => undefined,
    };
    const subject = { engine: 'some', blockSize: 8192, isPeer: false, settings: {}, works: [work], close: () => {} };
    await measure([subject], { rounds: 9, seed: 1, missing: [] }, context);
    return counts;
  };

  it('is not believed: each is looked at once, that of the last run too', async () => {
    const { runs, verified } = await runWith(() => 400);
    expect(runs).toBeGreaterThan(9);
    expect(verified).toBe(runs);
    await expect(runWith((run) => (run === 3 ? 399 : 400))).rejects.toThrow(WrongAnswerError);
  });
});

describe('keys', () => {
  it.each(KEY_KINDS)('%s are all different, and the same for the same seed', (kind) => {
    const { values } = makeKeys(kind, 1000, 5);
    expect(new Set(values).size).toBe(1000);
    expect(makeKeys(kind, 1000, 5).values).toEqual(values);
    if (kind === 'uuid')
      for (const key of values)
        expect(key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('are looked up in a random order, each once as long as there are enough', () => {
    const { rows, sum } = drawLookUps(makeKeys('random', 100, 1), 100, 2);
    expect(new Set(rows).size).toBe(100);
    expect(sum).toBe((99 * 100) / 2);
    expect([...rows]).not.toEqual([...rows].sort((a, b) => a - b));
  });
});
