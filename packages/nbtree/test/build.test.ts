// Builds at every block size against a sorted array: the leaves hold every row once, in order, and the levels above lead
// to them; with little memory the same file comes out of many runs.
import { BLOCK_SIZES, BlockGeometry, type BlockSize } from '@blockwright/geometry';
import { float8, int4, int8, text } from '@blockwright/tuple';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ASCENDING,
  BuildWorld,
  type ReadPage,
  type ReadTree,
  readTree,
  type WorldOptions,
  type WorldRow,
} from './build-world.ts';

const LEAF = 1;
const ROOT = 2;

type Value = string | number | bigint | null;

/** Order of two values of one column: as PostgreSQL's, and by the bytes of text. */
function order(a: Value, b: Value): number {
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return (a as number) < (b as number) ? -1 : (a as number) > (b as number) ? 1 : 0;
}

function sortedRows(rows: readonly WorldRow[], { keys = [], columns }: WorldOptions): WorldRow[] {
  const orders = keys.length > 0 ? keys : Object.keys(columns).map(() => ASCENDING);
  return [...rows].sort((a, b) => {
    for (const [i, { descending, nullsFirst }] of orders.entries()) {
      const [x, y] = [a.values[i] as Value, b.values[i] as Value];
      if (x === null || y === null) {
        if (x === y) continue;
        return (x === null) === nullsFirst ? -1 : 1;
      }
      const byValue = order(x, y);
      if (byValue !== 0) return descending ? -byValue : byValue;
    }
    return a.block - b.block || a.offset - b.offset;
  });
}

/** Rows at TIDs of their own, in the order of the table or not. */
function place(values: readonly (readonly Value[])[], perBlock = 7): WorldRow[] {
  return values.map((row, i) => ({ values: row, block: Math.floor(i / perBlock), offset: (i % perBlock) + 1 }));
}

/** Every rule of a freshly built tree that can be read off its pages. */
function checkTree(world: BuildWorld, tree: ReadTree, size: BlockSize, expected: readonly WorldRow[]): void {
  const byBlock = new Map(tree.pages.map((page) => [page.block, page]));
  const leaves = levelOf(byBlock, tree, 0);
  const tuples = leaves.flatMap(({ items }) => items.flatMap((item) => item.tuples));
  expect(tuples).toEqual(expected.map((row) => world.tupleOf(row)));
  const reached = new Set<number>();
  for (let level = tree.level; level >= 0; level--) {
    const pages = level === 0 ? leaves : levelOf(byBlock, tree, level);
    for (const [i, page] of pages.entries()) {
      reached.add(page.block);
      expect(page.level).toBe(level);
      expect(page.flags).toBe((level === 0 ? LEAF : 0) | (page.block === tree.root ? ROOT : 0));
      expect(page.prev).toBe(pages[i - 1]?.block ?? 0);
      expect(page.highKey === undefined).toBe(i === pages.length - 1);
      if (page.highKey !== undefined) expect(page.items.length).toBeGreaterThan(0);
      if (level > 0) checkDownlinks(page, levelOf(byBlock, tree, level - 1));
      expect(page.free).toBeLessThan(size);
    }
    expect(pages.length === 1).toBe(level === tree.level);
  }
  expect(reached.size).toBe(tree.pages.length);
}

/** Each child has one item, with the high key of the child before it; the first has no key on any page. */
function checkDownlinks(page: ReadPage, children: readonly ReadPage[]): void {
  for (const [i, item] of page.items.entries()) {
    const at = children.findIndex(({ block }) => block === item.block);
    expect(at).toBeGreaterThanOrEqual(0);
    if (i > 0) expect(page.items[i - 1].block).toBe(children[at - 1].block);
    const key = at === 0 ? undefined : children[at - 1].highKey;
    if (i === 0) expect(item.natts).toBe(0);
    else expect(item.bytes.subarray(4)).toEqual(key?.bytes.subarray(4));
  }
}

function levelOf(pages: ReadonlyMap<number, ReadPage>, tree: ReadTree, level: number): ReadPage[] {
  let block = tree.root;
  for (let at = tree.level; at > level; at--) block = pages.get(block)?.items[0].block as number;
  const found: ReadPage[] = [];
  for (let page = pages.get(block); page !== undefined; page = pages.get(page.next)) found.push(page);
  return found;
}

function buildAndCheck(size: BlockSize, options: WorldOptions, rows: readonly WorldRow[]): Uint8Array {
  const world = new BuildWorld(size, options);
  const result = world.build(rows);
  const file = world.file();
  const tree = readTree(file, size);
  expect(result).toMatchObject({ tuples: rows.length, heapTuples: rows.length, levels: tree.level });
  expect(result.pages).toBe(file.length / size);
  checkTree(world, tree, size, sortedRows(rows, options));
  expect(world.pool.pinned()).toEqual([]);
  expect(world.vfs.exists('/data/temp') ? world.vfs.readdir('/data/temp') : []).toEqual([]);
  return file;
}

/** Deterministic, of full period below 2^31. */
function* numbers(): Generator<number, never> {
  for (let state = 12345; ; ) yield (state = (Math.imul(state, 1103515245) + 12345) & 0x7fff_ffff);
}

