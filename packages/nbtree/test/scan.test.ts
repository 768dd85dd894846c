// Scans of built trees at every block size against a sorted array: every range, in both directions.
import { BLOCK_SIZES } from '@blockwright/geometry';
import { int4, int8, text } from '@blockwright/tuple';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BtreeScan } from '../src/scan.ts';
import { BuildWorld, type WorldOptions, type WorldRow } from './build-world.ts';
import {
  boundOf,
  drain,
  drainTids,
  rowsOf,
  scanOf,
  sortRows,
  tidText,
  type Value,
  type ValueRange,
} from './scan-model.ts';

/** Rows with TIDs in no order, in blocks up to 2^32 - 2. */
function placed(values: readonly (readonly Value[])[]): WorldRow[] {
  const far = [0, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe];
  return values.map((row, i) => ({
    values: row,
    block: i < far.length ? far[i] : (i * 7919) % 65_537,
    offset: i < far.length ? 1 : (i % 90) + 1,
  }));
}

const order = fc.record({ descending: fc.boolean(), nullsFirst: fc.boolean() });
const number = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: -5, max: 30 }) },
  { weight: 1, arbitrary: fc.constant(null) },
);
const word = fc.oneof(
  { weight: 9, arbitrary: fc.string({ maxLength: 4, unit: fc.constantFrom('a', 'b', 'é', ' ') }) },
  { weight: 1, arbitrary: fc.constant(null) },
);
const row = fc.tuple(number, word);
const prefix = fc.oneof(row, fc.tuple(number));
const range: fc.Arbitrary<ValueRange> = fc.oneof(
  fc.record({
    from: fc.option(prefix, { nil: undefined }),
    fromInclusive: fc.boolean(),
    to: fc.option(prefix, { nil: undefined }),
    toInclusive: fc.boolean(),
    backward: fc.boolean(),
  }),
  fc.record({ in: fc.array(fc.tuple(number), { maxLength: 12 }), backward: fc.boolean() }),
);

describe.each(BLOCK_SIZES)('at %i bytes', (size) => {
  it('any range of any two columns gives its rows in order, in either direction', () => {
    const most = size >= 8192 ? 900 : 400;
    fc.assert(
      fc.property(
        fc.array(row, { maxLength: 60, size: 'max' }),
        fc.tuple(order, order),
        fc.boolean(),
        fc.array(range, { minLength: 8, maxLength: 8 }),
        (seeds, keys, deduplicate, ranges) => {
          const options: WorldOptions = { columns: { n: int4().nullable(), w: text().nullable() }, keys, deduplicate };
          const values =
            seeds.length === 0 ? [] : Array.from({ length: most }, (_, i) => seeds[(i * i) % seeds.length]);
          const rows = placed(values);
          const world = new BuildWorld(size, options);
          world.build(rows);
          const sorted = sortRows(options, rows);
          for (const wanted of ranges) {
            const expected = rowsOf(options, sorted, wanted);
            using scan = scanOf(world, options, wanted);
            expect(drain(scan)).toEqual(expected.map((found) => world.tupleOf(found)));
            using bare = scanOf(world, options, wanted, false);
            expect(drainTids(bare)).toEqual(expected.map(tidText));
          }
          expect(world.pool.pinned()).toEqual([]);
        },
      ),
      { numRuns: 12 },
    );
  });

  it('every place between the keys of several levels can be a bound', () => {
    const options: WorldOptions = { columns: { k: int8() } };
    const count = size <= 2048 ? 6000 : 3000;
    const values = Array.from({ length: count }, (_, i) => [BigInt(2 * Math.floor(i / 3))]);
    const rows = placed(values);
    const world = new BuildWorld(size, options);
    world.build(rows);
    const sorted = sortRows(options, rows);
    for (let k = -1; k < (2 * count) / 3 + 1; k += 37) {
      for (const inclusive of [true, false]) {
        for (const backward of [true, false]) {
          const wanted = {
            from: [BigInt(k)],
            fromInclusive: inclusive,
            to: [BigInt(k + 50)],
            toInclusive: !inclusive,
            backward,
          };
          using scan = scanOf(world, options, wanted);
          expect(drainTids(scan)).toEqual(rowsOf(options, sorted, wanted).map(tidText));
        }
      }
    }
  });

  it('a scan of one key reads one page where the high key says that there are no more', () => {
    const options: WorldOptions = { columns: { k: int8() } };
    const rows = placed(Array.from({ length: 4000 }, (_, i) => [BigInt(i)]));
    const world = new BuildWorld(size, options);
    world.build(rows);
    let descents = 0;
    for (let k = 0; k < 4000; k += 13) {
      using scan = scanOf(world, options, { from: [BigInt(k)], to: [BigInt(k)] });
      const before = world.pool.stats.hits + world.pool.stats.misses;
      expect(scan.nextPage()).toBe(1);
      expect(scan.nextPage()).toBe(0);
      const pins = world.pool.stats.hits + world.pool.stats.misses - before;
      descents = Math.max(descents, pins);
    }
    expect(descents).toBeLessThanOrEqual(world.index.levels() + 2);
  });
});

