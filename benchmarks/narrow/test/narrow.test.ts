// The benchmark end to end, small: what it reports, and that a lost update is not believed.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchmarkContext } from '@blockwright/benchmark';
import { narrowBenchmark } from '@blockwright/benchmark-narrow';
import { afterAll, describe, expect, it } from 'vitest';
import { openNarrow } from '../src/subject.ts';

const folder = mkdtempSync(join(tmpdir(), 'blockwright-narrow-test-'));
afterAll(() => rmSync(folder, { recursive: true }));
const context: BenchmarkContext = { log: () => {}, progress: () => {}, signal: new AbortController().signal };
const SMALL = { rows: 300, transactions: 40, rounds: 9, folder };

describe('bench narrow', () => {
  it('updates the same rows with each way to compact, scans what they left, and leaves nothing behind', async () => {
    const report = await narrowBenchmark.run({ ...SMALL, blockSizes: ['1kB', '32kB'] }, context);
    expect(report.results.map(({ blockSize, variant }) => `${String(blockSize)} ${String(variant)}`)).toEqual(
      [1024, 32768].flatMap((size) => ['sort', 'workspace', 'adaptive'].map((way) => `${size} ${way}`)),
    );
    for (const cell of report.results) {
      expect(cell.perSecond).toBeGreaterThan(0);
      expect(cell.scanNs).toBeGreaterThan(0);
      expect(cell.hotPercent).toBeGreaterThan(20);
      expect(cell.hotPercent).toBeLessThanOrEqual(100);
      expect(cell.tableBytes).toBeGreaterThan(300 * 40);
    }
    expect(report.aims.map(({ name, measured }) => [name, measured !== null])).toEqual(
      ['1kB', '32kB'].flatMap((size) => [
        [`${size}: adaptive's transactions a second over sort's`, true],
        [`${size}: adaptive's speed of the scan afterwards over sort's`, true],
      ]),
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  it('counts every update in the rows themselves', () => {
    const options = { folder, blockSize: 2048, compaction: 'adaptive', rows: 50, buffers: '1MB', seed: 2 } as const;
    const subject = openNarrow(options);
    try {
      expect(subject.scan()).toEqual({ rows: 50, updates: 0 });
      expect(subject.update(137)).toBe(137);
      expect(subject.scan()).toEqual({ rows: 50, updates: 137 });
    } finally {
      subject.close();
    }
  });

  it('refuses what it cannot run', async () => {
    await expect(narrowBenchmark.run({ ...SMALL, buffers: 'many' }, context)).rejects.toThrow(/--buffers/);
    await expect(narrowBenchmark.run({ ...SMALL, folder: '/nowhere' }, context)).rejects.toThrow(/--folder/);
    await expect(narrowBenchmark.run({ ...SMALL, compaction: ['bubble'] }, context)).rejects.toThrow(/bubble/);
  });
});
