// Memory: what the store says it has is what the process has gained; what a limit means; addresses beyond 2^30 bytes and
// the end at 4 GiB, reached with chunks that are not there.
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { afterEach, describe, expect, test } from 'vitest';
import { RadixTidStore, RadixTree, SortedArrayTidStore } from '../src/index.ts';
import { add, expectSame as expectSameStore, NaiveTidStore } from './laws.ts';
import { expectSame, keyOf, randomFrom } from './tree-model.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const g = BlockGeometry.of(8192);

/** Bytes that the process holds in array buffers, when what others let go is gone: it is swept in the background. */
async function arrayBuffers(): Promise<number> {
  let bytes = -1;
  for (let same = 0; same < 3; ) {
    collectGarbage();
    await setTimeout(2);
    const { arrayBuffers: now } = process.memoryUsage();
    same = now === bytes ? same + 1 : 0;
    bytes = now;
  }
  return bytes;
}

describe('memoryBytes', () => {
  test.each<[string, (store: RadixTidStore) => void]>([
    ['nothing', () => {}],
    ['one block', (s) => add(s, 1, [1])],
    ['dense blocks', (s) => fill(s, 200_000, 1, 30)],
    ['blocks far apart', (s) => fill(s, 50_000, 70_001, 1)],
    ['bitmaps', (s) => fill(s, 50_000, 1, 200)],
    ['a store that was emptied', (s) => (fill(s, 50_000, 1, 30), s.clear())],
  ])('is what the process has gained: %s', async (_what, use) => {
    const before = await arrayBuffers();
    const store = new RadixTidStore(g);
    use(store);
    expect((await arrayBuffers()) - before).toBe(store.memoryBytes);
    expect(store.has(2 ** 32 - 2, 1)).toBe(false); // it still lives
  });

  test('of a tree, with deletes, and of the array', async () => {
    const before = await arrayBuffers();
    const tree = new RadixTree();
    for (let i = 0; i < 100_000; i++) tree.set(i & 7, i * 17, i);
    for (let i = 0; i < 90_000; i++) tree.delete(i & 7, i * 17);
    expect((await arrayBuffers()) - before).toBe(tree.memoryBytes);
    const between = await arrayBuffers();
    const array = new SortedArrayTidStore(g, { maxTids: 100_000 });
    expect((await arrayBuffers()) - between).toBe(array.memoryBytes);
    expect([tree.numKeys, array.tidCount]).toEqual([10_000, 0]);
  });

  test('a dense block takes at most a twentieth of what 30 TIDs take in the array', () => {
    const store = new RadixTidStore(g);
    fill(store, 1_000_000, 1, 30);
    expect(store.memoryBytes).toBeLessThanOrEqual((1_000_000 * 30 * 6) / 20);
    expect(store.memoryBytes / 1_000_000).toBeLessThan(4.5);
  });

  test('what deletes free is used again', () => {
    const tree = new RadixTree();
    for (let i = 0; i < 50_000; i++) tree.set(0, i * 257, i);
    const full = tree.memoryBytes;
    for (let round = 0; round < 3; round++) {
      for (let i = 1; i < 50_000; i++) tree.delete(0, i * 257);
      for (let i = 1; i < 50_000; i++) tree.set(0, i * 257, i);
    }
    expect(tree.memoryBytes).toBe(full);
    for (let i = 0; i < 50_000; i++) tree.delete(0, i * 257);
    for (let i = 0; i < 50_000; i++) tree.set(0, i * 257, i);
    expect(tree.memoryBytes).toBe(full);
  });

  test('what clear leaves is used again, and is not in use before', () => {
    const store = new RadixTidStore(g, { maxBytes: 1 << 20 });
    const model = new NaiveTidStore(g);
    const full: number[] = [];
    for (let pass = 0; pass < 3; pass++) {
      let block = pass * 7;
      for (; !store.isFull(); block += 1 + (block % 3)) add(store, block, [1 + (block % 40), 50, 60]);
      full.push(store.memoryBytes);
      expect(store.blockCount).toBeGreaterThan(10_000);
      store.clear();
      expect([store.isFull(), store.memoryBytes]).toEqual([false, full[pass]]);
    }
    expect(new Set(full).size).toBe(1);
    for (let block = 0; block < 500; block++) for (const s of [store, model]) add(s, block * 9, [2, 100 + block, 900]);
    expectSameStore(store, model, g);
  });

  test('a block that is replaced again and again takes no more', () => {
    const store = new RadixTidStore(g);
    const sets = [[1, 100, 200], [5], [1, 2, 291], [40, 41, 42]];
    const fillWith = (i: number) => {
      for (let block = 0; block < 1000; block++) add(store, block, sets[(block + i) & 3]!);
    };
    for (let i = 0; i < 4; i++) fillWith(i);
    const { memoryBytes } = store;
    for (let i = 0; i < 20; i++) fillWith(i);
    expect(store.memoryBytes).toBe(memoryBytes);
  });
});