describe('a scan', () => {
  const options: WorldOptions = { columns: { k: int8(), w: text() } };

  it('of an index without a row gives nothing', () => {
    const world = new BuildWorld(1024, options);
    world.build([]);
    for (const backward of [false, true]) {
      using scan = new BtreeScan(world.index, { backward });
      expect(scan.nextPage()).toBe(0);
      expect(scan.nextPage()).toBe(0);
    }
  });

  it('refuses ranges that are none', () => {
    const world = new BuildWorld(1024, options);
    world.build([]);
    const one = boundOf(world, [1n]);
    const two = boundOf(world, [2n]);
    expect(() => new BtreeScan(world.index, { in: [one], from: two })).toThrow(TypeError);
    expect(() => new BtreeScan(world.index, { in: [two, one] })).toThrow(RangeError);
    expect(() => new BtreeScan(world.index, { in: [one, one] })).toThrow(/keys 0 and 1 of "in"/);
    expect(() => new BtreeScan(world.index, { from: { ...one, natts: 3 } })).toThrow(/2 key columns/);
    expect(() => new BtreeScan(world.index, { from: { ...one, natts: 0 } })).toThrow(RangeError);
    expect(() => new BtreeScan(world.index, { backwards: true } as object)).toThrow(/did you mean "backward"/);
  });

  it('is over after its close, and closing again is fine', () => {
    const world = new BuildWorld(1024, options);
    world.build(
      placed([
        [1n, 'a'],
        [2n, 'b'],
      ]),
    );
    const scan = new BtreeScan(world.index);
    expect(scan.nextPage()).toBe(2);
    scan.close();
    scan.close();
    expect(scan.nextPage()).toBe(0);
    expect(scan.blocks.length).toBe(0);
    expect(() => scan.memory).toThrow(TypeError);
  });

  it('marks what it was told is dead, and the next one passes over it', () => {
    const same: WorldOptions = { columns: { k: int8() } };
    const rows = placed(Array.from({ length: 300 }, (_, i) => [BigInt(Math.floor(i / 4))]));
    const world = new BuildWorld(1024, same);
    world.build(rows);
    const sorted = sortRows(same, rows);
    const isDead = (i: number): boolean => i % 4 === 1 || Math.floor(i / 4) % 5 === 0;
    const dead = new Set(sorted.filter((_, i) => isDead(i)).map(tidText));
    for (const backward of [false, true]) {
      using scan = new BtreeScan(world.index, { backward });
      for (let count = scan.nextPage(); count > 0; count = scan.nextPage()) {
        for (let i = 0; i < count; i++) if (dead.has(`(${scan.blocks[i]},${scan.offsets[i]})`)) scan.kill(i);
        scan.flushKilled();
        expect(() => scan.kill(count)).toThrow(RangeError);
      }
    }
    // Four rows of a key share a posting list, which is dead when all of them are.
    const left = sorted.filter((_, i) => Math.floor(i / 4) % 5 !== 0);
    using again = new BtreeScan(world.index);
    expect(drainTids(again)).toEqual(left.map(tidText));
    expect(world.pool.pinned()).toEqual([]);
  });
});
