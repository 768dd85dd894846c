// TID stores with nodes of every kind and values of every kind, and their functions that run once a TID or once a block.
import { BlockGeometry } from '@blockwright/geometry';
import { RadixTidStore, RadixTree, SortedArrayTidStore } from '@blockwright/tidstore';

const SIZES = [1024, 8192, 32_768];
/** Blocks that make nodes of every kind: dense, every third, every tenth, far apart, and the last. */
const BLOCKS = [0, 1, 2, 255, 256, 70_000, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2];
for (const step of [1, 3, 10, 60, 70_001]) for (let i = 0; i < 600; i++) BLOCKS.push(1_000_000 + step * (20_000 + i));
BLOCKS.sort((a, b) => a - b);
const OFFSETS = [[1, 2, 3, 31], [200], [40, 201], [1, 33, 64, 65, 100, 180, 250], [5]].map((o) => Uint16Array.from(o));

const fill = (store) => {
  for (let i = 0; i < BLOCKS.length; i++) {
    const offsets = OFFSETS[i % OFFSETS.length];
    store.add(BLOCKS[i], offsets, offsets.length);
  }
  return store;
};
const geometries = SIZES.map((size) => BlockGeometry.of(size));
const trees = geometries.map((g) => fill(new RadixTidStore(g)));
const arrays = geometries.map((g) => fill(new SortedArrayTidStore(g, { maxTids: 50_000 })));
const keys = new RadixTree();
const blockOf = (n) => BLOCKS[(n * 577) % BLOCKS.length];
const storeOf = (stores, n) => stores[n % stores.length];
const method = (type, name, call) => ({ id: `${type.name}.${name}`, fn: type.prototype[name], call });

/** Some blocks of every kind of node, others each round. A target is called from the loop itself: a function between
 * could be optimised, and the target inlined into it. */
const some = (n) => BLOCKS.filter((_, i) => (i + n) % 31 === 0);

const cursorOf = (stores) => (n) => {
  const cursor = storeOf(stores, n).cursor();
  for (let i = 0; i < 700; i++) cursor.next();
  return cursor;
};
const treeCursor = cursorOf(trees)(0);
const keyCursor = () => {
  const cursor = keys.cursor();
  for (let i = 0; i < 700; i++) cursor.next();
  return cursor;
};

const addTo = (stores) => (n) => {
  const store = storeOf(stores, n);
  if (n % 10 === 9) {
    store.clear();
    fill(store);
  }
  const offsets = OFFSETS[n % OFFSETS.length];
  for (let i = 0; i < 40; i++) store.add(blockOf(n + i), offsets, offsets.length);
};

export const tidTargets = [
  method(RadixTidStore, 'add', addTo(trees)),
  method(RadixTidStore, 'has', (n) => {
    for (const block of some(n)) storeOf(trees, n).has(block, 1 + ((block * 7 + n) % 250));
  }),
  method(SortedArrayTidStore, 'add', addTo(arrays)),
  method(SortedArrayTidStore, 'has', (n) => {
    for (const block of some(n)) storeOf(arrays, n).has(block, 1 + ((block * 7 + n) % 250));
  }),
  method(RadixTree, 'set', (n) => {
    for (const block of some(n)) keys.set(n % 3, block, n);
  }),
  method(RadixTree, 'find', (n) => {
    for (const block of some(n)) keys.find(n % 3, block);
  }),
  method(RadixTree, 'place', (n) => {
    for (const block of some(n)) keys.place(n % 3, block);
  }),
  method(RadixTree, 'get', (n) => {
    for (const block of some(n)) keys.get(n % 3, block);
  }),
  method(RadixTree, 'delete', (n) => {
    for (const block of some(n)) {
      keys.delete(n % 3, block);
      if (block % 5 !== 0) keys.set(n % 3, block, n);
    }
  }),
  { id: 'RadixTidCursor.next', fn: Object.getPrototypeOf(treeCursor).next, call: cursorOf(trees) },
  { id: 'RadixCursor.next', fn: Object.getPrototypeOf(keyCursor()).next, call: keyCursor },
];
