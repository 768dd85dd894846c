// Every kind of node filled to its edges, at every level, in three orders, and emptied again; the tree's own statistics
// are held against what a node of so many children must be.
import { describe, expect, test } from 'vitest';
import { type RadixStats, RadixTree } from '../src/index.ts';
import { expectSame, shuffled, wordsOf } from './tree-model.ts';

const COUNTS = [1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 47, 48, 49, 125, 126, 127, 128, 129, 255, 256];
const NAMES = ['n4', 'n16', 'n32', 'n128', 'n256'] as const;
const ROOM = [4, 16, 32, 128, 256];
/** At so many children a node takes the next kind down. */
const SHRINKS_AT = [0, 3, 12, 24, 96];
/** What the bytes of a key are at the levels that do not vary: none is 0, so that there are eight levels. */
const FIXED = 0x7f81_0aff_c310_2bfen;
const SEED = 3;

const ascending = (a: number, b: number): number => a - b;
const ORDERS: Readonly<Record<string, (bytes: readonly number[]) => number[]>> = {
  ascending: (bytes) => [...bytes].sort(ascending),
  descending: (bytes) => [...bytes].sort(ascending).reverse(),
  shuffled: (bytes) => shuffled(bytes, SEED),
};

/** `count` different bytes, 0x7f first, 0 only when there is no other: then the top level has no lone 0. */
function bytesOf(count: number): number[] {
  const others = shuffled(
    Array.from({ length: 256 }, (_, i) => i).filter((b) => b !== 0 && b !== 0x7f),
    SEED + count,
  );
  return [0x7f, ...others, 0].slice(0, count);
}

function keyAt(level: number, byte: number): bigint {
  const shift = BigInt(8 * level);
  return (FIXED & ~(0xffn << shift)) | (BigInt(byte) << shift);
}

/** At level 0 one leaf has all the keys; above, each key has a path of its own below the node that branches. */
function statsFor(level: number, count: number, kind: number): RadixStats {
  const nodes = { n4: 7 - level + level * count, n16: 0, n32: 0, n128: 0, n256: 0 };
  nodes[NAMES[kind]!]++;
  return { numKeys: count, height: 7, ...nodes };
}

const valueOf = (byte: number): number => (byte * 0x0101_0101) >>> 0;

describe.each(Object.keys(ORDERS))('%s', (order) => {
  const inOrder = ORDERS[order]!;
  test.each([0, 1, 2, 3, 4, 5, 6, 7])('level %i', (level) => {
    for (const count of COUNTS) {
      const tree = new RadixTree();
      const model = new Map<bigint, number>();
      const bytes = inOrder(bytesOf(count));
      let kind = 0;
      for (const [i, byte] of bytes.entries()) {
        const k = keyAt(level, byte);
        expect(tree.set(...wordsOf(k), valueOf(byte))).toBe(false);
        model.set(k, valueOf(byte));
        if (i + 1 > ROOM[kind]!) kind++;
        // the top byte 0 alone makes a lower tree
        if (level === 7 && byte === 0 && i === 0) continue;
        if (COUNTS.includes(i + 1)) expect(tree.stats()).toEqual(statsFor(level, i + 1, kind));
      }
      expectSame(tree, model);
      for (let byte = 0; byte < 256; byte++) {
        const k = keyAt(level, byte);
        if (tree.get(...wordsOf(k)) !== model.get(k)) throw new Error(`byte ${byte} of ${count} at level ${level}`);
      }
      const gone = inOrder(shuffled(bytes, SEED + 1));
      for (const [i, byte] of gone.entries()) {
        const k = keyAt(level, byte);
        expect(tree.delete(...wordsOf(k))).toBe(true);
        model.delete(k);
        const left = count - i - 1;
        if (left === 0) break;
        if (left <= SHRINKS_AT[kind]!) kind--;
        if (level < 7 || left > 1) expect(tree.stats()).toEqual(statsFor(level, left, kind));
        if (COUNTS.includes(left) && (count === 256 || left + 1 === count)) expectSame(tree, model);
      }
      expect(tree.stats()).toEqual({ numKeys: 0, height: 0, n4: 0, n16: 0, n32: 0, n128: 0, n256: 0 });
    }
  });
});

test('a key that comes and goes at an edge does not rebuild the node each time', () => {
  for (const [i, edge] of [4, 16, 32, 128].entries()) {
    const tree = new RadixTree();
    for (let byte = 0; byte <= edge; byte++) tree.set(0, byte, 1);
    const before = tree.stats();
    expect(before[NAMES[i + 1]!]).toBe(1);
    tree.delete(0, 0);
    expect(tree.stats()).toEqual({ ...before, numKeys: edge });
    tree.set(0, 0, 1);
    expect(tree.stats()).toEqual(before);
  }
});
