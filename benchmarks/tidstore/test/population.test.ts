// The TIDs of a case: against a plain list, and with the two mistakes of the discussion's own benchmark.
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { RadixTidStore, SortedArrayTidStore } from '@blockwright/tidstore';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkLoaded } from '../src/checks.ts';
import { loadArray, loadRadix } from '../src/loops.ts';
import { Population, type PopulationOptions, type Tids, tidKey } from '../src/population.ts';
import { checkedAscents, Stretches } from '../src/stretches.ts';

const g = BlockGeometry.of(8192);
const DENSE: PopulationOptions = { minBlock: 0, maxBlock: 100, stride: 1, tidsPerBlock: 30, offsets: 'dense', seed: 1 };
const LAST_BLOCK = 4_294_967_294;

function tidsOf(population: Population): Tids {
  const tids = { blocks: new Uint32Array(population.tidCount), offsets: new Uint16Array(population.tidCount) };
  for (let i = 0; i < population.tidCount; i++) population.write(tids, i, i);
  return tids;
}

describe.each(BLOCK_SIZES)('at %i bytes', (size) => {
  const geometry = BlockGeometry.of(size);
  const someOptions: fc.Arbitrary<PopulationOptions> = fc
    .record({
      minBlock: fc.oneof(fc.nat(5), fc.integer({ min: 0, max: LAST_BLOCK })),
      blocks: fc.integer({ min: 1, max: 7 }),
      stride: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 5000 })),
      tidsPerBlock: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: geometry.maxOffsetNumber })),
      offsets: fc.constantFrom('dense', 'spread'),
      seed: fc.nat(),
    })
    .map(({ blocks, ...options }) => ({
      ...options,
      maxBlock: Math.min(options.minBlock + blocks * options.stride, LAST_BLOCK + 1),
    }));

  it('has as many TIDs as it says, each once and in order, within its blocks and their line pointers', () => {
    fc.assert(
      fc.property(someOptions, (options) => {
        const population = new Population(geometry, options);
        const { blocks, offsets } = tidsOf(population);
        const keys = Array.from(blocks, (block, i) => block * 2 ** 16 + (offsets[i] as number));
        expect(keys.every((key, i) => i === 0 || (keys[i - 1] as number) < key)).toBe(true);
        expect(new Set(blocks).size).toBe(population.blockCount);
        expect(keys.length).toBe(population.blockCount * options.tidsPerBlock);
        const isAsked = (block: number): boolean =>
          block >= options.minBlock && block < options.maxBlock && (block - options.minBlock) % options.stride === 0;
        expect(blocks.every(isAsked)).toBe(true);
        expect(offsets.every((offset) => offset >= 1 && offset <= geometry.maxOffsetNumber)).toBe(true);
      }),
      { numRuns: 25 },
    );
  });

  it('knows its TIDs, and that others are none', () => {
    fc.assert(
      fc.property(someOptions, (options) => {
        const population = new Population(geometry, options);
        const { blocks, offsets } = tidsOf(population);
        const set = new Set(Array.from(blocks, (block, i) => `${block},${offsets[i]}`));
        const every97th = Array.from(blocks.keys()).filter((i) => i % 97 === 0);
        expect(every97th.every((i) => population.has(blocks[i]!, offsets[i]!))).toBe(true);
        const absent = population.absent(100);
        expect(absent.blocks.length).toBeGreaterThan(10);
        for (let i = 0; i < absent.blocks.length; i++) {
          const [block, offset] = [absent.blocks[i]!, absent.offsets[i]!];
          const isTid = block <= LAST_BLOCK && offset >= 1 && offset <= geometry.maxOffsetNumber;
          expect([isTid, set.has(`${block},${offset}`), population.has(block, offset)]).toEqual([true, false, false]);
        }
      }),
      { numRuns: 25 },
    );
  });
});

