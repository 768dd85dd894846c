// The engine crashed at every file operation of random runs. `BLOCKWRIGHT_SIMULATION_SEED="8192 w7.60 c123.5"`, as a
// failure prints it, does that alone again.
import { describe, expect, test } from 'vitest';
import { crashEverywhere } from './explore.ts';
import { replay, Timeline } from './timeline.ts';

const script = process.env.BLOCKWRIGHT_SIMULATION_SEED;
const isSlow = process.env.BLOCKWRIGHT_SLOW !== undefined;
const SIZES = [1024, 8192, 32768] as const;
const SLOW_CRASHES = 20_000;

test.runIf(script !== undefined)('the script that was asked for', async () => {
  await replay(script as string);
});

// A seed is of one of five kinds of workload, in turn; of every other five the disk has no data checksums.
const RUNS = { 1024: [0, 1, 2, 3, 4, 9], 8192: [5, 14], 32768: [7, 19] } as const;

describe.skipIf(script !== undefined).each(SIZES)('at %i bytes', (blockSize) => {
  test.each(RUNS[blockSize])('a crash at every operation loses nothing that was promised: run %i', async (seed) => {
    const timeline = await Timeline.startFor(blockSize, seed).workload(seed, 30);
    const crashes = await crashEverywhere(timeline, seed, { again: 8, goOn: 30 });
    expect(crashes).toBeGreaterThan(timeline.disk.operations);
  });

  test.runIf(isSlow)(
    'as do many more',
    async () => {
      let crashes = 0;
      for (let seed = 0; crashes < SLOW_CRASHES / SIZES.length; seed++) {
        const timeline = await Timeline.startFor(blockSize, seed).workload(seed, 60);
        crashes += await crashEverywhere(timeline, seed, { again: 8, goOn: 30 });
      }
    },
    7_200_000,
  );
});
