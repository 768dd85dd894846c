// The benchmark end to end, small; and its canaries: a transaction that is lost, and clients that meet.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BenchmarkContext, WrongAnswerError } from '@blockwright/benchmark';
import { tpcbBenchmark } from '@blockwright/benchmark-tpcb';
import type { TpcbSums } from '@blockwright/benchmark-workloads';
import { postgresIsExpected, sqliteIsInstalled } from '@blockwright/peers';
import { afterAll, describe, expect, it } from 'vitest';
import { verify } from '../src/benchmark.ts';
import { openOurs } from '../src/our-subject.ts';
import { TpcbDriver } from '../src/subject.ts';

const folder = mkdtempSync(join(tmpdir(), 'blockwright-tpcb-test-'));
afterAll(() => rmSync(folder, { recursive: true }));
const context: BenchmarkContext = { log: () => {}, progress: () => {}, signal: new AbortController().signal };
const SMALL = { accounts: 100, seconds: 0.05, folder, buffers: '16MB' };
const SIZE = { branches: 2, accountsABranch: 50 };
const OURS = { folder, clients: 4, size: SIZE, buffers: '4MB' };

describe('bench tpcb', () => {
  it('runs both settings with each number of clients, and leaves nothing behind', async () => {
    const options = { ...SMALL, blockSizes: ['1kB', '8kB'], clients: ['1', '3'], peers: ['none'] };
    const { results, aims } = await tpcbBenchmark.run(options, context);
    expect(results.map(({ blockSize, variant, clients }) => `${blockSize} ${variant} ${String(clients)}`)).toEqual(
      ['synchronous', 'asynchronous'].flatMap((setting) =>
        [1024, 8192].flatMap((size) => [1, 3].map((clients) => `${size} ${setting} ${clients}`)),
      ),
    );
    for (const { perSecond, p50, p95, p99 } of results) {
      expect(perSecond).toBeGreaterThan(0);
      expect(p50).toBeGreaterThan(0);
      expect(p95).toBeGreaterThanOrEqual(p50 as number);
      expect(p99).toBeGreaterThanOrEqual(p95 as number);
    }
    expect(aims).toHaveLength(2 * results.length);
    expect(aims.every(({ measured }) => measured === null)).toBe(true);
    expect(readdirSync(folder)).toEqual([]);
  });

  it.runIf(postgresIsExpected() && sqliteIsInstalled())('is held against PostgreSQL and SQLite', async () => {
    const options = { ...SMALL, blockSizes: ['8kB'], clients: ['2'] };
    const { results, aims } = await tpcbBenchmark.run(options, context);
    expect(results.map(({ engine }) => engine.split(' ')[0])).toEqual([
      'blockwright',
      'blockwright',
      'SQLite',
      'SQLite',
      'PostgreSQL',
      'PostgreSQL',
    ]);
    expect(aims.map(({ measured }) => measured !== null)).toEqual([true, true, true, true]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('refuses more clients than branches, and what is no number of clients', async () => {
    const run = (options: object): Promise<unknown> => tpcbBenchmark.run({ ...SMALL, ...options }, context);
    await expect(run({ clients: ['4'], scale: 3 })).rejects.toThrow(/--scale 3/);
    await expect(run({ clients: ['many'] })).rejects.toThrow(/--clients/);
    await expect(run({ buffers: 'many' })).rejects.toThrow(/--buffers/);
    await expect(run({ peers: ['none', 'sqlite'] })).rejects.toThrow(/none stands alone/);
  });
});

describe('our side', () => {
  it('retries what met another client, and loses nothing', async () => {
    const subject = await openOurs({ ...OURS, synchronous: true }, 8192);
    try {
      const { committed, retries, latenciesMs } = await new TpcbDriver(subject, 4, SIZE, 7).run(200);
      expect(committed).toBe(200);
      expect(retries).toBeGreaterThan(0); // four clients, two branches
      expect(latenciesMs.every((ms) => ms > 0)).toBe(true);
      const sums = (await subject.sums()) as TpcbSums;
      expect(sums.transactions).toBe(200);
      expect(new Set([sums.accounts, sums.tellers, sums.branches, sums.history]).size).toBe(1);
    } finally {
      await subject.close();
    }
  });

  it('is not believed when it gives a wrong balance', async () => {
    const subject = await openOurs({ ...OURS, synchronous: false }, 8192);
    try {
      const lying = {
        ...subject,
        attempt: async (...args: Parameters<typeof subject.attempt>) => (await subject.attempt(...args)) + 1,
      };
      await expect(new TpcbDriver(lying, 1, SIZE, 3).run(1)).rejects.toThrow(WrongAnswerError);
    } finally {
      await subject.close();
    }
  });

  it('is not believed when a transaction that was told to have committed is not there', async () => {
    const subject = await openOurs({ ...OURS, synchronous: false }, 8192);
    try {
      await expect(verify(subject, 1)).rejects.toThrow(WrongAnswerError);
      await expect(verify(subject, 0)).resolves.toBeUndefined();
    } finally {
      await subject.close();
    }
  });
});
