// A Map beside the tree, and what is asked of both.
import { expect } from 'vitest';
import type { RadixTree } from '../src/index.ts';

export type Key = readonly [high: number, low: number];

export const keyOf = (high: number, low: number): bigint => (BigInt(high) << 32n) | BigInt(low);
export const wordsOf = (key: bigint): Key => [Number(key >> 32n), Number(key & 0xffff_ffffn)];

/** Everything in a tree, by its cursor. */
export function listOf(tree: RadixTree): [bigint, number][] {
  const list: [bigint, number][] = [];
  const cursor = tree.cursor();
  while (cursor.next()) list.push([keyOf(cursor.keyHigh, cursor.keyLow), cursor.value]);
  if (cursor.next()) throw new Error('the cursor goes on after its end');
  return list;
}

/** Every view of a tree against a map: count, iteration in order, look-up, absent neighbours. */
export function expectSame(tree: RadixTree, model: ReadonlyMap<bigint, number>): void {
  expect(tree.numKeys).toBe(model.size);
  const list = [...model].sort(([a], [b]) => (a < b ? -1 : 1));
  expect(listOf(tree)).toEqual(list);
  for (const [key] of list) {
    for (const near of [key, key - 1n, key + 1n, key ^ 0x100n, key ^ (1n << 32n), key ^ (1n << 63n)]) {
      if (near < 0n || near >= 1n << 64n) continue;
      const [high, low] = wordsOf(near);
      if (tree.get(high, low) !== model.get(near)) throw new Error(`get(${near}) is ${tree.get(high, low)}`);
      if (tree.has(high, low) !== model.has(near)) throw new Error(`has(${near}) is wrong`);
    }
  }
}

/** A generator of numbers in [0, n) from a seed: xorshift. */
export function randomFrom(seed: number): (n: number) => number {
  let x = seed | 1;
  return (n) => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) % n;
  };
}

export function shuffled<T>(list: readonly T[], seed: number): T[] {
  const random = randomFrom(seed);
  const result = [...list];
  for (let i = result.length - 1; i > 0; i--) {
    const j = random(i + 1);
    [result[i], result[j]] = [result[j]!, result[i]!];
  }
  return result;
}
