// The benchmark's answers, not its times: every variant at every size, in both walks, against the definition.

import type { BenchmarkContext } from '@blockwright/benchmark';
import { geometryBenchmark } from '@blockwright/benchmark-geometry';
import { BLOCK_SIZES, BlockGeometry, formatBlockSize } from '@blockwright/geometry';
import { describe, expect, it } from 'vitest';
import { makeScene } from '../src/benchmark.ts';
import { compileWalk, VARIANTS, type VariantName } from '../src/variants.ts';
import { fillMapPage, isAllVisible, mapMemory, randomTids, rightAnswer, sequentialTids } from '../src/walks.ts';

const context = (over: Partial<BenchmarkContext> = {}): BenchmarkContext => ({
  log: () => {},
  progress: () => {},
  signal: new AbortController().signal,
  ...over,
});
const names = Object.keys(VARIANTS) as VariantName[];

describe.each(BLOCK_SIZES)('at %i bytes', (size) => {
  const g = BlockGeometry.of(size);
  it.each(['sequential', 'random'] as const)('every variant computes the same on the %s walk', (walk) => {
    // enough heap blocks for several map pages at every size
    const scene = makeScene(walk, g, { tids: 20_000, heapBlocks: 400_000, rounds: 30, seed: size });
    try {
      const { tids, length, stretches, answers, walks } = scene;
      expect([...walks.keys()]).toEqual(names);
      if (walk === 'random') expect(new Set(tids.blocks.map((block) => g.vmBlockOf(block))).size).toBeGreaterThan(3);
      for (const [name, instances] of walks) {
        for (let stretch = 0; stretch < stretches; stretch++) {
          const got = instances.map((run) => run(tids, stretch * length, (stretch + 1) * length));
          expect([name, stretch, ...new Set(got)]).toEqual([name, stretch, answers[stretch]]);
        }
      }
    } finally {
      scene.close();
    }
  });
  it('the map has the bits that the definition says, on its last page too', () => {
    const lastPage = g.vmBlockOf(2 ** 32 - 2);
    const page = new Uint8Array(size);
    fillMapPage(g, lastPage, page, 0);
    for (const block of [g.firstHeapBlockOf(lastPage), 2 ** 32 - 3, 2 ** 32 - 2]) {
      const bits = page[24 + g.vmByteOf(block)]! >>> g.vmShiftOf(block);
      expect((bits & 1) === 1).toBe(isAllVisible(block));
    }
  });
});

describe('walks', () => {
  const g = BlockGeometry.of(8192);
  it('read as many TIDs a block as rows fit', () => {
    const { blocks, offsets } = sequentialTids(g, 200, 2 ** 31 - 1);
    expect([blocks[0], offsets[0], blocks[57], offsets[57], blocks[58], offsets[58]]).toEqual([
      2 ** 31 - 1,
      1,
      2 ** 31 - 1,
      58,
      2 ** 31,
      1,
    ]);
  });
  it('are drawn from the seed', () => {
    expect(randomTids(g, 100, 1e6, 5)).toEqual(randomTids(g, 100, 1e6, 5));
    expect(randomTids(g, 100, 1e6, 5)).not.toEqual(randomTids(g, 100, 1e6, 6));
    expect(Math.max(...randomTids(g, 1000, 50, 5).blocks)).toBeLessThan(50);
  });
  it('have an answer that depends on each block', () => {
    const tids = randomTids(g, 100, 1e6, 5);
    const before = rightAnswer(tids, 0, 100);
    const invisible = Array.from({ length: 1000 }, (_, block) => block).find((block) => !isAllVisible(block))!;
    const at = tids.blocks.findIndex(isAllVisible);
    tids.blocks[at] = invisible;
    expect(rightAnswer(tids, 0, 100)).not.toBe(before);
  });
  it('lay map pages into shuffled buffers', () => {
    const { bufferOf, u8 } = mapMemory(g, 2, 8, 3);
    expect([...bufferOf.slice(2)].sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect([...bufferOf.slice(2)]).not.toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(u8.length).toBe(8 * 8192);
  });
});

describe('variants', () => {
  const g = BlockGeometry.of(8192);
  it('are functions of their own, named for disassemblies', () => {
    expect(names.map((name) => compileWalk(name, g).name)).toEqual([
      'literalWalk',
      'literalWindowWalk',
      'windowWalk',
      'cursorWalk',
      'cursorRunsWalk',
      'foldWalk',
      'multiplicationWalk',
      'divisionWalk',
    ]);
    expect(compileWalk('fold', g)).not.toBe(compileWalk('fold', g));
  });
  it('have literals where they say so, and none of the geometry else', () => {
    for (const name of names) {
      const body = String(compileWalk(name, g)).split('let answer')[1] as string;
      expect([name, /\b(?:32672|13)\b/.test(body)]).toEqual([name, name.startsWith('literal')]);
    }
  });
});

describe('bench geometry', () => {
  const small = { blockSizes: ['1kB', '32kB'], rounds: 30, tids: 2000, heapBlocks: 300_000 };
  it('reports every variant, its aims and what was seen', async () => {
    const lines: string[] = [];
    const report = await geometryBenchmark.run(small, context({ log: (line) => lines.push(line) }));
    expect(report.results.length).toBe(2 * 2 * names.length);
    for (const cell of report.results) {
      expect(cell.rounds).toBe(30);
      expect(cell.q1Ns).toBeLessThanOrEqual(cell.medianNs);
      expect(cell.medianNs).toBeLessThanOrEqual(cell.q3Ns);
      expect(cell['ratioLow']).toBeLessThanOrEqual(cell['ratio'] as number);
      expect(cell.nsPerUnit).toBeCloseTo(cell.medianNs / cell.units, 9);
    }
    expect(report.results.filter(({ variant }) => variant === 'literal').map(({ ratio }) => ratio)).toEqual([
      1, 1, 1, 1,
    ]);
    expect(report.aims.map(({ name, aim, comparison }) => [name, aim, comparison])).toEqual(
      [1024, 32768].map((size) => [
        `run-time geometry over literal constants, sequential, ${formatBlockSize(size as 1024)}`,
        1.03,
        'at most',
      ]),
    );
    for (const aim of report.aims) expect(aim.met).toBe(aim.measured! <= 1.03);
    expect(report.notes?.length).toBe(1 + 4 + 1);
    expect(report.settings).toMatchObject({ rounds: 30, tids: 2000, heapBlocks: 300_000, seed: 1 });
    expect(lines).toEqual(['sequential walk, 1kB', 'sequential walk, 32kB', 'random walk, 1kB', 'random walk, 32kB']);
  });
  it('has no aim without the walk that it is measured on', async () => {
    const report = await geometryBenchmark.run({ ...small, blockSizes: ['8kB'], walks: ['random'] }, context());
    expect(report.aims).toEqual([]);
  });
  it.each([
    [{ rounds: 29 }, 'at least|from 30'],
    [{ blockSizes: ['3kB'] }, 'must be 1kB'],
    [{ walks: ['zigzag'] }, 'sequential, random'],
    [{ heapBlocks: 2 ** 32 }, 'from 1000 to 4294967295'],
  ])('refuses %j', async (options, message) => {
    await expect(geometryBenchmark.run(options, context())).rejects.toThrow(new RegExp(message));
    await expect(geometryBenchmark.run(options, context())).rejects.toThrow(RangeError);
  });
  it('stops when it is told to', async () => {
    const controller = new AbortController();
    const progress = () => controller.abort(new Error('stop'));
    await expect(geometryBenchmark.run(small, context({ signal: controller.signal, progress }))).rejects.toThrow(
      'stop',
    );
  });
});