describe('spread offsets', () => {
  it('differ from block to block, and lie all over a heap page', () => {
    const population = new Population(g, { ...DENSE, offsets: 'spread', maxBlock: 640 });
    const { offsets } = tidsOf(population);
    expect(new Set(population.patterns.map(String)).size).toBe(64);
    expect(new Set(offsets).size).toBeGreaterThan(g.maxHeapTuplesPerPage - 5);
    expect(offsets.every((offset) => offset <= g.maxHeapTuplesPerPage)).toBe(true);
  });
  it('are drawn from all line pointers when more are asked for than a heap page holds', () => {
    const count = g.maxHeapTuplesPerPage + 1;
    const { patterns } = new Population(g, { ...DENSE, offsets: 'spread', tidsPerBlock: count });
    expect(patterns[0]!.length).toBe(count);
    expect(patterns[0]![count - 1]).toBeGreaterThan(1000);
    expect([...new Population(g, { ...DENSE, offsets: 'spread', tidsPerBlock: 2048 }).patterns[5]!]).toEqual(
      Array.from({ length: 2048 }, (_, i) => i + 1),
    );
  });
});

describe('numbers beyond 32 bits', () => {
  const NINE_MILLION = new Population(g, { ...DENSE, maxBlock: 9_000_000, tidsPerBlock: 1 });

  it('a TID as one number keeps every bit of its block', () => {
    for (let block = 8_388_600; block < 8_388_620; block++) {
      expect(tidKey(block, 30)).toBeGreaterThan(tidKey(block - 1, 2048));
    }
    expect(tidKey(LAST_BLOCK, 8192)).toBe(LAST_BLOCK * 65536 + 8192);
    expect(Number(BigInt(LAST_BLOCK) * 65536n + 8192n)).toBe(tidKey(LAST_BLOCK, 8192));
  });

  it('both stores hold 9,000,000 keys, where one word for block and offset held 8,388,608', () => {
    const radix = new RadixTidStore(g);
    loadRadix(radix, NINE_MILLION, NINE_MILLION.blockCount);
    checkLoaded('radix tree', radix, NINE_MILLION);
    expect(radix.stats().numKeys).toBe(9_000_000);
    const array = new SortedArrayTidStore(g, { maxBytes: 6 * 9_000_000 });
    loadArray(array, NINE_MILLION, NINE_MILLION.blockCount);
    checkLoaded('sorted array', array, NINE_MILLION);
  });

  it('the check finds the store that packs block and offset into 32 bits', () => {
    const OFFSET_BITS = 9; // enough for 291 tuples
    const seen = new Uint8Array(2 ** 23);
    const overflowing = {
      blockCount: 0,
      tidCount: 0,
      add(block: number, offsets: Uint16Array, count: number) {
        const key = ((block << OFFSET_BITS) | offsets[0]!) >>> 0;
        this.tidCount += count;
        if (seen[key >>> OFFSET_BITS] === 0) this.blockCount++;
        seen[key >>> OFFSET_BITS] = 1;
      },
    };
    loadRadix(overflowing as unknown as RadixTidStore, NINE_MILLION, NINE_MILLION.blockCount);
    expect(() => checkLoaded('radix tree', overflowing, NINE_MILLION)).toThrow(
      'the radix tree holds 8388608 keys where 9000000 were meant',
    );
  });

  it('TID numbers above 2^32 are found', () => {
    const population = new Population(g, { ...DENSE, maxBlock: LAST_BLOCK + 1 });
    expect(population.tidCount).toBe(30 * (LAST_BLOCK + 1));
    const tids = { blocks: new Uint32Array(3), offsets: new Uint16Array(3) };
    population.write(tids, 0, 2 ** 32);
    population.write(tids, 1, 2 ** 36 + 5);
    population.write(tids, 2, population.tidCount - 1);
    expect([...tids.blocks]).toEqual([143165576, 2290649224, LAST_BLOCK]);
    expect([...tids.offsets]).toEqual([17, 22, 30]);
    for (const index of [0, 1, 2]) expect(population.has(tids.blocks[index]!, tids.offsets[index]!)).toBe(true);
  });

  it('the last block that there is can be loaded, and no block after it', () => {
    const population = new Population(g, { ...DENSE, minBlock: LAST_BLOCK - 500, maxBlock: LAST_BLOCK + 1 });
    const radix = new RadixTidStore(g);
    loadRadix(radix, population, population.blockCount);
    const array = new SortedArrayTidStore(g, { maxBytes: 6 * population.tidCount });
    loadArray(array, population, population.blockCount);
    for (const store of [radix, array]) {
      checkLoaded('store', store, population);
      expect([store.has(LAST_BLOCK, 30), store.has(LAST_BLOCK, 31), store.has(LAST_BLOCK - 501, 30)]).toEqual([
        true,
        false,
        false,
      ]);
    }
  });
});

