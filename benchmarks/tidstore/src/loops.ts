// The loops that are timed. Each exists once a store, written out: a function that met both stores would look each one's
// method up at every call, and closures from one place share what the compiler has learnt. A test holds the copies equal.
import type { RadixTidStore, SortedArrayTidStore } from '@blockwright/tidstore';
import type { Population } from './population.ts';
import type { RememberingArray } from './remembering-array.ts';

/** How many of the TIDs from `from` up to `to` the store has. */
export function searchRadix(
  store: RadixTidStore,
  blocks: Uint32Array,
  offsets: Uint16Array,
  from: number,
  to: number,
): number {
  let hits = 0;
  for (let i = from; i < to; i++) {
    if (store.has(blocks[i], offsets[i])) hits++;
  }
  return hits;
}

/** As {@link searchRadix}. */
export function searchArray(
  store: SortedArrayTidStore,
  blocks: Uint32Array,
  offsets: Uint16Array,
  from: number,
  to: number,
): number {
  let hits = 0;
  for (let i = from; i < to; i++) {
    if (store.has(blocks[i], offsets[i])) hits++;
  }
  return hits;
}

/** As {@link searchRadix}. */
export function searchRemembering(
  store: RememberingArray,
  blocks: Uint32Array,
  offsets: Uint16Array,
  from: number,
  to: number,
): number {
  let hits = 0;
  for (let i = from; i < to; i++) {
    if (store.has(blocks[i], offsets[i])) hits++;
  }
  return hits;
}

/** The same loop with nothing searched: what reading the TIDs costs by itself. Gives their sum, in 32 bits. */
export function readTids(blocks: Uint32Array, offsets: Uint16Array, from: number, to: number): number {
  let sum = 0;
  for (let i = from; i < to; i++) {
    sum = (sum + blocks[i] + offsets[i]) | 0;
  }
  return sum;
}

/** Adds the first `blockCount` blocks of a population. */
export function loadRadix(store: RadixTidStore, population: Population, blockCount: number): void {
  const { minBlock, stride, tidsPerBlock, patterns } = population;
  const mask = patterns.length - 1;
  let block = minBlock >>> 0;
  for (let k = 0; k < blockCount; k++) {
    store.add(block, patterns[k & mask], tidsPerBlock);
    block = (block + stride) >>> 0;
  }
}

/** As {@link loadRadix}. */
export function loadArray(store: SortedArrayTidStore, population: Population, blockCount: number): void {
  const { minBlock, stride, tidsPerBlock, patterns } = population;
  const mask = patterns.length - 1;
  let block = minBlock >>> 0;
  for (let k = 0; k < blockCount; k++) {
    store.add(block, patterns[k & mask], tidsPerBlock);
    block = (block + stride) >>> 0;
  }
}
