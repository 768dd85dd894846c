// A scan that others work beside: between two of its pages keys are inserted, pages are split, emptied and taken out. What
// was there all the time it gives once each, in order. And links that lead astray end in an error, however it runs.
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { pageMaxOffset } from '@blockwright/page';
import type { Transaction } from '@blockwright/transam';
import { int8, setIndexTupleTid } from '@blockwright/tuple';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { btreeInsert } from '../src/insert.ts';
import {
  BTP_DELETED,
  BTP_HALF_DEAD,
  btFlags,
  btIsLeaf,
  btNext,
  btPrev,
  firstDataKey,
  setBtDeleted,
  setBtFlags,
  setBtLevel,
  setBtNext,
  setBtPrev,
} from '../src/page.ts';
import { BtreeScan } from '../src/scan.ts';
import { BuildWorld, type WorldOptions, type WorldRow } from './build-world.ts';
import { drainTids, sortRows, tidsOf, tidText } from './scan-model.ts';

const options: WorldOptions = { columns: { k: int8() } };
const nobody = undefined as unknown as Transaction;

function rowsOf(keys: readonly number[], block: number): WorldRow[] {
  return keys.map((k, i) => ({ values: [BigInt(k)], block: block + Math.floor(i / 50), offset: (i % 50) + 1 }));
}

function built(size: BlockSize, rows: readonly WorldRow[]): BuildWorld {
  const world = new BuildWorld(size, options);
  world.build(rows);
  return world;
}

function insert({ former, index }: BuildWorld, { values, block, offset }: WorldRow): void {
  const length = former.fromValues(values);
  setIndexTupleTid(former.memory, 0, block, offset);
  btreeInsert(index, nobody, former.memory, 0, length, false);
}

/** The leaves from left to right. */
function leavesOf({ index }: BuildWorld): number[] {
  const { pool, main, geometry } = index;
  const leaves: number[] = [];
  for (let block = 1; block < main.blockCount(); block++) {
    const isFirst = pool.withPage(
      main,
      block,
      (m, base) =>
        btIsLeaf(m, base, geometry.size) &&
        btPrev(m, base, geometry.size) === 0 &&
        (btFlags(m, base, geometry.size) & BTP_DELETED) === 0,
    );
    if (isFirst) for (let b = block; b !== 0; b = nextOf(index, b)) leaves.push(b);
  }
  return leaves;
}

function nextOf({ pool, main, geometry }: BuildWorld['index'], block: number): number {
  return pool.withPage(main, block, (m, base) => btNext(m, base, geometry.size));
}

/** Changes a page's special area. */
function edit(
  { index }: BuildWorld,
  block: number,
  change: (m: Parameters<typeof btNext>[0], base: number, size: number) => void,
): void {
  index.pool.withPage(index.main, block, (m, base) => change(m, base, index.geometry.size));
}

/** Takes a leaf out of its level, as the second step of deletion does; its TIDs are returned. */
function unlink(world: BuildWorld, block: number): Set<string> {
  const gone = tidsOn(world, block);
  const { geometry } = world.index;
  edit(world, block, (m, base, size) => {
    const [left, right] = [btPrev(m, base, size), btNext(m, base, size)];
    if (left !== 0) edit(world, left, (lm, lBase) => setBtNext(lm, lBase, size, right));
    edit(world, right, (rm, rBase) => setBtPrev(rm, rBase, size, left));
    setBtDeleted(m, base, geometry, 1000);
  });
  return gone;
}

function tidsOn(world: BuildWorld, block: number): Set<string> {
  const { index } = world;
  const scan = new BtreeScan(index);
  for (let count = scan.nextPage(); count > 0; count = scan.nextPage()) {
    if ((scan as unknown as { block: number }).block === block) return new Set(tidsOf(scan, count));
  }
  return new Set();
}

