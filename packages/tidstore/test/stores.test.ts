// The laws of a TID store over the tree, the array and the naive store, at every block size; and stores with one fault,
// which the laws must find.
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { describe, expect, test } from 'vitest';
import { RadixTidStore, RadixTree, SortedArrayTidStore } from '../src/index.ts';
import { brokenLaws, LAWS, NaiveTidStore } from './laws.ts';

const STORES = {
  RadixTidStore: (g: BlockGeometry) => new RadixTidStore(g),
  SortedArrayTidStore: (g: BlockGeometry) => new SortedArrayTidStore(g, { maxTids: 20_000 }),
  'the naive store': (g: BlockGeometry) => new NaiveTidStore(g),
};

describe.each(Object.entries(STORES))('%s', (_name, make) => {
  describe.each(BLOCK_SIZES)('at %i bytes', (size) => {
    const g = BlockGeometry.of(size);
    for (const [name, law] of Object.entries(LAWS)) test(name, () => law(() => make(g), g));
  });
});

describe('the laws find', () => {
  const g = BlockGeometry.of(8192);

  class Forgetful extends RadixTidStore {
    override add(block: number, offsets: Uint16Array, count: number): void {
      if (block !== 2 ** 31) super.add(block, offsets, count);
    }
  }
  class OffByOne extends RadixTidStore {
    override has(block: number, o: number): boolean {
      return super.has(block, o === 33 ? 32 : o);
    }
  }
  class Merging extends NaiveTidStore {
    override add(block: number, offsets: Uint16Array, count: number): void {
      const before = [...Array(g.maxOffsetNumber + 1).keys()].filter((o) => this.has(block, o));
      super.add(block, offsets, count);
      const both = [...new Set([...before, ...offsets.subarray(0, count)])].sort((a, b) => a - b);
      super.add(block, Uint16Array.from(both), both.length);
    }
  }
  class Lenient extends SortedArrayTidStore {
    override add(block: number, offsets: Uint16Array, count: number): void {
      super.add(block, [...offsets].includes(0) ? Uint16Array.of(1) : offsets, [...offsets].includes(0) ? 1 : count);
    }
  }
  /** Remembers the answer for the last block, and does not notice when it changes. */
  class Stale extends RadixTidStore {
    private last = '';
    private answer = false;
    override has(block: number, o: number): boolean {
      const key = `${block >>> 8} ${o}`;
      if (key !== this.last) this.answer = super.has(block, o);
      this.last = key;
      return this.answer;
    }
  }

  test.each([
    ['a block that is lost', () => new Forgetful(g), 'blocks at the ends of the signed and unsigned range'],
    ['an offset taken for its neighbour', () => new OffByOne(g), 'offsets at the edges of words, and 1 to 5 of them'],
    ['offsets that are merged', () => new Merging(g), 'a block that is added again has its offsets replaced'],
    [
      'a bad offset let through',
      () => new Lenient(g, { maxTids: 20_000 }),
      'bad arguments are refused before anything changes',
    ],
    ['a stale memory of the last answer', () => new Stale(g), 'looking up between two changes disturbs nothing'],
  ] as const)('%s', (_what, make, law) => {
    expect(brokenLaws(make, g)).toContain(law);
  });
});

describe('the options', () => {
  const g = BlockGeometry.of(8192);

  test('are checked', () => {
    expect(() => new RadixTidStore(g, { maxByte: 1 } as object)).toThrow('did you mean "maxBytes"?');
    for (const maxBytes of [0, -1, Number.NaN]) expect(() => new RadixTidStore(g, { maxBytes })).toThrow(RangeError);
    expect(() => new RadixTidStore(g, { maxBytes: '5' as never })).toThrow(TypeError);
    expect(() => new RadixTree({ maxByte: 3 } as object)).toThrow('RadixTree has no option "maxByte"; did you mean');
    for (const maxBytes of [0, -1, Number.NaN]) {
      expect(() => new RadixTree({ maxBytes })).toThrow(`RadixTree's maxBytes ${maxBytes} is not above 0`);
    }
    expect(() => new RadixTree({ maxBytes: '5' as never })).toThrow("RadixTree's maxBytes is a number, not string");
    expect(() => new SortedArrayTidStore(g, { maxTid: 1 } as object)).toThrow('did you mean "maxTids"?');
    expect(() => new SortedArrayTidStore(g, {})).toThrow(TypeError);
    expect(() => new SortedArrayTidStore(g, { maxTids: 1, maxBytes: 1 })).toThrow(TypeError);
    for (const none of [[], [{}], [null]]) {
      expect(() => new SortedArrayTidStore(g, ...(none as [never]))).toThrow(
        'takes an option: either maxTids or maxBytes',
      );
      expect(() => new SortedArrayTidStore(g, ...(none as [never]))).toThrow(TypeError);
    }
    for (const maxTids of [0, -1, 2 ** 30, 1.5, Number.NaN, Infinity]) {
      expect(() => new SortedArrayTidStore(g, { maxTids })).toThrow(`maxTids ${maxTids} is not an integer from 1`);
    }
    for (const maxBytes of [0, -6, 5, Number.NaN, Infinity, 6 * 2 ** 30]) {
      expect(() => new SortedArrayTidStore(g, { maxBytes })).toThrow(`maxBytes ${maxBytes} is not from 6`);
    }
    expect(() => new SortedArrayTidStore(g, { maxTids: '5' as never })).toThrow('maxTids is a number, not string');
    expect(() => new SortedArrayTidStore(g, { maxBytes: '500' as never })).toThrow('maxBytes is a number, not string');
  });

  test('an array takes 6 bytes a TID, allocated at once, and room for one block at least', () => {
    for (const maxBytes of [6000, 6005, 1_000_001]) {
      expect(new SortedArrayTidStore(g, { maxBytes }).memoryBytes).toBe(Math.floor(maxBytes / 6) * 6);
    }
    expect(new SortedArrayTidStore(g, { maxTids: 1 }).memoryBytes).toBe(291 * 6);
  });

  test('an array is full when a block of heap tuples may not fit, and refuses what does not', () => {
    const store = new SortedArrayTidStore(g, { maxTids: 600 });
    const offsets = Uint16Array.from({ length: 291 }, (_, i) => i + 1);
    store.add(0, offsets, 291);
    expect(store.isFull()).toBe(false);
    store.add(1, offsets, 18);
    expect(store.isFull()).toBe(false);
    store.add(2, offsets, 1);
    expect(store.isFull()).toBe(true);
    expect(() => store.add(3, offsets, 291)).toThrow('no room for 291 TIDs of block 3');
    expect([store.blockCount, store.tidCount, store.has(3, 1)]).toEqual([3, 310, false]);
    store.add(2, offsets, 200); // replaced, which fits
    expect(store.tidCount).toBe(509);
  });
});
