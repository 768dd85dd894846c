// The disk fails, too: it is full, a sync fails, a file cannot be cut, writes are short. What the engine says then, and that
// it and the model agree afterwards, and after a crash.
import type { VfsOperation } from '@blockwright/vfs/simulated';
import { describe, expect, test } from 'vitest';
import { newDisk } from './engine.ts';
import { crashSomewhere } from './explore.ts';
import { Random } from './random.ts';
import { Timeline } from './timeline.ts';

const isSlow = process.env.BLOCKWRIGHT_SLOW !== undefined;
const BLOCK_SIZE = 8192;
const ACTIONS = 30;
/** Of all calls of a run that could fail, so many are made to; in the long run each of them. */
const FAILURES = isSlow ? Number.POSITIVE_INFINITY : 16;
const SEEDS = Array.from({ length: isSlow ? 40 : 4 }, (_, seed) => seed);

/** How many calls of a kind a run makes. */
async function callsOf(seed: number, operation: VfsOperation): Promise<number> {
  const disk = newDisk(BLOCK_SIZE);
  disk.recording = true;
  await Timeline.start(BLOCK_SIZE).workload(seed, ACTIONS, disk);
  return disk.calls(operation).length;
}

/** Numbers from 1 to `count`: all, or some of them spread evenly. */
function some(count: number): number[] {
  const step = Math.max(1, count / FAILURES);
  return Array.from({ length: Math.floor(count / step) }, (_, i) => 1 + Math.floor(i * step));
}

describe.each(SEEDS)('run %i', (seed) => {
  test('a full disk fails a statement or a commit, at whichever write, and the engine goes on', async () => {
    let hits = 0;
    for (const nth of some(await callsOf(seed, 'write'))) {
      const disk = newDisk(BLOCK_SIZE);
      const fault = disk.plant({ operation: 'write', errno: 'ENOSPC', nth });
      const timeline = await Timeline.start(BLOCK_SIZE).workload(seed, ACTIONS, disk, { tolerated: ['53100'] });
      hits += fault.hits;
      timeline.crash(crashSomewhere(timeline, new Random(nth)));
      timeline.crash({ operation: timeline.disk.operations, survival: 'synced' });
    }
    expect(hits).toBeGreaterThan(3);
  });

  test.each(['sync', 'datasync', 'syncDirectory'] as const)(
    'a failing %s stops the engine until it is opened again',
    async (operation) => {
      let hits = 0;
      for (const nth of some(await callsOf(seed, operation))) {
        const disk = newDisk(BLOCK_SIZE);
        disk.failedSyncKeepsPages = nth % 2 === 0;
        const fault = disk.plant({ operation, errno: 'EIO', nth });
        const timeline = await Timeline.start(BLOCK_SIZE).workload(seed, ACTIONS, disk, { tolerated: ['58030'] });
        hits += fault.hits;
        timeline.crash(crashSomewhere(timeline, new Random(nth)));
        // The system goes on, with pages in its cache that are not on the disk and never will be.
        const reopened = timeline.reopen();
        reopened.crash({ operation: reopened.disk.operations, survival: 'synced' });
      }
      expect(hits).toBeGreaterThan(3);
    },
  );
});

test('a file that cannot be cut is warned of, or stops the engine; what was promised is there', async () => {
  let hits = 0;
  for (const seed of [1, 5, 9]) {
    for (const nth of some(await callsOf(seed, 'truncate'))) {
      const disk = newDisk(BLOCK_SIZE);
      const fault = disk.plant({ operation: 'truncate', errno: 'EIO', nth });
      const timeline = await Timeline.start(BLOCK_SIZE).workload(seed, ACTIONS, disk, {
        tolerated: ['58030'],
        mayGoOn: true,
      });
      hits += fault.hits;
      timeline.crash(crashSomewhere(timeline, new Random(nth)));
      timeline.crash({ operation: timeline.disk.operations, survival: 'all' });
    }
  }
  expect(hits).toBeGreaterThan(10);
});

test('short writes are nothing that is noticed', async () => {
  for (const seed of SEEDS) {
    const disk = newDisk(BLOCK_SIZE);
    disk.maxWriteBytes = 300;
    const timeline = await Timeline.start(BLOCK_SIZE).workload(seed, ACTIONS, disk);
    const whole = await Timeline.start(BLOCK_SIZE).workload(seed, ACTIONS);
    expect(timeline.disk.operations).toBeGreaterThan(whole.disk.operations + 10);
    const random = new Random(seed);
    for (let i = 0; i < 10; i++) timeline.crash(crashSomewhere(timeline, random));
  }
});