describe.each(BLOCK_SIZES)('at %i bytes', (size) => {
  const many = size <= 2048 ? 600 : size <= 8192 ? 2500 : 9000;

  it('keys inserted beside a scan, before it or behind it, make it lose or repeat nothing', () => {
    fc.assert(
      fc.property(
        fc.boolean(),
        fc.array(fc.array(fc.integer({ min: -10, max: many + 10 }), { maxLength: 40 }), { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 0, max: 3 }),
        (backward, waves, dense) => {
          const rows = rowsOf(
            Array.from({ length: many }, (_, i) => i),
            0,
          );
          const world = built(size, rows);
          const there = new Set(rows.map(tidText));
          using scan = new BtreeScan(world.index, { backward });
          let wave = 0;
          let block = 100_000;
          const tids = drainTids(scan, () => {
            // Around one place, so that pages are split again and again.
            const keys = waves[wave++ % waves.length].flatMap((k) => Array.from({ length: 1 + dense * 9 }, () => k));
            for (const added of rowsOf(keys, block)) insert(world, added);
            block += 1000;
          });
          const expected = sortRows(options, rows).map(tidText);
          expect(tids.filter((tid) => there.has(tid))).toEqual(backward ? expected.reverse() : expected);
          expect(new Set(tids).size).toBe(tids.length);
          expect(world.pool.pinned()).toEqual([]);
        },
      ),
      { numRuns: size <= 2048 ? 12 : 5 },
    );
  });

  it('pages that are taken out beside a scan, the one it read last included, are passed over', () => {
    fc.assert(
      fc.property(fc.boolean(), fc.infiniteStream(fc.nat()), fc.boolean(), (backward, random, hits) => {
        const rows = rowsOf(
          Array.from({ length: many }, (_, i) => i),
          0,
        );
        const world = built(size, rows);
        const leaves = leavesOf(world);
        const seen: string[] = [];
        const gone = new Set<string>();
        using scan = new BtreeScan(world.index, { backward });
        for (let count = scan.nextPage(); count > 0; count = scan.nextPage()) {
          seen.push(...tidsOf(scan, count));
          const current = (scan as unknown as { block: number }).block;
          // The rightmost page is never taken out.
          for (let i = 0; i < 3; i++) {
            const at = random.next().value % (leaves.length - 1);
            const block = hits && i === 0 && leaves.indexOf(current) < leaves.length - 1 ? current : leaves[at];
            const place = leaves.indexOf(block);
            if (leaves.length < 3 || place < 0 || place === leaves.length - 1) continue;
            for (const tid of unlink(world, block)) gone.add(tid);
            leaves.splice(place, 1);
          }
        }
        const sorted = rows.map(tidText);
        const kept = (backward ? sorted.reverse() : sorted).filter((tid) => !gone.has(tid));
        const given = new Set(seen);
        expect(seen.filter((tid) => !gone.has(tid))).toEqual(kept);
        expect(given.size).toBe(seen.length);
      }),
      { numRuns: 10 },
    );
  });

  it('half-dead pages and pages without an item are passed over', () => {
    const rows = rowsOf(
      Array.from({ length: many }, (_, i) => i),
      0,
    );
    const world = built(size, rows);
    const leaves = leavesOf(world);
    const gone = new Set<string>();
    for (const block of [leaves[0], leaves[Math.floor(leaves.length / 2)]]) {
      for (const tid of tidsOn(world, block)) gone.add(tid);
      edit(world, block, (m, base, s) => setBtFlags(m, base, s, btFlags(m, base, s) | BTP_HALF_DEAD));
    }
    const expected = rows.map(tidText).filter((tid) => !gone.has(tid));
    expect(drainTids(new BtreeScan(world.index))).toEqual(expected);
    expect(drainTids(new BtreeScan(world.index, { backward: true }))).toEqual(expected.toReversed());
  });

  it('links that lead astray are errors that name index and block, and no scan runs for ever', () => {
    const rows = rowsOf(
      Array.from({ length: many }, (_, i) => i),
      0,
    );
    const blocks = built(size, rows).index.main.blockCount();
    const leaves = leavesOf(built(size, rows));
    const [left, middle, right] = leaves.slice(-3);
    const faults: [string, boolean, (world: BuildWorld) => void, RegExp][] = [
      ['right link to itself', false, (w) => edit(w, middle, (m, b, s) => setBtNext(m, b, s, middle)), /page itself/],
      [
        'right link beyond the end',
        false,
        (w) => edit(w, middle, (m, b, s) => setBtNext(m, b, s, blocks)),
        /right sibling is said/,
      ],
      ['right link far out', false, (w) => edit(w, middle, (m, b, s) => setBtNext(m, b, s, 0xffff_fffe)), /4294967294/],
      [
        'right link to the meta page is an end',
        false,
        (w) => edit(w, right, (m, b, s) => setBtNext(m, b, s, leaves[0])),
        /left sibling is said/,
      ],
      ['right link back', false, (w) => edit(w, middle, (m, b, s) => setBtNext(m, b, s, left)), /left sibling is said/],
      ['left link to itself', true, (w) => edit(w, middle, (m, b, s) => setBtPrev(m, b, s, middle)), /page itself/],
      [
        'left link beyond the end',
        true,
        (w) => edit(w, middle, (m, b, s) => setBtPrev(m, b, s, blocks)),
        /left sibling is said/,
      ],
      ['left link ahead', true, (w) => edit(w, middle, (m, b, s) => setBtPrev(m, b, s, right)), /left sibling is said/],
      [
        'another level',
        false,
        (w) =>
          edit(w, middle, (m, b, s) => {
            setBtLevel(m, b, s, 1);
            setBtFlags(m, b, s, 0);
          }),
        /level 1/,
      ],
      ['a page of zeros', false, (w) => edit(w, middle, (m, b, s) => m.u8.fill(0, b, b + s)), /all zero/],
      ['a page of zeros, backward', true, (w) => edit(w, middle, (m, b, s) => m.u8.fill(0, b, b + s)), /block/],
      [
        'deleted pages in a circle',
        false,
        (w) => {
          edit(w, middle, (m, b, s) => {
            setBtFlags(m, b, s, btFlags(m, b, s) | BTP_DELETED);
            setBtNext(m, b, s, left);
          });
          edit(w, left, (m, b, s) => setBtFlags(m, b, s, btFlags(m, b, s) | BTP_DELETED));
        },
        /circle|block/,
      ],
      [
        'a line pointer into the header',
        false,
        (w) =>
          edit(w, middle, (m, b, s) => {
            m.u32[(b + 20 + 4 * firstDataKey(m, b, s)) >>> 2] = 8 | (1 << 15) | (16 << 17);
          }),
        /item \d+ is damaged/,
      ],
    ];
    for (const [name, backward, damage, message] of faults) {
      const world = built(size, rows);
      damage(world);
      using scan = new BtreeScan(world.index, { backward });
      let pages = 0;
      const walk = (): void => {
        for (let count = scan.nextPage(); count > 0; count = scan.nextPage()) pages++;
      };
      expect(walk, name).toThrow(expect.objectContaining({ code: 'XX002', message: expect.stringMatching(message) }));
      expect(walk, `${name}, again`).not.toThrow();
      expect(pages, name).toBeLessThanOrEqual(leaves.length);
      expect(scan.nextPage()).toBe(0);
      expect(world.pool.pinned(), name).toEqual([]);
    }
  });
});

it('the page surgery of these tests is what it says', () => {
  const world = built(
    1024,
    rowsOf(
      Array.from({ length: 300 }, (_, i) => i),
      0,
    ),
  );
  const leaves = leavesOf(world);
  expect(leaves.length).toBeGreaterThan(5);
  expect(unlink(world, leaves[2]).size).toBeGreaterThan(0);
  expect(leavesOf(world)).toEqual(leaves.filter((_, i) => i !== 2));
  edit(world, leaves[0], (m, base) => expect(pageMaxOffset(m, base)).toBeGreaterThan(1));
});