describe('the TIDs that are searched', () => {
  const population = new Population(g, { ...DENSE, maxBlock: 1000 });

  it('are all of them, in order', () => {
    const stretches = new Stretches('seq-search', population, Infinity, 9, 1);
    stretches.turnTo(0);
    expect({ blocks: stretches.blocks, offsets: stretches.offsets }).toEqual(tidsOf(population));
    expect(stretches.ascending).toBe(population.tidCount - 1);
  });

  it('are all of them, shuffled: about half the neighbours ascend', () => {
    const stretches = new Stretches('shuffle-search', population, Infinity, 9, 1);
    stretches.turnTo(0);
    const keys = Array.from(stretches.blocks, (block, i) => tidKey(block, stretches.offsets[i]!));
    const inOrder = tidsOf(population);
    expect(keys.toSorted((a, b) => a - b)).toEqual(
      Array.from(inOrder.blocks, (block, i) => tidKey(block, inOrder.offsets[i]!)),
    );
    expect(stretches.ascending / (keys.length - 1)).toBeCloseTo(0.5, 1);
    expect(stretches.ascending).toBe(keys.filter((key, i) => i > 0 && keys[i - 1]! < key).length);
  });

  it.each(['seq-search', 'shuffle-search'] as const)(
    'in %s are other ones each round, from first to last',
    (search) => {
      const stretches = new Stretches(search, population, 1000, 9, 1);
      const rounds = [];
      for (let round = 0; round < 9; round++) {
        stretches.turnTo(round);
        rounds.push(Array.from(stretches.blocks, (block, i) => tidKey(block, stretches.offsets[i]!)));
      }
      expect(new Set(rounds.flat()).size).toBe(9000);
      stretches.turnTo(0);
      expect(Array.from(stretches.blocks, (block, i) => tidKey(block, stretches.offsets[i]!))).toEqual(rounds[0]);
      if (search === 'shuffle-search') return;
      expect([rounds[0]![0], rounds[8]![999]]).toEqual([tidKey(0, 1), tidKey(999, 30)]);
    },
  );

  it('the check finds the shuffle that shuffled other TIDs than those that are searched', () => {
    const loaded = tidsOf(population);
    const searched = tidsOf(population);
    // As the discussion's benchmark did: it shuffled the array that had been loaded, and searched the list.
    const other = new Stretches('shuffle-search', population, Infinity, 9, 1);
    other.turnTo(0);
    loaded.blocks.set(other.blocks);
    loaded.offsets.set(other.offsets);
    expect(() => checkedAscents('shuffle-search', loaded)).not.toThrow();
    expect(() => checkedAscents('shuffle-search', searched)).toThrow(
      'of 29999 neighbours 29999 ascend, which should be about half',
    );
    expect(() => checkedAscents('seq-search', loaded)).toThrow(/which should be all$/);
  });

  it('the check finds a shuffle of the blocks that leaves the TIDs of each in order', () => {
    const tids = tidsOf(population);
    const other = new Stretches('shuffle-search', population, Infinity, 9, 1);
    other.turnTo(0);
    for (let i = 0; i < tids.blocks.length; i++) tids.blocks[i] = other.blocks[i - (i % 30)]!;
    expect(() => checkedAscents('shuffle-search', tids)).toThrow(/about half/);
  });
});