describe('a limit', () => {
  test.each([65_536, 1 << 18, 1 << 20, 4 << 20])('of %i bytes is passed by little, and can be used', (maxBytes) => {
    const store = new RadixTidStore(g, { maxBytes });
    let block = 0;
    let before = 0;
    while (!store.isFull()) {
      before = store.memoryBytes;
      add(store, block++, [1, 2, 3]);
    }
    expect(before).toBeLessThanOrEqual(maxBytes);
    expect(store.memoryBytes).toBeGreaterThan(maxBytes);
    expect(store.memoryBytes - maxBytes).toBeLessThanOrEqual(Math.max(8192, maxBytes / 16));
    expect(block).toBeGreaterThan((maxBytes * 0.7) / 4.2);
    add(store, block, [1]); // no harm: whoever asks too late
    store.clear();
    expect(store.isFull()).toBe(false);
  });

  test.each([1, 2000, 2584, 3000, 5000, 8000])(
    'of %i bytes, less than an empty store may have, takes a block a pass',
    (maxBytes) => {
      const store = new RadixTidStore(g, { maxBytes });
      let passes = 0;
      for (let block = 0; block < 3000; block++) {
        if (store.isFull()) {
          passes++;
          store.clear();
          expect(store.isFull()).toBe(false);
        }
        add(store, block, [1, 40, 50]);
        expect(store.has(block, 40)).toBe(true);
      }
      expect(passes).toBeGreaterThan(2);
    },
  );

  test.each(BLOCK_SIZES)('a store of %i-byte blocks begins small', (size) => {
    const store = new RadixTidStore(BlockGeometry.of(size));
    expect(store.memoryBytes).toBeLessThan(3000);
    add(store, 0, [1]);
    expect(store.memoryBytes).toBeLessThan(5000);
  });
});

/** As if the arena had given out all its granules up to `granule`: its chunks below are one that nobody uses. */
function lift(tree: RadixTree, granule: number): void {
  const { arena } = tree as unknown as {
    arena: { chunks: Int32Array[]; chunkShift: number; claimed: number; next: number; end: number };
  };
  const nobodys = new Int32Array(2 << arena.chunkShift);
  const chunk = granule >>> arena.chunkShift;
  while (arena.chunks.length < chunk) arena.chunks.push(nobodys);
  arena.claimed = chunk;
  arena.end = chunk << arena.chunkShift;
  arena.next = arena.end;
}

describe('far addresses', () => {
  test.each([2 ** 27 - 20_000, 2 ** 28 - 20_000, 2 ** 29 - 400_000])('from granule %i on', (granule) => {
    const tree = new RadixTree();
    lift(tree, granule);
    const model = new Map<bigint, number>();
    const random = randomFrom(11);
    for (let i = 0; i < 4000; i++) {
      const [high, low] = [random(2), random(1500) * 13];
      if (random(4) === 0) expect(tree.delete(high, low)).toBe(model.delete(keyOf(high, low)));
      else tree.set(high, low, model.set(keyOf(high, low), i).get(keyOf(high, low))!);
    }
    expectSame(tree, model);
  });

  test('bitmaps there', () => {
    const store = new RadixTidStore(g);
    lift((store as unknown as { tree: RadixTree }).tree, 2 ** 29 - 400_000);
    const model = new NaiveTidStore(g);
    for (let i = 0; i < 600; i++) for (const s of [store, model]) add(s, i * 7, [1 + (i & 63), 100 + i, 1000 + i]);
    expectSameStore(store, model, g);
  });

  test('at 4 GiB it is full, and a change that does not fit is refused with that number, and not begun', () => {
    const store = new RadixTidStore(g);
    const { tree } = store as unknown as { tree: RadixTree };
    lift(tree, 2 ** 29 - 65_536);
    expect(store.isFull()).toBe(false);
    let block = 0;
    while (!store.isFull()) add(store, block++, [1, 100, 200]);
    expect(() => {
      for (;;) add(store, block++, [1, 100, 200]);
    }).toThrow('more than 4 GiB');
    const last = block - 1;
    expect([store.blockCount, store.tidCount, store.has(last, 1), store.has(last - 1, 200)]).toEqual([
      last,
      3 * last,
      false,
      true,
    ]);
    expect(() => add(store, 5, [1])).toThrow(expect.objectContaining({ code: '54000' }));
    store.clear();
    add(store, 1, [1]);
    expect(store.isFull()).toBe(false);
  });
});

