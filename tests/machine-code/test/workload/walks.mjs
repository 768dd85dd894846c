// The loop of an index-only scan, over map pages in memory and over a buffer pool: the benchmark's own functions. Those
// that the product stands for must not divide; the variant that divides must be found out.
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';

// Not exported by the package: they are files beside its entry.
const benchmark = import.meta.resolve('@blockwright/benchmark-geometry');
const { makeScene } = await import(new URL('benchmark.js', benchmark).href);
const { compileWalk } = await import(new URL('variants.js', benchmark).href);

const scenes = BLOCK_SIZES.map((size) =>
  makeScene('random', BlockGeometry.of(size), { tids: 800, heapBlocks: 400_000, rounds: 30, seed: 1 }),
);

const walk = (name) => {
  const fn = compileWalk(name, BlockGeometry.of(8192));
  const call = (n) => {
    const { training, surroundings } = scenes[n % scenes.length];
    const { map, geometry, cursor } = surroundings;
    return fn(training.blocks, training.offsets, 0, training.blocks.length, map.u8, map.bufferOf, geometry, cursor);
  };
  return { id: `index-only scan: ${name}`, fn, call };
};

export const indexOnlyWalks = ['window', 'cursor', 'cursor, runs', 'fold', 'multiplication'].map(walk);
export const dividingWalk = walk('division');

/** The engine's own loop over the TIDs of a leaf page, and the one that takes them from the page. */
const engine = import.meta.resolve('@blockwright/engine');
const { allVisibleUntil } = await import(new URL('all-visible.js', engine).href);

const scenesInOrder = BLOCK_SIZES.map((size) =>
  makeScene('sequential', BlockGeometry.of(size), { tids: 800, heapBlocks: 400_000, rounds: 30, seed: 1 }),
);

export const leafWalk = {
  id: 'index-only scan: entries of a leaf',
  fn: allVisibleUntil,
  call: (n) => {
    const { training, surroundings } = (n % 3 === 0 ? scenes : scenesInOrder)[n % scenes.length];
    const { blocks } = training;
    let visible = 0;
    for (let from = 0; from < blocks.length; from++) {
      const until = allVisibleUntil(blocks, from, blocks.length, surroundings.cursor);
      visible += until - from;
      from = until;
    }
    return visible;
  },
};
