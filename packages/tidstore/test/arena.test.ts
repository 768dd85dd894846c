// What is cut from an arena lies in one chunk and overlaps nothing that is still held; what was reserved is there.
import { expect, test } from 'vitest';
import { Arena, GRANULE_SHIFT } from '../src/arena.ts';
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
