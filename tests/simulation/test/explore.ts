// Crashes of one timeline: at every operation, during the recovery from them, and in what comes afterwards.
import { Random } from './random.ts';
import type { Crash, Timeline } from './timeline.ts';

export interface Exploring {
  /** Every so manieth crash is followed by one, sometimes two, during its recovery. */
  readonly again: number;
  /** Every so manieth crash is followed by another workload, and crashes of that. */
  readonly goOn: number;
  /** No more crashes than that. */
  readonly most?: number;
}

/** A crash before an operation, and what it loses: everything, nothing, or as a seed has it. */
function crashAt(operation: number, random: Random): Crash {
  const kind = random.below(8);
  return { operation, survival: kind === 0 ? 'all' : kind === 1 ? 'synced' : random.below(1 << 30) };
}

export function crashSomewhere(timeline: Timeline, random: Random): Crash {
  return crashAt(random.below(timeline.disk.operations + 1), random);
}

/** Crashes at every operation of a timeline, in order. @returns how many crashes there were. @throws Mismatch */
export async function crashEverywhere(timeline: Timeline, seed: number, exploring: Exploring): Promise<number> {
  const random = new Random(seed);
  const { again, goOn, most = Number.POSITIVE_INFINITY } = exploring;
  let crashes = 0;
  for (let operation = 0; operation <= timeline.disk.operations && crashes < most; operation++) {
    const recovered = timeline.crash(crashAt(operation, random));
    crashes++;
    if (random.once(again)) {
      const second = recovered.crash(crashSomewhere(recovered, random));
      crashes++;
      if (random.once(3)) {
        second.crash(crashSomewhere(second, random));
        crashes++;
      }
    }
    if (random.once(goOn)) {
      const next = await recovered.workload(random.below(1 << 30), 15);
      for (let i = 0; i < 3; i++) next.crash(crashSomewhere(next, random));
      crashes += 3;
    }
  }
  return crashes;
}

const PAGE_WRITE = /^write .*\/base\//;
const CRASHES = 8;

/**
 * A few crashes of a timeline, half of them just after a page was written, when it may be torn; and what comes after some
 * of them: tables are made then, and all is opened once more. @throws Mismatch
 */
export async function crashSometimes(timeline: Timeline, seed: number): Promise<void> {
  const random = new Random(seed);
  const { disk } = timeline;
  const writes = Array.from({ length: disk.operations }, (_, k) => k).filter((k) => PAGE_WRITE.test(disk.describe(k)));
  for (let i = 0; i < CRASHES; i++) {
    const operation = i % 2 === 0 && writes.length > 0 ? random.pick(writes) + 1 : random.below(disk.operations + 1);
    const survival = i === CRASHES - 1 ? 'all' : random.below(1 << 30);
    const recovered = timeline.crash({ operation, survival });
    if (i % 4 !== 3 && seed % 5 !== 1) continue;
    const next = await recovered.workload(5 * random.below(1000) + 1, 12);
    next.crash({ operation: next.disk.operations, survival: 'all' });
  }
}
