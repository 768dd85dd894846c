// What is cut from an arena lies in one chunk and overlaps nothing that is still held; what was reserved is there.
import { BlockGeometry } from '@blockwright/geometry';
import { describe, expect, test } from 'vitest';
import { Arena, GRANULE_SHIFT } from '../src/arena.ts';
import { RadixTidStore } from '../src/index.ts';
import { add, expectSame, NaiveTidStore } from './laws.ts';
import { randomFrom } from './tree-model.ts';

test.each([1, 2, 3])('cuts are apart, each in one chunk, seed %i', (seed) => {
  const random = randomFrom(seed * 7919);
  const arena = new Arena(65_536);
  const chunkGranules = 1 << arena.chunkShift;
  for (let pass = 0; pass < 2; pass++) {
    const held: { at: number; granules: number }[] = [];
    const owner = new Map<number, number>();
    for (let i = 1; i < 4000; i++) {
      if (held.length > 0 && random(3) === 0) {
        const { at, granules } = held.splice(random(held.length), 1)[0]!;
        for (let j = 0; j < granules; j++) owner.delete(at + j);
        arena.giveBack(at, granules);
        continue;
      }
      const granules = [3, 11, 22, 70, 133, 1 + random(129)][random(6)]!;
      arena.reserve(granules);
      const chunksBefore = arena.chunks.length;
      const at = arena.cut(granules);
      if (arena.chunks.length !== chunksBefore) throw new Error('a cut made a chunk');
      if (at < 1 || at >>> arena.chunkShift !== (at + granules - 1) >>> arena.chunkShift)
        throw new Error(`cut at ${at}`);
      const chunk = arena.chunks[at >>> arena.chunkShift]!;
      const last = ((at & (chunkGranules - 1)) + granules) << GRANULE_SHIFT;
      if (last > chunk.length) throw new Error(`${granules} granules at ${at} end beyond their chunk`);
      for (let j = 0; j < granules; j++) {
        if (owner.has(at + j)) throw new Error(`granule ${at + j} is cut twice`);
        owner.set(at + j, i);
      }
      held.push({ at, granules });
    }
    expect(arena.chunks.length).toBeGreaterThan(10);
    expect(arena.bytes).toBeGreaterThanOrEqual(arena.bytesInUse);
    arena.clear();
    expect(arena.bytesInUse).toBeLessThan(20_000);
  }
});

/** What a change of the tree cuts at most: a path of nodes of 4 up and down, a node that grew, and a bitmap. */
const CHANGE: readonly number[] = [...Array<number>(16).fill(3), 133, 133];

test.each([1, 2, 3])('what was reserved is there, of freed pieces too, seed %i', (seed) => {
  const random = randomFrom(seed * 104_729);
  const arena = new Arena(65_536);
  const held: { at: number; granules: number }[] = [];
  const isHeld = new Uint8Array(1 << 20);
  let live = 0;
  let most = 0;
  for (let i = 0; i < 3000; i++) {
    // waves: nearly all is given back, and then other lengths are wanted
    const wanted = (i >> 8) & 1 ? 4000 : 60_000;
    while (live > wanted) {
      const { at, granules } = held.splice(random(held.length), 1)[0]!;
      isHeld.fill(0, at, at + granules);
      arena.giveBack(at, granules);
      live -= granules;
    }
    arena.reserve(CHANGE.reduce((sum, granules) => sum + granules, 0));
    const { bytesInUse } = arena;
    const cuts = random(2) === 0 ? CHANGE : [3, 1 + (((random(100) + i) >> 4) % 133), 1 + random(133)];
    for (const granules of cuts) {
      const at = arena.cut(granules);
      const last = ((at & arena.chunkMask) + granules) << GRANULE_SHIFT;
      if (!(last <= arena.chunks[at >>> arena.chunkShift]!.length)) throw new Error(`${granules} granules at ${at}`);
      for (let g = at; g < at + granules; g++) {
        if (isHeld[g] !== 0) throw new Error(`granule ${g} is cut twice`);
        isHeld[g] = 1;
      }
      held.push({ at, granules });
      live += granules;
    }
    most = Math.max(most, live);
    expect(arena.bytesInUse).toBe(bytesInUse);
    expect(arena.bytes).toBe(arena.bytesInUse);
  }
  expect(most).toBeGreaterThan(50_000);
  expect(arena.bytes).toBeLessThan(2 * most * 8);
});

describe('bitmaps of other lengths', () => {
  const g = BlockGeometry.of('32kB');
  const BLOCKS = 400;
  /** Words of the bitmap that a block has in a round. */
  const LENGTHS: Record<string, (block: number, round: number) => number> = {
    'longer each time': (_block, round) => 3 + round,
    'shorter each time': (_block, round) => 249 - round,
    'of any length': (block, round) => 3 + (((block * 7919 + round * 104_729) * 31) % 247),
  };
  test.each(Object.entries(LENGTHS))('take the place of those before: %s', (_how, lengthOf) => {
    const store = new RadixTidStore(g);
    const model = new NaiveTidStore(g);
    for (let round = 0; round < 247; round++) {
      for (let block = 0; block < BLOCKS; block++) {
        const offsets = [1, 2, 32 * lengthOf(block, round)];
        add(store, block, offsets);
        if (round === 246) add(model, block, offsets);
      }
    }
    expectSame(store, model, g);
    // 400 bitmaps of 249 words are 0.4 MB; a length by itself would have left 25 MB
    expect(store.memoryBytes).toBeLessThan(3 * BLOCKS * 250 * 4);
  });
});
