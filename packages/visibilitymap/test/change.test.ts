// Changes of pinned map pages, as the heap makes them inside its records and redo repeats them.
import { BufferPool } from '@blockwright/bufmgr';
import { BLOCK_SIZES, BlockGeometry } from '@blockwright/geometry';
import { pageIsZero, pageLower, pageMemory, pageUpper } from '@blockwright/page';
import {
  clearVisibilityBits,
  setVisibilityBits,
  VisibilityMap,
  visibilityTruncation,
} from '@blockwright/visibilitymap';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MemoryFork } from './memory-fork.ts';

const g = BlockGeometry.of('1kB');
const WINDOW = g.heapBlocksPerVmPage;

function make(): { map: VisibilityMap; fork: MemoryFork; pool: BufferPool } {
  const fork = new MemoryFork(g);
  const pool = new BufferPool({ geometry: g, buffers: 16 });
  return { map: new VisibilityMap({ pool, fork }), fork, pool };
}

describe.each(BLOCK_SIZES)('bits of a page of %i bytes', (size) => {
  const geometry = BlockGeometry.of(size);
  const window = geometry.heapBlocksPerVmPage;

  test('are those of a plain model, whatever page of the map it is', () => {
    const change = fc.record({
      set: fc.boolean(),
      frozen: fc.boolean(),
      at: fc.oneof(fc.constantFrom(0, 1, 2, 3, 4, window - 1), fc.nat({ max: window - 1 })),
    });
    const page = fc.constantFrom(0, 1, 7, geometry.vmBlockOf(0x8000_0000));
    fc.assert(
      fc.property(page, fc.array(change, { maxLength: 60 }), (vmBlock, changes) => {
        const m = pageMemory(new ArrayBuffer(size + 8));
        const first = geometry.firstHeapBlockOf(vmBlock);
        const model = new Map<number, number>();
        for (const { set, frozen, at } of changes) {
          const before = model.get(at) ?? 0;
          const bits = set ? (frozen ? 3 : 1) : frozen ? 2 : 3;
          const after = set ? before | bits : before & ~bits;
          const call = set ? setVisibilityBits : clearVisibilityBits;
          expect(call(m, 8, geometry, first + at, bits)).toBe(after !== before);
          model.set(at, after);
        }
        const wanted = new Uint8Array(window >> 2);
        for (const [at, bits] of model) wanted[at >> 2] |= bits << ((at & 3) * 2);
        expect(Buffer.compare(m.u8.subarray(32), wanted)).toBe(0);
        if (changes.length > 0) expect([pageLower(m, 8), pageUpper(m, 8)]).toEqual([24, size]);
        expect(m.u8.subarray(0, 8).every((byte) => byte === 0)).toBe(true);
      }),
      { numRuns: 40 },
    );
  });

  test('a map keeps the pages that blocks before its end need, and the tail of the last is cleared (C9)', () => {
    const model = (blocks: number): number => Math.ceil(blocks / window);
    for (const blocks of [0, 1, window - 1, window, window + 1, 5 * window, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe]) {
      expect(visibilityTruncation.blocksFor(geometry, blocks)).toBe(model(blocks));
      expect(visibilityTruncation.hasTail(geometry, blocks)).toBe(blocks % window !== 0);
    }
    for (const keep of [1, 2, 3, 4, 5, window - 5, window - 1]) {
      const m = pageMemory(new ArrayBuffer(size + 8));
      setVisibilityBits(m, 0, geometry, 3 * window, 3);
      m.u8.fill(0xff, 24, size);
      visibilityTruncation.clearTail(m, 0, geometry, 3 * window + keep);
      const wanted = new Uint8Array(window >> 2);
      for (let b = 0; b < keep; b++) wanted[b >> 2] |= 3 << ((b & 3) * 2);
      expect(Buffer.compare(m.u8.subarray(24, size), wanted)).toBe(0);
      expect(m.u8.subarray(size).every((byte) => byte === 0)).toBe(true);
    }
  });
});

describe('the pinned page of a change', () => {
  test('pinToClear gives none where there is nothing to clear: no map, no page, no such bit (C9)', () => {
    const { map, fork, pool } = make();
    expect([map.pinToClear(7), fork.exists()]).toEqual([-1, false]);
    map.set(5, 1);
    pool.flushAll();
    expect([map.pinToClear(WINDOW), map.pinToClear(6), map.pinToClear(5, 2)]).toEqual([-1, -1, -1]);
    expect([fork.blocks, pool.pinned(), pool.flushAll()]).toEqual([1, [], 0]);
    const id = map.pinToClear(5);
    expect([pool.block(id), pool.pinCount(id), pool.isDirty(id)]).toEqual([0, 1, false]);
    expect([map.clearPinned(id, 5, 3), map.clearPinned(id, 5, 3), map.status(5)]).toEqual([true, false, 0]);
    expect(pool.isDirty(id)).toBe(false); // whoever logs the change marks it
    pool.unpin(id);
  });

  test('an old and a new row on blocks of two map pages are two pages to register, of one page one (C9)', () => {
    const { map, pool } = make();
    for (const b of [WINDOW - 2, WINDOW - 1, WINDOW]) map.set(b, 3);
    const [a, b, c] = [WINDOW - 2, WINDOW - 1, WINDOW].map((block) => map.pinToClear(block));
    expect([a === b, b === c, pool.block(a), pool.block(c)]).toEqual([true, false, 0, 1]);
    expect([map.clearPinned(a, WINDOW - 1, 3), map.clearPinned(c, WINDOW, 3)]).toEqual([true, true]);
    expect([WINDOW - 2, WINDOW - 1, WINDOW].map((block) => map.status(block))).toEqual([3, 0, 0]);
    for (const id of [a, b, c]) pool.unpin(id);
  });

  test('pinToSet makes the pages, with a header on the one that is pinned', () => {
    const { map, fork, pool } = make();
    const id = map.pinToSet(2 * WINDOW + 5);
    expect([fork.blocks, pool.block(id), pageLower(pool.memory(id), pool.base(id))]).toEqual([3, 2, 24]);
    expect([map.setPinned(id, 2 * WINDOW + 5, 3), map.setPinned(id, 2 * WINDOW + 5, 1)]).toEqual([true, false]);
    expect(map.status(2 * WINDOW + 5)).toBe(3);
    pool.unpin(id);
    pool.withPage(fork, 1, (m, base) => expect(pageIsZero(m, base, g)).toBe(true));
  });

  test('bits that make no sense are refused before anything changes', () => {
    const m = pageMemory(new ArrayBuffer(1024));
    for (const bits of [0, 2, 4, 7]) expect(() => setVisibilityBits(m, 0, g, 1, bits)).toThrow(RangeError);
    for (const bits of [0, 1, 4, 7]) expect(() => clearVisibilityBits(m, 0, g, 1, bits)).toThrow(RangeError);
    expect(pageIsZero(m, 0, g)).toBe(true);
  });
});
