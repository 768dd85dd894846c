// What every TID store must do, as laws that throw when they are broken; and the naive store that obviously does it.
import type { BlockGeometry } from '@blockwright/geometry';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { TidCursor, TidStore } from '../src/index.ts';

type Make = (geometry: BlockGeometry) => TidStore;

/** The last block number is 2^32 - 2; the others are where a sign or a word ends. */
const EDGE_BLOCKS = [0, 1, 255, 256, 65_535, 65_536, 2 ** 24 - 1, 2 ** 24, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2];

/** A Map of Sets. */
export class NaiveTidStore implements TidStore {
  private readonly geometry: BlockGeometry;
  private readonly blocks = new Map<number, Set<number>>();
  private changes = 0;
  constructor(geometry: BlockGeometry) {
    this.geometry = geometry;
  }
  add(block: number, offsets: Uint16Array, count: number): void {
    if (!Number.isInteger(block) || block < 0 || block > 2 ** 32 - 2) throw new RangeError('block');
    if (!Number.isInteger(count) || count < 1 || count > offsets.length) throw new RangeError('count');
    const list = [...offsets.subarray(0, count)];
    const isGood = (o: number, i: number) => o > (list[i - 1] ?? 0) && o <= this.geometry.maxOffsetNumber;
    if (!list.every(isGood)) throw new RangeError('offsets');
    this.blocks.set(block, new Set(list));
    this.changes++;
  }
  has(block: number, o: number): boolean {
    return this.blocks.get(block)?.has(o) ?? false;
  }
  cursor(): TidCursor {
    const list = [...this.blocks].sort(([a], [b]) => a - b);
    const { changes } = this;
    let i = -1;
    const cursor = {
      block: 0,
      offsets: new Uint16Array(this.geometry.maxOffsetNumber),
      count: 0,
      next: () => {
        if (this.changes !== changes) throw new TypeError('the TID store has changed under a cursor');
        if (++i >= list.length) return false;
        const [block, offsets] = list[i]!;
        cursor.block = block;
        cursor.offsets.set([...offsets]);
        cursor.count = offsets.size;
        return true;
      },
    };
    return cursor;
  }
  get memoryBytes(): number {
    return 0;
  }
  get blockCount(): number {
    return this.blocks.size;
  }
  get tidCount(): number {
    return [...this.blocks.values()].reduce((sum, { size }) => sum + size, 0);
  }
  isFull(): boolean {
    return false;
  }
  clear(): void {
    this.blocks.clear();
    this.changes++;
  }
}

export function add(store: TidStore, block: number, offsets: readonly number[]): void {
  store.add(block, Uint16Array.from(offsets), offsets.length);
}

/** Everything in a store, by its cursor. */
function listOf(store: TidStore): [number, number[]][] {
  const list: [number, number[]][] = [];
  const cursor = store.cursor();
  const { offsets } = cursor;
  while (cursor.next()) {
    if (cursor.offsets !== offsets) throw new Error('the cursor lends another array');
    list.push([cursor.block, [...offsets.subarray(0, cursor.count)]]);
  }
  if (cursor.next()) throw new Error('the cursor goes on after its end');
  return list;
}

/** Every view of a store against the naive one: counts, iteration, members, absent neighbours. */
export function expectSame(store: TidStore, model: NaiveTidStore, geometry: BlockGeometry): void {
  const list = listOf(model);
  expect(listOf(store)).toEqual(list);
  expect([store.blockCount, store.tidCount]).toEqual([model.blockCount, model.tidCount]);
  const max = geometry.maxOffsetNumber;
  for (const [block, offsets] of list) {
    for (const b of [block, block - 1, block + 1, block ^ 0x100, block ^ 0x8000_0000]) {
      const near = offsets.length > 40 ? offsets.slice(0, 40) : offsets;
      for (const o of [0, 1, 31, 32, 33, max, max + 1, 65_535, ...near.flatMap((n) => [n - 1, n, n + 1, n + 32])]) {
        if (store.has(b >>> 0, o) !== model.has(b >>> 0, o)) throw new Error(`has(${b >>> 0}, ${o}) is wrong`);
      }
    }
  }
}

/** Blocks near each other and far apart. */
const anyBlock: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: 0, max: 700 }),
  fc.integer({ min: 0, max: 2 ** 32 - 2 }),
  fc.constantFrom(...EDGE_BLOCKS),
);

