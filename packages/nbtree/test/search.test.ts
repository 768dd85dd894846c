// The way down through trees of several levels, sound and damaged.
import { BLOCK_SIZES, type BlockSize } from '@blockwright/geometry';
import { itemPosition, pageMaxOffset } from '@blockwright/page';
import { int8 } from '@blockwright/tuple';
import { describe, expect, it } from 'vitest';
import { BTREE_METAPAGE, readMeta, writeMeta } from '../src/meta.ts';
import { BTP_DELETED, BTP_LEAF, btFlags, setBtFlags, setBtLevel, setBtNext, setBtPrev } from '../src/page.ts';
import { BtreeScan } from '../src/scan.ts';
import { DescentStack, descend } from '../src/search.ts';
import { SearchKey } from '../src/search-key.ts';
import { setDownlink } from '../src/tuples.ts';
import { BuildWorld } from './build-world.ts';
import { boundOf } from './scan-model.ts';

function grown(size: BlockSize): BuildWorld {
  const world = new BuildWorld(size, { columns: { k: int8() }, deduplicate: false });
  const count = size <= 2048 ? 8000 : 4000;
  world.build(Array.from({ length: count }, (_, i) => ({ values: [BigInt(i)], block: i >> 3, offset: (i & 7) + 1 })));
  return world;
}

type Edit = (m: Parameters<typeof setBtNext>[0], base: number, size: number) => void;

function editRoot({ index }: BuildWorld, change: Edit): number {
  const { root } = index.metaData();
  index.pool.withPage(index.main, root, (m, base) => change(m, base, index.geometry.size));
  return root;
}

function editMeta({ index }: BuildWorld, change: (meta: ReturnType<typeof readMeta>) => object): void {
  index.pool.withPage(index.main, BTREE_METAPAGE, (m, base) => {
    const meta = readMeta(m, base);
    writeMeta(m, base, { ...meta, ...change(meta) });
  });
  index.forgetMeta();
}

/** Leads every downlink of the root to `block`. */
function leadAll(world: BuildWorld, block: number): void {
  editRoot(world, (m, base) => {
    for (let o = 1; o <= pageMaxOffset(m, base); o++) setDownlink(m, itemPosition(m, base, o), block);
  });
}

describe.each(BLOCK_SIZES)('at %i bytes', (size) => {
  it('the stack says by which downlinks a leaf was reached', () => {
    const { index, former } = grown(size);
    const key = new SearchKey();
    const stack = new DescentStack();
    key.natts = 1;
    key.memory = former.memory;
    for (let k = 0; k < 4000; k += 97) {
      former.fromValues([BigInt(k)]);
      const leaf = descend(index, key, stack, false);
      expect(stack.depth).toBe(index.levels());
      expect(stack.blocks[0]).toBe(index.metaData().root);
      expect(index.pool.pinCount(leaf)).toBe(1);
      index.pool.unpin(leaf);
    }
    expect(index.pool.pinned()).toEqual([]);
  });

  it('a damaged way down is an error that names index and block, and has an end', () => {
    const faults: [string, (world: BuildWorld) => void, RegExp][] = [
      ['a downlink to the page itself', (w) => leadAll(w, w.index.metaData().root), /level/],
      ['a downlink to the meta page', (w) => leadAll(w, 0), /block 0: /],
      ['a downlink beyond the end', (w) => leadAll(w, 0x8000_0000), /2147483648/],
      ['a downlink to zeros', (w) => leadAll(w, w.pool.extend(w.index.main, 1)), /all zero/],
      ['a root of zeros', (w) => void editRoot(w, (m, b, s) => void m.u8.fill(0, b, b + s)), /all zero/],
      ['an empty root', (w) => void editRoot(w, (m, b) => void (m.u16[(b + 12) >>> 1] = 24)), /empty/],
      [
        'a leaf above the leaves',
        (w) => void editRoot(w, (m, b, s) => setBtFlags(m, b, s, btFlags(m, b, s) | BTP_LEAF)),
        /flags/,
      ],
      [
        'a line pointer of the root into nothing',
        (w) =>
          void editRoot(w, (m, b) => {
            for (let o = 1; o <= pageMaxOffset(m, b); o++)
              m.u32[(b + 20 + 4 * o) >>> 2] = 0x7ff8 | (1 << 15) | (16 << 17);
          }),
        /line pointer/,
      ],
      [
        'a deleted page that leads back',
        (w) => {
          const { root, level } = w.index.metaData();
          const trap = w.pool.extend(w.index.main, 1);
          w.pool.withPage(w.index.main, trap, (m, b) => {
            w.pool.withPage(w.index.main, root, (rm, rb) => m.u8.set(rm.u8.subarray(rb, rb + size), b));
            setBtFlags(m, b, size, BTP_DELETED);
            setBtLevel(m, b, size, level);
            setBtNext(m, b, size, root);
            setBtPrev(m, b, size, 0);
          });
          leadAll(w, trap);
        },
        /circle/,
      ],
      ['a root beyond the end', (w) => editMeta(w, () => ({ root: 0x8000_0000, fastroot: 0x8000_0000 })), /2147483648/],
      [
        'another level of the root',
        (w) => editMeta(w, ({ level }) => ({ level: level + 1, fastlevel: level + 1 })),
        /level/,
      ],
      ['a version of the future', (w) => editMeta(w, () => ({ version: 5 })), /version 5/],
    ];
    for (const [name, damage, message] of faults) {
      const world = grown(size);
      damage(world);
      const bound = boundOf(world, [123n]);
      for (const range of [{}, { backward: true }, { from: bound, to: bound }]) {
        world.index.forgetMeta();
        using scan = new BtreeScan(world.index, range);
        const expected = expect.objectContaining({ code: 'XX002', message: expect.stringMatching(message) });
        expect(() => scan.nextPage(), name).toThrow(expected);
        expect(world.pool.pinned(), name).toEqual([]);
      }
    }
  });
});

it('a version of long ago is refused with what to do', () => {
  const world = grown(1024);
  editMeta(world, () => ({ version: 3 }));
  using scan = new BtreeScan(world.index);
  expect(() => scan.nextPage()).toThrow(
    expect.objectContaining({ code: '0A000', hint: expect.stringContaining('REINDEX') }),
  );
});
