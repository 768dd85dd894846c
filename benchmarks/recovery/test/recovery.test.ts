// The benchmark end to end, small: what it reports, its canary, and PostgreSQL beside it.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BenchmarkContext, WrongAnswerError } from '@blockwright/benchmark';
import { recoveryBenchmark } from '@blockwright/benchmark-recovery';
import { postgresIsExpected } from '@blockwright/peers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CrashedDirectory, makeCrashedDirectory } from '../src/crashed.ts';
import { replay } from '../src/replay.ts';
import { workloadOf } from '../src/workload.ts';

const folder = mkdtempSync(join(tmpdir(), 'blockwright-recovery-test-'));
afterAll(() => rmSync(folder, { recursive: true }));
const { signal } = new AbortController();
const context: BenchmarkContext = { log: () => {}, progress: () => {}, signal };
const SMALL = { rows: 400, updates: 1500, walSegsize: '1MB', folder };

describe('bench recovery', () => {
  it('replays the same WAL with each way to compact, at each block size, and leaves nothing behind', async () => {
    const report = await recoveryBenchmark.run({ ...SMALL, blockSizes: ['1kB', '32kB'] }, context);
    expect(report.results.map(({ blockSize, variant }) => `${blockSize} ${variant}`)).toEqual(
      [1024, 32768].flatMap((size) => ['sort', 'workspace', 'adaptive'].map((way) => `${size} ${way}`)),
    );
    for (const cell of report.results) {
      expect(cell.records).toBeGreaterThan(2 * SMALL.updates);
      expect(cell.redoMs).toBeGreaterThan(0);
      expect(cell.hotPercent).toBeGreaterThan(50);
      expect(cell.hotPercent).toBeLessThanOrEqual(100);
      expect(cell.walBytesPerUpdate).toBeGreaterThan(100);
      expect(cell.imagePercent).toBeGreaterThan(0);
      expect(cell.compactionPercent).toBeGreaterThan(0);
      expect(cell.compactionPercent).toBeLessThan(100);
    }
    const [sort, workspace, adaptive] = report.results;
    expect(sort.records).toBe(adaptive.records);
    expect(sort.records).toBe(workspace.records);
    expect(report.aims.map(({ name, measured }) => [name, measured !== null])).toEqual([
      ["1kB: adaptive's compaction time over sort's in redo", true],
      ["32kB: adaptive's compaction time over sort's in redo", true],
    ]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('has checkpoints between, and so more images, when it is asked for', async () => {
    const images = async (wal: string): Promise<number> => {
      const options = { ...SMALL, blockSizes: ['8kB'], compaction: ['adaptive'], updates: 6000, wal };
      const { results } = await recoveryBenchmark.run(options, context);
      return (results[0].imagePercent as number) * (results[0].walBytes as number);
    };
    expect(await images('1MB')).toBeGreaterThan(await images('1GB'));
  });

  it('runs transactions by key, too, and holds adaptive against sort', async () => {
    const options = { ...SMALL, workload: ['tpcb', 'narrow'], blockSizes: ['4kB'], compaction: ['sort', 'adaptive'] };
    const { results, aims } = await recoveryBenchmark.run({ ...options, updates: 400 }, context);
    expect(results.map(({ query, variant }) => `${query} ${variant}`)).toEqual([
      'tpcb sort',
      'tpcb adaptive',
      'narrow sort',
      'narrow adaptive',
    ]);
    for (const cell of results) expect(cell.records).toBeGreaterThan(2 * 400);
    expect(aims.map(({ name, aim, measured }) => [name, aim, measured !== null])).toEqual([
      ["4kB, tpcb: adaptive's speed of redo over sort's", 1, true],
      ["4kB, narrow: adaptive's speed of redo over sort's", 1, true],
    ]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('refuses sizes and ways that are none', async () => {
    await expect(recoveryBenchmark.run({ ...SMALL, wal: 'much' }, context)).rejects.toThrow(/wal/);
    await expect(recoveryBenchmark.run({ ...SMALL, compaction: ['bubble'] }, context)).rejects.toThrow(/bubble/);
  });

  it.runIf(postgresIsExpected()).each(['tpcb', 'narrow'])('has PostgreSQL run %s and recover', async (workload) => {
    const options = { ...SMALL, workload: [workload], blockSizes: ['8kB'], compaction: ['adaptive'], updates: 500 };
    const { results } = await recoveryBenchmark.run({ ...options, peers: ['postgres'] }, context);
    expect(results.map(({ engine }) => engine)).toEqual(['blockwright', expect.stringMatching(/^PostgreSQL 18/)]);
    expect(results[1].records).toBeGreaterThan(500);
  });

  it.runIf(postgresIsExpected())('has PostgreSQL run as many updates and recover from a crash', async () => {
    const options = { ...SMALL, blockSizes: ['8kB'], compaction: ['adaptive'], updates: 5000, peers: ['postgres'] };
    const { results, aims } = await recoveryBenchmark.run(options, context);
    expect(results.map(({ engine }) => engine)).toEqual(['blockwright', expect.stringMatching(/^PostgreSQL 18/)]);
    expect(results[1].records).toBeGreaterThan(5000);
    expect(results[1].hotPercent).toBeGreaterThan(50);
    expect(aims.at(-1)).toMatchObject({
      name: "8kB: time a record, verifying included, over PostgreSQL's redo",
      aim: 0.5,
    });
  });
});

describe('a recovery of transactions', () => {
  it.each(['tpcb', 'narrow'] as const)('of %s is not believed when one is missing', async (workload) => {
    const size = { blockSize: 1024, buffers: '1MB', maxWal: '1GB', walSegmentSize: '1MB', updates: 50 } as const;
    const run = { ...SMALL, ...size, workload, seed: 4, signal, progress: () => {} };
    const crashed = await makeCrashedDirectory(run);
    try {
      const options = { folder, buffers: '1MB', compaction: 'adaptive', timing: false } as const;
      expect(replay(crashed, options).records).toBeGreaterThan(50);
      expect(() => replay({ ...crashed, transactions: 51 }, options)).toThrow(WrongAnswerError);
    } finally {
      crashed.remove();
    }
  });
});

describe('a recovery', () => {
  let crashed: CrashedDirectory;
  beforeAll(async () => {
    const size = { blockSize: 4096, buffers: '1MB', maxWal: '1GB', walSegmentSize: '1MB' } as const;
    crashed = await makeCrashedDirectory({
      workload: 'update',
      ...SMALL,
      ...size,
      seed: 3,
      signal,
      progress: () => {},
    });
  });
  afterAll(() => crashed.remove());
  const options = { folder, buffers: '1MB', compaction: 'adaptive', timing: false } as const;

  it('is believed when every row and every update is there', () => {
    const report = replay(crashed, options);
    expect(report.records).toBeGreaterThan(2 * SMALL.updates);
  });

  it('is not believed when one is missing', () => {
    const { transactions } = crashed;
    expect(() => replay({ ...crashed, transactions: transactions + 1 }, options)).toThrow(WrongAnswerError);
    const workload = workloadOf('update', SMALL.rows - 1);
    expect(() => replay({ ...crashed, workload }, options)).toThrow(WrongAnswerError);
  });
});
