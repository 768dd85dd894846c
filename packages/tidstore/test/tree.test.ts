// The radix tree against a Map: random keys of 64 bits, the ends of the range, values of 0, cursors and changes.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RadixTree } from '../src/index.ts';
import { expectSame, keyOf, listOf, randomFrom, wordsOf } from './tree-model.ts';

const EMPTY = { numKeys: 0, height: 0, n4: 0, n16: 0, n32: 0, n128: 0, n256: 0 };
const word = fc.oneof(
  fc.integer({ min: 0, max: 600 }),
  fc.integer({ min: 0, max: 0xffff_ffff }),
  fc.constantFrom(0x7fff_ffff, 0x8000_0000, 0xffff_ffff),
);
const key = fc.tuple(fc.oneof(fc.constant(0), word), word);
const operation = fc.tuple(fc.constantFrom('set', 'set', 'get', 'delete'), key, word);

function play(tree: RadixTree, operations: readonly [string, [number, number], number][]): Map<bigint, number> {
  const model = new Map<bigint, number>();
  for (const [what, [high, low], value] of operations) {
    const k = keyOf(high, low);
    if (what === 'set') {
      if (tree.set(high, low, value) !== model.has(k)) throw new Error(`set(${k}) told the wrong thing`);
      model.set(k, value);
    } else if (what === 'delete') {
      if (tree.delete(high, low) !== model.delete(k)) throw new Error(`delete(${k}) told the wrong thing`);
    }
    if (tree.get(high, low) !== model.get(k)) throw new Error(`get(${k}) is wrong after ${what}`);
  }
  return model;
}

describe('against a map', () => {
  test('any operations', () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 500, size: 'max' }), (operations) => {
        const tree = new RadixTree();
        const model = play(tree, operations);
        expectSame(tree, model);
        for (const k of model.keys()) expect(tree.delete(...wordsOf(k))).toBe(true);
        expect(tree.stats()).toEqual(EMPTY);
        expectSame(tree, new Map());
      }),
      { numRuns: 60 },
    );
  });

  test('ten thousand keys come and go in a small space, through all kinds of nodes', () => {
    const random = randomFrom(20_261_130);
    const tree = new RadixTree();
    const model = new Map<bigint, number>();
    for (let round = 0; round < 6; round++) {
      const grows = round % 2 === 0;
      for (let i = 0; i < 5000; i++) {
        const high = random(3) === 0 ? random(2) * 0x0100_0000 : 0;
        const low = random(2000) * (random(2) === 0 ? 1 : 0x1_0001);
        const k = keyOf(high, low);
        if (random(5) === 0 ? grows : !grows) expect(tree.delete(high, low)).toBe(model.delete(k));
        else {
          expect(tree.set(high, low, i)).toBe(model.has(k));
          model.set(k, i);
        }
      }
      expectSame(tree, model);
    }
  });
});

