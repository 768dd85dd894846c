// The simulation proves itself: each fault that is put into the engine is found within 600 seeds.
import { describe, expect, test } from 'vitest';
import { crashSometimes } from './explore.ts';
import { HARMLESS_KINDS, RECORD_KINDS, type RecordKind, SABOTAGE, skipping, WITHOUT_CHECKSUMS } from './sabotage.ts';
import { Timeline } from './timeline.ts';

const SEEDS = 600;
const BLOCK_SIZE = 1024;
const ACTIONS = 40;
/** Prints which seed found what. */
const isTelling = process.env.BLOCKWRIGHT_SIMULATION_TELL !== undefined;

/** Seeds to be tried first, because they are known to find it: all others follow. */
const QUICK: Readonly<Record<string, number>> = {
  'pages before their WAL': 4,
  'entries dead before the commit is durable': 55,
  'XLOG NEXTOID': 56,
  'Heap UPDATE': 7,
  'Heap LOCK': 507,
  'Heap2 PRUNE_ON_ACCESS': 15,
  'Heap2 PRUNE_VACUUM_SCAN': 69,
  'Heap2 VISIBLE': 212,
  'Heap2 MULTI_INSERT': 11,
  'Btree INSERT_META': 14,
  'Btree SPLIT_L': 4,
  'Btree SPLIT_R': 4,
  'Btree INSERT_POST': 24,
  'Btree DEDUP': 4,
  'Btree DELETE': 4,
  'Btree UNLINK_PAGE': 14,
  'Btree UNLINK_PAGE_META': 14,
  'Btree MARK_PAGE_HALFDEAD': 14,
  'Btree VACUUM': 4,
};

/** Runs of the engine as it is, kept for all kinds of records: what is wrong is only how they are replayed. */
const runs = new Map<number, Timeline>();

async function run(seed: number): Promise<Timeline> {
  let timeline = runs.get(seed);
  if (timeline === undefined) {
    timeline = await Timeline.start(BLOCK_SIZE).workload(seed, ACTIONS);
    runs.set(seed, timeline);
  }
  return timeline;
}

/** The seed, of so many, with which something is found; -1 when there is none. */
async function firstFound(seeds: number, quick: number, attempt: (seed: number) => Promise<void>): Promise<number> {
  const order = Array.from({ length: seeds }, (_, seed) => seed).sort(
    (a, b) => Number(b === quick) - Number(a === quick),
  );
  for (const seed of order) {
    try {
      await attempt(seed);
    } catch (error) {
      // A fault of the sabotage itself, or of the engine's own code, finds nothing.
      const { cause } = error as Error;
      if (cause instanceof TypeError || cause instanceof RangeError) throw error;
      return seed;
    }
  }
  return -1;
}

function withoutReplayOf(kind: RecordKind | undefined): (seed: number) => Promise<void> {
  return async (seed) => {
    const timeline = await run(seed);
    const restore = skipping(kind);
    try {
      await crashSometimes(timeline, seed);
    } finally {
      restore();
    }
  };
}

describe('is found', () => {
  test.each(Object.entries(SABOTAGE))('%s', async (name, sabotage) => {
    const restore = sabotage();
    try {
      const found = await firstFound(SEEDS, QUICK[name] ?? 0, async (seed) => {
        await crashSometimes(
          await Timeline.start(BLOCK_SIZE, !WITHOUT_CHECKSUMS.has(name)).workload(seed, ACTIONS),
          seed,
        );
      });
      if (isTelling) console.log(name, found);
      expect(found).toBeGreaterThanOrEqual(0);
    } finally {
      restore();
    }
  });

  test.each(Object.entries(RECORD_KINDS))('that redo passes over %s', async (name, kind) => {
    const found = await firstFound(SEEDS, QUICK[name] ?? 0, withoutReplayOf(kind));
    if (isTelling) console.log(name, found);
    expect(found).toBeGreaterThanOrEqual(0);
  });
});

test.each(Object.entries(HARMLESS_KINDS))(
  'redo does nothing that is needed for %s, as is said there',
  async (_, kind) => {
    expect(await firstFound(12, 0, withoutReplayOf(kind))).toBe(-1);
  },
);

test('without sabotage the same seeds find nothing, and replay every kind of record that is known', async () => {
  const kinds = { ...RECORD_KINDS, ...HARMLESS_KINDS };
  const nameOf = (rmgr: number, info: number): string =>
    Object.keys(kinds).find(
      (name) => kinds[name]?.rmgr === rmgr && kinds[name]?.info === (info & (kinds[name]?.mask ?? 0)),
    ) ?? `${rmgr}/${info}`;
  const seen = new Set<string>();
  const restore = skipping(undefined, (rmgr, info) => seen.add(nameOf(rmgr, info)));
  try {
    for (let seed = 0; seed < 24; seed++) await crashSometimes(await run(seed), seed);
  } finally {
    restore();
  }
  expect([...seen].sort()).toEqual(Object.keys(kinds).sort());
});
