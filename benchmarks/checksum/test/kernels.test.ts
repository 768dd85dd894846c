// The kernel part's answers, not its times.
import { existsSync, readFileSync } from 'node:fs';
import type { BenchmarkContext } from '@blockwright/benchmark';
import { checksumBenchmark } from '@blockwright/benchmark-checksum';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { checksumKernel } from '@blockwright/page';
import { describe, expect, it } from 'vitest';
import { measureKernels } from '../src/kernels.ts';
import { secondOpinions } from '../src/second-opinion.ts';
import { makePages, TYPESCRIPT, VARIANTS } from '../src/variants.ts';

const context: BenchmarkContext = {
  log: () => {},
  progress: () => {},
  signal: new AbortController().signal,
};

describe.each(BLOCK_SIZES)('at %i bytes', (size) => {
  const g = BlockGeometry.of(size);
  it('every variant gives each page the checksum that the description gives it', () => {
    const pages = makePages(5 * size);
    for (let i = 0; i < pages.ordinary.u32.length; i++) pages.ordinary.u32[i] = Math.imul(i + 7, 2654435761);
    const right = secondOpinions(pages.ordinary.u8, size);
    expect(new Set(right).size).toBe(5);
    for (const [name, { run }] of Object.entries(VARIANTS)) {
      const out = new Uint32Array(5);
      run(pages, g, out);
      expect([name, ...out]).toEqual([name, ...right]);
    }
  });
});

describe('the second opinion', () => {
  it.each(BLOCK_SIZES)('is the checksum that a PostgreSQL server of %i bytes a block stored on its pages', (size) => {
    const directory = new URL(`../../../fixtures/pg/${size / 1024}k/`, import.meta.url);
    const relations = readFileSync(new URL('expect/relations.txt', directory), 'utf8').trim().split('\n');
    const paths = relations.map((line) => line.split(' ')[2] as string);
    let pages = 0;
    for (const path of paths) {
      const file = new URL(`pgdata/${path}`, directory);
      const bytes = existsSync(file) ? new Uint8Array(readFileSync(file)) : new Uint8Array();
      const words = new Uint16Array(bytes.buffer, 0, bytes.length / 2);
      for (const [block, checksum] of secondOpinions(bytes, size).entries()) {
        const stored = words[block * (size / 2) + 4];
        if (stored === 0) continue; // never initialised
        expect([path, block, checksum]).toEqual([path, block, stored]);
        pages++;
      }
    }
    expect(pages).toBeGreaterThan(10);
  });
});

describe('bench checksum', () => {
  const small = { parts: ['kernels'], blockSizes: ['1kB', '32kB'], rounds: 9, cacheBytes: 65536, memoryBytes: 131072 };

  it('reports every variant in both places, its aims, and how checksums are computed here', async () => {
    const report = await checksumBenchmark.run(small, context);
    const names = Object.keys(VARIANTS);
    expect(report.settings['kernel']).toBe(checksumKernel());
    expect(checksumKernel()).toBe('simd');
    expect(report.results.map(({ place, blockSize, variant }) => [place, blockSize, variant])).toEqual(
      ['cache', 'memory'].flatMap((place) => [1024, 32768].flatMap((size) => names.map((name) => [place, size, name]))),
    );
    for (const cell of report.results) {
      expect(cell['bytesPerNs']).toBeCloseTo(cell.units / cell.medianNs, 9);
      if (cell.variant === TYPESCRIPT) expect(cell['ratio']).toBe(1);
    }
    expect(report.aims.map(({ name, aim }) => [name, aim])).toEqual([
      ['SIMD over TypeScript, 1kB, pages in cache', 4],
      ['SIMD over TypeScript, 32kB, pages in cache', 4],
    ]);
    expect(report.notes).toEqual([
      expect.stringMatching(/^Pages in cache: SIMD in place was [\d.]+ to [\d.]+ times as fast/),
      expect.stringMatching(/^Pages in memory: SIMD in place was [\d.]+ to [\d.]+ times as fast/),
      expect.stringMatching(/^Pages in cache have 0\.06 MB together, those in memory 0\.13 MB/),
    ]);
  });

  it('canary: a wrong checksum is found', async () => {
    const variant = VARIANTS['simd in place'] as { run: (typeof VARIANTS)[string]['run'] };
    const { run } = variant;
    try {
      variant.run = (pages, g, out) => {
        run(pages, g, out);
        out[out.length - 1]! ^= 1;
      };
      const settings = { sizes: [1024] as const, rounds: 9, cacheBytes: 65536, memoryBytes: 65536, seed: 1 };
      await expect(measureKernels(settings, context)).rejects.toThrow(/gave page 63 of 1kB the checksum/);
    } finally {
      variant.run = run;
    }
  });
});