describe('keys', () => {
  const ends = [0n, 1n, 255n, 256n, 2n ** 31n - 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 32n + 1n];
  const large = [2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 2n, 2n ** 64n - 1n];

  test.each([
    ['ascending', [...ends, ...large]],
    ['descending', [...ends, ...large].reverse()],
  ])('at the ends of words, %s', (_order, keys) => {
    const tree = new RadixTree();
    const model = new Map<bigint, number>();
    for (const [i, k] of keys.entries()) {
      tree.set(...wordsOf(k), i);
      model.set(k, i);
      expectSame(tree, model);
    }
    expect(tree.stats().height).toBe(7);
  });

  test('the height is what the highest key needs, and falls with it', () => {
    for (let level = 0; level < 8; level++) {
      for (const k of [1n << BigInt(8 * level), (1n << BigInt(8 * (level + 1))) - 1n]) {
        const tree = new RadixTree();
        tree.set(0, 7, 1);
        expect(tree.stats().height).toBe(0);
        tree.set(...wordsOf(k), 2);
        expect(tree.stats().height).toBe(level);
        expectSame(
          tree,
          new Map([
            [7n, 1],
            [k, 2],
          ]),
        );
        tree.delete(...wordsOf(k));
        expect(tree.stats()).toEqual({ ...EMPTY, numKeys: 1, n4: 1 });
        expectSame(tree, new Map([[7n, 1]]));
      }
    }
  });

  test('a key too high for the tree is not there', () => {
    const tree = new RadixTree();
    expect(tree.get(0, 0)).toBeUndefined();
    for (let level = 0; level < 8; level++) {
      tree.clear();
      tree.set(...wordsOf(5n | (1n << BigInt(8 * level))), 1);
      for (let above = level + 1; above < 8; above++) {
        const k = 5n | (1n << BigInt(8 * level)) | (1n << BigInt(8 * above));
        expect([k, tree.get(...wordsOf(k)), tree.delete(...wordsOf(k))]).toEqual([k, undefined, false]);
      }
    }
  });

  test.each([
    [-1, 0, 0, 'key high word -1'],
    [0, 2 ** 32, 0, 'key low word 4294967296'],
    [0, 0.5, 0, 'key low word 0.5'],
    [0, 0, -1, 'value -1'],
    [0, 0, Number.NaN, 'value NaN'],
  ])('words that are none are refused: %d %d %d', (high, low, value, words) => {
    const tree = new RadixTree();
    tree.set(0, 1, 1);
    expect(() => tree.set(high, low, value)).toThrow(`${words} is not an integer from 0 to 4294967295`);
    expect(listOf(tree)).toEqual([[1n, 1]]);
    if (words.startsWith('key')) {
      expect(() => tree.get(high, low)).toThrow(RangeError);
      expect(() => tree.has(high, low)).toThrow(RangeError);
      expect(() => tree.delete(high, low)).toThrow(RangeError);
    }
  });
});

describe('values', () => {
  test('0 and the largest, in every kind of node', () => {
    for (const count of [1, 4, 16, 32, 128, 256]) {
      const tree = new RadixTree();
      const model = new Map<bigint, number>();
      for (let i = 0; i < count; i++) {
        expect(tree.set(0, 256 + i, 0)).toBe(false);
        expect(tree.set(0, 256 + i, 0)).toBe(true);
        model.set(BigInt(256 + i), 0);
      }
      expectSame(tree, model);
      for (let i = 0; i < count; i++) tree.set(0, 256 + i, 0xffff_ffff);
      expect(listOf(tree).every(([, value]) => value === 0xffff_ffff)).toBe(true);
    }
  });
});

describe('a cursor', () => {
  const filled = (): RadixTree => {
    const tree = new RadixTree();
    for (let i = 0; i < 1000; i++) tree.set(0, i * 37, i);
    return tree;
  };

  test.each<[string, (tree: RadixTree) => unknown]>([
    ['a delete', (tree) => tree.delete(0, 37)],
    ['a new key', (tree) => tree.set(0, 1, 1)],
    ['a new value', (tree) => tree.set(0, 37, 5)],
    ['clear', (tree) => tree.clear()],
  ])('throws after %s', (_what, change) => {
    const tree = filled();
    const cursor = tree.cursor();
    cursor.next();
    change(tree);
    expect(() => cursor.next()).toThrow(TypeError);
    expect(() => cursor.next()).toThrow('changed under a cursor');
  });

  test('goes on after a delete of a key that was not there', () => {
    const tree = filled();
    const cursor = tree.cursor();
    cursor.next();
    expect(tree.delete(0, 36)).toBe(false);
    expect(cursor.next()).toBe(true);
    expect([cursor.keyHigh, cursor.keyLow, cursor.value]).toEqual([0, 37, 1]);
  });

  test('of an empty tree has nothing', () => {
    expect(new RadixTree().cursor().next()).toBe(false);
  });
});