/** Sets of offsets of every kind: few, low, spread. */
function anyOffsets(geometry: BlockGeometry): fc.Arbitrary<number[]> {
  const max = geometry.maxOffsetNumber;
  const set = (highest: number, maxLength: number) =>
    fc.uniqueArray(fc.integer({ min: 1, max: highest }), { minLength: 1, maxLength, size: 'max' });
  return fc.oneof(set(31, 31), set(max, 2), set(max, 5), set(70, 40), set(max, 60)).map((o) => o.sort((a, b) => a - b));
}

const refused = (store: TidStore, block: number, offsets: readonly number[], count: number, words: RegExp): void => {
  const before = [listOf(store), store.tidCount, store.blockCount];
  expect(() => store.add(block, Uint16Array.from(offsets), count)).toThrow(words);
  expect(() => store.add(block, Uint16Array.from(offsets), count)).toThrow(RangeError);
  expect([listOf(store), store.tidCount, store.blockCount]).toEqual(before);
};

type Law = (make: () => TidStore, geometry: BlockGeometry) => void;

export const LAWS: Readonly<Record<string, Law>> = {
  'it is a map from blocks to sets': (make, geometry) => {
    const entry = fc.tuple(anyBlock, anyOffsets(geometry));
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 60, size: 'max' }), (entries) => {
        const store = make();
        const model = new NaiveTidStore(geometry);
        for (const [block, offsets] of entries) {
          add(store, block, offsets);
          add(model, block, offsets);
        }
        expectSame(store, model, geometry);
      }),
      { numRuns: 15 },
    );
  },
  'looking up between two changes disturbs nothing': (make, geometry) => {
    const step = fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 300 }), fc.integer({ min: 1, max: 40 }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 500, size: 'max' }), (steps) => {
        const store = make();
        const model = new NaiveTidStore(geometry);
        for (const [adds, block, o] of steps) {
          if (adds) for (const s of [store, model]) add(s, block, [o]);
          if (store.has(block, o) !== model.has(block, o)) throw new Error(`has(${block}, ${o}) is wrong`);
        }
        expectSame(store, model, geometry);
      }),
      { numRuns: 20 },
    );
  },
  'offsets at the edges of words, and 1 to 5 of them': (make, geometry) => {
    const max = geometry.maxOffsetNumber;
    const edges = [...new Set([1, 31, 32, 33, 63, 64, 65, max - 1, max])].filter((o) => o <= max).sort((a, b) => a - b);
    const store = make();
    const model = new NaiveTidStore(geometry);
    let block = 0;
    for (let from = 0; from < edges.length; from++) {
      for (let to = from + 1; to <= edges.length; to++) {
        for (const s of [store, model]) add(s, block, edges.slice(from, to));
        block += 3;
      }
    }
    const every = Array.from({ length: max }, (_, i) => i + 1);
    for (const s of [store, model]) {
      add(s, 2 ** 32 - 2, every);
      for (const [i, n] of [1, 2, 3, 4, 5].entries()) add(s, 1_000_000 + i, every.slice(max - n));
    }
    expectSame(store, model, geometry);
  },
  'blocks at the ends of the signed and unsigned range': (make, geometry) => {
    const store = make();
    const model = new NaiveTidStore(geometry);
    for (const block of [...EDGE_BLOCKS].reverse()) for (const s of [store, model]) add(s, block, [1, 2, 30]);
    expectSame(store, model, geometry);
    expect(store.has(2 ** 32 - 1, 1)).toBe(false);
  },
  'what is no TID is not there': (make) => {
    const store = make();
    add(store, 5, [1, 2, 40]);
    add(store, 6, [2, 3]);
    add(store, 2 ** 32 - 2, [1]);
    expect(store.has(5, 1)).toBe(true);
    const noBlocks = [-2, -1, 0.5, 5.5, 2 ** 32, 2 ** 32 + 5, 2 ** 53 + 6, Number.NaN, Number.POSITIVE_INFINITY];
    for (const block of noBlocks) for (const o of [1, 2, 40]) expect(store.has(block, o), `${block}`).toBe(false);
    const noOffsets = [
      -31,
      -1,
      0,
      0.5,
      1.5,
      2 ** 16 + 1,
      2 ** 32 + 1,
      2 ** 32 + 40,
      Number.NaN,
      Number.POSITIVE_INFINITY,
    ];
    for (const block of [5, 6]) for (const o of noOffsets) expect(store.has(block, o), `${o}`).toBe(false);
    expect(store.has(5, 40)).toBe(true);
  },
  'an answer does not outlive a change of its block': (make) => {
    const store = make();
    const seen = () => [1, 2, 3].map((o) => store.has(7, o));
    expect(seen()).toEqual([false, false, false]);
    add(store, 7, [1, 3]);
    expect(seen()).toEqual([true, false, true]);
    add(store, 7, [2]);
    expect(seen()).toEqual([false, true, false]);
    store.clear();
    expect(seen()).toEqual([false, false, false]);
    add(store, 7, [3]);
    expect(seen()).toEqual([false, false, true]);
  },
  'a block that is added again has its offsets replaced': (make, geometry) => {
    const max = geometry.maxOffsetNumber;
    const sets = [[1], [1, 31], [32], [5, max], [1, 2, 3, max], [max - 2, max - 1, max], [40, 50, 60], [31]];
    for (const before of sets) {
      for (const after of sets) {
        const store = make();
        add(store, 6, [2]);
        add(store, 7, before);
        add(store, 8, [3]);
        add(store, 7, after);
        expect(listOf(store)).toEqual([
          [6, [2]],
          [7, after],
          [8, [3]],
        ]);
        expect(store.tidCount).toBe(2 + after.length);
      }
    }
  },
  'bad arguments are refused before anything changes': (make, geometry) => {
    const max = geometry.maxOffsetNumber;
    for (const has of [false, true]) {
      const store = make();
      add(store, 5, [1, 2, max]);
      if (has) add(store, 9, [4]);
      for (const block of [5, 7, 9]) {
        refused(store, block, [3, 3], 2, /offset/);
        refused(store, block, [1, 2, 3, 5, 4], 5, /offset/);
        refused(store, block, [5, 3, 5], 3, /offset/);
        refused(store, block, [1, 2, 3, 4, 5, 6, 7, 7], 8, /offset/);
        refused(store, block, [0, 1], 2, /offset/);
        refused(store, block, [1, max + 1], 2, /offset/);
        refused(store, block, [1, 2], 0, /count/);
        refused(store, block, [1, 2], 3, /count/);
        refused(store, block, [1, 2], 1.5, /count/);
        refused(store, block, [1, 2], Number.NaN, /count/);
      }
      for (const block of [-1, 2 ** 32 - 1, 2 ** 32, 1.5, Number.NaN]) refused(store, block, [1], 1, /block/);
    }
  },
  'the first count of the offsets are taken, and copied': (make) => {
    const store = make();
    const offsets = Uint16Array.of(1, 2, 40, 3);
    store.add(1, offsets, 3);
    offsets.fill(9);
    expect(listOf(store)).toEqual([[1, [1, 2, 40]]]);
  },
  'a cursor throws after any change': (make) => {
    for (const change of [
      (s: TidStore) => add(s, 3, [1]),
      (s: TidStore) => add(s, 1, [1]),
      (s: TidStore) => s.clear(),
    ]) {
      const store = make();
      add(store, 1, [1]);
      add(store, 2, [2]);
      const cursor = store.cursor();
      expect(cursor.next()).toBe(true);
      change(store);
      expect(() => cursor.next()).toThrow(TypeError);
      expect(() => cursor.next()).toThrow(/changed under a cursor/);
    }
  },
  'two cursors do not disturb each other': (make) => {
    const store = make();
    for (let block = 0; block < 40; block++) add(store, block * 100, [block + 1]);
    const slow = store.cursor();
    slow.next();
    expect(listOf(store).length).toBe(40);
    expect([slow.block, slow.offsets[0]]).toEqual([0, 1]);
    slow.next();
    expect([slow.block, slow.offsets[0]]).toEqual([100, 2]);
  },
  'cleared, it is as new': (make, geometry) => {
    const store = make();
    for (let round = 0; round < 3; round++) {
      expect([listOf(store), store.tidCount, store.blockCount, store.isFull()]).toEqual([[], 0, 0, false]);
      const model = new NaiveTidStore(geometry);
      for (let block = 0; block < 300; block++)
        for (const s of [store, model]) add(s, block * (1 + round * 200), [1, 40]);
      expectSame(store, model, geometry);
      store.clear();
      expect(store.has(0, 1)).toBe(false);
    }
  },
};

/** The names of the laws that a store breaks. */
export function brokenLaws(make: Make, geometry: BlockGeometry): string[] {
  return Object.entries(LAWS).flatMap(([name, law]) => {
    try {
      law(() => make(geometry), geometry);
      return [];
    } catch {
      return [name];
    }
  });
}