const texts = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.constantFrom('same beginning 1', 'same beginning 2', 'same beginning', 'x'.repeat(60)),
);
const COLUMNS: Readonly<Record<string, { column: WorldOptions['columns'][string]; value: fc.Arbitrary<Value> }>> = {
  int4: { column: int4().nullable(), value: fc.option(fc.oneof(fc.integer(), fc.integer({ min: -2, max: 9 }))) },
  int8: {
    column: int8().nullable(),
    value: fc.option(fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt({ min: 0n, max: 40n }))),
  },
  float8: { column: float8().nullable(), value: fc.option(fc.oneof(fc.double(), fc.constantFrom(0, 1.5))) },
  text: { column: text().nullable(), value: fc.option(texts) },
};
const key = fc.record({ descending: fc.boolean(), nullsFirst: fc.boolean() });

describe.each(BLOCK_SIZES)('at %i-byte blocks', (size) => {
  it('an empty table makes an index of a meta page alone', () => {
    const world = new BuildWorld(size, { columns: { id: int8() } });
    expect(world.build([])).toEqual({ tuples: 0, heapTuples: 0, pages: 1, levels: 0, runs: 0 });
    const file = world.file();
    expect(file.length).toBe(size);
    expect(readTree(file, size)).toMatchObject({ root: 0, level: 0, allEqualImage: true, pages: [] });
  });

  it('any rows of any columns come out in order', () => {
    const shape = fc
      .array(fc.tuple(fc.constantFrom(...Object.keys(COLUMNS)), key), { minLength: 1, maxLength: 3 })
      .chain((shapes) => {
        const row = fc.tuple(...shapes.map(([type]) => COLUMNS[type].value));
        const counts = { minLength: 1, maxLength: 250, size: 'max' as const };
        return fc.record({
          shapes: fc.constant(shapes),
          keyCount: fc.integer({ min: 1, max: shapes.length }),
          rows: fc.array(row, counts),
          isShuffled: fc.boolean(),
          deduplicate: fc.boolean(),
          fillfactor: fc.constantFrom(90, 100, 50, 10),
          maintenanceWorkMem: fc.constantFrom(1 << 20, 2000),
        });
      });
    fc.assert(
      fc.property(shape, ({ shapes, keyCount, rows, isShuffled, ...options }) => {
        const columns = Object.fromEntries(shapes.map(([type], i) => [`c${i}`, COLUMNS[type].column]));
        const keys = shapes.slice(0, keyCount).map(([, k]) => k);
        const placed = place(rows);
        if (isShuffled) placed.sort((a, b) => ((a.block * 7 + a.offset) % 13) - ((b.block * 7 + b.offset) % 13));
        buildAndCheck(size, { ...options, columns, keys }, placed);
      }),
      { numRuns: 25 },
    );
  });

  it('tiny memory makes many runs, merged more than once, and the same file', () => {
    const random = numbers();
    const rows = place(Array.from({ length: 3000 }, () => [random.next().value % 700, `t${random.next().value % 5}`]));
    const columns = { n: int4(), t: text() };
    const whole = buildAndCheck(size, { columns }, rows);
    const world = new BuildWorld(size, { columns, maintenanceWorkMem: 2000 });
    const phases = new Set<string>();
    const { runs } = world.build(rows, ({ phase }) => phases.add(phase));
    expect(runs).toBeGreaterThan(36); // six at a time: two merges before the last
    expect(Buffer.compare(world.file(), whole)).toBe(0);
    expect([...phases]).toEqual([
      'building index: scanning table',
      'building index: sorting live tuples',
      'building index: loading tuples in tree',
    ]);
  });

  it('long keys are as long as the size allows, and one more is refused by its limit', () => {
    const g = BlockGeometry.of(size);
    const limit = Math.min(g.constants.BTMaxItemSize, 8176);
    const most = limit - 8 - (limit > 136 ? 4 : 1);
    const long = (i: number, length: number): WorldRow => ({
      values: [`${String(i).padStart(4, '0')}${'x'.repeat(length - 4)}`],
      block: i,
      offset: 1,
    });
    const rows = Array.from({ length: 40 }, (_, i) => long((i * 7) % 40, most));
    buildAndCheck(size, { columns: { t: text() } }, rows);
    const world = new BuildWorld(size, { columns: { t: text() } });
    expect(() => world.build([...rows, long(77, most + 1)])).toThrow(
      expect.objectContaining({ code: '54000', message: expect.stringContaining(String(limit)) }) as Error,
    );
    expect(world.pool.pinned()).toEqual([]);
  });

  it('grows to levels above levels, filled to 90 and 70 percent', () => {
    const rows = place(
      Array.from({ length: size === 1024 ? 60_000 : 9000 }, (_, i) => [BigInt(i)]),
      100,
    );
    const world = new BuildWorld(size, { columns: { id: int8() } });
    const { levels } = world.build(rows);
    const tree = readTree(world.file(), size);
    checkTree(world, tree, size, rows);
    if (size === 1024) expect(levels).toBe(3);
    else expect(levels).toBeGreaterThanOrEqual(1);
    for (const page of tree.pages) {
      if (page.highKey === undefined) continue;
      const spare = Math.floor((size * (page.level === 0 ? 10 : 30)) / 100);
      expect(page.free).toBeLessThan(spare + 24);
      expect(page.free).toBeGreaterThan(spare - 24);
    }
  });
});
