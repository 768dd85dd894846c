// A wrong answer ends the benchmark, whatever its time: here the definition is broken, and every variant disagrees with it.

import { WrongAnswerError } from '@blockwright/benchmark';
import { geometryBenchmark } from '@blockwright/benchmark-geometry';
import { expect, it, vi } from 'vitest';

vi.mock('../src/walks.ts', async (original) => {
  const walks = await original<typeof import('../src/walks.ts')>();
  return { ...walks, rightAnswer: (...args: Parameters<typeof walks.rightAnswer>) => walks.rightAnswer(...args) + 1 };
});

it('believes no time of a wrong answer', async () => {
  const run = geometryBenchmark.run(
    { blockSizes: ['8kB'], walks: ['sequential'], tids: 1000 },
    { log: () => {}, progress: () => {}, signal: new AbortController().signal },
  );
  await expect(run).rejects.toThrow(WrongAnswerError);
  await expect(run).rejects.toThrow(/computed -?\d+ where -?\d+ is right/);
});