describe('without memory', () => {
  const { Int32Array: Available } = globalThis;
  afterEach(() => {
    globalThis.Int32Array = Available;
  });
  const refuse = () => {
    globalThis.Int32Array = new Proxy(Available, {
      construct: () => {
        throw new RangeError('Array buffer allocation failed');
      },
    });
  };

  test('a set that needs some is refused, and changes nothing', () => {
    const tree = new RadixTree();
    const model = new Map<bigint, number>();
    let i = 0;
    tree.set(0, i, i);
    model.set(keyOf(0, i), i);
    refuse();
    expect(() => {
      for (i = 1; ; i++) {
        tree.set(0, i * 300, i);
        model.set(keyOf(0, i * 300), i);
      }
    }).toThrow('Array buffer allocation failed');
    globalThis.Int32Array = Available;
    expect(i).toBeGreaterThan(10);
    expectSame(tree, model);
  });

  test.each([
    ['the process has none', () => refuse()],
    ['the tree has 4 GiB', (tree: RadixTree) => lift(tree, 2 ** 29)],
  ])('a delete leaves a node as large as it is: %s', (_why, exhaust) => {
    const tree = new RadixTree();
    const model = new Map<bigint, number>();
    for (let i = 0; i < 1024; i++) tree.set(0, i, model.set(keyOf(0, i), i).get(keyOf(0, i))!);
    const inner = tree.stats();
    expect(inner).toMatchObject({ n256: 4, n128: 0 });
    dropFreed(tree);
    exhaust(tree);
    for (let i = 0; i < 1020; i++) {
      if ((i & 255) < 2) continue; // each leaf keeps two keys
      expect(tree.delete(0, i)).toBe(true);
      model.delete(keyOf(0, i));
    }
    globalThis.Int32Array = Available;
    expect(tree.stats()).toEqual({ ...inner, numKeys: model.size });
    expectSame(tree, model);
  });

  test('a delete that finds memory again makes the node smaller', () => {
    const tree = new RadixTree();
    for (let i = 0; i < 256; i++) tree.set(0, i, i);
    dropFreed(tree);
    refuse();
    for (let i = 0; i < 200; i++) tree.delete(0, i);
    expect(tree.stats()).toMatchObject({ numKeys: 56, n256: 1, n128: 0 });
    globalThis.Int32Array = Available;
    tree.delete(0, 200);
    expect(tree.stats()).toMatchObject({ numKeys: 55, n256: 0, n128: 1 });
    expectSame(tree, new Map(Array.from({ length: 55 }, (_, i) => [keyOf(0, 201 + i), 201 + i])));
  });
});

/** As if all that was cut so far was still held, and no fresh memory was left. */
function dropFreed(tree: RadixTree): void {
  const { arena } = tree as unknown as { arena: { freed: Int32Array; longest: number; next: number; end: number } };
  arena.freed.fill(0);
  arena.longest = 0;
  arena.next = arena.end;
}

function fill(store: RadixTidStore, blocks: number, stride: number, tids: number): void {
  const offsets = Uint16Array.from({ length: tids }, (_, i) => i + 1);
  for (let i = 0; i < blocks; i++) store.add(i * stride, offsets, tids);
}
